//! Sends what was rendered, one request at a time; order, pace and retries are the delivery's.

use std::time::{Duration, Instant, SystemTime};

use contract::{
    Address, Audience, DeliveryError, DeliveryKey, FileRef, Indicator, Op, Opaque, Outlet, Part, Receipt, Reply, Scope,
    Why,
    seams::{Bucket, Pace},
    text,
};
use serde_json::{Map, Value, json};
use teloxide::{
    ApiError,
    payloads::{DeleteMessage, EditMessageCaption, EditMessageText, SendMessage, setters::*},
    types::{
        ChatId, InlineKeyboardButton, InlineKeyboardMarkup, LinkPreviewOptions, MessageId, ParseMode, ReplyParameters,
    },
};

use crate::{
    Telegram,
    api::Problem,
    inbound::DIRECT_TOPIC,
    outlet::files::sends,
    refusal::{api_error, why},
    render,
};

pub(crate) mod drafts;
mod files;
mod signs;

/// What a receipt of a file says: its text is a caption.
const IS_FILE: &str = "file";
/// What stands before the further messages of an album in its receipt.
const ALBUM: &str = "album:";
const BUTTONS_PER_ROW: usize = 3;
const MOST_BUTTONS: usize = 100;
const LONGEST_LABEL: usize = 60;
/// Two chats that are told to wait within this time share the account's limit.
const SAME_LIMIT: Duration = Duration::from_secs(2);
/// A longer wait is a chat's own: the account's limit counts seconds.
const LONGEST_SHARED: u64 = 60;

type Sent = Result<Receipt, DeliveryError>;

#[async_trait::async_trait]
impl Outlet for Telegram {
    fn render(&self, reply: &Reply, _to: &Address) -> Vec<Part> {
        render::reply(reply)
    }

    async fn send(&self, to: &Address, op: Op<'_>, key: &DeliveryKey) -> Sent {
        match op {
            Op::Post(part) | Op::Draft(None, part, None) => self.post(to, part, key).await,
            Op::Draft(None, part, Some(_)) => match self.draft(to, part, key).await {
                Some(shown) => shown,
                None => self.post(to, part, key).await,
            },
            Op::Replace(receipt, part) | Op::Draft(Some(receipt), part, _) => {
                self.replace(to, receipt, part, key).await
            }
            Op::Remove(receipt) => self.remove(to, receipt).await,
            // Telegram neither takes a key of ours nor lets a bot read a chat.
            Op::Find => Err(DeliveryError::Refused(Why::Unsupported)),
        }
    }

    async fn indicate(&self, to: &Address, indicator: Indicator) {
        match indicator {
            Indicator::Typing => self.typing(to).await,
            Indicator::Waiting => self.sign(to, true).await,
            // Typing ends by itself after some seconds and with the next message.
            Indicator::Clear => self.sign(to, false).await,
        }
    }

    /// What Telegram documents: about one message a second in a chat, twenty a minute in a group, thirty a second in all.
    fn pace(&self, to: &Address) -> Pace {
        let bucket = |burst, every| Some(Bucket { burst, every: Duration::from_millis(every) });
        let conversation = if to.direct { bucket(10, 1_000) } else { bucket(20, 3_000) };
        Pace { conversation, account: bucket(30, 34) }
    }

    /// A group takes 20 messages and edits a minute.
    fn edit_pace(&self, to: &Address) -> Duration {
        Duration::from_secs(if to.direct { 1 } else { 3 })
    }

    /// What is on Telegram's servers needs no bytes of ours.
    fn sends_by_handle(&self, file: &FileRef) -> bool {
        render::is_ours(file)
    }

    /// The chat without its topic; never a direct message.
    fn to_person(&self, account: &str, person: &str) -> Option<Address> {
        // A private chat has its person's id.
        let to = Address::new(contract::Platform::Telegram, account, person);
        person.parse::<u64>().is_ok().then_some(Address { direct: true, ..to })
    }

    fn fallback(&self, to: &Address) -> Option<Address> {
        to.thread.as_ref()?;
        Some(Address { thread: None, reply_to: None, ..to.clone() })
    }
}

