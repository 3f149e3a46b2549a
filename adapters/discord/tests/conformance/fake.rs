//! A core whose other end is in the test's hand.

use super::stage::*;

/// Somebody whom the gate does not hear, by name.
pub(crate) const STRANGER: &str = "stranger";

/// The core's other end: what was accepted comes out here.
pub(crate) struct Fake {
    pub(crate) accepted: mpsc::UnboundedSender<Message>,
    pub(crate) down: AtomicBool,
    /// How long accepting takes.
    pub(crate) slow_ms: AtomicU64,
    /// What is said of a message instead of that it has a turn.
    pub(crate) signal: Mutex<Option<String>>,
    pub(crate) not_for_us: AtomicBool,
    pub(crate) private: AtomicBool,
    pub(crate) seen: Mutex<HashSet<String>>,
    pub(crate) known: AtomicU64,
    pub(crate) notes: Mutex<BTreeMap<String, Vec<u8>>>,
    pub(crate) leases: Mutex<HashMap<String, Fence>>,
    /// Another process holds the account.
    pub(crate) foreign: AtomicBool,
    pub(crate) generation: tokio::sync::watch::Sender<u64>,
    pub(crate) menu: Mutex<Vec<MenuItem>>,
    /// Commands that only this guild has.
    pub(crate) own: Mutex<Option<String>>,
}

#[async_trait::async_trait]
impl Inbox for Fake {
    async fn accept(&self, message: Message) -> Result<Accepted, StoreDown> {
        tokio::time::sleep(Duration::from_millis(self.slow_ms.load(Ordering::Relaxed))).await;
        if self.down.load(Ordering::Relaxed) {
            return Err(StoreDown("switched off".into()));
        }
        if self.not_for_us.load(Ordering::Relaxed) {
            return Ok(Accepted::NotForUs);
        }
        let known = !self.seen.lock().unwrap().insert(message.key.clone());
        self.known.fetch_add(u64::from(known), Ordering::Relaxed);
        if !known {
            self.accepted.send(message).unwrap();
        }
        let show = if self.private.load(Ordering::Relaxed) { Audience::Sender } else { Audience::Everyone };
        Ok(match self.signal.lock().unwrap().clone() {
            Some(notice) => Accepted::Signal(notice),
            None => Accepted::Turn { id: TurnId::new(), known, show },
        })
    }
}

#[async_trait::async_trait]
impl Cursors for Fake {
    async fn load(&self, what: &str) -> Result<Option<Vec<u8>>, StoreDown> {
        Ok(self.notes.lock().unwrap().get(what).cloned())
    }

    async fn save(&self, what: &str, value: &[u8]) -> Result<(), StoreDown> {
        self.notes.lock().unwrap().insert(what.into(), value.into());
        Ok(())
    }

    async fn lease(&self, what: &str, _ttl: Duration) -> Result<Option<Fence>, StoreDown> {
        if self.foreign.load(Ordering::Relaxed) {
            return Ok(None);
        }
        Ok(Some(*self.leases.lock().unwrap().entry(what.into()).or_insert(Fence(1))))
    }

    async fn release(&self, what: &str) -> Result<(), StoreDown> {
        self.leases.lock().unwrap().remove(what);
        Ok(())
    }
}

#[async_trait::async_trait]
impl Catalog for Fake {
    async fn hears(&self, who: &Caller, _at: &Address) -> bool {
        who.sender.name != STRANGER
    }

    fn menu(&self, who: &Caller) -> Arc<Menu> {
        let mut items = self.menu.lock().unwrap().clone();
        let is_own = who.space.is_some() && *self.own.lock().unwrap() == who.space;
        if is_own {
            items.push(item("only_here", json!({})));
        }
        let digest = contract::Digest::of(format!("{items:?}").as_bytes());
        Arc::new(Menu { items, digest: Some(digest) })
    }

    fn check(&self, _who: &Caller, command: &str, filled: &Map<String, Value>) -> Result<(), Vec<Problem>> {
        let menu = self.menu.lock().unwrap();
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
            platform: Platform::Discord,
            account: address.account.clone(),
            tenant: "default".into(),
            space: address.space.clone(),
            conversation: address.conversation.clone(),
            thread: None,
            sender: Sender { id: String::new(), name: String::new() },
            roles: Vec::new(),
            origin: contract::Origin::Said,
        }
    }
}

#[async_trait::async_trait]
impl Feed for Fake {
    async fn watch(&self, _turn: TurnId) -> TurnStream {
        Box::pin(futures_util::stream::empty())
    }
}
