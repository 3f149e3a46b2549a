//! Around and in place of answers: buttons, marks, signals, progress.

use std::time::Duration;

use contract::{Action, Locale, text};
use fluent_templates::fluent_bundle::FluentValue;

use crate::{
    catalogue::{self, Values},
    reading,
};

/// What stands on a button.
pub fn button(action: Action, locale: Locale) -> String {
    let key = match action {
        Action::Cancel(_) | Action::CancelCall(..) => "button-cancel",
        Action::TryAgain(_) => "button-again",
        Action::Details(_) => "button-details",
        Action::Allow(_) => "button-allow",
        Action::AllowSession(_) => "button-allow-session",
        Action::Deny(_) => "button-deny",
        Action::DenyWhy(_) => "button-deny-why",
    };
    catalogue::plain(locale, key)
}

/// What stands on the button that stops one call.
pub fn button_stop_call(tool: &str, locale: Locale) -> String {
    catalogue::text(locale, "button-stop-call", &Values::from([("tool", catalogue::value(tool))]))
}

/// What stands on the button that sends a form.
pub fn send(locale: Locale) -> String {
    catalogue::plain(locale, "button-send")
}

/// A truth value, to be chosen in a form.
pub fn yes_or_no(yes: bool, locale: Locale) -> String {
    catalogue::plain(locale, if yes { "choice-yes" } else { "choice-no" })
}

/// A status behind the bot's own name while it works.
pub fn working(locale: Locale) -> String {
    catalogue::plain(locale, "reply-working")
}

/// What only the sender is told at once: that something stops, that a button is no longer in use.
pub fn signal(words: &str, locale: Locale) -> String {
    reading::said("signal", words, locale)
}

/// For an interaction that a platform wants answered although it is not for us.
pub fn not_here(locale: Locale) -> String {
    catalogue::plain(locale, "reply-not-here")
}

/// Stands before a reply that may have arrived already.
pub fn maybe_repeated(locale: Locale) -> String {
    catalogue::plain(locale, "reply-repeated")
}

/// In place of a result that shows nothing.
pub fn no_output(locale: Locale) -> String {
    catalogue::plain(locale, "reply-nothing")
}

/// With the file that holds an answer which takes more than `messages` messages.
pub fn goes_on_in_file(messages: u32, locale: Locale) -> String {
    counted("reply-file", "messages", messages, locale)
}

/// Under a text that was cut, `characters` long before.
pub fn cut_here(characters: usize, locale: Locale) -> String {
    counted("reply-cut", "count", characters, locale)
}

/// In place of the same answer to `more` more commands.
pub fn same_holds(more: usize, locale: Locale) -> String {
    counted("reply-same", "count", more, locale)
}

/// Under what a language model said until it was cut off.
pub fn model_cut(locale: Locale) -> String {
    catalogue::plain(locale, "reply-model-cut")
}

/// Before the calls that were made, where a language model has no answer.
pub fn model_tried(locale: Locale) -> String {
    catalogue::plain(locale, "reply-model-tried")
}

/// What stands before a reference.
pub fn reference(locale: Locale) -> String {
    catalogue::plain(locale, "reply-reference")
}

/// A file where only text can be shown.
pub fn named_file(name: &str, locale: Locale) -> String {
    catalogue::text(locale, "reply-named-file", &Values::from([("name", catalogue::value(name))]))
}

/// A wait, rounded up to a unit that tells enough: `3 s`, `5 min`, `4 h`.
pub fn wait(wait: Duration, locale: Locale) -> String {
    reading::said("wait", &text::wait(wait), locale)
}

/// What a tool or a pipeline says of its progress: ours in the language, a tool owner's as it is.
pub fn progress_said(text: &str, locale: Locale) -> String {
    reading::said("progress", text, locale)
}

/// The first line of the progress message: how many of the calls are done.
pub fn progress_counted(done: usize, count: usize, locale: Locale) -> String {
    let values = Values::from([("done", number(done)), ("count", number(count))]);
    catalogue::text(locale, "progress-counted", &values)
}

/// The progress message while no call has begun.
pub fn progress_timed(seconds: u64, locale: Locale) -> String {
    catalogue::text(locale, "progress-timed", &Values::from([("seconds", catalogue::value(seconds.to_string()))]))
}

/// Under a list of calls that is longer than what is shown of it.
pub fn progress_more(count: usize, locale: Locale) -> String {
    counted("progress-more", "count", count, locale)
}

/// To somebody whose message waits for long: how many are answered before it.
pub fn waits_behind(count: usize, locale: Locale) -> String {
    counted("waits-behind", "count", count, locale)
}

/// Of files that came with a command, which takes none: the name of the only one, or how many there were.
pub fn files_not_used(count: usize, only: &str, locale: Locale) -> String {
    match count {
        1 => catalogue::text(locale, "file-unused", &Values::from([("name", catalogue::value(only))])),
        _ => counted("files-unused", "count", count, locale),
    }
}

/// Of files that came with free text.
pub fn files_thanked(locale: Locale) -> String {
    catalogue::plain(locale, "file-thanks")
}

/// A text that depends on a number.
pub(crate) fn counted(key: &str, name: &'static str, n: impl TryInto<u32>, locale: Locale) -> String {
    let n = n.try_into().unwrap_or(u32::MAX);
    catalogue::text(locale, key, &Values::from([(name, FluentValue::from(n))]))
}

pub(crate) fn number(n: usize) -> FluentValue<'static> {
    FluentValue::from(n)
}
