//! What a hook is sent, and what its answer means. Pure.

use contract::Node;
use serde_json::{Value, json};
use tools::stages::Of;

use super::At;

/// Most bytes of what a hook is sent, and of what it answers.
pub const BODY_MAX: usize = 8 << 20;
/// Most characters of its own word for what it did.
const NOTE: usize = 120;

/// A question to a hook.
pub struct Asked<'a> {
    at: At,
    of: &'a Of,
    args: Option<&'a Value>,
    answer: Option<&'a Value>,
    node: Option<&'a Node>,
    attempt: Option<u32>,
}

impl<'a> Asked<'a> {
    pub fn of(at: At, of: &'a Of) -> Self {
        Self { at, of, args: None, answer: None, node: None, attempt: None }
    }

    pub fn args(self, args: &'a Value) -> Self {
        Self { args: Some(args), ..self }
    }

    pub fn answer(self, answer: &'a Value) -> Self {
        Self { answer: Some(answer), ..self }
    }

    pub fn node(self, node: &'a Node) -> Self {
        Self { node: Some(node), ..self }
    }

    pub fn attempt(self, attempt: u32) -> Self {
        Self { attempt: Some(attempt), ..self }
    }

    pub fn body(&self, hook: &str) -> Result<Vec<u8>, String> {
        let spec = &self.of.tool.spec;
        let caller = &self.of.caller;
        let mut body = json!({
            "hook": hook,
            "stage": self.at.word(),
            "turn": self.of.turn.to_string(),
            "path": self.of.path.to_string(),
            "tool": &*self.of.tool.name,
            "toolset": &*spec.toolset,
            "labels": spec.permissions.iter().map(|label| &**label).collect::<Vec<_>>(),
            "caller": {
                "platform": caller.platform.as_str(),
                "account": caller.account,
                "tenant": caller.tenant,
                "space": caller.space,
                "conversation": caller.conversation,
                "thread": caller.thread,
                "sender": { "id": caller.sender.id, "name": caller.sender.name },
                "roles": caller.roles,
                "origin": caller.origin.as_str(),
            },
        });
        if let Some(args) = self.args {
            body["args"] = args.clone();
        }
        if let Some(attempt) = self.attempt {
            body["attempt"] = json!(attempt);
        }
        if let Some(answer) = self.answer {
            body["answer"] = answer.clone();
        }
        if let Some(node) = self.node {
            body["end"] = end(node);
        }
        let bytes = serde_json::to_vec(&body).map_err(|error| format!("it could not be written: {error}"))?;
        match bytes.len() <= BODY_MAX {
            true => Ok(bytes),
            false => Err(format!("what it would be sent has {} bytes, and {BODY_MAX} are allowed", bytes.len())),
        }
    }
}

/// How a call ended, in summaries: whole arguments and answers are not in a node.
fn end(node: &Node) -> Value {
    json!({
        "state": node.state.as_str(),
        "code": node.code.map(|code| code.as_str()),
        "started_us": node.started_us,
        "duration_us": node.duration_us,
        "queued_us": node.queued_us,
        "attempts": node.attempts,
        "upstream_status": node.upstream_status,
        "args": node.args,
        "result": node.result,
        "result_bytes": node.result_bytes,
        "cost_micros": node.usage.map_or(0, |usage| usage.cost_micros),
        "marks": node.marks,
    })
}

impl At {
    pub fn word(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Before => "before",
            Self::Execution => "execution",
            Self::Transform => "transform",
            Self::After => "after",
        }
    }
}

/// What a hook decided.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    Allow {
        /// In the place of what it was shown.
        instead: Option<Value>,
        /// Its own word for that.
        note: String,
    },
    Refuse(String),
}

/// Reads an answer: an object with a `decision`. Whatever else comes back, such as a page of a proxy, decides nothing.
pub fn verdict(answer: &[u8]) -> Result<Verdict, String> {
    let text = std::str::from_utf8(answer).map_err(|_| "its answer is no text")?;
    let value = tools::args::parse_exact(text).map_err(|_| "its answer is no JSON")?;
    let Value::Object(mut fields) = value else { return Err("its answer is no object".to_owned()) };
    let say = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (decision, sentence, note) = (say("decision"), say("say"), say("note"));
    let instead = fields.remove("args").or_else(|| fields.remove("answer"));
    match decision.as_str() {
        "allow" => Ok(Verdict::Allow { instead, note: contract::text::one_line(&note, NOTE) }),
        "refuse" => Ok(Verdict::Refuse(sentence)),
        "" => Err("its answer has no 'decision'".to_owned()),
        other => {
            let other = contract::text::one_line(other, 40);
            Err(format!("its decision '{other}' is neither allow nor refuse"))
        }
    }
}
