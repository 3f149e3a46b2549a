//! What is kept of people in Redis, and its erasure.

use async_trait::async_trait;
use contract::{
    StoreDown, TurnId,
    ids::PARTITIONS,
    records::{Artefacts as _, Erased, FACTS_MAX, Fact, Item, Kept, People, Person, Session, Sessions as _},
};
use redis::cmd;

use super::{Redis, trees::LINE};
use crate::{
    pack::{pack, unpack},
    record::{HEAD, hex},
    rows::{unpack_line, unpack_node},
    session::{Belongs, KeptFact, free_number, nothing_noted, without_sender},
};

/// Keys that are looked through at once.
const CHUNK: usize = 256;
/// The state of a record whose turn has ended, as it is stored.
pub(super) const DONE: &str = "5";

/// The root of a tree and the line of its turn, as they are stored.
type RootAndLine = (Option<Vec<u8>>, Option<Vec<u8>>);

#[async_trait]
impl People for Redis {
    async fn facts(&self, person: &Person) -> Result<Vec<Fact>, StoreDown> {
        let all = self.all_facts(person).await?;
        Ok(all.into_iter().filter(|(_, fact)| fact.space == person.space).map(told).collect())
    }

    async fn keep(&self, person: &Person, fact: &str) -> Result<Kept, StoreDown> {
        let new = KeptFact { space: person.space.clone(), text: fact.to_owned() };
        let packed = pack(&new)?;
        // Another may take the same number at the same time.
        for _ in 0..FACTS_MAX {
            let all = self.all_facts(person).await?;
            if let Some((n, _)) = all.iter().find(|(_, known)| *known == new) {
                return Ok(Kept::As(*n));
            }
            if all.len() >= FACTS_MAX {
                return Ok(Kept::Full);
            }
            let n = free_number(&all);
            let key = self.keys.facts(&person.hash());
            if self.link.ask(cmd("HSETNX").arg(key).arg(n).arg(packed.as_slice())).await? {
                return Ok(Kept::As(n));
            }
        }
        Ok(Kept::Full)
    }

    async fn drop_fact(&self, person: &Person, n: u32) -> Result<bool, StoreDown> {
        if !self.facts(person).await?.iter().any(|fact| fact.n == n) {
            return Ok(false);
        }
        self.link.ask(cmd("HDEL").arg(self.keys.facts(&person.hash())).arg(n)).await
    }

    async fn forget(&self, person: &Person) -> Result<Erased, StoreDown> {
        // First: one that is due meanwhile would leave something of theirs behind what was looked through.
        let schedules = self.forget_schedules(person).await?;
        let mut erased = Erased { schedules, ..Erased::default() };
        for partition in 0..PARTITIONS {
            self.forget_sessions(partition, person, &mut erased).await?;
        }
        let facts = self.keys.facts(&person.hash());
        let mut pipe = redis::pipe();
        pipe.cmd("HLEN").arg(&facts).cmd("DEL").arg(&facts).ignore();
        (erased.facts,) = self.link.pipe(&pipe).await?;
        self.forget_trees(person, &mut erased).await?;
        self.forget_records(person, &mut erased).await?;
        erased.approvals = self.without_approvals(person).await?;
        erased.artefacts = self.forget_artefacts(person).await?;
        Ok(erased)
    }
}

fn told((n, fact): (u32, KeptFact)) -> Fact {
    Fact { n, text: fact.text }
}

impl Redis {
    /// In all spaces, by number.
    async fn all_facts(&self, person: &Person) -> Result<Vec<(u32, KeptFact)>, StoreDown> {
        let packed: Vec<(u32, Vec<u8>)> = self.link.ask(cmd("HGETALL").arg(self.keys.facts(&person.hash()))).await?;
        let read = |(n, fact): (u32, Vec<u8>)| Some((n, crate::readable(unpack("fact", &fact))?));
        let mut facts: Vec<_> = packed.into_iter().filter_map(read).collect();
        facts.sort_unstable_by_key(|(n, _)| *n);
        Ok(facts)
    }

    async fn forget_sessions(&self, partition: u8, person: &Person, erased: &mut Erased) -> Result<(), StoreDown> {
        let (who, hash) = (format!("w:{}", hex(&person.hash())), person.hash());
        for ids in self.ids_before(partition, u64::MAX).await?.chunks(CHUNK) {
            let mut pipe = redis::pipe();
            for (partition, id) in ids {
                pipe.cmd("HKEYS").arg(self.keys.session(*partition, *id));
            }
            let names: Vec<Vec<String>> = self.behind.pipe(&pipe).await?;
            let speakers = |names: &[String], others: bool| {
                names.iter().any(|name| name.starts_with("w:") && (*name == who) != others)
            };
            for session in self.sessions_in(ids).await? {
                let at = ids.iter().position(|(_, id)| *id == session.id).unwrap_or_default();
                let (spoke, shared) = (speakers(&names[at], false), speakers(&names[at], true));
                match (spoke, session.owner.hash() == hash, shared) {
                    (false, false, _) => {}
                    (_, _, false) => erased.sessions += u64::from(self.erase(&session).await?),
                    (_, _, true) => erased.items += self.take_out(&session, person, &who).await?,
                }
            }
        }
        Ok(())
    }

