//! What is said of calls that wait for people: cards, their outcomes, lists. Markdown; what is filled in is escaped by
//! whoever fills it in.

use contract::{
    Locale, notice,
    records::{ApprovalState, By, Decider, Extent},
};

use crate::catalogue::{self, Values, value};

/// What a card says around the arguments.
#[derive(Debug, Clone, Copy)]
pub struct Card<'a> {
    pub tool: &'a str,
    /// Who asked for the call, escaped.
    pub who: &'a str,
    pub by: By,
    pub need: u32,
    pub until_ms: u64,
    pub id: &'a str,
    /// Who said yes so far, escaped.
    pub yes: &'a [String],
    /// The conversation where it was asked for, where the card is shown elsewhere.
    pub from: Option<&'a str>,
}

/// The text above the arguments, and the one below them.
pub fn card(card: &Card<'_>, locale: Locale) -> (String, String) {
    let values = Values::from([
        ("tool", value(card.tool)),
        ("who", value(card.who)),
        ("until", value(notice::clock(card.until_ms))),
        ("id", value(card.id)),
        ("need", value(card.need.to_string())),
    ]);
    let text = |key| catalogue::text(locale, key, &values);
    let mut above = text(match card.by {
        By::Approver => "approval-card",
        By::Requester => "approval-confirm",
    });
    if let Some(from) = card.from {
        above.push('\n');
        above.push_str(&catalogue::text(locale, "approval-from", &Values::from([("place", value(from))])));
    }
    let mut below = String::new();
    if card.need > 1 {
        below.push_str(&text("approval-two"));
        below.push(' ');
    }
    if !card.yes.is_empty() {
        let names = Values::from([("names", value(card.yes.join(", ")))]);
        below.push_str(&catalogue::text(locale, "approval-so-far", &names));
        below.push(' ');
    }
    below.push_str(&text("approval-until"));
    (above, below)
}

/// Stands before what a model said beside the call.
pub fn approval_why(locale: Locale) -> String {
    catalogue::plain(locale, "approval-why")
}

/// What stands over the field of a form that asks why a call is refused.
pub fn approval_reason(locale: Locale) -> String {
    catalogue::plain(locale, "approval-reason")
}

/// What a person who is told of nothing else hears: that a call waits, and for whom.
pub fn approval_waits(tool: &str, by: By, id: &str, locale: Locale) -> String {
    let key = match by {
        By::Approver => "approval-waits",
        By::Requester => "approval-waits-for-you",
    };
    catalogue::text(locale, key, &Values::from([("tool", value(tool)), ("id", value(id))]))
}

/// That a call's work goes on elsewhere, and that its answer comes later.
pub fn job_waits(tool: &str, locale: Locale) -> String {
    catalogue::text(locale, "job-waits", &Values::from([("tool", value(tool))]))
}

/// In place of a card's text once it is decided. `named` gives a person's name, escaped.
pub fn approval_outcome(
    tool: &str,
    state: &ApprovalState,
    named: impl Fn(&Decider) -> String,
    why: &str,
    locale: Locale,
) -> String {
    let (key, who, at_ms) = match state {
        ApprovalState::Asked { .. } => ("approval-open", String::new(), 0),
        ApprovalState::Allowed { by, extent } | ApprovalState::Used { by, extent } => {
            let names: Vec<_> = by.iter().map(&named).collect();
            let key = match extent {
                Extent::Once => "approval-allowed",
                Extent::Session => "approval-allowed-session",
            };
            (key, names.join(", "), by.last().map_or(0, |last| last.at_ms))
        }
        ApprovalState::Refused { by, .. } => match why.is_empty() {
            true => ("approval-refused", named(by), by.at_ms),
            false => ("approval-refused-why", named(by), by.at_ms),
        },
        ApprovalState::Expired { at_ms } => ("approval-expired", String::new(), *at_ms),
        ApprovalState::Withdrawn { at_ms, .. } => ("approval-withdrawn", String::new(), *at_ms),
    };
    let values = Values::from([
        ("tool", value(tool)),
        ("who", value(who)),
        ("why", value(why)),
        ("at", value(notice::clock(at_ms))),
    ]);
    catalogue::text(locale, key, &values)
}

/// A line of `/approvals`.
pub fn approval_open(tool: &str, who: &str, until_ms: u64, id: &str, locale: Locale) -> String {
    let until = value(notice::clock(until_ms));
    let values = Values::from([("tool", value(tool)), ("who", value(who)), ("until", until), ("id", value(id))]);
    catalogue::text(locale, "approvals-line", &values)
}

pub fn approvals_none(locale: Locale) -> String {
    catalogue::plain(locale, "approvals-none")
}
