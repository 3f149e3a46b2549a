//! A core whose other end is in a test's hand: what an adapter hands in comes out, and what it asks is answered as the test says.
//!
//! It knows the words of the gateway alone, so that the tests of an adapter build without the gateway.

pub mod service;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use contract::{
    Accepted, Address, Audience, Caller, Catalog, Choice, Core, Cursors, DeliveryKey, Digest, Feed, Fence, Health,
    Inbox, Menu, MenuItem, Message, Origin, Part, Problem, Sender, StoreDown, TurnId, TurnStream, seams::Condition,
};
use serde_json::{Map, Value, json};
use tokio::{
    sync::{mpsc, watch},
    time::timeout,
};

/// Somebody whom the gate does not hear, by name.
pub const STRANGER: &str = "stranger";

/// Whatever takes longer does not come.
pub const SOON: Duration = Duration::from_secs(20);

/// What is wrong with partly filled arguments of a command.
pub type Check = fn(command: &str, filled: &Map<String, Value>) -> Result<(), Vec<Problem>>;

/// The core's other end.
pub struct Fake {
    accepted: mpsc::UnboundedSender<Message>,
    /// The store takes nothing.
    pub down: AtomicBool,
    /// The store keeps no notes, and has none.
    pub forgetful: AtomicBool,
    /// The text that the store does not take.
    pub refused: Mutex<Option<String>>,
    /// The text at which the core crashes, once.
    pub crashes: Mutex<Option<String>>,
    /// How long accepting takes.
    pub slow_ms: AtomicU64,
    /// The text of what it was asked to take, each time.
    pub tries: Mutex<Vec<String>>,
    /// What is said of a message instead of that it has a turn.
    pub signal: Mutex<Option<String>>,
    pub not_for_us: AtomicBool,
    /// The gate hears nobody.
    pub deaf: AtomicBool,
    /// Answers are for the sender alone.
    pub private: AtomicBool,
    /// Accounts and keys of what was taken, and how often something known came again.
    pub seen: Mutex<HashSet<String>>,
    pub known: AtomicU64,
    pub notes: Mutex<BTreeMap<String, Vec<u8>>>,
    pub leases: Mutex<HashMap<String, Fence>>,
    /// Another process holds the account.
    pub foreign: AtomicBool,
    /// The catalog's generation; a greater one wakes whoever waits for a change.
    pub generation: watch::Sender<u64>,
    pub menu: Mutex<Vec<MenuItem>>,
    /// How often the menu was looked at.
    pub menus: AtomicU64,
    /// The space that has one command more, `only_here`.
    pub own: Mutex<Option<String>>,
    /// Without one, what is required has to be there.
    pub check: Option<Check>,
}

impl Fake {
    /// One with these commands, and where comes out what it accepts.
    pub fn new(menu: Vec<MenuItem>) -> (Self, mpsc::UnboundedReceiver<Message>) {
        let (accepted, taken) = mpsc::unbounded_channel();
        let fake = Self {
            accepted,
            down: AtomicBool::new(false),
            forgetful: AtomicBool::new(false),
            refused: Mutex::default(),
            crashes: Mutex::default(),
            slow_ms: AtomicU64::new(0),
            tries: Mutex::default(),
            signal: Mutex::default(),
            not_for_us: AtomicBool::new(false),
            deaf: AtomicBool::new(false),
            private: AtomicBool::new(false),
            seen: Mutex::default(),
            known: AtomicU64::new(0),
            notes: Mutex::default(),
            leases: Mutex::default(),
            foreign: AtomicBool::new(false),
            generation: watch::Sender::new(1),
            menu: Mutex::new(menu),
            menus: AtomicU64::new(0),
            own: Mutex::default(),
            check: None,
        };
        (fake, taken)
    }

    /// All that an adapter is given of the core.
    pub fn core(self: &Arc<Self>, health: &Health) -> Core {
        Core {
            inbox: self.clone(),
            catalog: self.clone(),
            feed: self.clone(),
            cursors: self.clone(),
            health: health.clone(),
        }
    }

    fn remembers(&self) -> Result<(), StoreDown> {
        if self.forgetful.load(Ordering::Relaxed) { Err(off()) } else { Ok(()) }
    }
}

fn held<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().expect("nobody panics while holding it")
}

fn off() -> StoreDown {
    StoreDown("switched off".into())
}

#[async_trait::async_trait]
impl Inbox for Fake {
    async fn accept(&self, message: Message) -> Result<Accepted, StoreDown> {
        held(&self.tries).push(message.text().to_owned());
        let crashes = held(&self.crashes).take_if(|text| text == message.text()).is_some();
        assert!(!crashes, "it crashes on purpose");
        tokio::time::sleep(Duration::from_millis(self.slow_ms.load(Ordering::Relaxed))).await;
        let is_refused = held(&self.refused).as_deref() == Some(message.text());
        if is_refused || self.down.load(Ordering::Relaxed) {
            return Err(off());
        }
        if self.not_for_us.load(Ordering::Relaxed) {
            return Ok(Accepted::NotForUs);
        }
        let known = !held(&self.seen).insert(format!("{} {}", message.address.account, message.key));
        self.known.fetch_add(u64::from(known), Ordering::Relaxed);
        if !known {
            self.accepted.send(message).expect("the test listens");
        }
        let show = if self.private.load(Ordering::Relaxed) { Audience::Sender } else { Audience::Everyone };
        Ok(match held(&self.signal).clone() {
            Some(notice) => Accepted::Signal(notice),
            None => Accepted::Turn { id: TurnId::new(), known, show },
        })
    }
}

