//! Answers that are no methods: those inside an acknowledgement, and those sent to a response URL.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::cast::Message;
use super::chat::{Content, content, ephemeral, log_bot, verbatim};
use super::outbox::{Delivery, What};
use super::params::Params;
use super::transcript::{By, Entry, Kind};
use super::update::wire;
use super::world::World;
use crate::form::pairs;

/// How many response URLs are remembered.
const KEPT: usize = 10_000;

#[derive(Clone, Debug)]
struct Slot {
    app: usize,
    channel: String,
    user: String,
    /// The message that the press was on.
    message: Option<String>,
    made: Instant,
    uses: u32,
}

/// The response URLs that were given out.
#[derive(Debug, Default)]
pub struct Replies {
    slots: BTreeMap<String, Slot>,
    order: VecDeque<String>,
}

impl World {
    /// A new response URL.
    pub fn response_url(&mut self, app: usize, channel: &str, user: &str, message: Option<&str>) -> String {
        let id = self.next_uuid();
        let slot = Slot {
            app,
            channel: channel.to_owned(),
            user: user.to_owned(),
            message: message.map(str::to_owned),
            made: Instant::now(),
            uses: 0,
        };
        self.replies.slots.insert(id.clone(), slot);
        self.replies.order.push_back(id.clone());
        if self.replies.order.len() > KEPT
            && let Some(old) = self.replies.order.pop_front()
        {
            self.replies.slots.remove(&old);
        }
        format!("{}/slack/response/{id}", self.url)
    }

    /// What was sent to a response URL.
    pub fn respond(&mut self, id: &str, kind: &str, body: &[u8]) -> Result<(), (u16, String)> {
        const METHOD: &str = "response_url";
        *self.stats.requests.entry(METHOD.to_owned()).or_default() += 1;
        let target = super::fault::Target { method: METHOD, chat: None, marked: false };
        if let Some(fault) = self.faults.hit(&[super::fault::Kind::Error, super::fault::Kind::RateLimit], target) {
            let status = if fault.kind == super::fault::Kind::RateLimit { 429 } else { fault.status.unwrap_or(500) };
            return Err((status, fault.error.unwrap_or_else(|| "fatal_error".into())));
        }
        let (uses, seconds) = (self.limits.response_uses, self.limits.response_seconds);
        let Some(slot) = self.replies.slots.get_mut(id) else { return Err((404, "expired_url".into())) };
        if slot.made.elapsed() > Duration::from_secs_f64(seconds.clamp(0.0, 1e9)) {
            self.stats.violation("expired_url", METHOD, "expired_url");
            return Err((404, "expired_url".into()));
        }
        slot.uses += 1;
        if uses > 0 && slot.uses > uses {
            self.stats.violation("used_url", METHOD, "used_url");
            return Err((404, "used_url".into()));
        }
        let slot = slot.clone();
        let answer = read(kind, body).ok_or((500, "invalid_payload".to_owned()))?;
        self.place_answer(&slot, answer, METHOD).map_err(|error| (400, error))
    }

