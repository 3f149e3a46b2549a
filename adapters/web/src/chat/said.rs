//! Replies in the shapes that clients of OpenAI's API read. Pure.

use contract::{Content, Layer, Node, NodeKind, Notice, Reply, TurnId};
use dispatch::say;
use serde_json::{Value, json};

use crate::body::now_ms;

/// The one model that there is: the gateway, as the client's token sees it.
pub const MODEL: &str = "toolgate";

/// What each object of an answer says of itself.
#[derive(Clone, Copy)]
pub struct Head {
    pub turn: TurnId,
    created: u64,
}

impl Head {
    pub fn of(turn: TurnId) -> Self {
        Self { turn, created: now_ms() / 1_000 }
    }

    fn object(self, kind: &str, choices: Value) -> Value {
        json!({
            "id": format!("chatcmpl-{}", self.turn),
            "object": kind,
            "created": self.created,
            "model": MODEL,
            "choices": choices,
            "reference": self.turn.to_string(),
        })
    }

    /// A whole answer.
    pub fn completion(self, text: &str, usage: Value) -> Value {
        let message = json!({ "role": "assistant", "content": text, "refusal": null });
        let choice = json!({ "index": 0, "message": message, "logprobs": null, "finish_reason": "stop" });
        let mut out = self.object("chat.completion", json!([choice]));
        out["usage"] = usage;
        out
    }

    /// A piece of one.
    pub fn chunk(self, delta: &Value, finish: Option<&str>) -> Value {
        let choice = json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish });
        self.object("chat.completion.chunk", json!([choice]))
    }

    /// What all of it took, in place of a last piece.
    pub fn used(self, usage: Value) -> Value {
        let mut out = self.object("chat.completion.chunk", json!([]));
        out["usage"] = usage;
        out
    }
}

/// What the model's steps of a turn took together.
pub fn usage(nodes: &[Node]) -> Value {
    let steps = nodes.iter().filter(|node| node.kind == NodeKind::ModelStep).filter_map(|node| node.usage);
    let (input, output, cached) =
        steps.fold((0, 0, 0), |(i, o, c), used| (i + used.input, o + used.output, c + used.cached));
    json!({
        "prompt_tokens": input,
        "completion_tokens": output,
        "total_tokens": input + output,
        "prompt_tokens_details": { "cached_tokens": cached },
    })
}

/// Why there is no answer at all; a tool that failed is a part of an answer.
pub fn without_answer(reply: &Reply) -> Option<&Notice> {
    match reply.content.first() {
        Some(Content::Notice(notice)) if reply.failed && notice.tool.is_none() => {
            matches!(notice.layer, Layer::Execution | Layer::Fatal).then_some(notice)
        }
        _ => None,
    }
}

/// A reply as CommonMark.
pub fn markdown(reply: &Reply) -> String {
    let parts: Vec<String> = reply.content.iter().map(|content| part(content, reply)).collect();
    parts.join("\n\n")
}

fn part(content: &Content, reply: &Reply) -> String {
    match content {
        Content::Text(markdown) => markdown.clone(),
        Content::Plain(text) => lines(text),
        Content::Code { language, text } => fenced(language, text),
        Content::Notice(_) | Content::File(_) | Content::Attachment { .. } => {
            lines(&say::plain(&Reply { content: vec![content.clone()], locale: reply.locale, ..Reply::default() }))
        }
    }
}

/// Text whose lines stay lines and of which nothing is markup.
pub fn lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| unmarked(line.trim())).collect();
    lines.join("\\\n")
}

/// No more is escaped than has to be: many who read it draw no markup.
fn unmarked(line: &str) -> String {
    let mut out = String::with_capacity(line.len() + 8);
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    for (at, c) in line.char_indices() {
        let begins_block = at == 0 && matches!(c, '#' | '+' | '-' | '=' | ':')
            || at == line.len() - number.len() && at > 0 && matches!(c, '.' | ')');
        if begins_block || matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '~' | '|' | '&' | '!' | '$') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}{}\n{}\n{fence}", language.replace(['`', '\n'], ""), text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use contract::{Code, Failure};

    use super::*;

    #[test]
    fn every_part_of_a_reply_is_commonmark() {
        let failure = Failure::new(Code::Timeout, "the service *slow* did not answer");
        let content = vec![
            Content::Text("**yes**".into()),
            Content::Plain("a_b: c.\n*c*\n1. x".into()),
            Content::Code { language: "sh".into(), text: "echo ```\n".into() },
            Content::Notice(Notice::of(&failure, Some("slow"), None)),
        ];
        expect_test::expect![[r"
            **yes**

            a\_b: c.\
            \*c\*\
            1\. x

            ````sh
            echo ```
            ````

            ⚠️ The tool did not answer well: the service \*slow\* did not answer\
            code: timeout\
            → try again in a moment; if it goes on, tell an operator the reference"]]
        .assert_eq(&markdown(&Reply { content, ..Reply::default() }));
    }

    #[test]
    fn only_a_turn_without_any_answer_is_an_error() {
        let notice = |code, tool| Reply::notice(Notice::of(&Failure::new(code, "why"), tool, None));
        assert!(without_answer(&notice(Code::ModelUnavailable, None)).is_some());
        assert!(without_answer(&notice(Code::Timeout, Some("slow"))).is_none());
        assert!(without_answer(&notice(Code::ArgsInvalid, None)).is_none());
        assert!(without_answer(&Reply::text("yes")).is_none());
    }
}
