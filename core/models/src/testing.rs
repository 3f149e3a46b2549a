//! A server that says what a test tells it to, byte for byte, and keeps what it was asked.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use dispatch::{
    Draft,
    model::{Answer, Image, Prompt, Said},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::Instant,
};

use crate::{Api, Settings};

/// What the server does with a connection, in order; then it closes it.
#[derive(Debug, Clone)]
pub enum Act {
    Say(Vec<u8>),
    Pause(Duration),
    /// Says it again and again, every 20 ms, until the other side hangs up.
    ForEver(&'static str),
    Hang,
}

pub type Reply = Vec<Act>;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Asked {
    pub path: String,
    pub head: String,
    pub body: Value,
}

pub struct Server {
    pub url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    task: JoinHandle<()>,
}

impl Server {
    /// Gives each request the next reply; the last one again and again.
    pub async fn new(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = asked.clone();
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            let mut replies = replies.into_iter().peekable();
            while let Ok((stream, _)) = listener.accept().await {
                let reply = replies.next().unwrap_or_default();
                if replies.peek().is_none() {
                    replies = vec![reply.clone()].into_iter().peekable();
                }
                connections.spawn(serve(stream, reply, kept.clone()));
            }
        });
        Self { url, asked, task }
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub fn settings(&self, api: Api) -> Settings {
        Settings {
            base_url: self.url.clone(),
            timeout: Duration::from_secs(5),
            idle: Duration::from_millis(300),
            ..Settings::new(api, "small")
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, reply: Reply, asked: Arc<Mutex<Vec<Asked>>>) {
    let mut bytes = Vec::new();
    let head = loop {
        let mut piece = [0; 4096];
        let Ok(read @ 1..) = stream.read(&mut piece).await else { return };
        bytes.extend_from_slice(&piece[..read]);
        if let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            break String::from_utf8_lossy(&bytes.drain(..end + 4).collect::<Vec<_>>()).to_lowercase();
        }
    };
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok()).unwrap_or(0);
    let mut body = bytes;
    while body.len() < length {
        let mut piece = [0; 65_536];
        let Ok(read @ 1..) = stream.read(&mut piece).await else { return };
        body.extend_from_slice(&piece[..read]);
    }
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let body = serde_json::from_slice(&body).unwrap_or_default();
    asked.lock().unwrap().push(Asked { path, head, body });
    for act in reply {
        match act {
            Act::Say(bytes) => drop(stream.write_all(&bytes).await),
            Act::Pause(time) => tokio::time::sleep(time).await,
            Act::ForEver(text) => {
                while stream.write_all(text.as_bytes()).await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
            Act::Hang => std::future::pending().await,
        }
    }
    let _ = stream.shutdown().await;
}

/// The head of a stream that ends where the connection does.
pub fn stream(text: impl Into<String>) -> Act {
    let mut out = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_vec();
    out.extend_from_slice(text.into().as_bytes());
    Act::Say(out)
}

/// A whole answer of a status.
pub fn status(code: u16, headers: &str, body: &str) -> Reply {
    let text =
        format!("HTTP/1.1 {code} X\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}", body.len());
    vec![Act::Say(text.into_bytes())]
}

/// Events of a chat-completions stream.
pub fn events(deltas: &[Value]) -> String {
    deltas.iter().map(|delta| format!("data: {delta}\n\n")).collect()
}

/// An event of a chat-completions stream.
pub fn delta(delta: Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

pub fn finish(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

/// An answer with these words.
pub fn says(text: &str) -> Reply {
    vec![stream(events(&[delta(json!({ "content": text })), finish("stop")]) + "data: [DONE]\n\n")]
}

/// Keeps every draft.
#[derive(Debug, Default)]
pub struct Drafts(Mutex<Vec<String>>);

impl Drafts {
    pub fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Draft for Drafts {
    fn show(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}

/// Two tools.
pub fn tools() -> Value {
    let tool = |name: &str, parameter: &str| {
        let parameters = json!({ "type": "object", "properties": { parameter: { "type": "string" } } });
        json!({ "name": name, "description": "It tells.", "parameters": parameters })
    };
    json!([tool("time", "zone"), tool("weather", "city")])
}

pub fn person(text: &str) -> Said {
    Said::Person { text: text.into(), images: Vec::<Image>::new() }
}

pub fn prompt<'a>(tools: &'a Value, messages: &'a [Said]) -> Prompt<'a> {
    Prompt { system: "Be kind.", tools, messages, deadline: Instant::now() + Duration::from_secs(10) }
}

/// An answer in few lines.
pub fn shown(answer: &Answer) -> String {
    let mut out = format!("{:?} {:?}\n", answer.text, answer.stopped);
    for asked in &answer.calls {
        out.push_str(&format!("{} {}\n", asked.tool, asked.args));
    }
    out
}
