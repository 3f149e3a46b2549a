//! A batch of updates into the inbox: in order, each durable before it is confirmed, what is unreadable recorded and
//! passed over, presses answered.

use std::{
    collections::{HashMap, HashSet},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use contract::{
    Accepted, Address, Audience, Core, DeliveryKey, Heard, Message, Op, Outlet, Part, StoreDown, TurnId, text,
};
use futures_util::future::join_all;
use serde_json::Value;
use teloxide::{
    payloads::{AnswerCallbackQuery, setters::*},
    types::CallbackQueryId,
};
use tokio::task::JoinSet;

use crate::{
    Telegram,
    inbound::{self, Me},
};

/// Said once in each conversation while the store is away.
const AWAY: &str = "⏳ I cannot take messages at present. I will answer as soon as I can.";
/// Answers to presses and such that are under way at once.
const MOST_ANSWERS: usize = 64;
/// Conversations that are remembered as told.
const MOST_TOLD: usize = 1_000;
/// How often something that keeps growing is waited for.
const MOST_LOOKS: u32 = 10;
const LONGEST_ANSWER: usize = 200;

/// How far a batch came.
pub(crate) enum Taken {
    All,
    /// It ends within an album or a text whose other parts may follow.
    Open,
    StoreDown(StoreDown),
}

/// Takes batches in for one bot.
pub(crate) struct Intake {
    telegram: Arc<Telegram>,
    core: Core,
    pub(crate) me: Me,
    /// What may go on at the end of the last batch: its key, its parts so far, how often it was looked at.
    open: Option<(String, usize, u32)>,
    /// Who was told that the store is away.
    told: HashSet<String>,
    answers: JoinSet<()>,
}

/// A message and the place in the batch of the update that brought it.
type Item = (usize, Message);

impl Intake {
    pub(crate) fn new(telegram: Arc<Telegram>, core: Core, me: Me) -> Self {
        Self { telegram, core, me, open: None, told: HashSet::new(), answers: JoinSet::new() }
    }

    /// Takes what can be taken; also gives the id of the first update that is not.
    pub(crate) async fn take(&mut self, updates: &[Value]) -> (Option<i64>, Taken) {
        let end = self.settled(updates);
        let ready = &updates[..end];
        for update in ready {
            if let Some((old, now)) = inbound::migration(update) {
                self.telegram.moved(old, now).await;
            }
        }
        let items = self.messages(ready);
        let (results, down) = self.accept(items).await;
        for (at, address, accepted) in results {
            self.follow_up(&ready[at], address, accepted).await;
        }
        self.answer_silent_presses(ready, down.as_ref().map_or(end, |(at, _, _)| *at)).await;
        match down {
            None => {
                self.told.clear();
                let taken = if end < updates.len() { Taken::Open } else { Taken::All };
                (after(ready), taken)
            }
            Some((at, failed, cause)) => {
                self.tell_away(updates, failed).await;
                (after(&updates[..at]), Taken::StoreDown(cause))
            }
        }
    }

    /// Lets the answers under way end.
    pub(crate) async fn finish(&mut self, patience: Duration) {
        let all = async { while self.answers.join_next().await.is_some() {} };
        if tokio::time::timeout(patience, all).await.is_err() {
            self.answers.shutdown().await;
        }
    }

    /// The end of what can be taken now: an album or a cut text at the end of a batch waits until it has stopped growing.
    fn settled(&mut self, updates: &[Value]) -> usize {
        let Some((key, first)) = open_end(updates) else {
            self.open = None;
            return updates.len();
        };
        let parts = updates.len() - first;
        let looks = match &self.open {
            Some((known, seen, _)) if *known == key && *seen == parts => MOST_LOOKS,
            Some((known, _, looks)) if *known == key => looks + 1,
            Some(_) | None => 1,
        };
        self.open = Some((key, parts, looks));
        if looks >= MOST_LOOKS { updates.len() } else { first }
    }

    /// What there is to accept: albums joined at the place of their first part, cut texts with what follows them.
    fn messages(&self, updates: &[Value]) -> Vec<Item> {
        let mut items: Vec<Item> = Vec::new();
        let mut albums: HashMap<String, (usize, Vec<Message>)> = HashMap::new();
        for (at, update) in updates.iter().enumerate() {
            let Some(message) = self.read(update) else { continue };
            let before = at.checked_sub(1).and_then(|before| updates.get(before));
            match (inbound::album(update), items.last_mut()) {
                (Some(key), _) => albums.entry(key).or_insert_with(|| (at, Vec::new())).1.push(message),
                (None, Some((_, cut))) if before.is_some_and(|before| continues(before, update, &message)) => {
                    if let Some(whole) = inbound::join(vec![cut.clone(), message], cut.key.clone()) {
                        *cut = whole;
                    }
                }
                (None, _) => items.push((at, message)),
            }
        }
        items.extend(albums.into_iter().filter_map(|(key, (at, parts))| Some((at, inbound::join(parts, key)?))));
        items.sort_by_key(|(at, _)| *at);
        items
    }

    /// An update that cannot be read is recorded and passed over: the others must not wait for it.
    fn read(&self, update: &Value) -> Option<Message> {
        let id = update["update_id"].as_i64();
        let kind = kind(update);
        let account = &self.telegram.account;
        let Ok(found) = catch_unwind(AssertUnwindSafe(|| inbound::message(update, &self.me, account))) else {
            tracing::error!(account, id, kind, "an update could not be read and is passed over");
            return None;
        };
        let Some(mut message) = found else {
            if inbound::is_silent(update) {
                tracing::debug!(account, id, kind, "an update carries nothing to answer");
            } else {
                tracing::warn!(account, id, kind, "an update is not understood and is passed over");
            }
            return None;
        };
        if let Ok(chat) = message.address.conversation.parse() {
            message.address.conversation = self.telegram.known(chat).to_string();
        }
        Some(message)
    }

    /// Accepts in order within each conversation; conversations do not wait for each other. Gives what was accepted, and
    /// the place of the first that was not, with all that were not.
    async fn accept(
        &self,
        items: Vec<Item>,
    ) -> (Vec<(usize, Address, Accepted)>, Option<(usize, Vec<usize>, StoreDown)>) {
        let mut lanes: Vec<(String, Vec<Item>)> = Vec::new();
        let mut lane_of: HashMap<String, usize> = HashMap::new();
        for item in items {
            let conversation = item.1.address.conversation.clone();
            let lane = *lane_of.entry(conversation.clone()).or_insert_with(|| {
                lanes.push((conversation, Vec::new()));
                lanes.len() - 1
            });
            lanes[lane].1.push(item);
        }
        let inbox = &self.core.inbox;
        let taken = join_all(lanes.into_iter().map(|(_, lane)| async move {
            let (mut accepted, mut failed) = (Vec::new(), None);
            for (at, message) in lane {
                let address = message.address.clone();
                match inbox.accept(message).await {
                    Ok(result) => accepted.push((at, address, result)),
                    Err(cause) => {
                        failed = Some((at, cause));
                        break;
                    }
                }
            }
            (accepted, failed)
        }))
        .await;
        let (accepted, failed): (Vec<_>, Vec<_>) = taken.into_iter().unzip();
        let failed: Vec<_> = failed.into_iter().flatten().collect();
        let places: Vec<usize> = failed.iter().map(|(at, _)| *at).collect();
        let down = failed.into_iter().min_by_key(|(at, _)| *at).map(|(at, cause)| (at, places, cause));
        (accepted.into_iter().flatten().collect(), down)
    }

    async fn follow_up(&mut self, update: &Value, address: Address, accepted: Accepted) {
        let words = match accepted {
            Accepted::Signal(notice) => notice,
            Accepted::Turn { .. } | Accepted::NotForUs => String::new(),
        };
        match inbound::press_id(update) {
            Some(id) => self.answer_press(id, words).await,
            None if words.is_empty() => {}
            None => self.say(address, words).await,
        }
    }

    /// A press without anything to accept is answered all the same: else the person's button spins.
    async fn answer_silent_presses(&mut self, updates: &[Value], end: usize) {
        for update in &updates[..end.min(updates.len())] {
            if let Some(id) = inbound::press_id(update)
                && inbound::message(update, &self.me, &self.telegram.account).is_none()
            {
                self.answer_press(id, String::new()).await;
            }
        }
    }

    async fn tell_away(&mut self, updates: &[Value], failed: Vec<usize>) {
        for update in failed.into_iter().filter_map(|at| updates.get(at)) {
            let Some(message) = self.read(update).filter(|message| message.heard != Heard::Overheard) else { continue };
            let press = inbound::press_id(update);
            let whom = press.map_or_else(|| message.address.written(), str::to_owned);
            if self.told.len() >= MOST_TOLD || !self.told.insert(whom) {
                continue;
            }
            match press {
                Some(id) => self.answer_press(id, AWAY.to_owned()).await,
                None => self.say(message.address, AWAY.to_owned()).await,
            }
        }
    }

    async fn answer_press(&mut self, id: &str, words: String) {
        let mut answer = AnswerCallbackQuery::new(CallbackQueryId(id.to_owned()));
        if !words.is_empty() {
            answer = answer.text(text::cut(&words, LONGEST_ANSWER)).show_alert(words.chars().count() > 60);
        }
        let telegram = self.telegram.clone();
        self.start(async move {
            if let Err(cause) = telegram.api.ask(&answer).await {
                tracing::debug!(account = telegram.account, ?cause, "a press was not answered");
            }
        })
        .await;
    }

    /// Best effort: what must arrive goes through the delivery.
    async fn say(&mut self, to: Address, words: String) {
        let telegram = self.telegram.clone();
        self.start(async move {
            let part = Part {
                body: String::new(),
                plain: text::cut(&words, 1_000),
                buttons: Vec::new(),
                files: Vec::new(),
                audience: Audience::Everyone,
            };
            let key = DeliveryKey { turn: TurnId::new(), n: 0, part: 0 };
            if let Err(cause) = telegram.send(&to, Op::Post(&part), &key).await {
                tracing::debug!(account = telegram.account, %cause, "a word was not said");
            }
        })
        .await;
    }

    async fn start(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        while self.answers.try_join_next().is_some() {}
        if self.answers.len() >= MOST_ANSWERS {
            self.answers.join_next().await;
        }
        self.answers.spawn(work);
    }
}

/// What a batch ends in that may go on in the next one: its key and its first place.
fn open_end(updates: &[Value]) -> Option<(String, usize)> {
    let last = updates.last()?;
    if let Some(key) = inbound::album(last) {
        let first = updates.iter().position(|update| inbound::album(update).as_ref() == Some(&key))?;
        return Some((key, first));
    }
    let speaker = inbound::long(last)?;
    let run = updates.iter().rev().take_while(|update| inbound::long(update).as_ref() == Some(&speaker)).count();
    Some((format!("{speaker} {}", updates[updates.len() - run]["update_id"]), updates.len() - run))
}

/// Whether a message goes on with the cut text before it. A command begins something new.
fn continues(before: &Value, update: &Value, message: &Message) -> bool {
    let speaker = inbound::long(before);
    speaker.is_some() && speaker == inbound::speaker(update) && !message.text().starts_with('/')
}

/// The id behind the newest of these.
fn after(updates: &[Value]) -> Option<i64> {
    updates.iter().filter_map(|update| update["update_id"].as_i64()).max().map(|id| id.saturating_add(1))
}

fn kind(update: &Value) -> String {
    let key = update.as_object().and_then(|update| update.keys().find(|key| *key != "update_id"));
    text::one_line(key.map_or("no kind", String::as_str), 40)
}
