//! How the account fares: what is known of it, of which operators see the worst.

use std::sync::Mutex;

use contract::{Health, seams::Condition};

use crate::{lock, refusal};

/// What is known of an account.
pub(crate) struct Report {
    part: String,
    health: Health,
    known: Mutex<Known>,
}

struct Known {
    line: Condition,
    store: Option<String>,
    scope: Option<String>,
    /// What operators were told last.
    said: Option<Condition>,
}

impl Report {
    pub(crate) fn new(part: String, health: Health) -> Self {
        Self { part, health, known: Mutex::new(Known { line: Condition::Ready, store: None, scope: None, said: None }) }
    }

    /// How the way to Slack fares.
    pub(crate) fn line(&self, condition: Condition) {
        self.change(|known| known.line = condition);
    }

    /// Why nothing can be stored; nothing when it can.
    pub(crate) fn store(&self, trouble: Option<String>) {
        self.change(|known| known.store = trouble);
    }

    /// Something was refused for a scope that the app lacks.
    pub(crate) fn scope(&self, scope: &str) {
        let words = format!("the scope {scope} is missing: {}", refusal::scope_step(scope));
        self.change(|known| known.scope = Some(words));
    }

    fn change(&self, change: impl FnOnce(&mut Known)) {
        let mut known = lock(&self.known);
        change(&mut known);
        let now = known.worst();
        if known.said.as_ref() == Some(&now) {
            return;
        }
        let begins = known.said.replace(now.clone()).is_none();
        match &now {
            // That it is not there yet is no trouble while it starts.
            _ if begins => tracing::debug!(part = self.part, condition = ?now, "Slack is being reached"),
            Condition::Ready => tracing::info!(part = self.part, "Slack is well"),
            Condition::Degraded(why) | Condition::Stopped(why) => {
                tracing::warn!(part = self.part, why, "Slack is in trouble")
            }
        }
        self.health.set(&self.part, now);
    }
}

impl Known {
    fn worst(&self) -> Condition {
        let trouble = match &self.line {
            Condition::Ready => self.store.clone().or_else(|| self.scope.clone()),
            line => return line.clone(),
        };
        trouble.map_or(Condition::Ready, Condition::Degraded)
    }
}
