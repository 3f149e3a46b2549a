//! Takes what Slack sends into the core, and says what Slack is to be answered.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, RwLock},
    time::Duration,
};

use contract::{
    Accepted, Address, Audience, Caller, Core, DeliveryKey, Locale, Message, Op, Origin, Outlet, Part, StoreDown,
    TurnId, text as cut,
};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

pub(crate) use crate::body::Door;
use crate::{
    Slack, forms,
    inbound::{self, Me, array, text},
    lanes::Lanes,
    people::{self, People},
    report::Report,
};

/// How often an absent store is asked again while an event waits.
const RETRY: Duration = Duration::from_millis(200);
/// How long one try may take.
const ONCE: Duration = Duration::from_millis(250);
/// How long the last things may take once we are to stop.
const FAREWELL: Duration = Duration::from_secs(3);
/// A form must be asked for within three seconds of the command.
const FORM: Duration = Duration::from_secs(2);
const LONGEST_SAID: usize = 3_000;
const MOST_PROMPTS: usize = 4;

/// Whether an event is of our own installation; one that does not say of which is.
fn concerns(payload: &Value, me: &Me) -> bool {
    let ours = if me.organisation.is_some() { me.organisation.as_deref() } else { Some(me.team.as_str()) };
    let of = text(payload, if me.organisation.is_some() { "enterprise_id" } else { "team_id" });
    of.is_none() || of == ours
}

/// What Slack is to be told.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// We have it; an interaction may want words with that.
    Taken(Option<Value>),
    /// It could not be stored: it is to be sent again.
    NotTaken,
}

/// Takes messages in for one account.
pub(crate) struct Intake {
    slack: Arc<Slack>,
    pub(crate) core: Core,
    me: RwLock<Arc<Me>>,
    lanes: Arc<Lanes>,
    people: Arc<People>,
    pub(crate) report: Report,
}

impl Intake {
    pub(crate) fn new(slack: Arc<Slack>, core: Core, me: Me) -> Arc<Self> {
        let report = Report::new(slack.part(), core.health.clone());
        Arc::new(Self {
            slack,
            core,
            me: RwLock::new(Arc::new(me)),
            lanes: Lanes::new(),
            people: Arc::new(People::new()),
            report,
        })
    }

    /// Waits for room, takes something into its lane, and tells `done` what Slack is to be answered. False once we have ended.
    pub(crate) async fn put(
        self: &Arc<Self>,
        door: Door,
        payload: Value,
        done: impl FnOnce(Answer) + Send + 'static,
    ) -> bool {
        let Some(place) = self.lanes.place().await else { return false };
        let (intake, until) = (self.clone(), Instant::now() + self.slack.config.timing.accept);
        self.lanes.put(lane(door, &payload), place, async move { done(intake.take(door, &payload, until).await) });
        true
    }

    /// Nobody waits for what is under way.
    pub(crate) fn abandon(&self) {
        self.lanes.abandon();
    }

    pub(crate) async fn finish(&self) {
        self.lanes.finish(FAREWELL).await;
    }

    /// Which app we are, as its socket says.
    pub(crate) fn is_app(&self, app: &str) {
        let mut me = self.me.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        if me.app.as_deref() != Some(app) {
            *me = Arc::new(Me { app: Some(app.to_owned()), ..Me::clone(&me) });
        }
    }

