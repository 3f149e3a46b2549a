//! What an app has still to be told: deliveries that wait, are under way, or come again.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::cast::App;
use super::limits::Limits;
use super::transcript::{By, Entry, Kind};
use super::world::World;

/// How many deliveries wait for an app at most; the oldest are lost.
const KEPT: usize = 20_000;
/// How many that were acknowledged are remembered, to be delivered again on demand.
const REMEMBERED: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Event,
    Command,
    Interactive,
}

impl What {
    /// The type of the envelope.
    fn word(self) -> &'static str {
        match self {
            Self::Event => "events_api",
            Self::Command => "slash_commands",
            Self::Interactive => "interactive",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    /// On its way through a socket, to be acknowledged by then.
    Sent {
        socket: u64,
        until: Instant,
    },
    /// On its way to a request URL.
    Posted,
}

/// Who is told when nobody acknowledges.
#[derive(Clone, Debug)]
pub struct Asker {
    pub conversation: String,
    pub user: String,
    /// What they did, as the failure names it.
    pub what: String,
    /// The view that a submission came from.
    pub view: Option<String>,
}

/// Something that an app is told.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub envelope: String,
    pub what: What,
    pub payload: Value,
    /// Whether the acknowledgement may carry an answer.
    pub answers: bool,
    pub attempt: u32,
    pub reason: &'static str,
    pub asker: Option<Asker>,
    number: u64,
    due: Instant,
    state: State,
}

/// The deliveries of one app, oldest first.
#[derive(Debug, Default)]
pub struct Outbox {
    queue: VecDeque<Delivery>,
    past: VecDeque<Delivery>,
    number: u64,
}

impl Outbox {
    pub fn unanswered(&self) -> usize {
        self.queue.iter().filter(|delivery| delivery.asker.is_some()).count()
    }

    fn push(&mut self, mut delivery: Delivery) -> bool {
        self.number += 1;
        delivery.number = self.number;
        let full = self.queue.len() == KEPT;
        if full {
            self.queue.pop_front();
        }
        self.queue.push_back(delivery);
        full
    }

    fn find(&self, envelope: &str) -> Option<usize> {
        self.queue.iter().position(|delivery| delivery.envelope == envelope)
    }
}

/// How long after the failure of a try the next one comes.
fn pause(limits: &Limits, attempt: u32) -> Duration {
    let seconds = match attempt {
        1 => limits.retry_first,
        2 => limits.retry_second,
        _ => limits.retry_third,
    };
    Duration::from_secs_f64(seconds.clamp(0.0, 1e6))
}

impl Delivery {
    /// The envelope as a socket carries it.
    pub fn frame(&self) -> String {
        let mut out = json!({"envelope_id": self.envelope, "payload": self.payload, "type": self.what.word(), "accepts_response_payload": self.answers});
        if self.what == What::Event {
            out["retry_attempt"] = json!(self.attempt);
            out["retry_reason"] = json!(self.reason);
        }
        out.to_string()
    }
}

impl World {
    /// Queues something for an app.
    pub fn deliver(&mut self, app: usize, what: What, payload: Value, asker: Option<Asker>) -> String {
        let envelope = self.next_uuid();
        let answers = what != What::Event;
        let delivery = Delivery {
            envelope: envelope.clone(),
            what,
            payload,
            answers,
            attempt: 0,
            reason: "",
            asker,
            number: 0,
            due: Instant::now(),
            state: State::Waiting,
        };
        if self.apps[app].outbox.push(delivery) {
            self.stats.lost += 1;
        }
        envelope
    }

    /// What a socket is to send now.
    pub fn frames(&mut self, app: usize, socket: u64) -> Vec<String> {
        let now = Instant::now();
        let until = now + Duration::from_secs_f64(self.limits.ack_seconds.clamp(0.001, 1e6));
        let App { sockets, outbox, .. } = &mut self.apps[app];
        let fresh = sockets.iter().any(|sock| !sock.leaving);
        let turn: Vec<u64> = sockets.iter().filter(|sock| !sock.leaving || !fresh).map(|sock| sock.id).collect();
        let Some(mine) = turn.iter().position(|id| *id == socket) else { return Vec::new() };
        let mut out = Vec::new();
        for delivery in &mut outbox.queue {
            let lot = (delivery.number + u64::from(delivery.attempt)) as usize % turn.len();
            if delivery.state == State::Waiting && delivery.due <= now && lot == mine {
                delivery.state = State::Sent { socket, until };
                out.push(delivery.frame());
            }
        }
        out
    }

