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

struct Bench {
    gateway: Gateway,
    outlet: Arc<Counter>,
}

impl Bench {
    async fn new(folder: &tempfile::TempDir, name: &str) -> Self {
        let url = format!("sqlite:{}", folder.path().join(name).display());
        let stores = store::open(&url, store::Options::default()).await.expect("sqlite opens");
        let snapshot = Setup::snapshot(TOOLS, &[testkit::allow_lab(Platform::Telegram)], Endpoints::new(), 1);
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

    async fn turns(&self, what: &str, chat: &str, text: &str, count: usize) {
        let mut samples = Vec::new();
        let (all, cpu) = (Instant::now(), cpu());
        for _ in 0..count {
            let began = Instant::now();
            self.turn(chat, text).await;
            samples.push(began.elapsed());
        }
        let spent = self::cpu().saturating_sub(cpu) / u32::try_from(count).unwrap_or(1);
        row(what, samples, all.elapsed());
        note("  processor time of one", shown(spent));
    }
}

pub async fn run() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let bench = Bench::new(&folder, "thinking.db").await;
    bench.turns("a model's turn without tools", "1", "hello", 500).await;
    bench.turns("the same in a session of 500 turns", "1", "hello", 500).await;
    bench.turns("a model's turn with eight parallel 50 ms tools", "2", "eight", 50).await;
    bench.turns("a model's turn of 64 KB in 1,000 drafts", "3", "stream", 50).await;
    chats(&folder).await;
}

async fn chats(folder: &tempfile::TempDir) {
    let bench = Arc::new(Bench::new(folder, "chats.db").await);
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
