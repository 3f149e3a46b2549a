//! What is said of sessions, of what is mounted in them, and of what is kept of people. Markdown; what is filled in is
//! escaped by whoever fills it in.

use contract::{Locale, notice};

use crate::catalogue::{self, Values, value};

/// A sentence about sessions.
#[derive(Debug, Clone, Copy)]
pub enum OfSession<'a> {
    Listed,
    NoneListed,
    HowToResume,
    Resumed { title: &'a str },
    NoSuchSession,
    MountedOnly,
    MountedAll,
    MountWhat,
    MountUnknown { names: &'a str },
    Kept { n: u32 },
    KeptFull { most: usize },
    KeptTooLong { most: usize },
    KeptList,
    KeptNothing,
    Forgotten { n: u32 },
    NothingForgotten,
}

/// The sentence in the language.
pub fn of_session(sentence: OfSession<'_>, locale: Locale) -> String {
    let plain = |key| catalogue::plain(locale, key);
    let with = |key, name, text: String| catalogue::text(locale, key, &Values::from([(name, value(text))]));
    match sentence {
        OfSession::Listed => plain("session-listed"),
        OfSession::NoneListed => plain("session-none"),
        OfSession::HowToResume => plain("session-how"),
        OfSession::Resumed { title } => with("session-resumed", "title", title.to_owned()),
        OfSession::NoSuchSession => plain("session-unknown"),
        OfSession::MountedOnly => plain("mount-only"),
        OfSession::MountedAll => plain("mount-all"),
        OfSession::MountWhat => plain("mount-what"),
        OfSession::MountUnknown { names } => with("mount-unknown", "names", names.to_owned()),
        OfSession::Kept { n } => with("kept-as", "n", n.to_string()),
        OfSession::KeptFull { most } => with("kept-full", "most", most.to_string()),
        OfSession::KeptTooLong { most } => with("kept-long", "most", most.to_string()),
        OfSession::KeptList => plain("kept-list"),
        OfSession::KeptNothing => plain("kept-nothing"),
        OfSession::Forgotten { n } => with("kept-forgotten", "n", n.to_string()),
        OfSession::NothingForgotten => plain("kept-unknown"),
    }
}

/// A line of the list of sessions; the title is escaped, and empty where nothing was said.
pub fn session_line(title: &str, used_ms: u64, turns: u64, is_current: bool, locale: Locale) -> String {
    let untitled = catalogue::plain(locale, "session-untitled");
    let values = Values::from([
        ("title", value(if title.is_empty() { untitled } else { title.to_owned() })),
        ("when", value(notice::moment(used_ms))),
        ("turns", turns.into()),
    ]);
    let mut line = catalogue::text(locale, "session-line", &values);
    if is_current {
        line.push(' ');
        line.push_str(&catalogue::plain(locale, "session-current"));
    }
    line
}
