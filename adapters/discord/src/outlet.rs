//! Sends what was rendered, one request at a time; order, pace and retries are the delivery's.

use std::time::Duration;

use contract::{
    Address, Audience, DeliveryError, DeliveryKey, Digest, Indicator, Op, Opaque, Outlet, Part, Receipt, Reply, Why,
    seams::{Bucket, Pace},
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    Discord,
    answers::{First, Live},
    inbound::text,
    lock,
    refusal::{asked, explain, is_missing, is_over},
    render,
    rest::{Body, Problem, attachments},
};

mod body;
mod find;
mod person;

pub(crate) use self::body::{EPHEMERAL, nobody};

/// What a receipt of an interaction's message says: it is changed with the interaction's token.
const BY_TOKEN: &str = "token";
/// The same, shown to the sender alone.
const PRIVATE: &str = "private";
/// A longer nonce is refused.
const NONCE: usize = 24;
/// Messages that bear the sign for waiting.
const MOST_WAITING: usize = 1_000;
const WAITING: &str = "%F0%9F%91%80";
const UNKNOWN_MESSAGE: u64 = 10008;
/// A deferred answer that nothing was put into yet.
const LOADING: u64 = 1 << 7;

type Sent = Result<Receipt, DeliveryError>;

#[async_trait::async_trait]
impl Outlet for Discord {
    fn render(&self, reply: &Reply, _to: &Address) -> Vec<Part> {
        render::reply(reply)
    }

    async fn send(&self, to: &Address, op: Op<'_>, key: &DeliveryKey) -> Sent {
        let to = &*self.place(to).await.map_err(if matches!(op, Op::Find) { asked } else { explain })?;
        match op {
            Op::Post(part) => self.post(to, part, key, false).await,
            Op::Draft(None, part, _) => self.post(to, part, key, true).await,
            Op::Replace(receipt, part) | Op::Draft(Some(receipt), part, _) => {
                self.replace(to, receipt, part, key).await
            }
            Op::Remove(receipt) => self.remove(to, receipt).await,
            Op::Find => self.find(to, key).await,
        }
    }

    async fn indicate(&self, to: &Address, indicator: Indicator) {
        let Ok(to) = self.place(to).await else { return };
        let to = &*to;
        match indicator {
            // A deferred answer shows by itself that something is done.
            Indicator::Typing if Live::of(&to.private).is_some_and(|live| !live.is_press) => {}
            Indicator::Typing => {
                let path = format!("/channels/{}/typing", channel(to));
                self.sign(self.rest.call(Method::POST, &path, Body::Nothing).await);
            }
            Indicator::Waiting => self.wait_sign(to, Method::PUT).await,
            Indicator::Clear => self.wait_sign(to, Method::DELETE).await,
        }
    }

    /// About five messages in five seconds in a channel, fifty requests a second in all, of which some are no messages; what
    /// the answers say is more exact.
    fn pace(&self, _to: &Address) -> Pace {
        let bucket = |burst, every| Some(Bucket { burst, every: Duration::from_millis(every) });
        Pace { conversation: bucket(5, 1_000), account: bucket(10, 25) }
    }

    fn edit_pace(&self, _to: &Address) -> Duration {
        Duration::from_millis(1_200)
    }

    fn typing_lasts(&self) -> Duration {
        Duration::from_secs(8)
    }

    /// In a direct conversation nobody else is there; elsewhere an interaction's answer can be the sender's alone.
    fn can_be_private(&self, to: &Address) -> bool {
        to.direct || Live::of(&to.private).is_some()
    }

    fn to_person(&self, account: &str, person: &str) -> Option<Address> {
        person::address(account, person)
    }

    /// The channel without its thread.
    fn fallback(&self, to: &Address) -> Option<Address> {
        to.thread.as_ref()?;
        Some(Address { thread: None, reply_to: None, ..to.clone() })
    }
}

/// Where messages to an address go.
fn channel(to: &Address) -> &str {
    to.thread.as_deref().unwrap_or(&to.conversation)
}

/// The same for the same part over restarts: Discord takes it once within some minutes. A draft is another message than what it
/// is a draft of.
fn nonce(key: &DeliveryKey, is_draft: bool) -> String {
    let mut whole = Digest::of(format!("{}/{}/{}/{is_draft}", key.turn, key.n, key.part).as_bytes()).to_string();
    whole.truncate(NONCE);
    whole
}

