//! Policies bound to the tools of one snapshot: each rule a bit set, a view an intersection of few.

use std::sync::Arc;

use contract::{Caller, Platform};

use crate::{Limits, Manner, Rights, Rule, ToolSet, Verdict};

/// What policy needs to know of a tool.
#[derive(Debug, Clone)]
pub struct ToolFacts {
    pub name: Arc<str>,
    pub toolset: Arc<str>,
    pub labels: Vec<Arc<str>>,
    /// The spec's own `platforms`; nothing means all.
    pub platforms: Option<Vec<Platform>>,
    pub published: bool,
    pub available: bool,
}

/// The policies of one snapshot.
pub struct Compiled {
    pub(crate) tools: Vec<ToolFacts>,
}

impl Compiled {
    pub fn tools(&self) -> &[ToolFacts] {
        &self.tools
    }

    /// The tenant of a place, `default` when no tenant rule matches it.
    pub fn tenant(&self, _platform: Platform, _space: Option<&str>, _conversation: &str) -> &str {
        "default"
    }

    /// What the caller may see: published, available, allowed by every layer.
    pub fn view(&self, caller: &Caller) -> ToolSet {
        self.view_in(caller, None)
    }

    /// [`Compiled::view`], narrowed by what the session has mounted.
    pub fn view_in(&self, _caller: &Caller, _session: Option<&Rights>) -> ToolSet {
        ToolSet::none(self.tools.len())
    }

    pub fn limits(&self, _caller: &Caller) -> Limits {
        Limits::default()
    }

    pub fn manner(&self, _caller: &Caller) -> Manner {
        Manner::default()
    }

    /// The rule that asks for an approval of this call, if one does.
    pub fn approves(&self, _caller: &Caller, _tool: &str) -> Option<Rule> {
        None
    }

    /// What every layer says, in order.
    pub fn explain(&self, _caller: &Caller, _tool: &str) -> Vec<Verdict> {
        Vec::new()
    }

    pub fn index(&self, name: &str) -> Option<usize> {
        self.tools.binary_search_by(|tool| (*tool.name).cmp(name)).ok()
    }

    /// The name of a tool by its index in a [`ToolSet`].
    pub fn name(&self, ix: usize) -> &str {
        self.tools.get(ix).map_or("", |tool| &tool.name)
    }
}
