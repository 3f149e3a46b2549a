//! What a turn leaves in its session, cut to what is worth keeping, and mended when it is read.

use contract::{
    Kind, Reply,
    records::{Item, ItemCall, ItemStep, Record, Remembered},
    text,
};
use serde_json::{Map, Value};

use crate::{
    call::TurnCx,
    commands::{self, Command},
    say, turn,
};

/// Most characters of what was asked, of what was answered, and of what a call gave.
const ASKED_CHARS: usize = 8_000;
const ANSWERED_CHARS: usize = 8_000;
const RESULT_CHARS: usize = 2_000;
/// Most steps and calls of one that are kept, and characters of a call's arguments.
const STEPS_KEPT: usize = 10;
const CALLS_KEPT: usize = 32;
const ARGS_CHARS: usize = 2_000;
/// Most characters of all of a turn's calls together.
const TURN_CHARS: usize = 24_000;

/// What the session of a turn remembers of it: nothing of one that only asked about the gateway itself.
pub(crate) fn remembered(cx: &TurnCx, record: &Record, reply: &Reply) -> Option<Box<Remembered>> {
    // Beside its lane a turn has no part in the conversation; whoever tells it all each time remembers it.
    let is_retold = matches!(record.message.kind, Kind::Retold { .. });
    if is_retold || record.session != turn::place_of(record) || is_about_us(cx, record) {
        return None;
    }
    let item = Item {
        turn: cx.id,
        sender: record.caller.sender.id.clone(),
        asked: asked(record),
        steps: cut(cx.here.story()),
        answered: text::cut(&say::plain(reply), ANSWERED_CHARS),
    };
    Some(Box::new(Remembered { visit: cx.here.visit.clone(), item }))
}

fn is_about_us(cx: &TurnCx, record: &Record) -> bool {
    let commands = commands::asked(&record.message, &cx.caller, &cx.snapshot, &*cx.inner.planner);
    commands.is_some_and(|commands| commands.iter().all(|command| matches!(command, Command::Builtin(_))))
}

fn asked(record: &Record) -> String {
    match &record.message.kind {
        Kind::Text { text } | Kind::Edit { text } | Kind::Retold { text, .. } => text::cut(text.trim(), ASKED_CHARS),
        Kind::Command { .. } | Kind::Form { .. } | Kind::Press { .. } | Kind::Reaction { .. } => turn::asked(record),
    }
}

fn cut(mut steps: Vec<ItemStep>) -> Vec<ItemStep> {
    steps.truncate(STEPS_KEPT);
    let mut left = TURN_CHARS;
    for step in &mut steps {
        step.said = text::cut(&step.said, RESULT_CHARS);
        step.calls.truncate(CALLS_KEPT);
        for call in &mut step.calls {
            call.result = text::cut(&call.result, RESULT_CHARS.min(left));
            left = left.saturating_sub(call.result.chars().count());
            if call.args.to_string().chars().count() > ARGS_CHARS {
                call.args = Value::Object(Map::new());
            }
        }
    }
    steps
}

/// Whatever was stored, also by another version: a step has calls, a call an object of arguments and a result, and nobody
/// said nothing.
pub(super) fn mended(mut item: Item) -> Item {
    const NOTHING: &str = "(nothing)";
    item.steps.retain(|step| !step.calls.is_empty());
    for call in item.steps.iter_mut().flat_map(|step| &mut step.calls) {
        mend(call, NOTHING);
    }
    for words in [&mut item.asked, &mut item.answered] {
        if words.trim().is_empty() {
            NOTHING.clone_into(words);
        }
    }
    item
}

fn mend(call: &mut ItemCall, nothing: &str) {
    if !call.args.is_object() {
        call.args = Value::Object(Map::new());
    }
    if call.result.trim().is_empty() {
        nothing.clone_into(&mut call.result);
    }
    // Providers refuse a whole conversation for the name of one call.
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    call.tool = call.tool.chars().map(|c| if is_name(c) { c } else { '_' }).take(64).collect();
    if call.tool.is_empty() {
        "unknown".clone_into(&mut call.tool);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_no_provider_would_take_is_mended() {
        let call = |tool: &str, args: Value, result: &str| ItemCall {
            tool: tool.into(),
            args,
            result: result.into(),
            failed: false,
        };
        let steps = vec![
            ItemStep { said: "cut off".into(), calls: Vec::new() },
            ItemStep { said: String::new(), calls: vec![call("a b<x>", json!("raw"), " "), call("", json!({}), "ok")] },
        ];
        let item = mended(Item { asked: " ".into(), steps, answered: String::new(), ..Item::default() });
        assert_eq!((item.asked.as_str(), item.answered.as_str(), item.steps.len()), ("(nothing)", "(nothing)", 1));
        assert_eq!(item.steps[0].calls, [call("a_b_x_", json!({}), "(nothing)"), call("unknown", json!({}), "ok")]);
    }

    #[test]
    fn large_results_of_many_calls_are_bounded_together() {
        let call = ItemCall { tool: "t".into(), args: json!({}), result: "x".repeat(9_000), failed: false };
        let steps = vec![ItemStep { said: String::new(), calls: vec![call; 40] }; 12];
        let kept = cut(steps);
        let sum: usize = kept.iter().flat_map(|step| &step.calls).map(|call| call.result.chars().count()).sum();
        assert!(kept.len() == STEPS_KEPT && sum <= TURN_CHARS + STEPS_KEPT * CALLS_KEPT, "{sum}");
    }
}
