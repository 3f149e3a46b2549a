//! Changes of the tools that the store keeps, on behalf of operators: what is asked, what comes of it, who carries it out.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use contract::{
    Digest, Finding, StoreDown,
    records::{StoredTool, ToolChange},
};

use serde_json::Value;

use crate::gateway::Gateway;

mod shown;

pub use shown::{history, in_full, in_short, kept};

/// Carries changes of tools out; the binary, which knows files and endpoints, fills it.
#[async_trait]
pub trait Keeper: Send + Sync {
    async fn change(&self, asked: &Asked) -> Result<Vec<Kept>, NotKept>;

    /// What the store has of a tool, and its changes, the newest first. Nothing when it knows no such name.
    async fn history(&self, name: &str) -> Result<Option<(StoredTool, Vec<ToolChange>)>, StoreDown>;

    /// Brings the gateway up to what is stored now.
    async fn reload(&self, gateway: &Gateway);
}

/// What an operator asks.
#[derive(Debug, Clone)]
pub struct Asked {
    pub wish: ToolWish,
    /// Who is to be named as the author.
    pub by: String,
    /// The version that the operator has seen: refused when it is another one by now.
    pub seen: Option<u64>,
}

/// What is to become of tools.
#[derive(Debug, Clone)]
pub enum ToolWish {
    /// Specs as YAML; `label` is what messages call the text.
    Add {
        label: String,
        text: String,
        publish: bool,
    },
    Publish {
        name: String,
        why: String,
        description: Option<String>,
    },
    Deprecate {
        name: String,
        why: String,
    },
    Remove {
        name: String,
        why: String,
    },
    Rollback {
        name: String,
        to: Option<u64>,
    },
    /// Throw away what is remembered of it.
    Refresh {
        name: String,
    },
}

/// What became of one tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    pub name: String,
    /// The number of its last change.
    pub version: u64,
    /// Of what is offered, else of what waits.
    pub digest: Option<Digest>,
    /// In one sentence.
    pub said: String,
    /// Nothing had to be done.
    pub already: bool,
    pub warnings: Vec<Finding>,
}

/// Why nothing came of it.
#[derive(Debug, Clone)]
pub enum NotKept {
    /// Nobody knows the tool; perhaps this one was meant.
    Unknown {
        name: String,
        near: Option<String>,
    },
    /// Not in the state in which it is, or not by whoever owns it.
    Refused {
        say: String,
        hint: Option<String>,
    },
    /// The specs are wrong.
    Wrong {
        errors: Vec<Finding>,
        warnings: Vec<Finding>,
    },
    /// The store has no room for more.
    Full,
    Down(StoreDown),
    /// Nobody carries changes out here.
    NoKeeper,
}

impl From<StoreDown> for NotKept {
    fn from(down: StoreDown) -> Self {
        Self::Down(down)
    }
}

/// Where the keeper is, once there is one.
pub(crate) type Keeping = OnceLock<Arc<dyn Keeper>>;

impl Gateway {
    /// Tools can be added and changed from now on. The first word counts.
    pub fn keeps_tools(&self, keeper: Arc<dyn Keeper>) {
        let _ = self.inner.keeper.set(keeper);
    }

    /// Changes tools for good; in force here when it returns, and a moment later everywhere.
    pub async fn change_tools(&self, asked: &Asked) -> Result<Vec<Kept>, NotKept> {
        let keeper = self.inner.keeper.get().ok_or(NotKept::NoKeeper)?;
        let kept = keeper.change(asked).await;
        // Of several of which one was refused, those before it may be changed.
        if kept.is_ok() || matches!(asked.wish, ToolWish::Add { .. }) {
            keeper.reload(self).await;
        }
        kept
    }

    /// A registered tool as operators are told of it, whoever may use it.
    pub fn tool_in_full(&self, name: &str) -> Option<Value> {
        self.snapshot().tools.get(name).map(|tool| in_full(tool))
    }

    /// Every registered tool in short, then what is out of order, then names under which nothing is offered any more.
    pub fn all_tools(&self) -> Vec<Value> {
        let snapshot = self.snapshot();
        in_short(&snapshot.tools)
    }

    /// [`Keeper::history`].
    pub async fn tool_history(&self, name: &str) -> Result<Option<(StoredTool, Vec<ToolChange>)>, StoreDown> {
        match self.inner.keeper.get() {
            Some(keeper) => keeper.history(name).await,
            None => Ok(None),
        }
    }
}
