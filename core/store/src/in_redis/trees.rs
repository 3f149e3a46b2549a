//! Call trees and measures in Redis, written behind in batches.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use contract::{
    Code, Node, State, StoreDown, TurnId,
    records::{Measure, ScheduleId, Trees, TurnLine, TurnQuery},
};
use redis::{Pipeline, cmd};

use super::{
    Redis,
    keys::{HOUR_MS, Keys, day, hour, shard},
    turns::seconds,
};
use crate::{
    now_ms,
    rows::{SCHEDULED, counted_for, has_failed, is_ended_call, measured_by, pack_line, pack_node, unpack_node},
};

/// Entries of an index, about.
const INDEX_MAX: usize = 100_000;
/// Turns that a session's index lists.
const SESSION_MAX: i64 = 1_000;
/// The field of a tree that holds the turn's line; nodes are named by numbers.
pub const LINE: &str = "t";
/// Hashes that are read at once.
const CHUNK: usize = 512;

#[async_trait]
impl Trees for Redis {
    async fn write(&self, nodes: &[Arc<Node>], ended: &[TurnLine]) -> Result<(), StoreDown> {
        let batch = Batch::new(&self.keys, self.options.keep.traces);
        let pipe = batch.of(nodes, ended)?;
        self.behind.pipe(&pipe).await
    }

    async fn tree(&self, turn: TurnId) -> Result<Vec<Node>, StoreDown> {
        let fields: Vec<(String, Vec<u8>)> = self.behind.ask(cmd("HGETALL").arg(self.keys.tree(turn))).await?;
        let nodes = fields.iter().filter(|(name, _)| name != LINE);
        Ok(nodes.filter_map(|(_, node)| crate::readable(unpack_node(turn, node))).collect())
    }

    async fn turns(&self, query: &TurnQuery) -> Result<Vec<TurnLine>, StoreDown> {
        self.find_lines(query).await
    }

    async fn measure(&self, boot: &str, measures: &[Measure]) -> Result<(), StoreDown> {
        let mut pipe = redis::pipe();
        let keep = seconds(self.options.keep.traces);
        for measure in measures {
            let key = self.keys.measure(&measure.tool, measure.minute);
            let by = measured_by(boot, measure);
            pipe.cmd("HSET").arg(&key).arg(format!("{by}:ok")).arg(measure.ok);
            for (code, n) in &measure.failed {
                pipe.arg(format!("{by}:c:{code}")).arg(*n);
            }
            for (bucket, n) in &measure.buckets {
                pipe.arg(format!("{by}:b:{bucket}")).arg(*n);
            }
            pipe.ignore();
            pipe.cmd("EXPIRE").arg(key).arg(keep).ignore();
            let measured = self.keys.measured(measure.minute / 60);
            pipe.cmd("SADD").arg(&measured).arg(format!("{}:{}", measure.minute, measure.tool)).ignore();
            pipe.cmd("EXPIRE").arg(measured).arg(keep).ignore();
        }
        self.behind.pipe(&pipe).await
    }

    async fn measures(&self, since_ms: u64) -> Result<Vec<Measure>, StoreDown> {
        let since = since_ms.max(now_ms().saturating_sub(millis(self.options.keep.traces)));
        let minutes = self.measured_since(since).await?;
        let mut found = Vec::new();
        for minutes in minutes.chunks(CHUNK) {
            let mut pipe = redis::pipe();
            for (minute, tool) in minutes {
                pipe.cmd("HGETALL").arg(self.keys.measure(tool, *minute));
            }
            let all: Vec<Vec<(String, u64)>> = self.behind.pipe(&pipe).await?;
            for ((minute, tool), fields) in minutes.iter().zip(all) {
                found.extend(measures_of(tool, *minute, &fields));
            }
        }
        Ok(found)
    }
}

impl Redis {
    async fn measured_since(&self, since_ms: u64) -> Result<Vec<(u64, String)>, StoreDown> {
        let mut pipe = redis::pipe();
        // One hour more, for clocks that are ahead.
        for hour in since_ms / HOUR_MS..=now_ms() / HOUR_MS + 1 {
            pipe.cmd("SMEMBERS").arg(self.keys.measured(hour));
        }
        let hours: Vec<Vec<String>> = self.behind.pipe(&pipe).await?;
        let parse = |text: String| {
            let (minute, tool) = text.split_once(':')?;
            Some((minute.parse().ok()?, tool.to_owned()))
        };
        let minutes = hours.into_iter().flatten().filter_map(parse);
        Ok(minutes.filter(|(minute, _)| *minute >= since_ms / 60_000).collect())
    }
}

