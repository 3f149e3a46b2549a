//! What a session keeps of a model's turn: its steps, with results cut to what is worth reading again. Pure.

use contract::{
    Outcome,
    records::{ItemCall, ItemStep, ModelStep},
};

use super::told;

/// Characters of a result that are kept.
const RESULT_MAX: usize = 1_000;
/// Characters of what was said beside calls.
const SAID_MAX: usize = 1_000;
/// Characters of arguments; longer ones are kept cut.
const ARGS_MAX: usize = 1_000;

pub(crate) fn kept(plan: &[ModelStep], steps: &[Vec<Outcome>]) -> impl Iterator<Item = ItemStep> {
    plan.iter().zip(steps).map(|(step, outcomes)| one(step, outcomes))
}

/// One result for each call: a history with a call that has none is refused by providers.
fn one(step: &ModelStep, outcomes: &[Outcome]) -> ItemStep {
    let call = |(call, outcome): (&contract::Call, &Outcome)| ItemCall {
        tool: call.tool.clone(),
        args: tools::budget::fit(call.args.clone(), ARGS_MAX, &mut Vec::new()),
        result: told::Whole::of(outcome, false).within(RESULT_MAX, None),
        failed: outcome.result.is_err(),
    };
    ItemStep {
        said: contract::text::cut(&step.said, SAID_MAX),
        calls: step.calls.iter().zip(outcomes).map(call).collect(),
    }
}
