//! Rules as files state them, each with its place.

use std::sync::Arc;

use contract::{Caller, Finding, Locale, Platform, records::By};

use crate::{
    Deliver, ExecutionMode, PolicyLayer, Rule, ToolFacts,
    manner::{Detail, Gate, Mentions, Sessions, WhileBusy},
    when::When,
};

/// A place in one of several files.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub file: Arc<str>,
    pub at: crate::tree::Place,
}

impl Place {
    pub fn finding(&self, message: String, hint: Option<String>) -> Finding {
        let (line, column) = self.at;
        Finding { file: self.file.to_string(), line, column, message, hint }
    }

    pub fn rule(&self, layer: PolicyLayer, rule: String) -> Rule {
        Rule { layer, rule, file: self.file.to_string(), line: self.at.0 }
    }
}

/// What a name in a rule means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Toolset,
    Tool,
    Label,
}

impl What {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Toolset => "toolset",
            Self::Tool => "tool",
            Self::Label => "label",
        }
    }
}

/// Some tools as a rule names them: a tool, a toolset or a label.
#[derive(Debug, Clone)]
pub(crate) struct Mark {
    pub what: What,
    pub name: String,
    /// As an operator finds it in the file: `toolsets.deny: shell`.
    pub written: String,
    pub place: Place,
}

impl Mark {
    pub fn covers(&self, tool: &ToolFacts) -> bool {
        match self.what {
            What::Toolset => *tool.toolset == *self.name,
            What::Tool => *tool.name == *self.name,
            What::Label => tool.labels.iter().any(|label| **label == *self.name),
        }
    }
}

/// Some tools are for these people alone; for nobody when the list is empty.
#[derive(Debug)]
pub(crate) struct Only {
    pub mark: Mark,
    pub who: Vec<Who>,
    /// The same as written: names of the file's own, or ids.
    pub whom: Vec<String>,
}

/// Calls that need an approval: of an approver, unless it says otherwise.
#[derive(Debug)]
pub(crate) struct Approve {
    pub mark: Mark,
    pub when: Option<Arc<When>>,
    pub by: Option<By>,
}

/// Who approves, and where they are asked.
#[derive(Debug, Default)]
pub(crate) struct SomeApprovers {
    pub users: Option<Stated>,
    pub deliver: Option<Vec<Deliver>>,
}

/// A list of people as it is stated: the same as written, and where.
#[derive(Debug)]
pub(crate) struct Stated {
    pub who: Vec<Who>,
    pub whom: Vec<String>,
}

/// How approvals are asked for, as a layer states it.
#[derive(Debug, Default)]
pub(crate) struct SomeApproval {
    pub expires: Option<std::time::Duration>,
    pub two: Option<bool>,
}

/// What a list of `allow` grants; `at` is where it stands.
#[derive(Debug)]
pub(crate) struct Allow {
    pub place: Place,
    pub marks: Vec<Mark>,
}

/// The keys that a layer may hold.
#[derive(Debug)]
pub(crate) struct Block {
    pub layer: PolicyLayer,
    /// Which one of its layer: `telegram`, `finance`.
    pub title: String,
    pub place: Place,
    /// Nothing: at the platform no tool, in narrower layers all from above.
    pub allow: Option<Allow>,
    pub deny: Vec<Mark>,
    pub approve: Vec<Approve>,
    pub only: Vec<Only>,
    pub approvers: SomeApprovers,
    pub approval: SomeApproval,
    pub limits: SomeLimits,
    pub gating: SomeGating,
    pub replies: SomeReplies,
    pub sessions: Option<Sessions>,
    pub while_busy: Option<WhileBusy>,
    /// Whose schedules, made elsewhere, may be answered here.
    pub schedules: Option<Stated>,
    /// What a language model is told of itself.
    pub prompt: Option<std::sync::Arc<str>>,
}

impl Block {
    pub fn new(layer: PolicyLayer, title: &str, place: Place) -> Self {
        Self {
            layer,
            title: title.to_owned(),
            place,
            allow: None,
            deny: Vec::new(),
            approve: Vec::new(),
            only: Vec::new(),
            approvers: SomeApprovers::default(),
            approval: SomeApproval::default(),
            limits: SomeLimits::default(),
            gating: SomeGating::default(),
            replies: SomeReplies::default(),
            sessions: None,
            while_busy: None,
            schedules: None,
            prompt: None,
        }
    }
}

/// The limits that a layer states.
#[derive(Debug, Default)]
pub(crate) struct SomeLimits {
    pub model_steps: Option<u32>,
    pub calls_per_turn: Option<u32>,
    pub concurrent_calls: Option<u32>,
    pub call_depth: Option<u32>,
    pub delegation: Option<u32>,
    pub turn_timeout: Option<std::time::Duration>,
    pub result_chars: Option<u32>,
    pub messages_per_reply: Option<u32>,
    pub messages_per_minute: Option<u32>,
    /// Of a platform or a tenant as a whole.
    pub sessions_kept: Option<std::time::Duration>,
    pub execution_mode: Option<ExecutionMode>,
}

