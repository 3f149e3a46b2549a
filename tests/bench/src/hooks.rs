//! Events that platforms post: the server of the HTTP interface, signature or secret, records on Redis, a turn each.
//!
//! The gateway has the runtime's two threads; the requests come from a thread of its own, which the machine's two cores
//! carry as well, beside Redis. Replies go to an outlet that takes everything at once.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{Json, Router};
use contract::{Core, Platform, Source, Stopped, seams::Condition};
use dispatch::{Gateway, Options, Settings};
use endpoints::Endpoints;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use testkit::{Setup, redis::Redis};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{
    figures::{TOOLS, note, row, shown},
    inbound,
    load::{self, Fared},
    outlet::Tally,
};

const SIGNING: &str = "8f742231b10e8888abcd99yyyzzz85a5";
const SECRET: &str = "the-webhooks-own-secret";
const CONNECTIONS: usize = 64;
const PEOPLE: u64 = 500;
/// Every so many events one comes a second time.
const AGAIN: u64 = 10;
/// The goal, and half of it.
const GOAL: f64 = 5_000.0;

pub async fn run() {
    for platform in [Platform::Slack, Platform::Telegram] {
        let bench = Bench::new(platform).await;
        // Everybody is known already, and every path was gone once.
        bench.round(0, 5_000, None).await;
        let (fast, after) = bench.round(1, 60_000, None).await;
        let rate = fast.samples.len() as f64 / fast.took.as_secs_f64();
        note(&format!("{platform} hooks, as fast as answered, events per second"), format!("{rate:.0}"));
        note(&format!("{platform} hooks, the last of these turns answered after"), shown(after));
        row(&format!("{platform} hooks, {CONNECTIONS} connections, until answered"), fast.samples, fast.took);
        let (paced, _) = bench.round(2, 40_000, Some(GOAL)).await;
        row(&format!("{platform} hooks at {GOAL} a second, until answered"), paced.samples, paced.took);
        let (half, _) = bench.round(3, 25_000, Some(GOAL / 2.0)).await;
        row(&format!("{platform} hooks at {} a second, until answered", GOAL / 2.0), half.samples, half.took);
        note(&format!("{platform} hooks, refused"), fast.refused + paced.refused + half.refused);
        bench.end().await;
    }
}

struct Bench {
    platform: Platform,
    gateway: Gateway,
    answers: Arc<Tally>,
    addr: SocketAddr,
    shutdown: CancellationToken,
    running: JoinHandle<Result<(), Stopped>>,
    _redis: Redis,
}

impl Bench {
    async fn new(platform: Platform) -> Self {
        let redis = Redis::start().await;
        let stores = store::open(&redis.url(), store::Options::default()).await.expect("redis opens");
        let policies = [testkit::allow_lab(platform)];
        let snapshot = Setup::snapshot(TOOLS, &policies, Endpoints::new(), 1);
        let gateway = Gateway::open(Options { stores, snapshot, settings: Settings::default(), model: None });
        let shutdown = CancellationToken::new();
        let (source, hooks, start) = adapter(platform, &platforms().await, gateway.core(), shutdown.clone());
        let answers = Arc::new(Tally::default());
        gateway.connect(platform, "main", answers.clone(), source);
        gateway.start();
        while gateway.partitions_held() < usize::from(contract::ids::PARTITIONS) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let config = web::Config {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            admin: None,
            clients: Vec::new(),
            pages: None,
            hooks: Some(Router::new().nest(&format!("/{platform}/main"), hooks)),
            allowed_origins: Vec::new(),
        };
        let served = web::serve(config, gateway.clone(), Vec::new, shutdown.clone()).await.expect("it is served");
        let running = start();
        let part = format!("{platform}/main");
        while !gateway.health().all().iter().any(|(name, now)| *name == part && *now == Condition::Ready) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Self { platform, gateway, answers, addr: served.addr, shutdown, running, _redis: redis }
    }

    /// Sends events, and waits until their turns are answered; the time from the last event's answer to the last turn's.
    async fn round(&self, round: u64, events: u64, per_second: Option<f64>) -> (Fared, Duration) {
        let before = self.answers.answers();
        let fared = self.send(self.requests(round, events), per_second).await;
        assert!(fared.refused < fared.samples.len(), "{}: every event is refused", self.platform);
        (fared, self.settled(before, events).await)
    }

