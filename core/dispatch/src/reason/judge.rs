//! Whether going on leads anywhere: strikes, repeats, refusals. Pure, over what a turn's steps were and gave, so that a
//! turn that is taken up again is judged the same.

use std::collections::{HashMap, HashSet};

use contract::{Code, Digest, Failure, Layer, Outcome, records::ModelStep};
use serde_json::Value;

/// Steps with wrong arguments only, of any tools or of one, after which the turn ends.
const STRIKES: usize = 3;
/// Steps that repeat what is known, after which the turn ends.
const REPEATS: usize = 2;

/// Why a turn ends before its model has an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Why {
    /// It was not called rightly, however often it was told how.
    Wrong { tool: Option<String> },
    /// The same calls gave the same again.
    NoProgress,
    /// No call is left to it.
    Calls,
    /// No step is left to it.
    Steps,
}

/// What is known of a turn's steps so far.
#[derive(Default)]
pub(crate) struct Record {
    /// How each call of these arguments ended the last time.
    ended: HashMap<Digest, Digest>,
    /// Tools at which no further attempt is made, and what is answered in its place.
    refused: HashMap<String, Failure>,
    /// Steps in a row with wrong arguments only.
    wrong: usize,
    wrong_of: HashMap<String, usize>,
    repeats: usize,
    out_of_calls: bool,
}

impl Record {
    /// Takes in how a step ended; true for each call that failed as it had failed before.
    pub fn take(&mut self, step: &ModelStep, outcomes: &[Outcome]) -> Vec<bool> {
        let mut again = Vec::with_capacity(outcomes.len());
        let mut news = false;
        for (call, outcome) in step.calls.iter().zip(outcomes) {
            let asked = digest(&outcome.tool, &call.args);
            let end = end(outcome);
            let known = self.ended.insert(asked, end) == Some(end);
            again.push(known && outcome.result.is_err());
            news |= !known;
            if let Err(failure) = &outcome.result
                && is_final(failure)
            {
                self.refused.entry(outcome.tool.clone()).or_insert_with(|| failure.clone());
            }
        }
        if !news && !outcomes.is_empty() {
            self.repeats += 1;
        }
        self.strike(outcomes);
        let is_out = |outcome: &Outcome| matches!(&outcome.result, Err(f) if f.code == Code::LimitReached);
        self.out_of_calls = !outcomes.is_empty() && outcomes.iter().all(is_out);
        again
    }

    fn strike(&mut self, outcomes: &[Outcome]) {
        let tools: HashSet<&str> = outcomes.iter().map(|outcome| outcome.tool.as_str()).collect();
        for tool in tools {
            let all_wrong = outcomes.iter().filter(|outcome| outcome.tool == tool).all(is_wrong);
            match all_wrong {
                true => *self.wrong_of.entry(tool.to_owned()).or_default() += 1,
                false => drop(self.wrong_of.remove(tool)),
            }
        }
        let all_wrong = !outcomes.is_empty() && outcomes.iter().all(is_wrong);
        self.wrong = if all_wrong { self.wrong + 1 } else { 0 };
    }

    /// Nothing while going on may help.
    pub fn verdict(&self) -> Option<Why> {
        let of_one = self.wrong_of.iter().find(|(_, strikes)| **strikes >= STRIKES);
        if let Some((tool, _)) = of_one {
            return Some(Why::Wrong { tool: Some(tool.clone()) });
        }
        if self.wrong >= STRIKES {
            return Some(Why::Wrong { tool: None });
        }
        if self.repeats >= REPEATS {
            return Some(Why::NoProgress);
        }
        self.out_of_calls.then_some(Why::Calls)
    }

    /// What is answered at once in place of a further attempt at a tool that was refused.
    pub fn refused(&self, tool: &str) -> Option<&Failure> {
        self.refused.get(tool)
    }
}

impl Why {
    /// For the model, which answers by it.
    pub fn note(&self) -> String {
        match self {
            Self::Wrong { tool: Some(tool) } => {
                format!("The arguments for '{tool}' were wrong several times, so no further call is made.")
            }
            Self::Wrong { tool: None } => "Calls were wrong several times, so no further call is made.".to_owned(),
            Self::NoProgress => "The same calls gave the same results again, so no further call is made.".to_owned(),
            Self::Calls => "All the calls that one message may make are used up.".to_owned(),
            Self::Steps => "All the steps that one message may take are used up.".to_owned(),
        }
    }

    /// For the person, where the model says nothing.
    pub fn failure(&self) -> Failure {
        match self {
            Self::Wrong { tool: Some(tool) } => {
                Failure::new(Code::ModelStuck, format!("the language model did not manage to call '{tool}' rightly"))
            }
            Self::Wrong { tool: None } => {
                Failure::new(Code::ModelStuck, "the language model did not manage to call its tools rightly")
            }
            Self::NoProgress => Failure::new(Code::ModelStuck, "the language model went round in circles"),
            Self::Calls => Failure::new(Code::LimitReached, "it took more calls than one message may make"),
            Self::Steps => Failure::new(Code::LimitReached, "it took more steps than one message may take"),
        }
    }
}

