//! The people's side of a simulator, over its control side: the same words on every platform.

use std::time::{Duration, Instant};

use contract::Platform;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

/// How long something may take to be seen.
pub const SOON: Duration = Duration::from_secs(10);

/// One thing that happened in a conversation, as a person sees it.
#[derive(Debug, Clone, Deserialize)]
pub struct Entry {
    pub n: u64,
    #[serde(default)]
    pub conversation: String,
    /// The platform's id of the conversation.
    #[serde(default, deserialize_with = "id")]
    pub chat: Option<String>,
    pub by: String,
    #[serde(default)]
    pub user: Option<String>,
    /// `message`, `edit`, `delete`, `typing`, `draft`, `reaction`, `private`, `modal`, `status`.
    pub kind: String,
    #[serde(default, deserialize_with = "id")]
    pub message: Option<String>,
    #[serde(default)]
    pub text: String,
    /// Who alone sees it.
    #[serde(default)]
    pub to: Option<String>,
    #[serde(default, deserialize_with = "id")]
    pub thread: Option<String>,
    #[serde(default, deserialize_with = "id")]
    pub reply_to: Option<String>,
    #[serde(default)]
    pub mentions: u64,
    #[serde(default)]
    pub buttons: Vec<Seen>,
    #[serde(default)]
    pub files: Vec<Value>,
    #[serde(default)]
    pub payload: Value,
}

/// A button as it is seen.
#[derive(Debug, Clone, Deserialize)]
pub struct Seen {
    pub id: String,
    pub text: String,
}

/// Platforms write ids as numbers or as text.
fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    })
}

impl Entry {
    pub fn is_bot(&self) -> bool {
        self.by == "bot"
    }

    /// What a person reads of the bot: a message, its newest text, or something for one person.
    pub fn is_said(&self) -> bool {
        self.is_bot() && matches!(self.kind.as_str(), "message" | "edit" | "private")
    }

    /// What grows, be it a message or what leaves none.
    pub fn is_growing(&self) -> bool {
        self.is_said() || self.is_bot() && self.kind == "draft"
    }

    pub fn button(&self, text: &str) -> &Seen {
        let found = self.buttons.iter().find(|button| button.text == text);
        found.unwrap_or_else(|| panic!("no button '{text}' in {self:?}"))
    }
}

/// Persons on a platform.
#[derive(Clone)]
pub struct People {
    pub platform: Platform,
    client: reqwest::Client,
    base: String,
}

impl People {
    pub fn new(platform: Platform, simulators: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self { platform, client: reqwest::Client::new(), base: format!("{simulators}/control/{platform}") }
    }

    /// What the control side answers; a refusal fails the test.
    pub async fn post(&self, verb: &str, body: Value) -> Value {
        let (status, answer) = self.try_post(verb, body.clone()).await;
        assert!((200..300).contains(&status), "{verb} {body}: {status} {answer}");
        answer
    }

    pub async fn try_post(&self, verb: &str, body: Value) -> (u16, Value) {
        let url = format!("{}/{verb}", self.base);
        let answer = self.client.post(url).json(&body).send().await.expect("the simulator answers");
        let status = answer.status().as_u16();
        (status, answer.json().await.unwrap_or_default())
    }

    pub async fn get(&self, path: &str) -> Value {
        let answer = self.client.get(format!("{}/{path}", self.base)).send().await.expect("the simulator answers");
        answer.json().await.expect("the simulator answers JSON")
    }

    /// Says something; the message's id.
    pub async fn say(&self, conversation: &str, user: &str, text: &str) -> String {
        self.say_with(conversation, user, text, json!({})).await
    }

    /// With further fields: `thread`, `reply_to`, `files`, `mention`, `bot`.
    pub async fn say_with(&self, conversation: &str, user: &str, text: &str, more: Value) -> String {
        let mut body = json!({ "conversation": conversation, "user": user, "text": text });
        if let (Some(body), Value::Object(more)) = (body.as_object_mut(), more) {
            body.extend(more);
        }
        if body["bot"] != true {
            body["text"] = json!(self.spelled(conversation, text, body["mention"] == true));
        }
        text_of(&self.post("say", body).await["message"])
    }

