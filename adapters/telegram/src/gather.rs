//! Which updates of a batch belong together: the parts of an album, the pieces of a text that an app cut.

use std::collections::HashMap;

use contract::Message;
use serde_json::Value;

use crate::inbound;

/// An album has no more parts.
const MOST_PARTS: usize = 10;

/// Updates that are one message, or a single one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// Their places in the batch, in order; never empty.
    pub(crate) places: Vec<usize>,
    /// Where it was said; nothing for what is no message.
    pub(crate) chat: Option<i64>,
    /// Its name while it may still grow.
    pub(crate) open: Option<String>,
    album: Option<String>,
}

/// The groups among the updates at `places`, in the order of their first ones.
pub(crate) fn groups(updates: &[Value], places: impl Iterator<Item = usize>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut albums: HashMap<String, usize> = HashMap::new();
    // The newest update of each chat: its place and its group.
    let mut newest: HashMap<i64, (usize, usize)> = HashMap::new();
    for at in places {
        let update = &updates[at];
        let (chat, album) = (inbound::chat(update), inbound::album(update));
        let before = chat.and_then(|chat| newest.get(&chat).copied());
        let known = match &album {
            Some(key) => albums.get(key).copied(),
            None => before.filter(|(place, _)| inbound::continues(&updates[*place], update)).map(|(_, group)| group),
        };
        let group = known.unwrap_or_else(|| {
            groups.push(Group { places: Vec::new(), chat, open: None, album: album.clone() });
            groups.len() - 1
        });
        groups[group].places.push(at);
        albums.extend(album.map(|key| (key, group)));
        newest.extend(chat.map(|chat| (chat, (at, group))));
    }
    for (n, group) in groups.iter_mut().enumerate() {
        let is_newest = group.chat.and_then(|chat| newest.get(&chat)).is_some_and(|(_, newest)| *newest == n);
        group.open = group.name(updates, is_newest);
    }
    groups
}

impl Group {
    /// A group that may grow has a name: an album with room, a cut text that nothing in its chat follows.
    fn name(&self, updates: &[Value], is_newest: bool) -> Option<String> {
        if let Some(key) = &self.album {
            return (self.places.len() < MOST_PARTS).then(|| key.clone());
        }
        let (first, last) = (self.places.first()?, self.places.last()?);
        let speaker = inbound::long(&updates[*last]).filter(|_| is_newest)?;
        Some(format!("{speaker} {}", updates[*first]["update_id"]))
    }

    /// Its message, read one by one. The key of what has several parts tells how far it reaches: a part that comes late
    /// is something new, and not a repeat of what was taken without it.
    pub(crate) fn message(&self, updates: &[Value], read: impl Fn(&Value) -> Option<Message>) -> Option<Message> {
        let mut parts = Vec::with_capacity(self.places.len());
        let mut glue = "\n";
        for at in &self.places {
            parts.extend(read(&updates[*at]).map(|message| (glue, message)));
            glue = if self.album.is_some() { "\n" } else { inbound::glue(&updates[*at]) };
        }
        let (_, first) = parts.first()?;
        let key = match &self.album {
            None if parts.len() == 1 => first.key.clone(),
            album => {
                let last = parts.last().and_then(|(_, part)| part.address.reply_to.as_deref()).unwrap_or_default();
                format!("{}:{last}", album.as_ref().unwrap_or(&first.key))
            }
        };
        inbound::join(parts, key)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(id: i64, chat: i64, text: &str) -> Value {
        json!({"update_id": id, "message": {"message_id": id, "date": 1, "chat": {"id": chat, "type": "private"},
            "from": {"id": 7, "first_name": "Ann"}, "text": text}})
    }

    fn part(id: i64, chat: i64) -> Value {
        json!({"update_id": id, "message": {"message_id": id, "date": 1, "chat": {"id": chat, "type": "private"},
            "from": {"id": 7, "first_name": "Ann"}, "media_group_id": "g", "document": {"file_id": format!("F{id}")}}})
    }

    fn places(updates: &[Value]) -> Vec<(Vec<usize>, bool)> {
        groups(updates, 0..updates.len()).into_iter().map(|group| (group.places, group.open.is_some())).collect()
    }

    fn texts(updates: &[Value]) -> Vec<String> {
        let me = inbound::Me { id: 1, username: "us".into() };
        let read = |update: &Value| inbound::message(update, &me, "main");
        groups(updates, 0..updates.len())
            .iter()
            .filter_map(|group| group.message(updates, read))
            .map(|message| format!("{} {}", message.key, message.text()))
            .collect()
    }

    #[test]
    fn what_belongs_together_is_found_between_other_chats_updates() {
        let long = "word ".repeat(800);
        let batch = [said(1, 5, &long), part(2, 6), said(3, 9, "x"), said(4, 5, "end"), part(5, 6), said(6, 6, "y")];
        let expected =
            [(vec![0, 3], false), (vec![1, 4], true), (vec![2], false), (vec![5], false)].map(|group| group.to_owned());
        assert_eq!(places(&batch), expected);
        assert_eq!(places(&[said(1, 5, &long)]), [(vec![0], true)], "more may follow");
        assert_eq!(places(&[said(1, 5, &long), said(2, 5, "/stop")]), [(vec![0], false), (vec![1], false)]);
        assert_eq!(places(&[said(1, 5, "short"), said(2, 5, "end")]), [(vec![0], false), (vec![1], false)]);
        let album: Vec<Value> = (0..10).map(|id| part(id, 5)).collect();
        assert_eq!(places(&album), [((0..10).collect(), false)], "it cannot grow");
    }

    #[test]
    fn a_torn_word_is_whole_again_and_lines_stay_apart() {
        let token = "0123456789abcdef".repeat(256);
        assert_eq!(texts(&[said(1, 5, &token), said(2, 5, "tail")]), [format!("m:5:1:2 {token}tail")]);
        let prose = "word ".repeat(800).trim_end().to_owned();
        assert_eq!(texts(&[said(1, 5, &prose), said(2, 5, "tail")]), [format!("m:5:1:2 {prose}\ntail")]);
    }

    #[test]
    fn a_late_part_has_a_key_of_its_own() {
        let keys = |batch: &[Value]| texts(batch).join("|");
        assert_eq!(keys(&[part(1, 5), part(2, 5)]), "g:5:g:2 ");
        assert_eq!(keys(&[part(3, 5)]), "g:5:g:3 ");
        assert_eq!(keys(&[said(1, 5, "x")]), "m:5:1 x");
    }
}
