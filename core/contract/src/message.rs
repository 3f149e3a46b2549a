//! What people write, normalised.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::place::{Address, Opaque, Origin, Sender};

/// One thing that a person said or pressed, as an adapter's `inbound` made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Deduplicates within an account: the same event always has the same key.
    pub key: String,
    pub address: Address,
    pub sender: Sender,
    /// Ids of the sender's roles where the platform sends them along.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    pub kind: Kind,
    pub heard: Heard,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileRef>,
    /// What the message answers or quotes: untrusted text of somebody else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<Quote>,
    /// Whether another bot wrote it.
    #[serde(default)]
    pub from_bot: bool,
    /// The sender's language as the platform says it (`en`, `zh-hans`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// When it was written, milliseconds since 1970.
    pub at_ms: u64,
}

impl Message {
    /// What the person wrote; empty for whatever is not text.
    pub fn text(&self) -> &str {
        match &self.kind {
            Kind::Text { text } | Kind::Edit { text } | Kind::Retold { text, .. } => text,
            Kind::Command { .. } | Kind::Form { .. } | Kind::Press { .. } | Kind::Reaction { .. } => "",
        }
    }

    pub fn origin(&self) -> Origin {
        match &self.kind {
            Kind::Text { text } | Kind::Retold { text, .. } if text.starts_with('/') => Origin::Command,
            Kind::Text { .. } | Kind::Edit { .. } | Kind::Retold { .. } => Origin::Said,
            Kind::Command { .. } => Origin::Command,
            Kind::Form { .. } => Origin::Form,
            Kind::Press { .. } | Kind::Reaction { .. } => Origin::Button,
        }
    }
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Said, or a command (text that begins with `/` once addressing is removed).
    Text { text: String },
    /// Said by a program that keeps the conversation itself and tells all of it each time: nothing of it is remembered.
    Retold { text: String, before: Before },
    /// An earlier message changed; no turn unless policy says so.
    Edit { text: String },
    /// A command whose arguments the platform collected one by one (options).
    Command { name: String, args: Map<String, Value> },
    /// A form of ours was filled in for a command; fields that were left empty are absent.
    Form { name: String, args: Map<String, Value> },
    /// A button of ours was pressed; `data` is what the button carried (see [`crate::Action`]).
    Press { data: String },
    /// Somebody put an emoji on the message with the platform's id `message`: a Unicode emoji, or the platform's name of
    /// one of its own.
    Reaction { emoji: String, message: String },
}

/// What a program says was before its message. Its own words throughout: they have its rights and no others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// How it wishes to be answered.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub wishes: String,
    /// Oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exchanges: Vec<Exchange>,
}

/// What was asked once, and what was answered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    pub asked: String,
    #[serde(default)]
    pub answered: String,
}

/// How the message concerns us; the gate decides by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Heard {
    /// In a direct conversation.
    Direct,
    /// Names us, answers us, or is a command or button of ours.
    Addressed,
    /// Said among others.
    Overheard,
}

/// A file that a message names; its bytes are fetched when somebody wants them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRef {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Bytes, where the platform says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// What the adapter needs to open it.
    pub handle: Opaque,
}

/// The message that was answered, or the part of it that was quoted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quote {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Sender>,
    #[serde(default)]
    pub text: String,
}

#[cfg(test)]
mod tests {
    proptest::proptest! {
        #[test]
        fn a_number_that_was_written_in_a_form_is_stored_as_it_is(number in proptest::num::f64::NORMAL) {
            let text = serde_json::to_string(&number).expect("a normal number is JSON");
            let read: f64 = serde_json::from_str(&text).expect("it was written by the same library");
            proptest::prop_assert_eq!(read.to_bits(), number.to_bits());
        }
    }
}
