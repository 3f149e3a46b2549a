//! Policies bound to the tools of one snapshot: each rule a bit set, a view an intersection of few.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use contract::{
    Caller, Platform,
    records::{Retained, Retention},
};

use crate::{
    Limits, Manner, Rights, Rule, ToolSet,
    rules::{Block, Scoped, SomeLimits, Tenant, Who, any},
};

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

impl ToolFacts {
    pub(crate) fn is_for(&self, platform: Platform) -> bool {
        self.platforms.as_ref().is_none_or(|listed| listed.contains(&platform))
    }
}

/// The policies of one snapshot. Nothing in it changes but which tools are available.
#[derive(Debug)]
pub struct Compiled {
    /// Sorted by name.
    pub(crate) tools: Vec<ToolFacts>,
    /// Their names, shared with [`Rights`].
    pub(crate) names: Arc<[Arc<str>]>,
    /// By platform: published, meant for it by the spec, and none where the platform has no file.
    pub(crate) base: [ToolSet; PLATFORMS],
    pub(crate) platforms: [Option<BoundRules>; PLATFORMS],
    pub(crate) tenants: Vec<BoundTenant>,
    pub(crate) available: Box<[AtomicU64]>,
}

const PLATFORMS: usize = Platform::ALL.len();

/// The tenant of whom no rule speaks.
const DEFAULT_TENANT: &str = "default";

#[derive(Debug)]
pub(crate) struct BoundRules {
    pub own: BoundRule,
    pub conversations: Vec<BoundScoped>,
    pub senders: Vec<BoundScoped>,
}

impl BoundRules {
    fn all(&self) -> impl Iterator<Item = &BoundRule> {
        let scoped = self.conversations.iter().chain(&self.senders).map(|bound| &bound.rule);
        std::iter::once(&self.own).chain(scoped)
    }
}

#[derive(Debug)]
pub(crate) struct BoundTenant {
    pub rules: BoundRules,
    pub tenant: Arc<Tenant>,
}

#[derive(Debug)]
pub(crate) struct BoundScoped {
    pub rule: BoundRule,
    pub scoped: Scoped,
}

/// A block over the tools.
#[derive(Debug)]
pub(crate) struct BoundRule {
    /// Allowed and not denied.
    pub pass: ToolSet,
    /// Tools that are for some people alone.
    pub only: Vec<(ToolSet, Vec<Who>)>,
    /// Tools whose calls need an approval.
    pub asks: ToolSet,
    pub block: Arc<Block>,
}

impl BoundRule {
    fn narrow(&self, set: &mut ToolSet, caller: &Caller) {
        set.keep(&self.pass);
        for (covered, who) in &self.only {
            if !any(who, caller) {
                set.remove(covered);
            }
        }
    }
}

impl Compiled {
    /// Sorted by name; a [`ToolSet`] holds indices into it.
    pub fn tools(&self) -> &[ToolFacts] {
        &self.tools
    }

    pub fn index(&self, name: &str) -> Option<usize> {
        self.names.binary_search_by(|known| (**known).cmp(name)).ok()
    }

    /// The name of the tool at an index of a [`ToolSet`]; empty when there is none.
    pub fn name(&self, ix: usize) -> &str {
        self.names.get(ix).map_or("", |name| name)
    }

    /// The tenant of a place, `default` when no tenant rule matches it. At most one does: parsing made sure.
    pub fn tenant(&self, platform: Platform, space: Option<&str>, conversation: &str) -> &str {
        let matches =
            |bound: &&BoundTenant| bound.tenant.places.iter().any(|place| place.matches(platform, space, conversation));
        self.tenants.iter().find(matches).map_or(DEFAULT_TENANT, |bound| &bound.tenant.name)
    }

    /// What the caller may see: published, available, allowed by every layer.
    pub fn view(&self, caller: &Caller) -> ToolSet {
        self.view_in(caller, None)
    }

    /// [`Compiled::view`], narrowed by what the session has mounted.
    pub fn view_in(&self, caller: &Caller, session: Option<&Rights>) -> ToolSet {
        let mut set = self.allowed(caller, session);
        for (word, available) in set.words_mut().iter_mut().zip(&self.available) {
            *word &= available.load(Ordering::Relaxed);
        }
        set
    }

    /// [`Compiled::view_in`] whatever is available at present.
    pub(crate) fn allowed(&self, caller: &Caller, session: Option<&Rights>) -> ToolSet {
        let mut set = self.base[caller.platform as usize].clone();
        for rule in self.rules(caller) {
            rule.narrow(&mut set, caller);
        }
        match session {
            Some(mounted) => mounted.narrow(set, &self.names),
            None => set,
        }
    }

    /// What a probe found; needs no new snapshot. Whether there is such a tool.
    pub fn set_available(&self, tool: &str, available: bool) -> bool {
        let Some(ix) = self.index(tool) else { return false };
        let bit = 1 << (ix % 64);
        if available {
            self.available[ix / 64].fetch_or(bit, Ordering::Relaxed);
        } else {
            self.available[ix / 64].fetch_and(!bit, Ordering::Relaxed);
        }
        true
    }

    /// What is known of a tool's availability; nothing when there is no such tool.
    pub fn available(&self, tool: &str) -> Option<bool> {
        self.index(tool).map(|ix| self.is_available(ix))
    }

    pub(crate) fn is_available(&self, ix: usize) -> bool {
        self.available.get(ix / 64).is_some_and(|word| word.load(Ordering::Relaxed) >> (ix % 64) & 1 == 1)
    }

