//! Discord and Slack before the real binary, over sockets and over HTTP: killed, asked to leave, knocked at by strangers.
//!
//! People act through the simulators' control side, as a program of theirs would.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
};

use serde_json::{Value, json};

use crate::{
    gateway::Gateway,
    world::{World, eventually, on_both_stores},
};

on_both_stores!(
    what_a_kill_interrupts_is_answered_once,
    an_answer_that_was_on_its_way_is_not_repeated_in_silence,
    buttons_of_an_earlier_life_work,
    asked_to_leave_it_answers_the_commands_that_run,
    over_http_nothing_opens_but_what_is_signed,
);

/// What must be read nowhere but where an operator wrote it. The last one is what the simulator signs with.
const SECRETS: [(&str, &str); 5] = [
    ("discord", "MTIzNDU2Nzg5MDEyMzQ1Njc4.SECRET.of-the-discord-bot"),
    ("slack-bot", "xoxb-1-SECRET-of-the-slack-bot"),
    ("slack-app", "xapp-1-A1-SECRET-of-the-slack-app"),
    ("webhook", "SECRET_of_the_webhook"),
    ("signing", "8f742231b10e8888abcd99yyyzzz85a5"),
];
const MARK: &str = "(you may have received this already)";
const PROGRESS: &str = "Working on it";
const BOTH: [&str; 2] = ["discord", "slack"];

/// How events reach the gateway.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Sockets,
    Http,
}

/// A world with all platforms in it.
pub struct Platforms {
    pub world: World,
    http: reqwest::Client,
    /// Where the gateway listens.
    url: String,
}

