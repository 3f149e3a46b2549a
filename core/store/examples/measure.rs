//! Prints what the stores do per second, and what a call costs in Redis.
//!
//! `cargo run --release -p store --example measure -- [sqlite:PATH | redis://…]`; without an address a temporary
//! SQLite file. A Redis should be one of its own: its counters are reset and its memory is compared.
// An example that cannot run has nothing to print.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::{sync::Arc, time::Instant};

use contract::{
    Address, CallId, CallPath, Caller, Digest, Heard, Kind, Message, Node, NodeKind, Opaque, Origin, Place, Platform,
    Receipt, Reply, Sender, SessionKey, State, TurnId,
    records::{Change, Delivery, DeliveryState, Owned, Record, Stores, TurnLine},
};
use tokio::task::JoinSet;

const CHATS: usize = 32;
const TURNS: usize = 30_000;
const TREES: usize = 25_000;
const CALLS: u32 = 8;
/// Nodes of one batch of the flusher.
const BATCH: usize = 128;
/// Batches that are under way at once.
const FLIGHTS: usize = 2;

#[tokio::main]
async fn main() {
    let url = std::env::args().nth(1).unwrap_or_else(|| "sqlite::memory:".to_owned());
    let stores = store::open(&url, store::Options::default()).await.unwrap();
    println!("{}", store::describe(&url));
    turns(&stores).await;
    let redis = match url.starts_with("redis") {
        true => Some(Counters::reset(&url).await),
        false => None,
    };
    trees(&stores).await;
    if let Some(counters) = redis {
        counters.print().await;
    }
    stores.close().await;
}

async fn turns(stores: &Stores) {
    let owned: Arc<Vec<Owned>> = stores.turns.hold().await.unwrap().into();
    let began = Instant::now();
    let mut chats = JoinSet::new();
    for chat in 0..CHATS {
        let (stores, owned) = (stores.clone(), owned.clone());
        chats.spawn(async move {
            let mut took = Vec::with_capacity(TURNS / CHATS * 3);
            for n in 0..TURNS / CHATS {
                turn(&stores, &owned, &format!("{chat}"), &format!("{chat}-{n}"), &mut took).await;
            }
            took
        });
    }
    let mut took: Vec<u64> = chats.join_all().await.into_iter().flatten().collect();
    let seconds = began.elapsed().as_secs_f64();
    took.sort_unstable();
    let at = |percent: usize| took[(took.len() - 1) * percent / 100] as f64 / 1000.0;
    println!(
        "turns (accept, finish, done; {CHATS} chats): {:.0}/s; one write p50 {:.2} ms, p99 {:.2} ms",
        TURNS as f64 / seconds,
        at(50),
        at(99)
    );
}

async fn turn(stores: &Stores, owned: &[Owned], chat: &str, key: &str, took: &mut Vec<u64>) {
    let record = record(chat, key);
    let fence = owned[usize::from(record.session.partition())].fence;
    let mut clock = Instant::now();
    let mut lap = || {
        took.push(u64::try_from(clock.elapsed().as_micros()).unwrap());
        clock = Instant::now();
    };
    stores.turns.accept(&record).await.unwrap();
    lap();
    let delivery = Delivery {
        n: 0,
        to: record.message.address.clone(),
        reply: None,
        state: DeliveryState::Sending { part: 0 },
        parts: vec![Digest::of(b"part")],
        receipts: Vec::new(),
        draft: None,
        marked: false,
    };
    let settled = Delivery {
        state: DeliveryState::Done,
        receipts: vec![Receipt { message: "42".into(), private: Opaque::default() }],
        ..delivery.clone()
    };
    let reply = Reply::text("It is 21 degrees in Bern, and it will not rain today or tomorrow.");
    let finish = [Change::Finish { reply, deliveries: vec![delivery], item: None }];
    stores.turns.change(fence, record.id, &record.session, &finish).await.unwrap();
    lap();
    let done = [Change::Delivery(settled), Change::Done { keep_message: false, keep_reply: false }];
    stores.turns.change(fence, record.id, &record.session, &done).await.unwrap();
    lap();
}

