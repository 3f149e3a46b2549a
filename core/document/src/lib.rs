//! One CommonMark tree of a reply, cut and drawn by each platform's own rules.
//!
//! Reading order: [`doc`] is the tree laid flat, blocks of styled text; [`build`] and [`markdown`] make it; [`reply`] makes it
//! of a whole reply; [`cut`] cuts it by a platform's measure; [`plain`] is a piece without markup; [`parts`] puts messages
//! together. A platform adds a [`Manner`]: what things take, and how a piece is drawn.

pub mod build;
pub mod cut;
pub mod doc;
pub mod links;
pub mod markdown;
mod notice;
pub mod parts;
pub mod plain;
pub mod reply;
#[cfg(feature = "testing")]
pub mod samples;
pub mod table;
#[cfg(test)]
mod tests;

pub use self::{
    build::Builder,
    cut::{Cost, Cutter, Measure, Piece, Slice},
    doc::{Block, BlockKind, Doc, Link, Mark, Quote, Run, Style, is_blank, units},
    parts::{Manner, close, texts},
    reply::{Rules, file_name, of},
};
