//! Keeps one server connected: in the background, with pauses that grow, and at once when a call needs it.

use std::{
    pin::pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use contract::seams::{Condition, Health};
use rmcp::{RoleClient, model::SubscriptionFilter, service::Peer};
use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, info, warn};

use super::{
    client::Client,
    connect::{self, Connection, Greeting, Link},
    listed::{self, Catalogue},
    settings::Server,
};

/// The first pause after a failure; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A call does not make us try sooner than this after a failure.
const LEAST_PAUSE: Duration = Duration::from_millis(500);
/// Who was connected for so long is well again.
const WELL: Duration = Duration::from_secs(30);
/// How long calls may go on over a connection that others were refused on.
const RUNNING_OUT: Duration = Duration::from_secs(60);
/// How long all pages of a list may take when they are read again.
const LISTING: Duration = Duration::from_secs(30);

/// One server, its connection and what it offers.
pub struct Supervisor {
    pub server: Server,
    http: Result<reqwest::Client, String>,
    state: watch::Sender<State>,
    catalogue: watch::Sender<Option<Arc<Catalogue>>>,
    wanted: Notify,
    begun: AtomicBool,
    used: AtomicBool,
    tasks: TaskTracker,
    stop: CancellationToken,
    health: OnceLock<Health>,
}

/// How things stand with a server.
#[derive(Clone)]
struct State {
    /// How many connections were tried by now.
    tries: u64,
    now: Now,
}

#[derive(Clone)]
enum Now {
    Away,
    Connecting,
    Ready(Arc<Connection>),
    Down { why: Arc<str>, at: Instant },
    Stopped,
}

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoConnection {
    /// With the reason, for operators.
    Down(Arc<str>),
    /// Nothing was decided in the time that a call has.
    Late,
    Stopped,
}

