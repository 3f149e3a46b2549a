//! The commands that look and leave: `check`, `tool …`, `policy …`, `trace …`, `pairing …`, `approvals …`, `schedule …`, `checkpoint …` and `session …`. What the files say needs no gateway;
//! what happened is asked of the running one, or read from the store when none answers.
//!
//! Each gives a [`Said`]: what is printed for people, the same for programs, and how the process ends.

mod approvals;
mod check;
mod checkpoint;
mod import_mcp;
mod pairing;
mod policy;
mod remote;
mod schedule;
mod session;
mod setup;
mod tool;
mod trace;

use std::sync::Arc;

use contract::{Caller, Origin, Platform, Sender, records::Shelf};
use policies::Compiled;
use serde_json::{Value, json};
use tools::Registry;

pub use approvals::{allow, approval, approvals, deny};
pub use check::{check, validate};
pub use checkpoint::checkpoint;
pub use import_mcp::import_mcp;
pub use pairing::{approve, pairings, remove};
pub use policy::{Whose, explain, show as policies};
pub use remote::health;
pub use schedule::{schedule, schedule_add, schedule_pause, schedule_remove, schedule_resume, schedule_run, schedules};
pub use session::{forget, reset, session, sessions};
pub use tool::{
    add_tools, all_tools, deprecate_tool, invoke, list, publish_tool, refresh_tool, remove_tool, rollback_tool, show,
    tool_history,
};
pub use trace::{audit, stats, tail, turn, turns};

use crate::{
    cli::{Exit, Who},
    config::{Config, Finding},
    sources::{Origins, Sources, endpoints},
};

/// What a command has to say.
#[derive(Debug)]
pub struct Said {
    /// For people: a result on standard output, what is refused or went wrong on standard error.
    pub text: String,
    /// For programs, on standard output in its place.
    pub json: Value,
    pub exit: Exit,
    /// Whether it is no result.
    pub refused: bool,
    /// Who answered, for people on standard error beside the answer.
    pub note: Option<String>,
}

/// Who answered.
#[derive(Debug, Clone)]
pub enum Teller {
    /// The running gateway at this address.
    Gateway(String),
    /// The files here.
    Files,
    /// The store of this name; why no gateway answered.
    Store(String, String),
    /// This process, as no gateway answered for this reason.
    Alone(String),
}

impl Teller {
    fn word(&self) -> &'static str {
        match self {
            Self::Gateway(_) => "gateway",
            Self::Files => "files",
            Self::Store(..) => "store",
            Self::Alone(_) => "alone",
        }
    }

    fn note(&self) -> String {
        match self {
            Self::Gateway(url) => format!("as the running gateway at {url} says"),
            Self::Files => "as the files here say, not a running gateway".into(),
            Self::Store(store, why) => format!("as the store {store} says; {why}"),
            Self::Alone(why) => format!("run here, alone; {why}"),
        }
    }
}

impl Said {
    /// Findings, errors first, and a last line that sums up.
    fn findings(errors: &[Finding], warnings: &[Finding], summary: &str, more: Value) -> Self {
        // What is an error needs no warning at the same place.
        let is_told = |warning: &Finding| {
            let place = |of: &Finding| (of.line > 0).then(|| (of.file.clone(), of.line, of.column));
            place(warning).is_some_and(|at| errors.iter().any(|error| place(error).as_ref() == Some(&at)))
        };
        let warnings: Vec<_> = warnings.iter().filter(|warning| !is_told(warning)).collect();
        let lines = errors.iter().map(|error| format!("error: {error}"));
        let mut lines: Vec<_> = lines.chain(warnings.iter().map(|warning| format!("warning: {warning}"))).collect();
        let count = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
        lines.push(format!("{summary}, {}, {}", count(errors.len(), "error"), count(warnings.len(), "warning")));
        let mut json = json!({ "ok": errors.is_empty(), "errors": errors, "warnings": warnings });
        if let (Value::Object(json), Value::Object(more)) = (&mut json, more) {
            json.extend(more);
        }
        let exit = if errors.is_empty() { Exit::Ok } else { Exit::BadConfig };
        Self { exit, ..Self::told(lines.join("\n"), json) }
    }

    /// A result.
    fn told(text: String, json: Value) -> Self {
        Self { text, json, exit: Exit::Ok, refused: false, note: None }
    }

    /// What keeps a command from its result.
    fn refused(exit: Exit, text: String, json: Value) -> Self {
        Self { text, json, exit, refused: true, note: None }
    }

    /// One sentence about something that did not succeed.
    pub fn failed(exit: Exit, sentence: impl Into<String>) -> Self {
        let text = sentence.into();
        Self::refused(exit, text.clone(), json!({ "ok": false, "error": text }))
    }

    /// Says who answered.
    fn by(mut self, teller: &Teller) -> Self {
        if let Value::Object(json) = &mut self.json {
            json.insert("from".into(), teller.word().into());
        }
        self.note = Some(teller.note());
        self
    }
}

/// Reads the tools and policies of a configuration, and what its store has of tools.
fn read(config: &Config) -> Sources {
    read_with(config, shelf(config))
}

fn read_with(config: &Config, shelf: Result<Shelf, String>) -> Sources {
    let (shelf, away) = shelf.map_or_else(|why| (Shelf::default(), Some(why)), |shelf| (shelf, None));
    let mut sources = Origins::of(config).load_with(&Registry::new(Arc::new(endpoints(config))), &shelf);
    sources.warnings.extend(
        away.map(|why| {
            Finding::new("store", (0, 0), format!("what was added with 'tool add' is not looked at: {why}"))
        }),
    );
    sources
}

/// What the store has of tools, where it can be read; nothing of one that was never made. On a thread of its own, with
/// a runtime of its own: a command that looks at files waits for it as it waits for them.
fn shelf(config: &Config) -> Result<Shelf, String> {
    let read = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
        runtime.block_on(crate::run::gateway::read_shelf(config))
    };
    let read = std::thread::scope(|scope| scope.spawn(read).join());
    read.unwrap_or_else(|_| Err("it could not be read".to_owned()))
}

/// What was read, when it can be used to answer; else what is wrong with it.
fn usable(config: &Config) -> Result<(Sources, Arc<Compiled>), Said> {
    let sources = read(config);
    match sources.compiled.clone() {
        Some(compiled) => Ok((sources, compiled)),
        None => {
            let said = Said::findings(&sources.errors, &sources.warnings, "policies cannot be read", json!({}));
            Err(Said { refused: true, ..said })
        }
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
