//! Faults on demand: what somebody ordered to go wrong, and whether it concerns a request or a word over the socket.

use serde::{Deserialize, Serialize};

use crate::fault::Order;
pub use crate::fault::When;

/// What can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// 429 with `seconds` to wait, of one bucket or `global`.
    RateLimit,
    /// An error with `status`, `code` and `description`.
    Error,
    /// The connection ends without an answer.
    Drop,
    /// The answer comes `seconds` late.
    Delay,
    /// The next events are delivered twice, or `past` ones once more.
    Duplicate,
    /// Sockets break off without a word.
    Disconnect,
    /// Sockets are closed with the code `status`, or with a frame that has no code.
    Close,
    /// Clients are asked to connect anew.
    Reconnect,
    /// Clients are told that their session is over, or `resumable`.
    InvalidSession,
    /// Sockets stay open but say nothing more: no event and no acknowledgement.
    Zombie,
    /// Identifies and resumes are not answered, as with `method`.
    Ignore,
}

impl Kind {
    /// Whether it is about sockets rather than requests.
    pub fn is_socket(self) -> bool {
        match self {
            Self::Disconnect | Self::Close | Self::Reconnect | Self::InvalidSession | Self::Zombie | Self::Ignore => {
                true
            }
            Self::RateLimit | Self::Error | Self::Drop | Self::Delay | Self::Duplicate => false,
        }
    }
}

/// An order for a fault; without `count` and `seconds` it happens once.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    pub kind: Kind,
    /// How many requests, connections or events it hits.
    #[serde(default)]
    pub count: Option<u64>,
    /// The wait of a rate limit, the length of a delay, else how long the fault lasts when no count is given.
    #[serde(default)]
    pub seconds: Option<f64>,
    /// Of HTTP, or the code of a close frame.
    #[serde(default)]
    pub status: Option<u16>,
    /// The platform's own number of an error.
    #[serde(default)]
    pub code: Option<u32>,
    #[serde(default)]
    pub description: Option<String>,
    /// Only these requests, such as `POST messages`, or at the socket `CONNECT`, `IDENTIFY`, `RESUME` or `HEARTBEAT`.
    /// Without it: every request but those for the socket's address; for sockets those that are open now. `*` is every request.
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
    /// For rate limits: all requests have to wait.
    #[serde(default)]
    pub global: bool,
    /// For rate limits: others share the bucket, and nobody did anything wrong.
    #[serde(default)]
    pub shared: bool,
    /// For invalid sessions.
    #[serde(default)]
    pub resumable: bool,
    /// For errors and rate limits: a body that is not JSON, as a proxy before the platform gives it.
    #[serde(default)]
    pub body: Option<String>,
}

impl Fault {
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            count: None,
            seconds: None,
            status: None,
            code: None,
            description: None,
            method: None,
            when: When::Before,
            conversation: None,
            past: None,
            global: false,
            shared: false,
            resumable: false,
            body: None,
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
        !matches!(self.kind, Kind::RateLimit | Kind::Delay)
    }
}

pub type Faults = crate::fault::Faults<Fault, u64>;

impl Faults {
    /// The first fault that concerns a request (or a word over the socket) and is of the wanted kind; it is used up by one.
    pub fn hit(&mut self, wanted: impl Fn(Kind) -> bool, method: &str, channel: Option<u64>) -> Option<Fault> {
        self.first(|fault, bound| wanted(fault.kind) && fault.concerns(bound.copied(), method, channel))
    }
}

impl Fault {
    fn concerns(&self, bound: Option<u64>, method: &str, channel: Option<u64>) -> bool {
        let named = match &self.method {
            Some(only) => only == "*" || fits(only, method),
            None if self.kind.is_socket() => matches!(method, "IDENTIFY" | "RESUME"),
            None => !method.starts_with("GET gateway"),
        };
        named && (bound.is_none() || bound == channel)
    }
}

/// Whether a short name such as `POST messages` means a method such as `POST channels/{channel}/messages`.
fn fits(short: &str, method: &str) -> bool {
    if short.eq_ignore_ascii_case(method) {
        return true;
    }
    let (Some((verb, path)), Some((known, full))) = (short.split_once(' '), method.split_once(' ')) else {
        return false;
    };
    let path = path.trim_matches('/');
    verb.eq_ignore_ascii_case(known) && (full == path || full.ends_with(&format!("/{path}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const SEND: &str = "POST channels/{channel}/messages";

    #[tokio::test(start_paused = true)]
    async fn a_fault_hits_as_often_as_ordered_and_what_it_concerns() {
        let mut faults = Faults::default();
        faults.add(Fault { count: Some(2), ..Fault::new(Kind::Error) }, Some(7));
        let error = |kind| kind == Kind::Error;
        assert!(faults.hit(|kind| kind == Kind::Drop, SEND, Some(7)).is_none());
        assert!(faults.hit(error, SEND, Some(8)).is_none());
        assert!(faults.hit(error, "GET gateway/bot", Some(7)).is_none());
        assert!(faults.hit(error, SEND, Some(7)).is_some());
        assert!(faults.hit(error, SEND, Some(7)).is_some());
        assert!(faults.hit(error, SEND, Some(7)).is_none());

        faults.add(Fault { seconds: Some(3.0), method: Some("post messages".into()), ..Fault::new(Kind::Error) }, None);
        assert!(faults.hit(error, "PATCH channels/{channel}/messages/{message}", None).is_none());
        assert!((0..5).all(|_| faults.hit(error, SEND, None).is_some()));
        tokio::time::advance(Duration::from_secs(3)).await;
        assert!(faults.hit(error, SEND, None).is_none());
    }
}
