//! What tests share: a gateway in a box, an outlet and a tool that are in the test's hand, stores to run on, and lives
//! that can be killed.

mod gate;
mod ground;
pub mod hook;
mod life;
pub mod model;
mod outlet;
pub mod redis;

use std::{sync::Arc, time::Duration};

use contract::{
    Accepted, Address, Caller, Heard, Inbox, Kind, MemoryKey, Message, Origin, Outcome, Outlet, Platform, Reply,
    Sender, SessionKey, TurnId,
    ids::PARTITIONS,
    records::{Item, Person, Stores, Visit},
};
use dispatch::{Gateway, Model, Options, Settings, Snapshot, say, tree};
use endpoints::Endpoints;
use serde_json::Value;

pub use gate::Gate;
pub use ground::{Ground, Kind as StoreKind};
pub use hook::{Death, Flaky, Hook};
pub use life::Life;
pub use model::Scripted;
pub use outlet::{Fault, Recorder, Seen};

/// What a gateway in a box is made of.
pub struct Setup {
    pub tools: String,
    pub policies: Vec<(String, String)>,
    pub stores: Stores,
    pub endpoints: Endpoints,
    pub drain: Duration,
    /// Turns that run at once, where it is not as many as usual.
    pub turns_at_once: Option<usize>,
    /// The far end, when it is to outlive the gateway.
    pub outlet: Arc<Recorder>,
    /// What every operation of the stores and of the outlet passes.
    pub hook: Option<Arc<dyn Hook>>,
    /// What reads people's own words.
    pub model: Option<Arc<dyn Model>>,
    /// What is added to the way of every call.
    pub stages: Vec<tools::stages::Link>,
}

/// Tools and policies of most tests: natives that sleep, crash and echo, allowed everywhere.
pub const TOOLS: &str = r#"
name: sleep
toolset: lab
description: Sleeps for some milliseconds
permissions: [read]
parameters: { type: object, required: [ms], properties: { ms: { type: integer, minimum: 0, maximum: 60000 } } }
endpoint: { type: native, name: sleep }
---
name: crash
toolset: lab
description: Crashes on purpose
permissions: [read]
endpoint: { type: native, name: crash }
---
name: noop
toolset: lab
description: Does nothing, with five fields to check
permissions: [read]
parameters:
  type: object
  required: [a]
  properties:
    a: { type: string }
    b: { type: integer }
    c: { type: boolean }
    d: { type: array, items: { type: number } }
    e: { type: string, enum: [x, y] }
endpoint: { type: native, name: noop }
---
name: gate
toolset: lab
description: Waits until the test opens it; may be repeated
permissions: [read]
parameters: { type: object, required: [id], properties: { id: { type: string } } }
endpoint: { type: native, name: gate }
---
name: once
toolset: lab
description: Has an effect, so that it is never run twice
parameters: { type: object, required: [id], properties: { id: { type: string } } }
endpoint: { type: native, name: gate }
---
name: send_message
toolset: lab
description: Sends a text to another conversation
parameters: { type: object, required: [to, text], properties: { to: { type: string }, text: { type: string } } }
endpoint: { type: native, name: send_message }
---
name: secret_thing
toolset: secret
description: A tool that nobody is allowed
endpoint: { type: native, name: noop }
"#;

/// Allows the toolset `lab` on a platform, to people who write faster than people do.
pub fn allow_lab(platform: Platform) -> (String, String) {
    allow_lab_with(platform, "")
}

/// The same with more lines of policy.
pub fn allow_lab_with(platform: Platform, more: &str) -> (String, String) {
    let limits = if more.contains("limits:") { "" } else { "limits: { messages_per_minute: 1000000 }\n" };
    (format!("{platform}.yaml"), format!("platform: {platform}\ntoolsets: {{ allow: [lab] }}\n{limits}{more}\n"))
}