    /// How a person writes a command into a message. Slack's clients send none that begins with a slash: in a direct
    /// conversation the tool's name does without, elsewhere and before further commands a blank makes a message of it.
    fn spelled(&self, conversation: &str, text: &str, mention: bool) -> String {
        match text.strip_prefix('/').filter(|_| self.platform == Platform::Slack) {
            // The bot's name stands before the slash, unless somebody is named in the text.
            Some(_) if mention && !text.contains('@') => text.to_owned(),
            Some(command) if !mention && conversation.starts_with("dm:") && !command.contains('\n') => {
                command.to_owned()
            }
            Some(_) => format!(" {text}"),
            None => text.to_owned(),
        }
    }

    /// A command with its slash, whether there is such a tool or not: without the slash only a tool's name is a command.
    pub async fn say_slashed(&self, conversation: &str, user: &str, text: &str) -> String {
        let blank = if self.platform == Platform::Slack { " " } else { "" };
        self.say(conversation, user, &format!("{blank}{text}")).await
    }

    /// An answer to a message.
    pub async fn say_to(&self, conversation: &str, user: &str, text: &str, message: &str) -> String {
        self.say_with(conversation, user, text, json!({ "reply_to": as_id(message) })).await
    }

    /// In a group, addressing the bot.
    pub async fn mention(&self, conversation: &str, user: &str, text: &str) -> String {
        self.say_with(conversation, user, text, json!({ "mention": true })).await
    }

    /// A command of the platform's own kind.
    pub async fn command(&self, conversation: &str, user: &str, name: &str, args: Value) -> Value {
        let (status, answer) = self.try_command(conversation, user, name, args).await;
        assert!((200..300).contains(&status), "{name}: {status} {answer}");
        answer
    }

    /// The same where the platform may refuse it.
    pub async fn try_command(&self, conversation: &str, user: &str, name: &str, args: Value) -> (u16, Value) {
        // In Slack an app's one command takes the tools' names.
        let name = if self.platform == Platform::Slack { format!("toolgate {name}") } else { name.to_owned() };
        let body = json!({ "conversation": conversation, "user": user, "name": name, "args": args });
        self.try_post("command", body).await
    }

    pub async fn press(&self, user: &str, entry: &Entry, button: &str) -> Value {
        let id = &entry.button(button).id;
        let message = entry.message.clone().expect("what has a button is a message");
        let body =
            json!({ "conversation": entry.conversation, "user": user, "message": as_id(&message), "button": id });
        self.post("press", body).await
    }

    pub async fn edit(&self, conversation: &str, user: &str, message: &str, text: &str) {
        let body = json!({ "conversation": conversation, "user": user, "message": as_id(message), "text": text });
        self.post("edit", body).await;
    }

    pub async fn fault(&self, fault: Value) {
        self.post("fault", fault).await;
    }

    pub async fn transcript(&self, conversation: &str) -> Vec<Entry> {
        let answer = self.get(&format!("transcript?conversation={}", encoded(conversation))).await;
        serde_json::from_value(answer["entries"].clone()).unwrap_or_else(|cause| panic!("{cause}: {answer}"))
    }

