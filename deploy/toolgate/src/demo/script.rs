//! The demo's language model, which is none: a server on loopback that speaks chat-completions and answers by a few rules,
//! so that turns with a model can be seen without a key. It says of itself that it is a script.
//!
//! [`rules`] decides what comes next, from nothing but the conversation that it is sent; `words` reads what was asked.

mod rules;
mod words;

use std::{convert::Infallible, net::SocketAddr, time::Duration};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::DefaultBodyLimit,
    http::header,
    response::{IntoResponse, Response},
    routing::post,
};
use futures_util::{Stream, StreamExt, stream};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use rules::Next;

/// As it is called wherever a model's name is shown.
pub const NAME: &str = "scripted model, no AI";
/// Between two words: slow enough to be seen growing, fast enough not to be waited for.
const PACE: Duration = Duration::from_millis(15);
/// The same where one is to see it.
const SLOW_PACE: Duration = Duration::from_millis(70);
/// A conversation is far shorter.
const MOST_BYTES: usize = 16 << 20;

/// The running server. It ends when this is dropped or stopped.
pub struct Script {
    address: SocketAddr,
    end: CancellationToken,
    server: JoinHandle<std::io::Result<()>>,
}

impl Script {
    /// Starts on a free port of 127.0.0.1.
    pub async fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let end = CancellationToken::new();
        let router =
            Router::new().route("/v1/chat/completions", post(complete)).layer(DefaultBodyLimit::max(MOST_BYTES));
        // Owned by the value returned here: `stop` awaits it, dropping it ends it.
        let server = tokio::spawn(
            axum::serve(listener, router).with_graceful_shutdown(end.clone().cancelled_owned()).into_future(),
        );
        Ok(Self { address, end, server })
    }

    /// How the gateway asks it.
    pub fn settings(&self) -> models::Settings {
        models::Settings {
            base_url: format!("http://{}/v1", self.address),
            ..models::Settings::new(models::Api::Chat, NAME)
        }
    }

    /// Lets the answers under way end.
    pub async fn stop(mut self) {
        self.end.cancel();
        // It has nothing to tell at its end: it was asked to.
        let _ = (&mut self.server).await;
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

async fn complete(Json(asked): Json<Value>) -> Response {
    let events = stream::iter(deltas(&rules::next(&asked)))
        .then(|(delta, pause)| async move {
            tokio::time::sleep(pause).await;
            event(&json!({ "object": "chat.completion.chunk", "model": NAME, "choices": [{ "index": 0, "delta": delta }] }))
        })
        .chain(stream::iter([
            event(&json!({ "object": "chat.completion.chunk", "model": NAME, "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] })),
            Bytes::from_static(b"data: [DONE]\n\n"),
        ]));
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(without_errors(events))).into_response()
}

fn without_errors(events: impl Stream<Item = Bytes>) -> impl Stream<Item = Result<Bytes, Infallible>> {
    events.map(Ok)
}

fn event(value: &Value) -> Bytes {
    format!("data: {value}\n\n").into()
}

/// What is said piece by piece, and how long before each.
fn deltas(next: &Next) -> Vec<(Value, Duration)> {
    let pace = if next.slowly { SLOW_PACE } else { PACE };
    let mut out: Vec<_> = pieces(&next.text).map(|piece| (json!({ "content": piece }), pace)).collect();
    out.extend(next.calls.iter().enumerate().map(|(n, (tool, args))| {
        let function = json!({ "name": tool, "arguments": args.to_string() });
        (json!({ "tool_calls": [{ "index": n, "id": format!("call_{n}"), "type": "function", "function": function }] }), Duration::ZERO)
    }));
    out
}

/// Words with the space behind them; of a text without spaces a few characters each.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    let mut out = vec![String::new()];
    for c in text.chars() {
        let last = out.last_mut().expect("it is never empty");
        last.push(c);
        if c.is_whitespace() || last.chars().count() >= 8 {
            out.push(String::new());
        }
    }
    out.into_iter().filter(|piece| !piece.is_empty())
}

#[cfg(test)]
mod tests;
