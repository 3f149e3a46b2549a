//! The stages in their order, with whom they are for, what their failure means, and how often each failed.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use contract::Caller;
use tokio::sync::Semaphore;

use super::{After, Around, Before, Only, Request, Transform};
use crate::tool::Tool;

/// Most stages.
pub const MOST: usize = 64;
/// Ended calls that stages look at at once; of more the number is kept.
pub const AFTER_AT_ONCE: usize = 256;

/// What becomes of a call when a stage comes to no decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// It is refused.
    Policy,
    /// It goes on, and a refusal does not count either.
    Observer,
}

/// What a link does.
#[derive(Clone)]
pub enum Stage {
    Request(Arc<dyn Request>),
    Before(Arc<dyn Before>),
    Around(Arc<dyn Around>),
    Transform(Arc<dyn Transform>),
    After(Arc<dyn After>),
}

impl Stage {
    pub fn word(&self) -> &'static str {
        match self {
            Self::Request(_) => "request",
            Self::Before(_) => "before",
            Self::Around(_) => "execution",
            Self::Transform(_) => "transform",
            Self::After(_) => "after",
        }
    }
}

/// A stage with its place in the chain.
#[derive(Clone)]
pub struct Link {
    pub name: Arc<str>,
    pub stage: Stage,
    pub only: Only,
    /// An [`Around`] decides by itself what its failure means.
    pub class: Class,
    /// How long it may take; an [`Around`] has the time of the attempt.
    pub timeout: Duration,
    pub(super) counts: Arc<Counts>,
}

impl Link {
    /// For every call; what it does not decide is refused.
    pub fn new(name: &str, stage: Stage) -> Self {
        let timeout = Duration::from_secs(5);
        let counts = Arc::default();
        Self { name: name.into(), stage, only: Only::default(), class: Class::Policy, timeout, counts }
    }

    #[must_use]
    pub fn only(self, only: Only) -> Self {
        Self { only, ..self }
    }

    #[must_use]
    pub fn class(self, class: Class) -> Self {
        Self { class, ..self }
    }

    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    calls: AtomicU64,
    refused: AtomicU64,
    failed: AtomicU64,
    is_failing: AtomicBool,
}

impl Counts {
    pub fn called(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    pub fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// True when that is news.
    pub fn failed(&self) -> bool {
        self.failed.fetch_add(1, Ordering::Relaxed);
        !self.is_failing.swap(true, Ordering::Relaxed)
    }

    /// True when that is news.
    pub fn is_well(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed) && self.is_failing.swap(false, Ordering::Relaxed)
    }
}

/// What a stage did since the process began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    pub name: Arc<str>,
    pub stage: &'static str,
    pub calls: u64,
    pub refused: u64,
    /// It came to no decision, or ended calls were too many to be told.
    pub failed: u64,
}

/// All stages, in order. Cheap to clone; empty it costs a call one comparison.
#[derive(Clone)]
pub struct Chain {
    links: Arc<[Link]>,
    /// What looks at ended calls.
    pub(super) after: Arc<Semaphore>,
}

impl Chain {
    /// Links beyond [`MOST`] are refused: they are given back.
    pub fn new(links: Vec<Link>) -> Result<Self, Vec<Link>> {
        match links.len() <= MOST {
            true => Ok(Self { links: links.into(), after: Arc::new(Semaphore::new(AFTER_AT_ONCE)) }),
            false => Err(links),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Whether something is to be asked before this call is admitted.
    pub fn is_asked_first(&self, tool: &Tool, caller: &Caller) -> bool {
        let asks = |link: &Link| matches!(link.stage, Stage::Request(_) | Stage::Before(_));
        self.links.iter().any(|link| asks(link) && link.only.is_for(tool, caller))
    }

    /// Whether any stage is for this call.
    pub fn is_for(&self, tool: &Tool, caller: &Caller) -> bool {
        self.links.iter().any(|link| link.only.is_for(tool, caller))
    }

    pub fn counts(&self) -> Vec<Count> {
        let count = |link: &Link| {
            let of = |n: &AtomicU64| n.load(Ordering::Relaxed);
            let Counts { calls, refused, failed, .. } = &*link.counts;
            let (calls, refused, failed) = (of(calls), of(refused), of(failed));
            Count { name: link.name.clone(), stage: link.stage.word(), calls, refused, failed }
        };
        self.links.iter().map(count).collect()
    }
}

impl Default for Chain {
    fn default() -> Self {
        Self { links: Vec::new().into(), after: Arc::new(Semaphore::new(AFTER_AT_ONCE)) }
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.links.iter().map(|link| &link.name)).finish()
    }
}
