use std::sync::Arc;

use contract::{CallPath, Code, Finding};
use policies::ToolSet;
use tools::{Endpoint, Registry, Spec};

use super::*;

fn call(args: Value) -> Planned {
    let call = Call { path: CallPath::top(1, 1), tool: CALL.into(), args };
    Planned { call, unreadable: None }
}

fn inside(args: Value) -> Result<(String, Value), Code> {
    let named = named(&call(args.clone()).call).to_owned();
    let (planned, mark) = unwrapped(call(args));
    match planned.unreadable {
        Some(failure) => Err(failure.code),
        None => {
            assert_eq!((planned.call.tool.as_str(), mark.as_deref()), (named.as_str(), Some("through tool_call")));
            Ok((planned.call.tool, planned.call.args))
        }
    }
}

#[test]
fn a_call_is_the_call_that_it_names_in_every_dress() {
    let sleep = |args: Value| Ok(("sleep".to_owned(), args));
    assert_eq!(inside(json!({"name": "sleep", "arguments": {"ms": 1}})), sleep(json!({"ms": 1})));
    assert_eq!(inside(json!({"name": " sleep ", "arguments": "{\"ms\": 1}"})), sleep(json!({"ms": 1})));
    assert_eq!(inside(json!({"tool": "sleep", "args": {"ms": 1}})), sleep(json!({"ms": 1})));
    assert_eq!(inside(json!({"name": "sleep"})), sleep(json!({})));
    let wrapped = json!({"name": CALL, "arguments": {"name": "sleep", "arguments": {"ms": 2}}});
    assert_eq!(inside(wrapped), sleep(json!({"ms": 2})));
    assert_eq!(inside(json!({"arguments": {}})), Err(Code::ArgsInvalid));
    assert_eq!(inside(json!({"name": "sleep", "arguments": "{\"ms"})), Err(Code::ArgsUnreadable));
}

struct NoEndpoint;

#[async_trait::async_trait]
impl Endpoint for NoEndpoint {
    async fn call(&self, _: &tools::Permitted, _: &tools::Cx<'_>) -> Result<tools::Output, tools::ToolFailure> {
        Ok(tools::Output::Done(Value::Null))
    }
}

impl tools::Build for NoEndpoint {
    fn build(&self, _: &Spec) -> Result<Arc<dyn Endpoint>, Finding> {
        Ok(Arc::new(NoEndpoint))
    }
}

fn tools(yaml: &str) -> Arc<tools::Snapshot> {
    let loaded = Registry::new(Arc::new(NoEndpoint)).load_with(&[], &[("tools.yaml", yaml)]);
    assert!(loaded.errors.is_empty(), "{:?}", loaded.errors);
    loaded.snapshot
}

const TOOLS: &str = "
name: order_query
toolset: orders
description: Looks up what a customer bought and whether it was shipped
parameters: { type: object, properties: { order_id: { type: string, description: The number of the order } } }
endpoint: { type: native, name: x }
---
name: weather_query
description: 查询一个城市的天气预报
parameters: { type: object, properties: { city: { type: string, description: 城市 } } }
examples: [{ say: Will it rain in Oslo?, args: {} }]
endpoint: { type: native, name: x }
---
name: read_page
description: Reads a page of the web as text
endpoint: { type: native, name: x }
";

fn found(query: &str, but: &[&str]) -> Vec<String> {
    let tools = tools(TOOLS);
    let view = ToolSet::of(tools.tools().len(), |ix| !but.contains(&&*tools.tools()[ix].name));
    let (found, all) = Index::of(tools.tools()).search(query, &view, 10);
    assert_eq!(found.len(), all);
    found.iter().map(|ix| tools.tools()[*ix].name.to_string()).collect()
}

#[test]
fn tools_are_found_by_name_words_parameters_and_examples_in_chinese_too() {
    assert_eq!(found("orders", &[]), ["order_query"]);
    assert_eq!(found("the number of the order", &[]), ["order_query"]);
    assert_eq!(found("shipped to a customer?", &[])[0], "order_query");
    assert_eq!(found("rain", &[]), ["weather_query"]);
    assert_eq!(found("明天天气怎么样", &[]), ["weather_query"]);
    assert_eq!(found("市", &[]), ["weather_query"]);
    assert_eq!(found("web pages", &[]), ["read_page"]);
    assert!(found("zzz 邮件", &[]).is_empty());
}

#[test]
fn nothing_is_found_outside_the_view() {
    assert_eq!(found("query", &[]), ["order_query", "weather_query"]);
    assert_eq!(found("query", &["order_query"]), ["weather_query"]);
    assert!(found("orders", &["order_query"]).is_empty());
}

#[test]
fn a_list_beyond_a_tenth_of_the_window_is_searched() {
    assert!(!is_needed(3_276, 32_768) && is_needed(3_277, 32_768));
}
