//! Interactions: each is answered within three seconds, whatever becomes of it. Takes the message in first where there is time
//! for it, and defers privately or publicly as the core says; else defers first.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use contract::{
    Accepted, Action, Audience, Caller, Code, Core, Failure, Kind, Locale, Message, Notice, Origin, StoreDown, text,
};
use reqwest::Method;
use serde_json::{Map, Value, json};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

use crate::{
    Discord,
    commands::{Called, Form, is_run},
    inbound::{self, Context, Interaction, Opt, What},
    lock,
    outlet::{EPHEMERAL, nobody},
    refusal,
    rest::Problem,
};

mod form_id;
mod live;

pub(crate) use self::live::Live;
use self::{form_id::FormId, live::TOKEN_LASTS};

/// Interactions whose state is remembered; the oldest go first.
const MOST: usize = 5_000;
/// Forms whose command's other arguments are remembered.
const MOST_FORMS: usize = 1_000;
/// How long a reply waits for the deferral that it follows.
const DEFERRAL: Duration = Duration::from_secs(4);
/// The time that a first answer has, waits included.
const IN_TIME: Duration = Duration::from_millis(2_500);
/// Between two tries of a first answer.
const AGAIN: Duration = Duration::from_millis(100);
const MOST_CHOICES: usize = 25;
const LONGEST_CHOICE: usize = 100;
const LONGEST_SAID: usize = 1_900;
/// Said of a form whose beginning nobody remembers.
const TOO_OLD: &str = "this form is too old; please send the command again";

const INTEGER: u64 = 4;
const NUMBER: u64 = 10;

const MESSAGE: u8 = 4;
const DEFERRED: u8 = 5;
const DEFERRED_UPDATE: u8 = 6;
const CHOICES: u8 = 8;
const MODAL: u8 = 9;

/// The command that refuses a call.
const DENY: &str = "deny";

/// How an interaction was answered first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum First {
    /// Not yet.
    Open,
    /// A reply takes the place of what is shown to this audience.
    Deferred(Audience),
    /// It has no message of its own: a press, or one whose message was used or taken away.
    Bare,
    /// It was not answered in time.
    Lost,
}

/// By an interaction's id, with the time at which it came.
type Since<T> = HashMap<String, (Instant, T)>;

/// The interactions under way.
#[derive(Default)]
pub(crate) struct Answers {
    known: Mutex<Since<watch::Sender<First>>>,
    forms: Mutex<Since<Map<String, Value>>>,
}

impl Answers {
    /// False when it came before and is answered already, or is being answered.
    fn begin(&self, id: &str) -> bool {
        let mut known = lock(&self.known);
        make_room(&mut known, MOST);
        let is_new = !known.contains_key(id);
        if is_new {
            known.insert(id.to_owned(), (Instant::now(), watch::Sender::new(First::Open)));
        }
        is_new
    }

    pub(crate) fn set(&self, id: &str, first: First) {
        if let Some((_, state)) = lock(&self.known).get(id) {
            state.send_replace(first);
        }
    }

    /// How it was answered, once it was; nothing when an earlier life did that.
    pub(crate) async fn first(&self, id: &str) -> Option<First> {
        let mut state = lock(&self.known).get(id).map(|(_, state)| state.subscribe())?;
        let first = timeout(DEFERRAL, state.wait_for(|first| *first != First::Open)).await;
        Some(first.map_or(First::Lost, |first| first.map_or(First::Lost, |first| *first)))
    }

    fn keep_form(&self, id: &str, filled: Map<String, Value>) {
        let mut forms = lock(&self.forms);
        make_room(&mut forms, MOST_FORMS);
        forms.insert(id.to_owned(), (Instant::now(), filled));
    }
}

fn make_room<T>(known: &mut Since<T>, most: usize) {
    if known.len() < most {
        return;
    }
    known.retain(|_, (since, _)| since.elapsed() < TOKEN_LASTS);
    while known.len() >= most {
        let oldest = known.iter().min_by_key(|(_, (since, _))| *since).map(|(id, _)| id.clone());
        oldest.map(|id| known.remove(&id));
    }
}

