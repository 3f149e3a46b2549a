//! What a person is told when a model has no answer: why, and what was done all the same. Pure.

use contract::{Action, Button, Code, Content, Failure, Layer, Notice, Outcome, Reply, State, text};

use crate::planner::TurnView;

/// Calls that are listed.
const LISTED: usize = 16;

/// The turn has no answer of its model's.
pub(super) fn without_answer(turn: &TurnView<'_>, failure: &Failure) -> Reply {
    let mut reply = Reply::notice(Notice::of(failure, None, Some(turn.record.id)));
    let outcomes: Vec<&Outcome> = turn.steps.iter().flatten().collect();
    reply.content.extend(tried(turn, &outcomes));
    let open = outcomes.iter().filter(|outcome| outcome.state == State::Unknown);
    let open = open.filter_map(|outcome| Some((&outcome.tool, outcome.result.as_ref().err()?)));
    reply.content.extend(
        open.map(|(tool, failure)| Content::Notice(Notice::of(failure, Some(tool.as_str()), Some(turn.record.id)))),
    );
    let is_harmless = outcomes.iter().all(|outcome| is_harmless(turn, outcome));
    let button = |action| Button { label: words::button(action, turn.locale), action };
    if is_harmless && may_pass(failure) {
        reply.buttons.push(button(Action::TryAgain(turn.record.id)));
    }
    if !outcomes.is_empty() {
        reply.buttons.push(button(Action::Details(turn.record.id)));
    }
    Reply { locale: turn.locale, ..reply }
}

/// What ran once would run once more.
fn is_harmless(turn: &TurnView<'_>, outcome: &Outcome) -> bool {
    let never_ran = |failure: &Failure| {
        matches!(failure.layer(), Layer::Validation | Layer::Permission) || failure.code == Code::NotStarted
    };
    let tools = &turn.snapshot.tools;
    // What a task did decides whether it may be handed on again.
    let is_known = tools.get(&outcome.tool).is_some();
    outcome.repeatable
        || (is_known && tools.is_repeatable(&outcome.tool))
        || outcome.result.as_ref().is_err_and(never_ran)
}

/// Whether asking again may help.
fn may_pass(failure: &Failure) -> bool {
    matches!(failure.code, Code::ModelUnavailable | Code::ModelStuck | Code::RateLimited | Code::Timeout | Code::Busy)
}

fn tried(turn: &TurnView<'_>, outcomes: &[&Outcome]) -> Option<Content> {
    if outcomes.is_empty() {
        return None;
    }
    let mut lines = words::model_tried(turn.locale);
    for outcome in outcomes.iter().take(LISTED) {
        let mark = match outcome.state {
            State::Ok => "✅",
            State::Unknown => "❓",
            State::NotStarted | State::Cancelled => "⏹",
            _ => "⚠️",
        };
        lines.push_str(&format!("\n- {mark} `{}`", text::one_line(&outcome.tool.replace('`', ""), 64)));
    }
    if outcomes.len() > LISTED {
        lines.push_str(&format!("\n- {}", words::progress_more(outcomes.len() - LISTED, turn.locale)));
    }
    Some(Content::Text(lines))
}