#[async_trait::async_trait]
impl Cursors for Fake {
    async fn load(&self, what: &str) -> Result<Option<Vec<u8>>, StoreDown> {
        self.remembers()?;
        Ok(held(&self.notes).get(what).cloned())
    }

    async fn save(&self, what: &str, value: &[u8]) -> Result<(), StoreDown> {
        self.remembers()?;
        held(&self.notes).insert(what.into(), value.into());
        Ok(())
    }

    async fn lease(&self, what: &str, _ttl: Duration) -> Result<Option<Fence>, StoreDown> {
        if self.foreign.load(Ordering::Relaxed) {
            return Ok(None);
        }
        Ok(Some(*held(&self.leases).entry(what.into()).or_insert(Fence(1))))
    }

    async fn release(&self, what: &str) -> Result<(), StoreDown> {
        held(&self.leases).remove(what);
        Ok(())
    }
}

#[async_trait::async_trait]
impl Catalog for Fake {
    async fn hears(&self, who: &Caller, _at: &Address) -> bool {
        who.sender.name != STRANGER && !self.deaf.load(Ordering::Relaxed)
    }

    fn menu(&self, who: &Caller) -> Arc<Menu> {
        self.menus.fetch_add(1, Ordering::Relaxed);
        let mut items = held(&self.menu).clone();
        let is_own = who.space.is_some() && *held(&self.own) == who.space;
        if is_own {
            items.push(item("only_here", json!({})));
        }
        let digest = Digest::of(format!("{items:?}").as_bytes());
        Arc::new(Menu { items, digest: Some(digest) })
    }

    fn check(&self, _who: &Caller, command: &str, filled: &Map<String, Value>) -> Result<(), Vec<Problem>> {
        if let Some(check) = self.check {
            return check(command, filled);
        }
        let menu = held(&self.menu);
        let required = menu.iter().find(|item| item.name == command).map(|item| item.parameters["required"].clone());
        let missing = required.and_then(|all| all.as_array().cloned()).into_iter().flatten();
        let problems: Vec<Problem> = missing
            .filter_map(|name| name.as_str().map(str::to_owned))
            .filter(|name| !filled.contains_key(name))
            .map(|path| Problem { path, expected: "a value".into(), got: None, hint: None })
            .collect();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    async fn complete(&self, who: &Caller, command: &str, field: &str, typed: &str) -> Vec<Choice> {
        let label = format!("{}:{command}:{field}:{typed}", who.sender.name);
        vec![Choice { label, value: typed.to_owned() }]
    }

    async fn changed(&self, since: u64) -> u64 {
        let mut generation = self.generation.subscribe();
        let changed = generation.wait_for(|now| *now > since).await;
        changed.map_or(since, |now| *now)
    }

    fn anyone(&self, address: &Address) -> Caller {
        Caller {
            platform: address.platform,
            account: address.account.clone(),
            tenant: "default".into(),
            space: address.space.clone(),
            conversation: address.conversation.clone(),
            thread: address.thread.clone(),
            sender: Sender { id: String::new(), name: String::new() },
            roles: Vec::new(),
            origin: Origin::Said,
        }
    }
}

#[async_trait::async_trait]
impl Feed for Fake {
    async fn watch(&self, _turn: TurnId) -> TurnStream {
        Box::pin(futures_util::stream::empty())
    }
}

/// A command of the menu.
pub fn item(name: &str, parameters: Value) -> MenuItem {
    MenuItem {
        name: name.into(),
        description: format!("runs {name}"),
        parameters: Arc::new(parameters),
        ..MenuItem::default()
    }
}

/// The key of a part of nobody's turn.
pub fn key(part: u32) -> DeliveryKey {
    DeliveryKey { turn: TurnId::new(), n: 0, part }
}

/// A part that is text alone.
pub fn plain(text: &str) -> Part {
    Part {
        body: String::new(),
        plain: text.into(),
        buttons: Vec::new(),
        files: Vec::new(),
        audience: Audience::Everyone,
    }
}

/// The next message that was accepted.
pub async fn heard(accepted: &mut mpsc::UnboundedReceiver<Message>) -> Message {
    timeout(SOON, accepted.recv()).await.expect("a message in time").expect("the core lives")
}

/// Waits until a part of the process is in a condition that fits.
pub async fn condition(health: &Health, part: &str, fits: impl Fn(&Condition) -> bool) -> Condition {
    let wait = async {
        loop {
            let all = health.all();
            if let Some((_, found)) = all.into_iter().find(|(name, now)| name == part && fits(now)) {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    match timeout(SOON, wait).await {
        Ok(found) => found,
        Err(_) => panic!("no such condition in time: {:?}", health.all()),
    }
}
