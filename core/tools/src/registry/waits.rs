//! Pipelines that would wait for themselves: they hold what a call of their own needs alone. Pure.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use contract::Finding;

use crate::{
    spec::{EndpointSpec, PipelineSpec},
    tool::Tool,
};

/// Takes out the pipelines that need alone what one of their calls, or a call of those, may need alone too: until its
/// time is up such a call would wait for the pipeline, and the pipeline for it.
pub fn take_out(tools: &mut BTreeMap<Arc<str>, Arc<Tool>>) -> Vec<(Arc<str>, Finding)> {
    let waiting: Vec<_> = tools.values().filter_map(|tool| Some((tool.name.clone(), waits(tool, tools)?))).collect();
    waiting.iter().for_each(|(name, _)| drop(tools.remove(name)));
    waiting
}

fn waits(tool: &Tool, tools: &BTreeMap<Arc<str>, Arc<Tool>>) -> Option<Finding> {
    let held = alone(tool)?;
    let mut ahead: Vec<&PipelineSpec> = pipeline(tool).into_iter().collect();
    let mut seen = BTreeSet::from([&*tool.name]);
    while let Some(pipeline) = ahead.pop() {
        for child in pipeline.calls().filter_map(|call| tools.get(&*call.tool)) {
            // Itself too, where it comes back to itself.
            if alone(child).is_some_and(|needed| may_be_same(held, needed)) {
                return Some(finding(tool, held, child));
            }
            if seen.insert(&child.name) {
                ahead.extend(self::pipeline(child));
            }
        }
    }
    None
}

fn pipeline(tool: &Tool) -> Option<&PipelineSpec> {
    match &tool.spec.endpoint {
        EndpointSpec::Pipeline(pipeline) => Some(pipeline),
        EndpointSpec::Http(_) | EndpointSpec::Mcp { .. } | EndpointSpec::Command(_) | EndpointSpec::Native { .. } => {
            None
        }
    }
}

/// What a call of it needs alone, with `{param}`s.
fn alone(tool: &Tool) -> Option<&str> {
    let execution = &tool.spec.execution;
    execution.resource.as_deref().or((!execution.parallel).then_some(&*tool.name))
}

fn finding(tool: &Tool, held: &str, child: &Tool) -> Finding {
    let key = if tool.spec.says("execution.resource") { "execution.resource" } else { "execution.parallel" };
    let message = format!(
        "the pipeline holds '{held}' while it runs '{}', which needs the same: it would wait for itself",
        child.name
    );
    tool.spec
        .error_at(key, message)
        .hint("leave it to the tool that needs it, or give the pipeline a resource of its own")
}

/// Whether there are arguments with which two templates are one resource.
fn may_be_same(one: &str, other: &str) -> bool {
    let ends = |template: &str| match (template.find('{'), template.rfind('}')) {
        (Some(open), Some(close)) if open < close => {
            (template[..open].to_owned(), template[close + 1..].to_owned(), true)
        }
        _ => (template.to_owned(), template.to_owned(), false),
    };
    let ((start, end, is_open), (other_start, other_end, other_is_open)) = (ends(one), ends(other));
    let starts = start.starts_with(&other_start) || other_start.starts_with(&start);
    let finishes = end.ends_with(&other_end) || other_end.ends_with(&end);
    match (is_open, other_is_open) {
        (false, false) => one == other,
        (true, false) => other.starts_with(&start) && other.ends_with(&end),
        (false, true) => one.starts_with(&other_start) && one.ends_with(&other_end),
        (true, true) => starts && finishes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_one_resource_where_arguments_can_make_them_so() {
        for (one, other, same) in [
            ("db", "db", true),
            ("db", "queue", false),
            ("orders:{id}", "orders:{order_id}", true),
            ("orders:{id}", "orders:A-17", true),
            ("orders:{id}", "customers:{id}", false),
            ("orders:{id}", "orders", false),
            ("{a}", "db", true),
            ("{region}:db", "eu:{kind}", true),
            ("{region}:db", "{region}:queue", false),
        ] {
            assert_eq!((may_be_same(one, other), may_be_same(other, one)), (same, same), "{one} {other}");
        }
    }
}
