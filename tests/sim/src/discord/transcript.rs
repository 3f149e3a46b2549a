//! What was seen in each conversation, as Discord shows it.

use serde::Serialize;

pub use crate::transcript::{Button, By, Choice, FileSeen, KEPT, Kind};

/// Whom a message notifies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pinged {
    /// Names of people.
    pub users: Vec<String>,
    pub roles: Vec<String>,
    pub everyone: bool,
}

impl Pinged {
    pub fn count(&self) -> usize {
        self.users.len() + self.roles.len() + usize::from(self.everyone)
    }
}

/// What an entry has of Discord alone.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Own {
    /// The interaction that it is, or that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interaction: Option<String>,
    pub pings: Pinged,
}

pub type Entry = crate::transcript::Entry<String, Own>;
pub type Transcript = crate::transcript::Transcript<String, Own>;