/// Answers one interaction.
pub(crate) async fn answer(discord: &Arc<Discord>, core: &Core, event: &Value) {
    let is_answerable = |found: &Interaction| inbound::made_at_ms(&found.id).is_some() && !found.token.is_empty();
    let Some(interaction) = inbound::interaction(event).filter(is_answerable) else {
        tracing::warn!(account = discord.account, "an interaction is not understood and is passed over");
        return;
    };
    let parent = timeout(discord.config.timing.defer, discord.parent_of(event)).await.unwrap_or_default();
    let cx = Context { account: &discord.account, me: discord.user(), our_role: None, parent: parent.as_deref() };
    // Completions are asked for by the key, and nothing follows them.
    let is_new = matches!(interaction.what, What::Complete { .. }) || discord.answers.begin(&interaction.id);
    if is_new {
        Desk { discord, core, event, interaction: &interaction, cx }.answer().await;
    }
}

/// One interaction at work.
struct Desk<'a> {
    discord: &'a Arc<Discord>,
    core: &'a Core,
    event: &'a Value,
    interaction: &'a Interaction,
    cx: Context<'a>,
}

impl Desk<'_> {
    async fn answer(&self) {
        let interaction = self.interaction;
        let guild = inbound::text(self.event, "guild_id");
        match &interaction.what {
            What::Complete { path, options } => self.complete(path, options, guild).await,
            What::Command { path, options } => {
                let kind = match self.discord.menus.of(guild, path).called(path, options) {
                    Called::Args { tool, args } => Kind::Command { name: tool, args: self.with_files(args) },
                    Called::Typed(text) => Kind::Text { text },
                };
                if !self.asked_for_more(&kind, guild, path).await {
                    self.take(kind, DEFERRED).await;
                }
            }
            What::Form { id, fields } => match self.form(id, fields) {
                Ok(kind) => self.take(kind, DEFERRED).await,
                Err(words) => self.say_alone(words, false).await,
            },
            What::Press { data } if self.asked_for_reason(data).await => {}
            What::Press { data } => self.take(Kind::Press { data: data.clone() }, DEFERRED_UPDATE).await,
            What::Other => self.say_alone(words::not_here(self.locale()), false).await,
        }
    }

    /// An option that takes a file stands for the file's name, or its number where several have that name; the file
    /// itself goes with the message.
    fn with_files(&self, mut args: Map<String, Value>) -> Map<String, Value> {
        let files = &self.interaction.files;
        for value in args.values_mut() {
            let Some(at) = files.iter().position(|(id, _)| value.as_str() == Some(id)) else { continue };
            let name = &files[at].1.name;
            let is_shared = files.iter().filter(|(_, other)| other.name == *name).count() > 1;
            *value = if is_shared { json!(format!("#{}", at + 1)) } else { json!(name) };
        }
        args
    }

    /// What is said while nothing can be taken in.
    fn not_taken(&self) -> String {
        let failure =
            Failure::new(Code::Store, "I cannot take messages at present").hint("wait a moment, then send it again");
        let shown = words::notice(&Notice::of(&failure, None, None), self.locale());
        format!("{} {} {}", shown.mark, shown.say, shown.hint)
    }

    fn locale(&self) -> Locale {
        inbound::text(self.event, "locale").and_then(words::of_tag).unwrap_or_default()
    }

    fn message(&self, kind: Kind) -> Option<Message> {
        let mut message = inbound::answered(self.event, self.interaction, kind, &self.cx)?;
        message.address.private = Live::new(self.interaction).opaque();
        Some(message)
    }

    fn caller(&self, message: &Message) -> Caller {
        Caller {
            sender: message.sender.clone(),
            roles: message.roles.clone(),
            origin: Origin::Command,
            ..self.core.catalog.anyone(&message.address)
        }
    }

    /// Shows a form when the command lacks something long. The form's fields come back as an interaction of their own.
    async fn asked_for_more(&self, kind: &Kind, guild: Option<&str>, path: &[String]) -> bool {
        let Kind::Command { name, args } = kind else { return false };
        let menu = self.discord.menus.of(guild, path);
        let Some(form) = menu.find(path).and_then(|tool| tool.form(args)) else { return false };
        let Some(message) = self.message(kind.clone()) else { return false };
        let caller = self.caller(&message);
        if self.core.catalog.check(&caller, name, args).is_ok()
            || !self.core.catalog.hears(&caller, &message.address).await
        {
            return false;
        }
        let Some(id) = FormId::of(&self.interaction.id, name, &form.kept) else { return false };
        let modal = form.wire(&id.to_string(), name);
        if let FormId::Kept { .. } = id {
            self.discord.answers.keep_form(&self.interaction.id, form.kept);
        }
        self.respond(MODAL, modal).await;
        true
    }

    /// Shows a form to somebody who wants to say why not; it comes back as the command that says so.
    async fn asked_for_reason(&self, data: &str) -> bool {
        let Ok(action @ Action::DenyWhy(approval)) = data.parse() else { return false };
        let kept = Map::from_iter([("id".to_owned(), json!(approval.to_string()))]);
        let Some(id) = FormId::of(&self.interaction.id, DENY, &kept).map(|id| id.to_string()) else { return false };
        let locale = self.locale();
        let form = Form::of_reason(kept, words::approval_reason(locale));
        self.respond(MODAL, form.wire(&id, &words::button(action, locale))).await;
        self.discord.answers.set(&self.interaction.id, First::Bare);
        true
    }

    /// What was written into a form of ours, with what had been typed before; why not, in words.
    fn form(&self, id: &str, fields: &[(String, String)]) -> Result<Kind, String> {
        let id = FormId::read(id).ok_or_else(|| words::not_here(self.locale()))?;
        let (name, mut args) = match id {
            FormId::Whole { name, args } => (name, args),
            FormId::Kept { asked, name } => {
                let kept = lock(&self.discord.answers.forms).remove(asked).map(|(_, kept)| kept);
                // Without what had been typed it would do something else than was asked for.
                (name, kept.ok_or_else(|| words::signal(TOO_OLD, self.locale()))?)
            }
        };
        args.extend(fields.iter().map(|(name, value)| (name.clone(), Value::String(value.clone()))));
        Ok(match crate::commands::filled(name, args) {
            Called::Args { tool, args } => Kind::Form { name: tool, args },
            Called::Typed(text) => Kind::Text { text },
        })
    }

    async fn complete(&self, path: &[String], options: &[Opt], guild: Option<&str>) {
        let menu = self.discord.menus.of(guild, path);
        let typed = options.iter().find(|option| option.focused).map(|option| crate::commands::plain(&option.value));
        let asked = async {
            let Some(message) = self.message(Kind::Text { text: String::new() }) else { return Vec::new() };
            let caller = self.caller(&message);
            if !self.core.catalog.hears(&caller, &message.address).await {
                return Vec::new();
            }
            if is_run(path) && menu.find(path).is_none() {
                let names = menu.like(typed.as_deref().unwrap_or_default());
                return names.into_iter().map(|name| (name.clone(), name)).collect();
            }
            let Some((tool, field, typed)) = menu.focused(path, options) else { return Vec::new() };
            let found = self.core.catalog.complete(&caller, &tool, &field, &typed).await;
            found.into_iter().map(|choice| (choice.label, choice.value)).collect::<Vec<_>>()
        };
        let found = timeout(self.discord.config.timing.complete, asked).await.unwrap_or_default();
        let kind = options.iter().find(|option| option.focused).map_or(0, |option| option.kind);
        let choices: Vec<Value> = found
            .into_iter()
            .filter(|(_, value)| (1..=LONGEST_CHOICE).contains(&value.chars().count()))
            .take(MOST_CHOICES)
            .map(|(label, value)| json!({"name": text::cut(&label, LONGEST_CHOICE), "value": typed_as(kind, value)}))
            .collect();
        self.respond(CHOICES, json!({"choices": choices})).await;
    }

    /// Hands the message to the core and answers as it says.
    async fn take(&self, kind: Kind, deferral: u8) {
        let Some(message) = self.message(kind) else {
            tracing::warn!(account = self.discord.account, "an interaction carries nobody and is answered only");
            return self.say_alone(words::not_here(self.locale()), false).await;
        };
        let accepting = self.core.inbox.accept(message);
        tokio::pin!(accepting);
        let mut is_deferred = false;
        let accepted = match timeout(self.discord.config.timing.defer, &mut accepting).await {
            Ok(accepted) => accepted,
            Err(_) => {
                self.defer(deferral, Audience::Everyone).await;
                is_deferred = true;
                let patience = TOKEN_LASTS / 2;
                timeout(patience, accepting).await.unwrap_or_else(|_| Err(StoreDown("no answer in time".into())))
            }
        };
        match accepted {
            Ok(Accepted::Turn { .. }) if is_deferred => {}
            Ok(Accepted::Turn { show, .. }) => self.defer(deferral, show).await,
            Ok(Accepted::Signal(words)) => self.say_alone(words, is_deferred).await,
            Ok(Accepted::NotForUs) => self.say_alone(words::not_here(self.locale()), is_deferred).await,
            Err(cause) => {
                tracing::warn!(account = self.discord.account, %cause, "an interaction could not be stored; its sender is told");
                self.say_alone(self.not_taken(), is_deferred).await;
            }
        }
    }

    /// Tells the platform that an answer comes, and to whom it will be shown.
    async fn defer(&self, kind: u8, show: Audience) {
        let body = match (kind, show) {
            (DEFERRED, Audience::Sender) => json!({"flags": EPHEMERAL}),
            _ => json!({}),
        };
        let was_taken = self.respond(kind, body).await;
        let first = match kind {
            _ if !was_taken => First::Lost,
            DEFERRED => First::Deferred(show),
            _ => First::Bare,
        };
        self.discord.answers.set(&self.interaction.id, first);
    }

    /// A sentence for the sender alone.
    async fn say_alone(&self, words: String, is_deferred: bool) {
        let said = text::cut(&words, LONGEST_SAID);
        let body = json!({"content": said, "flags": EPHEMERAL, "allowed_mentions": nobody()});
        if !is_deferred {
            self.respond(MESSAGE, body).await;
        } else {
            let live = Live::new(self.interaction);
            let rest = &self.discord.rest;
            if !live.is_press {
                // What was shown to all goes: the sentence is the sender's alone.
                let _ = rest.patiently(Method::DELETE, &live.original(), None, IN_TIME).await;
            }
            if let Err(problem) = rest.patiently(Method::POST, &live.path(), Some(&body), IN_TIME).await {
                tracing::debug!(account = self.discord.account, ?problem, "a word was not said");
            }
        }
        self.discord.answers.set(&self.interaction.id, First::Bare);
    }

    /// The first answer, tried as long as there is time. Whoever gave one before us did as well.
    async fn respond(&self, kind: u8, data: Value) -> bool {
        let path = format!("/interactions/{}/{}/callback", self.interaction.id, self.interaction.token);
        let body = json!({"type": kind, "data": data});
        let until = Instant::now() + IN_TIME;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let problem = match self.discord.rest.patiently(Method::POST, &path, Some(&body), left).await {
                Ok(_) => return true,
                Err(problem) if refusal::is_answered(&problem) => return true,
                Err(problem) => problem,
            };
            let is_open = matches!(problem, Problem::NotSent(_) | Problem::Unsure(_));
            if !is_open || Instant::now() + AGAIN > until {
                tracing::warn!(account = self.discord.account, ?problem, "an interaction was not answered in time");
                // It may have arrived: a reply that finds nothing to follow goes to the channel.
                return matches!(problem, Problem::Unsure(_));
            }
            sleep(AGAIN).await;
        }
    }
}

/// An option that takes a number is offered numbers.
fn typed_as(kind: u64, value: String) -> Value {
    let number = || serde_json::from_str::<Value>(&value).ok().filter(Value::is_number);
    match kind {
        INTEGER | NUMBER => number().unwrap_or(Value::String(value)),
        _ => Value::String(value),
    }
}
