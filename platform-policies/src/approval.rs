//! Which calls need an approval, of whom, and where it is asked for.

use std::{sync::Arc, time::Duration};

use contract::{Address, Caller, Failure, Platform, records::By};
use serde_json::Value;

use crate::{
    Compiled, Refusal, RefusalKind, Rule,
    compiled::BoundRule,
    rules::{Who, WhoKind, any},
    when::When,
};

/// How long a call waits for people unless policy says otherwise.
const EXPIRES: Duration = Duration::from_secs(30 * 60);

/// Where people are asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deliver {
    /// Where the call was asked for.
    Conversation,
    /// Each approver by themselves.
    Private,
    To(Address),
}

/// A rule that asks for an approval, as a permit carries it.
#[derive(Debug, Clone)]
pub(crate) struct Asking {
    when: Option<Arc<When>>,
    by: By,
    rule: Rule,
}

/// A call that must not start before people have said yes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    pub by: By,
    /// The rule that asks.
    pub rule: Rule,
}

impl Need {
    /// As told where nobody can be asked.
    pub fn unavailable(&self, tool: &str) -> Failure {
        Refusal::new(RefusalKind::NeedsApproval, self.rule.clone()).to_failure(tool, &[])
    }
}

/// What the rules ask of a call with these arguments; of several the one that asks most.
pub(crate) fn need(asking: &[Asking], args: &Value) -> Option<Need> {
    let asks = || asking.iter().filter(|one| one.when.as_ref().is_none_or(|when| when.asks(args)));
    let most = asks().find(|one| one.by == By::Approver).or_else(|| asks().next())?;
    Some(Need { by: most.by, rule: most.rule.clone() })
}

/// How approvals are asked for where a caller is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manner {
    pub expires: Duration,
    /// Whether two have to say yes.
    pub two: bool,
    pub deliver: Vec<Deliver>,
}

/// Who may approve calls of one caller.
#[derive(Debug)]
pub struct Approvers<'a> {
    /// Of each layer that speaks; somebody has to be in all of them.
    lists: Vec<&'a [Who]>,
}

impl Approvers<'_> {
    /// Whether nobody may.
    pub fn are_none(&self) -> bool {
        self.lists.is_empty() || self.lists.iter().any(|list| list.is_empty())
    }

    pub fn include(&self, who: &Caller) -> bool {
        !self.lists.is_empty() && self.lists.iter().all(|list| any(list, who))
    }

    /// Those whom a rule names one by one: platform, space, id. Roles are not taken apart.
    pub fn people(&self) -> Vec<(Platform, Option<&str>, &str)> {
        let mut people = Vec::new();
        for who in self.lists.iter().copied().flatten().filter(|who| who.kind == WhoKind::Person) {
            let in_all = self.lists.iter().all(|list| {
                let is = |other: &Who| {
                    other.kind != WhoKind::Person || (other.platform, &other.id) == (who.platform, &who.id)
                };
                list.iter().any(is)
            });
            let person = (who.platform, who.space.as_deref(), who.id.as_str());
            if in_all && people.iter().all(|(platform, _, id)| (*platform, *id) != (person.0, person.2)) {
                people.push(person);
            }
        }
        people
    }
}

impl Compiled {
    /// Whether any call of the caller may need an approval.
    pub fn may_ask(&self, caller: &Caller) -> bool {
        self.rules(caller).any(|rule| !rule.asks.is_empty())
    }

    pub(crate) fn asking(&self, caller: &Caller, tool: &str) -> Vec<Asking> {
        let Some(ix) = self.index(tool) else { return Vec::new() };
        let rules = self.rules(caller).filter(|rule| rule.asks.contains(ix));
        rules.flat_map(|rule| asking_of(rule, &self.tools[ix])).collect()
    }

    /// Who may approve calls of this caller: nobody where no rule says who.
    pub fn approvers<'a>(&'a self, caller: &'a Caller) -> Approvers<'a> {
        let stated = self.rules(caller).filter_map(|rule| rule.block.approvers.users.as_ref());
        Approvers { lists: stated.map(|stated| stated.who.as_slice()).collect() }
    }

    /// Whether the rules of a place say that schedules of somebody elsewhere may be answered there; each layer that
    /// speaks has to name them, and one has to speak.
    pub fn takes_schedules_of(&self, there: &Caller, owner: &Caller) -> bool {
        let stated = self.rules(there).filter_map(|rule| rule.block.schedules.as_ref());
        Approvers { lists: stated.map(|stated| stated.who.as_slice()).collect() }.include(owner)
    }

    /// How calls of this caller are asked for: the least time, two when any layer says so, where the narrowest that
    /// speaks has it.
    pub fn asks_how(&self, caller: &Caller) -> Manner {
        let (mut expires, mut two, mut deliver) = (None, false, None);
        for block in self.rules(caller).map(|rule| &rule.block) {
            expires = [expires, block.approval.expires].into_iter().flatten().min();
            two |= block.approval.two.unwrap_or(false);
            deliver = block.approvers.deliver.as_ref().or(deliver);
        }
        Manner {
            expires: expires.unwrap_or(EXPIRES),
            two,
            deliver: deliver.cloned().unwrap_or_else(|| vec![Deliver::Conversation]),
        }
    }
}

fn asking_of(rule: &BoundRule, tool: &crate::ToolFacts) -> Vec<Asking> {
    let covering = rule.block.approve.iter().filter(|approve| approve.mark.covers(tool));
    let asking = |approve: &crate::rules::Approve| Asking {
        when: approve.when.clone(),
        by: approve.by.unwrap_or(By::Approver),
        rule: crate::explain::asked(rule, approve),
    };
    covering.map(asking).collect()
}
