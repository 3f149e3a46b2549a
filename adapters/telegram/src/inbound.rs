//! An update of Telegram, normalised. Raw JSON with everything optional: a message that a typed model would refuse keeps
//! its text here, and an unknown kind with a text anywhere is still a message.

use contract::{Action, Address, FileRef, Heard, Kind, Message, Opaque, Platform, Quote, Sender, TurnId};
use serde_json::Value;

use self::entities::Entities;
pub(crate) use self::fields::{int, text};
pub use self::reaction::membership;

mod entities;
mod fields;
mod files;
#[cfg(test)]
mod payloads;
mod reaction;
#[cfg(test)]
mod tests;

/// Who we are on this account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Me {
    pub id: i64,
    /// Without the `@`.
    pub username: String,
}

/// The people whom the platform shows in place of a chat that speaks: an anonymous administrator, a channel, the one that
/// forwards a channel's posts to its group.
const STAND_INS: [i64; 3] = [1_087_968_824, 136_817_688, 777_000];
/// The thread id of a forum's General topic: it must never be sent.
const GENERAL: i64 = 1;
/// Apps cut a text at 4,096 units, a little earlier where a line or a word ends.
const LONG: usize = 3_900;
/// Kinds about a message or a chat, in which nobody says anything.
const SILENT: [&str; 5] = ["message_reaction", "message_reaction_count", "my_chat_member", "chat_member", STOPPED];
/// The kind that tells of a press on the button of a draft.
pub(crate) const STOPPED: &str = "stopped_message_generation";
/// A cut at this length may fall into a word, if the word is longer than what apps look back for white space.
const LONGEST: usize = 4_096;
const LONGEST_WORD: usize = 64;
/// What stands before a direct-messages topic of a channel, in [`Address::thread`].
pub(crate) const DIRECT_TOPIC: char = 'd';

/// The message that an update carries, if it carries one for anybody to read.
pub fn message(update: &Value, me: &Me, account: &str) -> Option<Message> {
    match carried(update) {
        Some((kind, message)) => said(message, kind.starts_with("edited_"), me, account),
        None => match update.get("callback_query") {
            Some(pressed) => press(pressed, account),
            None => reaction::message(update, account),
        },
    }
}

/// The album that an update's message belongs to: chat and group.
pub fn album(update: &Value) -> Option<String> {
    let (_, message) = carried(update).filter(|(kind, _)| !kind.starts_with("edited_"))?;
    let chat = int(message, &["chat", "id"])?;
    Some(format!("g:{chat}:{}", text(message, &["media_group_id"])?))
}

/// Who said a text that is so long that the person's app may have cut it. What they say next belongs to it.
pub fn long(update: &Value) -> Option<String> {
    let (_, message) = carried(update)?;
    if units(text(message, &["text"])?) >= LONG { speaker(update) } else { None }
}

/// Whether a text goes on with the cut one before it. A command begins something new.
pub fn continues(before: &Value, update: &Value) -> bool {
    let said = carried(update).and_then(|(_, message)| text(message, &["text"]));
    let Some(said) = said.filter(|said| !said.starts_with('/')) else { return false };
    !said.is_empty() && long(before).is_some_and(|who| speaker(update) == Some(who))
}

/// What stood where a text was cut: nothing within a word too long to be kept whole; else white space, which the
/// platform has taken away at the ends of both.
pub fn glue(update: &Value) -> &'static str {
    let said = carried(update).and_then(|(_, message)| text(message, &["text"])).unwrap_or_default();
    let is_torn = units(said) == LONGEST && !said.chars().rev().take(LONGEST_WORD).any(char::is_whitespace);
    if is_torn { "" } else { "\n" }
}

/// Chat, topic and sender of a text that was just said.
fn speaker(update: &Value) -> Option<String> {
    let (_, message) = carried(update).filter(|(kind, _)| !kind.starts_with("edited_"))?;
    text(message, &["text"])?;
    let topic = int(message, &["message_thread_id"]).unwrap_or_default();
    Some(format!("{}:{topic}:{}", int(message, &["chat", "id"])?, int(message, &["from", "id"])?))
}

/// Length in UTF-16 units, unless it cannot be long.
fn units(text: &str) -> usize {
    if text.len() < LONG { 0 } else { text.encode_utf16().count() }
}

/// The chat of the message in an update.
pub fn chat(update: &Value) -> Option<i64> {
    int(carried(update)?.1, &["chat", "id"])
}

