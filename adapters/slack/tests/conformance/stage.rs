//! A simulator, an adapter and a fake of the core whose other end is in the test's hand.

pub(crate) use std::{
    collections::HashSet,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

pub(crate) use ::fake::{Fake, SOON, item, key, plain};
pub(crate) use contract::{
    Action, Address, Audience, Button, Catalog, DeliveryError, Health, Heard, Indicator, Kind, Message, Op, Opaque,
    Outlet, Part, Problem, Receipt, Scope, Source, Stopped, TurnId, Why,
    seams::{Condition, PartFile},
};
pub(crate) use futures_util::StreamExt;
pub(crate) use serde_json::{Map, Value, json};
pub(crate) use sim::slack::{
    Command, Conversation, Edit, Events, Fault, Limits, NewApp, NewKind, Open, OpenWhat, Press, Raw, React, Say, Setup,
    State, Submit, fault, transcript,
};
pub(crate) use slack::{Config, Mode, Slack, Timing};
pub(crate) use tokio::{sync::mpsc, task::JoinHandle, time::timeout};
pub(crate) use tokio_util::sync::CancellationToken;

pub(crate) const BOT_TOKEN: &str = "xoxb-1-2-SECRETsecret";
pub(crate) const APP_TOKEN: &str = "xapp-1-A1-2-HIDDENhidden";
pub(crate) const SECRET: &str = "5197111";

/// What the one tool takes that needs something.
pub(crate) fn weather() -> Value {
    json!({"type": "object", "required": ["city"], "properties": {
        "city": {"type": "string", "minLength": 2},
        "days": {"type": "integer", "minimum": 1, "maximum": 7}}})
}

/// What is wrong with a city: it is not there, or it is under the sea.
fn check(command: &str, filled: &Map<String, Value>) -> Result<(), Vec<Problem>> {
    let problem = |got: Option<String>| Problem {
        path: "city".into(),
        expected: "the name of a city".into(),
        got,
        hint: Some("like Oslo".into()),
    };
    match filled.get("city").and_then(Value::as_str) {
        _ if command != "weather_query" => Ok(()),
        None => Err(vec![problem(None)]),
        Some("Atlantis") => Err(vec![problem(Some("Atlantis".into()))]),
        Some(_) => Ok(()),
    }
}

/// A simulator, an adapter and a core's fake.
pub(crate) struct Stage {
    pub(crate) sim: sim::Running,
    pub(crate) slack: Arc<Slack>,
    pub(crate) fake: Arc<Fake>,
    pub(crate) health: Health,
    pub(crate) accepted: mpsc::UnboundedReceiver<Message>,
    pub(crate) shutdown: CancellationToken,
    pub(crate) everything: CancellationToken,
    pub(crate) running: Option<JoinHandle<Result<(), Stopped>>>,
    /// Rules that a test breaks on purpose.
    pub(crate) forgiven: u64,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        Self::with(Setup { limits: quick(), ..Setup::default() }).await
    }

    /// Over sockets, and with one open.
    pub(crate) async fn with(setup: Setup) -> Self {
        let mut stage = Self::quiet(setup, |url| socket_config(url, 1)).await;
        stage.start().await;
        stage.condition(|now| *now == Condition::Ready).await;
        stage
    }

    /// One that does not run yet.
    pub(crate) async fn quiet(setup: Setup, config: impl Fn(&str) -> Config) -> Self {
        let everything = CancellationToken::new();
        // Commands that are named like tools.
        let setup =
            Setup { commands: Some(["/toolgate", "/weather_query", "/help"].map(str::to_owned).into()), ..setup };
        let options = sim::Options { slack: setup, ..sim::Options::default() };
        let sim = sim::serve(options, everything.clone()).await.unwrap();
        let (mut fake, accepted) = Fake::new(vec![item("help", json!({})), item("weather_query", weather())]);
        fake.check = Some(check);
        let fake = Arc::new(fake);
        let slack = Slack::new(config(&sim.url)).unwrap_or_else(|stopped| panic!("{stopped}"));
        let shutdown = everything.child_token();
        let health = Health::default();
        Self { sim, slack, fake, health, accepted, shutdown, everything, running: None, forgiven: 0 }
    }

    pub(crate) async fn start(&mut self) {
        self.shutdown = self.everything.child_token();
        let core = self.fake.core(&self.health);
        self.running = Some(tokio::spawn(slack::run(self.slack.clone(), core, self.shutdown.clone())));
    }

    pub(crate) async fn stop(&mut self) -> Result<(), Stopped> {
        self.shutdown.cancel();
        self.ended().await
    }

    /// Waits until it ends by itself.
    pub(crate) async fn ended(&mut self) -> Result<(), Stopped> {
        timeout(SOON, self.running.take().unwrap()).await.expect("ends at once").unwrap()
    }

    /// Ends the stage; the platform must have counted nothing.
    pub(crate) async fn end(mut self) {
        if self.running.is_some() {
            self.stop().await.unwrap();
        }
        let stats = self.world().stats();
        assert_eq!(stats.violation_count, self.forgiven, "{:?}", stats.violations);
        assert_eq!(stats.mentions, 0, "nobody is pinged");
        self.everything.cancel();
        self.sim.join().await;
    }

    pub(crate) fn world(&self) -> &sim::slack::Slack {
        &self.sim.sim.slack
    }

    pub(crate) fn say(&self, conversation: &str, text: &str) -> String {
        let user = conversation.strip_prefix("dm:").unwrap_or("ann");
        self.world().say(Say::new(conversation, user, text)).unwrap().message.unwrap()
    }

    pub(crate) fn mention(&self, conversation: &str, text: &str) -> String {
        let say = Say { mention: true, ..Say::new(conversation, "ann", text) };
        self.world().say(say).unwrap().message.unwrap()
    }

    pub(crate) fn command(&self, conversation: &str, name: &str, args: &str) {
        let (user, name) = (conversation.strip_prefix("dm:").unwrap_or("ann").into(), name.into());
        let command =
            Command { conversation: conversation.into(), user, name, args: json!(args), ..Command::default() };
        self.world().command(command).unwrap();
    }

    pub(crate) fn fault(&self, fault: Fault) {
        self.world().fault(fault).unwrap();
    }

    pub(crate) async fn heard(&mut self) -> Message {
        ::fake::heard(&mut self.accepted).await
    }

    pub(crate) async fn post(&self, to: &Address, part: &Part) -> Result<Receipt, DeliveryError> {
        self.slack.send(to, Op::Post(part), &key(0)).await
    }

    pub(crate) async fn shown(
        &self,
        conversation: &str,
        fits: impl Fn(&transcript::Entry) -> bool,
    ) -> transcript::Entry {
        let fits = |entry: &transcript::Entry| entry.is_bot() && fits(entry);
        timeout(SOON, self.world().until(conversation, 0, fits)).await.expect("shown in time").unwrap()
    }

    /// What a bot posted in a conversation, in order.
    pub(crate) fn texts(&self, conversation: &str) -> Vec<String> {
        let entries = self.world().transcript(Some(conversation), 0);
        entries.iter().filter(|e| e.is_bot() && e.kind == transcript::Kind::Message).map(|e| e.text.clone()).collect()
    }

    pub(crate) async fn condition(&self, fits: impl Fn(&Condition) -> bool) -> Condition {
        ::fake::condition(&self.health, "slack/main", fits).await
    }

    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let wait = async {
            while !holds(self) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(SOON, wait).await.unwrap_or_else(|_| panic!("{what}"));
    }
}

