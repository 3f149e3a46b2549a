//! What was seen in each conversation, as Telegram shows it.

use serde::Serialize;
use serde_json::Value;

pub use crate::transcript::{Button, By, FileSeen, KEPT, Kind};

/// What an entry has of Telegram alone.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Own {
    /// Which bot did it.
    #[serde(skip)]
    pub bot: Option<i64>,
    pub entities: Vec<Value>,
}

pub type Entry = crate::transcript::Entry<i64, Own>;
pub type Transcript = crate::transcript::Transcript<i64, Own>;
