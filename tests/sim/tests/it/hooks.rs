//! Webhooks: delivered in order, again until they are taken; and several bots in one place.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::{Value, json};
use sim::telegram::{Fault, fault};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::rig::{Rig, start};

/// A program that takes updates; it answers as it is told, else 200.
struct Receiver {
    url: String,
    came: mpsc::UnboundedReceiver<(Option<String>, Value)>,
    answers: Arc<Mutex<VecDeque<u16>>>,
    task: JoinHandle<()>,
}

type Shared = (mpsc::UnboundedSender<(Option<String>, Value)>, Arc<Mutex<VecDeque<u16>>>);

async fn take(State((sender, answers)): State<Shared>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let secret = headers.get("x-telegram-bot-api-secret-token").and_then(|value| value.to_str().ok());
    let update = serde_json::from_slice(&body).expect("an update");
    sender.send((secret.map(str::to_owned), update)).expect("the test listens");
    let status = answers.lock().expect("no panic").pop_front().unwrap_or(200);
    StatusCode::from_u16(status).expect("a status")
}

impl Receiver {
    async fn new() -> Self {
        let (sender, came) = mpsc::unbounded_channel();
        let answers: Arc<Mutex<VecDeque<u16>>> = Arc::default();
        let app = Router::new().route("/hook", post(take)).with_state((sender, answers.clone()));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
        let task = tokio::spawn(async move { axum::serve(listener, app).await.expect("it serves") });
        Self { url, came, answers, task }
    }

    fn answer(&self, statuses: &[u16]) {
        self.answers.lock().expect("no panic").extend(statuses);
    }

    async fn update(&mut self) -> (Option<String>, Value) {
        let came = tokio::time::timeout(std::time::Duration::from_secs(20), self.came.recv()).await;
        came.expect("in time").expect("it runs")
    }

    async fn text(&mut self) -> String {
        self.update().await.1["message"]["text"].as_str().unwrap_or_default().to_owned()
    }
}