impl Discord {
    async fn post(&self, to: &Address, part: &Part, key: &DeliveryKey, is_draft: bool) -> Sent {
        let is_private = part.audience == Audience::Sender && !to.direct;
        if let Some(live) = Live::of(&to.private) {
            match self.follow(to, &live, part, key).await {
                // Its time is over, or it was never answered: the channel is left.
                Err(problem) if is_over(&problem) => {}
                answered => return answered.map_err(explain),
            }
        }
        if is_private {
            return Err(DeliveryError::Refused(Why::Unsupported));
        }
        self.post_to_channel(to, part, key, is_draft).await.map_err(explain)
    }

    async fn post_to_channel(
        &self,
        to: &Address,
        part: &Part,
        key: &DeliveryKey,
        is_draft: bool,
    ) -> Result<Receipt, Problem> {
        let mut message = body::of(part);
        message["nonce"] = json!(nonce(key, is_draft));
        message["enforce_nonce"] = json!(true);
        if let Some(answered) = to.reply_to.as_ref().filter(|_| key.is_first_part() && !to.direct) {
            message["message_reference"] = json!({"message_id": answered, "fail_if_not_exists": false});
        }
        let path = format!("/channels/{}/messages", channel(to));
        let answer = match self.write(Method::POST, &path, &message, part).await {
            // The nonce makes a second try harmless.
            Err(Problem::Unsure(_)) => self.write(Method::POST, &path, &message, part).await?,
            answered => answered?,
        };
        receipt(&answer, "")
    }

    async fn write(&self, method: Method, path: &str, message: &Value, part: &Part) -> Result<Value, Problem> {
        match part.files.as_slice() {
            [] => self.rest.call(method, path, Body::Json(message)).await,
            files => {
                let mut message = message.clone();
                message["attachments"] = attachments(files);
                self.rest.call(method, path, Body::Files(&message, files)).await
            }
        }
    }

    /// An answer that follows an interaction: the first part takes the place of what was deferred, the others follow it.
    async fn follow(&self, to: &Address, live: &Live, part: &Part, key: &DeliveryKey) -> Result<Receipt, Problem> {
        let is_private = part.audience == Audience::Sender;
        let is_first = key.n == 0 && key.is_first_part();
        match self.first_of(live).await? {
            First::Deferred(shown) if is_first => {
                let is_shown_alone = shown == Audience::Sender;
                if is_private == is_shown_alone || to.direct {
                    let (path, message) = (live.original(), body::whole(part));
                    let answer = match self.write(Method::PATCH, &path, &message, part).await {
                        // A second time changes nothing.
                        Err(Problem::Unsure(_)) => self.write(Method::PATCH, &path, &message, part).await?,
                        answered => answered?,
                    };
                    return receipt(&answer, if is_shown_alone { PRIVATE } else { BY_TOKEN });
                }
                // What is shown to one cannot become what is shown to all, nor the other way round.
                if let Err(problem) = self.rest.call(Method::DELETE, &live.original(), Body::Nothing).await
                    && !is_missing(&problem)
                {
                    return Err(problem);
                }
                self.answers.set(&live.id, First::Bare);
                self.follow_up(live, part).await
            }
            First::Deferred(_) | First::Bare => self.follow_up(live, part).await,
            First::Open | First::Lost => Err(Problem::Refused {
                status: 404,
                code: 10062,
                words: "the interaction was not answered in time".into(),
            }),
        }
    }

    async fn follow_up(&self, live: &Live, part: &Part) -> Result<Receipt, Problem> {
        let is_private = part.audience == Audience::Sender;
        let mut message = body::of(part);
        if is_private {
            message["flags"] = json!(message["flags"].as_u64().unwrap_or(0) | EPHEMERAL);
        }
        let answer = self.write(Method::POST, &format!("{}?wait=true", live.path()), &message, part).await?;
        receipt(&answer, if is_private { PRIVATE } else { BY_TOKEN })
    }

