//! The gateway of a week: one account on the simulators, records in SQLite, a tool that counts how often it runs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use contract::{Outlet, Platform, Stopped, ids::PARTITIONS, seams::Condition};
use dispatch::Settings;
use endpoints::{Endpoints, Native};
use serde_json::{Value, json};
use testkit::{Ground, Setup, StoreKind};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tools::{Cx, ToolFailure};

/// More messages than a week has.
const MOST: usize = 1 << 17;

const TOOL: &str = "
name: note
toolset: lab
description: Notes a number
permissions: [read]
parameters: { type: object, required: [id], properties: { id: { type: integer } } }
endpoint: { type: native, name: note }
";

/// How often the tool ran for each message. All of it is there from the start, so that it does not grow.
#[derive(Clone)]
pub struct Runs(Arc<Vec<AtomicU8>>);

impl Runs {
    fn new() -> Self {
        // Each is touched, so that its page is there.
        Self(Arc::new((0..MOST).map(|n| AtomicU8::new(u8::from(n == MOST))).collect()))
    }

    /// How many messages it ran for, and for which it ran more than once.
    pub fn count(&self) -> (usize, Vec<usize>) {
        let of = |at: &AtomicU8| at.load(Ordering::SeqCst);
        let several = self.0.iter().enumerate().filter(|(_, runs)| of(runs) > 1).map(|(n, _)| n);
        (self.0.iter().filter(|runs| of(runs) > 0).count(), several.collect())
    }
}

struct Note(Runs);

#[async_trait]
impl Native for Note {
    async fn call(&self, args: &Value, _cx: &Cx<'_>) -> Result<Value, ToolFailure> {
        let id = args["id"].as_u64().and_then(|id| usize::try_from(id).ok()).unwrap_or(0);
        if let Some(runs) = self.0.0.get(id) {
            runs.fetch_add(1, Ordering::SeqCst);
        }
        Ok(json!({ "id": id }))
    }
}

/// A gateway that runs.
pub struct Gateway {
    pub runs: Runs,
    gateway: dispatch::Gateway,
    adapter: JoinHandle<Result<(), Stopped>>,
    intake: CancellationToken,
    _ground: Ground,
}

/// Starts one on simulators at `url` and waits until it is connected.
pub async fn gateway(platform: Platform, url: &str) -> Gateway {
    Gateway::by(platform, url, |outlet| outlet).await
}

impl Gateway {
    /// The same, by way of an outlet that wraps the adapter's.
    pub async fn by(platform: Platform, url: &str, wrap: impl FnOnce(Arc<dyn Outlet>) -> Arc<dyn Outlet>) -> Self {
        let ground = Ground::new(StoreKind::Sqlite).await;
        let runs = Runs::new();
        let endpoints = Endpoints::new().native("note", Note(runs.clone()));
        let gateway = dispatch::Gateway::open(dispatch::Options {
            stores: ground.open().await,
            snapshot: Setup::snapshot(TOOL, &[testkit::allow_lab(platform)], endpoints, 1),
            settings: Settings { drain: Duration::from_secs(5), ..Settings::default() },
            model: None,
        });
        let intake = CancellationToken::new();
        let (adapter, start) = crate::accounts::adapter(platform, url, gateway.core(), intake.clone());
        gateway.connect(platform, "main", wrap(adapter.outlet.clone()), adapter.source.clone());
        gateway.start();
        testkit::until("partitions are held", || gateway.partitions_held() == usize::from(PARTITIONS)).await;
        let adapter = start();
        let is_ready = |all: Vec<(String, Condition)>| {
            all.iter().any(|(part, now)| part.starts_with(&platform.to_string()) && *now == Condition::Ready)
        };
        testkit::until("the adapter is connected", || is_ready(gateway.health().all())).await;
        Self { runs, gateway, adapter, intake, _ground: ground }
    }

    /// Ends it as SIGTERM does.
    pub async fn end(self) {
        self.intake.cancel();
        self.adapter.await.expect("the adapter does not panic").expect("the adapter stops when it is asked to");
        self.gateway.drain().await;
    }
}