/// No pace, and what comes again comes soon.
pub(crate) fn quick() -> Limits {
    Limits {
        ack_seconds: 1.0,
        retry_first: 0.1,
        retry_second: 0.2,
        retry_third: 0.4,
        ping_seconds: 0.1,
        grace_seconds: 1.0,
        ..Limits::none()
    }
}

pub(crate) fn socket_config(url: &str, sockets: usize) -> Config {
    let mode = Mode::Socket { app_token: APP_TOKEN.into() };
    let mut config = Config::new("main", BOT_TOKEN.into(), mode, Some(format!("{url}/slack/api")));
    config.timing = Timing {
        sockets,
        ping: Duration::from_millis(200),
        silence: Duration::from_millis(700),
        farewell: Duration::from_secs(2),
        backoff: Duration::from_millis(200),
        accept: Duration::from_millis(500),
        lease: Duration::from_millis(600),
    };
    config
}

pub(crate) fn events_config(url: &str) -> Config {
    Config { mode: Mode::Events { signing_secret: SECRET.into() }, ..socket_config(url, 1) }
}

pub(crate) fn fault(kind: fault::Kind) -> Fault {
    Fault { count: Some(1), ..Fault::new(kind) }
}

/// One that is drawn, with blocks.
pub(crate) fn drawn(text: &str) -> Part {
    let body = json!({"text": text, "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": text}}]});
    Part { body: body.to_string(), ..plain(text) }
}

pub(crate) fn private(text: &str) -> Part {
    Part { audience: Audience::Sender, ..plain(text) }
}

/// A fault of the next message that is posted.
pub(crate) fn posting(kind: fault::Kind) -> Fault {
    Fault { method: Some("chat.postMessage".into()), ..fault(kind) }
}
