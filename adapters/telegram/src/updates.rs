//! A batch of updates into the inbox: in order, each durable before it is confirmed, what is unreadable recorded and
//! passed over, presses answered.

use std::{
    collections::{HashMap, HashSet},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use contract::{Accepted, Address, Core, Heard, Kind, Message, StoreDown, text};
use futures_util::future::join_all;
use serde_json::Value;
use teloxide::{
    payloads::{AnswerCallbackQuery, setters::*},
    types::CallbackQueryId,
};
use tokio::{task::JoinSet, time::Instant};

use crate::{
    Telegram,
    gather::{self, Group},
    inbound::{self, Me},
};

/// Answers to presses and such that are under way at once.
const MOST_ANSWERS: usize = 64;
/// How often longer than its usual wait something that keeps growing is waited for.
const MOST_WAITS: u32 = 10;
const LONGEST_ANSWER: usize = 200;
const LONGEST_WORDS: usize = 1_000;

/// How far a batch came.
pub(crate) enum Taken {
    All,
    /// All but an album or a text whose other parts may follow, and what its conversation said since.
    Open,
    StoreDown(StoreDown),
}

/// Takes batches in for one bot.
pub(crate) struct Intake {
    telegram: Arc<Telegram>,
    core: Core,
    pub(crate) me: Me,
    /// What may still grow, by its name.
    open: HashMap<String, Watch>,
    /// Updates that were dealt with and come again because an earlier one still waits.
    done: HashSet<i64>,
    answers: JoinSet<()>,
}

/// A message and the updates that brought it.
type Item = (Group, Message);

/// How something grows.
#[derive(Clone, Copy)]
struct Watch {
    parts: usize,
    grew: Instant,
    begun: Instant,
}

impl Intake {
    pub(crate) fn new(telegram: Arc<Telegram>, core: Core, me: Me) -> Self {
        Self { telegram, core, me, open: HashMap::new(), done: HashSet::new(), answers: JoinSet::new() }
    }

    /// Takes what can be taken; also tells which updates are dealt with.
    pub(crate) async fn take(&mut self, updates: &[Value]) -> (Vec<bool>, Taken) {
        let mut dealt: Vec<bool> = updates.iter().map(|update| self.is_done(update)).collect();
        for (update, _) in updates.iter().zip(&dealt).filter(|(_, dealt)| !**dealt) {
            self.note_membership(update);
        }
        for (old, now) in updates.iter().filter_map(inbound::migration) {
            if let Err(cause) = self.telegram.moved(old, now).await {
                return (dealt, Taken::StoreDown(cause));
            }
        }
        let twins = twins(updates);
        let fresh = (0..updates.len()).filter(|at| !dealt[*at] && twins[*at].is_none());
        let (ready, waits) = self.settled(gather::groups(updates, fresh));
        let mut items = Vec::new();
        for group in ready {
            match group.message(updates, |update| self.read(update)) {
                Some(message) => items.push((group, message)),
                None => self.pass_over(updates, &group, &mut dealt).await,
            }
        }
        let (accepted, down) = self.accept(items).await;
        for (group, address, accepted) in accepted {
            group.places.iter().for_each(|at| dealt[*at] = true);
            self.follow_up(&updates[group.places[0]], address, accepted).await;
        }
        for (at, twin) in twins.into_iter().enumerate() {
            dealt[at] = twin.map_or(dealt[at], |twin| dealt[twin]);
        }
        let taken = match down {
            Some(cause) => Taken::StoreDown(cause),
            None if waits => Taken::Open,
            None => Taken::All,
        };
        (dealt, taken)
    }

    fn is_done(&self, update: &Value) -> bool {
        !self.done.is_empty() && id(update).is_some_and(|id| self.done.contains(&id))
    }

    /// Keeps what was dealt with behind the first that was not, and gives that one's id, or the id behind all.
    pub(crate) fn remember(&mut self, updates: &[Value], dealt: &[bool]) -> Option<i64> {
        let all = || updates.iter().zip(dealt);
        let left = all().filter(|(_, dealt)| !**dealt).filter_map(|(update, _)| id(update)).min();
        self.done.clear();
        if left.is_some() {
            self.done.extend(all().filter(|(_, dealt)| **dealt).filter_map(|(update, _)| id(update)));
        }
        left.or_else(|| updates.iter().filter_map(id).max().map(|id| id.saturating_add(1)))
    }

    /// Lets the answers under way end.
    pub(crate) async fn finish(&mut self, patience: Duration) {
        let all = async { while self.answers.join_next().await.is_some() {} };
        if tokio::time::timeout(patience, all).await.is_err() {
            self.answers.shutdown().await;
        }
    }

    /// What can be taken now, and whether anything waits: what may grow waits until it has been quiet for a while, and
    /// with it what its chat said since, so that order is kept. Other chats do not wait.
    fn settled(&mut self, groups: Vec<Group>) -> (Vec<Group>, bool) {
        let (now, quiet) = (Instant::now(), self.telegram.config.timing.album);
        let known = std::mem::take(&mut self.open);
        let mut waiting: HashSet<i64> = HashSet::new();
        let mut ready = Vec::with_capacity(groups.len());
        for group in groups {
            if let (Some(name), Some(chat)) = (&group.open, group.chat) {
                let parts = group.places.len();
                let watch = match known.get(name) {
                    Some(watch) if watch.parts == parts => *watch,
                    Some(watch) => Watch { parts, grew: now, ..*watch },
                    None => Watch { parts, grew: now, begun: now },
                };
                self.open.insert(name.clone(), watch);
                if now - watch.grew < quiet && now - watch.begun < quiet * MOST_WAITS {
                    waiting.insert(chat);
                }
            }
            if !group.chat.is_some_and(|chat| waiting.contains(&chat)) {
                ready.push(group);
            }
        }
        (ready, !waiting.is_empty())
    }

    /// A press without anything to accept is answered all the same: else the person's button spins.
    async fn pass_over(&mut self, updates: &[Value], group: &Group, dealt: &mut [bool]) {
        for at in &group.places {
            dealt[*at] = true;
            if let Some(id) = inbound::press_id(&updates[*at]) {
                self.answer_press(id, String::new()).await;
            }
        }
    }

    /// Operators see where we were added or removed, and who blocked us.
    fn note_membership(&self, update: &Value) {
        let Some((chat, was, is)) = inbound::membership(update) else { return };
        let account = &self.telegram.account;
        match is {
            "left" | "kicked" => tracing::warn!(account, chat, was, is, "the bot was removed from a chat, or blocked"),
            _ => tracing::info!(account, chat, was, is, "the bot's standing in a chat changed"),
        }
    }

    /// An update that cannot be read is recorded and passed over: the others must not wait for it.
    fn read(&self, update: &Value) -> Option<Message> {
        let id = id(update);
        let kind = kind(update);
        let account = &self.telegram.account;
        if let Some((chat, draft)) = inbound::stopped(update) {
            let turn = crate::lock(&self.telegram.drafts).turn(chat, draft);
            return turn.and_then(|turn| inbound::stop(update, turn, account));
        }
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
            self.concern(&mut message, chat);
            message.address.conversation = self.telegram.known(chat).to_string();
        }
        Some(message)
    }

    /// An emoji on a message of ours is meant for us.
    fn concern(&self, message: &mut Message, chat: i64) {
        let Kind::Reaction { message: on, .. } = &message.kind else { return };
        let is_ours = on.parse().is_ok_and(|on| crate::lock(&self.telegram.sent).contains((chat, on)));
        if is_ours && message.heard == Heard::Overheard {
            message.heard = Heard::Addressed;
        }
    }

    /// Accepts in order within each conversation; conversations do not wait for each other. Gives what was accepted, and
    /// why the rest was not.
    async fn accept(&self, items: Vec<Item>) -> (Vec<(Group, Address, Accepted)>, Option<StoreDown>) {
        let mut lanes: Vec<Vec<Item>> = Vec::new();
        let mut lane_of: HashMap<String, usize> = HashMap::new();
        for item in items {
            let lane = *lane_of.entry(item.1.address.conversation.clone()).or_insert_with(|| {
                lanes.push(Vec::new());
                lanes.len() - 1
            });
            lanes[lane].push(item);
        }
        let inbox = &self.core.inbox;
        let taken = join_all(lanes.into_iter().map(|lane| async move {
            let mut accepted = Vec::with_capacity(lane.len());
            for (group, message) in lane {
                let address = message.address.clone();
                match inbox.accept(message).await {
                    Ok(result) => accepted.push((group, address, result)),
                    Err(cause) => return (accepted, Some(cause)),
                }
            }
            (accepted, None)
        }))
        .await;
        let (accepted, failed): (Vec<_>, Vec<_>) = taken.into_iter().unzip();
        (accepted.into_iter().flatten().collect(), failed.into_iter().flatten().next())
    }

    async fn follow_up(&mut self, update: &Value, address: Address, accepted: Accepted) {
        let words = match accepted {
            Accepted::Signal(notice) => notice,
            Accepted::Turn { .. } | Accepted::NotForUs => String::new(),
        };
        match inbound::press_id(update) {
            Some(id) => self.answer_press(id, words).await,
            // Who stopped a draft sees it stop.
            None if words.is_empty() || inbound::stopped(update).is_some() => {}
            None => self.say(address, words).await,
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

    async fn say(&mut self, to: Address, words: String) {
        let telegram = self.telegram.clone();
        self.start(async move { telegram.murmur(&to, &text::cut(&words, LONGEST_WORDS)).await }).await;
    }

    async fn start(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        while self.answers.try_join_next().is_some() {}
        if self.answers.len() >= MOST_ANSWERS {
            self.answers.join_next().await;
        }
        self.answers.spawn(work);
    }
}

fn id(update: &Value) -> Option<i64> {
    update["update_id"].as_i64()
}

/// For each update the place of the same one before it: within an album it would be two parts.
fn twins(updates: &[Value]) -> Vec<Option<usize>> {
    let mut seen: HashMap<i64, usize> = HashMap::with_capacity(updates.len());
    let twin = |(at, update)| {
        let id = id(update)?;
        let first = *seen.entry(id).or_insert(at);
        (first != at).then_some(first)
    };
    updates.iter().enumerate().map(twin).collect()
}

fn kind(update: &Value) -> String {
    let key = update.as_object().and_then(|update| update.keys().find(|key| *key != "update_id"));
    text::one_line(key.map_or("no kind", String::as_str), 40)
}