    /// Takes what a person said out of a session that others share.
    async fn take_out(&self, session: &Session, person: &Person, who: &str) -> Result<u64, StoreDown> {
        let partition = session.place.partition();
        let items = self.keys.items(partition, session.id);
        let packed: Vec<Vec<u8>> = self.link.ask(cmd("LRANGE").arg(&items).arg(0).arg(-1)).await?;
        let theirs = packed
            .iter()
            .filter(|item| unpack::<Item>("item of a session", item).is_ok_and(|item| item.sender == person.sender));
        let mut pipe = redis::pipe();
        let mut taken = 0;
        for item in theirs {
            pipe.cmd("LREM").arg(&items).arg(1).arg(item.as_slice()).ignore();
            taken += 1;
        }
        let () = self.link.pipe(&pipe).await?;
        // Last, for a summary may be written of what is taken out; and whoever spoke is known until all is done.
        let is_owner = session.owner.hash() == person.hash();
        let head = if is_owner { without_sender(session)? } else { Vec::new() };
        let forgotten = self.verb::<String>("forget", &session.place, |script| {
            script.arg(session.id.to_string()).arg(who).arg(nothing_noted().to_string()).arg(head);
        });
        forgotten.await?;
        Ok(taken)
    }

    async fn forget_trees(&self, person: &Person, erased: &mut Erased) -> Result<(), StoreDown> {
        let mut cursor = 0;
        loop {
            let (next, keys) = self.scan(cursor, &self.keys.trees()).await?;
            let mut pipe = redis::pipe();
            for key in &keys {
                pipe.cmd("HMGET").arg(key).arg("0").arg(LINE);
            }
            let found: Vec<RootAndLine> = self.behind.pipe(&pipe).await?;
            for (key, (root, line)) in keys.iter().zip(found) {
                let Some(turn) = turn_of(key) else { continue };
                let root = root.and_then(|root| unpack_node(turn, &root).ok());
                let line = line.and_then(|line| unpack_line(turn, &line).ok());
                if !person.asked(root.as_ref(), line.as_ref()) {
                    continue;
                }
                let mut pipe = redis::pipe();
                pipe.cmd("DEL").arg(key).ignore();
                if let Some(line) = &line {
                    let index = self.keys.turns_of(&line.session.hash());
                    pipe.cmd("ZREM").arg(index).arg(&turn.0.to_bytes()).ignore();
                }
                let () = self.behind.pipe(&pipe).await?;
                erased.trees += 1;
            }
            cursor = next;
            if cursor == 0 {
                return Ok(());
            }
        }
    }

    async fn forget_records(&self, person: &Person, erased: &mut Erased) -> Result<(), StoreDown> {
        let mut cursor = 0;
        loop {
            let (next, keys) = self.scan(cursor, &self.keys.records()).await?;
            let mut pipe = redis::pipe();
            for key in &keys {
                pipe.cmd("HMGET").arg(key).arg("s").arg(HEAD);
            }
            let found: Vec<(Option<String>, Option<Vec<u8>>)> = self.behind.pipe(&pipe).await?;
            for (key, (state, head)) in keys.iter().zip(found) {
                let Some(blank) = head.and_then(|head| crate::record::blanked(&head, person)) else { continue };
                if state.as_deref() != Some(DONE) {
                    erased.open += 1;
                    continue;
                }
                let mut pipe = redis::pipe();
                pipe.cmd("HKEYS").arg(key);
                let (names,): (Vec<String>,) = self.behind.pipe(&pipe).await?;
                let mut pipe = redis::pipe();
                for name in names.iter().filter(|name| crate::record::is_body(name)) {
                    pipe.cmd("HDEL").arg(key).arg(name).ignore();
                }
                pipe.cmd("HSET").arg(key).arg(HEAD).arg(blank).ignore();
                let () = self.behind.pipe(&pipe).await?;
                erased.records += 1;
            }
            cursor = next;
            if cursor == 0 {
                return Ok(());
            }
        }
    }

    pub(super) async fn scan(&self, cursor: u64, pattern: &str) -> Result<(u64, Vec<String>), StoreDown> {
        self.behind.ask(cmd("SCAN").arg(cursor).arg("MATCH").arg(pattern).arg("COUNT").arg(CHUNK)).await
    }
}

/// The turn that the key of a tree names.
fn turn_of(key: &str) -> Option<TurnId> {
    key.rsplit_once('{')?.1.trim_end_matches('}').parse().ok()
}
