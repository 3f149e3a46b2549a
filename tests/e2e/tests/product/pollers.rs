//! Trouble with the bot's account: somebody else polls it, or its token is refused.

use serde_json::json;
use sim::telegram::Setup;

use crate::{
    database::Kind,
    world::{TOKEN, World, eventually, on_both_stores},
};

on_both_stores!(a_second_poller_is_told_of_and_outlived);

async fn a_second_poller_is_told_of_and_outlived(world: World) {
    let (gateway, team) = (world.start().await, world.chat("team"));
    gateway.shows("telegram/main", "ready").await;
    let rival = Rival::start(format!("{}/telegram/bot{TOKEN}/getUpdates", world.address()));
    let why = gateway.shows("telegram/main", "degraded").await;
    assert!(why.contains("another program polls with this token"), "{why}");
    // It does not fight: whoever was cut off last leaves the other alone for a while.
    assert_eq!(gateway.readiness().await.0, 200, "HTTP goes on");
    let polls = world.requests("getUpdates");
    let asked = team.says("/act tag=a");
    // The rival sees the update and does not confirm it.
    eventually("the rival has seen it", async || rival.saw() > 0).await;
    assert!(world.requests("getUpdates") < polls + 10, "nobody polls in a loop");
    drop(rival);
    gateway.shows("telegram/main", "ready").await;
    asked.answered_once_unmarked(&gateway).await;
    assert_eq!(world.service.count("act", "a"), 1);
}

/// Another program that polls with the same token.
struct Rival {
    task: tokio::task::JoinHandle<()>,
    saw: std::sync::Arc<std::sync::atomic::AtomicUsize>,
}

impl Rival {
    fn start(url: String) -> Self {
        let saw = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let seen = saw.clone();
        let task = tokio::spawn(async move {
            let http = reqwest::Client::builder().no_proxy().build().expect("a client without a proxy");
            loop {
                let answer = http.post(&url).json(&json!({"timeout": 50})).send().await.expect("the platform answers");
                let answer: serde_json::Value = answer.json().await.expect("JSON");
                let updates = answer["result"].as_array().map_or(0, Vec::len);
                seen.fetch_add(updates, std::sync::atomic::Ordering::Relaxed);
                if updates > 0 || answer["ok"] == false {
                    // It does not confirm, so the same would come at once.
                    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
                }
            }
        });
        Self { task, saw }
    }

    fn saw(&self) -> usize {
        self.saw.load(std::sync::atomic::Ordering::Relaxed)
    }
}

impl Drop for Rival {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test]
async fn a_refused_token_stops_the_adapter_with_steps_and_http_goes_on() {
    let setup = Setup { tokens: vec!["987654321:token-of-another-bot-entirely".into()], ..Setup::default() };
    let world = World::with(Kind::Sqlite, setup).await;
    let mut gateway = world.launch();
    gateway.is_up().await;
    let why = gateway.shows("telegram/main", "stopped").await;
    assert!(why.contains("token was refused") && why.contains("@BotFather"), "{why}");
    assert!(!gateway.log_says(TOKEN), "the token is in no log");
    let (status, answer) = gateway.post("/v1/tools/act/invoke", json!({"tag": "a"})).await;
    assert_eq!((status, world.service.count("act", "a")), (200, 1), "{answer}");
    let (status, answer) = gateway.post("/v1/messages", json!({"text": "/look tag=b"})).await;
    assert_eq!(status, 200, "{answer}");
    assert!(answer["text"].as_str().is_some_and(|text| text.contains("done: look")), "{answer}");
    assert_eq!(world.requests("getMe") + world.requests("getUpdates"), 0, "no method was reached");
    gateway.terminate();
    assert_eq!(gateway.ended().await.code(), Some(0));
}
