//! What people put on messages, and what becomes of our membership in chats.

use contract::{Address, Heard, Kind, Message, Platform};
use serde_json::Value;

use super::{int, millis, person, text};

/// The emoji that somebody put on a message. Taking one away says nothing. In a group it is taken as overheard: whose the
/// message is, the update does not tell.
pub(super) fn message(update: &Value, account: &str) -> Option<Message> {
    let reaction = update.get("message_reaction")?;
    let (chat, id) = (int(reaction, &["chat", "id"])?, int(reaction, &["message_id"])?);
    let list = |key: &str| reaction.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let old: Vec<&str> = list("old_reaction").iter().filter_map(emoji).collect();
    let put = list("new_reaction").iter().filter_map(emoji).find(|new| !old.contains(new))?;
    let direct = text(reaction, &["chat", "type"]) == Some("private");
    Some(Message {
        key: format!("r:{chat}:{id}:{}", int(update, &["update_id"])?),
        address: Address {
            reply_to: Some(id.to_string()),
            direct,
            ..Address::new(Platform::Telegram, account, chat.to_string())
        },
        sender: reaction.get("user").or_else(|| reaction.get("actor_chat")).and_then(person)?,
        roles: Vec::new(),
        kind: Kind::Reaction { emoji: put.to_owned(), message: id.to_string() },
        heard: if direct { Heard::Direct } else { Heard::Overheard },
        files: Vec::new(),
        quote: None,
        from_bot: reaction["user"]["is_bot"] == true,
        locale: text(reaction, &["user", "language_code"]).map(str::to_lowercase),
        at_ms: millis(reaction, "date"),
    })
}

/// A custom emoji is named by its id, the paid one by its look.
fn emoji(reaction: &Value) -> Option<&str> {
    match text(reaction, &["type"])? {
        "emoji" => text(reaction, &["emoji"]),
        "custom_emoji" => text(reaction, &["custom_emoji_id"]),
        "paid" => Some("⭐"),
        _ => None,
    }
}

/// What we became in a chat: chat, what we were, what we are (`member`, `left`, `kicked`, …).
pub fn membership(update: &Value) -> Option<(i64, &str, &str)> {
    let change = update.get("my_chat_member")?;
    let status = |key: &str| text(change, &[key, "status"]);
    Some((int(change, &["chat", "id"])?, status("old_chat_member")?, status("new_chat_member")?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn put(old: &Value, new: &Value) -> Option<Message> {
        let update = json!({"update_id": 9, "message_reaction": {"chat": {"id": -100, "type": "supergroup"}, "message_id": 5,
            "date": 7, "user": {"id": 42, "first_name": "Ann"}, "old_reaction": old, "new_reaction": new}});
        message(&update, "main")
    }

    fn emoji(emoji: &str) -> Value {
        json!({"type": "emoji", "emoji": emoji})
    }

    #[test]
    fn the_emoji_that_is_new_is_the_one_that_was_put() {
        let found = put(&json!([emoji("👍")]), &json!([emoji("👍"), emoji("❤")])).expect("a reaction");
        assert_eq!(found.kind, Kind::Reaction { emoji: "❤".into(), message: "5".into() });
        assert_eq!((found.key.as_str(), found.heard, found.at_ms), ("r:-100:5:9", Heard::Overheard, 7_000));
        assert_eq!((found.sender.id.as_str(), found.address.reply_to.as_deref()), ("42", Some("5")));
        assert_eq!(put(&json!([emoji("👍")]), &json!([])), None, "taken away");
        let custom = put(&json!([]), &json!([{"type": "custom_emoji", "custom_emoji_id": "77"}])).expect("a reaction");
        assert!(matches!(custom.kind, Kind::Reaction { emoji, .. } if emoji == "77"));
        assert_eq!(put(&json!("odd"), &json!([{"type": "from the future"}, 7])), None);
    }

    #[test]
    fn a_chat_can_react_too_and_in_a_direct_chat_it_is_to_us() {
        let chat = json!({"id": 42, "type": "private"});
        let update = json!({"update_id": 9, "message_reaction": {"chat": chat, "message_id": 5, "date": 7,
            "actor_chat": {"id": -5, "title": "News"}, "old_reaction": [], "new_reaction": [{"type": "paid"}]}});
        let found = message(&update, "main").expect("a reaction");
        assert_eq!((found.sender.name.as_str(), found.heard), ("News", Heard::Direct));
    }
}
