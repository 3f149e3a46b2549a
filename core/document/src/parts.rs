//! The messages of a reply: drawn by a platform, each with its plain form.

use bytes::Bytes;
use contract::{Audience, Part, Reply, seams::PartFile};

use crate::{
    cut::{Cost, Cutter, Measure, Piece},
    doc::Doc,
    plain, reply,
};

/// How a platform draws.
pub trait Manner: Measure {
    /// What a message holds.
    fn most(&self) -> Cost;

    /// A piece as the body of a message.
    fn draw(&self, piece: Piece<'_>) -> String;

    /// A piece without markup.
    fn plain(&self, piece: Piece<'_>) -> String {
        plain::of(piece, self.most().units)
    }

    /// A message of a piece.
    fn part(&self, piece: Piece<'_>) -> Part {
        part(self.draw(piece), self.plain(piece))
    }
}

/// A message that everybody may see, without buttons and files.
pub fn part(body: String, plain: String) -> Part {
    Part { body, plain, buttons: Vec::new(), files: Vec::new(), audience: Audience::Everyone }
}

/// The messages that carry a reply's text; one that takes more than it may ends in a file that holds all of it.
pub fn texts<M: Manner>(doc: &Doc, reply: &Reply, manner: &M) -> Vec<Part> {
    let most = reply.most_messages.map_or(usize::MAX, |most| most.max(1) as usize);
    let mut cutter = Cutter::new(doc, manner);
    let mut parts = Vec::new();
    while parts.len() < most
        && let Some(piece) = cutter.next(manner.most())
    {
        parts.push(manner.part(piece));
    }
    if !cutter.is_done() {
        parts.pop();
        parts.push(overflow(doc, reply, manner));
    }
    parts
}

/// The last part of a reply that takes too many messages: the whole of it as a file, with a word.
fn overflow<M: Manner>(doc: &Doc, reply: &Reply, manner: &M) -> Part {
    let said = words::goes_on_in_file(reply.most_messages.unwrap_or(1).max(1), reply.locale);
    let mut part = manner.part(Piece::whole(&reply::paragraph(&said)));
    let (name, media_type, text) = reply::as_file(reply, doc);
    part.files.push(PartFile { name, media_type: media_type.to_owned(), bytes: Bytes::from(text) });
    part
}

/// What all parts have in common, and the buttons, which come last.
pub fn close(mut parts: Vec<Part>, reply: &Reply) -> Vec<Part> {
    for part in &mut parts {
        part.audience = reply.audience;
    }
    if let Some(last) = parts.last_mut() {
        last.buttons.clone_from(&reply.buttons);
    }
    parts
}
