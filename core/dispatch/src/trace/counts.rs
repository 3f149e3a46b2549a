//! What is counted of ended calls: by the minute for statistics, and since the start for whoever scrapes them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use contract::{
    Code, Node, Place, Platform,
    records::{Measure, bucket_of},
};

/// Tenants and platforms that one tool's minute tells apart.
const APART: usize = 64;
/// Counters since the start, over tools, platforms, tenants and codes.
const SERIES: usize = 900;
/// Tools with a histogram of their own.
const TOOLS: usize = 50;
/// In place of what there is no room for.
const OTHER: &str = "other";

/// Upper bounds of the histograms, microseconds.
pub const BOUNDS_US: [u64; 13] = [
    5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 30_000_000,
    60_000_000,
];

/// For whom a turn's calls are counted and written down.
pub struct Whose {
    pub place: Place,
    tenant: Arc<str>,
}

impl Whose {
    pub fn new(place: Place) -> Self {
        let tenant = place.caller.tenant.as_str().into();
        Self { place, tenant }
    }
}

/// Calls since the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedCalls {
    pub tool: String,
    pub platform: Platform,
    pub tenant: Arc<str>,
    /// Nothing of those that succeeded.
    pub code: Option<Code>,
    pub calls: u64,
}

/// A tool since the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CountedTool {
    pub tool: String,
    pub calls: u64,
    pub attempts: u64,
    /// Calls that took no longer than each of [`BOUNDS_US`].
    pub within: [u64; BOUNDS_US.len()],
    pub sum_us: u64,
}

/// All of them, bounded.
#[derive(Debug, Clone, Default)]
pub struct Counted {
    pub calls: Vec<CountedCalls>,
    pub tools: Vec<CountedTool>,
}

#[derive(Default)]
pub(super) struct Counts(Mutex<Tables>);

type Apart = (Option<Platform>, Arc<str>);

#[derive(Default)]
struct Tables {
    /// By tool, then by minute and for whom.
    minutes: HashMap<String, HashMap<(u64, Apart), Minute>>,
    totals: HashMap<String, Total>,
    series: usize,
}

#[derive(Default)]
struct Minute {
    ok: u64,
    failed: HashMap<Code, u64>,
    buckets: HashMap<u16, u64>,
    changed: bool,
}

#[derive(Default)]
struct Total {
    calls: HashMap<(Platform, Arc<str>, Option<Code>), u64>,
    counted: CountedTool,
}

impl Counts {
    pub fn add(&self, node: &Node, whose: Option<&Whose>) {
        if !node.names_a_tool() {
            return;
        }
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tables.by_the_minute(node, whose);
        if let Some(whose) = whose {
            tables.since_the_start(node, whose);
        }
    }

    /// Absolute values of what changed; minutes that are past are forgotten once they are written.
    pub fn changed(&self, minute_now: u64) -> Vec<Measure> {
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all = tables.minutes.iter_mut().flat_map(|(tool, minutes)| minutes.iter_mut().map(move |m| (tool, m)));
        let changed = all.filter(|(_, (_, counted))| counted.changed);
        let changed = changed.map(|(tool, (key, counted))| counted.measure(tool, key)).collect();
        for minutes in tables.minutes.values_mut() {
            minutes.retain(|(minute, _), counted| counted.changed || *minute + 10 > minute_now);
        }
        tables.minutes.retain(|_, minutes| !minutes.is_empty());
        changed
    }

    /// These were not written after all.
    pub fn unwritten(&self, failed: &[Measure]) {
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for measure in failed {
            let key = (measure.minute, (measure.platform, Arc::from(measure.tenant.as_str())));
            let counted = tables.minutes.get_mut(&measure.tool).and_then(|minutes| minutes.get_mut(&key));
            if let Some(counted) = counted {
                counted.changed = true;
            }
        }
    }

    pub fn since_the_start(&self) -> Counted {
        let tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let calls = tables.totals.iter().flat_map(|(tool, total)| {
            total.calls.iter().map(|((platform, tenant, code), calls)| CountedCalls {
                tool: tool.clone(),
                platform: *platform,
                tenant: tenant.clone(),
                code: *code,
                calls: *calls,
            })
        });
        let mut calls: Vec<_> = calls.collect();
        calls.sort_by(|a, b| (&a.tool, a.platform.as_str(), &a.tenant).cmp(&(&b.tool, b.platform.as_str(), &b.tenant)));
        let tools = tables.totals.iter();
        let mut tools: Vec<_> =
            tools.map(|(tool, total)| CountedTool { tool: tool.clone(), ..total.counted.clone() }).collect();
        tools.sort_by(|a, b| a.tool.cmp(&b.tool));
        Counted { calls, tools }
    }
}