/// What the current session of a conversation remembers, oldest first.
pub async fn remembered(stores: &Stores, address: &Address) -> Vec<Item> {
    let place = MemoryKey::of(&SessionKey::of(address), None);
    let person = Person {
        platform: address.platform,
        account: address.account.clone(),
        space: address.space.clone(),
        sender: String::new(),
    };
    let visit = Visit { place, person, tenant: String::new(), turn: TurnId::new() };
    match stores.sessions.current(&visit).await.expect("the store answers") {
        Some(session) => stores.sessions.items(&session, None, usize::MAX).await.expect("the store answers"),
        None => Vec::new(),
    }
}

impl Setup {
    pub fn new(stores: Stores) -> Self {
        Self {
            tools: TOOLS.into(),
            policies: vec![allow_lab(Platform::Telegram), allow_lab(Platform::Api)],
            stores,
            endpoints: Endpoints::new().native("gate", Gate::opened()),
            drain: Duration::from_secs(5),
            turns_at_once: None,
            outlet: Arc::default(),
            hook: None,
            model: None,
            stages: Vec::new(),
        }
    }

    /// With a model that says what the test wants.
    #[must_use]
    pub fn model(mut self, model: &Arc<Scripted>) -> Self {
        self.model = Some(model.clone());
        self
    }

    /// With a gate in the test's hand.
    #[must_use]
    pub fn gate(mut self, gate: &Gate) -> Self {
        self.endpoints = self.endpoints.native("gate", gate.clone());
        self
    }

    /// With a hook on every operation.
    #[must_use]
    pub fn hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.hook = Some(hook);
        self
    }

    /// With a far end that outlives the gateway.
    #[must_use]
    pub fn outlet(mut self, outlet: &Arc<Recorder>) -> Self {
        self.outlet = outlet.clone();
        self
    }

    /// With one more stage on the way of every call.
    #[must_use]
    pub fn stage(mut self, link: tools::stages::Link) -> Self {
        self.stages.push(link);
        self
    }

    /// A snapshot of these tools and policies.
    pub fn snapshot(tools: &str, policies: &[(String, String)], endpoints: Endpoints, generation: u64) -> Snapshot {
        let registry = tools::Registry::new(Arc::new(endpoints));
        let loaded = registry.load_with(&[], &[("tools.yaml", tools)]);
        assert!(loaded.errors.is_empty(), "{:?}", loaded.errors);
        let sources: Vec<_> =
            policies.iter().map(|(file, text)| policies::Source { file: file.clone(), text: text.clone() }).collect();
        let policies = policies::Policies::parse(&sources).unwrap_or_else(|e| panic!("{e:?}")).policies;
        let (compiled, _) = policies.compile(&loaded.snapshot.facts()).unwrap_or_else(|e| panic!("{e:?}"));
        Snapshot::new(loaded.snapshot, Arc::new(compiled), generation)
    }

    /// Opens and starts it.
    pub fn start(self) -> InABox {
        let recorder = self.outlet;
        let (stores, outlet): (_, Arc<dyn Outlet>) = match self.hook {
            Some(hook) => (
                hook::hooked(self.stores, hook.clone()),
                Arc::new(hook::HookedOutlet { outlet: recorder.clone(), hook }),
            ),
            None => (self.stores, recorder.clone()),
        };
        let gateway = Gateway::open(Options {
            stores,
            snapshot: Self::snapshot(&self.tools, &self.policies, self.endpoints, 1),
            settings: Settings {
                drain: self.drain,
                turns_at_once: self.turns_at_once.unwrap_or(Settings::default().turns_at_once),
                stages: tools::stages::Chain::new(self.stages).unwrap_or_else(|_| panic!("fewer stages")),
                ..Settings::default()
            },
            model: self.model,
        });
        gateway.connect(Platform::Telegram, "main", outlet, recorder.clone());
        gateway.clients_are(vec![client()]);
        gateway.start();
        InABox { gateway, outlet: recorder }
    }
}

