//! What surrounds the gateway of one test: chat platform, service, store and the files that an operator writes.

use std::{path::PathBuf, sync::Arc, sync::Once, time::Duration};

use sim::{
    Options, Running, Telegram,
    telegram::{Fault, Limits, Setup, fault},
};
use tokio_util::sync::CancellationToken;

use crate::{
    chat::Chat,
    database::{Database, Kind},
    gateway::Gateway,
    service::Service,
};

/// The bot's token; it opens nothing but the simulator.
pub const TOKEN: &str = "123456789:token-of-a-simulated-bot";
/// How long anything may take. It decides no test that passes.
pub const PATIENCE: Duration = Duration::from_secs(40);

/// Everything that outlives a kill of the gateway.
pub struct World {
    pub telegram: Arc<Telegram>,
    pub service: Service,
    pub database: Database,
    pub folder: tempfile::TempDir,
    sim: Running,
    stop: CancellationToken,
}

impl World {
    pub async fn new(kind: Kind) -> Self {
        Self::with(kind, Setup { limits: Limits::none(), ..Setup::default() }).await
    }

    pub async fn with(kind: Kind, telegram: Setup) -> Self {
        static RING: Once = Once::new();
        RING.call_once(|| {
            // A second installation is refused, which is what is wanted.
            let _ = rustls::crypto::ring::default_provider().install_default();
        });
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let stop = CancellationToken::new();
        let sim = sim::serve(Options { telegram, ..Options::default() }, stop.clone()).await.expect("a free port");
        let database = Database::start(kind, folder.path()).await;
        let service = Service::start().await;
        let world = Self { telegram: sim.sim.telegram.clone(), service, database, folder, sim, stop };
        world.write("toolgate.yaml", &world.configuration());
        world.write("tools/all.yaml", &world.tools());
        world.write("policies/telegram.yaml", POLICY);
        world.write("policies/api.yaml", "platform: api\ntoolsets: { allow: [default] }\n");
        world
    }

    fn configuration(&self) -> String {
        format!(
            "listen: 127.0.0.1:0\nstore: \"{}\"\ntools: [tools]\npolicies: policies\nplatforms:\n  \
             telegram: {{ token: \"env:TELEGRAM_TOKEN\", api_url: \"{}/telegram\" }}\n\
             limits: {{ drain: 10s }}\nlog: {{ level: info, format: json }}\n",
            self.database.url(),
            self.sim.url
        )
    }

    fn tools(&self) -> String {
        TOOLS.replace("SERVICE", &self.service.url)
    }

    /// Writes a file of the operator's.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder can be made");
        std::fs::write(path, text).expect("a file can be written");
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Where the simulated platforms are.
    pub fn address(&self) -> &str {
        &self.sim.url
    }

    /// The gateway, ready.
    pub async fn start(&self) -> Gateway {
        Gateway::start(self.folder.path()).await
    }

    /// The gateway, just started.
    pub fn launch(&self) -> Gateway {
        Gateway::launch(self.folder.path())
    }

    /// A conversation: `dm:NAME` is a direct one, any other name a group.
    pub fn chat(&self, name: &str) -> Chat {
        Chat::new(self.telegram.clone(), name)
    }

    /// Something that goes wrong at the platform.
    pub fn fault(&self, fault: Fault) {
        self.telegram.fault(fault).expect("the fault is one");
    }

    /// The next requests of a method wait so long before the platform looks at them.
    pub fn delays(&self, method: &str, seconds: f64) {
        self.fault(Fault { seconds: Some(seconds), ..fault_of(fault::Kind::Delay, method) });
    }

    /// The platform carries out the next request of a method, and its answer is lost.
    pub fn loses_answer(&self, method: &str) {
        self.fault(Fault { when: fault::When::After, ..fault_of(fault::Kind::Drop, method) });
    }

    /// Requests of a method so far.
    pub fn requests(&self, method: &str) -> u64 {
        self.telegram.stats().requests.get(method).copied().unwrap_or_default()
    }

    /// Waits until the platform got one more request of a method than it had.
    pub async fn request_after(&self, method: &str, before: u64) {
        eventually(&format!("{method} is asked"), async || self.requests(method) > before).await;
    }

