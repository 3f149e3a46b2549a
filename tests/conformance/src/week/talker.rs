//! A person who goes on writing, and counts the answers to each message.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use contract::reply::DUPLICATE_MARK;
use serde_json::json;

use super::Shared;
use crate::people::Entry;

/// Messages of one person that may wait for their answers at once.
const MOST_WAITING: usize = 4;
/// How long after the last answer further ones are looked for.
const AFTER: Duration = Duration::from_millis(1_500);
/// Between two looks at the conversation; each says at most one message.
const PACE: Duration = Duration::from_millis(35);

/// How often a message was answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fate {
    pub unmarked: u8,
    /// With the remark that it may be a repeat.
    pub marked: u8,
}

pub(super) struct Talker {
    shared: Arc<Shared>,
    conversation: String,
    user: String,
    is_group: bool,
    said: Vec<usize>,
    /// What each of the bot's messages answers, and whether it is marked.
    seen: HashMap<String, (usize, bool)>,
    answered: HashSet<usize>,
    /// The last entry that was read.
    cursor: u64,
    newest: usize,
    pub(super) late: usize,
    waiting: usize,
}

impl Talker {
    pub(super) fn direct(shared: Arc<Shared>, n: usize) -> Self {
        Self::new(shared, format!("dm:p{n}"), format!("p{n}"), false)
    }

    pub(super) fn group(shared: Arc<Shared>) -> Self {
        Self::new(shared, "general".into(), "gwen".into(), true)
    }

    fn new(shared: Arc<Shared>, conversation: String, user: String, is_group: bool) -> Self {
        Self {
            shared,
            conversation,
            user,
            is_group,
            said: Vec::new(),
            seen: HashMap::new(),
            answered: HashSet::new(),
            cursor: 0,
            newest: 0,
            late: 0,
            waiting: 0,
        }
    }

    /// Writes until it is over and all is answered.
    pub(super) async fn talk(mut self) -> Self {
        let mut quiet = Instant::now();
        loop {
            let is_over = self.shared.over.load(Ordering::SeqCst);
            if !is_over && self.waiting < MOST_WAITING {
                self.say().await;
            }
            tokio::time::sleep(PACE).await;
            self.look().await;
            if !is_over || self.waiting > 0 {
                quiet = Instant::now();
            }
            if quiet.elapsed() > AFTER {
                return self;
            }
        }
    }

    async fn say(&mut self) {
        let number = self.shared.next.fetch_add(1, Ordering::SeqCst);
        let more = if self.is_group { json!({ "mention": true }) } else { json!({}) };
        let text = format!("/note id={number}");
        self.shared.people.say_with(&self.conversation, &self.user, &text, more).await;
        self.said.push(number);
        self.waiting += 1;
    }

    async fn look(&mut self) {
        let path = format!("transcript?conversation={}&after={}", self.conversation, self.cursor);
        let answer = self.shared.people.get(&path).await;
        let entries: Vec<Entry> = serde_json::from_value(answer["entries"].clone()).expect("entries are readable");
        for entry in entries {
            self.cursor = self.cursor.max(entry.n);
            let Some(number) = entry.is_said().then(|| number_in(&entry.text)).flatten() else { continue };
            let message = entry.message.unwrap_or_default();
            if self.seen.insert(message, (number, entry.text.contains(DUPLICATE_MARK))).is_none() {
                self.heard(number);
            }
        }
        self.waiting = self.said.len() - self.answered.len();
    }

    fn heard(&mut self, number: usize) {
        self.answered.insert(number);
        self.late += usize::from(number < self.newest);
        self.newest = self.newest.max(number);
        self.shared.newest.fetch_max(number, Ordering::SeqCst);
    }

    /// What became of each message.
    pub(super) fn fates(&self) -> impl Iterator<Item = (usize, Fate)> {
        let mut fates: HashMap<usize, Fate> = HashMap::new();
        for (number, is_marked) in self.seen.values() {
            let fate = fates.entry(*number).or_default();
            let count = if *is_marked { &mut fate.marked } else { &mut fate.unmarked };
            *count = count.saturating_add(1);
        }
        self.said.iter().map(move |number| (*number, fates.get(number).copied().unwrap_or_default()))
    }
}

/// The number of the message that a text answers.
fn number_in(text: &str) -> Option<usize> {
    let (_, rest) = text.split_once("id: ")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}