impl Platforms {
    pub async fn new(world: World, way: Way) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("an address").port();
        let url = format!("http://127.0.0.1:{port}");
        for (name, secret) in SECRETS {
            world.write(name, secret);
        }
        let (sim, folder) = (world.address(), world.folder.path().display());
        let slack = match way {
            Way::Sockets => format!("app_token: \"file:{folder}/slack-app\""),
            Way::Http => format!("mode: events, signing_secret: \"file:{folder}/signing\""),
        };
        let telegram = match way {
            Way::Sockets => String::new(),
            Way::Http => {
                format!(
                    ", mode: webhook, webhook: {{ url: \"{url}/hooks/telegram/main\", secret: \"file:{folder}/webhook\" }}"
                )
            }
        };
        let configuration = format!(
            "listen: 127.0.0.1:{port}\nstore: \"{}\"\ntools: [tools]\npolicies: policies\nplatforms:\n  \
             telegram: {{ token: \"env:TELEGRAM_TOKEN\", api_url: \"{sim}/telegram\"{telegram} }}\n  \
             discord: {{ token: \"file:{folder}/discord\", api_url: \"{sim}/discord\" }}\n  \
             slack: {{ bot_token: \"file:{folder}/slack-bot\", {slack}, api_url: \"{sim}/slack/api\" }}\n\
             limits: {{ drain: 10s }}\nlog: {{ level: debug, format: json }}\n",
            world.database.url(),
        );
        world.write("toolgate.yaml", &configuration);
        for platform in BOTH {
            world.write(&format!("policies/{platform}.yaml"), &crate::world::POLICY.replace("telegram", platform));
        }
        let http = reqwest::Client::builder().no_proxy().build().expect("a client");
        let platforms = Self { world, http, url };
        let quick = json!({"route_requests": 0, "global_per_second": 0, "identify_seconds": 0});
        platforms.control("discord", "limits", quick).await;
        platforms
            .control(
                "slack",
                "limits",
                json!({"message_per_second": 0, "tier1": 0, "tier2": 0, "tier3": 0, "tier4": 0,
            "retry_second": 0.5, "retry_third": 2}),
            )
            .await;
        platforms
    }

    /// The gateway, connected everywhere.
    pub async fn start(&self) -> Gateway {
        let gateway = self.world.start().await;
        for part in ["discord/main", "slack/main", "telegram/main"] {
            gateway.shows(part, "ready").await;
        }
        gateway
    }

    async fn control(&self, platform: &str, verb: &str, body: Value) -> Value {
        let url = format!("{}/control/{platform}/{verb}", self.world.address());
        let answer = self.http.post(url).json(&body).send().await.expect("the simulator answers");
        let status = answer.status();
        let said: Value = answer.json().await.expect("it answers in JSON");
        assert!(status.is_success(), "{platform} {verb}: {said}");
        said
    }

    /// A message; in Slack one that begins with a slash has a blank before it, since it would be a command else.
    async fn says(&self, platform: &str, text: &str) {
        let text = if platform == "slack" { format!(" {text}") } else { text.to_owned() };
        self.control(platform, "say", json!({"conversation": "general", "user": "ann", "text": text})).await;
    }

    /// The platform's own way to call a tool with a tag.
    async fn commands(&self, platform: &str, tool: &str, tag: &str) {
        let mut command = json!({"conversation": "general", "user": "ann", "name": tool, "args": {"tag": tag}});
        if platform == "slack" {
            command["name"] = json!("toolgate");
            command["args"] = json!(format!("{tool} tag={tag}"));
        }
        self.control(platform, "command", command).await;
    }

    /// The platform's id of a conversation; it is there from then on.
    pub async fn conversation(&self, platform: &str, name: &str) -> String {
        let said = self.control(platform, "conversation", json!({ "name": name })).await;
        said["chat"].as_str().map_or_else(|| said["chat"].to_string(), str::to_owned)
    }

    async fn stats(&self, platform: &str) -> Value {
        let url = format!("{}/control/{platform}/stats", self.world.address());
        self.http.get(url).send().await.expect("the simulator answers").json().await.expect("it answers in JSON")
    }

    async fn entries(&self, platform: &str) -> Vec<Value> {
        let url = format!("{}/control/{platform}/transcript?conversation=general", self.world.address());
        let answer = self.http.get(url).send().await.expect("the simulator answers");
        let mut said: Value = answer.json().await.expect("it answers in JSON");
        said["entries"].as_array_mut().map(std::mem::take).unwrap_or_default()
    }

    /// What the bot wrote, as it stands now.
    async fn shown(&self, platform: &str) -> Vec<Value> {
        let mut shown = BTreeMap::new();
        for entry in self.entries(platform).await {
            let message = entry["message"].as_str().map_or_else(|| entry["n"].to_string(), str::to_owned);
            match entry["kind"].as_str() {
                _ if entry["by"] != "bot" => {}
                Some("message" | "private" | "edit") => drop(shown.insert(message, entry)),
                Some("delete") => drop(shown.remove(&message)),
                _ => {}
            }
        }
        shown.into_values().collect()
    }

    /// Waits for what the bot wrote with these words in it.
    async fn sees(&self, platform: &str, words: &str) -> Value {
        let mut found = None;
        eventually(&format!("{platform} shows '{words}'"), async || {
            found = self.shown(platform).await.into_iter().find(|entry| text(entry).contains(words));
            found.is_some()
        })
        .await;
        found.expect("it was waited for")
    }

    /// Waits until all is quiet, then looks: one answer with these words, and repeats only where they say that they are.
    pub async fn answered_once(&self, gateway: &Gateway, platform: &str, words: &str) {
        self.sees(platform, words).await;
        gateway.idles().await;
        let shown = self.shown(platform).await;
        let answers: Vec<&str> = shown.iter().map(text).filter(|said| said.contains(words)).collect();
        let repeats = answers.iter().filter(|said| said.starts_with(MARK)).count();
        assert!(answers.len() - repeats <= 1 && repeats <= 1, "{platform}: {answers:#?}");
        assert!(!shown.iter().any(|entry| text(entry).starts_with(PROGRESS)), "{platform}: {shown:#?}");
    }

    /// No secret is in a transcript, in the log, in what operators are shown, or in the store.
    pub async fn secrets_are_nowhere(&self, gateway: &Gateway) {
        let mut seen = vec![("/readyz", gateway.readiness().await.1.to_string())];
        seen.push(("/v1/traces", gateway.get("/v1/traces").await.1.to_string()));
        for platform in ["telegram", "discord", "slack"] {
            seen.push((platform, Value::Array(self.entries(platform).await).to_string()));
        }
        for (_, secret) in SECRETS {
            assert!(!gateway.log_says(secret), "the log tells {secret}");
            let told: Vec<_> = seen.iter().filter(|(_, said)| said.contains(secret)).map(|(place, _)| place).collect();
            assert!(told.is_empty(), "{secret} is told by {told:?}");
        }
        for file in files(self.world.folder.path()) {
            let bytes = std::fs::read(&file).unwrap_or_default();
            for (name, secret) in SECRETS.iter().filter(|(name, _)| !file.ends_with(name)) {
                let is_there = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
                assert!(!is_there, "{name} is in {}", file.display());
            }
        }
    }
}

