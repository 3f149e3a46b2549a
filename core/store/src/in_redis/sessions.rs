//! What sessions remember in Redis: everything of a place is on the slot of its lane.

use async_trait::async_trait;
use contract::{
    Digest, MemoryKey, StoreDown, TurnId,
    ids::PARTITIONS,
    records::{
        ALLOWED_MAX, ITEMS_MAX, Item, Remembered, Retained, Retention, SESSIONS_MAX, SWITCHES_MAX, Session,
        SessionChange, SessionId, SessionQuery, Sessions, Visit,
    },
};
use redis::{ScriptInvocation, cmd};

use super::{Redis, turns::seconds};
use crate::{
    LINES_DEFAULT, now_ms,
    pack::{pack, unpack},
    record::hex,
    session::{Head, Put, read_items},
};

/// Sessions that are read at once.
const CHUNK: usize = 128;
/// Of each partition the newest that a list looks through.
const LOOKED_THROUGH: isize = 2_000;

/// A hash as it is read, and the list of what is allowed.
type Fields = (Vec<(String, Vec<u8>)>, Vec<Vec<u8>>);

#[async_trait]
impl Sessions for Redis {
    async fn current(&self, visit: &Visit) -> Result<Option<Session>, StoreDown> {
        let found = self.verb("current", &visit.place, |script| {
            script.arg(visit.turn.to_string());
        });
        let (id, fields, allowed): (String, Vec<(String, Vec<u8>)>, Vec<Vec<u8>>) = found.await?;
        match id.parse() {
            Ok(id) => session(id, (fields, allowed)),
            Err(_) => Ok(None),
        }
    }

    async fn open(&self, visit: &Visit) -> Result<Session, StoreDown> {
        self.made("open", visit).await
    }

    async fn begin(&self, visit: &Visit) -> Result<Session, StoreDown> {
        self.made("begin", visit).await
    }

    async fn resume(&self, visit: &Visit, id: SessionId) -> Result<Option<Session>, StoreDown> {
        let Some(session) = self.session_in(visit.place.partition(), id).await? else { return Ok(None) };
        if session.place != visit.place || session.owner != visit.person {
            return Ok(None);
        }
        let switched = self.verb::<String>("resume", &visit.place, |script| {
            script.arg(visit.turn.to_string()).arg(id.to_string());
        });
        switched.await?;
        Ok(Some(session))
    }

    async fn get(&self, id: SessionId) -> Result<Option<Session>, StoreDown> {
        let mut pipe = redis::pipe();
        for partition in 0..PARTITIONS {
            pipe.cmd("EXISTS").arg(self.keys.session(partition, id));
        }
        let there: Vec<bool> = self.link.pipe(&pipe).await?;
        match (0..PARTITIONS).zip(there).find_map(|(partition, there)| there.then_some(partition)) {
            Some(partition) => self.session_in(partition, id).await,
            None => Ok(None),
        }
    }

    async fn list(&self, query: &SessionQuery) -> Result<Vec<Session>, StoreDown> {
        let most = if query.most == 0 { LINES_DEFAULT } else { query.most };
        let ids = match &query.place {
            Some(place) => self.ids_in(place).await?,
            None => self.ids_by_use().await?,
        };
        let mut found = Vec::new();
        for ids in ids.chunks(CHUNK) {
            let sessions = self.sessions_in(ids).await?;
            found.extend(sessions.into_iter().filter(|session| query.fits(session)));
            if found.len() >= most {
                break;
            }
        }
        found.truncate(most);
        Ok(found)
    }

    async fn change(&self, session: &Session, change: &SessionChange) -> Result<bool, StoreDown> {
        let id = session.id.to_string();
        let made: String = match change {
            SessionChange::Mount(mounted) => {
                let names = mounted.as_ref().map(pack).transpose()?.unwrap_or_default();
                self.verb("mount", &session.place, |script| {
                    script.arg(id).arg(names);
                })
                .await?
            }
            SessionChange::Allow(digest) => {
                self.verb("allow", &session.place, |script| {
                    script.arg(id).arg(&digest.0).arg(ALLOWED_MAX);
                })
                .await?
            }
            SessionChange::Summary { text, to } => {
                let read = session.summarised_to.map(|to| to.to_string()).unwrap_or_default();
                self.verb("summary", &session.place, |script| {
                    script.arg(id).arg(text).arg(to.to_string()).arg(read).arg(session.began_ms.to_string());
                })
                .await?
            }
        };
        Ok(made == "1")
    }

