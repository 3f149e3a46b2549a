//! Whole turns: message accepted to reply sent, one tool, SQLite on disk.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use contract::{Inbox, Platform};
use dispatch::{Gateway, Options, Settings};
use endpoints::Endpoints;
use testkit::{Setup, message};

use crate::{
    figures::{TOOLS, note, row, shown},
    outlet::Counter,
};

struct Bench {
    gateway: Gateway,
    outlet: Arc<Counter>,
}

async fn gateway(folder: &tempfile::TempDir, name: &str) -> Bench {
    let url = format!("sqlite:{}", folder.path().join(name).display());
    let stores = store::open(&url, store::Options::default()).await.expect("sqlite opens");
    let policies = [testkit::allow_lab(Platform::Telegram)];
    let snapshot = Setup::snapshot(TOOLS, &policies, Endpoints::new(), 1);
    let gateway = Gateway::open(Options { stores, snapshot, settings: Settings::default(), model: None });
    let outlet = Arc::new(Counter::default());
    gateway.connect(Platform::Telegram, "main", outlet.clone(), outlet.clone());
    gateway.start();
    while gateway.partitions_held() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Bench { gateway, outlet }
}

pub async fn run() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    one_after_the_other(&folder).await;
    thirty_two_chats(&folder).await;
    the_hundred_and_first(&folder).await;
}

async fn turn(bench: &Bench, chat: &str) {
    accept(bench, chat, "/noop text").await;
    bench.outlet.next(chat).await;
}

async fn accept(bench: &Bench, chat: &str, text: &str) {
    bench.gateway.accept(message(Platform::Telegram, chat, "ada", text)).await.expect("the store answers");
}

async fn one_after_the_other(folder: &tempfile::TempDir) {
    let gateway = gateway(folder, "one.db").await;
    let mut samples = Vec::new();
    let all = Instant::now();
    for _ in 0..2_000 {
        let began = Instant::now();
        turn(&gateway, "1").await;
        samples.push(began.elapsed());
    }
    row("whole turn, accepted to sent, one tool, SQLite", samples, all.elapsed());
}

async fn thirty_two_chats(folder: &tempfile::TempDir) {
    let gateway = Arc::new(gateway(folder, "many.db").await);
    let all = Instant::now();
    let tasks: Vec<_> = (0..32)
        .map(|chat| {
            let gateway = gateway.clone();
            tokio::spawn(async move {
                let mut samples = Vec::new();
                for _ in 0..200 {
                    let began = Instant::now();
                    turn(&gateway, &chat.to_string()).await;
                    samples.push(began.elapsed());
                }
                samples
            })
        })
        .collect();
    let mut samples = Vec::new();
    for task in tasks {
        samples.extend(task.await.expect("a task of turns ends"));
    }
    row("whole turns, 32 chats", samples, all.elapsed());
}

async fn the_hundred_and_first(folder: &tempfile::TempDir) {
    let gateway = gateway(folder, "waiting.db").await;
    for chat in 0..100 {
        accept(&gateway, &format!("slow{chat}"), "/sleep 5000").await;
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    let mut best = Duration::MAX;
    let mut worst = Duration::ZERO;
    for _ in 0..50 {
        let began = Instant::now();
        turn(&gateway, "quick").await;
        best = best.min(began.elapsed());
        worst = worst.max(began.elapsed());
    }
    note("the 101st chat while 100 wait, best of 50", shown(best));
    note("the 101st chat while 100 wait, worst of 50", shown(worst));
}
