//! A tool that calls other tools in steps. Each call is a child: through the same gate, with the caller's rights.
//!
//! ```yaml
//! endpoint:
//!   type: pipeline
//!   steps:
//!     - { id: found, tool: search_web, args: { query: "{{ args.topic }}" } }
//!     - id: pages                              # one call for each item, all at once; the result is a list
//!       for_each: "{{ steps.found.results }}"
//!       tool: read_page
//!       args: { url: "{{ item.url }}" }
//!       on_error: skip                         # fail (default) · skip · default, with `default: VALUE`
//!     - parallel:                              # several calls at once
//!         - { tool: count_words, args: { text: "{{ steps.pages }}" } }
//!         - { id: mood, tool: guess_mood, when: "args.deep", args: { text: "{{ steps.pages }}" } }
//!   result: { words: "{{ steps.count_words.n }}" }   # without it: the result of the last step
//! ```
//!
//! A text that is one `{{ … }}` keeps the type of its value, and a field whose value is missing is left out. `steps.ID`
//! is the result of a step: null when it was left out or skipped, a list with `for_each`. A name stands for the tool's
//! when a step has no `id`; it has to be a word of letters, digits and `_`.

use async_trait::async_trait;
use contract::{Code, Effect, Failure, Finding, Outcome, Private, text};
use minijinja::{Value as Rendered, value::merge_maps};
use serde_json::{Map, Value, json};
use tools::{
    Cx, Endpoint, Fault, Output, Permitted, Spec, ToolFailure,
    spec::{OnError, PipelineSpec, Step, StepCall},
};

mod check;
mod template;

use template::{Templates, Unfilled};

/// Most calls that one mapped step makes.
const MOST_ITEMS: usize = 100;

pub(crate) struct Pipeline {
    tool: String,
    spec: PipelineSpec,
    templates: Templates,
}

impl Pipeline {
    pub fn build(spec: &Spec, pipeline: &PipelineSpec) -> Result<Self, Finding> {
        let templates = Templates::new();
        check::check(spec, pipeline, &templates)?;
        Ok(Self { tool: spec.name.to_string(), spec: pipeline.clone(), templates })
    }

    pub async fn run(&self, args: &Value, cx: &Cx<'_>) -> Result<Value, ToolFailure> {
        cx.notes.effect(Effect::None);
        let mut run = Run { pipeline: self, args, results: Map::new(), effect: Effect::None };
        let mut last = Value::Null;
        for (n, step) in self.spec.steps.iter().enumerate() {
            if cx.cancel.is_cancelled() {
                return Err(
                    ToolFailure::new(Fault::Cancelled, format!("'{}' was stopped", self.tool)).effect(run.effect)
                );
            }
            let calls = match step {
                Step::Call(call) => std::slice::from_ref(call),
                Step::Parallel(calls) => calls,
            };
            if self.spec.steps.len() > 1 {
                cx.host.progress(&progress(n + 1, self.spec.steps.len(), calls));
            }
            let results = run.step(calls, cx).await?;
            last = match step {
                Step::Call(_) => results.first().cloned().unwrap_or(Value::Null),
                Step::Parallel(_) => calls.iter().map(|call| call.id.clone()).zip(results.iter().cloned()).collect(),
            };
            run.results.extend(calls.iter().map(|call| call.id.clone()).zip(results));
        }
        match &self.spec.result {
            Some(result) => {
                self.templates.fill(result, &run.context()).map_err(|why| self.unfilled("its result", &why))
            }
            None => Ok(last),
        }
    }

    fn unfilled(&self, what: &str, why: &Unfilled) -> ToolFailure {
        ToolFailure::new(Fault::StepFailed, format!("'{}' could not put together {what}", self.tool))
            .cause(Private::new(why.0.clone()))
    }
}

#[async_trait]
impl Endpoint for Pipeline {
    async fn call(&self, call: &Permitted, cx: &Cx<'_>) -> Result<Output, ToolFailure> {
        self.run(call.args(), cx).await.map(Output::Done)
    }
}

fn progress(n: usize, of: usize, calls: &[StepCall]) -> String {
    let tools: Vec<&str> = calls.iter().take(4).map(|call| call.tool.as_str()).collect();
    format!("step {n} of {of}: {}", tools.join(", "))
}

struct Run<'p> {
    pipeline: &'p Pipeline,
    args: &'p Value,
    results: Map<String, Value>,
    /// Whether anything may have happened by now.
    effect: Effect,
}

fn rendered(value: Value) -> Rendered {
    Rendered::from(minijinja::value::Serde(value))
}

/// What a step asks for.
enum Plan {
    LeftOut,
    One(Value),
    Each(Vec<Value>),
}

