//! What goes wrong in a week: a connection ends, and beside that requests are lost and events come twice.

use std::{collections::BTreeMap, time::Instant};

use contract::Platform;
use serde_json::{Value, json};

use crate::people::People;

pub(super) struct Trouble<'a> {
    people: &'a People,
    /// How many of them write directly.
    writers: usize,
    endings: Vec<Value>,
    n: usize,
    /// What was ordered, and when.
    pub(super) log: Vec<(Instant, String)>,
    /// How often connections ended in each way.
    pub(super) kinds: BTreeMap<String, usize>,
    /// Posts that were made to fail so that nobody can find out whether they took effect.
    pub(super) doubts: usize,
}

/// What takes seconds comes once in so many times,
const RARE: usize = 25;
/// and first after so many.
const RARE_FIRST: usize = 10;

impl<'a> Trouble<'a> {
    pub(super) fn new(people: &'a People, writers: usize) -> Self {
        let mut endings = people.endings();
        endings.extend(further(people.platform));
        Self { people, writers, endings, n: 0, log: Vec::new(), kinds: BTreeMap::new(), doubts: 0 }
    }

    /// The next connection ends; in words, how.
    pub(super) async fn next(&mut self) -> String {
        let n = self.n;
        self.n += 1;
        self.requests(n).await;
        let rares = (n + RARE - RARE_FIRST) / RARE;
        let ending = match n % RARE == RARE_FIRST {
            true => self.people.silence(),
            false => self.endings[(n - rares) % self.endings.len()].clone(),
        };
        self.people.fault(ending.clone()).await;
        *self.kinds.entry(words(&ending)).or_default() += 1;
        self.log.push((Instant::now(), format!("{ending} {}", posting(n))));
        format!("number {n}: {ending}")
    }

    /// What becomes of requests and events meanwhile.
    async fn requests(&mut self, n: usize) {
        let mut fault = posting(n);
        if self.people.platform == Platform::Telegram {
            // A bot cannot ask there whether a message arrived. It sends it again with a remark, but not for ever, and
            // the later tries wait minutes. Nor does it hear of a wait in an answer that is lost. So no two of these meet:
            // each person has their turn.
            self.doubts += usize::from(matches!(fault["kind"].as_str(), Some("drop" | "error")));
            fault["conversation"] = json!(format!("dm:p{}", n % self.writers));
        }
        self.people.posting_fault(fault).await;
        match n % 3 {
            0 => self.people.fault(json!({ "kind": "duplicate", "past": 4 })).await,
            1 => self.people.fault(json!({ "kind": "duplicate", "count": 2 })).await,
            _ => {}
        }
    }
}

/// What becomes of a message that is posted.
fn posting(n: usize) -> Value {
    match n % 6 {
        0 => json!({ "kind": "drop" }),
        1 => json!({ "kind": "drop", "when": "after" }),
        2 => json!({ "kind": "error", "status": 500 }),
        3 => json!({ "kind": "rate_limit", "seconds": 0.2 }),
        4 => json!({ "kind": "delay", "seconds": 0.1 }),
        _ => json!({ "kind": "error", "status": 503 }),
    }
}

/// The name of an ending.
fn words(ending: &Value) -> String {
    let fields = ending.as_object().into_iter().flatten();
    // What kind it is comes first; errors have a number.
    let rest = fields.filter(|(name, _)| !matches!(name.as_str(), "kind" | "method" | "description"));
    let mut words = vec![ending["kind"].as_str().unwrap_or_default().to_owned()];
    words.extend(rest.map(|(name, value)| match value {
        Value::String(text) => text.clone(),
        Value::Bool(_) => name.clone(),
        number => format!("{name} {number}"),
    }));
    words.join(" ")
}

/// Endings beside those that every suite has.
fn further(platform: Platform) -> Vec<Value> {
    let closed =
        |codes: &[u16]| codes.iter().map(|code| json!({ "kind": "close", "status": code })).collect::<Vec<_>>();
    match platform {
        Platform::Discord => closed(&[1000, 1006, 4001, 4002, 4003, 4005, 4007, 4008]),
        Platform::Telegram => vec![
            json!({ "kind": "conflict", "seconds": 0.2 }),
            json!({ "kind": "error", "method": "getUpdates", "status": 500, "description": "Internal Server Error" }),
            json!({ "kind": "error", "method": "getUpdates", "status": 504, "description": "Gateway Timeout" }),
            json!({ "kind": "delay", "method": "getUpdates", "seconds": 0.5 }),
        ],
        _ => {
            let mut more = closed(&[1000, 1001, 1012]);
            // New sockets are refused for a while: those that are there go, and come back after it.
            more.push(json!({ "kind": "disconnect", "reason": "too_many_websockets", "seconds": 0.1 }));
            more.push(json!({ "kind": "cut", "socket": 0 }));
            more
        }
    }
}
