//! A simulator, an adapter and a fake of the core whose other end is in the test's hand.

pub(crate) use std::{
    collections::HashMap,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

pub(crate) use ::fake::{Fake, SOON, item, key, plain};
pub(crate) use contract::{
    Action, Address, Audience, Button, Catalog, Content, Core, DeliveryError, Health, Heard, Indicator, Kind, Message,
    Op, Outlet, Part, Platform, Receipt, Reply, Scope, Source, Stopped, TurnId, Why, seams::Condition,
};
pub(crate) use futures_util::StreamExt;
pub(crate) use serde_json::{Value, json};
pub(crate) use sim::telegram::{
    Conversation, Edit, Fault, Limits, NewFile, NewKind, Press, Remove, Role, Say, Setup, State, fault, transcript,
};
pub(crate) use telegram::{Config, Telegram, Timing};
pub(crate) use tokio::{sync::mpsc, task::JoinHandle, time::timeout};
pub(crate) use tokio_util::sync::CancellationToken;

pub(crate) const SECRET: &str = "s3cret_of-the-webhook";
pub(crate) const TOKEN: &str = "4242:AAtestTESTtestTESTtestTESTtestTEST";

/// A simulator, an adapter and a core's fake.
pub(crate) struct Stage {
    pub(crate) sim: sim::Running,
    pub(crate) telegram: Arc<Telegram>,
    pub(crate) fake: Arc<Fake>,
    pub(crate) health: Health,
    pub(crate) accepted: mpsc::UnboundedReceiver<Message>,
    pub(crate) shutdown: CancellationToken,
    pub(crate) everything: CancellationToken,
    pub(crate) running: Option<JoinHandle<Result<(), Stopped>>>,
    /// Where the webhook's requests are answered.
    pub(crate) doors: Vec<JoinHandle<()>>,
    pub(crate) hook: String,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        Self::with(Setup { limits: Limits::none(), ..Setup::default() }).await
    }

    /// One that waits so long for the other parts of something.
    pub(crate) async fn patient(album: Duration) -> Self {
        let mut stage = Self::new().await;
        stage.stop().await.unwrap();
        stage.telegram = adapter_with(&stage.sim.url, album);
        stage.start().await;
        stage
    }

    /// One that is told by webhook.
    pub(crate) async fn hooked() -> Self {
        let mut stage = Self::new().await;
        stage.stop().await.unwrap();
        stage.rehook(Duration::from_millis(100)).await;
        stage.start().await;
        stage
    }

    /// A new adapter whose webhook is at a new address; what knocks at the old one finds nobody.
    pub(crate) async fn rehook(&mut self, album: Duration) {
        self.doors.drain(..).for_each(|door| door.abort());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        self.hook = format!("http://{}/hooks/telegram/main", listener.local_addr().unwrap());
        let mut config = config(&self.sim.url, "main", TOKEN, album);
        config.mode = telegram::Mode::Webhook { url: self.hook.clone(), secret: SECRET.into() };
        self.telegram = Telegram::new(config).unwrap_or_else(|stopped| panic!("{stopped}"));
        let app = axum::Router::new().nest("/hooks/telegram/main", telegram::hooks(&self.telegram));
        self.doors.push(tokio::spawn(async move { axum::serve(listener, app).await.unwrap() }));
    }

    /// What the webhook answers to a request with a secret.
    pub(crate) async fn knock(&self, secret: &str, body: impl Into<reqwest::Body>) -> u16 {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let request = client.post(&self.hook).header("X-Telegram-Bot-Api-Secret-Token", secret).body(body);
        request.send().await.unwrap().status().as_u16()
    }

    pub(crate) async fn with(setup: Setup) -> Self {
        let everything = CancellationToken::new();
        let options = sim::Options { telegram: setup, ..sim::Options::default() };
        let sim = sim::serve(options, everything.clone()).await.unwrap();
        let (fake, accepted) = Fake::new(vec![item("order-query", json!({})), item("help", json!({}))]);
        let fake = Arc::new(fake);
        let telegram = adapter(&sim.url);
        let shutdown = everything.child_token();
        let health = Health::default();
        let (running, doors, hook) = (None, Vec::new(), String::new());
        let mut stage = Self { sim, telegram, fake, health, accepted, shutdown, everything, running, doors, hook };
        stage.start().await;
        stage
    }

    pub(crate) async fn start(&mut self) {
        self.shutdown = self.everything.child_token();
        let core = self.fake.core(&self.health);
        self.running = Some(tokio::spawn(telegram::run(self.telegram.clone(), core, self.shutdown.clone())));
    }

    pub(crate) async fn stop(&mut self) -> Result<(), Stopped> {
        self.shutdown.cancel();
        timeout(SOON, self.running.take().unwrap()).await.expect("stops at once").unwrap()
    }

    /// Ends the stage; the platform must have counted nothing.
    pub(crate) async fn end(mut self) {
        if self.running.is_some() {
            self.stop().await.unwrap();
        }
        let stats = self.sim.sim.telegram.stats();
        assert_eq!(stats.violation_count, 0, "{:?}", stats.violations);
        assert_eq!(stats.mentions, 0, "nobody is pinged");
        self.doors.iter().for_each(JoinHandle::abort);
        self.everything.cancel();
        self.sim.join().await;
    }

    pub(crate) fn world(&self) -> &sim::telegram::Telegram {
        &self.sim.sim.telegram
    }

    pub(crate) fn say(&self, conversation: &str, text: &str) -> i64 {
        let user = conversation.strip_prefix("dm:").unwrap_or("ann");
        self.world().say(Say::new(conversation, user, text)).unwrap().message.unwrap()
    }

    pub(crate) async fn heard(&mut self) -> Message {
        ::fake::heard(&mut self.accepted).await
    }

    pub(crate) async fn post(&self, to: &Address, reply: &Reply) -> Result<Vec<Receipt>, DeliveryError> {
        let mut receipts = Vec::new();
        for (n, part) in self.telegram.render(reply, to).iter().enumerate() {
            receipts.push(self.telegram.send(to, Op::Post(part), &key(n as u32)).await?);
        }
        Ok(receipts)
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
        ::fake::condition(&self.health, "telegram/main", fits).await
    }
}

pub(crate) fn adapter(url: &str) -> Arc<Telegram> {
    adapter_with(url, Duration::from_millis(100))
}

pub(crate) fn adapter_with(url: &str, album: Duration) -> Arc<Telegram> {
    Telegram::new(config(url, "main", TOKEN, album)).unwrap_or_else(|stopped| panic!("{stopped}"))
}

pub(crate) fn config(url: &str, account: &str, token: &str, album: Duration) -> Config {
    rustls_ready();
    let mut config = Config::new(account, token.into(), Some(format!("{url}/telegram")));
    config.timing = Timing {
        conflict: Duration::from_millis(300),
        backoff: Duration::from_millis(200),
        album,
        lease: Duration::from_millis(600),
        poll: Duration::from_secs(3),
        watchdog: Duration::from_secs(2),
        check: Duration::from_millis(200),
    };
    config
}

/// The test's own client needs it.
fn rustls_ready() {
    static RING: std::sync::Once = std::sync::Once::new();
    RING.call_once(|| {
        // A second installation is refused, which is what is wanted.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

pub(crate) fn fault(kind: fault::Kind) -> Fault {
    Fault { count: Some(1), ..Fault::new(kind) }
}
