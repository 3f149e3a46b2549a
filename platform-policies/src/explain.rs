//! Why a call is allowed or refused: every layer asked one by one, each answer with its rule, file and line.
//!
//! Slow on purpose: it walks the rules as written. [`crate::permit`] decides by bit sets and comes here only to say
//! which rule refused.

use contract::{Caller, records::By};

use crate::{
    BUILT_IN, Compiled, PolicyLayer, Rights, Rule, ToolFacts, Verdict,
    compiled::BoundRule,
    rules::{Allow, Approve, Block, Mark, Only, any},
};

impl Compiled {
    /// What every layer says of a call, in order; all must allow it.
    pub fn explain(&self, caller: &Caller, tool: &str) -> Vec<Verdict> {
        self.explain_in(caller, tool, None, None)
    }

    /// [`Compiled::explain`] within what the session has mounted and the parent call may do.
    pub fn explain_in(
        &self,
        caller: &Caller,
        tool: &str,
        session: Option<&Rights>,
        within: Option<&Rights>,
    ) -> Vec<Verdict> {
        let Some(ix) = self.index(tool) else {
            return vec![built_in(PolicyLayer::Published, false, "no tool has this name")];
        };
        let facts = &self.tools[ix];
        let mut verdicts = vec![published(facts)];
        verdicts.extend(spec_platforms(facts, caller));
        if self.platforms[caller.platform as usize].is_none() {
            verdicts.push(without_file(caller));
        }
        let mut rules: Vec<_> = self.rules(caller).map(|rule| judge(&rule.block, facts, caller)).collect();
        for layer in [PolicyLayer::Tenant, PolicyLayer::Conversation, PolicyLayer::Sender] {
            if rules.iter().all(|verdict| verdict.layer != layer) {
                rules.push(silent(layer, caller));
            }
        }
        verdicts.append(&mut rules);
        verdicts.push(mounted(session, tool));
        verdicts.extend(within.map(|rights| inherited(rights, tool)));
        verdicts.extend(self.approvals(caller, facts));
        verdicts.push(availability(self.is_available(ix)));
        verdicts.sort_by_key(|verdict| verdict.layer);
        verdicts
    }
}

impl Compiled {
    /// Each rule that asks, and where approvers are asked but there are none, that.
    fn approvals(&self, caller: &Caller, tool: &ToolFacts) -> Vec<Verdict> {
        let rules = self.rules(caller).flat_map(|rule| {
            let covering = rule.block.approve.iter().filter(|approve| approve.mark.covers(tool));
            covering.map(move |approve| (approve.by.unwrap_or(By::Approver), asked(rule, approve)))
        });
        let mut verdicts = Vec::new();
        let mut of_approvers = false;
        for (by, rule) in rules {
            of_approvers |= by == By::Approver;
            verdicts.push(stated(rule, true));
        }
        if of_approvers {
            verdicts.push(self.approvers_stated(caller));
        }
        if verdicts.is_empty() {
            verdicts.push(built_in(PolicyLayer::Approval, true, "no approval is asked"));
        }
        verdicts
    }

    fn approvers_stated(&self, caller: &Caller) -> Verdict {
        let stated = self.rules(caller).filter_map(|rule| rule.block.approvers.users.as_ref());
        let lists: Vec<_> = stated.map(|stated| format!("[{}]", stated.whom.join(", "))).collect();
        match self.approvers(caller).are_none() {
            true => built_in(PolicyLayer::Approval, false, "nobody is an approver: see 'approvers.users'"),
            false => built_in(PolicyLayer::Approval, true, format!("approvers: {}", lists.join(" and "))),
        }
    }
}

fn built_in(layer: PolicyLayer, allowed: bool, rule: impl Into<String>) -> Verdict {
    Verdict { layer, allowed, rule: rule.into(), file: BUILT_IN.to_owned(), line: 0 }
}

fn stated(rule: Rule, allowed: bool) -> Verdict {
    let Rule { layer, rule, file, line } = rule;
    Verdict { layer, allowed, rule, file, line }
}

fn published(tool: &ToolFacts) -> Verdict {
    let words = if tool.published { "the tool is published" } else { "the tool is not published" };
    built_in(PolicyLayer::Published, tool.published, words)
}

fn spec_platforms(tool: &ToolFacts, caller: &Caller) -> Option<Verdict> {
    tool.platforms.as_ref()?;
    let allowed = tool.is_for(caller.platform);
    let words = if allowed { "lists" } else { "does not list" };
    let rule = format!("the tool's own 'platforms' {words} {}", caller.platform);
    Some(built_in(PolicyLayer::Platform, allowed, rule))
}