impl Telegram {
    async fn post(&self, to: &Address, part: &Part, key: &DeliveryKey) -> Sent {
        if part.audience == Audience::Sender && !to.direct {
            return Err(DeliveryError::Refused(Why::Unsupported));
        }
        let chat = self.chat(to)?;
        match self.post_to(chat, to, part, key).await {
            // Nothing was sent there: the group lives on under another id.
            Err(Problem::Refused { moved: Some(now), .. }) if now != chat => {
                if let Err(cause) = self.moved(chat, now).await {
                    tracing::warn!(account = self.account, %cause, "an upgraded group is not remembered yet");
                }
                self.post_to(now, to, part, key).await
            }
            answered => answered,
        }
        .map_err(|problem| self.explain(problem, to))
    }

    async fn post_to(&self, chat: i64, to: &Address, part: &Part, key: &DeliveryKey) -> Result<Receipt, Problem> {
        let (text, mode) = words(part);
        let place = place(to, key.is_first_part());
        let [file, more @ ..] = part.files.as_slice() else {
            let mut message = SendMessage::new(ChatId(chat), text).link_preview_options(without_preview());
            message.parse_mode = mode;
            message.reply_markup = keyboard(part).map(Into::into);
            let answer = self.api.call("sendMessage", &with(&message, place), crate::api::PATIENCE).await?;
            return self.sent(chat, &answer, "");
        };
        let mut fields = place;
        fields.insert("chat_id".into(), json!(chat));
        if !text.is_empty() {
            fields.insert("caption".into(), json!(text));
            fields.extend(mode.map(|mode| ("parse_mode".to_owned(), json!(mode))));
        }
        if !more.is_empty() {
            let answer = self.album(&fields, &part.files).await?;
            return self.sent_album(chat, &answer);
        }
        fields.extend(keyboard(part).map(|keyboard| ("reply_markup".to_owned(), json!(keyboard))));
        let answer = if file.media_type == render::BY_ID {
            let named = String::from_utf8_lossy(&file.bytes);
            let (kind, id) = render::kind_and_id(&named);
            let (method, field) = sends(kind);
            fields.insert(field.into(), json!(id));
            self.api.call(method, &Value::Object(fields), crate::api::PATIENCE).await?
        } else {
            self.upload(&fields, file).await?
        };
        self.sent(chat, &answer, IS_FILE)
    }

    /// A word that is no answer, said to a message: in a group it notifies nobody. Best effort: what must arrive goes
    /// through the delivery.
    pub(crate) async fn murmur(&self, to: &Address, words: &str) {
        let Ok(chat) = self.chat(to) else { return };
        let message = SendMessage::new(ChatId(chat), words)
            .link_preview_options(without_preview())
            .disable_notification(!to.direct);
        let body = with(&message, place(to, true));
        if let Err(cause) = self.api.call("sendMessage", &body, crate::api::PATIENCE).await {
            tracing::debug!(account = self.account, ?cause, "a word was not said");
        }
    }

    fn sent(&self, chat: i64, answer: &Value, kind: &str) -> Result<Receipt, Problem> {
        let receipt = receipt(answer, kind)?;
        if let Ok(message) = receipt.message.parse() {
            crate::lock(&self.sent).insert((chat, message));
        }
        Ok(receipt)
    }

    /// The receipt of an album names all of its messages.
    fn sent_album(&self, chat: i64, answer: &Value) -> Result<Receipt, Problem> {
        let sent = answer.as_array().map_or(&[][..], Vec::as_slice);
        let first = self.sent(chat, sent.first().unwrap_or(&Value::Null), IS_FILE)?;
        let others: Vec<String> =
            sent[1..].iter().filter_map(|one| Some(self.sent(chat, one, "").ok()?.message)).collect();
        let private = Opaque::new(format!("{ALBUM}{}", others.join(","))).unwrap_or_default();
        Ok(Receipt { private, ..first })
    }

    async fn replace(&self, to: &Address, old: &Receipt, part: &Part, key: &DeliveryKey) -> Sent {
        let is_file = old.private.reveal() == IS_FILE;
        if is_file == part.files.is_empty() || part.files.len() > 1 || old.private.reveal().starts_with(ALBUM) {
            // A text cannot become a file, nor a file a text: the new one is posted, then the old one goes.
            let new = self.post(to, part, key).await?;
            if let Err(cause) = self.remove(to, old).await {
                tracing::debug!(account = self.account, %cause, "an outdated message stays");
            }
            return Ok(new);
        }
        let (chat, id) = (ChatId(self.chat(to)?), message_id(old)?);
        let (text, mode) = words(part);
        let markup = keyboard(part);
        let answered = if is_file {
            let mut edit = EditMessageCaption::new(chat, id).caption(text);
            (edit.parse_mode, edit.reply_markup) = (mode, markup);
            self.api.ask(&edit).await
        } else {
            let mut edit = EditMessageText::new(chat, id, text).link_preview_options(without_preview());
            (edit.parse_mode, edit.reply_markup) = (mode, markup);
            self.api.ask(&edit).await
        };
        match answered {
            Ok(_) => Ok(old.clone()),
            Err(problem) if api_error(&problem) == Some(ApiError::MessageNotModified) => Ok(old.clone()),
            Err(problem) => Err(self.explain(problem, to)),
        }
    }

