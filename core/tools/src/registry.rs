//! What is offered at present: files and natives turned into an immutable snapshot.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

use policies::{ToolFacts, ToolSet};

use crate::{endpoint::Build, spec::SpecError, tool::Tool};

/// Loads tools, and remembers the last good version of each.
pub struct Registry {
    #[expect(dead_code)]
    build: Arc<dyn Build>,
    #[expect(dead_code)]
    last: Mutex<Arc<Snapshot>>,
}

/// What a load gave.
pub struct Loaded {
    pub snapshot: Arc<Snapshot>,
    pub errors: Vec<SpecError>,
    pub warnings: Vec<SpecError>,
}

/// Every tool at one time, sorted by name. Never changes.
#[derive(Default)]
pub struct Snapshot {
    pub generation: u64,
    tools: Vec<Arc<Tool>>,
    quarantined: Vec<Quarantine>,
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

impl Registry {
    pub fn new(build: Arc<dyn Build>) -> Self {
        Self { build, last: Mutex::default() }
    }

    /// Loads files and folders (`*.yaml`, `*.yml`, one level of folders inside).
    pub fn load(&self, paths: &[PathBuf]) -> Loaded {
        self.load_with(paths, &[])
    }

    /// The same, with specs that the binary brings: `(label shown in messages, YAML)`.
    pub fn load_with(&self, _paths: &[PathBuf], _natives: &[(&str, &str)]) -> Loaded {
        unimplemented!()
    }

    /// The newest snapshot.
    pub fn current(&self) -> Arc<Snapshot> {
        unimplemented!()
    }
}

impl Snapshot {
    /// Sorted by name.
    pub fn tools(&self) -> &[Arc<Tool>] {
        &self.tools
    }

    pub fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        let at = self.tools.binary_search_by(|tool| (*tool.name).cmp(name)).ok()?;
        Some(&self.tools[at])
    }

    /// The number by which sets of tools know a tool: its place in [`Snapshot::tools`].
    pub fn index(&self, name: &str) -> Option<usize> {
        self.tools.binary_search_by(|tool| (*tool.name).cmp(name)).ok()
    }

    /// What policies need to know, in the order of [`Snapshot::tools`].
    pub fn facts(&self) -> Vec<ToolFacts> {
        unimplemented!()
    }

    pub fn quarantined(&self) -> &[Quarantine] {
        &self.quarantined
    }

    /// At most three names of the view that may have been meant.
    pub fn nearest(&self, _name: &str, _within: &ToolSet) -> Vec<&str> {
        unimplemented!()
    }
}