    /// Nobody broke a rule of the platform.
    pub fn no_rule_was_broken(&self) {
        let stats = self.telegram.stats();
        assert!(stats.violations.is_empty(), "{:#?}", stats.violations);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn fault_of(kind: fault::Kind, method: &str) -> Fault {
    Fault { method: Some(method.to_owned()), ..Fault::new(kind) }
}

/// Waits until it holds; panics with the words when it never does.
pub async fn eventually(what: &str, holds: impl AsyncFnMut() -> bool) {
    assert!(eventually_or_not(holds).await, "it never came true that {what}");
}

/// Waits until it holds, and says whether it did.
pub async fn eventually_or_not(mut holds: impl AsyncFnMut() -> bool) -> bool {
    let until = tokio::time::Instant::now() + PATIENCE;
    while !holds().await {
        if tokio::time::Instant::now() > until {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
    true
}

/// For people who write faster than people do.
pub const POLICY: &str = "platform: telegram\ntoolsets: { allow: [default] }\ngating: { groups: everyone }\nlimits: { messages_per_minute: 1000000 }\n";

/// `look` may be repeated, `act` happens once; the others are for what their names say.
const TOOLS: &str = r#"
name: look
description: Looks something up
parameters: { type: object, required: [tag], properties: { tag: { type: string } }, additionalProperties: false }
endpoint: { method: GET, url: "SERVICE/look" }
execution: { timeout: 20s, concurrency_limit: 64 }
---
name: act
description: Does something that must not happen twice
parameters: { type: object, required: [tag], properties: { tag: { type: string } }, additionalProperties: false }
endpoint: { method: POST, url: "SERVICE/act" }
execution: { timeout: 20s, concurrency_limit: 64 }
---
name: fail
description: Asks a service that is broken
parameters: { type: object, required: [tag], properties: { tag: { type: string } }, additionalProperties: false }
endpoint: { method: GET, url: "SERVICE/fail" }
execution: { timeout: 5s, concurrency_limit: 64 }
---
name: drip
description: Asks a service that never ends
parameters: { type: object, required: [tag], properties: { tag: { type: string } }, additionalProperties: false }
endpoint: { method: GET, url: "SERVICE/drip" }
execution: { timeout: 1s, concurrency_limit: 64 }
---
name: long
description: A long answer
parameters: { type: object, required: [tag], properties: { tag: { type: string } }, additionalProperties: false }
endpoint: { method: GET, url: "SERVICE/long" }
execution: { timeout: 20s, concurrency_limit: 64 }
---
name: pair
description: Looks something up and then acts on it
parameters: { type: object, required: [tag], properties: { tag: { type: string } }, additionalProperties: false }
endpoint:
  type: pipeline
  steps:
    - { id: seen, tool: look, args: { tag: "{{ args.tag }}" } }
    - { id: done, tool: act, args: { tag: "{{ steps.seen.tag }}" } }
  result: "done: {{ steps.done.done }}"
execution: { timeout: 30s, concurrency_limit: 64 }
---
name: sleep
description: Waits inside the gateway
permissions: [read]
parameters: { type: object, required: [ms], properties: { ms: { type: integer } }, additionalProperties: false }
endpoint: { type: native, name: sleep }
execution: { timeout: 61s, concurrency_limit: 64 }
---
name: crash
description: Panics
permissions: [read]
parameters: { type: object, additionalProperties: false }
endpoint: { type: native, name: crash }
execution: { timeout: 5s, concurrency_limit: 64 }
---
name: send_message
description: Writes to another conversation
parameters: { type: object, required: [to, text], properties: { to: { type: string }, text: { type: string } }, additionalProperties: false }
endpoint: { type: native, name: send_message }
execution: { timeout: 10s, concurrency_limit: 64 }
"#;

/// Each case on each store, as a test of its own.
macro_rules! on_both_stores {
    ($($case:ident),* $(,)?) => {
        mod on_sqlite {
            $(#[tokio::test]
            async fn $case() {
                super::$case($crate::world::World::new($crate::database::Kind::Sqlite).await).await;
            })*
        }
        mod on_redis {
            $(#[tokio::test]
            async fn $case() {
                super::$case($crate::world::World::new($crate::database::Kind::Redis).await).await;
            })*
        }
    };
}
pub(crate) use on_both_stores;
