//! Turns of a language model that takes no time: what is ours of them.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use contract::{Failure, Inbox, Platform};
use dispatch::{
    Gateway, Options, Settings,
    model::{About, Answer, Asked, Draft, Model, Prompt, Said, Usage},
};
use endpoints::Endpoints;
use testkit::{Setup, message};

use crate::{
    figures::{TOOLS, note, row, shown},
    outlet::Counter,
};

/// Answers "hello" at once; eight calls first where it is told to, and a stream of drafts where it is told to.
struct Quick;

#[async_trait]
impl Model for Quick {
    async fn step(&self, prompt: &Prompt<'_>, draft: &dyn Draft) -> Result<Answer, Failure> {
        let usage = Usage { input: 1, output: 1, ..Usage::default() };
        let answer = Answer { text: "hello".into(), usage, ..Answer::default() };
        Ok(match prompt.messages.last() {
            Some(Said::Person { text, .. }) if text == "eight" => {
                let call = Asked { tool: "sleep".into(), args: r#"{"ms": 50}"#.into() };
                Answer { calls: vec![call; 8], ..answer }
            }
            Some(Said::Person { text, .. }) if text == "search" => {
                let call = |n: usize| {
                    let args = format!(r#"{{"query": "a tool that counts apples of kind {}"}}"#, n * 31);
                    Asked { tool: "tool_search".into(), args }
                };
                Answer { calls: (0..SEARCHES).map(call).collect(), ..answer }
            }
            Some(Said::Person { text, .. }) if text == "stream" => {
                let mut text = String::new();
                for _ in 0..1_000 {
                    text.push_str(&"word ".repeat(13));
                    draft.show(&text);
                }
                Answer { text, ..answer }
            }
            _ => answer,
        })
    }

    fn about(&self) -> About {
        About { name: "quick".into(), context_tokens: 128_000, output_tokens: 4_096, sees_images: false }
    }
}

/// Searches in one step, and tools that are searched.
const SEARCHES: usize = 32;
const MANY: usize = 1_000;

/// So many tools that none of them is listed.
fn many() -> String {
    let tool = |n: usize| {
        let house = n * 7;
        let about = format!("description: Counts apples of kind {n} in the cellar of house {house}\n");
        format!("---\nname: count_{n}\ntoolset: lab\n{about}endpoint: {{ type: native, name: noop }}\n")
    };
    (0..MANY).map(tool).collect()
}

struct Bench {
    gateway: Gateway,
    outlet: Arc<Counter>,
}

impl Bench {
    /// With more tools than those of all figures.
    async fn new(folder: &tempfile::TempDir, name: &str, more: &str) -> Self {
        let url = format!("sqlite:{}", folder.path().join(name).display());
        let stores = store::open(&url, store::Options::default()).await.expect("sqlite opens");
        let snapshot =
            Setup::snapshot(&format!("{TOOLS}{more}"), &[testkit::allow_lab(Platform::Telegram)], Endpoints::new(), 1);
        let model: Option<Arc<dyn Model>> = Some(Arc::new(Quick));
        let gateway = Gateway::open(Options { stores, snapshot, settings: Settings::default(), model });
        let outlet = Arc::new(Counter::default());
        gateway.connect(Platform::Telegram, "main", outlet.clone(), outlet.clone());
        gateway.start();
        while gateway.partitions_held() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Self { gateway, outlet }
    }

    async fn turn(&self, chat: &str, text: &str) {
        self.gateway.accept(message(Platform::Telegram, chat, "ada", text)).await.expect("the store answers");
        self.outlet.next(chat).await;
    }

    async fn turns(&self, what: &str, chat: impl Fn(usize) -> String, text: &str, count: usize) {
        let mut samples = Vec::new();
        let (all, cpu) = (Instant::now(), cpu());
        for n in 0..count {
            let chat = chat(n);
            let began = Instant::now();
            self.turn(&chat, text).await;
            samples.push(began.elapsed());
        }
        let spent = self::cpu().saturating_sub(cpu) / u32::try_from(count).unwrap_or(1);
        row(what, samples, all.elapsed());
        note("  processor time of one", shown(spent));
    }
}

pub async fn run() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let bench = Bench::new(&folder, "thinking.db", "").await;
    let one = |chat: &'static str| move |_| chat.to_owned();
    for _ in 0..100 {
        bench.turn("warm", "hello").await;
    }
    bench.turns("a model's turn in sessions of ten", |n| format!("ten {}", n / 10), "hello", 500).await;
    for _ in 0..1_000 {
        bench.turn("long", "hello").await;
    }
    bench.turns("the same in a session of more than 1,000", one("long"), "hello", 500).await;
    bench.turns("a model's turn with eight parallel 50 ms tools", one("eight"), "eight", 100).await;
    bench.turns("a model's turn of 64 KB in 1,000 drafts", one("stream"), "stream", 100).await;
    let many = Bench::new(&folder, "many.db", &many()).await;
    many.turn("many", "search").await;
    many.turns("a model's turn where 1,000 tools are not listed", one("many"), "hello", 200).await;
    many.turns("the same with 32 searches among them", one("many"), "search", 100).await;
    chats(&folder).await;
}

async fn chats(folder: &tempfile::TempDir) {
    let bench = Arc::new(Bench::new(folder, "chats.db", "").await);
    let all = Instant::now();
    let chat = |chat: usize| {
        let bench = bench.clone();
        tokio::spawn(async move {
            let mut samples = Vec::new();
            for _ in 0..100 {
                let began = Instant::now();
                bench.turn(&chat.to_string(), "hello").await;
                samples.push(began.elapsed());
            }
            samples
        })
    };
    let tasks: Vec<_> = (0..32).map(chat).collect();
    let mut samples = Vec::new();
    for task in tasks {
        samples.extend(task.await.expect("a task of turns ends"));
    }
    row("models' turns without tools, 32 chats", samples, all.elapsed());
}

/// Processor time of this process so far; nothing where the system does not say it.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name in brackets: state is the first, user and system time are the twelfth and thirteenth, in hundredths.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}
