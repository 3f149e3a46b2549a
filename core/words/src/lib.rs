//! What is said to people, by language: a catalogue, and the pure functions that read it.
//!
//! English and Simplified Chinese. Texts of tools and their owners are not in it: they are said as they were written.

use contract::{Action, Locale, Notice};

/// A notice in a person's language; each adapter draws it in its platform's manner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// A mark that does not rely on colour.
    pub mark: &'static str,
    /// The layer in words.
    pub heading: String,
    pub say: String,
    /// Where, what was expected, what stood there, how to write it; a line each.
    pub details: Vec<String>,
    /// What to do next.
    pub hint: String,
}

pub fn notice(notice: &Notice, _locale: Locale) -> Shown {
    let (mark, heading) = notice.heading();
    Shown {
        mark,
        heading: heading.to_owned(),
        say: notice.say.clone(),
        details: notice.detail_lines(),
        hint: notice.hint.clone(),
    }
}

/// What stands on a button.
pub fn button(action: Action, _locale: Locale) -> String {
    match action {
        Action::Cancel(_) => "Cancel".into(),
        Action::TryAgain(_) => "Try again".into(),
        Action::Details(_) => "Details".into(),
    }
}

/// Stands before a reply that may have arrived already.
pub fn maybe_repeated(_locale: Locale) -> String {
    contract::reply::DUPLICATE_MARK.into()
}

/// In place of a result that shows nothing.
pub fn no_output(_locale: Locale) -> String {
    "(no output)".into()
}

/// With the file that holds an answer which takes more than `messages` messages.
pub fn goes_on_in_file(messages: u32, _locale: Locale) -> String {
    match messages {
        1 => "The answer is too long for one message: it goes on in the file.".into(),
        n => format!("The answer is too long for {n} messages: it goes on in the file."),
    }
}
