//! Emoji that people put on messages.

use serde_json::{Value, json};

use super::cast::now;
use super::inbound::person_entry;
use super::people::{Outcome, React, Said, refused};
use super::transcript::Kind;
use super::world::World;

/// Most people whose emoji a message keeps.
const MOST: usize = 1_000;

impl World {
    /// In groups the platform tells only bots that administrate them; here all of them do.
    pub fn react(&mut self, react: &React) -> Outcome<Said> {
        let id = self.place(&react.conversation)?;
        let user = self.person(&react.user, None)?;
        let Some(chat) = self.chats.get_mut(&id) else { return refused(404, "no such conversation") };
        let thread = match chat.messages.get(&react.message) {
            Some(message) => chat.thread_name(message.thread),
            None => return refused(404, "message: no such message"),
        };
        let Some(message) = chat.messages.get_mut(&react.message) else { return refused(404, "no such message") };
        let list = |emoji: Option<&String>| -> Value {
            emoji.map_or(json!([]), |emoji| json!([{"type": "emoji", "emoji": emoji}]))
        };
        let old = list(message.reactions.get(&user.id));
        match react.emoji.is_empty() {
            true => drop(message.reactions.remove(&user.id)),
            false if message.reactions.len() < MOST => drop(message.reactions.insert(user.id, react.emoji.clone())),
            false => return refused(409, "too many people reacted"),
        }
        let new = list(message.reactions.get(&user.id));
        let Some(chat) = self.chats.get(&id) else { return refused(404, "no such conversation") };
        let event = json!({"chat": chat.json(), "message_id": react.message, "user": user.json(), "date": now(),
            "old_reaction": old, "new_reaction": new});
        let mut entry = person_entry(chat, &user, Kind::Reaction);
        entry.message = Some(react.message);
        entry.thread = thread;
        entry.text = react.emoji.clone();
        entry.payload = event.clone();
        let (only, wire) = (self.only(chat), chat.wire);
        self.log(entry);
        self.stats.received += 1;
        let update = self.tell("message_reaction", event, only);
        Ok(Said { message: Some(react.message), chat: wire, update, interaction: None })
    }
}
