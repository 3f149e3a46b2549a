//! A payload of Slack, normalised. Raw JSON with everything optional: an event that a typed model would refuse keeps its
//! text here.

use contract::{Address, Heard, Kind, Message, Platform, Sender};
use serde_json::Value;

pub(crate) use self::{
    actions::{command, form, press},
    fields::{array, text},
    files::{BY_ID, BY_URL},
    place::{Slip, is_direct},
    words::read,
};

mod actions;
mod blocks;
mod emoji;
mod fields;
mod files;
#[cfg(test)]
mod payloads;
mod place;
#[cfg(test)]
mod tests;
mod words;

/// Who we are on this account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Me {
    /// The bot's user id, as mentions write it.
    pub user: String,
    /// The bot's own id, as its messages carry it.
    pub bot: Option<String>,
    /// The app, as far as it is known.
    pub app: Option<String>,
    pub team: String,
    /// The organisation that installed the app in all of its workspaces; nothing when one workspace did.
    pub organisation: Option<String>,
}

/// Messages about a conversation, in which nobody says anything, and those that the platform hides.
const SILENT: [&str; 34] = [
    "assistant_app_thread",
    "bot_add",
    "bot_disable",
    "bot_enable",
    "bot_remove",
    "channel_archive",
    "channel_canvas_updated",
    "channel_convert_to_private",
    "channel_convert_to_public",
    "channel_join",
    "channel_leave",
    "channel_name",
    "channel_posting_permissions",
    "channel_purpose",
    "channel_topic",
    "channel_unarchive",
    "document_mention",
    "ekm_access_denied",
    "file_comment",
    "file_mention",
    "group_archive",
    "group_join",
    "group_leave",
    "group_name",
    "group_purpose",
    "group_topic",
    "group_unarchive",
    "huddle_thread",
    "message_deleted",
    "message_replied",
    "pinned_item",
    "sh_room_created",
    "tombstone",
    "unpinned_item",
];

/// What a payload of any kind says or does to us, if anything: an event, a slash command, a press, a form.
pub fn message(payload: &Value, me: &Me, account: &str) -> Option<Message> {
    event(payload, me, account)
        .or_else(|| command(payload, me, account, 0).map(|typed| typed.message))
        .or_else(|| press(payload, me, account, 0))
        .or_else(|| form(payload, me, account, 0))
}

/// What an event says or does to us, if anything.
pub fn event(payload: &Value, me: &Me, account: &str) -> Option<Message> {
    let event = payload.get("event")?;
    match text(event, "type")? {
        "message" => match text(event, "subtype") {
            Some("message_changed") => edit(payload, event, me, account),
            Some(subtype) if SILENT.contains(&subtype) => None,
            _ => said(payload, event, me, account),
        },
        "app_mention" => said(payload, event, me, account),
        "reaction_added" => reaction(payload, event, me, account),
        _ => None,
    }
}

/// Whether the payload concerns this account: several apps in one workspace, and several workspaces that share a channel,
/// may each see it.
pub fn is_ours(payload: &Value, me: &Me) -> bool {
    let is_another_app = |app: &str| me.app.as_deref().is_some_and(|ours| ours != app);
    if text(payload, "api_app_id").is_some_and(is_another_app) {
        return false;
    }
    let authorised = array(payload, "authorizations");
    let ours = |team: Option<&str>| team.is_some_and(|team| team == me.team);
    authorised.is_empty()
        || authorised.iter().any(|with| {
            let organisation = me.organisation.as_deref();
            let all_of_it = with["is_enterprise_install"] == true && organisation.is_some();
            ours(text(with, "team_id")) || all_of_it && text(with, "enterprise_id") == organisation
        })
        || ours(text(payload, "context_team_id"))
        || ours(text(payload, "team_id"))
}

fn said(payload: &Value, event: &Value, me: &Me, account: &str) -> Option<Message> {
    let (message, words) = heard(payload, event, event, me, account)?;
    let key = format!("m:{}", place_of(&message.address));
    Some(Message { key, kind: Kind::Text { text: words }, ..message })
}

/// A text that really changed; a preview that was added to it, or a thread that grew under it, is no edit.
fn edit(payload: &Value, event: &Value, me: &Me, account: &str) -> Option<Message> {
    let now = event.get("message")?;
    if text(now, "subtype").is_some_and(|subtype| SILENT.contains(&subtype)) {
        return None;
    }
    let (message, words) = heard(payload, event, now, me, account)?;
    let edited = now.get("edited").and_then(|edited| text(edited, "ts"));
    let has_changed = match event.get("previous_message").filter(|before| before.is_object()) {
        Some(before) => read(before, me).text != words,
        None => edited.is_some(),
    };
    let at = edited.or_else(|| text(event, "event_ts")).or_else(|| text(event, "ts")).unwrap_or_default();
    let key = format!("e:{}:{at}", place_of(&message.address));
    has_changed.then(|| Message { key, kind: Kind::Edit { text: words }, at_ms: millis(at), ..message })
}