    /// Whether the platform lets anybody call the tool, before rules for some tenants, places or people narrow it and
    /// whatever is available at present.
    pub fn offers(&self, platform: Platform, tool: &str) -> bool {
        let Some(ix) = self.index(tool) else { return false };
        let is_kept_from_all = |rule: &BoundRule| rule.only.iter().any(|(set, who)| who.is_empty() && set.contains(ix));
        let passes = |rules: &BoundRules| rules.own.pass.contains(ix) && !is_kept_from_all(&rules.own);
        let base = self.base[platform as usize].contains(ix);
        base && self.platforms[platform as usize].as_ref().is_none_or(passes)
    }

    /// The numbers of every rule that concerns the caller, each the least that is stated.
    pub fn limits(&self, caller: &Caller) -> Limits {
        let mut least = SomeLimits::default();
        for limits in self.rules(caller).map(|rule| &rule.block.limits) {
            least.lower(limits);
        }
        let d = Limits::default();
        Limits {
            model_steps: least.model_steps.unwrap_or(d.model_steps),
            calls_per_turn: least.calls_per_turn.unwrap_or(d.calls_per_turn),
            concurrent_calls: least.concurrent_calls.unwrap_or(d.concurrent_calls),
            call_depth: least.call_depth.unwrap_or(d.call_depth),
            delegation: least.delegation.unwrap_or(d.delegation),
            turn_timeout: least.turn_timeout.unwrap_or(d.turn_timeout),
            result_chars: least.result_chars.unwrap_or(d.result_chars),
            messages_per_reply: least.messages_per_reply.unwrap_or(d.messages_per_reply),
            messages_per_minute: least.messages_per_minute.unwrap_or(d.messages_per_minute),
            execution_mode: least.execution_mode.unwrap_or(d.execution_mode),
        }
    }

    /// How long platforms and tenants keep silent sessions, where they say so.
    pub fn retention(&self) -> Retention {
        let platforms = Platform::ALL.iter().zip(&self.platforms).filter_map(|(platform, rules)| {
            let keep = rules.as_ref()?.own.block.limits.sessions_kept?;
            Some(Retained { platform: Some(*platform), tenant: None, keep })
        });
        let tenants = self.tenants.iter().filter_map(|bound| {
            let keep = bound.rules.own.block.limits.sessions_kept?;
            Some(Retained { platform: None, tenant: Some(bound.tenant.name.clone()), keep })
        });
        Retention(platforms.chain(tenants).collect())
    }

    /// The manner of the narrowest rule that speaks, key by key; of two equally narrow ones the later in its file.
    pub fn manner(&self, caller: &Caller) -> Manner {
        let mut manner = Manner::default();
        for block in self.rules(caller).map(|rule| &rule.block) {
            let (to, from) = (&mut manner.gating, &block.gating);
            to.groups = from.groups.unwrap_or(to.groups);
            to.direct = from.direct.unwrap_or(to.direct);
            to.bots = from.bots.unwrap_or(to.bots);
            to.bot_turns = from.bot_turns.unwrap_or(to.bot_turns);
            to.edits = from.edits.unwrap_or(to.edits);
            to.listed = from.allowlist.as_ref().map_or(to.listed, |who| any(who, caller));
            let (to, from) = (&mut manner.replies, &block.replies);
            to.detail = from.detail.unwrap_or(to.detail);
            to.reference = from.reference.unwrap_or(to.reference);
            to.private_errors = from.private_errors.unwrap_or(to.private_errors);
            to.mentions = from.mentions.unwrap_or(to.mentions);
            to.locale = from.locale.unwrap_or(to.locale);
            manner.sessions = block.sessions.unwrap_or(manner.sessions);
            manner.while_busy = block.while_busy.unwrap_or(manner.while_busy);
        }
        manner
    }

    /// Every rule that says yes or no, as written and with its place; of one platform and all tenants, or of all.
    pub fn stated(&self, platform: Option<Platform>) -> Vec<Rule> {
        let wanted = |of: &Platform| platform.is_none_or(|platform| platform == *of);
        let platforms = Platform::ALL.iter().zip(&self.platforms).filter(|(of, _)| wanted(of)).map(|(_, set)| set);
        let sets = platforms.flatten().chain(self.tenants.iter().map(|bound| &bound.rules));
        sets.flat_map(BoundRules::all).flat_map(|rule| crate::explain::stated_rules(&rule.block)).collect()
    }

    /// Every rule that concerns the caller, from the platform's to the sender's.
    pub(crate) fn rules<'a>(&'a self, caller: &'a Caller) -> impl Iterator<Item = &'a BoundRule> {
        let [platform, tenant] = self.rule_sets(caller);
        let sets = move || [platform, tenant].into_iter().flatten();
        let concerned = |scoped: &'a [BoundScoped]| {
            scoped.iter().filter(|bound| bound.scoped.concerns(caller)).map(|bound| &bound.rule)
        };
        sets()
            .map(|set| &set.own)
            .chain(sets().flat_map(move |set| concerned(&set.conversations)))
            .chain(sets().flat_map(move |set| concerned(&set.senders)))
    }

    fn rule_sets(&self, caller: &Caller) -> [Option<&BoundRules>; 2] {
        let tenant = self.tenants.iter().find(|bound| bound.tenant.name == caller.tenant);
        [self.platforms[caller.platform as usize].as_ref(), tenant.map(|bound| &bound.rules)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_platform_finds_its_own_rules() {
        // `base` and `platforms` are made in the order of `ALL` and read by discriminant.
        assert!(Platform::ALL.iter().enumerate().all(|(ix, platform)| *platform as usize == ix));
    }
}
