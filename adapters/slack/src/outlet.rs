//! Sends what was rendered, one request at a time; order, pace and retries are the delivery's.

use std::time::{Duration, SystemTime};

use contract::{
    Address, Audience, DeliveryError, DeliveryKey, Indicator, Op, Opaque, Outlet, Part, Receipt, Reply, Scope, Why,
    seams::{Bucket, Pace},
};
use serde_json::{Value, json};

use crate::{
    Slack,
    api::Problem,
    inbound::{Slip, array, text},
    post, refusal, render,
};

/// What a receipt says of a message that only one person saw: it can be neither changed nor taken back.
const PRIVATE: &str = "private";
/// What stands before a file's id in a receipt.
const FILE: &str = "file:";
/// Slack changes a message fifty times a minute.
const EDITS: Duration = Duration::from_millis(1_250);
/// Two conversations that are told to wait within this time share a limit.
const SAME_LIMIT: Duration = Duration::from_secs(2);
/// A status in an assistant's thread lasts until it is replaced.
const STATUS_LASTS: Duration = Duration::from_secs(60);
/// The mark on a message that waits.
const WAITS: &str = "eyes";
/// Pages of a conversation in which a message of ours is looked for.
const MOST_PAGES: usize = 5;

pub(crate) type Sent = Result<Receipt, DeliveryError>;

#[async_trait::async_trait]
impl Outlet for Slack {
    fn render(&self, reply: &Reply, _to: &Address) -> Vec<Part> {
        render::reply(reply)
    }

    async fn send(&self, to: &Address, op: Op<'_>, key: &DeliveryKey) -> Sent {
        match op {
            Op::Post(part) | Op::Draft(None, part, None) => self.post(to, part, key).await,
            Op::Draft(None, part, Some(said)) => match self.begin_stream(to, part, said, key).await {
                Some(begun) => begun,
                None => self.post(to, part, key).await,
            },
            Op::Draft(Some(receipt), part, said) => self.redraft(to, receipt, part, said, key).await,
            Op::Replace(receipt, part) => self.replace(to, receipt, part, key).await,
            Op::Remove(receipt) => self.remove(to, receipt, key).await,
            Op::Find => self.find(to, key).await,
        }
    }

    async fn indicate(&self, to: &Address, indicator: Indicator) {
        match indicator {
            Indicator::Typing => self.status(to, &words::working(Slip::of(&to.private).locale)).await,
            Indicator::Waiting => self.mark(to).await,
            Indicator::Clear => {
                self.unmark(to).await;
                self.status(to, "").await;
            }
        }
    }

    /// About one message a second in a conversation, a few at once; several hundred a minute in a workspace.
    fn pace(&self, _to: &Address) -> Pace {
        let bucket = |burst, every| Some(Bucket { burst, every: Duration::from_millis(every) });
        Pace { conversation: bucket(4, 1_000), account: bucket(50, 150) }
    }

    fn edit_pace(&self, _to: &Address) -> Duration {
        EDITS
    }

    fn typing_lasts(&self) -> Duration {
        STATUS_LASTS
    }

    fn can_be_private(&self, to: &Address) -> bool {
        to.direct || !Slip::of(&to.private).user.is_empty()
    }

    /// Slack's clients send no text that begins with a slash, unless it is a command that the app registered.
    fn command_prefix(&self) -> &str {
        &self.prefix
    }

    /// The channel without its thread.
    fn to_person(&self, account: &str, person: &str) -> Option<Address> {
        // What is posted to a person's id goes to the app's conversation with them.
        let to = Address::new(contract::Platform::Slack, account, person);
        person.starts_with(['U', 'W']).then_some(Address { direct: true, ..to })
    }

    fn fallback(&self, to: &Address) -> Option<Address> {
        to.thread.as_ref()?;
        Some(Address { thread: None, reply_to: None, ..to.clone() })
    }
}

/// Begins what a receipt says of the conversation that a person's id stood for.
const CHANNEL: &str = "channel:";

/// What was posted to a person is changed in the conversation where it came to stand.
fn with_channel(receipt: Receipt, to: &Address, answer: &Value) -> Receipt {
    let channel = answer["channel"].as_str().filter(|channel| *channel != to.conversation);
    match channel.filter(|_| to.conversation.starts_with(['U', 'W'])).and_then(|c| Opaque::new(format!("{CHANNEL}{c}")))
    {
        Some(private) => Receipt { private, ..receipt },
        None => receipt,
    }
}