/// One measure for each life, platform and tenant.
fn measures_of(tool: &str, minute: u64, fields: &[(String, u64)]) -> Vec<Measure> {
    let mut measures = BTreeMap::<&str, Measure>::new();
    for (name, n) in fields {
        let mut words = name.rsplitn(3, ':');
        let (last, kind) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        // A tenant may have colons too, so only a count of successes ends with its word alone.
        let by = match last {
            "ok" => name.strip_suffix(":ok").unwrap_or_default(),
            _ => words.next().unwrap_or_default(),
        };
        let measure = measures.entry(by).or_insert_with(|| {
            let (platform, tenant) = counted_for(by);
            Measure { tool: tool.to_owned(), minute, platform, tenant, ..Measure::default() }
        });
        match (last, kind) {
            ("ok", _) => measure.ok += n,
            (code, "c") => {
                let code = Code::ALL.iter().find(|known| known.as_str() == code);
                measure.failed.extend(code.map(|code| (*code, *n)));
            }
            (bucket, "b") => measure.buckets.extend(bucket.parse().ok().map(|bucket| (bucket, *n))),
            _ => {}
        }
    }
    measures.into_values().collect()
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The commands of one batch. Repeats collapse: hashes by name, streams when they are read.
struct Batch<'a> {
    keys: &'a Keys,
    pipe: Pipeline,
    keep: u64,
    /// Each expires once per batch, however much was put there.
    touched: BTreeSet<String>,
}

impl<'a> Batch<'a> {
    fn new(keys: &'a Keys, keep: Duration) -> Self {
        Self { keys, pipe: redis::pipe(), keep: seconds(keep), touched: BTreeSet::new() }
    }

    fn of(mut self, nodes: &[Arc<Node>], ended: &[TurnLine]) -> Result<Pipeline, StoreDown> {
        let mut trees = BTreeMap::<TurnId, Vec<(String, Vec<u8>)>>::new();
        for node in nodes {
            match node.state {
                State::Running => self.start(node)?,
                _ => trees.entry(node.turn).or_default().push((node.call.0.to_string(), pack_node(node)?)),
            }
        }
        for line in ended {
            trees.entry(line.turn).or_default().push((LINE.to_owned(), pack_line(line)?));
        }
        for (turn, fields) in trees {
            self.tree(turn, &fields);
        }
        nodes.iter().for_each(|node| self.index_call(node));
        ended.iter().for_each(|line| self.index_turn(line));
        for key in std::mem::take(&mut self.touched) {
            self.pipe.cmd("EXPIRE").arg(key).arg(self.keep).ignore();
        }
        Ok(self.pipe)
    }

    /// A start that comes late does not hide the end.
    fn start(&mut self, node: &Node) -> Result<(), StoreDown> {
        let key = self.keys.tree(node.turn);
        self.pipe.cmd("HSETNX").arg(&key).arg(node.call.0).arg(pack_node(node)?).ignore();
        self.touched.insert(key);
        Ok(())
    }

    fn tree(&mut self, turn: TurnId, fields: &[(String, Vec<u8>)]) {
        let key = self.keys.tree(turn);
        self.pipe.cmd("HSET").arg(&key);
        for (name, value) in fields {
            self.pipe.arg(name).arg(value.as_slice());
        }
        self.pipe.ignore();
        self.touched.insert(key);
    }

    fn index_call(&mut self, node: &Node) {
        if !is_ended_call(node) {
            return;
        }
        let id = entry_id(node.turn, node.call.0);
        self.add(self.keys.calls(&node.tool, day(node.turn)), &[("c", &id)]);
        if let Some(code) = node.code {
            self.add_failed(node.turn, &id, code, &node.tool);
        }
    }

    fn index_turn(&mut self, line: &TurnLine) {
        let id = line.turn.0.to_bytes();
        self.add(
            self.keys.turns(hour(line.turn), shard(line.turn)),
            &[("c", &id), ("state", line.state.as_str().as_bytes())],
        );
        if ScheduleId::of_session(&line.session).is_some() {
            self.add(self.keys.calls(SCHEDULED, day(line.turn)), &[("c", &entry_id(line.turn, 0))]);
        }
        if has_failed(line) {
            self.add_failed(line.turn, &entry_id(line.turn, 0), line.code.unwrap_or(Code::Internal), "");
        }
        let key = self.keys.turns_of(&line.session.hash());
        self.pipe.cmd("ZADD").arg(&key).arg(line.turn.at_ms()).arg(&id).ignore();
        self.pipe.cmd("ZREMRANGEBYRANK").arg(&key).arg(0).arg(-SESSION_MAX - 1).ignore();
        self.touched.insert(key);
    }

    fn add_failed(&mut self, turn: TurnId, id: &[u8], code: Code, tool: &str) {
        let (layer, code) = (code.layer().as_str().as_bytes(), code.as_str().as_bytes());
        self.add(
            self.keys.failed(day(turn)),
            &[("c", id), ("layer", layer), ("code", code), ("tool", tool.as_bytes())],
        );
    }

    fn add(&mut self, key: String, fields: &[(&str, &[u8])]) {
        self.pipe.cmd("XADD").arg(&key).arg("MAXLEN").arg("~").arg(INDEX_MAX).arg("*");
        for (name, value) in fields {
            self.pipe.arg(*name).arg(*value);
        }
        self.pipe.ignore();
        self.touched.insert(key);
    }
}

/// Turn and call in twenty bytes.
fn entry_id(turn: TurnId, call: u32) -> [u8; 20] {
    let mut id = [0; 20];
    id[..16].copy_from_slice(&turn.0.to_bytes());
    id[16..].copy_from_slice(&call.to_be_bytes());
    id
}