    /// What is to be posted now, to the app that has request URLs.
    pub fn posts(&mut self, app: usize, most: usize) -> Vec<Delivery> {
        let now = Instant::now();
        let ready = self.apps[app]
            .outbox
            .queue
            .iter_mut()
            .filter(|delivery| delivery.state == State::Waiting && delivery.due <= now);
        ready
            .take(most)
            .map(|delivery| {
                delivery.state = State::Posted;
                delivery.clone()
            })
            .collect()
    }

    /// Takes an acknowledged delivery off the list; nothing when it is not on it.
    pub fn acknowledge(&mut self, app: usize, envelope: &str) -> Option<Delivery> {
        let outbox = &mut self.apps[app].outbox;
        let delivery = outbox.queue.remove(outbox.find(envelope)?)?;
        if delivery.what == What::Event {
            if outbox.past.len() == REMEMBERED {
                outbox.past.pop_front();
            }
            outbox.past.push_back(delivery.clone());
        }
        self.stats.acknowledged += 1;
        if self.duplicates > 0 && delivery.what == What::Event {
            self.duplicates -= 1;
            self.again(app, delivery.clone());
        }
        Some(delivery)
    }

    /// Whether this was acknowledged already.
    pub fn is_past(&self, app: usize, envelope: &str) -> bool {
        self.apps[app].outbox.past.iter().any(|delivery| delivery.envelope == envelope)
    }

    fn again(&mut self, app: usize, delivery: Delivery) {
        let again = Delivery { attempt: 1, reason: "timeout", due: Instant::now(), state: State::Waiting, ..delivery };
        self.apps[app].outbox.push(again);
    }

    /// Delivers the newest acknowledged events once more.
    pub fn repeat(&mut self, newest: usize) {
        for app in 0..self.apps.len() {
            let past = &self.apps[app].outbox.past;
            let again: Vec<Delivery> = past.range(past.len().saturating_sub(newest)..).cloned().collect();
            again.into_iter().for_each(|delivery| self.again(app, delivery));
        }
    }

    /// A delivery was not acknowledged: events come again, everything else is a failure that its asker sees.
    pub fn failed(&mut self, app: usize, envelope: &str, reason: &'static str, final_: bool) {
        let limits = self.limits.clone();
        let outbox = &mut self.apps[app].outbox;
        let Some(at) = outbox.find(envelope) else { return };
        let delivery = &mut outbox.queue[at];
        delivery.attempt += 1;
        if delivery.what == What::Event && delivery.attempt < limits.tries && !final_ {
            (delivery.reason, delivery.state) = (reason, State::Waiting);
            delivery.due = Instant::now() + pause(&limits, delivery.attempt);
            self.stats.redelivered += 1;
            return;
        }
        self.stats.lost += 1;
        let Some(asker) = outbox.queue.remove(at).and_then(|delivery| delivery.asker) else { return };
        let words = if reason == "timeout" { "operation_timeout" } else { "dispatch_failed" };
        self.tell_failure(asker, words);
    }

    fn tell_failure(&mut self, asker: Asker, words: &str) {
        let chat = self.names.get(&asker.conversation).cloned().unwrap_or_default();
        let mut entry = Entry::new(&asker.conversation, &chat, By::Bot, Kind::Private);
        entry.to = Some(asker.user);
        entry.text = format!("{} failed with the error \"{words}\"", asker.what);
        entry.payload = json!({"error": words, "view": asker.view});
        self.log(entry);
    }

    /// Ends every wait that is over; says when the next one is.
    pub fn expire(&mut self) -> Option<Instant> {
        let now = Instant::now();
        let mut next = None;
        for app in 0..self.apps.len() {
            let known = &self.apps[app];
            let reached = known.hooks.is_some() || !known.sockets.is_empty();
            let mut over = Vec::new();
            for delivery in &known.outbox.queue {
                let (at, reason) = match delivery.state {
                    State::Sent { until, .. } => (until, "timeout"),
                    State::Waiting if reached && delivery.due > now => (delivery.due, ""),
                    // Nobody listens: a person is told at once, an event waits for its next try.
                    State::Waiting if !reached && (known.began || delivery.asker.is_some()) => {
                        (delivery.due, "no_connection")
                    }
                    State::Waiting | State::Posted => continue,
                };
                if at > now {
                    next = Some(next.map_or(at, |next: Instant| next.min(at)));
                } else if !reason.is_empty() {
                    over.push((delivery.envelope.clone(), reason));
                }
            }
            for (envelope, reason) in over {
                self.failed(app, &envelope, reason, false);
                next = Some(now);
            }
        }
        next
    }
}
