//! Rules bound to the tools of a snapshot: each becomes a bit set, and names that no tool has are found.

use std::sync::{Arc, atomic::AtomicU64};

use contract::{Finding, Platform, text};

use crate::{
    Compiled, Policies, ToolFacts, ToolSet,
    compiled::{BoundRule, BoundRules, BoundScoped, BoundTenant},
    reader::did_you_mean,
    rules::{Block, Mark, RuleSet, Scoped, What, Who},
};

impl Policies {
    /// Binds the rules to tools. A toolset or tool that does not exist is an error where it is allowed, and where it is
    /// denied, approved or kept for some while a known name is near: a slip there would leave the tool meant to
    /// everybody. With nothing near it is a warning, since a tool may be removed before its rules; warnings are given
    /// beside the result.
    pub fn compile(&self, tools: &[ToolFacts]) -> Result<(Compiled, Vec<Finding>), Vec<Finding>> {
        let tools = by_name(tools);
        let Unknown { allowed, slips, restricted } = self.unknown_names(&tools, &[]);
        let errors = [allowed, slips].concat();
        if errors.is_empty() { Ok(self.bind(tools, restricted)) } else { Err(errors) }
    }

    /// [`Policies::compile`] while some tools are quarantined: an allowed name that is missing may be one of theirs, or
    /// of their toolsets, so it is a warning. It allows nothing, and the other tools stay offered.
    pub fn compile_with_quarantine(
        &self,
        tools: &[ToolFacts],
        quarantined: &[&str],
    ) -> Result<(Compiled, Vec<Finding>), Vec<Finding>> {
        let tools = by_name(tools);
        let Unknown { allowed, slips, restricted } = self.unknown_names(&tools, quarantined);
        if slips.is_empty() { Ok(self.bind(tools, [allowed, restricted].concat())) } else { Err(slips) }
    }

    fn bind(&self, tools: Vec<ToolFacts>, mut warnings: Vec<Finding>) -> (Compiled, Vec<Finding>) {
        warnings.extend(self.undeclared_labels(&tools));
        let platforms = Platform::ALL.map(|platform| {
            let rules = self.platforms.iter().find(|(own, _)| *own == platform)?;
            Some(bound_rules(&rules.1, &tools))
        });
        let base = Platform::ALL.map(|platform| {
            let has_rules = self.platforms.iter().any(|(own, _)| *own == platform) || platform == Platform::Console;
            ToolSet::of(tools.len(), |ix| has_rules && tools[ix].published && tools[ix].is_for(platform))
        });
        let tenants = self
            .tenants
            .iter()
            .map(|tenant| BoundTenant { rules: bound_rules(&tenant.rules, &tools), tenant: Arc::clone(tenant) });
        let compiled = Compiled {
            names: tools.iter().map(|tool| Arc::clone(&tool.name)).collect(),
            base,
            platforms,
            tenants: tenants.collect(),
            available: available(&tools),
            tools,
        };
        (compiled, warnings)
    }

    fn blocks(&self) -> impl Iterator<Item = &Block> {
        let sets = self.platforms.iter().map(|(_, set)| &**set).chain(self.tenants.iter().map(|tenant| &tenant.rules));
        sets.flat_map(RuleSet::blocks)
    }

    fn unknown_names(&self, tools: &[ToolFacts], quarantined: &[&str]) -> Unknown {
        let mut found = Unknown::default();
        let look = |mark: &Mark| unknown(mark, tools, quarantined);
        for block in self.blocks() {
            found.allowed.extend(block.allow.iter().flat_map(|allow| &allow.marks).filter_map(look));
            for mark in restrictions(block) {
                let Some(finding) = look(mark) else { continue };
                // The toolset of a quarantined tool is not known: what looks like a slip may be its name.
                let is_sure = mark.what == What::Tool || quarantined.is_empty();
                match finding.hint.is_some() && is_sure {
                    true => found.slips.push(finding),
                    false => found.restricted.push(finding),
                }
            }
        }
        found
    }

    fn undeclared_labels(&self, tools: &[ToolFacts]) -> Vec<Finding> {
        let known = || self.labels.names.iter().map(|(name, _)| name.as_str());
        let mut found = Vec::new();
        for tool in tools {
            for label in tool.labels.iter().filter(|label| known().all(|name| *name != ***label)) {
                let message = format!("tool '{}' has the label '{label}', which is not declared here", tool.name);
                let (file, hint) = (self.labels.file.to_string(), did_you_mean(label, known()));
                found.push(Finding { file, line: 1, column: 1, message, hint });
            }
        }
        found
    }
}