impl Slack {
    async fn post(&self, to: &Address, part: &Part, key: &DeliveryKey) -> Sent {
        if part.audience == Audience::Sender && !self.is_seen_by_one(to) {
            return self.post_privately(to, part, key).await;
        }
        if !part.files.is_empty() {
            return self.upload(to, part).await.map_err(|problem| self.explain(problem, to));
        }
        let body = post::message(to, part, key);
        match self.api.call("chat.postMessage", &body).await {
            Ok(answer) => receipt(&answer).map(|receipt| with_channel(receipt, to, &answer)),
            // Where the app is not a member an interaction can still be answered.
            Err(problem) if problem.is("not_in_channel") || problem.is("channel_not_found") => {
                match self.respond(to, part, "in_channel").await {
                    Some(Ok(receipt)) => Ok(receipt),
                    _ => Err(self.explain(problem, to)),
                }
            }
            Err(problem) => Err(self.explain(problem, to)),
        }
    }

    /// Whether whatever is posted there is for the sender alone anyway: our own direct conversation. One between other
    /// people looks the same from outside, but a command in it can only be answered as one.
    fn is_seen_by_one(&self, to: &Address) -> bool {
        to.direct && Slip::of(&to.private).respond.is_none()
    }

    async fn post_privately(&self, to: &Address, part: &Part, key: &DeliveryKey) -> Sent {
        // No history shows it: whether it arrived cannot be looked up.
        self.memory.private(key);
        let slip = Slip::of(&to.private);
        if slip.user.is_empty() || !part.files.is_empty() {
            return Err(DeliveryError::Refused(Why::Unsupported));
        }
        if let Some(sent) = self.respond(to, part, "ephemeral").await {
            match sent {
                Err(Problem::Refused { .. }) => {}
                sent => return sent.map_err(|problem| self.explain(problem, to)),
            }
        }
        let mut body = post::content(part, slip.locale);
        post::place(&mut body, to);
        body["user"] = json!(slip.user);
        match self.api.call("chat.postEphemeral", &body).await {
            Ok(_) => Ok(private_receipt()),
            Err(problem) if problem.is("channel_not_found") || problem.is("not_in_channel") => {
                Err(DeliveryError::Refused(Why::Unsupported))
            }
            Err(problem) => Err(self.explain(problem, to)),
        }
    }

    /// By the address that came with an interaction, while it is good; nothing when there is none.
    async fn respond(&self, to: &Address, part: &Part, kind: &str) -> Option<Result<Receipt, Problem>> {
        let slip = Slip::of(&to.private);
        let url = slip.respond.filter(|_| part.files.is_empty())?;
        if !self.memory.may_respond(&url, slip.at_ms) {
            return None;
        }
        let mut body = post::content(part, slip.locale);
        body["response_type"] = json!(kind);
        body["replace_original"] = json!(false);
        if let Some(thread) = &to.thread {
            body["thread_ts"] = json!(thread);
        }
        let answered = self.api.respond(&url, &body).await;
        if matches!(answered, Err(Problem::Refused { .. })) {
            self.memory.no_response(&url);
        }
        Some(answered.map(|()| private_receipt()))
    }

    pub(crate) async fn replace(&self, to: &Address, old: &Receipt, part: &Part, key: &DeliveryKey) -> Sent {
        if old.private.reveal() == PRIVATE {
            return Err(DeliveryError::Refused(Why::TooOld));
        }
        let old = &self.end_stream(to, old, key).await?;
        let is_private = part.audience == Audience::Sender && !self.is_seen_by_one(to);
        if is_private || old.private.reveal().starts_with(FILE) || !part.files.is_empty() {
            // A text cannot become a file, nor a message for all one for one: the new one is posted, then the old one goes.
            let new = self.post(to, part, key).await?;
            if let Err(cause) = self.remove(to, old, key).await {
                tracing::debug!(account = self.account, %cause, "an outdated message stays");
            }
            return Ok(new);
        }
        let mut body = post::content(part, Slip::of(&to.private).locale);
        body["channel"] = json!(old.private.reveal().strip_prefix(CHANNEL).unwrap_or(&to.conversation));
        body["ts"] = json!(old.message);
        body["metadata"] = post::metadata(key);
        if body.get("blocks").is_none() {
            // Those of the message as it was would stay.
            body["blocks"] = json!([]);
        }
        match self.api.call("chat.update", &body).await {
            Ok(_) => Ok(old.clone()),
            Err(problem) => Err(self.explain(problem, to)),
        }
    }

