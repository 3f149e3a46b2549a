//! What people type as a command of Slack's, press, and fill in.

use contract::{Address, Heard, Kind, Message, Platform, Sender};
use serde_json::Value;

use super::{
    Me, Slip, array, is_direct,
    place::{team, thread},
    text,
};
use crate::forms::{self, Origin};

/// A slash command as it was typed.
#[derive(Debug, Clone)]
pub(crate) struct Typed {
    /// The message that it is when its name is a tool's.
    pub message: Message,
    /// Without the slash.
    pub name: String,
    pub text: String,
    /// What opens a form, for three seconds.
    pub trigger: Option<String>,
}

impl Typed {
    /// What is said to the tools. The name of the app's general command is dropped, and so is another that is no tool's
    /// when a tool's name follows it; alone it asks for help.
    pub(crate) fn said(&self, general: &str, is_known: impl Fn(&str) -> bool) -> String {
        let first = self.text.split_whitespace().next().unwrap_or_default();
        let is_general = self.name == general && !is_known(&self.name);
        match () {
            () if is_general && first.is_empty() => "/help".to_owned(),
            () if is_general || !is_known(&self.name) && is_known(first.trim_start_matches('/')) => {
                format!("/{}", self.text.trim_start_matches('/'))
            }
            () => format!("/{} {}", self.name, self.text).trim_end().to_owned(),
        }
    }
}

/// A slash command; `now_ms` is when it came, since the platform does not say it.
pub(crate) fn command(payload: &Value, me: &Me, account: &str, now_ms: u64) -> Option<Typed> {
    let typed = text(payload, "command")?;
    let channel = text(payload, "channel_id")?;
    let sender = Sender {
        id: text(payload, "user_id")?.to_owned(),
        name: text(payload, "user_name").unwrap_or_default().to_owned(),
    };
    let said = super::words::plain(text(payload, "text").unwrap_or_default().trim(), &Me::default()).text;
    let trigger = text(payload, "trigger_id");
    let key = trigger.or_else(|| text(payload, "response_url"))?;
    let direct = is_direct(channel, None);
    let name = typed.trim_start_matches('/');
    let address = Address {
        space: Some(team(payload, me)),
        direct,
        private: slip(&sender.id, payload, now_ms).opaque(),
        ..Address::new(Platform::Slack, account, channel)
    };
    let kind = Kind::Text { text: format!("/{name} {said}").trim_end().to_owned() };
    Some(Typed {
        message: bare(format!("c:{key}"), address, sender, kind, now_ms),
        name: name.to_owned(),
        text: said,
        trigger: trigger.map(str::to_owned),
    })
}

/// A press on a button of ours, or a choice from a list.
pub(crate) fn press(payload: &Value, me: &Me, account: &str, now_ms: u64) -> Option<Message> {
    if !matches!(text(payload, "type")?, "block_actions" | "interactive_message") {
        return None;
    }
    let action = array(payload, "actions").first()?;
    let data = value(action)?;
    let (message, container) = (payload.get("message"), payload.get("container"));
    let of_container = |key| container.and_then(|container| text(container, key));
    let channel =
        payload.get("channel").and_then(|channel| text(channel, "id")).or_else(|| of_container("channel_id"))?;
    let is_private = container.is_some_and(|container| container["is_ephemeral"] == true);
    let ts = message.and_then(|message| text(message, "ts")).or_else(|| of_container("message_ts"));
    let root = message.and_then(|message| text(message, "thread_ts")).or_else(|| of_container("thread_ts"));
    let sender = person(payload.get("user")?)?;
    let key = text(payload, "trigger_id").or_else(|| text(action, "action_ts"))?;
    let address = Address {
        space: Some(team(payload, me)),
        // A message without a thread was posted into the channel itself, and so is what comes of it.
        thread: root.and_then(|root| thread(Some(root), root, false)),
        reply_to: ts.filter(|_| !is_private).map(str::to_owned),
        direct: is_direct(channel, None),
        private: slip(&sender.id, payload, now_ms).opaque(),
        ..Address::new(Platform::Slack, account, channel)
    };
    Some(bare(format!("i:{key}"), address, sender, Kind::Press { data: data.to_owned() }, now_ms))
}

/// A form of ours that was filled in.
pub(crate) fn form(payload: &Value, me: &Me, account: &str, now_ms: u64) -> Option<Message> {
    let view = payload.get("view").filter(|_| text(payload, "type") == Some("view_submission"))?;
    let origin = Origin::of(view)?;
    let sender = person(payload.get("user")?)?;
    let key = match text(payload, "trigger_id") {
        Some(trigger) => format!("i:{trigger}"),
        None => format!("v:{}:{}", text(view, "id")?, text(view, "hash").unwrap_or_default()),
    };
    let address = Address {
        space: Some(team(payload, me)),
        thread: origin.thread.clone(),
        direct: origin.direct,
        private: Slip { user: sender.id.clone(), ..origin.slip.clone() }.opaque(),
        ..Address::new(Platform::Slack, account, &origin.channel)
    };
    let mut args = forms::filled(view);
    args.extend(origin.known.clone());
    let kind = Kind::Form { name: origin.command.clone(), args };
    Some(bare(key, address, sender, kind, now_ms))
}

fn bare(key: String, address: Address, sender: Sender, kind: Kind, at_ms: u64) -> Message {
    Message {
        key,
        heard: if address.direct { Heard::Direct } else { Heard::Addressed },
        address,
        sender,
        roles: Vec::new(),
        kind,
        files: Vec::new(),
        quote: None,
        from_bot: false,
        locale: None,
        at_ms,
    }
}

fn slip(user: &str, payload: &Value, now_ms: u64) -> Slip {
    let respond = text(payload, "response_url").map(str::to_owned);
    Slip { user: user.to_owned(), at_ms: respond.as_ref().map_or(0, |_| now_ms), respond, ..Slip::default() }
}

fn person(user: &Value) -> Option<Sender> {
    let name = text(user, "name").or_else(|| text(user, "username")).unwrap_or_default();
    Some(Sender { id: text(user, "id")?.to_owned(), name: name.to_owned() })
}

/// What a button carried, or the first thing that was chosen.
fn value(action: &Value) -> Option<&str> {
    let chosen = action.get("selected_option").or_else(|| array(action, "selected_options").first());
    text(action, "value").or_else(|| text(chosen?, "value"))
}
