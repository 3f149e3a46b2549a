//! What policy says of a call, and where it says so.

use std::fmt;

use contract::{Code, Failure, Private};

/// The layers of policy, in the order in which they are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PolicyLayer {
    Published,
    Platform,
    Tenant,
    Conversation,
    /// What the session has mounted.
    Session,
    Sender,
    /// The rights of the call that asks for a child.
    Parent,
    Approval,
    /// Whether the tool can be used at present.
    Availability,
}

impl PolicyLayer {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Platform => "platform",
            Self::Tenant => "tenant",
            Self::Conversation => "conversation",
            Self::Session => "session",
            Self::Sender => "sender",
            Self::Parent => "parent",
            Self::Approval => "approval",
            Self::Availability => "availability",
        }
    }
}

impl fmt::Display for PolicyLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The file of a rule that no file states.
pub const BUILT_IN: &str = "(built in)";

/// A rule in words, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub layer: PolicyLayer,
    /// As written: `tools.deny: order_refund`.
    pub rule: String,
    /// [`BUILT_IN`] when no file states it.
    pub file: String,
    /// From 1; 0 when no file states it.
    pub line: u32,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} layer, {}, {}", self.layer, self.rule, place(&self.file, self.line))
    }
}

fn place(file: &str, line: u32) -> String {
    if line == 0 { file.to_owned() } else { format!("{file}:{line}") }
}

/// What one layer says of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub layer: PolicyLayer,
    pub allowed: bool,
    pub rule: String,
    pub file: String,
    pub line: u32,
}

impl Verdict {
    /// `allowed`, `refused`, or `asks` of a rule by which people have to say yes.
    pub fn word(&self) -> &'static str {
        match (self.allowed, self.layer) {
            (true, PolicyLayer::Approval) if self.line > 0 => "asks",
            (true, _) => "allowed",
            (false, _) => "refused",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.word();
        write!(f, "{:<12} {word:<7}  {}  {}", self.layer.as_str(), self.rule, place(&self.file, self.line))
    }
}

/// What kind of no it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// No tool has that name.
    Unknown,
    Denied,
    /// It was there when the turn began.
    Removed,
    NeedsApproval,
    Unavailable,
}

/// A call that may not run, and by which rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub kind: RefusalKind,
    pub layer: PolicyLayer,
    pub rule: String,
    pub file: String,
    pub line: u32,
}

impl Refusal {
    pub(crate) fn new(kind: RefusalKind, rule: Rule) -> Self {
        let Rule { layer, rule, file, line } = rule;
        Self { kind, layer, rule, file, line }
    }

    /// The refusal as told to people, models and operators; `suggestions` come from the caller's own view.
    pub fn to_failure(&self, tool: &str, suggestions: &[&str]) -> Failure {
        let why = self.to_string();
        match self.kind {
            RefusalKind::Unknown => Failure::unknown_tool(tool, suggestions),
            RefusalKind::Denied => Failure::denied(tool, suggestions, why),
            RefusalKind::Removed => Failure::new(Code::ToolRemoved, format!("'{tool}' was removed just now"))
                .hint("send /tools to see what can be used here")
                .cause(Private::new(why)),
            RefusalKind::NeedsApproval => Failure::new(
                Code::ApprovalUnavailable,
                format!("'{tool}' needs an approval, and nobody can give one here"),
            )
            .hint("ask an operator")
            .cause(Private::new(why)),
            RefusalKind::Unavailable => {
                Failure::new(Code::Unavailable, format!("'{tool}' is not available at present"))
                    .hint("try again later")
                    .cause(Private::new(why))
            }
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} layer, {}, {}", self.layer, self.rule, place(&self.file, self.line))
    }
}
