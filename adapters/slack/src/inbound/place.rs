//! Where an answer goes, and what only this adapter knows about it.

use contract::{Locale, Opaque};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Me, text};

/// What an address carries for this adapter alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Slip {
    /// Whom a private answer is shown to.
    #[serde(rename = "u", default, skip_serializing_if = "String::is_empty")]
    pub user: String,
    /// Where an interaction may be answered for half an hour.
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    pub respond: Option<String>,
    /// When the interaction was, in milliseconds since 1970.
    #[serde(rename = "t", default, skip_serializing_if = "is_zero")]
    pub at_ms: u64,
    /// The language of whoever is answered, as far as it was known.
    #[serde(rename = "l", default, skip_serializing_if = "is_default")]
    pub locale: Locale,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

fn is_default(locale: &Locale) -> bool {
    *locale == Locale::default()
}

impl Slip {
    pub(crate) fn opaque(&self) -> Opaque {
        let written = serde_json::to_string(self).unwrap_or_default();
        Opaque::new(written).unwrap_or_default()
    }

    pub(crate) fn of(private: &Opaque) -> Self {
        serde_json::from_str(private.reveal()).unwrap_or_default()
    }
}

/// A conversation with one person; an app mention does not say what kind its channel is.
pub(crate) fn is_direct(channel: &str, channel_type: Option<&str>) -> bool {
    match channel_type {
        Some(kind) => kind == "im",
        None => channel.starts_with('D'),
    }
}

/// The workspace whose rules apply. With one workspace it is that one, also in channels that others share; an
/// organisation's app hears of which of its workspaces it is.
pub(super) fn team(payload: &Value, me: &Me) -> String {
    if me.organisation.is_none() && !me.team.is_empty() {
        return me.team.clone();
    }
    let of_object = |key| payload.get(key).and_then(|team| text(team, "id"));
    let found = text(payload, "context_team_id").or_else(|| text(payload, "team_id")).or_else(|| of_object("team"));
    found.or_else(|| of_object("enterprise")).unwrap_or(&me.team).to_owned()
}

/// The thread that an answer belongs to: the message's own; in a channel else one that begins under it, so that the
/// channel is not filled with answers.
pub(super) fn thread(thread: Option<&str>, message: &str, direct: bool) -> Option<String> {
    match thread {
        Some(thread) => Some(thread.to_owned()),
        None if direct => None,
        None => Some(message.to_owned()),
    }
}
