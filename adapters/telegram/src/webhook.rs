//! Whether Telegram posts updates to where we listen: asked now and then, and put right.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    api::{Api, PATIENCE, Problem},
    inbound::STOPPED,
    line::WANTED,
};

/// Deliveries at once; chats do not wait for each other.
const CONNECTIONS: u32 = 100;

/// Where updates are to go.
#[derive(Clone)]
pub(crate) struct Wanted {
    pub(crate) url: String,
    pub(crate) secret: SecretString,
}

/// How it stands with the webhook.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Somebody else had changed it since we set it.
    pub(crate) was_changed: bool,
    /// When the last delivery failed (seconds since 1970), and why.
    pub(crate) error: Option<(u64, String)>,
    /// Updates that wait for delivery.
    pub(crate) waiting: u64,
}

/// Looks after a while, and sets the webhook when it is not ours, or at first: its secret cannot be seen.
pub(crate) async fn check(api: Api, wanted: Wanted, after: Duration, is_first: bool) -> Result<Standing, Problem> {
    sleep(after).await;
    let info = api.call("getWebhookInfo", &json!({}), PATIENCE).await?;
    let is_ours = is_ours(&info, &wanted.url);
    if is_first || !is_ours {
        let body = json!({"url": wanted.url, "secret_token": wanted.secret.expose_secret(), "allowed_updates": WANTED,
            "max_connections": CONNECTIONS, "drop_pending_updates": false});
        api.call("setWebhook", &body, PATIENCE).await?;
    }
    Ok(Standing { was_changed: !is_first && !is_ours, ..standing(&info) })
}

fn is_ours(info: &Value, url: &str) -> bool {
    let kinds = info["allowed_updates"].as_array().map_or(&[][..], Vec::as_slice);
    let is_there = |kind: &str| kinds.iter().any(|known| known == kind);
    // A server of before the buttons of drafts leaves that kind out, however often it is asked for.
    let all = WANTED.iter().all(|kind| is_there(kind) || *kind == STOPPED);
    let are_wanted = kinds.iter().all(|kind| WANTED.iter().any(|wanted| kind == wanted));
    info["url"] == url && all && are_wanted
}

pub(crate) fn standing(info: &Value) -> Standing {
    let words = info["last_error_message"].as_str().map(|words| contract::text::one_line(words, 200));
    Standing {
        was_changed: false,
        error: info["last_error_date"].as_u64().zip(words),
        waiting: info["pending_update_count"].as_u64().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_webhook_is_ours_by_address_and_kinds_in_any_order() {
        let mut kinds = WANTED.to_vec();
        kinds.reverse();
        assert!(is_ours(&json!({"url": "https://e.test", "allowed_updates": kinds}), "https://e.test"));
        assert!(!is_ours(&json!({"url": "https://e.test", "allowed_updates": kinds}), "https://f.test"));
        assert!(!is_ours(&json!({"url": "https://e.test", "allowed_updates": ["message"]}), "https://e.test"));
        assert!(!is_ours(&json!({"url": "https://e.test"}), "https://e.test"));
        kinds.push("poll");
        assert!(!is_ours(&json!({"url": "https://e.test", "allowed_updates": kinds}), "https://e.test"));
        kinds.retain(|kind| ![STOPPED, "poll"].contains(kind));
        assert!(
            is_ours(&json!({"url": "https://e.test", "allowed_updates": kinds}), "https://e.test"),
            "an older server"
        );
        let failed =
            json!({"last_error_date": 5, "last_error_message": "Connection\nrefused", "pending_update_count": 3});
        assert_eq!(standing(&failed).error, Some((5, "Connection refused".into())));
        assert_eq!((standing(&failed).waiting, standing(&json!({}))), (3, Standing::default()));
    }
}
