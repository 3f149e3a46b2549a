//! What is the same on every platform and has another name on each: methods, faults, poison.

use contract::Platform;
use serde_json::{Value, json};

use crate::people::People;

impl People {
    /// The method that posts a message.
    pub fn posting(&self) -> &'static str {
        match self.platform {
            Platform::Discord => "POST messages",
            Platform::Telegram => "sendMessage",
            _ => "chat.postMessage",
        }
    }

    /// How often a message was posted, or tried to be.
    pub async fn posts(&self) -> u64 {
        let methods = self.stats().await["methods"].clone();
        let name = match self.platform {
            Platform::Discord => "POST channels/{channel}/messages",
            _ => self.posting(),
        };
        methods
            .as_object()
            .and_then(|all| all.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)))
            .map_or(0, |(_, n)| n.as_u64().unwrap_or_default())
    }

    /// Waits until a command is offered there, where the platform shows them.
    pub async fn offers(&self, conversation: &str, name: &str) {
        // In Slack the commands stand in the app's manifest.
        if self.platform == Platform::Slack {
            return;
        }
        // A conversation is made by its first mention.
        let _ = self.try_post("conversation", json!({ "name": conversation })).await;
        let path = format!("menu?conversation={conversation}");
        let until = std::time::Instant::now() + crate::people::SOON;
        loop {
            let menu = self.get(&path).await;
            if menu["commands"].to_string().contains(&format!("\"{name}\"")) {
                return;
            }
            assert!(std::time::Instant::now() < until, "'{name}' is not offered: {menu}");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    /// Something goes wrong with a message that is posted.
    pub async fn posting_fault(&self, mut fault: Value) {
        fault["method"] = json!(self.posting());
        self.fault(fault).await;
    }

    /// Every way in which a connection ends by itself.
    pub fn endings(&self) -> Vec<Value> {
        match self.platform {
            Platform::Discord => vec![
                json!({ "kind": "disconnect" }),
                json!({ "kind": "close" }),
                json!({ "kind": "close", "status": 1001 }),
                json!({ "kind": "close", "status": 4000 }),
                json!({ "kind": "close", "status": 4009 }),
                json!({ "kind": "reconnect" }),
                json!({ "kind": "invalid_session", "resumable": true }),
                json!({ "kind": "invalid_session" }),
            ],
            Platform::Telegram => vec![
                json!({ "kind": "disconnect" }),
                json!({ "kind": "close" }),
                json!({ "kind": "drop", "method": "getUpdates" }),
                json!({ "kind": "drop", "method": "getUpdates", "when": "after" }),
                json!({ "kind": "error", "method": "getUpdates", "status": 502, "description": "Bad Gateway" }),
                json!({ "kind": "rate_limit", "method": "getUpdates", "seconds": 0.3 }),
            ],
            _ => vec![
                json!({ "kind": "cut" }),
                json!({ "kind": "close" }),
                json!({ "kind": "close", "status": 1011 }),
                json!({ "kind": "disconnect", "reason": "warning", "seconds": 0.3 }),
                json!({ "kind": "disconnect", "reason": "refresh_requested", "seconds": 0.1 }),
            ],
        }
    }

    /// A connection that looks alive and brings nothing.
    pub fn silence(&self) -> Value {
        match self.platform {
            Platform::Discord => json!({ "kind": "zombie" }),
            Platform::Telegram => json!({ "kind": "delay", "method": "getUpdates", "seconds": 60 }),
            _ => json!({ "kind": "silence" }),
        }
    }

    /// The name of a reaction that asks to stop.
    pub fn cross(&self) -> &'static str {
        match self.platform {
            Platform::Slack => "x",
            Platform::Telegram => "👎",
            _ => "❌",
        }
    }

    /// An emoji that asks for nothing.
    pub fn thumb(&self) -> &'static str {
        match self.platform {
            Platform::Slack => "thumbsup",
            _ => "👍",
        }
    }

    /// How often commands were registered.
    pub async fn registrations(&self) -> u64 {
        let methods = self.stats().await["methods"].clone();
        let is_one = |name: &str| {
            name.eq_ignore_ascii_case("setMyCommands") || name.starts_with("PUT ") && name.ends_with("commands")
        };
        methods
            .as_object()
            .map_or(0, |all| all.iter().filter(|(name, _)| is_one(name)).filter_map(|(_, n)| n.as_u64()).sum())
    }

    /// A press that nobody made, as the platform would bring it; whether it was brought.
    pub async fn forge(&self, user: &str, on: &crate::Entry, data: &str) -> bool {
        let message = on.message.clone().unwrap_or_default();
        let chat = on.chat.clone().unwrap_or_default();
        let event = match self.platform {
            Platform::Discord => json!({ "t": "INTERACTION_CREATE", "d": {
                "id": "1234567890123456", "application_id": "123456789012345678", "type": 3, "token": "forged", "version": 1,
                "channel_id": chat, "user": { "id": "4040404040404040", "username": user, "discriminator": "0" },
                "message": { "id": message, "channel_id": chat }, "data": { "custom_id": data, "component_type": 2 },
            } }),
            Platform::Telegram => json!({ "callback_query": {
                "id": "forged", "from": { "id": 404_040, "is_bot": false, "first_name": user }, "chat_instance": "1", "data": data,
                "message": { "message_id": message.parse::<i64>().unwrap_or_default(), "date": 1,
                    "chat": { "id": chat.parse::<i64>().unwrap_or_default(), "type": "private", "first_name": "ann" }, "text": "x" },
            } }),
            _ => {
                json!({ "type": "block_actions", "user": { "id": "U0FORGED", "name": user }, "trigger_id": format!("forged.{data}"),
                "team": { "id": "T1" }, "channel": { "id": chat }, "container": { "type": "message", "message_ts": message, "channel_id": chat },
                "message": { "ts": message }, "actions": [{ "action_id": "0", "type": "button", "value": data, "action_ts": "1.1" }] })
            }
        };
        self.raw(event).await
    }

    /// Somebody takes a message away.
    pub async fn remove(&self, conversation: &str, message: &str) {
        self.post("remove", json!({ "conversation": conversation, "message": crate::people::as_id(message) })).await;
    }

    /// A public payload as events of this platform.
    pub fn as_events(&self, payload: Value) -> Vec<Value> {
        let several = match payload {
            Value::Array(several) => several,
            Value::Object(ref body) if body.get("result").is_some_and(Value::is_array) => {
                body["result"].as_array().cloned().unwrap_or_default()
            }
            one => vec![one],
        };
        several.into_iter().flat_map(|one| self.as_event(one)).collect()
    }

    fn as_event(&self, one: Value) -> Vec<Value> {
        match self.platform {
            Platform::Discord if one.get("t").is_some_and(Value::is_string) => vec![one],
            // Hello, reconnects and the like are tested one by one.
            Platform::Discord if one.get("op").is_some() => Vec::new(),
            Platform::Discord => {
                let named = |t: &str| json!({ "t": t, "d": one });
                ["MESSAGE_CREATE", "MESSAGE_UPDATE", "INTERACTION_CREATE", "THREAD_CREATE", "MESSAGE_REACTION_ADD"]
                    .map(named)
                    .into()
            }
            Platform::Telegram if one.get("update_id").is_some() => {
                let mut one = one;
                one.as_object_mut().map(|update| update.remove("update_id"));
                vec![one]
            }
            Platform::Telegram => {
                let named = |what: &str| json!({ what: one });
                ["message", "edited_message", "callback_query", "message_reaction", "my_chat_member"].map(named).into()
            }
            _ if matches!(one["type"].as_str(), Some("hello" | "disconnect")) => Vec::new(),
            _ => vec![one],
        }
    }

    /// Events that nobody can read, or that mean nothing to us.
    pub fn poison(&self) -> Vec<Value> {
        match self.platform {
            Platform::Discord => vec![
                json!({ "t": "QUANTUM_EVENT", "d": { "x": 1 } }),
                json!({ "t": "MESSAGE_CREATE", "d": {} }),
                json!({ "t": "MESSAGE_CREATE", "d": { "id": [], "channel_id": 5, "author": "nobody", "content": {} } }),
                json!({ "t": "MESSAGE_CREATE", "d": { "id": "7", "channel_id": "8", "type": 999, "content": "from the future" } }),
                json!({ "t": "INTERACTION_CREATE", "d": { "id": "9", "type": 77 } }),
                json!({ "t": "INTERACTION_CREATE", "d": { "id": "9", "type": 3, "data": { "custom_id": 5 } } }),
                json!({ "t": "MESSAGE_UPDATE", "d": null }),
                json!({ "op": 77, "d": { "x": 1 } }),
            ],
            Platform::Telegram => vec![
                json!({ "quantum_message": { "x": 1 } }),
                json!({ "message": "no object" }),
                json!({ "message": { "message_id": "seven", "chat": { "id": [] }, "text": 5 } }),
                json!({ "callback_query": { "id": "x", "from": {} } }),
                json!({ "edited_message": {} }),
                json!({ "message_reaction": { "chat": {} } }),
                json!({ "my_chat_member": null }),
            ],
            _ => vec![
                json!({ "type": "quantum", "x": 1 }),
                json!({ "type": "message", "channel": [], "ts": 5, "text": {} }),
                json!({ "type": "message", "subtype": "from_the_future", "channel": "C1", "ts": "1.1" }),
                json!({ "type": "message", "subtype": "message_changed", "message": null }),
                json!({ "type": "app_mention" }),
                json!({ "type": "reaction_added", "item": "none" }),
            ],
        }
    }
}
