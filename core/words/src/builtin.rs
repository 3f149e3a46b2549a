//! What the gateway says of itself: `/start`, `/help`, `/tools`, `/status`, `/new`, `/stop`, `/trace`, and to free text.
//!
//! Each is a line or a paragraph of Markdown; what is filled in is escaped by whoever fills it in.

use contract::Locale;

use crate::{
    catalogue::{self, Values},
    replies::counted,
};

/// A sentence into which nothing is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    Hello,
    HowToWrite,
    OfMyself,
    NoTools,
    NothingToRun,
    NearTools,
    AllTools,
    NothingOfYours,
    NewConversation,
    NothingRuns,
    Running,
    AllWell,
    TreesUnreadable,
}

impl Line {
    pub const ALL: [Self; 13] = [
        Self::Hello,
        Self::HowToWrite,
        Self::OfMyself,
        Self::NoTools,
        Self::NothingToRun,
        Self::NearTools,
        Self::AllTools,
        Self::NothingOfYours,
        Self::NewConversation,
        Self::NothingRuns,
        Self::Running,
        Self::AllWell,
        Self::TreesUnreadable,
    ];
}

/// The sentence in the language.
pub fn line(line: Line, locale: Locale) -> String {
    let key = match line {
        Line::Hello => "start-hello",
        Line::HowToWrite => "help-write",
        Line::OfMyself => "help-own",
        Line::NoTools => "tools-none",
        Line::NothingToRun => "free-nothing",
        Line::NearTools => "free-near",
        Line::AllTools => "free-all",
        Line::NothingOfYours => "stop-nothing",
        Line::NewConversation => "new-begun",
        Line::NothingRuns => "status-nothing",
        Line::Running => "status-running",
        Line::AllWell => "status-well",
        Line::TreesUnreadable => "trace-unreadable",
    };
    catalogue::plain(locale, key)
}

/// What a built-in command is for; nothing for a name that is none.
pub fn builtin(name: &str, locale: Locale) -> Option<String> {
    catalogue::find(locale, &format!("builtin-{name}"), &Values::new())
}

/// Under a list of tools that is longer than what is shown of it.
pub fn more_tools(count: usize, locale: Locale) -> String {
    counted("help-more", "count", count, locale)
}

/// When no tool has to do with what was looked for.
pub fn no_tool_matches(word: &str, locale: Locale) -> String {
    catalogue::text(locale, "tools-no-match", &Values::from([("word", catalogue::value(word))]))
}

/// A request that runs: what was asked, for how long it runs.
pub fn running(asked: &str, seconds: u64, reference: &str, locale: Locale) -> String {
    let values = [
        ("asked", catalogue::value(asked)),
        ("seconds", catalogue::value(seconds.to_string())),
        ("reference", catalogue::value(reference)),
    ];
    catalogue::text(locale, "status-line", &Values::from(values))
}

/// How many messages wait.
pub fn waiting(count: usize, locale: Locale) -> String {
    counted("status-waiting", "count", count, locale)
}

/// How many parts of the gateway need somebody.
pub fn troubled(count: usize, locale: Locale) -> String {
    counted("status-troubled", "count", count, locale)
}
