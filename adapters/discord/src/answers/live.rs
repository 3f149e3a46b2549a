//! An interaction that a reply can follow, for as long as its token lasts.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use contract::Opaque;
use serde_json::{Value, json};

use crate::inbound::{Interaction, What, text};

/// How long the token of an interaction lasts, a little less than the platform's quarter of an hour.
pub(super) const TOKEN_LASTS: Duration = Duration::from_secs(14 * 60 + 50);

/// What a reply needs to follow an interaction; kept in [`contract::Address::private`].
#[derive(Clone)]
pub(crate) struct Live {
    pub(crate) id: String,
    pub(crate) application: String,
    pub(crate) token: String,
    until_ms: u64,
    /// A press, which has no message of its own to be filled.
    pub(crate) is_press: bool,
}

impl Live {
    pub(super) fn new(interaction: &Interaction) -> Self {
        Self {
            id: interaction.id.clone(),
            application: interaction.application.clone(),
            token: interaction.token.clone(),
            until_ms: now_ms() + u64::try_from(TOKEN_LASTS.as_millis()).unwrap_or(u64::MAX / 2),
            is_press: matches!(interaction.what, What::Press { .. }),
        }
    }

    pub(super) fn opaque(&self) -> Opaque {
        let written =
            json!({"i": self.id, "a": self.application, "t": self.token, "x": self.until_ms, "p": self.is_press});
        Opaque::new(written.to_string()).unwrap_or_default()
    }

    /// The interaction that an address follows, while its token lasts.
    pub(crate) fn of(private: &Opaque) -> Option<Self> {
        let read: Value = serde_json::from_str(private.reveal()).ok()?;
        let text = |key: &str| text(&read, key).map(str::to_owned);
        let live = Self {
            id: text("i")?,
            application: text("a")?,
            token: text("t")?,
            until_ms: read["x"].as_u64()?,
            is_press: read["p"] == true,
        };
        (live.until_ms > now_ms()).then_some(live)
    }

    /// Where its messages are.
    pub(crate) fn path(&self) -> String {
        format!("/webhooks/{}/{}", self.application, self.token)
    }

    pub(crate) fn original(&self) -> String {
        format!("{}/messages/@original", self.path())
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