fn without_file(caller: &Caller) -> Verdict {
    let platform = caller.platform;
    match platform {
        contract::Platform::Console => {
            built_in(PolicyLayer::Platform, true, "console without a file allows every published tool")
        }
        _ => built_in(
            PolicyLayer::Platform,
            false,
            format!("no file is for platform '{platform}', so nothing is allowed"),
        ),
    }
}

fn silent(layer: PolicyLayer, caller: &Caller) -> Verdict {
    let rule = match layer {
        PolicyLayer::Tenant => format!("no rule for tenant '{}'", caller.tenant),
        _ => format!("no rule for this {layer}"),
    };
    built_in(layer, true, rule)
}

/// What one block says: a deny first, then for whom a tool is kept, then what is allowed.
fn judge(block: &Block, tool: &ToolFacts, caller: &Caller) -> Verdict {
    let layer = block.layer;
    if let Some(deny) = block.deny.iter().find(|mark| mark.covers(tool)) {
        return stated(deny.place.rule(layer, entitled(block, &deny.written)), false);
    }
    let kept = block.only.iter().find(|only| only.mark.covers(tool) && !any(&only.who, caller));
    if let Some(only) = kept {
        let words = format!("{} does not name the caller", only.mark.written);
        return stated(only.mark.place.rule(layer, entitled(block, &words)), false);
    }
    match (&block.allow, layer) {
        (Some(allow), _) => listed(block, allow, tool),
        (None, PolicyLayer::Platform) => stated(block.place.rule(layer, entitled(block, "nothing is allowed")), false),
        (None, _) => stated(block.place.rule(layer, entitled(block, "does not narrow it")), true),
    }
}

fn listed(block: &Block, allow: &Allow, tool: &ToolFacts) -> Verdict {
    match allow.marks.iter().find(|mark| mark.covers(tool)) {
        Some(mark) => stated(mark.place.rule(block.layer, entitled(block, &mark.written)), true),
        None => {
            let words = format!("'allow' lists neither tool '{}' nor toolset '{}'", tool.name, tool.toolset);
            stated(allow.place.rule(block.layer, entitled(block, &words)), false)
        }
    }
}

/// A block of the platform is named by its file; of the others there may be several in one.
fn entitled(block: &Block, words: &str) -> String {
    match block.layer {
        PolicyLayer::Platform => words.to_owned(),
        _ => format!("{} '{}': {words}", block.layer, block.title),
    }
}

fn mounted(session: Option<&Rights>, tool: &str) -> Verdict {
    match session {
        None => built_in(PolicyLayer::Session, true, "everything is mounted"),
        Some(rights) if rights.allows(tool) => built_in(PolicyLayer::Session, true, "the session has mounted it"),
        Some(_) => built_in(PolicyLayer::Session, false, "the session has not mounted it"),
    }
}

fn inherited(rights: &Rights, tool: &str) -> Verdict {
    let allowed = rights.allows(tool);
    let word = if allowed { "has" } else { "lacks" };
    built_in(PolicyLayer::Parent, allowed, format!("the parent call {word} this right"))
}

fn availability(available: bool) -> Verdict {
    let words = if available { "the tool is available" } else { "the tool is not available at present" };
    built_in(PolicyLayer::Availability, available, words)
}

/// Why a rule asks for an approval.
pub(crate) fn asked(rule: &BoundRule, approve: &Approve) -> Rule {
    let Approve { mark, when, by } = approve;
    let mut words = mark.written.clone();
    if let Some(when) = when {
        words.push_str(&format!(" when {}", when.written));
    }
    match by.unwrap_or(By::Approver) {
        By::Approver => words.push_str(" by an approver"),
        By::Requester => words.push_str(" by the requester"),
    }
    mark.place.rule(PolicyLayer::Approval, entitled(&rule.block, &words))
}

/// The rules of a block as written, each with its place.
pub(crate) fn stated_rules(block: &Block) -> Vec<Rule> {
    let allow = block.allow.iter().flat_map(|allow| &allow.marks);
    let marks = allow.chain(&block.deny).chain(block.approve.iter().map(|approve| &approve.mark));
    let rule = |mark: &Mark, words: &str| mark.place.rule(block.layer, entitled(block, words));
    let kept = block.only.iter().map(|only| rule(&only.mark, &format!("{} for {}", only.mark.written, whom(only))));
    let mut rules: Vec<_> = marks.map(|mark| rule(mark, &mark.written)).chain(kept).collect();
    rules.sort_by_key(|rule| rule.line);
    rules
}

fn whom(only: &Only) -> String {
    if only.whom.is_empty() { "nobody".to_owned() } else { only.whom.join(", ") }
}
