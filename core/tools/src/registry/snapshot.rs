//! Every tool at one time.

use std::{sync::Arc, time::SystemTime};

use contract::text;
use policies::{ToolFacts, ToolSet};

use crate::{spec::EndpointSpec, tool::Tool};

/// Pipelines within pipelines that are looked into; they may name each other.
const PIPELINES_MAX: u32 = 4;

/// Every tool at one time, sorted by name. Never changes.
pub struct Snapshot {
    pub generation: u64,
    pub loaded_at: SystemTime,
    tools: Vec<Arc<Tool>>,
    has_jobs: bool,
    quarantined: Vec<Quarantine>,
    /// Names of the store under which nothing is offered any more.
    removed: Vec<String>,
}

/// A tool that is not offered, or not in its newest form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quarantine {
    /// The tool's name, or the file's when no name could be read.
    pub name: String,
    pub reason: String,
    pub file: String,
    pub line: u32,
    /// Whether its last good version is still offered.
    pub kept: bool,
}

impl Default for Snapshot {
    fn default() -> Self {
        Self {
            generation: 0,
            loaded_at: SystemTime::now(),
            tools: Vec::new(),
            has_jobs: false,
            quarantined: Vec::new(),
            removed: Vec::new(),
        }
    }
}

impl Snapshot {
    /// Whether the work of some of them goes on elsewhere when their calls have answered.
    pub fn has_jobs(&self) -> bool {
        self.has_jobs
    }

    /// The next one, or the last when nothing changed. `tools` are sorted by name.
    pub(super) fn following(
        last: &Arc<Self>,
        tools: Vec<Arc<Tool>>,
        quarantined: Vec<Quarantine>,
        removed: Vec<String>,
    ) -> Arc<Self> {
        let same_tools =
            tools.len() == last.tools.len() && tools.iter().zip(&last.tools).all(|(new, old)| Arc::ptr_eq(new, old));
        if last.generation > 0 && same_tools && quarantined == last.quarantined && removed == last.removed {
            return last.clone();
        }
        let has_jobs = tools.iter().any(|tool| tool.spec.execution.r#async.is_some());
        let (generation, loaded_at) = (last.generation + 1, SystemTime::now());
        Arc::new(Self { generation, loaded_at, tools, has_jobs, quarantined, removed })
    }

    /// Sorted by name.
    pub fn tools(&self) -> &[Arc<Tool>] {
        &self.tools
    }

    pub fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        self.index(name).map(|at| &self.tools[at])
    }

    /// Whether a call of the tool may be run again without harm. Of a pipeline that is what its steps call: nothing
    /// that they do may be once. A step whose tool is not there does nothing.
    pub fn is_repeatable(&self, name: &str) -> bool {
        self.repeats(name, PIPELINES_MAX)
    }

    fn repeats(&self, name: &str, pipelines: u32) -> bool {
        let Some(tool) = self.get(name) else { return true };
        match &tool.spec.endpoint {
            EndpointSpec::Pipeline(_) if pipelines == 0 => false,
            EndpointSpec::Pipeline(pipeline) => pipeline.calls().all(|call| self.repeats(&call.tool, pipelines - 1)),
            _ => tool.is_repeatable(),
        }
    }

    /// The number by which sets of tools know a tool: its place in [`Snapshot::tools`].
    pub fn index(&self, name: &str) -> Option<usize> {
        self.tools.binary_search_by(|tool| (*tool.name).cmp(name)).ok()
    }

    /// What policies need to know, in the order of [`Snapshot::tools`]; availability as it is now.
    pub fn facts(&self) -> Vec<ToolFacts> {
        let facts = |tool: &Arc<Tool>| ToolFacts {
            name: tool.name.clone(),
            toolset: tool.spec.toolset.clone(),
            labels: tool.spec.permissions.clone(),
            platforms: tool.spec.platforms.clone(),
            published: tool.standing.state.is_offered(),
            available: tool.unavailable().is_none(),
        };
        self.tools.iter().map(facts).collect()
    }

    /// What is not offered, or only in an older form; sorted by name.
    pub fn quarantined(&self) -> &[Quarantine] {
        &self.quarantined
    }

    /// Names that a tool of the store had: what rules say of them is no slip.
    pub fn removed(&self) -> &[String] {
        &self.removed
    }

    /// At most three names of the view that may have been meant, the likeliest first. None is ever run in its stead.
    pub fn nearest(&self, name: &str, within: &ToolSet) -> Vec<&str> {
        let name = text::cut(name, 80).to_lowercase();
        let limit = (name.chars().count() / 3).clamp(1, 3);
        let mut near: Vec<(usize, &str)> = within
            .iter()
            .filter_map(|at| self.tools.get(at))
            .filter_map(|tool| nearness(&name, &tool.name, limit).map(|n| (n, &*tool.name)))
            .collect();
        near.sort_unstable();
        near.into_iter().take(3).map(|(_, name)| name).collect()
    }
}

/// How far a name is from what was written, if it is near: a slip, or a part of it.
fn nearness(written: &str, name: &str, limit: usize) -> Option<usize> {
    let distance = text::distance(written, name);
    let is_part = written.len() >= 3 && (name.contains(written) || (name.len() >= 3 && written.contains(name)));
    (distance <= limit).then_some(distance).or_else(|| is_part.then_some(limit + 1))
}