fn text(entry: &Value) -> &str {
    entry["text"].as_str().unwrap_or_default()
}

fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.flat_map(|entry| if entry.path().is_dir() { files(&entry.path()) } else { vec![entry.path()] }).collect()
}

async fn what_a_kill_interrupts_is_answered_once(world: World) {
    let all = Platforms::new(world, Way::Sockets).await;
    let gateway = all.start().await;
    let service = &all.world.service;
    service.hold("look");
    for platform in BOTH {
        all.says(platform, &format!("/look tag=say-{platform}")).await;
        all.commands(platform, "look", &format!("command-{platform}")).await;
    }
    let tags = || BOTH.into_iter().flat_map(|p| ["say", "command"].map(|how| (p, format!("{how}-{p}"))));
    // One conversation: what comes second waits behind what came first.
    for platform in BOTH {
        let asked = || {
            service.count("look", &format!("say-{platform}")) + service.count("look", &format!("command-{platform}"))
        };
        eventually("one is under way", async || asked() > 0).await;
    }
    // Slack brings a command once: what is not accepted when we die, its person is told of by Slack and gives again.
    eventually("Slack has both acknowledged", async || all.stats("slack").await["acknowledged"].as_u64() >= Some(2))
        .await;
    gateway.kill();
    // Said while nobody is there.
    for platform in BOTH {
        all.says(platform, &format!("/act tag=away-{platform}")).await;
    }
    service.let_go("look");
    let gateway = all.start().await;
    for (platform, tag) in tags() {
        all.answered_once(&gateway, platform, &format!("tag: {tag}")).await;
    }
    for platform in BOTH {
        all.answered_once(&gateway, platform, &format!("tag: away-{platform}")).await;
        assert_eq!(service.count("act", &format!("away-{platform}")), 1);
    }
    all.secrets_are_nowhere(&gateway).await;
}

async fn an_answer_that_was_on_its_way_is_not_repeated_in_silence(world: World) {
    let all = Platforms::new(world, Way::Sockets).await;
    let gateway = all.start().await;
    for (platform, method) in [("discord", "POST channels/{channel}/messages"), ("slack", "chat.postMessage")] {
        // The platform takes its time, and we are killed meanwhile.
        all.control(platform, "fault", json!({"kind": "delay", "method": method, "seconds": 2})).await;
        all.says(platform, &format!("/act tag=once-{platform}")).await;
        all.world.service.asked("act", &format!("once-{platform}"), 1).await;
    }
    gateway.kill();
    let gateway = all.start().await;
    for platform in BOTH {
        eventually("it is answered", async || {
            all.shown(platform).await.iter().any(|e| text(e).contains("once-") || text(e).contains("it is not known"))
        })
        .await;
        gateway.idles().await;
        let answers = all.shown(platform).await;
        let unmarked = answers.iter().filter(|entry| !text(entry).starts_with(MARK)).count();
        assert!(unmarked <= 1, "{platform}: {answers:#?}");
        assert_eq!(all.world.service.count("act", &format!("once-{platform}")), 1);
    }
}

async fn buttons_of_an_earlier_life_work(world: World) {
    let all = Platforms::new(world, Way::Sockets).await;
    let gateway = all.start().await;
    all.world.service.hold("look");
    let mut progress = Vec::new();
    for platform in BOTH {
        all.says(platform, &format!("/look tag=held-{platform}")).await;
        progress.push(all.sees(platform, PROGRESS).await["message"].clone());
    }
    gateway.kill();
    let gateway = all.start().await;
    for (platform, message) in BOTH.into_iter().zip(progress) {
        all.world.service.asked("look", &format!("held-{platform}"), 2).await;
        let press =
            |user: &str| json!({"conversation": "general", "user": user, "message": message, "button": "Cancel"});
        all.control(platform, "press", press("eve")).await;
        all.sees(platform, "only the one who asked can stop it").await;
        all.control(platform, "press", press("ann")).await;
        all.sees(platform, "Stopped").await;
    }
    for platform in BOTH {
        all.answered_once(&gateway, platform, "Stopped").await;
    }
    all.world.service.let_go("look");
    all.secrets_are_nowhere(&gateway).await;
}