    /// Carries out what an answer to a command or press says.
    fn place_answer(&mut self, slot: &Slot, answer: Value, method: &'static str) -> Result<(), String> {
        let original = slot.message.clone().filter(|ts| self.message(&slot.channel, ts).is_some());
        if answer["delete_original"] == true {
            return original
                .map(|ts| self.drop_original(&slot.channel, &ts, answer))
                .ok_or_else(|| "message_not_found".to_owned());
        }
        let params = Params::from_value(answer.clone());
        let content = content(&params).map_err(|error| {
            if let Some(rule) = error.rule {
                self.stats.violation(rule, method, error.detail());
            }
            error.error
        })?;
        if answer["replace_original"] == true
            && let Some(ts) = original
        {
            self.replace_original(&slot.channel, &ts, content, answer);
            return Ok(());
        }
        let (app, team) = (&self.apps[slot.app], self.channels.get(&slot.channel).map_or(0, |channel| channel.team));
        let install = app.install(team).unwrap_or(&app.installs[0]);
        let bot = Some((install.bot.clone(), slot.app));
        let user = install.bot_user.clone();
        let beside = slot
            .message
            .as_ref()
            .and_then(|ts| self.message(&slot.channel, ts))
            .and_then(|message| message.thread.clone());
        let thread = params
            .text("thread_ts")
            .or(beside.filter(|_| answer["response_type"] != "in_channel" || params.flag("thread")));
        let message = Message {
            ts: self.next_ts(),
            user,
            bot,
            text: content.text,
            blocks: content.blocks,
            attachments: content.attachments,
            metadata: content.metadata,
            thread,
            subtype: Some("bot_message"),
            extra: verbatim(&params),
            ..Message::default()
        };
        if answer["response_type"] == "in_channel" {
            let ts = message.ts.clone();
            self.stats.sent += 1;
            self.keep(&slot.channel, message);
            log_bot(self, &slot.channel, &ts, Kind::Message, answer);
            self.announce(&slot.channel, &ts);
        } else {
            ephemeral(self, &slot.channel, &slot.user, message, answer);
        }
        Ok(())
    }

    fn replace_original(&mut self, channel: &str, ts: &str, content: Content, answer: Value) {
        let previous = wire(self, channel, ts);
        let stamp = self.next_ts();
        let Some(message) = self.channels.get_mut(channel).and_then(|channel| channel.messages.get_mut(ts)) else {
            return;
        };
        (message.text, message.blocks, message.attachments) = (content.text, content.blocks, content.attachments);
        message.edited = Some((message.user.clone(), stamp));
        let private = message.only.is_some();
        log_bot(self, channel, ts, Kind::Edit, answer);
        if !private {
            self.announce_change(channel, ts, previous);
        }
    }

    fn drop_original(&mut self, channel: &str, ts: &str, answer: Value) {
        let Some((place, message)) = self.found(channel, ts) else { return };
        let mut entry = Entry::new(&place.name, channel, By::Bot, Kind::Delete);
        entry.message = Some(ts.to_owned());
        entry.to = message.only.as_ref().map(|user| self.called(user));
        entry.payload = answer;
        self.log(entry);
        if message.only.is_some() {
            self.channels.get_mut(channel).into_iter().for_each(|place| drop(place.messages.remove(ts)));
        } else {
            self.forget(channel, ts);
        }
    }

    /// An acknowledgement, with or without an answer inside.
    pub fn answered(&mut self, app: usize, delivery: Delivery, answer: Value) {
        let Some(asker) = delivery.asker else { return };
        if let Some(view) = asker.view.clone().filter(|_| delivery.payload["type"] == "view_submission") {
            return self.submitted(app, &view, &asker, answer);
        }
        // An answer without content only says who is to see the command.
        let says = ["text", "blocks", "attachments"].iter().any(|field| !answer[*field].is_null());
        if delivery.what != What::Command || !says {
            return;
        }
        let channel = self.names.get(&asker.conversation).cloned().unwrap_or_default();
        let user = self.user(&asker.user).map(|user| user.id).unwrap_or_default();
        let slot = Slot { app, channel, user, message: None, made: Instant::now(), uses: 0 };
        if let Err(error) = self.place_answer(&slot, answer, "command_answer") {
            tracing::debug!(error, "an answer to a command was refused");
        }
    }
}

fn read(kind: &str, body: &[u8]) -> Option<Value> {
    if kind.starts_with("application/x-www-form-urlencoded") {
        let payload = pairs(body).find(|(name, _)| name == "payload").map(|(_, value)| value)?;
        return serde_json::from_str(&payload).ok().filter(Value::is_object);
    }
    serde_json::from_slice(body).ok().filter(Value::is_object).or_else(|| {
        let text = String::from_utf8_lossy(body);
        (!text.trim().is_empty() && !kind.starts_with("application/json")).then(|| json!({"text": text}))
    })
}