impl Run<'_> {
    fn context(&self) -> Rendered {
        rendered(json!({ "args": self.args, "steps": self.results }))
    }

    /// Runs calls at once; the results in their order, or the first failure that is not to be passed over.
    async fn step(&mut self, calls: &[StepCall], cx: &Cx<'_>) -> Result<Vec<Value>, ToolFailure> {
        let context = self.context();
        let plans: Vec<Plan> = calls.iter().map(|call| self.plan(call, &context)).collect::<Result<_, _>>()?;
        let mut children = Vec::new();
        for (call, plan) in calls.iter().zip(&plans) {
            match plan {
                Plan::LeftOut => {}
                Plan::One(args) => children.push((call.tool.clone(), args.clone())),
                Plan::Each(all) => children.extend(all.iter().map(|args| (call.tool.clone(), args.clone()))),
            }
        }
        let wanted = children.len();
        if wanted > 0 {
            cx.notes.effect(Effect::Unknown);
        }
        let mut outcomes = if wanted == 0 { Vec::new() } else { cx.host.children(children).await }.into_iter();
        if outcomes.len() != wanted {
            return Err(ToolFailure::new(
                Fault::StepFailed,
                format!("'{}' did not hear of all its steps", self.pipeline.tool),
            ));
        }
        let mut results = Vec::new();
        let mut first_failure = None;
        for (call, plan) in calls.iter().zip(&plans) {
            let result = match plan {
                Plan::LeftOut => Ok(Value::Null),
                Plan::One(_) => self.settled(call, outcomes.next()).map(Option::unwrap_or_default),
                Plan::Each(all) => self.all_settled(call, outcomes.by_ref().take(all.len())),
            };
            match result {
                Ok(value) => results.push(value),
                Err(failure) => drop(first_failure.get_or_insert(failure)),
            }
        }
        match first_failure {
            // The other calls of the step count too: what they did has happened.
            Some(failure) => Err(failure.effect(self.effect)),
            None => Ok(results),
        }
    }

    fn plan(&self, call: &StepCall, context: &Rendered) -> Result<Plan, ToolFailure> {
        let templates = &self.pipeline.templates;
        let unfilled = |why: Unfilled| self.pipeline.unfilled(&format!("its step '{}'", call.id), &why);
        if let Some(when) = &call.when
            && !templates.holds(when, context).map_err(unfilled)?
        {
            return Ok(Plan::LeftOut);
        }
        let Some(each) = &call.for_each else {
            return templates.fill(&call.args, context).map(Plan::One).map_err(unfilled);
        };
        let items = match templates.fill(each, context).map_err(unfilled)? {
            Value::Array(items) if items.len() <= MOST_ITEMS => items,
            Value::Array(items) => {
                let say = format!(
                    "'{}' has {} items for its step '{}': {MOST_ITEMS} are the most",
                    self.pipeline.tool,
                    items.len(),
                    call.id
                );
                return Err(ToolFailure::new(Fault::StepFailed, say));
            }
            Value::Null => Vec::new(),
            other => {
                return Err(unfilled(Unfilled(format!("'for_each' is {}, not a list", tools::args::kind_of(&other)))));
            }
        };
        let args = items.into_iter().enumerate().map(|(n, item)| {
            // Results may be large: each item is laid over them, not copied together with them.
            let own = rendered(json!({ "item": item, "index": n }));
            templates.fill(&call.args, &merge_maps([own, context.clone()]))
        });
        args.collect::<Result<_, _>>().map(Plan::Each).map_err(unfilled)
    }

    fn all_settled(&mut self, call: &StepCall, outcomes: impl Iterator<Item = Outcome>) -> Result<Value, ToolFailure> {
        let settled: Vec<_> = outcomes.map(|outcome| self.settled(call, Some(outcome))).collect();
        // Skipped items leave no hole: what comes after can count on each item.
        settled.into_iter().filter_map(Result::transpose).collect::<Result<_, _>>().map(Value::Array)
    }

    /// The result of one call; nothing when its failure is passed over.
    fn settled(&mut self, call: &StepCall, outcome: Option<Outcome>) -> Result<Option<Value>, ToolFailure> {
        let Some(outcome) = outcome else { return Ok(None) };
        match outcome.result {
            Ok(value) => {
                self.took_effect(outcome.repeatable);
                Ok(Some(value))
            }
            Err(failure) => {
                if failure.effect == Effect::Unknown {
                    self.took_effect(outcome.repeatable);
                }
                match &call.on_error {
                    OnError::Fail => Err(self.failed(call, &failure)),
                    OnError::Skip => Ok(None),
                    OnError::Default(value) => {
                        let filled = self.pipeline.templates.fill(value, &self.context());
                        filled.map(Some).map_err(|why| self.pipeline.unfilled("a default", &why))
                    }
                }
            }
        }
    }

    fn took_effect(&mut self, repeatable: bool) {
        if !repeatable {
            self.effect = Effect::Unknown;
        }
    }

    /// Names the step's tool and says what that said: a person should learn what did not answer.
    fn failed(&self, call: &StepCall, failure: &Failure) -> ToolFailure {
        let said = text::one_line(failure.say.as_str(), 300);
        let named = format!("'{}'", call.tool);
        let say = if said.contains(&named) { said } else { format!("{named}: {said}") };
        let fault = if failure.code == Code::Cancelled { Fault::Cancelled } else { Fault::StepFailed };
        let mut out = ToolFailure::new(fault, say).effect(self.effect).cause(operators_text(call, failure));
        if let Some(hint) = &failure.hint {
            out = out.hint(hint.clone());
        }
        match failure.retry_after {
            Some(wait) => out.retry_after(wait),
            None => out,
        }
    }
}

fn operators_text(call: &StepCall, failure: &Failure) -> Private {
    let mut out = format!("step '{}', tool '{}': {}", call.id, call.tool, failure.true_code());
    for problem in failure.problems.iter().take(5) {
        out.push_str(&format!("; {}: expected {}", problem.path, problem.expected));
    }
    if !failure.cause.is_empty() {
        out.push_str(": ");
        out.push_str(failure.cause.for_operator());
    }
    Private::new(out)
}

#[cfg(test)]
mod tests;