impl Tables {
    fn by_the_minute(&mut self, node: &Node, whose: Option<&Whose>) {
        let minute = node.started_us / 60_000_000;
        if !self.minutes.contains_key(&node.tool) {
            self.minutes.insert(node.tool.clone(), HashMap::new());
        }
        let Some(minutes) = self.minutes.get_mut(&node.tool) else { return };
        let apart: Apart =
            whose.map_or_else(|| (None, Arc::default()), |w| (Some(w.place.caller.platform), w.tenant.clone()));
        let mut key = (minute, apart);
        if minutes.len() >= APART && !minutes.contains_key(&key) {
            let of_minute = minutes.keys().filter(|(of, _)| *of == minute).count();
            if of_minute >= APART {
                key.1.1 = OTHER.into();
            }
        }
        let counted = minutes.entry(key).or_default();
        match node.code {
            None => counted.ok += 1,
            Some(code) => *counted.failed.entry(code).or_default() += 1,
        }
        *counted.buckets.entry(bucket_of(node.duration_us.unwrap_or(0))).or_default() += 1;
        counted.changed = true;
    }

    fn since_the_start(&mut self, node: &Node, whose: &Whose) {
        let has_room = self.totals.contains_key(&node.tool) || self.totals.len() < TOOLS;
        let tool = if has_room { node.tool.as_str() } else { OTHER };
        if !self.totals.contains_key(tool) {
            self.totals.insert(tool.to_owned(), Total::default());
        }
        let Some(total) = self.totals.get_mut(tool) else { return };
        total.counted.add(node);
        let mut key = (whose.place.caller.platform, whose.tenant.clone(), node.code);
        if !total.calls.contains_key(&key) && self.series >= SERIES {
            key.1 = OTHER.into();
        }
        let count = total.calls.entry(key).or_insert_with(|| {
            self.series += 1;
            0
        });
        *count += 1;
    }
}

impl Minute {
    fn measure(&mut self, tool: &str, (minute, (platform, tenant)): &(u64, Apart)) -> Measure {
        self.changed = false;
        Measure {
            tool: tool.to_owned(),
            platform: *platform,
            tenant: tenant.to_string(),
            minute: *minute,
            ok: self.ok,
            failed: self.failed.iter().map(|(code, n)| (*code, *n)).collect(),
            buckets: self.buckets.iter().map(|(bucket, n)| (*bucket, *n)).collect(),
        }
    }
}

impl CountedTool {
    fn add(&mut self, node: &Node) {
        let took = node.duration_us.unwrap_or(0);
        self.calls += 1;
        self.attempts += u64::from(node.attempts);
        self.sum_us = self.sum_us.saturating_add(took);
        for (within, bound) in self.within.iter_mut().zip(BOUNDS_US) {
            *within += u64::from(took <= bound);
        }
    }
}

#[cfg(test)]
mod tests {
    use contract::{CallId, Caller, NodeKind, Origin, Sender, SessionKey, TurnId};

    use super::*;

    fn whose(tenant: &str) -> Whose {
        let caller = Caller {
            platform: Platform::Slack,
            account: "main".into(),
            tenant: tenant.into(),
            space: None,
            conversation: "C1".into(),
            thread: None,
            sender: Sender { id: "U1".into(), name: String::new() },
            roles: Vec::new(),
            origin: Origin::Command,
        };
        Whose::new(Place { caller, session: SessionKey::from_text("s") })
    }

    fn node(tool: &str, code: Option<Code>) -> Node {
        let base = Node::new(TurnId::default(), CallId(1), NodeKind::Call, 60_000_000);
        let spec = Some(contract::Digest::of(b""));
        Node { tool: tool.into(), code, spec, duration_us: Some(7_000), attempts: 2, ..base }
    }

    #[test]
    fn a_call_is_counted_for_its_tenant_by_the_minute_and_since_the_start() {
        let counts = Counts::default();
        counts.add(&node("weather", None), Some(&whose("a")));
        counts.add(&node("weather", Some(Code::Timeout)), Some(&whose("b")));
        let mut measures = counts.changed(1);
        measures.sort_by(|a, b| a.tenant.cmp(&b.tenant));
        let shown: Vec<_> = measures.iter().map(|m| (m.tenant.as_str(), m.ok, m.failed.len())).collect();
        assert_eq!(shown, [("a", 1, 0), ("b", 0, 1)]);
        assert!(counts.changed(1).is_empty());
        counts.unwritten(&measures[..1]);
        assert_eq!(counts.changed(1).len(), 1);
        let all = counts.since_the_start();
        assert_eq!((all.calls.len(), all.tools[0].calls, all.tools[0].attempts), (2, 2, 4));
        assert_eq!(all.tools[0].within[..3], [0, 2, 2]);
    }

    #[test]
    fn however_many_tools_and_tenants_there_are_the_counters_are_bounded() {
        let counts = Counts::default();
        for n in 0..3_000 {
            counts.add(&node(&format!("tool{}", n % 100), None), Some(&whose(&format!("tenant {n}"))));
        }
        let all = counts.since_the_start();
        assert!(all.tools.len() <= TOOLS + 1, "{}", all.tools.len());
        assert!(all.calls.len() <= SERIES + TOOLS + 1, "{}", all.calls.len());
        assert_eq!(all.calls.iter().map(|counted| counted.calls).sum::<u64>(), 3_000);
        let minutes = counts.changed(1);
        assert!(minutes.len() <= 100 * (APART + 1));
    }
}