/// Several messages as one at the first one's place: each text behind what is to stand before it, all files.
pub fn join(parts: Vec<(&'static str, Message)>, key: String) -> Option<Message> {
    let mut parts = parts.into_iter();
    let (_, mut whole) = parts.next()?;
    if parts.len() == 0 {
        return Some(Message { key, ..whole });
    }
    let mut said = whole.text().to_owned();
    for (glue, part) in parts {
        if !part.text().is_empty() {
            said.push_str(if said.is_empty() { "" } else { glue });
            said.push_str(part.text());
        }
        if part.heard != Heard::Overheard {
            whole.heard = part.heard;
        }
        whole.files.extend(part.files);
        whole.quote = whole.quote.or(part.quote);
    }
    Some(Message { key, kind: Kind::Text { text: said }, ..whole })
}

/// A group that became a supergroup: the old and the new chat id.
pub fn migration(update: &Value) -> Option<(i64, i64)> {
    let (_, message) = carried(update)?;
    let chat = int(message, &["chat", "id"])?;
    match (int(message, &["migrate_to_chat_id"]), int(message, &["migrate_from_chat_id"])) {
        (Some(to), _) => Some((chat, to)),
        (None, Some(from)) => Some((from, chat)),
        (None, None) => None,
    }
}

/// The id of a press, which must always be answered.
pub fn press_id(update: &Value) -> Option<&str> {
    text(update, &["callback_query", "id"])
}

/// Chat and number of a draft that somebody stopped by its button.
pub fn stopped(update: &Value) -> Option<(i64, i64)> {
    let stopped = update.get(STOPPED)?;
    Some((int(stopped, &["chat", "id"])?, int(stopped, &["draft_id"])?))
}

/// The press that stopping a draft is: in a private chat, by its person.
pub fn stop(update: &Value, turn: TurnId, account: &str) -> Option<Message> {
    let stopped = update.get(STOPPED)?;
    let address = address(stopped, account).filter(|address| address.direct)?;
    Some(Message {
        key: format!("s:{}:{turn}", address.conversation),
        sender: person(stopped.get("chat")?)?,
        address,
        roles: Vec::new(),
        kind: Kind::Press { data: Action::Cancel(turn).to_string() },
        heard: Heard::Direct,
        files: Vec::new(),
        quote: None,
        from_bot: false,
        locale: None,
        at_ms: 0,
    })
}

/// Whether an update that carries no message is one that need not: a reaction, a member's change, a message about the chat.
pub fn is_silent(update: &Value) -> bool {
    let known = |(key, value): (&String, &Value)| is_others(key) && value.is_object();
    carried(update).is_some() || update.as_object().is_some_and(|update| update.iter().any(known))
}

/// Key and value of the message in an update; a kind that is not known counts when it looks like a message. What a person
/// and their customers write to each other, with a business account that a bot helps, is not said to us.
fn carried(update: &Value) -> Option<(&str, &Value)> {
    let looks = |value: &Value| value.get("chat").is_some_and(Value::is_object) && value.get("message_id").is_some();
    update
        .as_object()?
        .iter()
        .find(|(key, value)| *key != "callback_query" && !is_others(key) && looks(value))
        .map(|(k, v)| (k.as_str(), v))
}

fn is_others(kind: &str) -> bool {
    SILENT.contains(&kind) || kind.contains("business_")
}

fn said(message: &Value, is_edit: bool, me: &Me, account: &str) -> Option<Message> {
    let sender = sender(message)?;
    let is_ours = int(message, &["from", "id"]) == Some(me.id) && !stands_in(message);
    if is_ours {
        return None;
    }
    let (content, marks) = content(message);
    let files = files::of(message);
    if content.is_empty() && files.is_empty() {
        return None;
    }
    let entities = Entities::new(&content, marks, me);
    let address = address(message, account)?;
    let heard = heard(message, &entities, me, address.direct);
    let said = entities.without_us();
    let (chat, id) = (&address.conversation, int(message, &["message_id"])?);
    let (key, kind) = match int(message, &["edit_date"]).filter(|_| is_edit) {
        Some(at) => (format!("e:{chat}:{id}:{at}"), Kind::Edit { text: said }),
        None if is_edit => (format!("e:{chat}:{id}:0"), Kind::Edit { text: said }),
        None => (format!("m:{chat}:{id}"), Kind::Text { text: said }),
    };
    Some(Message {
        key,
        address,
        sender,
        roles: Vec::new(),
        kind,
        heard,
        files,
        quote: quote(message),
        from_bot: message["from"]["is_bot"] == true && !stands_in(message),
        locale: text(message, &["from", "language_code"]).map(str::to_lowercase),
        at_ms: millis(message, if is_edit { "edit_date" } else { "date" }),
    })
}

fn press(press: &Value, account: &str) -> Option<Message> {
    let id = text(press, &["id"])?;
    let data = text(press, &["data"])?;
    let message = press.get("message")?;
    let address = address(message, account)?;
    Some(Message {
        key: format!("c:{id}"),
        heard: if address.direct { Heard::Direct } else { Heard::Addressed },
        address,
        sender: person(press.get("from")?)?,
        roles: Vec::new(),
        kind: Kind::Press { data: data.to_owned() },
        files: Vec::new(),
        quote: None,
        from_bot: press["from"]["is_bot"] == true,
        locale: text(press, &["from", "language_code"]).map(str::to_lowercase),
        at_ms: millis(message, "date"),
    })
}

fn address(message: &Value, account: &str) -> Option<Address> {
    let chat = int(message, &["chat", "id"])?;
    let topic = int(message, &["message_thread_id"]).filter(|id| *id != GENERAL && message["is_topic_message"] == true);
    let direct_topic = int(message, &["direct_messages_topic", "topic_id"]).map(|id| format!("{DIRECT_TOPIC}{id}"));
    Some(Address {
        thread: topic.map(|id| id.to_string()).or(direct_topic),
        reply_to: int(message, &["message_id"]).map(|id| id.to_string()),
        direct: text(message, &["chat", "type"]) == Some("private"),
        ..Address::new(Platform::Telegram, account, chat.to_string())
    })
}

/// Who is taken to speak: a chat that speaks under its own name, else the person.
fn sender(message: &Value) -> Option<Sender> {
    let chat = message.get("sender_chat").filter(|_| stands_in(message) || message.get("from").is_none());
    chat.or_else(|| message.get("from")).or_else(|| message.get("chat")).and_then(person)
}

fn stands_in(message: &Value) -> bool {
    message.get("sender_chat").is_some() && int(message, &["from", "id"]).is_none_or(|id| STAND_INS.contains(&id))
}

fn person(who: &Value) -> Option<Sender> {
    let names = [text(who, &["first_name"]), text(who, &["last_name"])];
    let full = names.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let name = Some(full).filter(|name| !name.is_empty());
    let name = name.or_else(|| text(who, &["title"]).or_else(|| text(who, &["username"])).map(str::to_owned));
    Some(Sender { id: int(who, &["id"])?.to_string(), name: name.unwrap_or_default() })
}

/// What was written, with its entities; of other kinds, what they say in words.
fn content(message: &Value) -> (String, &[Value]) {
    let list = |key: &str| message.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if let Some(said) = text(message, &["text"]) {
        return (said.to_owned(), list("entities"));
    }
    if let Some(said) = text(message, &["caption"]) {
        return (said.to_owned(), list("caption_entities"));
    }
    (fields::words(message), &[])
}

fn heard(message: &Value, entities: &Entities<'_>, me: &Me, direct: bool) -> Heard {
    if entities.commands_another() {
        return Heard::Overheard;
    }
    let answered = message.get("reply_to_message").filter(|answered| !is_topic_root(answered));
    let answers_us = answered.is_some_and(|answered| int(answered, &["from", "id"]) == Some(me.id));
    if direct {
        Heard::Direct
    } else if entities.name_us() || entities.command_us() || answers_us {
        Heard::Addressed
    } else {
        Heard::Overheard
    }
}

/// Every message of a topic answers its first one as far as the platform is concerned; nobody meant to.
fn is_topic_root(answered: &Value) -> bool {
    answered.get("forum_topic_created").is_some()
}

fn quote(message: &Value) -> Option<Quote> {
    let answered = message.get("reply_to_message").filter(|answered| !is_topic_root(answered));
    let elsewhere = message.get("external_reply");
    let quoted = text(message, &["quote", "text"]);
    let source = answered.or(elsewhere);
    if source.is_none() && quoted.is_none() {
        // A story has an author and no words.
        let author = message.get("reply_to_story")?.get("chat").and_then(person);
        return Some(Quote { message: None, author, text: String::new() });
    }
    let said = quoted.map(str::to_owned).or_else(|| answered.map(|answered| content(answered).0)).unwrap_or_default();
    let author = answered.and_then(sender).or_else(|| elsewhere.and_then(|reply| origin(reply.get("origin")?)));
    let id = source.and_then(|source| int(source, &["message_id"])).map(|id| id.to_string());
    Some(Quote { message: id, author, text: said })
}

/// The author of a message in another chat, as far as it is told.
fn origin(origin: &Value) -> Option<Sender> {
    let known = ["sender_user", "sender_chat", "chat"].into_iter().find_map(|key| origin.get(key));
    let hidden = || Some(Sender { id: String::new(), name: text(origin, &["sender_user_name"])?.to_owned() });
    known.and_then(person).or_else(hidden)
}

fn millis(message: &Value, key: &str) -> u64 {
    let date = int(message, &[key]).or_else(|| int(message, &["date"])).unwrap_or(0);
    u64::try_from(date).unwrap_or(0).saturating_mul(1_000)
}

/// A file that is opened by its id, and can be sent on as what it is.
fn file(kind: &str, id: &str, name: String, media_type: Option<&str>, size: Option<i64>) -> Option<FileRef> {
    let named = if kind == "document" { id.to_owned() } else { format!("{kind}:{id}") };
    Some(FileRef {
        name,
        media_type: media_type.map(str::to_owned),
        size: size.and_then(|size| u64::try_from(size).ok()),
        handle: Opaque::new(format!("{}{named}", crate::render::HANDLE))?,
    })
}
