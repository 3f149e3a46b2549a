//! What operators see of a shard: its socket and its taking in, as one condition.

use std::sync::Mutex;

use contract::{Health, seams::Condition};

use crate::lock;

/// Said when it is new, and not at each try.
pub(crate) struct Report {
    health: Health,
    part: String,
    parts: Mutex<Parts>,
}

#[derive(Default)]
struct Parts {
    /// What is wrong with the socket; at first it is not there.
    socket: Option<String>,
    /// What is wrong with taking messages in.
    intake: Option<String>,
    /// What is wrong with what we ask.
    rest: Option<String>,
    is_up: bool,
    told: Option<Condition>,
}

impl Report {
    pub(crate) fn new(health: Health, part: String) -> Self {
        Self { health, part, parts: Mutex::default() }
    }

    pub(crate) fn up(&self) {
        self.change(|parts| (parts.socket, parts.is_up) = (None, true));
    }

    pub(crate) fn socket(&self, why: &str) {
        self.change(|parts| parts.socket = Some(why.to_owned()));
    }

    pub(crate) fn intake(&self, why: Option<String>) {
        self.change(|parts| parts.intake = why);
    }

    pub(crate) fn rest(&self, why: Option<String>) {
        self.change(|parts| parts.rest = why);
    }

    fn change(&self, how: impl FnOnce(&mut Parts)) {
        let mut parts = lock(&self.parts);
        how(&mut parts);
        let trouble = [&parts.socket, &parts.intake, &parts.rest].into_iter().flatten().next();
        let now = match trouble {
            Some(why) => Condition::Degraded(why.clone()),
            None if parts.is_up => Condition::Ready,
            None => return,
        };
        if parts.told.as_ref() == Some(&now) {
            return;
        }
        if let Condition::Degraded(why) = &now {
            tracing::warn!(part = self.part, why, "Discord is in trouble");
        }
        self.health.set(&self.part, now.clone());
        parts.told = Some(now);
    }
}