    async fn remove(&self, to: &Address, receipt: &Receipt, key: &DeliveryKey) -> Sent {
        let is_gone = |problem: &Problem| {
            ["message_not_found", "file_not_found", "file_deleted"].iter().any(|code| problem.is(code))
        };
        let answered = match receipt.private.reveal().strip_prefix(FILE) {
            _ if receipt.private.reveal() == PRIVATE => return Err(DeliveryError::Refused(Why::Unsupported)),
            Some(file) => self.api.call("files.delete", &json!({"file": file})).await,
            None => {
                let receipt = self.end_stream(to, receipt, key).await?;
                self.api.call("chat.delete", &json!({"channel": to.conversation, "ts": receipt.message})).await
            }
        };
        match answered {
            Ok(_) => Ok(receipt.clone()),
            Err(problem) if is_gone(&problem) => Ok(receipt.clone()),
            Err(problem) => Err(self.explain(problem, to)),
        }
    }

    /// Looks for the message that carries the key, from the time on when its turn began. Files carry none, and what one
    /// person alone saw is in no history: of those it cannot be told.
    async fn find(&self, to: &Address, key: &DeliveryKey) -> Sent {
        if self.memory.is_private(key) {
            return Err(DeliveryError::Refused(Why::Unsupported));
        }
        let (seconds, wanted) = (key.turn.at_ms() / 1_000, key.to_string());
        let oldest = format!("{}.000000", seconds.saturating_sub(60));
        let me = self.intake().map(|intake| intake.me());
        if me.is_none() && key.part == DeliveryKey::DRAFT && to.thread.is_some() {
            // A stream carries no key: that it is ours cannot be told yet.
            return Err(DeliveryError::NotSent("not introduced yet".into()));
        }
        let is_ours = |message: &Value| me.as_ref().is_none_or(|me| text(message, "user") == Some(&me.user));
        let (mut cursor, mut has_files, mut left_over) = (String::new(), false, None);
        for _ in 0..MOST_PAGES {
            let answer = self.page(to, &oldest, &cursor).await.map_err(|problem| self.explain(problem, to))?;
            let messages = array(&answer, "messages");
            if let Some(found) = messages.iter().find(|message| post::key_of(message) == Some(&wanted)) {
                return receipt(found);
            }
            left_over = self.left_over(to, messages, key).or(left_over);
            has_files |= messages.iter().any(|message| !array(message, "files").is_empty() && is_ours(message));
            answer["response_metadata"]["next_cursor"].as_str().unwrap_or_default().clone_into(&mut cursor);
            if cursor.is_empty() {
                break;
            }
        }
        match left_over {
            Some(found) => Ok(found),
            None if has_files || !cursor.is_empty() => Err(DeliveryError::Refused(Why::Unsupported)),
            None => Err(DeliveryError::Refused(Why::Gone)),
        }
    }

    /// A page of what was said in a thread, or in a conversation.
    async fn page(&self, to: &Address, oldest: &str, cursor: &str) -> Result<Value, Problem> {
        let mut asked = vec![
            ("channel", to.conversation.as_str()),
            ("oldest", oldest),
            ("limit", "100"),
            ("include_all_metadata", "true"),
        ];
        if !cursor.is_empty() {
            asked.push(("cursor", cursor));
        }
        let method = match &to.thread {
            Some(thread) => {
                asked.push(("ts", thread));
                "conversations.replies"
            }
            None => "conversations.history",
        };
        self.api.ask(method, &asked).await
    }

