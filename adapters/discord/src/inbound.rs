//! An event of Discord's gateway, normalised. Raw JSON with everything optional: a message that a typed model would refuse
//! keeps its text here.

use contract::{Address, Heard, Kind, Message, Platform, Quote, Sender};
use serde_json::Value;

pub use self::interaction::{Interaction, Opt, What, interaction};
pub(crate) use self::{
    files::HANDLE,
    interaction::{arguments, message as answered},
};

mod files;
mod interaction;
mod mentions;
#[cfg(test)]
mod payloads;
#[cfg(test)]
mod tests;
mod words;

/// What is known beside the event itself.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The account's configuration key.
    pub account: &'a str,
    /// Our user's id.
    pub me: &'a str,
    /// The role in this guild that is ours alone.
    pub our_role: Option<&'a str>,
    /// The channel that the event's channel is a thread of.
    pub parent: Option<&'a str>,
}

/// The kind of channel that is a conversation with one person.
const DIRECT: u64 = 1;
/// Kinds of messages in which a person says something; all others but those unknown are the platform's own.
const SAID: [u64; 4] = [0, 19, 20, 23];
/// The platform's own kinds are below this number; what comes later may be said by somebody.
const KNOWN_KINDS: u64 = 47;
/// Milliseconds of 1970 at which ids begin to count.
const EPOCH_MS: u64 = 1_420_070_400_000;

/// The message that somebody wrote (`MESSAGE_CREATE`).
pub fn message(event: &Value, cx: &Context<'_>) -> Option<Message> {
    let kind = event["type"].as_u64().unwrap_or(0);
    if kind < KNOWN_KINDS && !SAID.contains(&kind) {
        return None;
    }
    let id = text(event, "id")?;
    said(event, cx, format!("m:{id}"), |text| Kind::Text { text })
}

/// The new text of a message (`MESSAGE_UPDATE`). An update without an edit is a preview that the platform added.
pub fn edit(event: &Value, cx: &Context<'_>) -> Option<Message> {
    let (id, edited) = (text(event, "id")?, text(event, "edited_timestamp")?);
    event.get("content").and_then(Value::as_str)?;
    said(event, cx, format!("e:{id}:{edited}"), |text| Kind::Edit { text })
}

/// An emoji that somebody put on a message (`MESSAGE_REACTION_ADD`).
pub fn reaction(event: &Value, cx: &Context<'_>) -> Option<Message> {
    let user = text(event, "user_id").filter(|user| *user != cx.me)?;
    let (message, emoji) = (text(event, "message_id")?, text(&event["emoji"], "name")?);
    let address = Address { reply_to: Some(message.to_owned()), ..address(event, cx)? };
    let is_on_ours = text(event, "message_author_id") == Some(cx.me);
    let member = &event["member"];
    let known = person(&member["user"], member);
    Some(Message {
        key: format!("r:{message}:{user}:{emoji}"),
        heard: heard(address.direct, is_on_ours),
        sender: Sender { id: user.to_owned(), name: known.map(|known| known.name).unwrap_or_default() },
        roles: roles(event),
        kind: Kind::Reaction { emoji: emoji.to_owned(), message: message.to_owned() },
        files: Vec::new(),
        quote: None,
        from_bot: member["user"]["bot"] == true,
        locale: None,
        at_ms: 0,
        address,
    })
}

/// Milliseconds since 1970 at which something with that id was made.
pub fn made_at_ms(id: &str) -> Option<u64> {
    id.parse::<u64>().ok().map(|id| (id >> 22) + EPOCH_MS)
}

/// The least id of what was made at that time.
pub(crate) fn id_of(at_ms: u64) -> u64 {
    at_ms.saturating_sub(EPOCH_MS) << 22
}

fn said(event: &Value, cx: &Context<'_>, key: String, kind: impl Fn(String) -> Kind) -> Option<Message> {
    let author = &event["author"];
    if text(author, "id") == Some(cx.me) {
        return None;
    }
    let whole = words::of(event);
    let files = files::of(event);
    if whole.is_empty() && files.is_empty() {
        return None;
    }
    let id = text(event, "id")?;
    let address = Address { reply_to: Some(id.to_owned()), ..address(event, cx)? };
    let answers_us = text(&event["referenced_message"]["author"], "id") == Some(cx.me);
    let is_for_us = answers_us || mentions::name_us(event, cx);
    Some(Message {
        key,
        heard: heard(address.direct, is_for_us),
        sender: person(author, &event["member"]).unwrap_or(Sender { id: String::new(), name: String::new() }),
        roles: roles(event),
        kind: kind(mentions::readable(&whole, event, cx)),
        files,
        quote: quote(event, cx),
        from_bot: author["bot"] == true || text(event, "webhook_id").is_some(),
        locale: None,
        at_ms: made_at_ms(id).unwrap_or(0),
        address,
    })
}

fn heard(direct: bool, is_for_us: bool) -> Heard {
    match (direct, is_for_us) {
        (true, _) => Heard::Direct,
        (false, true) => Heard::Addressed,
        (false, false) => Heard::Overheard,
    }
}

/// A thread is part of its channel: the channel is the conversation.
fn address(event: &Value, cx: &Context<'_>) -> Option<Address> {
    let channel = text(event, "channel_id")?;
    let guild = text(event, "guild_id");
    let is_direct = guild.is_none() && event["channel_type"].as_u64().is_none_or(|kind| kind == DIRECT);
    Some(Address {
        space: guild.map(str::to_owned),
        thread: cx.parent.map(|_| channel.to_owned()),
        direct: is_direct,
        ..Address::new(Platform::Discord, cx.account, cx.parent.unwrap_or(channel))
    })
}

/// Whose words they are; in a guild people have other names.
fn person(user: &Value, member: &Value) -> Option<Sender> {
    let names = [text(member, "nick"), text(user, "global_name"), text(user, "username")];
    let name = names.into_iter().flatten().find(|name| !name.is_empty()).unwrap_or_default();
    Some(Sender { id: text(user, "id")?.to_owned(), name: name.to_owned() })
}

/// The member's roles, and the one that all of the guild have: its id is the guild's.
fn roles(event: &Value) -> Vec<String> {
    let of_member = event["member"]["roles"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let everyone = text(event, "guild_id").filter(|_| event["member"].is_object());
    of_member.chain(everyone).map(str::to_owned).collect()
}

/// The message that is answered. One that is forwarded is no answer: it stands in the text.
fn quote(event: &Value, cx: &Context<'_>) -> Option<Quote> {
    let reference = event.get("message_reference").filter(|reference| reference["type"].as_u64().unwrap_or(0) == 0)?;
    let answered = &event["referenced_message"];
    let whole = words::of(answered);
    Some(Quote {
        message: text(answered, "id").or_else(|| text(reference, "message_id")).map(str::to_owned),
        author: person(&answered["author"], &Value::Null),
        text: mentions::readable(&whole, answered, cx),
    })
}

pub(crate) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}
