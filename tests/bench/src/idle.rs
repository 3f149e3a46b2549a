//! What conversations cost that rest: each had one turn, over the platform's own simulator in another process.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::Duration,
};

use contract::Platform;
use futures_util::{StreamExt, stream};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::figures::note;

/// A simulator knows at most 10,000 people.
const CONVERSATIONS: usize = 9_800;
/// Those among whom as many turns are made first, so that what is filled by turns alone is full.
const FIRST: usize = 100;
/// Messages that wait for their answers at once.
const AT_ONCE: usize = 64;
/// Until everything rests that is going to.
const SETTLE: Duration = Duration::from_secs(20);

/// The word that makes this program serve simulators until its input ends.
pub const SERVE: &str = "--simulators";

pub async fn serve() {
    let shutdown = CancellationToken::new();
    let sim = sim::serve(conformance::week::simulators(), shutdown.clone()).await.expect("the simulators start");
    println!("{}", sim.url);
    let _ = tokio::task::spawn_blocking(|| std::io::stdin().lock().lines().next()).await;
    shutdown.cancel();
    sim.join().await;
}

pub async fn run() {
    for platform in [Platform::Discord, Platform::Telegram, Platform::Slack] {
        let (mut child, url) = simulators();
        let gateway = conformance::week::gateway(platform, &url).await;
        let people = conformance::People::new(platform, &url);
        turns(&people, (0..CONVERSATIONS).map(|n| format!("first{}", n % FIRST)), 0).await;
        tokio::time::sleep(SETTLE).await;
        let before = resident();
        turns(&people, (0..CONVERSATIONS).map(|n| format!("p{n}")), CONVERSATIONS).await;
        note(
            &format!("{platform}, {CONVERSATIONS} conversations, right after"),
            format!("{:.1} MiB", resident() - before),
        );
        tokio::time::sleep(SETTLE).await;
        let cost = resident() - before;
        note(&format!("{platform}, {CONVERSATIONS} idle conversations cost"), format!("{cost:.1} MiB"));
        note(&format!("{platform}, resident then"), format!("{:.1} MiB", resident()));
        gateway.end().await;
        drop(child.stdin.take());
        let _ = child.wait();
    }
}

fn simulators() -> (Child, String) {
    let mut child = Command::new(std::env::current_exe().expect("this program has a path"))
        .arg(SERVE)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the simulators' process starts");
    let mut url = String::new();
    BufReader::new(child.stdout.take().expect("its output is piped")).read_line(&mut url).expect("it speaks");
    (child, url.trim().to_owned())
}

/// Everybody says something, and is answered.
async fn turns(people: &conformance::People, who: impl Iterator<Item = String>, before: usize) {
    let count = |stats: &Value| stats["sent"].as_u64().unwrap_or_default();
    let mut said = before;
    for chunk in who.collect::<Vec<_>>().chunks(AT_ONCE) {
        let saying = chunk.iter().enumerate().map(|(n, name)| {
            let text = format!("/note id={}", said + n);
            async move { people.say(&format!("dm:{name}"), name, &text).await }
        });
        stream::iter(saying).buffer_unordered(AT_ONCE).collect::<Vec<_>>().await;
        said += chunk.len();
        while count(&people.stats().await) < said as u64 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

/// Resident MiB of this process.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    let kib: f64 = line.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or_default();
    kib / 1024.0
}
