//! The commands that look and leave: `check`, `tool …`, `policy …` and `trace …`. What the files say needs no gateway;
//! what happened is asked of the running one, or read from the store when none answers.
//!
//! Each gives a [`Said`]: what is printed for people, the same for programs, and how the process ends.

mod check;
mod policy;
mod remote;
mod tool;
mod trace;

use std::sync::Arc;

use contract::{Caller, Origin, Platform, Sender};
use endpoints::Endpoints;
use policies::Compiled;
use serde_json::{Value, json};
use tools::Registry;

pub use check::{check, validate};
pub use policy::{Whose, explain, show as policies};
pub use remote::health;
pub use tool::{invoke, list, show};
pub use trace::{stats, tail, turn, turns};

use crate::{
    cli::{Exit, Who},
    config::{Config, Finding},
    sources::{Origins, Sources},
};

/// What a command has to say.
#[derive(Debug)]
pub struct Said {
    /// For people, on standard output.
    pub text: String,
    /// For programs, in its place.
    pub json: Value,
    pub exit: Exit,
}

impl Said {
    /// Findings, errors first, and a last line that sums up.
    fn findings(errors: &[Finding], warnings: &[Finding], summary: &str, more: Value) -> Self {
        let lines = errors.iter().map(|error| format!("error: {error}"));
        let mut lines: Vec<_> = lines.chain(warnings.iter().map(|warning| format!("warning: {warning}"))).collect();
        let count = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
        lines.push(format!("{summary}, {}, {}", count(errors.len(), "error"), count(warnings.len(), "warning")));
        let mut json = json!({ "ok": errors.is_empty(), "errors": errors, "warnings": warnings });
        if let (Value::Object(json), Value::Object(more)) = (&mut json, more) {
            json.extend(more);
        }
        let exit = if errors.is_empty() { Exit::Ok } else { Exit::BadConfig };
        Self { text: lines.join("\n"), json, exit }
    }

    /// One sentence about something that did not succeed.
    pub fn failed(exit: Exit, sentence: impl Into<String>) -> Self {
        let text = sentence.into();
        Self { json: json!({ "ok": false, "error": text }), text, exit }
    }
}

/// Reads the tools and policies of a configuration.
fn read(config: &Config) -> Sources {
    Origins::of(config).load(&Registry::new(Arc::new(Endpoints::new())))
}

/// What was read, when it can be used to answer; else what is wrong with it.
fn usable(config: &Config) -> Result<(Sources, Arc<Compiled>), Said> {
    let sources = read(config);
    match sources.compiled.clone() {
        Some(compiled) => Ok((sources, compiled)),
        None => Err(Said::findings(&sources.errors, &sources.warnings, "policies cannot be read", json!({}))),
    }
}

/// The caller that the options describe; an operator at the console when they say nothing.
pub fn caller(who: &Who, policies: &Compiled) -> Caller {
    let platform = who.platform.unwrap_or(Platform::Console);
    let conversation = who.conversation.clone().unwrap_or_else(|| "-".into());
    let tenant = who.tenant.clone();
    let tenant = tenant.unwrap_or_else(|| policies.tenant(platform, who.space.as_deref(), &conversation).to_owned());
    let id = who.sender.clone().unwrap_or_else(|| "operator".into());
    Caller {
        platform,
        account: crate::config::platforms::MAIN.into(),
        tenant,
        space: who.space.clone(),
        conversation,
        thread: None,
        sender: Sender { name: id.clone(), id },
        roles: who.role.clone(),
        origin: Origin::Command,
    }
}

#[cfg(test)]
mod tests;