    async fn items(&self, session: &Session, after: Option<TurnId>, most: usize) -> Result<Vec<Item>, StoreDown> {
        if most == 0 {
            return Ok(Vec::new());
        }
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let key = self.keys.items(session.place.partition(), session.id);
        let packed: Vec<Vec<u8>> = self.link.ask(cmd("LRANGE").arg(key).arg(-most).arg(-1)).await?;
        let mut items = read_items(&packed);
        items.retain(|item| after.is_none_or(|after| item.turn > after));
        Ok(items)
    }

    async fn remember(&self, what: &Remembered) -> Result<(), StoreDown> {
        let put = Put::of(what)?;
        let done = self.verb::<String>("remember", &what.visit.place, |script| {
            let Put { turn, head, tenant, owner, title, item, .. } = put;
            script.arg(turn.to_string()).arg(head).arg(tenant).arg(hex(&owner)).arg(title).arg(item);
        });
        done.await.map(drop)
    }

    async fn erase(&self, session: &Session) -> Result<bool, StoreDown> {
        let erased = self.verb::<String>("erase", &session.place, |script| {
            script.arg(session.id.to_string());
        });
        Ok(erased.await? != "0")
    }

    async fn retain(&self, retention: &Retention) -> Result<u64, StoreDown> {
        let mut erased = 0;
        for partition in 0..PARTITIONS {
            for retained in &retention.0 {
                erased += self.erase_old(partition, retained).await?;
            }
        }
        Ok(erased)
    }
}