    /// From a thread that is not the gateway's.
    async fn send(&self, requests: Vec<Vec<u8>>, per_second: Option<f64>) -> Fared {
        let (addr, requests) = (self.addr, Arc::new(requests));
        let sending = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.expect("a runtime of one thread can be made");
            runtime.block_on(load::send(addr, requests, CONNECTIONS, per_second))
        };
        tokio::task::spawn_blocking(sending).await.expect("the sender ends")
    }

    /// Waits until so many more turns are answered than before; how long that took.
    async fn settled(&self, before: usize, events: u64) -> Duration {
        let began = std::time::Instant::now();
        let turns = events - events / AGAIN;
        while self.answers.answers() < before + usize::try_from(turns).expect("it is a count") {
            assert!(began.elapsed() < Duration::from_secs(60), "{} answers", self.answers.answers() - before);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        began.elapsed()
    }

    /// Events of a round; some come twice.
    fn requests(&self, round: u64, count: u64) -> Vec<Vec<u8>> {
        let again = |n: u64| if n % AGAIN == AGAIN - 1 { n - AGAIN / 2 } else { n };
        (0..count).map(|n| self.request(round * 1_000_000 + again(n))).collect()
    }

    fn request(&self, n: u64) -> Vec<u8> {
        let person = n % PEOPLE;
        let (path, proof, event) = match self.platform {
            Platform::Slack => {
                ("/events", None, inbound::slack_event(&format!("D{person:08}"), &format!("U{person:08}"), n))
            }
            _ => ("", Some(SECRET), inbound::telegram_message(n + 1, person + 1)),
        };
        let body = event.to_string();
        let proof =
            proof.map_or_else(|| signature(&body), |secret| format!("x-telegram-bot-api-secret-token: {secret}\r\n"));
        let path = format!("/hooks/{}/main{path}", self.platform);
        let length = body.len();
        format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{proof}\r\n{body}",
            self.addr
        )
        .into_bytes()
    }

    async fn end(self) {
        self.shutdown.cancel();
        self.running.await.expect("the adapter does not panic").expect("it stops when it is asked to");
        self.gateway.drain().await;
    }
}

/// As Slack signs a body.
fn signature(body: &str) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("it is after 1970").as_secs();
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(SIGNING.as_bytes()).expect("any key fits");
    mac.update(format!("v0:{now}:{body}").as_bytes());
    let hex: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("x-slack-request-timestamp: {now}\r\nx-slack-signature: v0={hex}\r\n")
}

type Start = Box<dyn FnOnce() -> JoinHandle<Result<(), Stopped>> + Send>;

fn adapter(platform: Platform, api: &str, core: Core, shutdown: CancellationToken) -> (Arc<dyn Source>, Router, Start) {
    if platform == Platform::Slack {
        let mode = slack::Mode::Events { signing_secret: SIGNING.into() };
        let config = slack::Config::new("main", "xoxb-1-2-abcdefghijklmnopqrstuvwx".into(), mode, Some(api.into()));
        let slack = slack::Slack::new(config).expect("the settings are right");
        let (source, hooks) = (slack.clone(), slack::hooks(&slack));
        return (source, hooks, Box::new(move || tokio::spawn(slack::run(slack, core, shutdown))));
    }
    let mut config = telegram::Config::new("main", "4242:AAabcdefghijklmnopqrstuvwxyzABCDEFG".into(), Some(api.into()));
    config.mode = telegram::Mode::Webhook { url: "https://gateway.test/hooks".into(), secret: SECRET.into() };
    let telegram = telegram::Telegram::new(config).expect("the settings are right");
    let (source, hooks) = (telegram.clone(), telegram::hooks(&telegram));
    (source, hooks, Box::new(move || tokio::spawn(telegram::run(telegram, core, shutdown))))
}

/// What both platforms say at the start, whatever they are asked.
async fn platforms() -> String {
    let says = async || -> Json<Value> {
        Json(json!({
            "ok": true, "user_id": "UBOT", "user": "toolgate", "bot_id": "B1", "team_id": "T1", "app_id": "A1",
            "result": { "id": 4242, "is_bot": true, "first_name": "Toolgate", "username": "tool_gate_bot", "url": "" },
        }))
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
    let addr = listener.local_addr().expect("a bound listener has an address");
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(says)).await });
    format!("http://{addr}")
}