/// What a message is whatever becomes of it, and its text.
fn heard(payload: &Value, event: &Value, said: &Value, me: &Me, account: &str) -> Option<(Message, String)> {
    let is_ours =
        text(said, "user") == Some(&me.user) || text(said, "bot_id").is_some_and(|id| me.bot.as_deref() == Some(id));
    if is_ours {
        return None;
    }
    let (channel, ts) = (text(event, "channel")?, text(said, "ts")?);
    let words = read(said, me);
    let files = files::of(said);
    let mentions = words.names_us || text(event, "type") == Some("app_mention");
    if words.text.is_empty() && files.is_empty() && !mentions {
        return None;
    }
    let direct = is_direct(channel, text(event, "channel_type"));
    let answers_us = text(said, "parent_user_id") == Some(&me.user);
    let heard = match () {
        () if direct => Heard::Direct,
        () if mentions || answers_us => Heard::Addressed,
        () => Heard::Overheard,
    };
    let sender = sender(said);
    let address = Address {
        space: Some(place::team(payload, me)),
        thread: place::thread(text(said, "thread_ts"), ts, direct),
        reply_to: Some(ts.to_owned()),
        direct,
        private: Slip { user: sender.id.clone(), ..Slip::default() }.opaque(),
        ..Address::new(Platform::Slack, account, channel)
    };
    let message = Message {
        key: String::new(),
        address,
        roles: Vec::new(),
        kind: Kind::Text { text: String::new() },
        heard,
        files,
        quote: None,
        from_bot: text(said, "bot_id").is_some() || text(said, "subtype") == Some("bot_message"),
        locale: None,
        at_ms: millis(ts),
        sender,
    };
    Some((message, words.text))
}

fn reaction(payload: &Value, event: &Value, me: &Me, account: &str) -> Option<Message> {
    let user = text(event, "user").filter(|user| *user != me.user)?;
    let item = event.get("item")?;
    let (channel, ts, name) = (text(item, "channel")?, text(item, "ts")?, text(event, "reaction")?);
    let direct = is_direct(channel, None);
    let team = place::team(payload, me);
    let at = text(event, "event_ts").unwrap_or_default();
    Some(Message {
        key: format!("r:{team}:{channel}:{ts}:{user}:{name}:{at}"),
        address: Address {
            space: Some(team),
            reply_to: Some(ts.to_owned()),
            direct,
            private: Slip { user: user.to_owned(), ..Slip::default() }.opaque(),
            ..Address::new(Platform::Slack, account, channel)
        },
        sender: Sender { id: user.to_owned(), name: String::new() },
        roles: Vec::new(),
        kind: Kind::Reaction { emoji: emoji::character(name), message: ts.to_owned() },
        heard: match () {
            () if direct => Heard::Direct,
            () if text(event, "item_user") == Some(&me.user) => Heard::Addressed,
            () => Heard::Overheard,
        },
        files: Vec::new(),
        quote: None,
        from_bot: false,
        locale: None,
        at_ms: millis(at),
    })
}

/// A person, or another app by its bot.
fn sender(said: &Value) -> Sender {
    let profile =
        |key| said.get("user_profile").or_else(|| said.get("bot_profile")).and_then(|profile| text(profile, key));
    let id = text(said, "user").or_else(|| text(said, "bot_id")).unwrap_or_default();
    let name = profile("display_name").or_else(|| profile("real_name")).or_else(|| profile("name"));
    let name = name.or_else(|| text(said, "username")).unwrap_or_default();
    Sender { id: id.to_owned(), name: name.to_owned() }
}

/// Where a message stands: its own name within the account.
fn place_of(address: &Address) -> String {
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    format!("{}:{}:{}", part(&address.space), address.conversation, part(&address.reply_to))
}

/// Milliseconds of a time that Slack writes in seconds and millionths; never read as a float.
fn millis(ts: &str) -> u64 {
    let (seconds, rest) = ts.split_once('.').unwrap_or((ts, ""));
    let thousandths: String = rest.chars().chain("000".chars()).take(3).collect();
    let seconds: u64 = seconds.parse().unwrap_or(0);
    seconds.saturating_mul(1_000).saturating_add(thousandths.parse().unwrap_or(0))
}
