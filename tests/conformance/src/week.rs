//! A week in fast motion: connections end in every way, over and over, while people talk and requests go wrong.
//!
//! [`gateway`] is the process under load; [`Week`] is what people do and see meanwhile, and what becomes of every message.
//! Both may share a process or have one each: `examples/week.rs` keeps them apart, so that what it measures is the gateway
//! alone.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use contract::Platform;
use serde_json::{Value, json};
use tokio::task::JoinSet;

pub use self::{
    process::{Gateway, Runs, gateway},
    talker::Fate,
};
use self::{talker::Book, trouble::Trouble};
use crate::people::People;

mod process;
mod talker;
mod trouble;

/// The simulators of a week: as those of the suite, with a heart that beats faster.
pub fn simulators() -> sim::Options {
    let mut options = crate::accounts::simulators();
    options.discord.limits.heartbeat_ms = 500;
    // There is a socket for nearly all of a real week, and an event that is tried four times within minutes meets one.
    // Here the times without one are as long, but the tries are close together.
    options.slack.limits.tries = 40;
    options
}

/// How long messages that are under way at the end may take.
const END: Duration = Duration::from_secs(60);
/// How long a connection may take to come back.
const BACK: Duration = Duration::from_secs(30);

/// What is to happen.
#[derive(Debug, Clone, Copy)]
pub struct Week {
    pub platform: Platform,
    /// How often connections end.
    pub reconnects: usize,
    /// People who write to the bot directly; one more addresses it in a group.
    pub people: usize,
}

/// What became of it.
#[derive(Debug, Default)]
pub struct Told {
    pub said: usize,
    /// Answered exactly once, without a remark.
    pub once: usize,
    /// Answered with one answer or more that say of themselves that they may be repeats, and at most one that does not.
    pub marked: usize,
    /// Answers with that remark.
    pub remarks: usize,
    /// Never answered.
    pub unanswered: Vec<usize>,
    /// Of each of these: where and when it was said, and what went wrong from then on.
    pub stories: Vec<String>,
    /// Answered more than once without saying so.
    pub repeated: Vec<usize>,
    /// Answers that came after the answer to a later message of the same conversation.
    pub late: usize,
    /// How often connections ended in each way.
    pub kinds: BTreeMap<String, usize>,
    /// Posts that failed so that nobody can find out whether they took effect: that many may be repeated with the remark.
    pub doubts: usize,
    /// What the simulator counted: connections, or polls.
    pub counted: Value,
    /// The wait until a message that was said after a cut was answered: all of them, and the longest.
    pub waited: Duration,
    pub longest: Duration,
}

/// What all who take part share.
struct Shared {
    people: People,
    /// The number that the next message has.
    next: AtomicUsize,
    /// The highest number that was answered.
    newest: AtomicUsize,
    over: AtomicBool,
    book: Book,
}

impl Week {
    /// Lives it, against simulators at `url` with a gateway on them. `told` hears of every reconnect: its number,
    /// how it came about, and how long it took until something said after it was answered.
    pub async fn live(self, url: &str, mut told: impl FnMut(usize, &str, Duration)) -> Told {
        let shared = Arc::new(Shared {
            people: People::new(self.platform, url),
            next: AtomicUsize::new(1),
            newest: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            book: Book::default(),
        });
        let mut tasks = JoinSet::new();
        for n in 0..self.people {
            tasks.spawn(talker::talk(shared.clone(), format!("dm:p{n}"), format!("p{n}")));
        }
        tasks.spawn(talker::talk(shared.clone(), "general".into(), "gwen".into()));
        tasks.spawn(talker::listen(shared.clone()));
        let mut all = Told::default();
        // Nobody can be found again whom a bot had never heard of.
        testkit::until("everybody is known", || shared.book.begun() > self.people).await;
        let mut trouble = Trouble::new(&shared.people, self.people);
        for n in 0..self.reconnects {
            let began = Instant::now();
            let kind = trouble.next().await;
            shared.answers_what_is_said_from_now_on(&kind).await;
            let took = began.elapsed();
            all.waited += took;
            all.longest = all.longest.max(took);
            told(n + 1, &kind, took);
        }
        shared.over.store(true, Ordering::SeqCst);
        let ends = tokio::time::timeout(END, async {
            while let Some(ended) = tasks.join_next().await {
                ended.expect("nobody panics");
            }
        });
        // What is not answered by then is told with the rest.
        let _ = ends.await;
        all.take(&shared.book);
        all.stories = all.unanswered.iter().filter_map(|n| shared.book.story(*n, &trouble.log)).collect();
        (all.kinds, all.doubts) = (std::mem::take(&mut trouble.kinds), trouble.doubts);
        all.counted = shared.counted().await;
        all
    }
}

impl Shared {
    /// Waits until a message is answered that nobody had written before.
    async fn answers_what_is_said_from_now_on(&self, after: &str) {
        let now = self.next.load(Ordering::SeqCst);
        let until = Instant::now() + BACK;
        while self.newest.load(Ordering::SeqCst) < now {
            assert!(Instant::now() < until, "{}: nothing is answered after {after}", self.people.platform);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// What the simulator counted of connections.
    async fn counted(&self) -> Value {
        let stats = self.people.stats().await;
        match self.people.platform {
            Platform::Discord => stats["gateway"].clone(),
            Platform::Telegram => json!({ "polls": stats["methods"]["getUpdates"] }),
            _ => ["connections", "acknowledged", "redelivered", "lost"]
                .map(|word| (word.to_owned(), stats[word].clone()))
                .into_iter()
                .collect(),
        }
    }
}

impl Told {
    fn take(&mut self, book: &Book) {
        self.late = book.late();
        for (number, fate) in book.fates() {
            self.said += 1;
            match fate {
                Fate { unmarked: 1, marked: 0 } => self.once += 1,
                Fate { unmarked: 0, marked: 0 } => self.unanswered.push(number),
                Fate { unmarked: 0 | 1, marked } => {
                    self.marked += 1;
                    self.remarks += usize::from(marked);
                }
                Fate { .. } => self.repeated.push(number),
            }
        }
    }

    /// Whether every message was answered once, or says that it may be a repeat where the platform cannot know: no more
    /// often than it had reason to.
    pub fn is_right(&self) -> bool {
        self.unanswered.is_empty() && self.repeated.is_empty() && self.remarks <= self.doubts
    }

    pub fn as_json(&self) -> Value {
        json!({
            "said": self.said, "once": self.once, "marked": self.marked, "remarks": self.remarks,
            "unanswered": self.unanswered, "stories": self.stories, "repeated": self.repeated, "late": self.late,
            "kinds": self.kinds, "doubts": self.doubts, "counted": self.counted,
            "longest_ms": u64::try_from(self.longest.as_millis()).unwrap_or(u64::MAX),
        })
    }
}
