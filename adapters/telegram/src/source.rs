//! What the core asks back: a file's bytes, a person's roles.

use std::time::SystemTime;

use contract::{Caller, DeliveryError, FileRef, Scope, Source, Why, capped, seams::ByteStream};
use serde_json::json;
use teloxide::{payloads::GetFile, types::FileId};

use crate::{
    Telegram,
    api::{PATIENCE, Problem},
    render::{HANDLE, kind_and_id},
};

/// What bots may download.
const LARGEST: u64 = 20 * 1024 * 1024;

#[async_trait::async_trait]
impl Source for Telegram {
    async fn open(&self, file: &FileRef) -> Result<ByteStream, DeliveryError> {
        let Some(named) = file.handle.reveal().strip_prefix(HANDLE) else {
            return Err(DeliveryError::Refused(Why::Unsupported));
        };
        if file.size.is_some_and(|size| size > LARGEST) {
            return Err(too_large());
        }
        let found = self.api.ask(&GetFile::new(FileId(kind_and_id(named).1.to_owned()))).await.map_err(refused)?;
        if found["file_size"].as_u64().is_some_and(|size| size > LARGEST) {
            return Err(too_large());
        }
        let path = found["file_path"].as_str().ok_or(DeliveryError::Refused(Why::Gone))?;
        Ok(capped(self.api.download(path), LARGEST))
    }

    /// The person's standing in the chat (`creator`, `administrator`, `member`, `restricted`); none for who is not in it.
    async fn roles(&self, who: &Caller) -> Result<Vec<String>, DeliveryError> {
        let ids = who.conversation.parse::<i64>().ok().zip(who.sender.id.parse::<i64>().ok());
        let Some((chat, user)) = ids.filter(|(_, user)| *user > 0) else { return Ok(Vec::new()) };
        let asked = json!({"chat_id": self.current(chat), "user_id": user});
        let member = match self.api.call("getChatMember", &asked, PATIENCE).await {
            Ok(member) => member,
            Err(Problem::Refused { words, .. }) if words.contains("not found") => return Ok(Vec::new()),
            Err(problem) => return Err(refused(problem)),
        };
        let status = member["status"].as_str().filter(|status| !matches!(*status, "left" | "kicked"));
        Ok(status.map(str::to_owned).into_iter().collect())
    }
}

/// Nothing is changed by asking, so whatever went wrong may be tried again; a wait or a failure of theirs is no "no".
fn refused(problem: Problem) -> DeliveryError {
    match problem {
        Problem::NotSent(words) | Problem::Unsure(words) => DeliveryError::NotSent(words),
        Problem::TimedOut => DeliveryError::NotSent("no answer in time".into()),
        Problem::Refused { retry_after: Some(wait), .. } => {
            DeliveryError::Wait { scope: Scope::Account, until: SystemTime::now() + wait.duration() }
        }
        Problem::Refused { code: 429 | 500.., words, .. } => DeliveryError::NotSent(words),
        Problem::Refused { words, .. } if words.contains("file is too big") => too_large(),
        Problem::Refused { words, .. } => DeliveryError::Refused(Why::Other(words)),
    }
}

fn too_large() -> DeliveryError {
    DeliveryError::Refused(Why::Other("the file is larger than the 20 MB that a bot may fetch".into()))
}

#[cfg(test)]
mod tests {
    use teloxide::types::Seconds;

    use super::*;

    #[test]
    fn a_wait_and_a_failure_of_theirs_are_no_refusal() {
        let problem =
            |code, retry_after| refused(Problem::Refused { code, words: "words".into(), retry_after, moved: None });
        assert!(matches!(problem(429, Some(Seconds::from_seconds(3))), DeliveryError::Wait { .. }));
        assert!(matches!(problem(429, None), DeliveryError::NotSent(_)));
        assert!(matches!(problem(502, None), DeliveryError::NotSent(_)));
        assert!(matches!(problem(400, None), DeliveryError::Refused(Why::Other(_))));
        assert!(matches!(refused(Problem::TimedOut), DeliveryError::NotSent(_)));
    }
}
