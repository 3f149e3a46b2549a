//! Faults on demand: what somebody ordered to go wrong, and whether it concerns a request.

use serde::{Deserialize, Serialize};

use crate::fault::Order;
pub use crate::fault::When;

/// What can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// 429 with `seconds` to wait.
    RateLimit,
    /// The answer `error`, or one with a `status` of HTTP.
    Error,
    /// The connection ends without an answer.
    Drop,
    /// The answer comes `seconds` late.
    Delay,
    /// Events are delivered once more although they were acknowledged.
    Duplicate,
    /// Open sockets are told to go, with `reason`, and closed after `seconds`.
    Disconnect,
    /// Open sockets get a close frame, with `status` as its code.
    Close,
    /// Open sockets end without a word.
    Cut,
    /// Open sockets stay open, but nothing comes through them any more.
    Silence,
    /// Messages with blocks are refused.
    RefuseMarkup,
    /// New sockets are told that there are too many.
    Conflict,
}

/// An order for a fault; without `count` and `seconds` it happens once.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    pub kind: Kind,
    /// How many requests (or events, for duplicates) it hits.
    #[serde(default)]
    pub count: Option<u64>,
    /// The wait of a rate limit, the length of a delay, else how long the fault lasts when no count is given.
    #[serde(default)]
    pub seconds: Option<f64>,
    /// An answer of HTTP instead of one of the platform; the code of a close frame.
    #[serde(default)]
    pub status: Option<u16>,
    /// The name of the error.
    #[serde(default, alias = "description")]
    pub error: Option<String>,
    /// Why sockets are told to go: `warning`, `refresh_requested`, `link_disabled`, `too_many_websockets`.
    #[serde(default)]
    pub reason: Option<String>,
    /// Only requests of this method; without it every method but those that start a bot. `*` is every method.
    #[serde(default)]
    pub method: Option<String>,
    #[serde(default)]
    pub when: When,
    /// Only requests that concern this conversation.
    #[serde(default)]
    pub conversation: Option<String>,
    /// For duplicates: how many events of the past come again at once.
    #[serde(default)]
    pub past: Option<usize>,
    /// Only sockets of this app, and of them only this one, counted from zero.
    #[serde(default)]
    pub app: Option<String>,
    #[serde(default)]
    pub socket: Option<usize>,
}

impl Fault {
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            count: None,
            seconds: None,
            status: None,
            error: None,
            reason: None,
            method: None,
            when: When::Before,
            conversation: None,
            past: None,
            app: None,
            socket: None,
        }
    }
}

impl Order for Fault {
    fn count(&self) -> Option<u64> {
        self.count
    }

    fn seconds(&self) -> Option<f64> {
        self.seconds
    }

    fn lasts(&self) -> bool {
        matches!(self.kind, Kind::Error | Kind::Drop | Kind::RefuseMarkup | Kind::Conflict)
    }
}

pub type Faults = crate::fault::Faults<Fault, String>;

/// What of a request decides whether a fault concerns it.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    pub method: &'a str,
    pub chat: Option<&'a str>,
    pub marked: bool,
}

impl Faults {
    /// The first fault of one of these kinds that concerns a request; it is used up by one.
    pub fn hit(&mut self, kinds: &[Kind], target: Target<'_>) -> Option<Fault> {
        self.first(|fault, chat| kinds.contains(&fault.kind) && fault.concerns(chat.map(String::as_str), target))
    }
}

impl Fault {
    fn concerns(&self, bound: Option<&str>, target: Target<'_>) -> bool {
        let starting = matches!(target.method, "apps.connections.open" | "auth.test");
        let method = match &self.method {
            Some(only) => only == "*" || only.eq_ignore_ascii_case(target.method),
            None => !starting || self.kind == Kind::Conflict,
        };
        let chat = bound.is_none() || bound == target.chat;
        method && chat && (self.kind != Kind::RefuseMarkup || target.marked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn a_fault_hits_as_often_as_ordered_and_what_it_concerns() {
        let send = Target { method: "chat.postMessage", chat: Some("C1"), marked: false };
        let open = Target { method: "apps.connections.open", chat: None, marked: false };
        let mut faults = Faults::default();
        faults.add(Fault { count: Some(2), ..Fault::new(Kind::Error) }, None);
        faults.add(Fault::new(Kind::RefuseMarkup), None);
        faults.add(Fault { seconds: Some(5.0), ..Fault::new(Kind::Drop) }, Some("C2".into()));
        assert!(faults.hit(&[Kind::Error], open).is_none(), "what starts a bot is hit only by name");
        assert!(faults.hit(&[Kind::Error], send).is_some());
        assert!(faults.hit(&[Kind::Error], send).is_some());
        assert!(faults.hit(&[Kind::Error, Kind::RefuseMarkup, Kind::Drop], send).is_none());
        assert!(faults.hit(&[Kind::RefuseMarkup], Target { marked: true, ..send }).is_some());
        assert!(faults.hit(&[Kind::Drop], Target { chat: Some("C2"), ..send }).is_some());
        tokio::time::advance(Duration::from_secs(6)).await;
        assert!(faults.hit(&[Kind::Drop], Target { chat: Some("C2"), ..send }).is_none());
    }
}
