//! Tools that are too many to be listed: a model searches them, reads how one is called, and calls it by its name.
//!
//! A call through [`CALL`] is the call that it names from the first moment on: policy, approvals, journal, limits, tree and
//! traces see the tool itself. What is found is exactly what the one who asks may call here.

mod index;
mod words;

use contract::{Call, Failure, Problem};
use policies::Rights;
use serde_json::{Value, json};
use tools::{Tool, spec::EndpointSpec};

use crate::{call::TurnCx, planner::Planned, untrusted};

pub(crate) use index::Index;

/// Finds tools by words.
pub(crate) const SEARCH: &str = "tool_search";
/// Says how tools are called.
pub(crate) const DESCRIBE: &str = "tool_describe";
/// Calls a tool that is not listed.
pub(crate) const CALL: &str = "tool_call";

/// Tools that are found at once, where nothing else is asked for and at most.
const FOUND: usize = 5;
const FOUND_MAX: usize = 20;
/// Tools that are described at once.
const DESCRIBED_MAX: usize = 10;
/// Most characters of a description in what was found.
const SHORT: usize = 300;
/// Tools are searched instead of listed when their list takes more than a tenth of the window.
const SHARE_OF_WINDOW: u64 = 10;
/// Names and words of others that are looked at.
const NAMES_MAX: usize = 64;

/// Whether a list of so many tokens is too long for a model with this window.
pub(crate) fn is_needed(tokens: u64, context_tokens: u32) -> bool {
    tokens > u64::from(context_tokens) / SHARE_OF_WINDOW
}

/// The three tools as a model is sent them.
pub(crate) fn described() -> [Value; 3] {
    let text = |about: &str| json!({ "type": "string", "description": about });
    [
        json!({
            "name": CALL,
            "description": "Calls a tool that you found with tool_search. Several calls in one step run at the same time.",
            "parameters": {
                "type": "object",
                "required": ["name", "arguments"],
                "properties": {
                    "name": text("The tool's name"),
                    "arguments": { "type": "object", "description": "Its arguments, as tool_describe says" },
                },
            },
        }),
        json!({
            "name": DESCRIBE,
            "description": "Says what tools do and which arguments they take. Read it before you call one with tool_call.",
            "parameters": {
                "type": "object",
                "required": ["names"],
                "properties": {
                    "names": { "type": "array", "items": { "type": "string" }, "maxItems": DESCRIBED_MAX },
                },
            },
        }),
        json!({
            "name": SEARCH,
            "description": "Finds tools for a task. Most tools that you have are not in your list: search before you say \
                that something cannot be done.",
            "parameters": {
                "type": "object",
                "required": ["query"],
                "properties": {
                    "query": text("What the tool is to do, in a few words"),
                    "limit": { "type": "integer", "minimum": 1, "maximum": FOUND_MAX },
                },
            },
        }),
    ]
}

/// A tool as a model is shown it. What an imported tool says of itself is somebody else's text.
pub(crate) fn shown(tool: &Tool) -> Value {
    let mut shown = untrusted::clean_json(&tool.described());
    if let EndpointSpec::Mcp { server, .. } = &tool.spec.endpoint {
        shown["description"] = untrusted::quoted(server, shown["description"].as_str().unwrap_or_default()).into();
    }
    shown
}

/// The call that a call through the bridge is, with a word for its node. One that cannot be read stays what it is, refused.
pub(crate) fn unwrapped(planned: Planned) -> (Planned, Option<String>) {
    if planned.call.tool != CALL || planned.unreadable.is_some() {
        return (planned, None);
    }
    let mut call = planned.call;
    // What is wrapped several times is still one call.
    while call.tool == CALL {
        call = match inner(&call) {
            Ok(call) => call,
            Err(failure) => return (Planned { call, unreadable: Some(failure) }, None),
        };
    }
    (Planned { call, unreadable: None }, Some(format!("through {CALL}")))
}

/// The name of the tool that a call is for.
pub(crate) fn named(call: &Call) -> &str {
    let (mut tool, mut args) = (call.tool.as_str(), &call.args);
    while tool == CALL {
        let Some(name) = name_in(args) else { return CALL };
        (tool, args) = (name, args.get("arguments").unwrap_or(&Value::Null));
    }
    tool
}

fn name_in(args: &Value) -> Option<&str> {
    let name = args.get("name").or_else(|| args.get("tool"))?.as_str()?.trim();
    (!name.is_empty()).then_some(name)
}