    /// How an interaction was answered first; after a restart Discord is asked.
    async fn first_of(&self, live: &Live) -> Result<First, Problem> {
        if let Some(first) = self.answers.first(&live.id).await {
            return Ok(first);
        }
        if live.is_press {
            return Ok(First::Bare);
        }
        let original = match self.rest.get(&live.original()).await {
            // It was taken away, and the token lives.
            Err(Problem::Refused { code: UNKNOWN_MESSAGE, .. }) => return Ok(First::Bare),
            answered => answered?,
        };
        let flags = original["flags"].as_u64().unwrap_or(0);
        let shown = if flags & EPHEMERAL != 0 { Audience::Sender } else { Audience::Everyone };
        Ok(First::Deferred(shown))
    }

    async fn replace(&self, to: &Address, old: &Receipt, part: &Part, key: &DeliveryKey) -> Sent {
        let was_alone = old.private.reveal() == PRIVATE;
        let is_alone = part.audience == Audience::Sender && !to.direct;
        if is_alone && !was_alone {
            // What all have seen cannot become one person's: it goes, and the answer is a message of its own.
            self.remove(to, old).await?;
            if let Some(live) = Live::of(&to.private) {
                self.answers.set(&live.id, First::Bare);
            }
            return self.post(to, part, key, false).await;
        }
        let message = body::whole(part);
        let by_token = Live::of(&to.private).filter(|_| !old.private.is_empty());
        if let Some(live) = by_token {
            let path = format!("{}/messages/{}", live.path(), old.message);
            match self.write(Method::PATCH, &path, &message, part).await {
                Ok(_) => return Ok(old.clone()),
                Err(problem) if !is_over(&problem) => return Err(explain(problem)),
                Err(_) => {}
            }
        }
        if was_alone {
            return Err(DeliveryError::Refused(Why::TooOld));
        }
        let path = format!("/channels/{}/messages/{}", channel(to), old.message);
        self.write(Method::PATCH, &path, &message, part).await.map_err(explain)?;
        Ok(old.clone())
    }

    async fn remove(&self, to: &Address, old: &Receipt) -> Sent {
        let by_token = Live::of(&to.private).filter(|_| !old.private.is_empty());
        let path = match &by_token {
            Some(live) => format!("{}/messages/{}", live.path(), old.message),
            None => format!("/channels/{}/messages/{}", channel(to), old.message),
        };
        match self.rest.call(Method::DELETE, &path, Body::Nothing).await {
            Ok(_) => Ok(old.clone()),
            Err(problem) if is_missing(&problem) => Ok(old.clone()),
            Err(problem) => Err(explain(problem)),
        }
    }

    /// Puts the sign on the message that is answered, or takes it away where it was put.
    async fn wait_sign(&self, to: &Address, method: Method) {
        let Some(message) = to.reply_to.clone() else { return };
        let place = (channel(to).to_owned(), message);
        let is_put = method == Method::PUT;
        {
            let mut waiting = lock(&self.waiting);
            if is_put && waiting.len() >= MOST_WAITING || !is_put && !waiting.remove(&place) {
                return;
            }
            if is_put {
                waiting.insert(place.clone());
            }
        }
        let path = format!("/channels/{}/messages/{}/reactions/{WAITING}/@me", place.0, place.1);
        self.sign(self.rest.call(method, &path, Body::Nothing).await);
    }

    fn sign(&self, answered: Result<Value, Problem>) {
        if let Err(problem) = answered {
            tracing::debug!(account = self.account, ?problem, "a sign of life was not shown");
        }
    }
}

/// Only the id is read: whatever else the answer holds, the message was sent.
fn receipt(answer: &Value, kind: &str) -> Result<Receipt, Problem> {
    let id = text(answer, "id").ok_or_else(|| Problem::Unsure("an answer without a message".into()))?;
    Ok(Receipt { message: id.to_owned(), private: Opaque::new(kind).unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use contract::TurnId;

    use super::*;

    #[test]
    fn a_nonce_is_short_and_each_part_s_own() {
        let turn = TurnId::new();
        let key = |n, part| DeliveryKey { turn, n, part };
        let all =
            [nonce(&key(0, 0), false), nonce(&key(0, 0), true), nonce(&key(0, 1), false), nonce(&key(1, 0), false)];
        assert!(all.iter().all(|nonce| nonce.len() <= 25));
        assert_eq!(all.iter().collect::<std::collections::HashSet<_>>().len(), all.len());
        assert_eq!(nonce(&key(0, 0), false), all[0]);
    }
}
