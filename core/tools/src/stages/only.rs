//! Which calls a stage is for.

use std::sync::Arc;

use contract::{Caller, Platform};

use crate::tool::Tool;

/// A name, or the beginning of names: `refund_*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name(Arc<str>);

impl Name {
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    fn fits(&self, name: &str) -> bool {
        match self.0.strip_suffix('*') {
            Some(begin) => name.starts_with(begin),
            None => *self.0 == *name,
        }
    }
}

/// Each kind that says something has to fit; one that says nothing fits every call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Only {
    pub tools: Vec<Name>,
    pub toolsets: Vec<Name>,
    /// One of a tool's `permissions`.
    pub labels: Vec<Name>,
    pub tenants: Vec<Name>,
    pub platforms: Vec<Platform>,
}

impl Only {
    pub fn is_for(&self, tool: &Tool, caller: &Caller) -> bool {
        let fits = |names: &[Name], name: &str| names.is_empty() || names.iter().any(|n| n.fits(name));
        let labels = &tool.spec.permissions;
        fits(&self.tools, &tool.name)
            && fits(&self.toolsets, &tool.spec.toolset)
            && fits(&self.tenants, &caller.tenant)
            && (self.platforms.is_empty() || self.platforms.contains(&caller.platform))
            && (self.labels.is_empty() || labels.iter().any(|label| self.labels.iter().any(|n| n.fits(label))))
    }

    /// What it names of tools and none of them has, with the kind.
    pub fn fits_nothing<'a>(&self, tools: impl Iterator<Item = &'a Tool> + Clone) -> Vec<(&'static str, String)> {
        let is_tool = |name: &Name, tool: &Tool| name.fits(&tool.name);
        let is_toolset = |name: &Name, tool: &Tool| name.fits(&tool.spec.toolset);
        let is_label = |name: &Name, tool: &Tool| tool.spec.permissions.iter().any(|label| name.fits(label));
        type Has = fn(&Name, &Tool) -> bool;
        let kinds: [(&'static str, &[Name], Has); 3] = [
            ("tools", &self.tools, is_tool),
            ("toolsets", &self.toolsets, is_toolset),
            ("labels", &self.labels, is_label),
        ];
        let unknown = kinds.into_iter().flat_map(|(kind, names, has)| {
            let tools = tools.clone();
            let is_unknown = move |name: &&Name| !tools.clone().any(|tool| has(name, tool));
            names.iter().filter(is_unknown).map(move |name| (kind, name.0.to_string()))
        });
        unknown.collect()
    }
}