/// Who may decide has decided: the same person is refused again.
fn is_final(failure: &Failure) -> bool {
    failure.layer() == Layer::Permission && failure.code != Code::LimitReached
}

fn is_wrong(outcome: &Outcome) -> bool {
    matches!(&outcome.result, Err(failure) if failure.layer() == Layer::Validation)
}

fn digest(tool: &str, args: &Value) -> Digest {
    Digest::of(format!("{tool}\0{}", Digest::of_json(args)).as_bytes())
}

fn end(outcome: &Outcome) -> Digest {
    match &outcome.result {
        Ok(value) => Digest::of_json(value),
        Err(failure) => Digest::of(format!("{}\0{}", failure.code, failure.say).as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use contract::{Call, CallPath, State};
    use serde_json::json;

    use super::*;

    type End = Result<Value, Failure>;

    fn wrong() -> End {
        Err(Failure::invalid_args("t", Vec::new(), String::new()))
    }

    /// A record of steps; each call is tool, argument, end.
    fn record(steps: &[&[(&str, u32, End)]]) -> (Record, Vec<Vec<bool>>) {
        let mut record = Record::default();
        let mut all = Vec::new();
        for calls in steps {
            let path = CallPath::top(1, 1);
            let call =
                |(tool, n, _): &(&str, u32, End)| Call { path: path.clone(), tool: (*tool).into(), args: json!(n) };
            let step = ModelStep { calls: calls.iter().map(call).collect(), ..ModelStep::default() };
            let outcome = |(tool, _, result): &(&str, u32, End)| Outcome {
                path: path.clone(),
                tool: (*tool).into(),
                state: State::Ok,
                result: result.clone(),
                repeatable: true,
                took_us: 0,
            };
            let outcomes: Vec<_> = calls.iter().map(outcome).collect();
            all.push(record.take(&step, &outcomes));
        }
        (record, all)
    }

    #[test]
    fn three_steps_of_wrong_arguments_end_it_and_a_right_one_between_them_does_not() {
        let (two, _) = record(&[&[("a", 1, wrong())], &[("b", 2, wrong())]]);
        assert_eq!(two.verdict(), None);
        let (three, _) = record(&[&[("a", 1, wrong())], &[("b", 2, wrong())], &[("c", 3, wrong())]]);
        assert_eq!(three.verdict(), Some(Why::Wrong { tool: None }));
        let right = ("b", 2, Ok(json!(1)));
        let (between, _) = record(&[&[("a", 1, wrong())], &[("a", 4, wrong())], &[right], &[("c", 3, wrong())]]);
        assert_eq!(between.verdict(), None);
    }

    #[test]
    fn three_for_one_tool_end_it_beside_others_that_work() {
        let step = |n| [("a", n, wrong()), ("b", n, Ok(json!(n)))];
        let (three, _) = record(&[&step(1), &step(2), &step(3)]);
        assert_eq!(three.verdict(), Some(Why::Wrong { tool: Some("a".into()) }));
        // Three at once had no chance to be corrected.
        let (at_once, _) = record(&[&[("a", 1, wrong()), ("a", 2, wrong()), ("a", 3, wrong())]]);
        assert_eq!(at_once.verdict(), None);
    }

    #[test]
    fn a_repeat_is_pointed_out_and_two_steps_of_nothing_else_end_it() {
        let late = || ("a", 1, Err(Failure::new(Code::Timeout, "late")));
        let (record_, again) = record(&[&[late()], &[late(), ("b", 1, Ok(json!(1)))], &[late()], &[late()]]);
        assert_eq!(again, [vec![false], vec![true, false], vec![true], vec![true]]);
        assert_eq!(record_.verdict(), Some(Why::NoProgress));
        let other = |n| ("job", 1, Ok(json!(n)));
        let (polled, _) = record(&[&[other(1)], &[other(2)], &[other(3)], &[other(4)]]);
        assert_eq!(polled.verdict(), None);
    }

    #[test]
    fn what_was_refused_stays_refused() {
        let refused = Failure::new(Code::ApprovalRefused, "no");
        let (record, _) = record(&[&[("pay", 1, Err(refused.clone())), ("b", 1, Ok(json!(1)))]]);
        assert_eq!(record.refused("pay"), Some(&refused));
        assert_eq!(record.refused("b"), None);
    }

    #[test]
    fn a_step_beyond_the_last_call_is_the_last() {
        let limit = || Err(Failure::new(Code::LimitReached, "most"));
        let (out, _) = record(&[&[("a", 1, limit()), ("b", 1, limit())]]);
        assert_eq!(out.verdict(), Some(Why::Calls));
    }
}
