//! A running local Discord, one bot at its API and its gateway, and the control side in the test's hand.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use sim::discord::{Limits, Setup};
use sim::{Discord, Options, Running};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};
use tokio_util::sync::CancellationToken;

/// Guilds, members, messages, reactions, typing, direct ones, content.
pub const INTENTS: u64 = 1 | 1 << 1 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 15;
pub const TOKEN: &str = "MTIzNDU2Nzg5MDEyMzQ1Njc4.a.b";
pub const BOT: &str = "123456789012345678";

pub struct Rig {
    pub running: Running,
    pub http: reqwest::Client,
    pub stop: CancellationToken,
}

pub async fn start() -> Rig {
    start_with(Limits::none()).await
}

pub async fn start_with(limits: Limits) -> Rig {
    start_setup(Setup { limits, ..Setup::default() }).await
}

pub async fn start_setup(discord: Setup) -> Rig {
    crate::rig::ring();
    let stop = CancellationToken::new();
    let options = Options { discord, ..Options::default() };
    let running = sim::serve(options, stop.clone()).await.expect("a free port on loopback");
    let http = reqwest::Client::builder().no_proxy().user_agent("DiscordBot (https://e.test, 1)");
    Rig { running, http: http.build().expect("a client"), stop }
}

impl Rig {
    pub fn discord(&self) -> &Discord {
        &self.running.sim.discord
    }

    /// Status and body of a request; `call` is such as `POST channels/1/messages`.
    pub async fn call(&self, call: &str, body: Value) -> (u16, Value) {
        let (status, body, _) = self.whole(call, body).await;
        (status, body)
    }

    pub async fn whole(&self, call: &str, body: Value) -> (u16, Value, reqwest::header::HeaderMap) {
        let (verb, path) = call.split_once(' ').expect("a verb and a path");
        let address = format!("{}/discord/api/v10/{path}", self.running.url);
        let mut request = self.http.request(verb.parse().expect("a verb"), address);
        if !path.starts_with("interactions/") && !path.starts_with("webhooks/") {
            request = request.header("authorization", format!("Bot {TOKEN}"));
        }
        if !body.is_null() {
            request = request.json(&body);
        }
        let response = request.send().await.expect("an answer");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let bytes = response.bytes().await.expect("a body");
        (status, serde_json::from_slice(&bytes).unwrap_or_default(), headers)
    }

    /// The answer to a request that must be granted.
    pub async fn ok(&self, call: &str, body: Value) -> Value {
        let (status, answer) = self.call(call, body).await;
        assert!((200..300).contains(&status), "{call}: {status} {answer}");
        answer
    }

    /// Status, code and message of a request that must be refused.
    pub async fn refusal(&self, call: &str, body: Value) -> String {
        let (status, answer) = self.call(call, body).await;
        assert!(status >= 400, "{call}: {status} {answer}");
        format!("{status} {} {}", answer["code"], answer["message"].as_str().unwrap_or_default())
    }

    pub async fn control(&self, verb: &str, body: Value) -> (u16, Value) {
        let address = format!("{}/control/discord/{verb}", self.running.url);
        let response = self.http.post(address).json(&body).send().await.expect("an answer");
        (response.status().as_u16(), response.json().await.expect("JSON"))
    }

    /// The answer of the control side to something that must be granted.
    pub async fn act(&self, verb: &str, body: Value) -> Value {
        let (status, answer) = self.control(verb, body).await;
        assert_eq!(status, 200, "{verb}: {answer}");
        answer
    }

    pub async fn control_get(&self, path: &str) -> Value {
        let response = self.http.get(format!("{}/control/discord/{path}", self.running.url)).send().await;
        response.expect("an answer").json().await.expect("JSON")
    }

    /// A message of a person; returns its channel and number.
    pub async fn say(&self, conversation: &str, user: &str, text: &str) -> (String, String) {
        let said = self.act("say", json!({"conversation": conversation, "user": user, "text": text})).await;
        let text = |field: &str| said[field].as_str().expect("an id").to_owned();
        (text("chat"), text("message"))
    }