    /// Waits for something of the bot.
    pub async fn sees(&self, conversation: &str, fits: impl Fn(&Entry) -> bool) -> Entry {
        let until = Instant::now() + SOON;
        loop {
            let entries = self.transcript(conversation).await;
            if let Some(entry) = entries.iter().find(|entry| entry.is_bot() && fits(entry)) {
                return entry.clone();
            }
            assert!(Instant::now() < until, "not seen in {conversation} of {}: {entries:#?}", self.platform);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits for words of the bot.
    pub async fn reads(&self, conversation: &str, words: &str) -> Entry {
        self.sees(conversation, |entry| entry.is_said() && entry.text.contains(words)).await
    }

    /// What the bot posted in a conversation, in order, as it stands now: edits replaced, deletions gone.
    pub async fn chat(&self, conversation: &str) -> Vec<Entry> {
        let mut shown: Vec<Entry> = Vec::new();
        for entry in self.transcript(conversation).await.into_iter().filter(Entry::is_bot) {
            match entry.kind.as_str() {
                "message" | "private" => shown.push(entry),
                "edit" => {
                    if let Some(old) = shown.iter_mut().find(|old| old.message == entry.message) {
                        *old = entry;
                    } else {
                        shown.push(entry);
                    }
                }
                "delete" => shown.retain(|old| old.message != entry.message),
                _ => {}
            }
        }
        shown
    }

    pub async fn stats(&self) -> Value {
        self.get("stats").await
    }

    /// Nobody was pinged, and the platform found nothing to blame.
    pub async fn is_content(&self) {
        self.is_content_but_for(&[]).await;
    }

    /// The same, but for rules that were broken on purpose.
    pub async fn is_content_but_for(&self, rules: &[&str]) {
        let stats = self.stats().await;
        let violations = stats["violations"].as_array().cloned().unwrap_or_default();
        let is_known = |one: &&Value| rules.iter().any(|rule| one["rule"] == *rule);
        let blamed: Vec<&Value> = violations.iter().filter(|one| !is_known(one)).collect();
        assert!(blamed.is_empty(), "{}: {blamed:#?}", self.platform);
        assert_eq!(stats["mentions"].as_u64().unwrap_or_default(), 0, "{}: somebody was pinged", self.platform);
    }

    /// Puts an emoji on a message.
    pub async fn react(&self, conversation: &str, user: &str, message: &str, emoji: &str) {
        let body = json!({ "conversation": conversation, "user": user, "message": as_id(message), "emoji": emoji });
        self.post("react", body).await;
    }

    /// Hands any event to the bot; whether the platform could.
    pub async fn raw(&self, event: Value) -> bool {
        self.try_post("raw", json!({ "event": event })).await.0 == 200
    }

    /// Makes a conversation, or changes what it is.
    pub async fn conversation(&self, more: Value) {
        self.post("conversation", more).await;
    }

    /// All that the bot said in all conversations, as it was received: for what must not be in it.
    pub async fn everything(&self) -> String {
        let answer = self.get("transcript").await;
        let entries = answer["entries"].as_array().cloned().unwrap_or_default();
        entries.iter().filter(|entry| entry["by"] == "bot").map(Value::to_string).collect()
    }

    /// The newest state of what the bot posted, once it has so many messages there; none comes beside them in a moment.
    pub async fn settled(&self, conversation: &str, count: usize) -> Vec<Entry> {
        let until = Instant::now() + SOON;
        loop {
            let chat = self.chat(conversation).await;
            if chat.len() >= count {
                break;
            }
            assert!(
                Instant::now() < until,
                "{} of {count} in {conversation} of {}: {chat:#?}",
                chat.len(),
                self.platform
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        tokio::time::sleep(Duration::from_millis(150)).await;
        let chat = self.chat(conversation).await;
        assert_eq!(chat.len(), count, "in {conversation} of {}: {chat:#?}", self.platform);
        chat
    }

    /// The bytes of a file that somebody sees.
    pub async fn file(&self, file: &Value) -> Vec<u8> {
        let id = text_of(&file["id"]);
        let url = format!("{}/file?id={}", self.base, encoded(&id));
        let answer = self.client.get(url).send().await.expect("the simulator answers");
        answer.bytes().await.expect("the file is there").to_vec()
    }
}

/// An id as the platform's control side takes it.
pub(crate) fn as_id(id: &str) -> Value {
    id.parse::<i64>().map_or_else(
        |_| Value::from(id),
        |number| match id.len() {
            // Telegram's are small numbers; Discord's are text, since they are too large for a number of JavaScript.
            1..=12 => Value::from(number),
            _ => Value::from(id),
        },
    )
}

fn text_of(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}

fn encoded(text: &str) -> String {
    text.bytes()
        .map(|b| if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect()
}