    async fn remove(&self, to: &Address, receipt: &Receipt) -> Sent {
        let chat = ChatId(self.chat(to)?);
        let others = receipt.private.reveal().strip_prefix(ALBUM).unwrap_or_default();
        let others = others.split(',').filter_map(|id| id.parse().ok().map(MessageId));
        for id in std::iter::once(message_id(receipt)?).chain(others) {
            match self.api.ask(&DeleteMessage::new(chat, id)).await {
                Ok(_) => {}
                Err(problem) if api_error(&problem) == Some(ApiError::MessageToDeleteNotFound) => {}
                Err(problem) => return Err(self.explain(problem, to)),
            }
        }
        Ok(receipt.clone())
    }

    /// The chat's present id.
    fn chat(&self, to: &Address) -> Result<i64, DeliveryError> {
        let id = to.conversation.parse().map_err(|_| DeliveryError::Refused(Why::Gone))?;
        Ok(self.current(id))
    }

    fn explain(&self, problem: Problem, to: &Address) -> DeliveryError {
        match problem {
            Problem::NotSent(words) => DeliveryError::NotSent(words),
            Problem::Unsure(words) => DeliveryError::Unsure(words),
            Problem::TimedOut => DeliveryError::Unsure("no answer in time".into()),
            Problem::Refused { retry_after: Some(wait), .. } => self.wait(&to.conversation, wait.seconds().into()),
            Problem::Refused { code: 429, .. } => self.wait(&to.conversation, 1),
            Problem::Refused { moved: Some(now), .. } => DeliveryError::Refused(Why::Moved(now.to_string())),
            Problem::Refused { code: 500.., words, .. } => DeliveryError::Unsure(words),
            Problem::Refused { code, words, .. } => DeliveryError::Refused(why(code, words)),
        }
    }

    /// A wait concerns the conversation, unless another one was told to wait just now.
    fn wait(&self, conversation: &str, seconds: u64) -> DeliveryError {
        let now = Instant::now();
        let last = crate::lock(&self.told_to_wait).replace((conversation.to_owned(), now));
        let is_other = last.is_some_and(|(other, at)| other != conversation && now - at < SAME_LIMIT);
        let is_shared = is_other && seconds <= LONGEST_SHARED;
        let scope = if is_shared { Scope::Account } else { Scope::Conversation };
        // A little later than told: their clock and ours differ.
        DeliveryError::Wait { scope, until: SystemTime::now() + Duration::from_millis(seconds * 1_000 + 50) }
    }
}

/// The text of a part and how it is to be read: without a `body` the plain form goes, unread.
fn words(part: &Part) -> (String, Option<ParseMode>) {
    match part.body.is_empty() {
        true if part.plain.is_empty() && part.files.is_empty() => ("(no output)".into(), None),
        true => (part.plain.clone(), None),
        false => (part.body.clone(), Some(ParseMode::Html)),
    }
}

/// Topic and answered message. In a direct chat an answer needs no pointer to what it answers.
fn place(to: &Address, is_first: bool) -> Map<String, Value> {
    let mut fields = Map::new();
    let thread = to.thread.as_deref().filter(|thread| *thread != "1");
    match thread.map(|thread| (thread.strip_prefix(DIRECT_TOPIC), thread)) {
        Some((Some(topic), _)) => fields.extend(number(topic).map(|id| ("direct_messages_topic_id".to_owned(), id))),
        Some((None, thread)) => fields.extend(number(thread).map(|id| ("message_thread_id".to_owned(), id))),
        None => {}
    }
    let answered = to.reply_to.as_ref().filter(|_| is_first && !to.direct).and_then(|id| id.parse().ok());
    if let Some(id) = answered {
        let reply = ReplyParameters::new(MessageId(id)).allow_sending_without_reply();
        fields.insert("reply_parameters".into(), json!(reply));
    }
    fields
}

fn number(text: &str) -> Option<Value> {
    text.parse::<i64>().ok().map(Value::from)
}

