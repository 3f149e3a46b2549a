//! What conversations cost that rest: each had one turn, over the platform's own simulator in another process.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use conformance::week::Gateway;
use contract::{
    Address, Bucket, DeliveryError, DeliveryKey, Indicator, Op, Outlet, Pace, Part, Platform, Receipt, Reply,
};
use futures_util::{StreamExt, stream};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::figures::note;

/// A simulator knows at most 10,000 conversations, of which others are there already.
const CONVERSATIONS: usize = 9_700;
/// Those among whom as many turns are made first, so that what is filled by turns alone is full.
const FIRST: usize = 200;
/// Messages that wait for their answers at once.
const AT_ONCE: usize = 64;
/// Until everything rests that is going to.
const SETTLE: Duration = Duration::from_secs(5);

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

/// The word before the one platform that this program measures then.
pub const ONE: &str = "--idle";

/// Each platform in a process of its own: memory that another one has left would be used again.
pub fn run() {
    for platform in PLATFORMS {
        let ended = program().args([ONE, &platform.to_string()]).status().expect("this program starts");
        assert!(ended.success(), "{platform}: {ended}");
    }
}

const PLATFORMS: [Platform; 3] = [Platform::Discord, Platform::Telegram, Platform::Slack];

pub async fn one(name: &str) {
    let platform = PLATFORMS.into_iter().find(|platform| platform.to_string() == name).expect("it has simulators");
    let (mut child, url) = simulators();
    let gateway = Gateway::by(platform, &url, |outlet| Arc::new(AtOnce(outlet))).await;
    let people = conformance::People::new(platform, &url);
    turns(&people, (0..CONVERSATIONS).map(|n| format!("first{}", n % FIRST)), 0).await;
    tokio::time::sleep(SETTLE).await;
    let before = resident();
    note(&format!("{platform}, resident before"), format!("{before:.1} MiB"));
    turns(&people, (0..CONVERSATIONS).map(|n| format!("p{n}")), CONVERSATIONS).await;
    note(&format!("{platform}, {CONVERSATIONS} conversations, right after"), format!("{:.1} MiB", resident()));
    tokio::time::sleep(SETTLE).await;
    let with = resident();
    note(&format!("{platform}, with {CONVERSATIONS} idle conversations"), format!("{with:.1} MiB"));
    note(&format!("{platform}, they cost"), format!("{:.1} MiB", with - before));
    gateway.end().await;
    drop(child.stdin.take());
    let _ = child.wait();
}

fn program() -> Command {
    Command::new(std::env::current_exe().expect("this program has a path"))
}

/// The adapter's outlet, at a pace that nobody waits for and of which as much is remembered.
struct AtOnce(Arc<dyn Outlet>);

#[async_trait]
impl Outlet for AtOnce {
    fn render(&self, reply: &Reply, to: &Address) -> Vec<Part> {
        self.0.render(reply, to)
    }

    async fn send(&self, to: &Address, op: Op<'_>, key: &DeliveryKey) -> Result<Receipt, DeliveryError> {
        self.0.send(to, op, key).await
    }

    async fn indicate(&self, to: &Address, indicator: Indicator) {
        self.0.indicate(to, indicator).await;
    }

    fn pace(&self, _to: &Address) -> Pace {
        let bucket = Bucket { burst: 1_000_000, every: Duration::from_nanos(1) };
        Pace { conversation: Some(bucket), account: Some(bucket) }
    }

    fn can_be_private(&self, to: &Address) -> bool {
        self.0.can_be_private(to)
    }

    fn fallback(&self, to: &Address) -> Option<Address> {
        self.0.fallback(to)
    }
}

fn simulators() -> (Child, String) {
    let mut child = program()
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
