//! Artefacts in Redis: chunks that expire by themselves, and one index that bounds them all.

use async_trait::async_trait;
use contract::{
    MemoryKey, StoreDown,
    records::{ARTEFACT_KEPT, ARTEFACT_MAX, ARTEFACTS_MAX, ArtefactId, Artefacts, Person},
};
use redis::cmd;

use super::Redis;
use crate::{now_ms, record::hex};

/// Bytes of one value: no command holds the server up for long.
const CHUNK: usize = 256 * 1024;
/// Members of the index that are looked through at once.
const LOOKED: usize = 1_000;

#[async_trait]
impl Artefacts for Redis {
    async fn keep(&self, place: &MemoryKey, person: &Person, body: &str) -> Result<Option<ArtefactId>, StoreDown> {
        if body.len() > ARTEFACT_MAX {
            return Ok(None);
        }
        let id = ArtefactId::of(place, person, body);
        let (now, kept) = (now_ms(), u64::try_from(ARTEFACT_KEPT.as_millis()).unwrap_or(u64::MAX));
        let member = format!("{}:{id}:{}:{}", hex(&place.hash()), hex(&person.hash()), body.len());
        // What is in the index without its chunks is nothing more than room that is not used; the other way round
        // nothing would bound it.
        let mut put = self.scripts.artefacts.prepare_invoke();
        let [index, size] = self.keys.artefacts();
        put.key(index).key(size).arg(now).arg(now + kept).arg(&member).arg(body.len()).arg(ARTEFACTS_MAX);
        let gone: Vec<String> = self.behind.script(&put).await?;
        self.drop_artefacts(&gone).await?;
        let base = self.keys.artefact(&hex(&place.hash()), &id.to_string());
        let chunks: Vec<&[u8]> = body.as_bytes().chunks(CHUNK).collect();
        for (n, chunk) in chunks.iter().enumerate() {
            self.behind.ask::<()>(cmd("SET").arg(format!("{base}:{n}")).arg(*chunk).arg("PX").arg(kept)).await?;
        }
        // Last: what is not whole is not there.
        self.behind.ask::<()>(cmd("SET").arg(&base).arg(chunks.len()).arg("PX").arg(kept)).await?;
        // The person may have been erased meanwhile.
        let [index, _] = self.keys.artefacts();
        let noted: Option<f64> = self.behind.ask(cmd("ZSCORE").arg(index).arg(&member)).await?;
        if noted.is_none() {
            self.drop_artefacts(std::slice::from_ref(&member)).await?;
            return Ok(None);
        }
        Ok(Some(id))
    }

    async fn artefact(&self, place: &MemoryKey, id: ArtefactId) -> Result<Option<String>, StoreDown> {
        let base = self.keys.artefact(&hex(&place.hash()), &id.to_string());
        let chunks: Option<usize> = self.behind.ask(cmd("GET").arg(&base)).await?;
        let Some(chunks) = chunks else { return Ok(None) };
        let mut body = Vec::new();
        for n in 0..chunks {
            let chunk: Option<Vec<u8>> = self.behind.ask(cmd("GET").arg(format!("{base}:{n}"))).await?;
            let Some(chunk) = chunk else { return Ok(None) };
            body.extend_from_slice(&chunk);
        }
        Ok(String::from_utf8(body).ok())
    }

    async fn forget_artefacts(&self, person: &Person) -> Result<u64, StoreDown> {
        let [index, size] = self.keys.artefacts();
        let pattern = format!("*:*:{}:*", hex(&person.hash()));
        let (mut cursor, mut theirs) = (0u64, Vec::new());
        loop {
            let mut scan = cmd("ZSCAN");
            scan.arg(&index).arg(cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(LOOKED);
            let (next, found): (u64, Vec<(String, f64)>) = self.behind.ask(&scan).await?;
            theirs.extend(found.into_iter().map(|(member, _)| member));
            cursor = next;
            if cursor == 0 {
                break;
            }
        }
        theirs.sort_unstable();
        theirs.dedup();
        self.drop_artefacts(&theirs).await?;
        for member in &theirs {
            let removed: bool = self.behind.ask(cmd("ZREM").arg(&index).arg(member)).await?;
            if let Some(bytes) = member.rsplit(':').next().filter(|_| removed) {
                self.behind.ask::<i64>(cmd("DECRBY").arg(&size).arg(bytes)).await?;
            }
        }
        Ok(theirs.len() as u64)
    }
}

impl Redis {
    /// The bytes of these members of the index.
    async fn drop_artefacts(&self, members: &[String]) -> Result<(), StoreDown> {
        for member in members {
            let mut parts = member.split(':');
            let (Some(place), Some(id), Some(bytes)) = (parts.next(), parts.next(), parts.next_back()) else {
                continue;
            };
            let base = self.keys.artefact(place, id);
            let chunks = bytes.parse::<usize>().unwrap_or(0).div_ceil(CHUNK);
            let mut drop = cmd("UNLINK");
            drop.arg(&base);
            (0..chunks).for_each(|n| {
                drop.arg(format!("{base}:{n}"));
            });
            self.behind.ask::<i64>(&drop).await?;
        }
        Ok(())
    }
}
