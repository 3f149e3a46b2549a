//! Turns, nodes and replies as JSON: the shapes of the API, apart from the words of the core.

use contract::{Button, Caller, Code, Content, Node, Notice, Reply, SessionKey, State, TurnId, records::TurnLine};
use dispatch::{Fared, FaredIn};
use serde_json::{Map, Value, json};

use crate::turns::Standing;

/// Who looks decides what of a node is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Eyes {
    Operator,
    /// For whom a denied tool does not exist.
    Client,
}

impl Eyes {
    fn code(self, code: Option<Code>) -> Option<Code> {
        match (self, code) {
            (Self::Client, Some(Code::Denied)) => Some(Code::ToolUnknown),
            (Self::Operator | Self::Client, code) => code,
        }
    }

    fn state(self, state: State, code: Option<Code>) -> State {
        match (self, code) {
            (Self::Client, Some(Code::Denied)) => State::Failed,
            (Self::Operator | Self::Client, _) => state,
        }
    }
}

pub fn node(node: &Node, eyes: Eyes) -> Value {
    let code = eyes.code(node.code);
    let mut out = json!({
        "call": node.call,
        "path": node.path,
        "parent": node.parent,
        "kind": node.kind,
        "tool": node.tool,
        "state": eyes.state(node.state, node.code).as_str(),
        "layer": code.map(Code::layer),
        "code": code,
        "started_us": node.started_us,
        "duration_us": node.duration_us,
        "queued_us": node.queued_us,
        "attempts": node.attempts,
        "args": node.args,
        "result": node.result,
        "args_bytes": node.args_bytes,
        "result_bytes": node.result_bytes,
        "marks": node.marks,
    });
    if let Some(usage) = node.usage {
        out["usage"] = json!(usage);
    }
    if !node.told.is_empty() {
        out["told"] = json!(node.told);
    }
    if let Some(usage) = &node.usage {
        out["usage"] = json!({ "input": usage.input, "cached": usage.cached, "output": usage.output });
    }
    if eyes == Eyes::Operator {
        if let Some(usage) = &node.usage {
            out["usage"]["cost_micros"] = json!(usage.cost_micros);
        }
        out["detail"] = json!(node.detail);
        out["spec"] = json!(node.spec.map(|digest| digest.to_string()));
        out["upstream_status"] = json!(node.upstream_status);
        if let Some(bodies) = &node.bodies {
            out["bodies"] = json!(bodies);
        }
    }
    out
}

/// Nodes in the order of their starts.
pub fn in_order(nodes: &mut [Node]) {
    nodes.sort_by_key(|node| (node.started_us, node.call));
}

/// A turn with its tree. `known`: from its record, when its root is not written yet.
pub fn trace(turn: TurnId, known: Option<(&Caller, &SessionKey, &str)>, nodes: &[Node], eyes: Eyes) -> Value {
    let root = nodes.iter().find(|node| node.place.is_some());
    let place = root.and_then(|root| root.place.as_deref());
    let caller = place.map(|place| &place.caller).or(known.map(|known| known.0));
    let session = place.map(|place| &place.session).or(known.map(|known| known.1));
    json!({
        "turn": turn.to_string(),
        "platform": caller.map(|c| c.platform),
        "account": caller.map(|c| &c.account),
        "tenant": caller.map(|c| &c.tenant),
        "space": caller.and_then(|c| c.space.as_ref()),
        "conversation": caller.map(|c| &c.conversation),
        "thread": caller.and_then(|c| c.thread.as_ref()),
        "session": session,
        "sender": caller.map(|c| &c.sender),
        "asked": root.map(|root| root.args.as_str()).or(known.map(|known| known.2)),
        "nodes": nodes.iter().map(|n| node(n, eyes)).collect::<Vec<_>>(),
    })
}

/// How turns and the tools in them fared.
pub fn fared(since_ms: Option<u64>, fared: &FaredIn) -> Value {
    let one = |fared: &Fared| {
        let failed: Map<_, _> = fared.failed.iter().map(|(code, n)| (code.as_str().to_owned(), json!(n))).collect();
        json!({ "ok": fared.ok, "failed": failed, "p50_us": fared.p50_us, "slowest_us": fared.slowest_us,
            "slowest_in": fared.slowest_in.to_string() })
    };
    let counted = |name: &str, fared: &Fared| {
        let mut out = one(fared);
        out[name] = json!(fared.calls);
        out
    };
    let tools = fared.tools.iter().map(|tool| {
        let mut out = counted("calls", tool);
        out["tool"] = json!(tool.tool);
        out
    });
    let tools: Vec<_> = tools.collect();
    let turns = fared.turns.as_ref().map(|turns| counted("turns", turns));
    json!({ "since_ms": since_ms, "turns": turns, "tools": tools, "more": fared.more })
}