impl Redis {
    /// What the script of sessions makes of a verb.
    pub fn verb<T: redis::FromRedisValue>(
        &self,
        verb: &str,
        place: &MemoryKey,
        args: impl FnOnce(&mut ScriptInvocation<'_>),
    ) -> impl Future<Output = Result<T, StoreDown>> {
        let partition = place.partition();
        let mut script = self.scripts.session.prepare_invoke();
        script
            .key(self.keys.place(partition, &place.hash()))
            .arg(verb)
            .arg(self.keys.base(partition))
            .arg(hex(&place.hash()))
            .arg(self.session_limits());
        args(&mut script);
        async move { self.link.script(&script).await }
    }

    /// How long sessions are kept, most items of one, most sessions of a place, and switches that it remembers.
    pub fn session_limits(&self) -> String {
        format!("{} {ITEMS_MAX} {SESSIONS_MAX} {SWITCHES_MAX}", seconds(self.options.keep.sessions))
    }

    async fn made(&self, verb: &str, visit: &Visit) -> Result<Session, StoreDown> {
        let put = Put::visit(visit)?;
        let id = self.verb::<String>(verb, &visit.place, |script| {
            script.arg(put.turn.to_string()).arg(put.head).arg(put.tenant);
        });
        let gone = || StoreDown("a session that was just made is gone".to_owned());
        let id = id.await?.parse().map_err(|_| gone())?;
        self.session_in(visit.place.partition(), id).await?.ok_or_else(gone)
    }

    async fn session_in(&self, partition: u8, id: SessionId) -> Result<Option<Session>, StoreDown> {
        Ok(self.sessions_in(&[(partition, id)]).await?.pop())
    }

    /// Those that are there, in the order in which they were asked for.
    pub async fn sessions_in(&self, ids: &[(u8, SessionId)]) -> Result<Vec<Session>, StoreDown> {
        let mut pipe = redis::pipe();
        for (partition, id) in ids {
            pipe.cmd("HGETALL").arg(self.keys.session(*partition, *id));
            pipe.cmd("LRANGE").arg(self.keys.allowed(*partition, *id)).arg(0).arg(-1);
        }
        let answers: Vec<redis::Value> = self.link.pipe(&pipe).await?;
        let mut sessions = Vec::with_capacity(ids.len());
        for ((_, id), answer) in ids.iter().zip(answers.chunks_exact(2)) {
            let read = |error: redis::ParsingError| StoreDown(format!("redis: {error}"));
            let fields: Fields = (
                redis::from_redis_value_ref(&answer[0]).map_err(read)?,
                redis::from_redis_value_ref(&answer[1]).map_err(read)?,
            );
            sessions.extend(session(*id, fields)?);
        }
        Ok(sessions)
    }

    async fn ids_in(&self, place: &MemoryKey) -> Result<Vec<(u8, SessionId)>, StoreDown> {
        let partition = place.partition();
        let key = self.keys.placed(partition, &place.hash());
        let ids: Vec<String> = self.link.ask(cmd("ZREVRANGE").arg(key).arg(0).arg(-1)).await?;
        Ok(ids.iter().filter_map(|id| Some((partition, id.parse().ok()?))).collect())
    }

    /// Of all places, newest use first.
    async fn ids_by_use(&self) -> Result<Vec<(u8, SessionId)>, StoreDown> {
        let mut pipe = redis::pipe();
        for partition in 0..PARTITIONS {
            pipe.cmd("ZREVRANGE").arg(self.keys.sessions(partition)).arg(0).arg(LOOKED_THROUGH - 1).arg("WITHSCORES");
        }
        let partitions: Vec<Vec<(String, f64)>> = self.behind.pipe(&pipe).await?;
        let mut ids: Vec<(f64, u8, SessionId)> = Vec::new();
        for (partition, found) in (0..PARTITIONS).zip(partitions) {
            ids.extend(found.iter().filter_map(|(id, used)| Some((*used, partition, id.parse().ok()?))));
        }
        ids.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.2.cmp(&a.2)));
        Ok(ids.into_iter().map(|(_, partition, id)| (partition, id)).collect())
    }

    /// All sessions of a partition that were used last before then.
    pub async fn ids_before(&self, partition: u8, before_ms: u64) -> Result<Vec<(u8, SessionId)>, StoreDown> {
        let key = self.keys.sessions(partition);
        let ids: Vec<String> =
            self.behind.ask(cmd("ZRANGEBYSCORE").arg(key).arg("-inf").arg(format!("({before_ms}"))).await?;
        Ok(ids.iter().filter_map(|id| Some((partition, id.parse().ok()?))).collect())
    }

    async fn erase_old(&self, partition: u8, retained: &Retained) -> Result<u64, StoreDown> {
        let before_ms = now_ms().saturating_sub(u64::try_from(retained.keep.as_millis()).unwrap_or(u64::MAX));
        let mut erased = 0;
        for ids in self.ids_before(partition, before_ms).await?.chunks(CHUNK) {
            for session in self.sessions_in(ids).await? {
                if retained.concerns(&session) && session.used_ms < before_ms && self.erase(&session).await? {
                    erased += 1;
                }
            }
        }
        Ok(erased)
    }
}

/// Nothing when there is no such hash.
fn session(id: SessionId, (fields, allowed): Fields) -> Result<Option<Session>, StoreDown> {
    let Some((_, head)) = fields.iter().find(|(name, _)| name == "h") else { return Ok(None) };
    let mut session = Head::unpack(head)?.into_session(id);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    for (name, value) in &fields {
        match name.as_str() {
            "b" => session.began_ms = text(value).parse().unwrap_or(0),
            "u" => session.used_ms = text(value).parse().unwrap_or(0),
            "t" => session.turns = text(value).parse().unwrap_or(0),
            "i" => session.title = text(value),
            "s" => session.summary = Some(text(value)),
            "z" => session.summarised_to = text(value).parse().ok(),
            "m" => session.mounted = Some(unpack("list of mounted tools", value)?),
            _ => {}
        }
    }
    session.allowed = allowed.iter().filter_map(|bytes| Some(Digest(bytes.as_slice().try_into().ok()?))).collect();
    Ok(Some(session))
}