/// Waits until the bot's webhook info fits.
async fn info(rig: &Rig, fits: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..2_000 {
        let info = rig.ok("getWebhookInfo", json!({})).await;
        if fits(&info) {
            return info;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("never fits")
}

#[tokio::test]
async fn updates_are_posted_with_the_secret_and_again_until_they_are_taken() {
    let (rig, mut receiver) = (start().await, Receiver::new().await);
    rig.telegram().say(sim::telegram::Say::new("dm:ann", "ann", "before")).expect("said");
    rig.ok("setWebhook", json!({"url": receiver.url, "secret_token": "s-3_T", "max_connections": 2})).await;
    let (secret, update) = receiver.update().await;
    assert_eq!((secret.as_deref(), &update["message"]["text"]), (Some("s-3_T"), &json!("before")));
    receiver.answer(&[503, 500]);
    rig.say("dm:ann", "ann", "one").await;
    rig.say("dm:ann", "ann", "two").await;
    rig.say("dm:bob", "bob", "beside").await;
    let mut came = Vec::new();
    for _ in 0..5 {
        came.push(receiver.text().await);
    }
    came.retain(|text| text != "beside");
    assert_eq!(came.last().map(String::as_str), Some("two"), "a chat keeps its order: {came:?}");
    let info = info(&rig, |info| info["pending_update_count"] == 0).await;
    assert!(
        info["last_error_message"]
            .as_str()
            .is_some_and(|words| words.starts_with("Wrong response from the webhook: 50"))
    );
    assert!(info["last_error_date"].is_i64() && info["max_connections"] == 2);
    let stats = rig.telegram().stats();
    assert_eq!((stats.hooked, stats.hook_failures, stats.violation_count), (4, 2, 0));
    receiver.task.abort();
    rig.end().await;
}

#[tokio::test]
async fn a_delivery_can_be_repeated_and_its_answer_lost() {
    let (rig, mut receiver) = (start().await, Receiver::new().await);
    rig.ok("setWebhook", json!({"url": receiver.url})).await;
    rig.telegram().fault(Fault::new(fault::Kind::Duplicate)).expect("ordered");
    rig.say("dm:ann", "ann", "twice").await;
    assert_eq!([receiver.text().await, receiver.text().await], ["twice", "twice"]);
    let lost = Fault { method: Some("webhook".into()), when: fault::When::After, ..Fault::new(fault::Kind::Drop) };
    rig.telegram().fault(lost).expect("ordered");
    rig.say("dm:ann", "ann", "unsure").await;
    assert_eq!([receiver.text().await, receiver.text().await], ["unsure", "unsure"]);
    let info = info(&rig, |info| info["pending_update_count"] == 0).await;
    assert_eq!(info["last_error_message"], "Read timeout expired");
    receiver.task.abort();
    rig.end().await;
}

#[tokio::test]
async fn a_webhook_must_be_one_and_excludes_polling_while_it_is_set() {
    let rig = start().await;
    let mut told = Vec::new();
    for body in [
        json!({"url": "http://e.test/hook"}),
        json!({"url": "https://e.test/hook", "secret_token": "no blanks"}),
        json!({"url": "https://e.test/hook", "max_connections": 101}),
    ] {
        told.push(rig.refusal("setWebhook", body).await);
    }
    expect_test::expect![[r#"
        400 Bad Request: bad webhook: An HTTPS URL must be provided for webhook
        400 Bad Request: secret token contains unallowed characters
        400 Bad Request: max_connections must be from 1 to 100"#]]
    .assert_eq(&told.join("\n"));
    rig.ok("setWebhook", json!({"url": "https://e.test/hook", "allowed_updates": ["message"]})).await;
    rig.say("dm:ann", "ann", "hi").await;
    let info = info(&rig, |info| info["last_error_message"].is_string()).await;
    assert_eq!((&info["pending_update_count"], &info["allowed_updates"]), (&json!(1), &json!(["message"])));
    rig.ok("deleteWebhook", json!({})).await;
    assert_eq!(rig.ok("getUpdates", json!({})).await[0]["message"]["text"], "hi", "nothing was dropped");
    rig.end().await;
}

#[tokio::test]
async fn several_bots_share_a_group_and_have_private_chats_of_their_own() {
    let rig = start().await;
    let call = async |token: &str, method: &str, body: Value| {
        let address = format!("{}/telegram/bot{token}/{method}", rig.running.url);
        let answer: Value = rig.http.post(address).json(&body).send().await.expect("sent").json().await.expect("JSON");
        answer
    };
    assert_eq!(call("1:a", "getMe", json!({})).await["result"]["username"], "toolgate_bot");
    assert_eq!(call("2:b", "getMe", json!({})).await["result"]["username"], "bot_2_bot");
    rig.say("general", "ann", "for all").await;
    let (ann, _) = rig.say("dm:ann", "ann", "to the first").await;
    assert_eq!(rig.say("dm:ann@bot_2_bot", "ann", "to the second").await.0, ann, "a person has one id");
    let texts = async |token: &str| {
        let updates = call(token, "getUpdates", json!({})).await["result"].take();
        let texts = updates.as_array().into_iter().flatten().map(|update| update["message"]["text"].clone());
        texts.collect::<Vec<_>>()
    };
    assert_eq!(texts("1:a").await, ["for all", "to the first"]);
    assert_eq!(texts("2:b").await, ["for all", "to the second"]);
    let markup = json!({"inline_keyboard": [[{"text": "Go", "callback_data": "go"}]]});
    let sent = call("2:b", "sendMessage", json!({"chat_id": ann, "text": "second", "reply_markup": markup})).await;
    let entries = rig.telegram().transcript(Some("dm:ann@bot_2_bot"), 0);
    assert_eq!(entries.last().map(|entry| entry.text.as_str()), Some("second"));
    let message = &sent["result"]["message_id"];
    let press = json!({"conversation": "dm:ann@bot_2_bot", "user": "ann", "message": message, "button": "go"});
    assert_eq!(rig.control("press", press).await.0, 200);
    let query = call("2:b", "getUpdates", json!({"offset": -1})).await["result"][0]["callback_query"].take();
    assert_eq!(query["data"], "go");
    assert_eq!(call("1:a", "getUpdates", json!({"offset": -1})).await["result"][0]["message"]["text"], "to the first");
    let answer = json!({"callback_query_id": query["id"]});
    assert_eq!(call("1:a", "answerCallbackQuery", answer.clone()).await["error_code"], 400, "not its press");
    assert_eq!(call("2:b", "answerCallbackQuery", answer).await["ok"], true);
    let foreign = json!({"chat_id": ann, "message_id": message, "text": "x"});
    assert_eq!(call("1:a", "editMessageText", foreign).await["ok"], false);
    rig.end().await;
}

#[tokio::test]
async fn every_kind_of_file_and_an_emoji_go_their_way() {
    let rig = start().await;
    rig.ok("getUpdates", json!({"allowed_updates": ["message", "message_reaction"]})).await;
    for kind in ["document", "photo", "video", "animation", "audio", "voice", "video_note", "sticker"] {
        let file = json!({"name": format!("a.{kind}"), "kind": kind, "text": "x"});
        let say = json!({"conversation": "dm:ann", "user": "ann", "files": [file]});
        assert_eq!(rig.control("say", say).await.0, 200);
        let update = rig.ok("getUpdates", json!({"offset": -1})).await[0].take();
        let sent = &update["message"][kind];
        let id = if kind == "photo" { &sent[1]["file_id"] } else { &sent["file_id"] };
        let (method, chat) = (format!("send{}", kind.replace('_', "")), &update["message"]["chat"]["id"]);
        let again = rig.ok(&method, json!({"chat_id": chat, kind: id})).await;
        assert!(again[kind].is_array() || again[kind]["file_id"] == *id, "{again}");
        if kind == "photo" {
            let wrong = rig.refusal("sendDocument", json!({"chat_id": chat, "document": id})).await;
            assert_eq!(wrong, "400 Bad Request: can't use file of type Photo as Document");
        }
    }
    let (_, message) = rig.say("dm:ann", "ann", "like it").await;
    let react = |emoji: &str| json!({"conversation": "dm:ann", "user": "ann", "message": message, "emoji": emoji});
    rig.control("react", react("👍")).await;
    rig.control("react", react("")).await;
    let updates = rig.ok("getUpdates", json!({"offset": -2})).await;
    let (put, taken) = (&updates[0]["message_reaction"], &updates[1]["message_reaction"]);
    assert_eq!((&put["message_id"], &put["new_reaction"][0]["emoji"]), (&json!(message), &json!("👍")));
    assert_eq!((&taken["old_reaction"][0]["emoji"], &taken["new_reaction"]), (&json!("👍"), &json!([])));
    let (status, refusal) = rig.control("submit", json!({})).await;
    assert_eq!((status, refusal["error"].is_string()), (400, true));
    rig.end().await;
}