    /// The newest entry of a conversation.
    pub fn last(&self, conversation: &str) -> sim::discord::Entry {
        self.discord().transcript(Some(conversation), 0).pop().expect("an entry")
    }

    /// The rules that were broken, in order.
    pub fn rules(&self) -> Vec<&'static str> {
        self.discord().stats().violations.iter().map(|violation| violation.rule).collect()
    }

    /// A socket that has been greeted.
    pub async fn socket(&self, query: &str) -> Socket {
        self.socket_at(&format!("{}/discord/gateway/{query}", self.running.url.replace("http", "ws"))).await
    }

    pub async fn socket_at(&self, address: &str) -> Socket {
        let (stream, _) = connect_async(address).await.expect("a socket");
        let mut socket = Socket { stream };
        let hello = socket.next().await.expect("a greeting");
        assert_eq!(hello["op"], 10, "{hello}");
        socket
    }

    /// A session that has heard of its guilds, and its READY.
    pub async fn online(&self) -> (Socket, Value) {
        let mut socket = self.socket("?v=10&encoding=json").await;
        socket.identify(json!({})).await;
        let ready = socket.event("READY").await;
        socket.event("GUILD_CREATE").await;
        (socket, ready)
    }

    pub async fn end(self) {
        self.stop.cancel();
        drop(self.http);
        self.running.join().await;
    }
}

/// A client's side of the gateway.
pub struct Socket {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

/// How a socket ended: with a code, a frame without one, or nothing.
#[derive(Debug, PartialEq)]
pub enum Ended {
    Code(u16),
    NoCode,
    Cut,
}

impl Socket {
    pub async fn frame(&mut self) -> Result<Message, Ended> {
        match self.stream.next().await {
            Some(Ok(Message::Close(frame))) => Err(frame.map_or(Ended::NoCode, |frame| Ended::Code(frame.code.into()))),
            Some(Ok(frame)) => Ok(frame),
            Some(Err(_)) | None => Err(Ended::Cut),
        }
    }

    pub async fn next(&mut self) -> Result<Value, Ended> {
        let frame = self.frame().await?;
        Ok(serde_json::from_str(frame.to_text().expect("text")).expect("JSON"))
    }

    /// The data of the next event of a name; others are passed over.
    pub async fn event(&mut self, name: &str) -> Value {
        loop {
            let mut frame = self.next().await.unwrap_or_else(|ended| panic!("{name}: {ended:?}"));
            if frame["t"] == name {
                return frame["d"].take();
            }
        }
    }

    /// The next frame with an operation.
    pub async fn op(&mut self, op: u64) -> Value {
        loop {
            let frame = self.next().await.unwrap_or_else(|ended| panic!("{op}: {ended:?}"));
            if frame["op"] == op {
                return frame;
            }
        }
    }

    pub async fn send(&mut self, op: u64, data: Value) {
        self.text(json!({"op": op, "d": data}).to_string()).await;
    }

    pub async fn text(&mut self, text: String) {
        self.stream.send(Message::text(text)).await.expect("sent");
    }

    /// Identifies with what a client says, changed as wanted.
    pub async fn identify(&mut self, changes: Value) {
        let mut data = json!({"token": TOKEN, "intents": INTENTS, "properties": {"os": "linux", "browser": "test", "device": "test"}});
        for (field, value) in changes.as_object().into_iter().flatten() {
            data[field] = value.clone();
        }
        self.send(2, data).await;
    }

    pub async fn resume(&mut self, session: &Value, seq: u64) {
        self.send(6, json!({"token": TOKEN, "session_id": session, "seq": seq})).await;
    }

    /// How it ends; what comes before is passed over.
    pub async fn ended(&mut self) -> Ended {
        loop {
            if let Err(ended) = self.frame().await {
                return ended;
            }
        }
    }

    /// Closes with a code, or breaks off.
    pub async fn close(mut self, code: Option<u16>) {
        if let Some(code) = code {
            let frame = tokio_tungstenite::tungstenite::protocol::CloseFrame { code: code.into(), reason: "".into() };
            // The other side may have gone first.
            let _ = self.stream.close(Some(frame)).await;
            self.ended().await;
        }
    }
}