impl SomeLimits {
    /// Takes the lesser of each number that both state, and any that only one does.
    pub fn lower(&mut self, other: &Self) {
        fn least<T: Ord + Copy>(to: &mut Option<T>, from: Option<T>) {
            *to = [*to, from].into_iter().flatten().min();
        }
        least(&mut self.model_steps, other.model_steps);
        least(&mut self.calls_per_turn, other.calls_per_turn);
        least(&mut self.concurrent_calls, other.concurrent_calls);
        least(&mut self.call_depth, other.call_depth);
        least(&mut self.delegation, other.delegation);
        least(&mut self.turn_timeout, other.turn_timeout);
        least(&mut self.result_chars, other.result_chars);
        least(&mut self.messages_per_reply, other.messages_per_reply);
        least(&mut self.messages_per_minute, other.messages_per_minute);
        least(&mut self.sessions_kept, other.sessions_kept);
        least(&mut self.execution_mode, other.execution_mode);
    }
}

/// The gating that a layer states.
#[derive(Debug, Default)]
pub(crate) struct SomeGating {
    pub groups: Option<Gate>,
    pub direct: Option<Gate>,
    pub bots: Option<bool>,
    pub bot_turns: Option<u32>,
    pub edits: Option<bool>,
    pub allowlist: Option<Vec<Who>>,
}

/// The manner of replies that a layer states.
#[derive(Debug, Default)]
pub(crate) struct SomeReplies {
    pub detail: Option<Detail>,
    pub reference: Option<bool>,
    pub private_errors: Option<bool>,
    pub mentions: Option<Mentions>,
    /// Within: nothing for `auto`.
    pub locale: Option<Option<Locale>>,
}

/// A person, a role or a channel, by the platform's id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Who {
    pub platform: Platform,
    pub space: Option<String>,
    pub kind: WhoKind,
    pub id: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WhoKind {
    Person,
    Role,
    /// With its thread or topic, when only that is meant.
    Channel {
        thread: Option<String>,
    },
}

impl Who {
    pub fn is(&self, caller: &Caller) -> bool {
        self.platform == caller.platform
            && self.space.as_ref().is_none_or(|space| caller.space.as_ref() == Some(space))
            && match &self.kind {
                WhoKind::Person => self.id == caller.sender.id,
                WhoKind::Role => caller.roles.contains(&self.id),
                WhoKind::Channel { thread } => {
                    self.id == caller.conversation
                        && thread.as_ref().is_none_or(|thread| caller.thread.as_ref() == Some(thread))
                }
            }
    }

    pub fn is_channel(&self) -> bool {
        matches!(self.kind, WhoKind::Channel { .. })
    }
}

pub(crate) fn any(who: &[Who], caller: &Caller) -> bool {
    who.iter().any(|who| who.is(caller))
}

/// A block for some conversations or some people.
#[derive(Debug, Clone)]
pub(crate) struct Scoped {
    pub whom: Vec<Who>,
    /// The conversations that a rule for people is bound to.
    pub within: Option<Vec<Who>>,
    pub block: Arc<Block>,
}

impl Scoped {
    pub fn concerns(&self, caller: &Caller) -> bool {
        any(&self.whom, caller) && self.within.as_ref().is_none_or(|within| any(within, caller))
    }
}

/// A platform's or a tenant's own rules and those for its conversations and people.
#[derive(Debug)]
pub(crate) struct RuleSet {
    pub block: Arc<Block>,
    pub conversations: Vec<Scoped>,
    pub senders: Vec<Scoped>,
}

impl RuleSet {
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        let scoped = self.conversations.iter().chain(&self.senders).map(|scoped| &*scoped.block);
        std::iter::once(&*self.block).chain(scoped)
    }
}

/// A tenant: where it applies and what it says.
#[derive(Debug)]
pub(crate) struct Tenant {
    pub name: String,
    pub places: Vec<TenantPlace>,
    pub rules: RuleSet,
}

/// A place that belongs to a tenant; what is absent matches anything.
#[derive(Debug, Clone)]
pub(crate) struct TenantPlace {
    pub platform: Platform,
    pub space: Option<String>,
    pub conversation: Option<String>,
    pub place: Place,
}

impl TenantPlace {
    pub fn matches(&self, platform: Platform, space: Option<&str>, conversation: &str) -> bool {
        self.platform == platform
            && self.space.as_deref().is_none_or(|own| Some(own) == space)
            && self.conversation.as_deref().is_none_or(|own| own == conversation)
    }

    /// Whether some place could match both.
    pub fn overlaps(&self, other: &Self) -> bool {
        let meet = |a: &Option<String>, b: &Option<String>| a.is_none() || b.is_none() || a == b;
        self.platform == other.platform
            && meet(&self.space, &other.space)
            && meet(&self.conversation, &other.conversation)
    }
}