pub fn line(line: &TurnLine, eyes: Eyes) -> Value {
    let code = eyes.code(line.code);
    json!({
        "turn": line.turn.to_string(),
        "state": eyes.state(line.state, line.code).as_str(),
        "layer": code.map(Code::layer),
        "code": code,
        "platform": line.platform,
        "tenant": line.tenant,
        "session": line.session,
        "sender": line.sender,
        "asked": line.asked,
        "calls": line.calls,
        "started_us": line.started_us,
        "duration_us": line.duration_us,
    })
}

/// The answer to a message.
pub fn answer(turn: Option<TurnId>, reply: &Reply) -> Value {
    json!({
        "reference": turn.map(|turn| turn.to_string()),
        "text": dispatch::say::plain(reply),
        "parts": reply.content.iter().map(part).collect::<Vec<_>>(),
        "buttons": reply.buttons.iter().map(button).collect::<Vec<_>>(),
        "failed": reply.failed,
    })
}

fn button(button: &Button) -> Value {
    json!({ "label": button.label, "press": button.action.to_string() })
}

/// How a turn ended, for the end of a stream: its answer, or what is left of it.
pub fn end(turn: TurnId, standing: &Standing, eyes: Eyes) -> Value {
    match standing {
        Standing::Replied(reply) => answer(Some(turn), reply),
        Standing::Refused => json!({ "reference": turn.to_string(), "text": "", "parts": [], "failed": true }),
        Standing::Over(root) => json!({
            "reference": turn.to_string(),
            "text": root.as_ref().map_or("", |root| root.result.as_str()),
            "parts": [],
            "failed": root.as_ref().is_some_and(|root| eyes.state(root.state, root.code) != State::Ok),
        }),
        Standing::Open | Standing::Unknown => json!({ "reference": turn.to_string() }),
    }
}

fn part(content: &Content) -> Value {
    match content {
        Content::Text(text) => json!({ "kind": "text", "text": text }),
        Content::Plain(text) => json!({ "kind": "plain", "text": text }),
        Content::Code { language, text } => json!({ "kind": "code", "language": language, "text": text }),
        Content::Notice(notice) => notice_part(notice),
        Content::File(file) => {
            json!({ "kind": "file", "name": file.name, "media_type": file.media_type, "size": file.size })
        }
        Content::Attachment { name, media_type, bytes } => {
            let text = std::str::from_utf8(bytes).ok();
            json!({ "kind": "file", "name": name, "media_type": media_type, "size": bytes.len(), "text": text })
        }
    }
}

fn notice_part(notice: &Notice) -> Value {
    let (mark, heading) = notice.heading();
    let mut out = json!({
        "kind": "notice",
        "mark": mark,
        "heading": heading,
        "layer": notice.layer,
        "code": notice.code,
        "tool": notice.tool,
        "say": notice.say,
        "problems": notice.problems,
        "usage": notice.usage,
        "hint": notice.hint,
    });
    if let Some(wait) = notice.retry_after {
        out["retry_after_ms"] = json!(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
    }
    if let Some(at) = notice.may_have_happened_ms {
        out["may_have_happened_ms"] = json!(at);
    }
    out
}

#[cfg(test)]
mod tests {
    use contract::{CallId, Failure, NodeKind};

    use super::*;

    #[test]
    fn a_client_sees_a_denied_call_as_an_unknown_tool() {
        let refused = |code, state| Node {
            code: Some(code),
            state,
            detail: "telegram.yaml:4".into(),
            ..Node::new("01KBA7Q3ZJ8M4W0N5RX2VCT008".parse().unwrap(), CallId(1), NodeKind::Call, 1)
        };
        let (denied, unknown) = (refused(Code::Denied, State::Denied), refused(Code::ToolUnknown, State::Failed));
        assert_eq!(node(&denied, Eyes::Client), node(&unknown, Eyes::Client));
        assert!(!node(&denied, Eyes::Client).to_string().contains("telegram.yaml"));
        assert_eq!(node(&denied, Eyes::Operator)["code"], "denied");
        assert_eq!(node(&denied, Eyes::Operator)["detail"], "telegram.yaml:4");
    }

    #[test]
    fn a_notice_is_a_part_with_its_layer_and_what_to_do() {
        let failure = Failure::unknown_tool("x", &["sleep"]);
        let reply = Reply::notice(Notice::of(&failure, None, None));
        expect_test::expect![[r#"{"kind":"notice","mark":"🚫","heading":"Not available","layer":"permission","code":"tool.unknown","tool":null,"say":"'x' is not available here","problems":[],"usage":null,"hint":"did you mean /sleep?"}"#]]
            .assert_eq(&answer(None, &reply)["parts"][0].to_string());
    }
}
