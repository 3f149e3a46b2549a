//! A running simulator, one bot, and the control side in the test's hand.

use std::sync::{Arc, Once};

use serde_json::{Value, json};
use sim::telegram::{Limits, Setup};
use sim::{Options, Running, Telegram};
use tokio_util::sync::CancellationToken;

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

pub async fn start_setup(telegram: Setup) -> Rig {
    ring();
    let stop = CancellationToken::new();
    let options = Options { telegram, ..Options::default() };
    let running = sim::serve(options, stop.clone()).await.expect("a free port on loopback");
    Rig { running, http: reqwest::Client::builder().no_proxy().build().expect("a client"), stop }
}

/// Installs what TLS needs, once.
pub fn ring() {
    static RING: Once = Once::new();
    RING.call_once(|| {
        // A second installation is refused, which is what is wanted.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

impl Rig {
    pub fn telegram(&self) -> &Arc<Telegram> {
        &self.running.sim.telegram
    }

    pub fn address(&self, method: &str) -> String {
        format!("{}/telegram/bot123456:demo/{method}", self.running.url)
    }

    /// Status and body of a request.
    pub async fn call(&self, method: &str, body: Value) -> (u16, Value) {
        let response = self.http.post(self.address(method)).json(&body).send().await.expect("an answer");
        (response.status().as_u16(), response.json().await.expect("JSON"))
    }

    /// The result of a request that must be granted.
    pub async fn ok(&self, method: &str, body: Value) -> Value {
        let (status, mut body) = self.call(method, body).await;
        assert_eq!(status, 200, "{method}: {body}");
        body["result"].take()
    }

    /// The description of a request that must be refused.
    pub async fn refusal(&self, method: &str, body: Value) -> String {
        let (status, body) = self.call(method, body).await;
        assert_eq!(body["error_code"], json!(status), "{method}: {body}");
        format!("{status} {}", body["description"].as_str().unwrap_or_default())
    }

    pub async fn control(&self, verb: &str, body: Value) -> (u16, Value) {
        let response = self.http.post(format!("{}/control/telegram/{verb}", self.running.url)).json(&body).send().await;
        let response = response.expect("an answer");
        (response.status().as_u16(), response.json().await.expect("JSON"))
    }

    pub async fn control_get(&self, path: &str) -> Value {
        let response = self.http.get(format!("{}/control/telegram/{path}", self.running.url)).send().await;
        response.expect("an answer").json().await.expect("JSON")
    }

    /// A message of a person; returns its chat and number.
    pub async fn say(&self, conversation: &str, user: &str, text: &str) -> (i64, i64) {
        let (status, said) =
            self.control("say", json!({"conversation": conversation, "user": user, "text": text})).await;
        assert_eq!(status, 200, "{said}");
        (said["chat"].as_i64().expect("a chat"), said["message"].as_i64().expect("a number"))
    }

    pub fn rules(&self) -> Vec<&'static str> {
        self.telegram().stats().violations.iter().map(|violation| violation.rule).collect()
    }

    pub async fn end(self) {
        self.stop.cancel();
        drop(self.http);
        self.running.join().await;
    }
}