async fn trees(stores: &Stores) {
    let turns: Vec<_> = (0..TREES).map(|n| record(&(n % 200).to_string(), "k")).collect();
    let mut batches = Vec::new();
    for turns in turns.chunks(BATCH / (CALLS as usize + 1)) {
        let nodes: Vec<Arc<Node>> = turns.iter().flat_map(nodes).map(Arc::new).collect();
        let lines: Vec<TurnLine> = turns.iter().map(line).collect();
        batches.push((nodes, lines));
    }
    let batches = Arc::new(std::sync::Mutex::new(batches));
    let began = Instant::now();
    let mut flights = JoinSet::new();
    for _ in 0..FLIGHTS {
        let (stores, batches) = (stores.clone(), batches.clone());
        flights.spawn(async move {
            loop {
                let next = batches.lock().unwrap().pop();
                let Some((nodes, lines)) = next else { break };
                stores.trees.write(&nodes, &lines).await.unwrap();
            }
        });
    }
    flights.join_all().await;
    let calls = TREES as f64 * f64::from(CALLS);
    println!("trees ({CALLS} calls each, batches of {BATCH}): {:.0} calls/s", calls / began.elapsed().as_secs_f64());
}

fn record(chat: &str, key: &str) -> Record {
    let address = Address::new(Platform::Telegram, "main", format!("-100{chat}"));
    let sender = Sender { id: "1234567".into(), name: "Somebody".into() };
    let caller = Caller {
        platform: Platform::Telegram,
        account: "main".into(),
        tenant: "default".into(),
        space: None,
        conversation: address.conversation.clone(),
        thread: None,
        sender: sender.clone(),
        roles: Vec::new(),
        origin: Origin::Command,
    };
    let message = Message {
        key: key.into(),
        address: address.clone(),
        sender,
        roles: Vec::new(),
        kind: Kind::Text { text: "/weather_query city=Bern days=2".into() },
        heard: Heard::Direct,
        files: Vec::new(),
        quote: None,
        from_bot: false,
        locale: None,
        at_ms: 1_790_000_000_000,
    };
    Record::new(TurnId::new(), SessionKey::of(&address), message, caller)
}

fn nodes(record: &Record) -> Vec<Node> {
    let place = Place { caller: record.caller.clone(), session: record.session.clone() };
    let root = Node {
        state: State::Ok,
        duration_us: Some(60_000),
        place: Some(Box::new(place)),
        ..Node::new(record.id, CallId(0), NodeKind::Turn, 1_790_000_000_000_000)
    };
    let call = |n: u32| Node {
        path: Some(CallPath::top(1, n)),
        parent: Some(CallId(0)),
        tool: ["weather_query", "order_query", "inventory_check", "search_web"][n as usize % 4].into(),
        spec: Some(Digest::of(b"spec")),
        state: State::Ok,
        duration_us: Some(51_234),
        queued_us: 120,
        attempts: 1,
        args_digest: Some(Digest::of(&n.to_be_bytes())),
        args_bytes: 30,
        result_bytes: 1_200,
        ..Node::new(record.id, CallId(n), NodeKind::Call, 1_790_000_000_000_000)
    };
    std::iter::once(root).chain((1..=CALLS).map(call)).collect()
}

fn line(record: &Record) -> TurnLine {
    TurnLine {
        turn: record.id,
        state: State::Ok,
        code: None,
        platform: Platform::Telegram,
        tenant: "default".into(),
        session: record.session.clone(),
        sender: "1234567".into(),
        asked: record.message.text().to_owned(),
        calls: CALLS,
        started_us: 1_790_000_000_000_000,
        duration_us: 60_000,
    }
}

/// What the server counts of itself.
struct Counters {
    connection: redis::aio::MultiplexedConnection,
    memory: u64,
}

impl Counters {
    async fn reset(url: &str) -> Self {
        let mut connection = redis::Client::open(url).unwrap().get_multiplexed_async_connection().await.unwrap();
        redis::cmd("CONFIG").arg("RESETSTAT").exec_async(&mut connection).await.unwrap();
        let memory = number(&info(&mut connection, "memory").await, "used_memory:");
        Self { connection, memory }
    }

    async fn print(mut self) {
        let calls = TREES as f64 * f64::from(CALLS);
        let memory = number(&info(&mut self.connection, "memory").await, "used_memory:") - self.memory;
        let stats = info(&mut self.connection, "commandstats").await;
        let each: Vec<(&str, u64)> = stats
            .lines()
            .filter_map(|line| line.strip_prefix("cmdstat_"))
            .map(|line| (line.split(':').next().unwrap(), number(&line.replace(',', "\n"), "calls=")))
            .filter(|(name, _)| !["info", "config|resetstat"].contains(name))
            .collect();
        let commands: u64 = each.iter().map(|(_, n)| n).sum();
        println!("{:.2} commands and {:.0} bytes per call: {each:?}", commands as f64 / calls, memory as f64 / calls);
    }
}

async fn info(connection: &mut redis::aio::MultiplexedConnection, section: &str) -> String {
    redis::cmd("INFO").arg(section).query_async(connection).await.unwrap()
}

/// The number after `name` in a line that holds it.
fn number(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.split_once(name)).unwrap().1;
    line.trim().parse().unwrap()
}
