//! A turn as the pieces that clients of OpenAI's API read. Pure.

use std::collections::HashSet;

use axum::response::sse::Event;
use contract::{CallId, Code, Failure, Node, NodeKind};
use serde_json::{Value, json};

use super::said::{self, Head};
use crate::{follow::Shape, problem::Problem, turns::Standing};

/// What was told of an answer so far. What was told cannot be taken back: words that a model said before it used tools
/// stand before its answer.
pub struct Chunks {
    head: Head,
    wants_usage: bool,
    is_begun: bool,
    /// Something was said.
    has_words: bool,
    /// Of the present step.
    told: String,
    steps: HashSet<CallId>,
}

impl Chunks {
    pub fn new(head: Head, wants_usage: bool) -> Self {
        Self { head, wants_usage, is_begun: false, has_words: false, told: String::new(), steps: HashSet::new() }
    }

    /// The pieces as JSON; the last is followed by [`DONE`].
    fn begin(&mut self) -> Option<Value> {
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        is_first.then(|| self.head.chunk(&json!({ "role": "assistant", "content": "" }), None))
    }

    /// The whole text of the present step.
    fn say(&mut self, text: &str) -> Vec<Value> {
        let mut out: Vec<Value> = self.begin().into_iter().collect();
        let piece = match text.strip_prefix(self.told.as_str()) {
            Some("") => return out,
            Some(rest) if !self.told.is_empty() || !self.has_words => rest.to_owned(),
            // Another step, or the same one begun anew.
            _ => format!("\n\n{text}"),
        };
        text.clone_into(&mut self.told);
        self.has_words = true;
        out.push(self.head.chunk(&json!({ "content": piece }), None));
        out
    }

    fn finish(&mut self, standing: &Standing, nodes: &[Node]) -> Vec<Value> {
        let reply = match standing {
            Standing::Replied(reply) => reply,
            Standing::Refused => return vec![super::not_taken(self.head.turn).openai_body()],
            Standing::Over(_) | Standing::Unknown | Standing::Open => {
                return vec![Problem::no_such_reference().reference(self.head.turn).openai_body()];
            }
        };
        if let Some(notice) = said::without_answer(reply) {
            return vec![super::no_answer(self.head.turn, reply, notice).openai_body()];
        }
        let mut out = self.say(&said::markdown(reply));
        out.push(self.head.chunk(&json!({}), Some("stop")));
        if self.wants_usage {
            out.push(self.head.used(said::usage(nodes)));
        }
        out
    }
}

impl Shape for Chunks {
    fn node(&mut self, node: &Node) -> Vec<Event> {
        if node.kind == NodeKind::ModelStep && self.steps.insert(node.call) {
            self.told.clear();
        }
        // Who waits for an answer is told at once that one is being made.
        events(self.begin())
    }

    fn draft(&mut self, text: &str) -> Vec<Event> {
        events(self.say(text))
    }

    fn end(&mut self, standing: &Standing, nodes: &[Node]) -> Vec<Event> {
        let mut told = events(self.finish(standing, nodes));
        told.push(Event::default().data("[DONE]"));
        told
    }

    fn cut(&mut self) -> Vec<Event> {
        let failure = Failure::new(
            Code::Unavailable,
            "the stream ends before the answer: it took too long, or the gateway stops",
        );
        events([Problem::of(failure).reference(self.head.turn).openai_body()])
    }
}

fn events(told: impl IntoIterator<Item = Value>) -> Vec<Event> {
    told.into_iter().map(|data| Event::default().data(data.to_string())).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use contract::{Notice, Reply, TurnId};

    use super::*;

    fn step(call: u32) -> Node {
        Node::new(TurnId::new(), CallId(call), NodeKind::ModelStep, 1)
    }

    fn words(told: &[Value]) -> String {
        told.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect()
    }

    #[test]
    fn drafts_grow_into_the_answer_and_nothing_is_said_twice() {
        let mut chunks = Chunks::new(Head::of(TurnId::new()), true);
        let mut told = Vec::new();
        chunks.node(&step(1));
        told.extend(chunks.say("Let me"));
        told.extend(chunks.say("Let me look."));
        chunks.node(&step(1));
        chunks.node(&step(2));
        told.extend(chunks.say("Let me"));
        told.extend(chunks.finish(&Standing::Replied(Arc::new(Reply::text("Let me say: yes."))), &[]));
        assert_eq!(words(&told), "Let me look.\n\nLet me say: yes.");
        let finishes: Vec<_> = told.iter().map(|chunk| &chunk["choices"][0]["finish_reason"]).collect();
        assert_eq!(finishes[finishes.len() - 2], "stop");
        assert_eq!(told.last().unwrap()["usage"]["total_tokens"], 0);
    }

    #[test]
    fn a_turn_without_an_answer_ends_in_an_error() {
        let mut chunks = Chunks::new(Head::of(TurnId::new()), false);
        let failure = Failure::new(Code::ModelUnavailable, "the language model did not answer");
        let reply = Reply::notice(Notice::of(&failure, None, None));
        let told = chunks.finish(&Standing::Replied(Arc::new(reply)), &[]);
        assert_eq!(told[0]["error"]["code"], "model.unavailable");
        assert_eq!(told.len(), 1);
    }
}