/// Who asks through the HTTP interface.
pub fn client() -> dispatch::HttpClient {
    dispatch::HttpClient { platform: Platform::Api, name: "main".into(), tenant: "default".into() }
}

/// A gateway that runs, and the far end of its outlet.
pub struct InABox {
    pub gateway: Gateway,
    pub outlet: Arc<Recorder>,
}

/// What came of a message.
#[derive(Debug)]
pub struct Said {
    pub turn: TurnId,
    pub reply: Arc<Reply>,
    /// The reply as plain text.
    pub text: String,
    /// The tree without durations.
    pub tree: String,
}

impl InABox {
    /// Waits until it holds its partitions.
    pub async fn ready(self) -> Self {
        until("partitions are held", || self.gateway.partitions_held() == usize::from(PARTITIONS)).await;
        self
    }

    /// Accepts a message and waits for its stored reply.
    pub async fn say(&self, text: &str) -> Said {
        self.say_as(message(Platform::Api, "c1", "ada", text)).await
    }

    pub async fn say_as(&self, message: Message) -> Said {
        let accepted = self.gateway.accept(message).await.expect("the store answers");
        let Accepted::Turn { id, .. } = accepted else { panic!("not a turn: {accepted:?}") };
        self.ended(id).await
    }

    pub async fn ended(&self, turn: TurnId) -> Said {
        let reply = tokio::time::timeout(Duration::from_secs(30), self.gateway.reply(turn)).await;
        let reply = reply.expect("a reply within 30 s").expect("the store answers").expect("the reply is kept");
        let nodes = self.gateway.tree(turn).await.expect("the store answers");
        let text = say::plain(&reply).replace(&turn.to_string(), "REF");
        Said { turn, text, tree: without_durations(&tree::draw_text(&nodes, true)), reply }
    }

    /// Accepts a message whose reply goes out through the outlet.
    pub async fn gateway_accept(&self, message: Message) -> Accepted {
        self.gateway.accept(message).await.expect("the store answers")
    }

    pub async fn invoke(&self, tool: &str, args: Value) -> Outcome {
        self.gateway.invoke(caller(Platform::Api), tool, Ok(args)).await.outcome
    }
}

/// Waits until something holds; fails after half a minute.
pub async fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..6_000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it never came true: {what}");
}

/// A press of one of our buttons.
pub fn press(platform: Platform, conversation: &str, sender: &str, action: contract::Action) -> Message {
    Message { kind: Kind::Press { data: action.to_string() }, ..message(platform, conversation, sender, "") }
}

/// A message of a person in a conversation.
pub fn message(platform: Platform, conversation: &str, sender: &str, text: &str) -> Message {
    let mut address = Address::new(platform, "main", conversation);
    address.direct = true;
    Message {
        key: format!("test:{}", TurnId::new()),
        address,
        sender: Sender { id: sender.into(), name: sender.into() },
        roles: Vec::new(),
        kind: Kind::Text { text: text.into() },
        heard: Heard::Direct,
        files: Vec::new(),
        quote: None,
        from_bot: false,
        locale: None,
        at_ms: TurnId::new().at_ms(),
    }
}

pub fn caller(platform: Platform) -> Caller {
    Caller {
        platform,
        account: "main".into(),
        tenant: "default".into(),
        space: None,
        conversation: "c1".into(),
        thread: None,
        sender: Sender { id: "ada".into(), name: "ada".into() },
        roles: Vec::new(),
        origin: Origin::Api,
    }
}

/// A drawn tree with each duration as `…`.
pub fn without_durations(tree: &str) -> String {
    let line = |line: &str| {
        let mut words: Vec<&str> = line.split("  ").collect();
        if words.last().is_some_and(|w| w.ends_with(" ms") || w.ends_with(" s") || w.ends_with(" µs")) {
            words.pop();
        }
        words.join("  ")
    };
    tree.lines().map(|l| line(l) + "\n").collect()
}
