//! What the core asks back: a file's bytes, a person's roles.

use std::time::SystemTime;

use contract::{Caller, DeliveryError, FileRef, Scope, Source, Why, capped, seams::ByteStream};
use serde_json::{Value, json};
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

    /// The person's standing in the chat (`creator`, `administrator`, `member`, `restricted`); none for who is not in it, or
    /// was muted there.
    async fn roles(&self, who: &Caller) -> Result<Vec<String>, DeliveryError> {
        let member = self.member(who).await?;
        Ok(member.iter().filter_map(standing).map(str::to_owned).collect())
    }

    /// Being in a chat is not writing there: a channel has readers, and a group may be closed to all but administrators.
    async fn roles_to_write(&self, who: &Caller) -> Result<Vec<String>, DeliveryError> {
        let Some(member) = self.member(who).await? else { return Ok(Vec::new()) };
        let Some(standing) = standing(&member) else { return Ok(Vec::new()) };
        let Some(chat) = self.look_up("getChat", &json!({"chat_id": self.chat_of(who)})).await? else {
            return Ok(Vec::new());
        };
        let may_write = writes(standing, &member, &chat, who.thread.is_some());
        Ok(if may_write { vec![standing.to_owned()] } else { Vec::new() })
    }
}

impl Telegram {
    fn chat_of(&self, who: &Caller) -> Option<i64> {
        who.conversation.parse().ok().map(|chat| self.current(chat))
    }

    /// What the chat says of somebody.
    async fn member(&self, who: &Caller) -> Result<Option<Value>, DeliveryError> {
        let user = who.sender.id.parse::<i64>().ok().filter(|user| *user > 0);
        let Some((chat, user)) = self.chat_of(who).zip(user) else { return Ok(None) };
        self.look_up("getChatMember", &json!({"chat_id": chat, "user_id": user})).await
    }

    /// Nothing where it is not, or not for us.
    async fn look_up(&self, method: &str, asked: &Value) -> Result<Option<Value>, DeliveryError> {
        match self.api.call(method, asked, PATIENCE).await {
            Ok(found) => Ok(Some(found)),
            Err(Problem::Refused { words, .. }) if words.contains("not found") => Ok(None),
            Err(problem) => Err(refused(problem)),
        }
    }
}

/// What somebody is in the chat, if they are heard there.
fn standing(member: &Value) -> Option<&str> {
    match member["status"].as_str()? {
        "left" | "kicked" => None,
        // Those who left keep their restrictions.
        "restricted" if member["is_member"] != true || member["can_send_messages"] != true => None,
        status => Some(status),
    }
}

/// Whether somebody in a chat may write in it. What is not said is not so: of a topic Telegram does not say whether it is
/// closed, which only administrators need not ask.
fn writes(standing: &str, member: &Value, chat: &Value, in_topic: bool) -> bool {
    match (standing, chat["type"].as_str()) {
        (_, Some("private")) => member["user"]["id"].is_i64() && member["user"]["id"] == chat["id"],
        ("creator", _) => true,
        ("administrator", Some("channel")) => member["can_post_messages"] == true,
        ("administrator", Some("group" | "supergroup")) => true,
        ("member" | "restricted", Some("group" | "supergroup")) => {
            !in_topic && chat["permissions"]["can_send_messages"] == true
        }
        _ => false,
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
    fn who_reads_need_not_write() {
        let open = json!({"type": "supergroup", "permissions": {"can_send_messages": true}});
        let closed = json!({"type": "supergroup", "permissions": {"can_send_messages": false}});
        let channel = json!({"type": "channel"});
        let may = |member: Value, chat: &Value, in_topic| {
            standing(&member).is_some_and(|standing| writes(standing, &member, chat, in_topic))
        };
        let member = json!({"status": "member"});
        assert!(may(member.clone(), &open, false));
        assert!(!may(member.clone(), &closed, false) && !may(member.clone(), &channel, false));
        assert!(!may(member.clone(), &open, true), "whether a topic is closed is not said");
        assert!(!may(member, &json!({"type": "supergroup"}), false), "what is not said is not so");
        let leads = json!({"status": "administrator"});
        assert!(may(leads.clone(), &closed, true) && !may(leads, &channel, false));
        assert!(may(json!({"status": "administrator", "can_post_messages": true}), &channel, false));
        assert!(may(json!({"status": "creator"}), &channel, false));
        let muted = |is_member, can_send| json!({"status": "restricted", "is_member": is_member, "can_send_messages": can_send});
        assert!(may(muted(true, true), &open, false));
        assert!(standing(&muted(false, true)).is_none() && standing(&muted(true, false)).is_none());
        assert!(standing(&json!({"status": "left"})).is_none());
        let alone = |user: i64| json!({"status": "member", "user": {"id": user}});
        let private = json!({"id": 7, "type": "private"});
        assert!(may(alone(7), &private, false) && !may(alone(8), &private, false), "with somebody else");
    }

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