/// A payload with further fields.
fn with(payload: &impl serde::Serialize, fields: Map<String, Value>) -> Value {
    let mut body = json!(payload);
    if let Some(body) = body.as_object_mut() {
        body.extend(fields);
    }
    body
}

fn without_preview() -> LinkPreviewOptions {
    LinkPreviewOptions {
        is_disabled: true,
        url: None,
        prefer_small_media: false,
        prefer_large_media: false,
        show_above_text: false,
    }
}

fn keyboard(part: &Part) -> Option<InlineKeyboardMarkup> {
    if part.buttons.is_empty() {
        return None;
    }
    let button = |button: &contract::Button| {
        let label = text::one_line(&button.label, LONGEST_LABEL);
        // A button without words is refused with the whole message.
        let label = if render::is_blank(&label) { "…".to_owned() } else { label };
        InlineKeyboardButton::callback(label, button.action.to_string())
    };
    let rows = part.buttons[..part.buttons.len().min(MOST_BUTTONS)]
        .chunks(BUTTONS_PER_ROW)
        .map(|row| row.iter().map(button).collect::<Vec<_>>());
    Some(InlineKeyboardMarkup::new(rows))
}

/// Only the id is read: whatever else the answer holds, the message was sent.
fn receipt(answer: &Value, kind: &str) -> Result<Receipt, Problem> {
    let id = answer["message_id"].as_i64().ok_or_else(|| Problem::Unsure("an answer without a message".into()))?;
    Ok(Receipt { message: id.to_string(), private: Opaque::new(kind).unwrap_or_default() })
}

fn message_id(receipt: &Receipt) -> Result<MessageId, DeliveryError> {
    receipt.message.parse().map(MessageId).map_err(|_| DeliveryError::Refused(Why::TooOld))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_general_topic_is_never_named_and_a_direct_chat_is_not_quoted() {
        let to = Address {
            thread: Some("1".into()),
            reply_to: Some("7".into()),
            ..Address::new(contract::Platform::Telegram, "main", "-5")
        };
        let json = |to: &Address, first| Value::Object(place(to, first)).to_string();
        let reply = r#"{"reply_parameters":{"message_id":7,"allow_sending_without_reply":true}}"#;
        assert_eq!(json(&to, true), reply);
        assert_eq!(json(&to, false), "{}");
        assert_eq!(json(&Address { direct: true, ..to.clone() }, true), "{}");
        assert_eq!(json(&Address { thread: Some("9".into()), ..to.clone() }, false), r#"{"message_thread_id":9}"#);
        assert_eq!(json(&Address { thread: Some("d9".into()), ..to }, false), r#"{"direct_messages_topic_id":9}"#);
    }

    #[test]
    fn a_wait_is_the_chats_unless_another_chat_shares_it() {
        let config = crate::Config::new("main", "7:a".into(), None);
        let telegram = Telegram::new(config).unwrap_or_else(|stopped| panic!("{stopped}"));
        let wait = |chat: &str, seconds| match telegram.wait(chat, seconds) {
            DeliveryError::Wait { scope, until } => {
                assert!(until > SystemTime::now() + Duration::from_secs(seconds - 1));
                scope
            }
            other => panic!("{other}"),
        };
        assert_eq!([wait("1", 33), wait("1", 33)], [Scope::Conversation; 2]);
        assert_eq!(wait("2", 3), Scope::Account);
        assert_eq!(wait("3", 13_938), Scope::Conversation, "hours are not the account's");
    }

    #[test]
    fn a_keyboard_is_one_that_telegram_takes() {
        let action = contract::Action::Cancel(contract::TurnId::new());
        let button = |label: &str| contract::Button { label: label.into(), action };
        let mut buttons = vec![button("  "), button(&"long ".repeat(100))];
        buttons.extend((0..200).map(|n| button(&n.to_string())));
        let part =
            Part { body: String::new(), plain: "x".into(), buttons, files: Vec::new(), audience: Audience::Everyone };
        let rows = keyboard(&part).expect("buttons").inline_keyboard;
        assert!(rows.iter().all(|row| row.len() <= BUTTONS_PER_ROW));
        assert_eq!(rows.iter().map(Vec::len).sum::<usize>(), MOST_BUTTONS);
        assert_eq!(rows[0][0].text, "…");
        assert!(rows[0][1].text.chars().count() <= LONGEST_LABEL);
        assert!(json!(rows[0][0])["callback_data"].as_str().is_some_and(|data| (1..=64).contains(&data.len())));
    }
}
