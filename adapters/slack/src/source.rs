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
/// Members of a conversation are looked through so many thousands at a time.
const PAGES: usize = 20;
/// What Slack calls somebody who is not there, or not for us.
const NOBODY: [&str; 2] = ["user_not_found", "user_not_visible"];

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

    /// Slack has no roles: `member` for who is in the conversation. Who may write in it Slack does not say.
    async fn roles(&self, who: &Caller) -> Result<Vec<String>, DeliveryError> {
        let is_there = self.is_active(&who.sender.id).await? && self.is_in(&who.conversation, &who.sender.id).await?;
        Ok(if is_there { vec!["member".to_owned()] } else { Vec::new() })
    }
}

impl Slack {
    /// Whether that is somebody whose account has not been taken away.
    async fn is_active(&self, user: &str) -> Result<bool, DeliveryError> {
        match self.api.ask("users.info", &[("user", user)]).await {
            Ok(answer) => Ok(answer["user"]["id"] == user && answer["user"]["deleted"] != true),
            Err(Problem::Refused { code, .. }) if NOBODY.contains(&&*code) => Ok(false),
            Err(problem) => Err(not_told(problem)),
        }
    }

    async fn is_in(&self, channel: &str, user: &str) -> Result<bool, DeliveryError> {
        let mut cursor = String::new();
        for _ in 0..PAGES {
            let asked = [("channel", channel), ("limit", "1000"), ("cursor", &cursor)];
            let asked = if cursor.is_empty() { &asked[..2] } else { &asked[..] };
            let page = match self.api.ask("conversations.members", asked).await {
                Ok(page) => page,
                Err(Problem::Refused { code, .. }) if code == "channel_not_found" => return Ok(false),
                Err(problem) => return Err(not_told(problem)),
            };
            if page["members"].as_array().is_some_and(|all| all.iter().any(|member| member == user)) {
                return Ok(true);
            }
            cursor = text(&page["response_metadata"], "next_cursor").unwrap_or_default().to_owned();
            if cursor.is_empty() {
                return Ok(false);
            }
        }
        Err(DeliveryError::NotSent("the conversation has more members than are looked through".into()))
    }

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

/// A scope that is lacking says nothing of anybody.
fn not_told(problem: Problem) -> DeliveryError {
    match problem {
        Problem::Refused { code, .. } => DeliveryError::NotSent(code),
        problem => refused(problem),
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