/// Names in rules that no tool or toolset has.
#[derive(Default)]
struct Unknown {
    allowed: Vec<Finding>,
    /// Denied, approved or kept for some, with a known name near.
    slips: Vec<Finding>,
    /// The same with nothing near.
    restricted: Vec<Finding>,
}

fn by_name(tools: &[ToolFacts]) -> Vec<ToolFacts> {
    let mut tools = tools.to_vec();
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    tools.dedup_by(|a, b| a.name == b.name);
    tools
}

/// Labels that rules name and nobody declared.
pub(crate) fn unknown_labels(policies: &Policies) -> Vec<Finding> {
    let known = || policies.labels.names.iter().map(|(name, _)| name.as_str());
    let labels = policies.blocks().flat_map(restrictions).filter(|mark| mark.what == What::Label);
    let undeclared = labels.filter(|mark| known().all(|name| name != mark.name));
    undeclared
        .map(|mark| {
            let hint = did_you_mean(&mark.name, known()).unwrap_or_else(|| {
                format!("declared in {}: {}", policies.labels.file, known().collect::<Vec<_>>().join(", "))
            });
            mark.place.finding(format!("unknown label '{}'", text::one_line(&mark.name, 64)), Some(hint))
        })
        .collect()
}

/// Every mark of a block but those that allow.
fn restrictions(block: &Block) -> impl Iterator<Item = &Mark> {
    let approve = block.approve.iter().map(|approve| &approve.mark);
    block.deny.iter().chain(approve).chain(block.only.iter().map(|only| &only.mark))
}

/// The toolset that every installation has, with or without tools in it.
const DEFAULT_TOOLSET: &str = "default";

fn unknown(mark: &Mark, tools: &[ToolFacts], quarantined: &[&str]) -> Option<Finding> {
    let known: Vec<&str> = match mark.what {
        What::Label => return None,
        What::Tool => tools.iter().map(|tool| &*tool.name).chain(quarantined.iter().copied()).collect(),
        What::Toolset => tools.iter().map(|tool| &*tool.toolset).chain([DEFAULT_TOOLSET]).collect(),
    };
    if known.contains(&mark.name.as_str()) {
        return None;
    }
    let message = format!("unknown {} '{}'", mark.what.as_str(), text::one_line(&mark.name, 64));
    Some(mark.place.finding(message, did_you_mean(&mark.name, known)))
}

fn bound_rules(set: &RuleSet, tools: &[ToolFacts]) -> BoundRules {
    let scoped = |scoped: &Vec<Scoped>| scoped.iter().map(|one| bound_scoped(one, tools)).collect();
    BoundRules {
        own: bound_rule(&set.block, tools),
        conversations: scoped(&set.conversations),
        senders: scoped(&set.senders),
    }
}

fn bound_scoped(scoped: &Scoped, tools: &[ToolFacts]) -> BoundScoped {
    BoundScoped { rule: bound_rule(&scoped.block, tools), scoped: scoped.clone() }
}

fn bound_rule(block: &Arc<Block>, tools: &[ToolFacts]) -> BoundRule {
    let covered = |marks: &mut dyn Iterator<Item = &Mark>| {
        marks.fold(ToolSet::none(tools.len()), |mut set, mark| {
            set.add(&ToolSet::of(tools.len(), |ix| mark.covers(&tools[ix])));
            set
        })
    };
    let mut pass = match (&block.allow, block.layer) {
        (Some(allow), _) => covered(&mut allow.marks.iter()),
        (None, crate::PolicyLayer::Platform) => ToolSet::none(tools.len()),
        (None, _) => ToolSet::all(tools.len()),
    };
    pass.remove(&covered(&mut block.deny.iter()));
    let only = block.only.iter().map(|only| (covered(&mut std::iter::once(&only.mark)), only.who.clone()));
    BoundRule {
        pass,
        only: only.collect::<Vec<(ToolSet, Vec<Who>)>>(),
        asks: covered(&mut block.approve.iter().map(|approve| &approve.mark)),
        block: Arc::clone(block),
    }
}

fn available(tools: &[ToolFacts]) -> Box<[AtomicU64]> {
    ToolSet::of(tools.len(), |ix| tools[ix].available).words().iter().map(|word| AtomicU64::new(*word)).collect()
}