async fn asked_to_leave_it_answers_the_commands_that_run(world: World) {
    let all = Platforms::new(world, Way::Sockets).await;
    let mut gateway = all.start().await;
    all.world.service.hold("act");
    for platform in BOTH {
        all.commands(platform, "act", &format!("runs-{platform}")).await;
        all.world.service.asked("act", &format!("runs-{platform}"), 1).await;
    }
    gateway.terminate();
    gateway.logged("stopping").await;
    all.world.service.let_go("act");
    assert_eq!(gateway.ended().await.code(), Some(0));
    for platform in BOTH {
        all.sees(platform, &format!("tag: runs-{platform}")).await;
    }
    let gateway = all.start().await;
    for platform in BOTH {
        all.answered_once(&gateway, platform, &format!("tag: runs-{platform}")).await;
        assert_eq!(all.world.service.count("act", &format!("runs-{platform}")), 1);
    }
    let stats = all.stats("discord").await;
    let unanswered = |v: &&Value| v["rule"] == "interaction_unanswered" || v["rule"] == "interaction_late";
    assert_eq!(stats["violations"].as_array().into_iter().flatten().find(unanswered), None);
}

async fn over_http_nothing_opens_but_what_is_signed(world: World) {
    let all = Platforms::new(world, Way::Http).await;
    let gateway = all.start().await;
    let slack = format!("{}/hooks/slack/main", all.url);
    let urls = json!({"url": format!("{slack}/events"), "commands_url": format!("{slack}/commands"),
        "interactivity_url": format!("{slack}/interactive"), "signing_secret": SECRETS[4].1});
    all.control("slack", "events", urls).await;
    all.control("slack", "fault", json!({"kind": "duplicate"})).await;
    all.says("slack", "/act tag=event").await;
    all.commands("slack", "act", "command").await;
    all.says("telegram", "/act tag=update").await;
    for (platform, tag) in [("slack", "event"), ("slack", "command"), ("telegram", "update")] {
        all.answered_once(&gateway, platform, &format!("tag: {tag}")).await;
        assert_eq!(all.world.service.count("act", tag), 1);
    }

    let forged = json!({"type": "event_callback", "event": {"type": "message", "channel": "D1", "channel_type": "im",
        "user": "U1", "text": "/act tag=forged", "ts": "1.1"}});
    let update = json!({"update_id": 1, "message": {"message_id": 1, "date": 1, "text": "/act tag=forged",
        "chat": {"id": 7, "type": "private"}, "from": {"id": 7, "is_bot": false, "first_name": "Eve"}}});
    for (path, body) in [("slack/main/events", &forged), ("slack/main", &forged), ("telegram/main", &update)] {
        let answer = all.http.post(format!("{}/hooks/{path}", all.url)).json(body);
        let answer = answer.header("x-slack-signature", "v0=00").header("x-slack-request-timestamp", "1");
        let answer = answer.header("x-telegram-bot-api-secret-token", "SECRET_of_the_webhooK");
        assert_eq!(answer.send().await.expect("an answer").status(), 401, "{path}");
    }
    for path in
        ["/hooks/../v1/stats", "/hooks/%2e%2e/v1/stats", "/hooks/slack/main/../../../v1/stats", "/hooks//v1/stats"]
    {
        for host in ["e.test", all.url.trim_start_matches("http://")] {
            let answer = knock(&all.url, &format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"));
            assert!(answer.starts_with("HTTP/1.1 404"), "{path} at {host}: {answer}");
        }
    }
    assert_eq!(all.world.service.count("act", "forged"), 0);
    all.secrets_are_nowhere(&gateway).await;
}

/// A request as it is written, which a client would tidy up.
fn knock(url: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(url.trim_start_matches("http://")).expect("the gateway listens");
    stream.write_all(request.as_bytes()).expect("it takes a request");
    let mut answer = Vec::new();
    // It closes the connection behind its answer.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}
