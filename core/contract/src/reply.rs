//! What goes out: content and typed parts, never platform markup.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    ids::{CallId, TurnId},
    message::FileRef,
    notice::Notice,
    records::ApprovalId,
};

/// The answer of a turn, or a message that a tool sends.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    pub content: Vec<Content>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buttons: Vec<Button>,
    #[serde(default)]
    pub audience: Audience,
    /// Shown so that a person can ask about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<TurnId>,
    /// Whether anything in it is a failure.
    #[serde(default)]
    pub failed: bool,
    /// The same reply may have been sent before; adapters put [`DUPLICATE_MARK`] in front.
    #[serde(default)]
    pub maybe_repeated: bool,
    /// The language of what is ours in it: headings, hints, the words around a file.
    #[serde(default)]
    pub locale: Locale,
    /// Whom it may ping; nobody unless policy says so.
    #[serde(default)]
    pub pings: Pings,
    /// Most messages that it may take; the rest becomes a file or is cut with a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_messages: Option<u32>,
}

/// What stands before a reply that may have arrived already.
pub const DUPLICATE_MARK: &str = "(you may have received this already)";

impl Reply {
    pub fn text(markdown: impl Into<String>) -> Self {
        Self { content: vec![Content::Text(markdown.into())], ..Self::default() }
    }

    pub fn notice(notice: Notice) -> Self {
        Self { reference: notice.reference, failed: true, content: vec![Content::Notice(notice)], ..Self::default() }
    }
}

/// A typed part of a reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// A CommonMark document.
    Text(String),
    /// Text that is shown as it is: no character of it is markup.
    Plain(String),
    /// Text that is shown as it is, in fixed width.
    Code {
        language: String,
        text: String,
    },
    Notice(Notice),
    /// A file that a message brought, sent again: the bytes are where its handle says.
    File(FileRef),
    /// A file with its (small) bytes, at most 1 MiB.
    Attachment {
        name: String,
        media_type: String,
        bytes: Vec<u8>,
    },
}

/// Who may read it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Audience {
    #[default]
    Everyone,
    Sender,
}

/// A language that the gateway speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Locale {
    #[default]
    #[serde(rename = "en")]
    En,
    #[serde(rename = "zh-Hans")]
    ZhHans,
}

impl Locale {
    pub const ALL: [Self; 2] = [Self::En, Self::ZhHans];

    /// A BCP 47 tag.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::ZhHans => "zh-Hans",
        }
    }
}

/// Whom a text may ping.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pings {
    #[serde(default)]
    pub users: bool,
    #[serde(default)]
    pub roles: bool,
    #[serde(default)]
    pub everyone: bool,
}

/// Something to press.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Button {
    pub label: String,
    pub action: Action,
}

/// What a press means. Written in at most 64 bytes, the smallest limit of the platforms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Stop the turn.
    Cancel(TurnId),
    /// Stop one of the turn's calls; the others go on.
    CancelCall(TurnId, CallId),
    /// Run the turn's message again.
    TryAgain(TurnId),
    /// Show the turn's tree.
    Details(TurnId),
    /// Let the call that waits run.
    Allow(ApprovalId),
    /// The same, and the very same call again whenever it is asked for in this session.
    AllowSession(ApprovalId),
    /// Do not let it run.
    Deny(ApprovalId),
    /// The same with a reason: a form asks for it, or a message that follows says it.
    DenyWhy(ApprovalId),
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancel(turn) => write!(f, "cancel:{turn}"),
            Self::CancelCall(turn, call) => write!(f, "call:{turn}:{}", call.0),
            Self::TryAgain(turn) => write!(f, "again:{turn}"),
            Self::Details(turn) => write!(f, "details:{turn}"),
            Self::Allow(id) => write!(f, "allow:{id}"),
            Self::AllowSession(id) => write!(f, "session:{id}"),
            Self::Deny(id) => write!(f, "deny:{id}"),
            Self::DenyWhy(id) => write!(f, "why:{id}"),
        }
    }
}

/// The data is not one of our buttons'.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a button of ours")]
pub struct NotOurButton;

impl FromStr for Action {
    type Err = NotOurButton;

    fn from_str(data: &str) -> Result<Self, NotOurButton> {
        let (kind, of) = data.split_once(':').ok_or(NotOurButton)?;
        let turn = || of.parse().map_err(|_| NotOurButton);
        let approval = || of.parse().map_err(|_| NotOurButton);
        match kind {
            "cancel" => turn().map(Self::Cancel),
            "call" => {
                let (turn, call) = of.split_once(':').ok_or(NotOurButton)?;
                let call = call.parse().map(CallId).map_err(|_| NotOurButton)?;
                Ok(Self::CancelCall(turn.parse().map_err(|_| NotOurButton)?, call))
            }
            "again" => turn().map(Self::TryAgain),
            "details" => turn().map(Self::Details),
            "allow" => approval().map(Self::Allow),
            "session" => approval().map(Self::AllowSession),
            "deny" => approval().map(Self::Deny),
            "why" => approval().map(Self::DenyWhy),
            _ => Err(NotOurButton),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{CallPath, SessionKey};

    #[test]
    fn an_action_survives_a_button_and_fits_it() {
        let turn = TurnId::new();
        let approval = ApprovalId::of(&SessionKey::from_text("s"), turn, &CallPath::top(1, 1));
        let call = Action::CancelCall(turn, CallId(u32::MAX));
        let of_turn = [Action::Cancel(turn), call, Action::TryAgain(turn), Action::Details(turn)];
        let of_approval = [Action::Allow, Action::AllowSession, Action::Deny, Action::DenyWhy];
        for action in of_turn.into_iter().chain(of_approval.map(|of| of(approval))) {
            let data = action.to_string();
            assert!(data.len() <= 64);
            assert_eq!(data.parse(), Ok(action));
        }
        for foreign in ["order:1", "call:1:1", &format!("call:{turn}"), &format!("call:{turn}:x")] {
            assert_eq!(foreign.parse::<Action>(), Err(NotOurButton), "{foreign}");
        }
    }
}