    pub(crate) fn me(&self) -> Arc<Me> {
        self.me.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    async fn take(self: &Arc<Self>, door: Door, payload: &Value, until: Instant) -> Answer {
        let me = self.me();
        if !inbound::is_ours(payload, &me) {
            tracing::debug!(account = self.slack.account, ?door, "another app's or another workspace's");
            return Answer::Taken(None);
        }
        match door {
            Door::Event => self.event(payload, &me, until).await,
            Door::Command => self.command(payload, &me, until).await,
            Door::Interaction => self.interaction(payload, &me, until).await,
        }
    }

    async fn event(self: &Arc<Self>, payload: &Value, me: &Me, until: Instant) -> Answer {
        let kind = payload.get("event").and_then(|event| text(event, "type")).unwrap_or("no type");
        let Some(mut message) = self.read(kind, || inbound::event(payload, me, &self.slack.account)) else {
            self.notice(kind, payload, me);
            return Answer::Taken(None);
        };
        self.complete(&mut message);
        let address = message.address.clone();
        match self.accept(message, until).await {
            Err(_) => return Answer::NotTaken,
            Ok(Accepted::Signal(words)) if !words.is_empty() => self.say(address, words),
            Ok(Accepted::Signal(_) | Accepted::Turn { .. } | Accepted::NotForUs) => {}
        }
        Answer::Taken(None)
    }

    async fn command(self: &Arc<Self>, payload: &Value, me: &Me, until: Instant) -> Answer {
        let now = crate::now_ms();
        let Some(mut typed) = self.read("slash command", || inbound::command(payload, me, &self.slack.account, now))
        else {
            return Answer::Taken(None);
        };
        let locale = self.complete(&mut typed.message);
        let menu = self.core.catalog.menu(&self.caller(&typed.message));
        let item = |name: &str| menu.items.iter().find(|item| same_name(&item.name, name));
        let said = typed.said(&self.slack.config.command, |name| item(name).is_some());
        let (name, rest) = said.trim_start_matches('/').split_once(char::is_whitespace).unwrap_or((&said[1..], ""));
        if let (Some(item), Some(trigger)) = (item(name), &typed.trigger)
            && self.asks(trigger, item, rest, &typed.message, locale).await
        {
            return Answer::Taken(None);
        }
        let message = Message { kind: contract::Kind::Text { text: said.clone() }, ..typed.message };
        let private = |words: &str| Answer::Taken(Some(json!({"response_type": "ephemeral", "text": escape(words)})));
        match self.accept(message, until).await {
            Err(_) => Answer::NotTaken,
            Ok(Accepted::Signal(words)) if words.is_empty() => Answer::Taken(None),
            Ok(Accepted::Signal(words)) => private(&words),
            Ok(Accepted::NotForUs) => private(&words::not_here(locale)),
            Ok(Accepted::Turn { .. }) => Answer::Taken(None),
        }
    }

    /// Opens a form for a command that lacks what its tool needs; false when it must be taken as it was typed.
    async fn asks(
        &self,
        trigger: &str,
        item: &contract::MenuItem,
        typed: &str,
        message: &Message,
        locale: Locale,
    ) -> bool {
        let caller = self.caller(message);
        let Some(known) = forms::pairs(typed, &item.parameters) else { return false };
        let Err(problems) = self.core.catalog.check(&caller, &item.name, &known) else { return false };
        let is_incomplete = problems.iter().any(|problem| problem.got.is_none());
        if !is_incomplete || !self.core.catalog.hears(&caller, &message.address).await {
            return false;
        }
        let origin = forms::Origin::new(&item.name, &message.address);
        let begun = forms::Begun { known: &known, problems: &problems };
        let Some(view) = forms::modal(&origin, &item.parameters, &begun, locale) else { return false };
        self.opens(trigger, view).await
    }

    /// Whether the form is open.
    async fn opens(&self, trigger: &str, view: Value) -> bool {
        let opening = async { self.slack.api.call("views.open", &json!({"trigger_id": trigger, "view": view})).await };
        match tokio::time::timeout(FORM, opening).await {
            Ok(Ok(_)) => true,
            Ok(Err(cause)) => {
                tracing::warn!(account = self.slack.account, ?cause, "a form was not opened");
                false
            }
            // It may be open: asking for the arguments in words as well does no harm.
            Err(_) => false,
        }
    }

    async fn interaction(self: &Arc<Self>, payload: &Value, me: &Me, until: Instant) -> Answer {
        let (now, account) = (crate::now_ms(), &self.slack.account);
        let kind = text(payload, "type").unwrap_or("no type");
        let is_form = kind == "view_submission";
        let found = self.read(kind, || match is_form {
            true => inbound::form(payload, me, account, now),
            false => inbound::press(payload, me, account, now),
        });
        let Some(mut message) = found else { return Answer::Taken(None) };
        let locale = self.complete(&mut message);
        if self.asks_for_reason(payload, &message, locale).await {
            return Answer::Taken(None);
        }
        if let Some(errors) = self.errors(payload, &message, locale).await {
            return Answer::Taken(Some(json!({"response_action": "errors", "errors": errors})));
        }
        let address = message.address.clone();
        match self.accept(message, until).await {
            Err(_) => return Answer::NotTaken,
            Ok(Accepted::Signal(words)) => self.say(address, words),
            Ok(Accepted::NotForUs) => self.say(address, words::not_here(locale)),
            Ok(Accepted::Turn { .. }) => {}
        }
        Answer::Taken(None)
    }

    /// Opens a form for somebody who wants to say why not; false when they have to say it in another way.
    async fn asks_for_reason(&self, payload: &Value, message: &Message, locale: Locale) -> bool {
        let contract::Kind::Press { data } = &message.kind else { return false };
        let Ok(contract::Action::DenyWhy(approval)) = data.parse() else { return false };
        let view = forms::reason(approval, &message.address, locale);
        match (text(payload, "trigger_id"), view) {
            (Some(trigger), Some(view)) => self.opens(trigger, view).await,
            _ => false,
        }
    }

    /// What is wrong with a form, to be shown in it.
    async fn errors(&self, payload: &Value, message: &Message, locale: Locale) -> Option<Map<String, Value>> {
        let contract::Kind::Form { name, args } = &message.kind else { return None };
        let caller = self.caller(message);
        let problems = self.core.catalog.check(&caller, name, args).err()?;
        let errors = forms::errors(payload.get("view")?, &problems, locale);
        let is_shown = !errors.is_empty() && self.core.catalog.hears(&caller, &message.address).await;
        is_shown.then_some(errors)
    }

    /// Adds what is known of the sender; the language in which they are answered.
    fn complete(&self, message: &mut Message) -> Locale {
        if let Some(id) = self.people.complete(message) {
            self.lanes.tasks.spawn(People::look_up(self.slack.clone(), self.people.clone(), id));
        }
        people::tell_locale(message)
    }

    /// Who asks, as policy sees it.
    fn caller(&self, message: &Message) -> Caller {
        let anyone = self.core.catalog.anyone(&message.address);
        let origin = match &message.kind {
            contract::Kind::Form { .. } => Origin::Form,
            _ => Origin::Command,
        };
        Caller { sender: message.sender.clone(), roles: message.roles.clone(), origin, ..anyone }
    }

    /// A payload that cannot be read is recorded and passed over: the others must not wait for it.
    fn read<T>(&self, kind: &str, read: impl FnOnce() -> Option<T>) -> Option<T> {
        let account = &self.slack.account;
        let kind = cut::one_line(kind, 40);
        match catch_unwind(AssertUnwindSafe(read)) {
            Ok(Some(found)) => Some(found),
            Ok(None) => {
                tracing::debug!(account, kind, "carries nothing to answer");
                None
            }
            Err(_) => {
                tracing::error!(account, kind, "could not be read and is passed over");
                None
            }
        }
    }

    /// Stores a message, waiting for the store a little: Slack sends again what it is not told of. What waited in its lane
    /// as long is tried once, so that a store that is away does not make the lane longer and longer.
    async fn accept(&self, message: Message, until: Instant) -> Result<Accepted, StoreDown> {
        let until = until.max(Instant::now() + ONCE);
        loop {
            let accepting = self.core.inbox.accept(message.clone());
            let cause = match tokio::time::timeout_at(until, accepting).await {
                Ok(Ok(accepted)) => {
                    self.report.store(None);
                    return Ok(accepted);
                }
                Ok(Err(cause)) => cause,
                Err(_) => StoreDown("it takes too long".into()),
            };
            self.report.store(Some(format!("nothing is taken in: {cause}")));
            if Instant::now() + RETRY >= until {
                return Err(cause);
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Events in which nobody says anything, and which matter all the same.
    fn notice(self: &Arc<Self>, kind: &str, payload: &Value, me: &Me) {
        if text(payload, "type") == Some("app_rate_limited") {
            tracing::warn!(account = self.slack.account, "Slack holds events back: more than 30,000 within an hour");
        }
        let Some(event) = payload.get("event") else { return };
        match kind {
            "assistant_thread_started" => self.greet(event, me),
            // An app has one connection for all of its workspaces.
            "app_uninstalled" if concerns(payload, me) => self.slack.ended("account_inactive"),
            "tokens_revoked" => {
                let bots = event.get("tokens").map_or(&[][..], |tokens| array(tokens, "bot"));
                if bots.iter().any(|bot| bot.as_str() == Some(&me.user)) {
                    self.slack.ended("token_revoked");
                }
            }
            _ => {}
        }
    }

    /// An assistant's thread begins with what can be asked.
    fn greet(self: &Arc<Self>, event: &Value, me: &Me) {
        let thread = event.get("assistant_thread");
        let field = |key| thread.and_then(|thread| text(thread, key));
        let (Some(channel), Some(ts)) = (field("channel_id"), field("thread_ts")) else { return };
        self.slack.memory.assistant(channel, ts, true);
        let address = Address {
            space: Some(me.team.clone()),
            thread: Some(ts.to_owned()),
            direct: true,
            ..Address::new(contract::Platform::Slack, &self.slack.account, channel)
        };
        let mut caller = self.core.catalog.anyone(&address);
        field("user_id").unwrap_or_default().clone_into(&mut caller.sender.id);
        let menu = self.core.catalog.menu(&caller);
        let prompt = |item: &contract::MenuItem| {
            let title = if item.description.is_empty() { &item.name } else { &item.description };
            json!({"title": cut::one_line(title, 75), "message": item.name})
        };
        let prompts: Vec<Value> = menu.items.iter().take(MOST_PROMPTS).map(prompt).collect();
        if prompts.is_empty() {
            return;
        }
        let body = json!({"channel_id": channel, "thread_ts": ts, "prompts": prompts});
        let (slack, catalog) = (self.slack.clone(), self.core.catalog.clone());
        self.lanes.tasks.spawn(async move {
            if !catalog.hears(&caller, &address).await {
                return;
            }
            if let Err(cause) = slack.api.call("assistant.threads.setSuggestedPrompts", &body).await {
                tracing::debug!(account = slack.account, ?cause, "no prompts were suggested");
            }
        });
    }

    /// For the sender alone, best effort: what must arrive goes through the delivery.
    fn say(self: &Arc<Self>, to: Address, words: String) {
        if words.is_empty() {
            return;
        }
        let (slack, kill) = (self.slack.clone(), self.lanes.kill.clone());
        self.lanes.tasks.spawn(async move {
            let part = Part {
                body: String::new(),
                plain: cut::cut(&words, LONGEST_SAID),
                buttons: Vec::new(),
                files: Vec::new(),
                audience: Audience::Sender,
            };
            let key = DeliveryKey { turn: TurnId::new(), n: 0, part: 0 };
            tokio::select! {
                sent = slack.send(&to, Op::Post(&part), &key) => {
                    if let Err(cause) = sent {
                        tracing::debug!(account = slack.account, %cause, "a word was not said");
                    }
                }
                () = kill.cancelled() => {}
            }
        });
    }
}

/// Events wait for those of their conversation; a person's commands and presses for that person's.
fn lane(door: Door, payload: &Value) -> String {
    let of = |value: &Value, keys: &[&str]| {
        let found = keys.iter().try_fold(value, |value, key| value.get(key));
        found.and_then(Value::as_str).map(str::to_owned)
    };
    let lane = match door {
        Door::Event => of(payload, &["event", "channel"]).or_else(|| of(payload, &["event", "item", "channel"])),
        Door::Command => of(payload, &["user_id"]),
        Door::Interaction => of(payload, &["user", "id"]),
    };
    lane.unwrap_or_default()
}

fn same_name(tool: &str, typed: &str) -> bool {
    let plain = |b: u8| if b == b'-' { b'_' } else { b.to_ascii_lowercase() };
    tool.len() == typed.len() && tool.bytes().map(plain).eq(typed.bytes().map(plain))
}

/// Text that Slack shows as it is.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_however_their_words_are_joined() {
        assert!(same_name("order-query", "order_query") && same_name("a", "A"));
        assert!(!same_name("order-query", "order.query") && !same_name("a", "ab"));
    }
}
