//! The words of the gateway and the seams that adapters and stores fill.
//!
//! Reading order: [`ids`] and [`place`] say who and where; [`message`] and [`reply`] what goes in and out;
//! [`call`], [`failure`] and [`node`] what a turn does and how it is recorded; [`seams`] what an adapter is
//! given and fills; [`records`] what a store keeps; [`finding`] what is said of files. No I/O, no runtime, no platform SDK.

pub mod call;
pub mod digest;
pub mod failure;
pub mod finding;
pub mod ids;
pub mod message;
pub mod node;
pub mod notice;
pub mod place;
pub mod records;
pub mod reply;
pub mod seams;
pub mod stream;
pub mod text;

pub use call::{Call, Outcome, State};
pub use digest::Digest;
pub use failure::{Code, Effect, Failure, Layer, Private, Problem, Public};
pub use finding::Finding;
pub use ids::{CallId, CallPath, DeliveryKey, MemoryKey, SessionKey, TurnId};
pub use message::{Before, Exchange, FileRef, Heard, Kind, Message, Quote};
pub use node::{Bodies, Node, NodeKind, Place, Usage};
pub use notice::Notice;
pub use place::{Address, Caller, Opaque, Origin, Platform, Sender};
pub use reply::{Action, Audience, Button, Content, Locale, Pings, Reply};
pub use seams::{
    Accepted, Bucket, Catalog, Choice, Core, Cursors, DeliveryError, Feed, Fence, Health, Inbox, Indicator, Menu,
    MenuItem, Missing, Op, Outlet, Pace, Part, Receipt, Scope, Source, Stopped, StoreDown, TurnEvent, TurnStream, Why,
};
pub use stream::capped;
