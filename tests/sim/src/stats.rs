//! What was counted: requests, messages, and the rules that were broken.

use std::collections::{BTreeMap, VecDeque};
use std::ops::{Deref, DerefMut};

use serde::Serialize;

/// How many violations are kept; the oldest are forgotten.
const KEPT_VIOLATIONS: usize = 1_000;

/// A request, or a word over a socket, that broke a documented rule.
#[derive(Clone, Debug, Serialize)]
pub struct Violation {
    pub rule: &'static str,
    pub method: String,
    pub detail: String,
}

/// What was counted so far; `Own` is what this platform alone counts.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Stats<Own> {
    /// Requests per method, as the documentation writes it.
    pub requests: BTreeMap<String, u64>,
    /// Events that people caused.
    pub received: u64,
    /// Messages that a bot posted.
    pub sent: u64,
    /// How often a bot notified somebody.
    pub mentions: u64,
    /// Presses, commands and forms that no bot has answered yet.
    pub unanswered: usize,
    #[serde(flatten)]
    pub own: Own,
    pub violation_count: u64,
    /// The newest thousand.
    pub violations: VecDeque<Violation>,
}

impl<Own> Stats<Own> {
    pub fn violation(&mut self, rule: &'static str, method: &str, detail: impl Into<String>) {
        self.violation_count += 1;
        if self.violations.len() == KEPT_VIOLATIONS {
            self.violations.pop_front();
        }
        self.violations.push_back(Violation { rule, method: method.to_owned(), detail: detail.into() });
    }
}

/// What a platform alone counts is read like everything else.
impl<Own> Deref for Stats<Own> {
    type Target = Own;

    fn deref(&self) -> &Own {
        &self.own
    }
}

impl<Own> DerefMut for Stats<Own> {
    fn deref_mut(&mut self) -> &mut Own {
        &mut self.own
    }
}
