//! A tool in the test's hand: it notes who came, counts, and waits until it is opened.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use endpoints::Native;
use serde_json::{Value, json};
use tokio::sync::watch;
use tools::{Cx, ToolFailure};

use crate::hook::Hook;

/// What the calls of a tool did, and whether they may end. Cheap to clone; outlives gateways.
#[derive(Clone)]
pub struct Gate {
    state: Arc<Mutex<State>>,
    open: watch::Sender<bool>,
    hook: Option<Arc<dyn Hook>>,
}

#[derive(Default)]
struct State {
    log: Vec<String>,
    runs: usize,
    now: usize,
    most: usize,
}

impl Gate {
    /// Calls wait until [`Gate::open`].
    pub fn closed() -> Self {
        Self { state: Arc::default(), open: watch::channel(false).0, hook: None }
    }

    /// Calls answer at once.
    pub fn opened() -> Self {
        Self { open: watch::channel(true).0, ..Self::closed() }
    }

    /// The same gate; its calls pass a hook before and after what they do.
    #[must_use]
    pub fn with_hook(&self, hook: Arc<dyn Hook>) -> Self {
        Self { hook: Some(hook), ..self.clone() }
    }

    pub fn open(&self) {
        self.open.send_replace(true);
    }

    /// How many calls did what they do.
    pub fn runs(&self) -> usize {
        self.lock().runs
    }

    /// Most calls that were inside at once.
    pub fn most(&self) -> usize {
        self.lock().most
    }

    /// How many calls are inside.
    pub fn inside(&self) -> usize {
        self.lock().now
    }

    /// `in ID` and `out ID`, as they came.
    pub fn log(&self) -> Vec<String> {
        self.lock().log.clone()
    }

    /// Waits until so many calls were inside, or are.
    pub async fn wait_for(&self, entered: usize) {
        crate::until(&format!("{entered} calls inside, of {:?}", self.log()), || {
            self.log().iter().filter(|line| line.starts_with("in ")).count() >= entered
        })
        .await;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, id: &str) -> Inside<'_> {
        let mut state = self.lock();
        state.log.push(format!("in {id}"));
        state.runs += 1;
        state.now += 1;
        state.most = state.most.max(state.now);
        Inside(self, id.to_owned())
    }
}

/// Leaves when the call ends or is dropped.
struct Inside<'a>(&'a Gate, String);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.now -= 1;
        state.log.push(format!("out {}", self.1));
    }
}

#[async_trait]
impl Native for Gate {
    async fn call(&self, args: &Value, _cx: &Cx<'_>) -> Result<Value, ToolFailure> {
        let id = args.get("id").and_then(Value::as_str).unwrap_or("-").to_owned();
        if let Some(hook) = &self.hook {
            let _ = hook.before("tool").await;
        }
        {
            let _inside = self.enter(&id);
            let mut open = self.open.subscribe();
            // The sender lives in the gate itself.
            let _ = open.wait_for(|open| *open).await;
        }
        if let Some(hook) = &self.hook {
            let _ = hook.after("tool").await;
        }
        Ok(json!({ "id": id }))
    }
}
