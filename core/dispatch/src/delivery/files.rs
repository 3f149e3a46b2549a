//! Files that a message brought and a reply sends again: their bytes are fetched before the reply is drawn.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use contract::{Content, DeliveryError, FileRef, Reply};
use futures_util::StreamExt;
use tokio::{sync::OwnedSemaphorePermit, time::timeout};
use tracing::debug;

use super::{Job, Stop, send::pause};
use crate::gateway::{Connected, Inner};

/// A larger file is only named.
const FILE_MAX: u64 = 8 * 1024 * 1024;
/// All files of one reply that are sent again; those beyond it are only named.
const REPLY_MAX: u64 = 16 * 1024 * 1024;
/// Replies whose files are in memory at once.
pub(super) const FETCHED_MAX: usize = 8;
/// How long a reply waits for one of their places, and for the bytes of a file.
const FETCH_DEADLINE: Duration = Duration::from_secs(30);
/// How often a platform that is not reached is asked for a file.
const TRIES_MAX: u32 = 3;

/// Puts the bytes of its files into a job's reply, where the platform does not take them by their handles; a file that
/// cannot be fetched stays a name. The place is held as long as they are in memory.
pub(super) async fn fetch(
    inner: &Inner,
    connected: &Connected,
    job: &mut Job,
) -> Result<Option<OwnedSemaphorePermit>, Stop> {
    let is_fetched = |content: &Content| match content {
        Content::File(file) => !connected.outlet.sends_by_handle(file),
        Content::Text(_)
        | Content::Plain(_)
        | Content::Code { .. }
        | Content::Notice(_)
        | Content::Attachment { .. } => false,
    };
    if !job.reply.content.iter().any(is_fetched) {
        return Ok(None);
    }
    let Ok(Ok(place)) = timeout(FETCH_DEADLINE, inner.deliveries.fetched.clone().acquire_owned()).await else {
        return Ok(None);
    };
    let (mut reply, mut left) = (Reply::clone(&job.reply), REPLY_MAX);
    for content in reply.content.iter_mut().filter(|content| is_fetched(content)) {
        let Content::File(file) = content else { continue };
        let Some(bytes) = bytes(inner, connected, file, left.min(FILE_MAX)).await? else { continue };
        left -= bytes.len() as u64;
        let media_type = file.media_type.clone().unwrap_or_else(|| "application/octet-stream".to_owned());
        *content = Content::Attachment { name: file.name.clone(), media_type, bytes };
    }
    job.reply = Arc::new(reply);
    Ok(Some(place))
}

/// The bytes of a file, unless there are more than that, none, or they are not to be had.
async fn bytes(inner: &Inner, connected: &Connected, file: &FileRef, most: u64) -> Result<Option<Vec<u8>>, Stop> {
    if file.size.is_some_and(|size| size > most) {
        return Ok(None);
    }
    for tried in 1..=TRIES_MAX {
        let wait = match timeout(FETCH_DEADLINE, read(connected, file, most)).await {
            Ok(Ok(bytes)) => return Ok(bytes.filter(|bytes| !bytes.is_empty())),
            Ok(Err(DeliveryError::Wait { until, .. })) => until.duration_since(SystemTime::now()).unwrap_or_default(),
            Ok(Err(DeliveryError::NotSent(_) | DeliveryError::Unsure(_))) => Duration::from_secs(u64::from(tried)),
            Ok(Err(DeliveryError::Refused(why))) => {
                debug!(%why, "a file is not sent again, only named");
                return Ok(None);
            }
            Err(_) => return Ok(None),
        };
        if tried == TRIES_MAX || wait > FETCH_DEADLINE {
            break;
        }
        pause(inner, wait).await?;
    }
    Ok(None)
}

/// Nothing when it is larger than that.
async fn read(connected: &Connected, file: &FileRef, most: u64) -> Result<Option<Vec<u8>>, DeliveryError> {
    let mut stream = connected.source.open(file).await?;
    let mut bytes = Vec::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|cause| DeliveryError::NotSent(cause.to_string()))?;
        if bytes.len() as u64 + chunk.len() as u64 > most {
            return Ok(None);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(Some(bytes))
}
