//! Drives the clients against aimock, a stand-in for the APIs that we did not write: `tests/models/run`.
//!
//! Prints a line `ok NAME` for each thing that was shown; one that does not hold ends it.
// What does not hold is said by the panic.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use contract::{Code, Failure};
use dispatch::{
    Draft, Model,
    model::{Answer, Answered, Prompt, Said, Wish},
};
use models::{Api, Chain, Settings, key};
use secrecy::SecretString;
use serde_json::{Value, json};

const SUNNY: &str = "It is sunny in Oslo, and it rains in Rome.";

#[derive(Default)]
struct Drafts(Mutex<Vec<String>>);

impl Draft for Drafts {
    fn show(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}

/// One API at the stand-in's address.
struct Side {
    api: Api,
    url: String,
}

impl Side {
    fn settings(&self) -> Settings {
        let base_url = match self.api {
            Api::Chat => format!("{}/v1", self.url),
            Api::Ollama | Api::Anthropic | Api::Gemini => self.url.clone(),
        };
        let key = key(|| async { Ok(SecretString::from("key-of-the-test")) });
        Settings {
            base_url,
            key: Some(key),
            timeout: Duration::from_secs(8),
            idle: Duration::from_secs(2),
            ..Settings::new(self.api, "stand-in")
        }
    }

    fn scene(&self, scene: &str) -> Said {
        let text = format!("{}: {scene}", self.api.name());
        Said::Person { text, images: Vec::new() }
    }

    async fn step(&self, scene: &str) -> Result<Answer, Failure> {
        step(&Chain::new(self.settings(), Vec::new()).unwrap(), &[self.scene(scene)]).await
    }

    fn ok(&self, what: &str) {
        println!("ok {}: {what}", self.api.name());
    }
}

fn tools() -> Value {
    let tool =
        |name: &str| json!({ "name": name, "description": name, "parameters": { "type": "object", "properties": {} } });
    json!([tool("time"), tool("weather")])
}

async fn step(chain: &Chain, messages: &[Said]) -> Result<Answer, Failure> {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    let prompt = Prompt { system: "Be brief.", tools: &tools(), messages, deadline };
    chain.step(&prompt, &Drafts::default()).await
}

#[tokio::main]
async fn main() {
    let url = std::env::args().nth(1).expect("the address of the stand-in is said");
    for api in [Api::Chat, Api::Ollama, Api::Anthropic, Api::Gemini] {
        let side = Side { api, url: url.clone() };
        words(&side).await;
        calls(&side).await;
        cuts(&side).await;
        waits(&side).await;
        refusals(&side).await;
        in_its_place(&side).await;
    }
}

async fn words(side: &Side) {
    assert_eq!(side.step("words").await.unwrap().text, SUNNY);
    side.ok("an answer is streamed");
    let answer = side.step("thinking").await.unwrap();
    assert_eq!(answer.text, SUNNY);
    assert!(answer.usage.input > 0 && answer.usage.output > 0 || side.api != Api::Chat, "{:?}", answer.usage);
    side.ok("thinking is no part of it");
}

async fn calls(side: &Side) {
    let chain = Chain::new(side.settings(), Vec::new()).unwrap();
    let mut messages = vec![side.scene("parallel calls")];
    let answer = step(&chain, &messages).await.unwrap();
    let asked: Vec<_> = answer.calls.iter().map(|asked| format!("{} {}", asked.tool, asked.args)).collect();
    assert_eq!(asked, [r#"weather {"city":"Oslo"}"#, r#"weather {"city":"Rome"}"#, "time {}"]);
    side.ok("parallel calls stay apart");
    let wish = |(n, asked): (usize, &dispatch::model::Asked)| Wish {
        id: format!("call_1_{n}"),
        tool: asked.tool.clone(),
        args: serde_json::from_str(&asked.args).unwrap(),
    };
    let calls: Vec<_> = answer.calls.iter().enumerate().map(wish).collect();
    let results: Vec<_> = calls
        .iter()
        .map(|wish| Said::Result {
            call: wish.id.clone(),
            tool: wish.tool.clone(),
            content: "sunny".into(),
            failed: false,
        })
        .collect();
    messages.push(Said::Model(Answered { text: answer.text, calls, carried: answer.carried }));
    messages.extend(results);
    assert_eq!(step(&chain, &messages).await.unwrap().text, SUNNY);
    side.ok("their results are answered");
}

async fn cuts(side: &Side) {
    assert_eq!(side.step("cut once").await.unwrap().text, SUNNY);
    side.ok("a stream that is cut is asked for again");
    for scene in ["cut for ever", "hung up"] {
        let failure = side.step(scene).await.unwrap_err();
        assert_eq!(
            (failure.code, failure.to_string().as_str()),
            (Code::ModelUnavailable, "the language model's answer broke off")
        );
    }
    side.ok("what was said before the cut is no answer");
    let failure = side.step("empty").await.unwrap_err();
    assert_eq!(failure.to_string(), "the language model gave an empty answer");
    side.ok("an empty answer is none");
}

async fn waits(side: &Side) {
    assert_eq!(side.step("asked too often once").await.unwrap().text, SUNNY);
    assert_eq!(side.step("failing once").await.unwrap().text, SUNNY);
    side.ok("429 and 500 pass");
    let failure = side.step("asked too often").await.unwrap_err();
    assert_eq!(failure.retry_after, Some(Duration::from_secs(3_600)));
    side.ok("a wait that is too long is told");
    let failure = side.step("failing").await.unwrap_err();
    assert!(
        failure.cause.for_operator().contains("500, it failed on its own side"),
        "{}",
        failure.cause.for_operator()
    );
    let began = Instant::now();
    let slow = Chain::new(Settings { timeout: Duration::from_secs(1), ..side.settings() }, Vec::new()).unwrap();
    let failure = step(&slow, &[side.scene("slow")]).await.unwrap_err();
    assert_eq!(failure.to_string(), "the language model did not answer in time");
    assert!(began.elapsed() < Duration::from_secs(10));
    side.ok("a model that is slow has its time");
}

async fn refusals(side: &Side) {
    let failure = side.step("too long").await.unwrap_err();
    assert_eq!(failure.code, Code::ModelOverflow, "{}", failure.cause.for_operator());
    side.ok("a conversation that is too long is known as such");
    let wrong = key(|| async { Ok(SecretString::from("another-key")) });
    let chain = Chain::new(Settings { key: Some(wrong), ..side.settings() }, Vec::new()).unwrap();
    let failure = step(&chain, &[side.scene("words")]).await.unwrap_err();
    let cause = failure.cause.for_operator();
    assert!(cause.contains("401, it does not accept the key") && !cause.contains("another-key"), "{cause}");
    side.ok("a wrong key is told to operators");
}

async fn in_its_place(side: &Side) {
    let second = Settings { name: "second".into(), ..side.settings() };
    let gone = Settings { base_url: "http://127.0.0.1:9".into(), ..side.settings() };
    let chain = Chain::new(gone, vec![second]).unwrap();
    let answer = step(&chain, &[side.scene("words")]).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.model.as_str()), (SUNNY, "second"));
    side.ok("when one is gone the next answers");
}
