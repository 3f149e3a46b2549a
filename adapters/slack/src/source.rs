//! What the core asks back: a file's bytes, a person's roles.

use std::{io, time::SystemTime};

use axum::http::{StatusCode, header};
use contract::{Caller, DeliveryError, FileRef, Scope, Source, Why, capped, seams::ByteStream};
use futures_util::StreamExt;

use crate::{
    Slack,
    api::Problem,
    inbound::{BY_ID, BY_URL, text},
    refusal,
};

/// No file is read beyond this.
const LARGEST: u64 = 100 * 1024 * 1024;

#[async_trait::async_trait]
impl Source for Slack {
    async fn open(&self, file: &FileRef) -> Result<ByteStream, DeliveryError> {
        if file.size.is_some_and(|size| size > LARGEST) {
            return Err(too_large());
        }
        let handle = file.handle.reveal();
        let url = match (handle.strip_prefix(BY_URL), handle.strip_prefix(BY_ID)) {
            (Some(url), _) => url.to_owned(),
            (None, Some(id)) => self.address_of(id).await?,
            (None, None) => return Err(DeliveryError::Refused(Why::Unsupported)),
        };
        let answer = self.api.fetch(&url).await.map_err(refused)?;
        let kind = answer.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let is_page = kind.starts_with("text/html")
            && file.media_type.as_deref().is_some_and(|kind| !kind.starts_with("text/html"));
        match answer.status() {
            // Who may not read it gets the page on which one signs in.
            status if is_page || status.is_redirection() => Err(DeliveryError::Refused(Why::Forbidden)),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(DeliveryError::Refused(Why::Forbidden)),
            StatusCode::NOT_FOUND | StatusCode::GONE => Err(DeliveryError::Refused(Why::Gone)),
            status if status.is_success() => {
                let chunks = answer.into_body().into_data_stream().map(|chunk| chunk.map_err(io::Error::other));
                Ok(capped(Box::pin(chunks), LARGEST))
            }
            status => Err(DeliveryError::NotSent(format!("HTTP {}", status.as_u16()))),
        }
    }

    /// Slack has no roles.
    async fn roles(&self, _who: &Caller) -> Result<Vec<String>, DeliveryError> {
        Ok(Vec::new())
    }
}

impl Slack {
    /// Where the bytes of a file are that was named by its id alone.
    async fn address_of(&self, id: &str) -> Result<String, DeliveryError> {
        let answer = self.api.ask("files.info", &[("file", id)]).await.map_err(refused)?;
        let file = answer.get("file");
        let of = |key| file.and_then(|file| text(file, key));
        if file.and_then(|file| file["size"].as_u64()).is_some_and(|size| size > LARGEST) {
            return Err(too_large());
        }
        let url = of("url_private_download").or_else(|| of("url_private"));
        url.map(str::to_owned).ok_or(DeliveryError::Refused(Why::Gone))
    }
}

/// Nothing is changed by asking, so whatever went wrong may be tried again; a wait or a failure of theirs is no "no".
fn refused(problem: Problem) -> DeliveryError {
    match problem {
        Problem::NotSent(words) | Problem::Unsure(words) => DeliveryError::NotSent(words),
        Problem::Wait(wait) => DeliveryError::Wait { scope: Scope::Account, until: SystemTime::now() + wait },
        Problem::Refused { code, .. } if code == "file_not_found" || code == "file_deleted" => {
            DeliveryError::Refused(Why::Gone)
        }
        Problem::Refused { code, .. } => DeliveryError::Refused(refusal::why(&code)),
    }
}

fn too_large() -> DeliveryError {
    DeliveryError::Refused(Why::Other("the file is larger than the 100 MB that are read".into()))
}
