//! Faults on demand: what somebody ordered to go wrong, and whether it concerns a request.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

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

/// Whether a dropped request took effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    #[default]
    Before,
    After,
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

#[derive(Debug)]
struct Armed {
    fault: Fault,
    chat: Option<i64>,
    left: Option<u64>,
    until: Option<Instant>,
}

/// The faults that wait for a request.
#[derive(Debug, Default)]
pub struct Faults(Vec<Armed>);

/// What of a request decides whether a fault concerns it.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    pub method: &'a str,
    pub chat: Option<i64>,
    pub marked: bool,
}

impl Faults {
    /// Most faults that wait at once; more are a mistake of whoever orders them.
    pub const MOST: usize = 256;

    pub fn add(&mut self, fault: Fault, chat: Option<i64>) {
        let lasting = matches!(
            fault.kind,
            Kind::Error | Kind::Drop | Kind::RefuseMarkup | Kind::Conflict | Kind::Disconnect | Kind::Close
        );
        let span = fault.seconds.filter(|seconds| lasting && *seconds > 0.0);
        let left = match (fault.count, span) {
            (None, Some(_)) => None,
            (count, _) => Some(count.unwrap_or(1)),
        };
        let until = span.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds.min(1e6)));
        if self.0.len() < Self::MOST {
            self.0.push(Armed { fault, chat, left, until });
        }
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn waiting(&self) -> usize {
        self.0.len()
    }

    /// The first fault of one of these kinds that concerns a request; it is used up by one.
    pub fn hit(&mut self, kinds: &[Kind], target: Target<'_>) -> Option<Fault> {
        let now = Instant::now();
        self.0.retain(|armed| armed.left != Some(0) && armed.until.is_none_or(|until| now < until));
        let armed = self.0.iter_mut().find(|armed| kinds.contains(&armed.fault.kind) && armed.concerns(target))?;
        armed.left = armed.left.map(|left| left - 1);
        Some(armed.fault.clone())
    }
}

impl Armed {
    fn concerns(&self, target: Target<'_>) -> bool {
        let polling = target.method.eq_ignore_ascii_case("getUpdates");
        let method = match (&self.fault.method, self.fault.kind) {
            (Some(only), _) if only == "*" => true,
            (Some(only), _) => only.eq_ignore_ascii_case(target.method),
            (None, Kind::Conflict | Kind::Disconnect | Kind::Close) => polling,
            (None, _) => !polling,
        };
        let chat = self.chat.is_none() || self.chat == target.chat;
        method && chat && (self.fault.kind != Kind::RefuseMarkup || target.marked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
