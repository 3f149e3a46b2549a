//! A week in fast motion, with figures: `cargo run --release -p conformance --example week -- --platform discord --reconnects 1000`
//!
//! People and simulators are in this process, the gateway in another one, whose descriptors and memory are printed.
#![expect(clippy::print_stdout, reason = "figures go to standard output")]

use std::{
    io::BufRead,
    process::Stdio,
    time::{Duration, Instant},
};

use conformance::week::{Week, gateway, simulators};
use contract::Platform;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, Command},
};
use tokio_util::sync::CancellationToken;

const HOW: &str = "week --platform discord|telegram|slack [--reconnects 1000] [--people 20]";

/// A reconnect that takes longer is worth a line.
const SLOW: Duration = Duration::from_secs(8);

/// The same as the binary's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| words.iter().position(|word| word == name).and_then(|at| words.get(at + 1));
    let number = |name: &str, usual: usize| option(name).map_or(usual, |word| word.parse().expect(HOW));
    let platform: Platform = option("--platform").and_then(|name| name.parse().ok()).expect(HOW);
    match option("--on") {
        Some(url) => serve(platform, url).await,
        None => {
            live(Week { platform, reconnects: number("--reconnects", 1_000), people: number("--people", 20) }).await
        }
    }
}

/// The other process: a gateway until its input ends.
async fn serve(platform: Platform, url: &str) {
    // What is given up is said.
    tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_writer(std::io::stderr).init();
    let gateway = gateway(platform, url).await;
    println!("ready");
    let _ = tokio::task::spawn_blocking(|| std::io::stdin().lock().lines().next()).await;
    let runs = gateway.runs.clone();
    gateway.end().await;
    let (messages, several) = runs.count();
    println!("{messages} messages ran their tool, {} of them more than once", several.len());
}

async fn live(week: Week) {
    let shutdown = CancellationToken::new();
    let sim = sim::serve(simulators(), shutdown.clone()).await.expect("the simulators start");
    let mut child = Command::new(std::env::current_exe().expect("this program has a path"))
        .args(["--platform", &week.platform.to_string(), "--on", &sim.url])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the gateway's process starts");
    let mut lines = BufReader::new(child.stdout.take().expect("its output is piped")).lines();
    assert_eq!(lines.next_line().await.expect("it speaks").as_deref(), Some("ready"));
    let began = Instant::now();
    println!("{:>10} {:>8} {:>12} {:>10}", "reconnects", "seconds", "descriptors", "RSS MiB");
    let step = (week.reconnects / 10).max(1);
    let show = |n: usize, child: &Child| {
        let (descriptors, memory) = measured(child);
        println!("{n:>10} {:>8.1} {descriptors:>12} {memory:>10.1}", began.elapsed().as_secs_f64());
    };
    show(0, &child);
    let watch = |n: usize, kind: &str, took: Duration| {
        if took >= SLOW {
            println!("{n:>10} {:>8.1} s {kind}", took.as_secs_f64());
        }
        if n.is_multiple_of(step) {
            show(n, &child);
        }
    };
    let told = week.live(&sim.url, watch).await;
    show(week.reconnects, &child);
    println!("{}", told.as_json());
    println!("mean wait after a cut: {:.0} ms", told.waited.as_secs_f64() * 1e3 / week.reconnects as f64);
    let mut input = child.stdin.take().expect("its input is piped");
    input.write_all(b"end\n").await.expect("it listens");
    println!("{}", lines.next_line().await.expect("it speaks").unwrap_or_default());
    child.wait().await.expect("it ends");
    let people = conformance::People::new(week.platform, &sim.url);
    // On a machine that is busy a heart may beat late.
    people.is_content_but_for(&["heartbeat"]).await;
    shutdown.cancel();
    sim.join().await;
    assert!(told.is_right(), "every message is answered exactly once, or says that it may be a repeat");
}

/// Open descriptors and resident MiB of a process.
fn measured(child: &Child) -> (usize, f64) {
    let id = child.id().expect("it runs");
    let descriptors = std::fs::read_dir(format!("/proc/{id}/fd")).map_or(0, Iterator::count);
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    let kib: f64 = line.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or_default();
    (descriptors, kib / 1024.0)
}
