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
    /// An error with `status` and `description`.
    Error,
    /// The connection ends without an answer.
    Drop,
    /// The answer comes `seconds` late.
    Delay,
    /// Updates are delivered once more although they were confirmed.
    Duplicate,
    /// Open long polls are cut.
    Disconnect,
    /// The same as `Disconnect`, by the name that platforms with sockets use.
    Close,
    /// Texts with markup are refused.
    RefuseMarkup,
    /// Polls are told of a second poller.
    Conflict,
}

/// An order for a fault; without `count` and `seconds` it happens once.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    pub kind: Kind,
    /// How many requests (or updates, for duplicates) it hits.
    #[serde(default)]
    pub count: Option<u64>,
    /// The wait of a rate limit, the length of a delay, else how long the fault lasts when no count is given.
    #[serde(default)]
    pub seconds: Option<f64>,
    #[serde(default)]
    pub status: Option<u16>,
    #[serde(default)]
    pub description: Option<String>,
    /// Only requests of this method; without it every method but `getUpdates`. `*` is every method.
    #[serde(default)]
    pub method: Option<String>,
    #[serde(default)]
    pub when: When,
    /// Only requests that concern this conversation.
    #[serde(default)]
    pub conversation: Option<String>,
    /// For duplicates: how many updates of the past come again at once.
    #[serde(default)]
    pub past: Option<usize>,
}

impl Fault {
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            count: None,
            seconds: None,
            status: None,
            description: None,
            method: None,
            when: When::Before,
            conversation: None,
            past: None,
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
        matches!(
            self.kind,
            Kind::Error | Kind::Drop | Kind::RefuseMarkup | Kind::Conflict | Kind::Disconnect | Kind::Close
        )
    }
}

pub type Faults = crate::fault::Faults<Fault, i64>;

/// What of a request decides whether a fault concerns it.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    pub method: &'a str,
    pub chat: Option<i64>,
    pub marked: bool,
}

impl Faults {
    /// The first fault of one of these kinds that concerns a request; it is used up by one.
    pub fn hit(&mut self, kinds: &[Kind], target: Target<'_>) -> Option<Fault> {
        self.first(|fault, chat| kinds.contains(&fault.kind) && fault.concerns(chat.copied(), target))
    }
}

impl Fault {
    fn concerns(&self, bound: Option<i64>, target: Target<'_>) -> bool {
        let polling = target.method.eq_ignore_ascii_case("getUpdates");
        let method = match (&self.method, self.kind) {
            (Some(only), _) if only == "*" => true,
            (Some(only), _) => only.eq_ignore_ascii_case(target.method),
            (None, Kind::Conflict | Kind::Disconnect | Kind::Close) => polling,
            (None, _) => !polling,
        };
        let chat = bound.is_none() || bound == target.chat;
        method && chat && (self.kind != Kind::RefuseMarkup || target.marked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const SEND: Target<'static> = Target { method: "SendMessage", chat: Some(5), marked: true };
    const POLL: Target<'static> = Target { method: "getupdates", chat: None, marked: false };

    #[tokio::test(start_paused = true)]
    async fn a_fault_hits_as_often_as_ordered_and_what_it_concerns() {
        let mut faults = Faults::default();
        faults.add(Fault { count: Some(2), ..Fault::new(Kind::Error) }, None);
        assert!(faults.hit(&[Kind::Drop], SEND).is_none());
        assert!(faults.hit(&[Kind::Error], POLL).is_none(), "a poll is hit only by name");
        assert!(faults.hit(&[Kind::Error], SEND).is_some());
        assert!(faults.hit(&[Kind::Error], SEND).is_some());
        assert!(faults.hit(&[Kind::Error], SEND).is_none());

        faults.add(Fault { method: Some("editMessageText".into()), ..Fault::new(Kind::Error) }, None);
        faults.add(Fault::new(Kind::RateLimit), Some(6));
        faults.add(Fault::new(Kind::RefuseMarkup), None);
        assert!(faults.hit(&[Kind::Error, Kind::RateLimit], SEND).is_none());
        assert!(faults.hit(&[Kind::RefuseMarkup], Target { marked: false, ..SEND }).is_none());
        assert!(faults.hit(&[Kind::RefuseMarkup], SEND).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_fault_with_seconds_lasts_so_long() {
        let mut faults = Faults::default();
        faults.add(Fault { seconds: Some(3.0), ..Fault::new(Kind::Error) }, None);
        for _ in 0..5 {
            assert!(faults.hit(&[Kind::Error], SEND).is_some());
        }
        tokio::time::advance(Duration::from_secs(3)).await;
        assert!(faults.hit(&[Kind::Error], SEND).is_none());
    }
}