    /// Only an assistant's thread shows a status; whether a thread is one is learned by trying.
    async fn status(&self, to: &Address, words: &str) {
        let Some(thread) = to.thread.as_ref().filter(|_| to.direct) else { return };
        let is_one = self.memory.is_assistant(&to.conversation, thread);
        // Nothing is to be cleared where nothing was shown.
        if is_one == Some(false) || words.is_empty() && is_one.is_none() {
            return;
        }
        let body = json!({"channel_id": to.conversation, "thread_ts": thread, "status": words});
        // Known before it is there: an answer that is lost leaves none behind.
        self.memory.assistant(&to.conversation, thread, true);
        match self.api.call("assistant.threads.setStatus", &body).await {
            Ok(_) => {}
            Err(Problem::Refused { code, .. }) => {
                tracing::debug!(account = self.account, code, "no status is shown");
                self.memory.assistant(&to.conversation, thread, false);
            }
            Err(cause) => tracing::debug!(account = self.account, ?cause, "no status is shown"),
        }
    }

    async fn mark(&self, to: &Address) {
        let Some(message) = &to.reply_to else { return };
        let body = json!({"channel": to.conversation, "timestamp": message, "name": WAITS});
        // Known before it is there: an answer that is lost leaves none behind.
        self.memory.marked(&to.conversation, message);
        match self.api.call("reactions.add", &body).await {
            Ok(_) => {}
            Err(problem) if problem.is("already_reacted") => {}
            Err(cause) => {
                if !matches!(cause, Problem::Unsure(_)) {
                    self.memory.unmark(&to.conversation, message);
                }
                self.indicator_failed(cause);
            }
        }
    }

    async fn unmark(&self, to: &Address) {
        let Some(message) = &to.reply_to else { return };
        if !self.memory.unmark(&to.conversation, message) {
            return;
        }
        let body = json!({"channel": to.conversation, "timestamp": message, "name": WAITS});
        match self.api.call("reactions.remove", &body).await {
            Ok(_) => {}
            Err(problem) if problem.is("no_reaction") => {}
            Err(cause) => self.indicator_failed(cause),
        }
    }

    fn indicator_failed(&self, cause: Problem) {
        tracing::debug!(account = self.account, ?cause, "a mark was not changed");
        if let Problem::Refused { code, needed } = &cause {
            self.heed(code, needed.as_deref());
        }
    }

    /// What a refusal says of the account as a whole.
    fn heed(&self, code: &str, needed: Option<&str>) {
        self.ended(code);
        if code == "missing_scope"
            && let (Some(intake), Some(scope)) = (self.intake(), needed)
        {
            intake.report.scope(scope);
        }
    }

    /// Ends the account for what only a person can mend.
    pub(crate) fn ended(&self, code: &str) {
        let problem = Problem::Refused { code: code.to_owned(), needed: None };
        if let Some(stopped) = refusal::fatal(&problem) {
            self.fatal.send_replace(Some(stopped));
        }
    }

    pub(crate) fn explain(&self, problem: Problem, to: &Address) -> DeliveryError {
        match problem {
            Problem::NotSent(words) => DeliveryError::NotSent(words),
            Problem::Unsure(words) => DeliveryError::Unsure(words),
            Problem::Wait(wait) => self.wait(&to.conversation, wait),
            Problem::Refused { code, needed } => {
                self.heed(&code, needed.as_deref());
                DeliveryError::Refused(refusal::why(&code))
            }
        }
    }

    /// A wait concerns the conversation, unless another one was told to wait just now.
    fn wait(&self, conversation: &str, wait: Duration) -> DeliveryError {
        let is_shared = self.memory.another_waits(conversation, SAME_LIMIT);
        let scope = if is_shared { Scope::Account } else { Scope::Conversation };
        // A little later than told: their clock and ours differ.
        DeliveryError::Wait { scope, until: SystemTime::now() + wait + Duration::from_millis(50) }
    }
}

/// Only the time is read: whatever else the answer holds, the message was sent.
fn receipt(answer: &Value) -> Sent {
    let ts = answer["ts"].as_str().ok_or_else(|| DeliveryError::Unsure("an answer without a message".into()))?;
    Ok(Receipt { message: ts.to_owned(), private: Opaque::default() })
}

fn private_receipt() -> Receipt {
    Receipt { message: String::new(), private: Opaque::new(PRIVATE).unwrap_or_default() }
}

/// The receipt of a message with a file.
pub(crate) fn file_receipt(ts: Option<&str>, file: &str) -> Receipt {
    Receipt {
        message: ts.unwrap_or_default().to_owned(),
        private: Opaque::new(format!("{FILE}{file}")).unwrap_or_default(),
    }
}
