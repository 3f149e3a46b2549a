//! A simulator, an adapter and a fake of the core whose other end is in the test's hand.

pub(crate) use std::{
    collections::HashMap,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

pub(crate) use ::fake::{Fake, SOON, item, key, plain};
pub(crate) use contract::{
    Action, Address, Audience, Button, Caller, Catalog, DeliveryError, DeliveryKey, Health, Heard, Indicator, Kind,
    Message, Op, Outlet, Part, Platform, Receipt, Reply, Scope, Source, Stopped, TurnId, Why,
    seams::{Condition, PartFile},
};
pub(crate) use discord::{Config, Discord, Timing};
pub(crate) use futures_util::StreamExt;
pub(crate) use serde_json::{Value, json};
pub(crate) use sim::discord::{
    Command, Conversation, Edit, Entry, Fault, Limits, NewFile, Press, React, Remove, Say, Setup, State, Submit, Typed,
    fault, transcript,
};
pub(crate) use tokio::{sync::mpsc, task::JoinHandle, time::timeout};
pub(crate) use tokio_util::sync::CancellationToken;

pub(crate) const TOKEN: &str = "MTIzNDU2Nzg5MDEyMzQ1Njc4.GtestT.abcdefghijklmnopqrstuvwxyz0123456789AB";

/// A simulator, an adapter and a core's fake.
pub(crate) struct Stage {
    pub(crate) sim: sim::Running,
    pub(crate) discord: Arc<Discord>,
    pub(crate) fake: Arc<Fake>,
    pub(crate) health: Health,
    pub(crate) accepted: mpsc::UnboundedReceiver<Message>,
    pub(crate) shutdown: CancellationToken,
    pub(crate) everything: CancellationToken,
    pub(crate) running: Option<JoinHandle<Result<(), Stopped>>>,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        Self::with(Setup { limits: Limits::none(), ..Setup::default() }).await
    }

    pub(crate) async fn with(setup: Setup) -> Self {
        let mut stage = Self::still(setup).await;
        stage.start().await;
        stage.condition(|now| *now == Condition::Ready).await;
        stage
    }

    /// Before its start.
    pub(crate) async fn still(setup: Setup) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let everything = CancellationToken::new();
        let options = sim::Options { discord: setup, ..sim::Options::default() };
        let sim = sim::serve(options, everything.clone()).await.unwrap();
        let order = json!({"type": "object", "required": ["order_id"], "properties": {
            "status": {"type": "string", "enum": ["paid", "open"]}, "order_id": {"type": "string"},
            "count": {"type": "integer", "minimum": 0}, "Loud": {"type": "boolean"},
            "city": {"type": "string", "enum": (0..30).map(|n| format!("city {n}")).collect::<Vec<_>>()}}});
        let send = json!({"type": "object", "required": ["to", "text"], "properties": {
            "to": {"type": "string"}, "text": {"type": "string", "maxLength": 4000}}});
        let menu = vec![item("help", json!({})), item("order_query", order), item("send_message", send)];
        let (fake, accepted) = Fake::new(menu);
        let fake = Arc::new(fake);
        let discord = adapter(&sim.url);
        let shutdown = everything.child_token();
        Self { sim, discord, fake, health: Health::default(), accepted, shutdown, everything, running: None }
    }

    pub(crate) async fn start(&mut self) {
        self.shutdown = self.everything.child_token();
        let core = self.fake.core(&self.health);
        self.running = Some(tokio::spawn(discord::run(self.discord.clone(), core, self.shutdown.clone())));
    }

    pub(crate) async fn stop(&mut self) -> Result<(), Stopped> {
        self.shutdown.cancel();
        timeout(SOON, self.running.take().unwrap()).await.expect("stops at once").unwrap()
    }

    /// Another process takes over, with what the first one stored.
    pub(crate) async fn restart(&mut self) {
        self.stop().await.unwrap();
        self.discord = adapter(&self.sim.url);
        self.health = Health::default();
        self.start().await;
        self.condition(|now| *now == Condition::Ready).await;
    }

    /// A thread that nobody but the bot was invited to.
    pub(crate) async fn private_thread(&self, channel: &str) -> String {
        let path = format!("{}/discord/api/v10/channels/{channel}/threads", self.sim.url);
        let made = reqwest::Client::new().post(path).header("authorization", format!("Bot {TOKEN}"));
        let wanted = json!({"name": "closed", "type": 12});
        let made = made
            .header("user-agent", "DiscordBot (https://example.org, 1)")
            .header("content-type", "application/json")
            .body(wanted.to_string())
            .send()
            .await
            .unwrap();
        let thread: Value = serde_json::from_str(&made.text().await.unwrap()).unwrap();
        thread["id"].as_str().unwrap_or_else(|| panic!("{thread}")).to_owned()
    }

    /// The process dies without a word, and another one begins.
    pub(crate) async fn kill(&mut self) {
        let running = self.running.take().unwrap();
        running.abort();
        assert!(running.await.is_err_and(|error| error.is_cancelled()));
        self.discord = adapter(&self.sim.url);
        self.health = Health::default();
        self.start().await;
    }

    /// Ends the stage; the platform must have counted nothing.
    pub(crate) async fn end(self) {
        self.end_but_for("").await;
    }

    /// The same, but for what the test broke on purpose.
    pub(crate) async fn end_but_for(mut self, rule: &str) {
        if self.running.is_some() {
            self.stop().await.unwrap();
        }
        let stats = self.world().stats();
        assert!(stats.violations.iter().all(|violation| violation.rule == rule), "{:?}", stats.violations);
        assert_eq!(stats.mentions, 0, "nobody is pinged");
        self.everything.cancel();
        self.sim.join().await;
    }

    pub(crate) fn world(&self) -> &sim::discord::Discord {
        &self.sim.sim.discord
    }

    pub(crate) fn say(&self, conversation: &str, text: &str) -> String {
        let user = conversation.strip_prefix("dm:").unwrap_or("ann");
        self.world().say(Say::new(conversation, user, text)).unwrap().message.unwrap()
    }

    pub(crate) fn command(&self, conversation: &str, name: &str, args: Value) -> String {
        let user = conversation.strip_prefix("dm:").unwrap_or("ann").to_owned();
        let command =
            Command { conversation: conversation.into(), user, name: name.into(), args, ..Command::default() };
        self.world().command(&command).unwrap().interaction.unwrap()
    }

    /// Waits until people are offered the commands.
    pub(crate) async fn menu(&self, conversation: &str, name: &str) {
        let offered = async {
            loop {
                let menu = self.world().menu(conversation).map(|menu| menu.to_string()).unwrap_or_default();
                if menu.contains(&format!("\"{name}\"")) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(SOON, offered).await.expect("offered in time");
    }

    pub(crate) async fn heard(&mut self) -> Message {
        ::fake::heard(&mut self.accepted).await
    }

    pub(crate) async fn post(&self, to: &Address, reply: &Reply) -> Result<Vec<Receipt>, DeliveryError> {
        let mut receipts = Vec::new();
        let turn = TurnId::new();
        for (n, part) in self.discord.render(reply, to).iter().enumerate() {
            let key = DeliveryKey { turn, n: 0, part: n as u32 };
            receipts.push(loop {
                match self.discord.send(to, Op::Post(part), &key).await {
                    Err(DeliveryError::Wait { until, .. }) => pause(until).await,
                    sent => break sent?,
                }
            });
        }
        Ok(receipts)
    }

    pub(crate) async fn shown(&self, conversation: &str, fits: impl Fn(&Entry) -> bool) -> Entry {
        let mut updates = self.world().updates();
        let found = async {
            loop {
                updates.borrow_and_update();
                let entries = self.world().transcript(Some(conversation), 0);
                if let Some(entry) = entries.into_iter().find(|entry| entry.is_bot() && fits(entry)) {
                    return entry;
                }
                updates.changed().await.unwrap();
            }
        };
        match timeout(SOON, found).await {
            Ok(entry) => entry,
            Err(_) => panic!("not shown in time: {:#?}", self.world().transcript(Some(conversation), 0)),
        }
    }

    /// What a bot posted in a conversation, in order.
    pub(crate) fn texts(&self, conversation: &str) -> Vec<String> {
        let entries = self.world().transcript(Some(conversation), 0);
        entries.iter().filter(|e| e.is_bot() && e.kind == transcript::Kind::Message).map(|e| e.text.clone()).collect()
    }

    /// How many requests of a kind were made: `POST messages`.
    pub(crate) fn requests(&self, kind: &str) -> u64 {
        let (verb, what) = kind.split_once(' ').unwrap();
        let requests = self.world().stats().requests;
        requests.iter().filter(|(name, _)| name.starts_with(verb) && name.ends_with(what)).map(|(_, count)| count).sum()
    }

    /// How often something happened at the gateway.
    pub(crate) fn gateway(&self, what: &str) -> u64 {
        self.world().stats().gateway.get(what).copied().unwrap_or(0)
    }

    pub(crate) fn fault(&self, fault: Fault) {
        self.world().fault(fault).unwrap();
    }

    pub(crate) async fn condition(&self, fits: impl Fn(&Condition) -> bool) -> Condition {
        ::fake::condition(&self.health, "discord/main", fits).await
    }
}

pub(crate) fn adapter(url: &str) -> Arc<Discord> {
    adapter_with(url, |_| {})
}

pub(crate) fn adapter_with(url: &str, change: impl FnOnce(&mut Config)) -> Arc<Discord> {
    let mut config = Config::new("main", TOKEN.into(), Some(format!("{url}/discord")));
    config.timing = Timing {
        defer: Duration::from_millis(300),
        complete: Duration::from_millis(300),
        greeting: Duration::from_secs(5),
        silence: Duration::from_secs(60),
        identify: Duration::from_millis(50),
        backoff: Duration::from_millis(200),
        pressure: Duration::from_millis(100),
        save: Duration::from_millis(20),
        lease: Duration::from_millis(600),
        catch_up: Duration::from_secs(300),
    };
    change(&mut config);
    Discord::new(config).unwrap_or_else(|stopped| panic!("{stopped}"))
}

pub(crate) async fn pause(until: std::time::SystemTime) {
    tokio::time::sleep(until.duration_since(std::time::SystemTime::now()).unwrap_or_default()).await;
}

pub(crate) fn fault(kind: fault::Kind) -> Fault {
    Fault { count: Some(1), ..Fault::new(kind) }
}