impl Supervisor {
    pub fn new(
        server: Server,
        http: Result<reqwest::Client, String>,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            server,
            http,
            state: watch::Sender::new(State { tries: 0, now: Now::Away }),
            catalogue: watch::Sender::new(None),
            wanted: Notify::new(),
            begun: AtomicBool::new(false),
            used: AtomicBool::new(false),
            tasks,
            stop,
            health: OnceLock::new(),
        })
    }

    /// Tells an operator's health page from now on.
    pub fn tell(&self, health: Health) {
        let _ = self.health.set(health);
    }

    /// A tool of this server was made.
    pub fn use_by_a_tool(&self) {
        self.used.store(true, Ordering::Release);
    }

    pub fn is_used(&self) -> bool {
        self.used.load(Ordering::Acquire)
    }

    /// Begins to connect; needs a runtime.
    pub fn begin(self: &Arc<Self>) {
        if !self.begun.swap(true, Ordering::AcqRel) {
            let it = self.clone();
            // Owned by the tracker, which `Servers::close` waits for.
            self.tasks.spawn(async move { it.run().await });
        }
        self.wanted.notify_one();
    }

    /// What the server offers, as of the last reading; nothing before the first.
    pub fn catalogue(&self) -> Option<Arc<Catalogue>> {
        self.catalogue.borrow().clone()
    }

    /// Told whenever the server's tools were read.
    pub fn catalogues(&self) -> watch::Receiver<Option<Arc<Catalogue>>> {
        self.catalogue.subscribe()
    }

    /// The connection, waited for until `until`. All calls that find none share the next try.
    pub async fn connection(self: &Arc<Self>, until: Instant) -> Result<Arc<Connection>, NoConnection> {
        let mut state = self.state.subscribe();
        let first = state.borrow().tries;
        loop {
            let seen = state.borrow_and_update().clone();
            match seen.now {
                Now::Ready(connection) if !connection.peer.is_transport_closed() => return Ok(connection),
                Now::Stopped => return Err(NoConnection::Stopped),
                // Failed since this call asked, or a moment ago.
                Now::Down { why, at } if seen.tries > first || at.elapsed() < LEAST_PAUSE => {
                    return Err(NoConnection::Down(why));
                }
                Now::Ready(_) | Now::Away | Now::Connecting | Now::Down { .. } => self.begin(),
            }
            match tokio::time::timeout_at(until, state.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Err(NoConnection::Stopped),
                Err(_) => return Err(NoConnection::Late),
            }
        }
    }

    /// Waits until `old` is the connection no more.
    pub async fn renewed(&self, old: &Arc<Connection>, until: Instant) {
        let mut state = self.state.subscribe();
        let is_new = |state: &State| !matches!(&state.now, Now::Ready(now) if Arc::ptr_eq(now, old));
        let _ = tokio::time::timeout_at(until, state.wait_for(is_new)).await;
    }

    async fn run(self: Arc<Self>) {
        let stop = self.stop.clone();
        let (mut pause, mut greeting, mut anew) = (FIRST_PAUSE, Greeting::Ask, false);
        let mut told = String::new();
        while !stop.is_cancelled() {
            self.set(|state| state.now = Now::Connecting);
            let began = Instant::now();
            let opened = tokio::select! {
                opened = self.open(&mut greeting, anew) => opened,
                () = stop.cancelled() => break,
            };
            // Whoever was connected and is not any more is connected again at once, but not over and over.
            let at_once = opened.is_ok() && pause == FIRST_PAUSE;
            let why = match opened {
                Ok(link) => {
                    told.clear();
                    self.live(link).await
                }
                Err(why) => {
                    self.set(|state| {
                        state.tries += 1;
                        state.now = Now::Down { why: why.as_str().into(), at: Instant::now() };
                    });
                    why
                }
            };
            if stop.is_cancelled() {
                break;
            }
            // What was not accepted may have been rotated meanwhile.
            anew = true;
            // Said once for each reason, however often it is tried.
            if told != why {
                warn!(server = self.server.id, cause = why, "an MCP server is away; it is tried again");
                told.clone_from(&why);
            }
            self.say(Condition::Degraded(format!("not connected: {why}")));
            if began.elapsed() >= WELL {
                pause = FIRST_PAUSE;
            }
            if !at_once && !self.pause(pause).await {
                break;
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        self.set(|state| state.now = Now::Stopped);
    }

    /// Waits for the pause to end or for a call that needs the server. False when we stop.
    async fn pause(&self, pause: Duration) -> bool {
        let now = Instant::now();
        tokio::select! {
            () = sleep_until(now + pause) => {}
            () = async { sleep_until(now + LEAST_PAUSE.min(pause)).await; self.wanted.notified().await } => {}
            () = self.stop.cancelled() => return false,
        }
        true
    }

    /// One try: connected, and its tools read, within the server's time.
    async fn open(&self, greeting: &mut Greeting, anew: bool) -> Result<Link, String> {
        let http = self.http.as_ref().map_err(|why| format!("no HTTP client: {why}"))?;
        let work = async {
            let opened = connect::open(&self.server, http, *greeting, anew).await;
            let link = match (opened, &*greeting) {
                (Ok(link), _) => link,
                // Some older servers end when they are asked anything before the handshake; and one that took a
                // handshake may be a newer one by now.
                (Err(first), Greeting::Ask) if self.server.via.is_process() => {
                    connect::open(&self.server, http, Greeting::Handshake, anew).await.map_err(|_| first)?
                }
                (Err(first), Greeting::Ask) => return Err(first),
                (Err(_), Greeting::Handshake) => connect::open(&self.server, http, Greeting::Ask, anew).await?,
            };
            match listed::list(&link.connection.peer).await {
                Ok(catalogue) => self.swap(catalogue),
                Err(error) => debug!(server = self.server.id, %error, "an MCP server does not list its tools"),
            }
            Ok(link)
        };
        let link = timeout(self.server.timeout, work).await.unwrap_or_else(|_| {
            Err(format!("it did not answer within {} s of its start", self.server.timeout.as_secs()))
        })?;
        *greeting = if link.by_handshake { Greeting::Handshake } else { Greeting::Ask };
        Ok(link)
    }

    /// Stays with a connection until it ends; why it did.
    async fn live(&self, mut link: Link) -> String {
        let connection = link.connection.clone();
        let version = connection.peer.peer_info().map(|info| info.protocol_version.to_string()).unwrap_or_default();
        info!(server = self.server.id, version, tools = self.count(), "an MCP server is connected");
        self.say(Condition::Ready);
        self.set(|state| {
            state.tries += 1;
            state.now = Now::Ready(connection.clone());
        });
        let why = {
            let mut told = pin!(told_of_changes(&connection.peer, &connection.client));
            loop {
                tokio::select! {
                    why = link.ended() => break why,
                    () = self.stop.cancelled() => break "we stop".into(),
                    () = connection.client.changed.notified() => self.list_again(&connection.peer).await,
                    () = &mut told => {}
                }
            }
        };
        // Whoever asks from now on waits for the next connection.
        self.set(|state| state.now = Now::Away);
        drop(connection);
        let stop = self.stop.clone();
        // Owned by the tracker; the next connection does not wait for it.
        self.tasks.spawn(async move {
            tokio::select! {
                () = link.unused(RUNNING_OUT) => {}
                () = stop.cancelled() => {}
            }
            link.close().await;
        });
        why
    }

    /// The whole catalogue is swapped after all pages; what cannot be read leaves it as it was.
    async fn list_again(&self, peer: &Peer<RoleClient>) {
        let listing = tokio::select! {
            listing = timeout(LISTING, listed::list(peer)) => listing,
            () = self.stop.cancelled() => return,
        };
        match listing {
            Ok(Ok(catalogue)) => {
                info!(server = self.server.id, tools = catalogue.tools.len(), "an MCP server changed its tools");
                self.swap(catalogue);
            }
            Ok(Err(error)) => warn!(server = self.server.id, %error, "the tools of an MCP server cannot be read"),
            Err(_) => warn!(server = self.server.id, "an MCP server does not list its tools in time"),
        }
    }

    fn swap(&self, catalogue: Catalogue) {
        self.catalogue.send_replace(Some(Arc::new(catalogue)));
    }

    fn count(&self) -> usize {
        self.catalogue.borrow().as_ref().map_or(0, |catalogue| catalogue.tools.len())
    }

    fn set(&self, change: impl FnOnce(&mut State)) {
        self.state.send_modify(change);
    }

    fn say(&self, condition: Condition) {
        if let Some(health) = self.health.get() {
            health.set(&format!("MCP server '{}'", self.server.id), condition);
        }
    }
}

/// Servers without a handshake tell of changes only who asks for it. Never ends, so that it can stand in a loop.
async fn told_of_changes(peer: &Peer<RoleClient>, client: &Arc<Client>) {
    let asks = peer.peer_info().is_some_and(|info| {
        let tools = info.capabilities.tools.as_ref();
        !info.protocol_version.has_initialize() && tools.is_some_and(|tools| tools.list_changed == Some(true))
    });
    if !asks {
        return std::future::pending().await;
    }
    let mut first = true;
    loop {
        let mut wants = SubscriptionFilter::new();
        wants.tools_list_changed = Some(true);
        if let Ok(mut told) = peer.listen(wants).await {
            // What changed while nobody listened was told to nobody.
            if !std::mem::take(&mut first) {
                client.changed.notify_one();
            }
            while let Ok(Some(_)) = told.next().await {
                client.changed.notify_one();
            }
        }
        sleep(WELL).await;
    }
}
