//! Finding turns: an index gives ids, trees give the lines, what does not fit is left out.

use std::collections::{BTreeMap, BTreeSet};

use contract::{
    StoreDown, TurnId,
    records::{ScheduleId, TurnLine, TurnQuery},
};
use redis::cmd;

use super::{
    Redis,
    keys::{DAY_MS, HOUR_MS, SHARDS},
    trees::LINE,
};
use crate::{
    LINES_DEFAULT, now_ms,
    rows::{SCHEDULED, has_failed, is_ended_call, unpack_line, unpack_node},
};

/// Entries of an index that are read at once.
const PAGE: usize = 1_000;
/// Hours whose streams are read at once.
const HOURS: u64 = 12;

/// One entry of a stream: its id and its fields.
type Entry = (String, Vec<(String, Vec<u8>)>);

/// What fits so far, newest last.
struct Found<'a> {
    query: &'a TurnQuery,
    most: usize,
    seen: BTreeSet<TurnId>,
    lines: BTreeMap<TurnId, TurnLine>,
}

impl Found<'_> {
    fn is_enough(&self) -> bool {
        self.lines.len() >= self.most
    }

    fn fits(&self, line: &TurnLine) -> bool {
        self.query.session.as_ref().is_none_or(|session| *session == line.session)
            && (!self.query.scheduled || ScheduleId::of_session(&line.session).is_some())
            && (!self.query.failed || has_failed(line))
            && self.query.since_ms.is_none_or(|since| line.turn.at_ms() >= since)
    }
}

impl Redis {
    pub(super) async fn find_lines(&self, query: &TurnQuery) -> Result<Vec<TurnLine>, StoreDown> {
        let most = if query.most == 0 { LINES_DEFAULT } else { query.most };
        let mut found = Found { query, most, seen: BTreeSet::new(), lines: BTreeMap::new() };
        if let Some(session) = &query.session {
            let ids = self.ids_of_session(&session.hash()).await?;
            self.take_fitting(&mut found, ids, true).await?;
        } else if query.scheduled {
            self.page_days(&mut found, |day| self.keys.calls(SCHEDULED, day), true).await?;
        } else if let Some(tool) = &query.tool {
            self.page_days(&mut found, |day| self.keys.calls(tool, day), false).await?;
        } else if query.failed {
            self.page_days(&mut found, |day| self.keys.failed(day), false).await?;
        } else {
            self.page_hours(&mut found).await?;
        }
        Ok(found.lines.into_values().rev().take(most).collect())
    }

    async fn ids_of_session(&self, session: &[u8; 16]) -> Result<Vec<TurnId>, StoreDown> {
        let ids: Vec<Vec<u8>> =
            self.behind.ask(cmd("ZREVRANGE").arg(self.keys.turns_of(session)).arg(0).arg(-1)).await?;
        Ok(ids.iter().filter_map(|id| id_of(id)).collect())
    }

    /// From the newest day backwards through the pages of its stream.
    async fn page_days(
        &self,
        found: &mut Found<'_>,
        key: impl Fn(u64) -> String,
        by_tree: bool,
    ) -> Result<(), StoreDown> {
        for day in (self.oldest(found.query) / DAY_MS..=newest() / DAY_MS).rev() {
            let mut before = "+".to_owned();
            while !found.is_enough() {
                let page: Vec<Entry> = self
                    .behind
                    .ask(cmd("XREVRANGE").arg(key(day)).arg(&before).arg("-").arg("COUNT").arg(PAGE))
                    .await?;
                let Some((last, _)) = page.last() else { break };
                before = format!("({last}");
                let ids = ids_in(&page);
                self.take_fitting(found, ids, by_tree).await?;
                if page.len() < PAGE {
                    break;
                }
            }
        }
        Ok(())
    }

    /// From the newest hours backwards; the shards of an hour are merged by id.
    async fn page_hours(&self, found: &mut Found<'_>) -> Result<(), StoreDown> {
        let (oldest, mut end) = (self.oldest(found.query) / HOUR_MS, newest() / HOUR_MS + 1);
        // Repeats take places, and what ended last need not have begun last.
        let count = found.most.saturating_mul(2).saturating_add(16);
        while end > oldest && !found.is_enough() {
            let start = end.saturating_sub(HOURS).max(oldest);
            let mut pipe = redis::pipe();
            for hour in start..end {
                for shard in 0..SHARDS {
                    pipe.cmd("XREVRANGE").arg(self.keys.turns(hour, shard)).arg("+").arg("-").arg("COUNT").arg(count);
                }
            }
            let pages: Vec<Vec<Entry>> = self.behind.pipe(&pipe).await?;
            let mut ids: Vec<_> = pages.iter().flat_map(|page| ids_in(page)).collect();
            ids.sort_unstable_by(|a, b| b.cmp(a));
            self.take_fitting(found, ids, false).await?;
            end = start;
        }
        Ok(())
    }

    /// Adds the lines of those that fit, until there are enough.
    async fn take_fitting(&self, found: &mut Found<'_>, mut ids: Vec<TurnId>, by_tree: bool) -> Result<(), StoreDown> {
        ids.retain(|id| found.seen.insert(*id));
        for ids in ids.chunks(PAGE) {
            if found.is_enough() {
                break;
            }
            let mut pipe = redis::pipe();
            for id in ids {
                pipe.cmd("HGET").arg(self.keys.tree(*id)).arg(LINE);
            }
            let lines: Vec<Option<Vec<u8>>> = self.behind.pipe(&pipe).await?;
            let lines = ids.iter().zip(lines).filter_map(|(id, line)| crate::readable(unpack_line(*id, &line?)));
            for line in lines.filter(|line| found.fits(line)).collect::<Vec<_>>() {
                let fits = match (&found.query.tool, by_tree) {
                    (Some(tool), true) => self.uses(line.turn, tool).await?,
                    _ => true,
                };
                if fits {
                    found.lines.insert(line.turn, line);
                }
            }
        }
        Ok(())
    }

    async fn uses(&self, turn: TurnId, tool: &str) -> Result<bool, StoreDown> {
        let nodes: Vec<(String, Vec<u8>)> = self.behind.ask(cmd("HGETALL").arg(self.keys.tree(turn))).await?;
        let mut nodes = nodes.iter().filter(|(name, _)| name != LINE);
        Ok(nodes.any(|(_, node)| unpack_node(turn, node).is_ok_and(|node| is_ended_call(&node) && node.tool == tool)))
    }

    /// Nothing older is kept.
    fn oldest(&self, query: &TurnQuery) -> u64 {
        let keep = u64::try_from(self.options.keep.traces.as_millis()).unwrap_or(u64::MAX);
        now_ms().saturating_sub(keep).max(query.since_ms.unwrap_or(0))
    }
}

/// A little ahead, for clocks that are.
fn newest() -> u64 {
    now_ms() + HOUR_MS / 4
}

fn ids_in(page: &[Entry]) -> Vec<TurnId> {
    let id = |(_, fields): &Entry| fields.iter().find(|(name, _)| name == "c").and_then(|(_, id)| id_of(id));
    page.iter().filter_map(id).collect()
}

/// An entry begins with the turn.
fn id_of(bytes: &[u8]) -> Option<TurnId> {
    Some(TurnId(ulid::Ulid::from_bytes(bytes.get(..16)?.try_into().ok()?)))
}