fn inner(call: &Call) -> Result<Call, Failure> {
    let Some(name) = name_in(&call.args) else { return Err(missing(CALL, "name", "the name of a tool")) };
    let args = ["arguments", "args", "parameters"].iter().find_map(|key| call.args.get(key));
    let args = match args {
        None | Some(Value::Null) => json!({}),
        Some(Value::String(raw)) => tools::args::parse_json(raw)?,
        Some(args) => args.clone(),
    };
    Ok(Call { path: call.path.clone(), tool: name.to_owned(), args })
}

pub(crate) fn missing(tool: &str, field: &str, expected: &str) -> Failure {
    let problem = Problem { path: field.to_owned(), expected: expected.to_owned(), got: None, hint: None };
    Failure::invalid_args(tool, vec![problem], usage(tool).to_owned())
}

fn usage(tool: &str) -> &'static str {
    match tool {
        SEARCH => "tool_search query [limit]",
        DESCRIBE => "tool_describe names",
        _ => "tool_call name arguments",
    }
}

/// What is found for a model within these rights.
pub(crate) fn search(cx: &TurnCx, within: Option<&Rights>, args: &Value) -> Result<Value, Failure> {
    let query = args.get("query").and_then(Value::as_str).map(str::trim).filter(|query| !query.is_empty());
    let query = query.ok_or_else(|| missing(SEARCH, "query", "a few words"))?;
    let limit = args.get("limit").and_then(Value::as_u64).and_then(|limit| usize::try_from(limit).ok());
    let most = limit.unwrap_or(FOUND).clamp(1, FOUND_MAX);
    let list = cx.snapshot.list_in(&cx.caller, within);
    let (mut found, mut all) = cx.snapshot.index().search(query, &list.set, most);
    if found.is_empty() {
        let near = cx.snapshot.tools.nearest(query, &list.set);
        found = near.iter().filter_map(|name| cx.snapshot.tools.index(name)).collect();
        all = found.len();
    }
    let tools: Vec<Value> =
        found.iter().filter_map(|ix| cx.snapshot.tools.tools().get(*ix)).map(|t| short(t)).collect();
    let mut answer = json!({ "tools": tools });
    match all - tools.len() {
        0 if tools.is_empty() => answer["note"] = json!("nothing fits: try other words, or fewer"),
        0 => {}
        more => answer["more"] = json!(more),
    }
    Ok(answer)
}

fn short(tool: &Tool) -> Value {
    let shown = shown(tool);
    let description = contract::text::cut(shown["description"].as_str().unwrap_or_default(), SHORT);
    json!({
        "name": &*tool.name,
        "description": untrusted::closed(&description),
        "usage": untrusted::clean(tool.usage().trim_start_matches('/')),
    })
}

/// How tools are called, those within these rights. The others are not there, whether there are such or not.
pub(crate) fn describe(cx: &TurnCx, within: Option<&Rights>, args: &Value) -> Result<Value, Failure> {
    let names = names(args.get("names").or_else(|| args.get("name")));
    if names.is_empty() {
        return Err(missing(DESCRIBE, "names", "a list of names"));
    }
    let list = cx.snapshot.list_in(&cx.caller, within);
    let (mut tools, mut absent) = (Vec::new(), Vec::new());
    for name in names.iter().take(DESCRIBED_MAX) {
        match cx.snapshot.tools.index(name).filter(|ix| list.set.contains(*ix)) {
            Some(ix) => tools.push(shown(&cx.snapshot.tools.tools()[ix])),
            None => {
                let near = cx.snapshot.tools.nearest(name, &list.set);
                absent.push(json!({ "name": contract::text::one_line(&untrusted::clean(name), 64), "near": near }));
            }
        }
    }
    let mut answer = json!({ "tools": tools });
    if !absent.is_empty() {
        answer["not_available_here"] = json!(absent);
    }
    Ok(answer)
}

/// Names as a model writes them: a list, one alone, or several with commas.
pub(crate) fn names(value: Option<&Value>) -> Vec<String> {
    let name = |text: &str| Some(text.trim().to_owned()).filter(|name| !name.is_empty());
    match value {
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).filter_map(name).take(NAMES_MAX).collect(),
        Some(Value::String(text)) => text.split(',').filter_map(name).take(NAMES_MAX).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
