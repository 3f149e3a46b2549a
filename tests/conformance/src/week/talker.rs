//! People who go on writing, and the book in which the answers to each message are counted.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
    time::{Duration, Instant},
};

use contract::{Platform, reply::DUPLICATE_MARK};
use serde_json::json;

use super::Shared;
use crate::people::Entry;

/// Messages of one person that may wait for their answers at once.
const MOST_WAITING: usize = 2;
/// How long after the last answer further ones are looked for.
const AFTER: Duration = Duration::from_millis(1_500);
/// What goes wrong so long after a message was said is told with it.
const STORY: Duration = Duration::from_secs(5);
/// Between two messages of a person: a little more than what platforms let a bot answer in one conversation, and in all of
/// them together.
const fn pace(platform: Platform) -> Duration {
    match platform {
        Platform::Slack => Duration::from_secs(4),
        _ => Duration::from_millis(1_300),
    }
}
/// Between two looks at all conversations.
const LOOK: Duration = Duration::from_millis(20);

/// How often a message was answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fate {
    pub unmarked: u8,
    /// With the remark that it may be a repeat.
    pub marked: u8,
}

/// What was said and what was answered.
#[derive(Default)]
pub(super) struct Book(Mutex<Pages>);

#[derive(Default)]
struct Pages {
    /// How many messages wait in a conversation, by name.
    waiting: HashMap<String, usize>,
    /// The conversation of each message, and whether it was answered.
    said: HashMap<usize, (String, bool)>,
    /// When each was said.
    when: HashMap<usize, Instant>,
    /// What each of the bot's messages answers, and whether it is marked.
    seen: HashMap<String, (usize, bool)>,
    /// The newest message of a conversation that was answered.
    newest: HashMap<String, usize>,
    late: usize,
}

/// Writes until it is over.
pub(super) async fn talk(shared: Arc<Shared>, conversation: String, user: String) {
    let more = if conversation.starts_with("dm:") { json!({}) } else { json!({ "mention": true }) };
    // Everybody begins at another time.
    let first = user.bytes().map(usize::from).sum::<usize>() * 37;
    let pace = pace(shared.people.platform);
    tokio::time::sleep(pace * u32::try_from(first % 100).unwrap_or(0) / 100).await;
    while !shared.over.load(Ordering::SeqCst) {
        if shared.book.waiting(&conversation) < MOST_WAITING {
            let number = shared.next.fetch_add(1, Ordering::SeqCst);
            shared.book.note(number, &conversation);
            shared.people.say_with(&conversation, &user, &format!("/note id={number}"), more.clone()).await;
        }
        tokio::time::sleep(pace).await;
    }
}

/// Reads all conversations until it is over and everything is answered, and a while longer.
pub(super) async fn listen(shared: Arc<Shared>) {
    let (mut cursor, mut quiet) = (0, Instant::now());
    loop {
        let is_over = shared.over.load(Ordering::SeqCst);
        let answer = shared.people.get(&format!("transcript?after={cursor}")).await;
        let entries: Vec<Entry> = serde_json::from_value(answer["entries"].clone()).expect("entries are readable");
        for entry in entries {
            cursor = cursor.max(entry.n);
            if let Some(number) = entry.is_said().then(|| number_in(&entry.text)).flatten() {
                shared.newest.fetch_max(number, Ordering::SeqCst);
                // Messages are numbered within their conversation.
                let message = format!("{} {}", entry.conversation, entry.message.unwrap_or_default());
                shared.book.answered(number, message, entry.text.contains(DUPLICATE_MARK));
            }
        }
        if !is_over || !shared.book.is_settled() {
            quiet = Instant::now();
        }
        if quiet.elapsed() > AFTER {
            return;
        }
        tokio::time::sleep(LOOK).await;
    }
}

impl Book {
    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, number: usize, conversation: &str) {
        let mut pages = self.pages();
        pages.said.insert(number, (conversation.to_owned(), false));
        pages.when.insert(number, Instant::now());
        *pages.waiting.entry(conversation.to_owned()).or_default() += 1;
    }

    fn waiting(&self, conversation: &str) -> usize {
        self.pages().waiting.get(conversation).copied().unwrap_or_default()
    }

    fn answered(&self, number: usize, message: String, is_marked: bool) {
        let mut pages = self.pages();
        if pages.seen.insert(message, (number, is_marked)).is_some() {
            return;
        }
        let Some((conversation, is_answered)) = pages.said.get_mut(&number) else { return };
        let (conversation, is_first) = (conversation.clone(), !std::mem::replace(is_answered, true));
        if is_first {
            pages.waiting.entry(conversation.clone()).and_modify(|waiting| *waiting -= 1);
            let newest = pages.newest.entry(conversation).or_default();
            let is_late = number < *newest;
            *newest = number.max(*newest);
            pages.late += usize::from(is_late);
        }
    }

    fn is_settled(&self) -> bool {
        self.pages().waiting.values().all(|waiting| *waiting == 0)
    }

    /// Where and when a message was said, and what went wrong from then on.
    pub(super) fn story(&self, number: usize, log: &[(Instant, String)]) -> Option<String> {
        let pages = self.pages();
        let (said, when) = (pages.said.get(&number)?, *pages.when.get(&number)?);
        let after = |at: &Instant| at.checked_duration_since(when).filter(|after| *after < STORY);
        let faults = log.iter().filter_map(|(at, fault)| Some(format!("{:.1} s {fault}", after(at)?.as_secs_f64())));
        let ago = when.elapsed().as_secs_f64();
        Some(format!("{number} in {}, {ago:.1} s ago: {}", said.0, faults.collect::<Vec<_>>().join("; ")))
    }

    /// How many conversations have an answer.
    pub(super) fn begun(&self) -> usize {
        self.pages().newest.len()
    }

    /// First answers that came after the answer to a later message of the same conversation.
    pub(super) fn late(&self) -> usize {
        self.pages().late
    }

    /// What became of each message.
    pub(super) fn fates(&self) -> Vec<(usize, Fate)> {
        let pages = self.pages();
        let mut fates: HashMap<usize, Fate> = pages.said.keys().map(|number| (*number, Fate::default())).collect();
        for (number, is_marked) in pages.seen.values() {
            let fate = fates.entry(*number).or_default();
            let count = if *is_marked { &mut fate.marked } else { &mut fate.unmarked };
            *count = count.saturating_add(1);
        }
        let mut all: Vec<_> = fates.into_iter().collect();
        all.sort_unstable_by_key(|(number, _)| *number);
        all
    }
}

/// The number of the message that a text answers.
fn number_in(text: &str) -> Option<usize> {
    let (_, rest) = text.split_once("id: ")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}
