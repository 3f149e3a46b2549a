use contract::{Failure, Layer};
use expect_test::expect;
use serde_json::json;
use tools::spec::EndpointSpec;

use super::*;
use crate::testing::{Bench, spec};

fn built(yaml: &str) -> Result<Pipeline, Finding> {
    let spec = spec(yaml);
    match &spec.endpoint {
        EndpointSpec::Pipeline(pipeline) => Pipeline::build(&spec, pipeline),
        other => panic!("not a pipeline: {other:?}"),
    }
}

/// The demo's pipeline, with one word to vary how pages are read.
fn research(on_error: &str) -> Pipeline {
    built(&format!(
        r#"
name: research
description: Search a topic, read what was found and sum it up
parameters: {{ type: object, required: [topic], properties: {{ topic: {{ type: string }}, limit: {{ type: integer }} }} }}
endpoint:
  type: pipeline
  steps:
    - id: found
      tool: search_web
      args: {{ query: "{{{{ args.topic }}}}", limit: "{{{{ args.limit }}}}" }}
    - id: pages
      for_each: "{{{{ steps.found.results }}}}"
      tool: read_page
      args: {{ url: "{{{{ item.url }}}}" }}
      {on_error}
    - id: summary
      tool: generate_summary
      args: {{ topic: "{{{{ args.topic }}}}", text: "{{{{ steps.pages | map(attribute='text') | list }}}}" }}
  result:
    summary: "{{{{ steps.summary.summary }}}}"
    sources: "{{{{ steps.pages | length }}}}"
"#
    ))
    .unwrap()
}

fn library(hangs: &'static str) -> Bench {
    Bench::answering(move |tool, args| match tool {
        "search_web" => Ok(json!({"results": [{"url": "a"}, {"url": "b"}, {"url": "c"}]})),
        "read_page" if args["url"] == hangs => {
            Err(Failure::new(Code::Timeout, "'read_page' did not answer within 2 s")
                .cause(Private::new("http://10.0.0.1/page")))
        }
        "read_page" => Ok(json!({"text": format!("page {}", args["url"].as_str().unwrap())})),
        "generate_summary" => Ok(json!({"summary": args["text"].as_array().unwrap().len()})),
        other => Err(Failure::unknown_tool(other, &[])),
    })
}

#[tokio::test]
async fn steps_pass_values_on_and_a_mapped_step_runs_its_calls_at_once() {
    let bench = library("none");
    let result = research("").run(&json!({"topic": "tea"}), &bench.cx()).await.unwrap();
    assert_eq!(result, json!({"summary": 3, "sources": 3}));
    let batches = bench.host.batches.lock().unwrap().clone();
    assert_eq!(
        batches[0],
        [("search_web".to_owned(), json!({"query": "tea"}))],
        "an argument that is missing is left out"
    );
    assert_eq!(batches[1].len(), 3);
    assert_eq!(batches[2][0].1["text"], json!(["page a", "page b", "page c"]));
}

#[tokio::test]
async fn a_step_that_fails_is_named_with_its_own_words() {
    let bench = library("b");
    let failure = research("").run(&json!({"topic": "tea"}), &bench.cx()).await.unwrap_err();
    let failure = failure.failure();
    assert_eq!((failure.code, failure.layer()), (Code::StepFailed, Layer::Execution));
    assert_eq!(failure.say.as_str(), "'read_page' did not answer within 2 s");
    assert_eq!(failure.cause.for_operator(), "step 'pages', tool 'read_page': timeout: http://10.0.0.1/page");
    assert_eq!(bench.host.batches.lock().unwrap().len(), 2, "what comes after is not started");
}

#[tokio::test]
async fn a_failure_can_be_passed_over() {
    let skipped = research("on_error: skip").run(&json!({"topic": "tea"}), &library("b").cx()).await.unwrap();
    assert_eq!(skipped, json!({"summary": 2, "sources": 2}));
    let default =
        research("default: { text: nothing }").run(&json!({"topic": "tea"}), &library("b").cx()).await.unwrap();
    assert_eq!(default, json!({"summary": 3, "sources": 3}));
}

#[tokio::test]
async fn parallel_steps_go_together_and_a_condition_leaves_one_out() {
    let pipeline = built(
        r#"
name: both
description: two at once
parameters: { type: object, properties: { deep: { type: boolean } } }
endpoint:
  type: pipeline
  steps:
    - parallel:
        - { tool: one, args: { n: 1 } }
        - { id: two, tool: echo, when: args.deep, args: { n: 2 } }
        - { id: many, tool: echo, for_each: [1, 2], args: { n: "{{ item }}", i: "{{ index }}" } }
"#,
    )
    .unwrap();
    let bench = Bench::answering(|_, args| Ok(args.clone()));
    let result = pipeline.run(&json!({}), &bench.cx()).await.unwrap();
    assert_eq!(result, json!({"one": {"n": 1}, "two": null, "many": [{"n": 1, "i": 0}, {"n": 2, "i": 1}]}));
    assert_eq!(bench.host.batches.lock().unwrap().iter().map(Vec::len).collect::<Vec<_>>(), [3]);
    let result = pipeline.run(&json!({"deep": true}), &bench.cx()).await.unwrap();
    assert_eq!(result["two"], json!({"n": 2}));
}

#[tokio::test]
async fn a_denied_step_looks_like_one_that_does_not_exist() {
    let pipeline =
        built("name: p\ndescription: d\nendpoint: { type: pipeline, steps: [{ tool: order_refund }] }").unwrap();
    let say = async |answer: fn(&str) -> Failure| {
        let bench = Bench::answering(move |tool, _| Err(answer(tool)));
        let failure = pipeline.run(&json!({}), &bench.cx()).await.unwrap_err();
        (
            failure.failure().say.clone(),
            failure.failure().hint.clone(),
            failure.failure().cause.for_operator().to_owned(),
        )
    };
    let denied = say(|tool| Failure::denied(tool, &[], "platform, telegram.yaml:4")).await;
    let unknown = say(|tool| Failure::unknown_tool(tool, &[])).await;
    assert_eq!((&denied.0, &denied.1), (&unknown.0, &unknown.1));
    assert!(denied.2.contains("denied: platform, telegram.yaml:4"));
}

#[tokio::test]
async fn too_many_items_and_values_that_are_missing_are_told() {
    let pipeline = built(
        "name: p\ndescription: d\nparameters: { properties: { all: { type: array, items: {} }, t: { type: string } } }\n\
         endpoint: { type: pipeline, steps: [{ id: s, tool: echo, for_each: \"{{ args.all }}\", args: { x: \"a {{ args.t }}\" } }] }",
    )
    .unwrap();
    let bench = Bench::answering(|_, args| Ok(args.clone()));
    let say = async |args: Value| pipeline.run(&args, &bench.cx()).await.map_err(|f| f.failure().say.to_string());
    assert_eq!(
        say(json!({"all": vec![0; 101], "t": ""})).await,
        Err("'p' has 101 items for its step 's': 100 are the most".into())
    );
    assert_eq!(say(json!({"all": [1]})).await, Err("'p' could not put together its step 's'".into()));
    assert_eq!(say(json!({"all": "text", "t": ""})).await, Err("'p' could not put together its step 's'".into()));
    assert_eq!(say(json!({})).await, Ok(json!([])));
    assert_eq!(bench.host.batches.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn a_stopped_pipeline_starts_no_further_step() {
    let bench = library("none");
    bench.cancel.cancel();
    let failure = research("").run(&json!({"topic": "tea"}), &bench.cx()).await.unwrap_err();
    assert_eq!((failure.failure().code, failure.failure().effect), (Code::Cancelled, Effect::None));
}

#[test]
fn what_cannot_work_is_refused_when_it_is_loaded() {
    let step = |step: &str| {
        let yaml = format!(
            "name: p\ndescription: d\nparameters: {{ properties: {{ topic: {{ type: string }} }} }}\n\
             endpoint:\n  type: pipeline\n  steps:\n    - {{ id: first, tool: a }}\n    - {step}\n"
        );
        match built(&yaml) {
            Ok(_) => "fits".to_owned(),
            Err(error) => error.to_string(),
        }
    };
    let lines = [
        step(r#"{ tool: b, args: { x: "{{ args.topc }}" } }"#),
        step(r#"{ tool: b, args: { x: "{{ steps.frist.x }}" } }"#),
        step(r#"{ id: later, tool: b, args: { x: "{{ steps.later }}" } }"#),
        step(r#"{ tool: b, args: { x: "{{ item }}" } }"#),
        step(r#"{ tool: b, for_each: [1], default: "{{ item }}" }"#),
        step(r#"{ tool: b, args: { x: "{{ env.SECRET }}" } }"#),
        step(r#"{ tool: b, args: { x: "{{ oops" } }"#),
        step(r#"{ tool: b, when: "steps.nothing" }"#),
        step(r#"{ tool: b, for_each: 3 }"#),
        step(r#"{ tool: p }"#),
        step(r#"{ id: a-b, tool: b }"#),
        step(r#"{ parallel: [{ id: x, tool: b }, { tool: c, args: { x: "{{ steps.x }}" } }] }"#),
        step(
            r#"{ tool: b, for_each: "{{ steps.first }}", args: { x: "{{ item.url }} {{ index }} {{ args.topic }}" } }"#,
        ),
    ];
    expect![[r#"
        test.yaml:8:18: the tool has no parameter 'topc': did you mean 'topic'?
        test.yaml:8:18: no step before this one is called 'frist': did you mean 'first'?
        test.yaml:8:29: no step before this one is called 'later'
        test.yaml:8:18: 'item' is there only in a step with 'for_each'
        test.yaml:8:33: 'item' is there only in a step with 'for_each'
        test.yaml:8:18: nothing is called 'env' here: there are 'args', 'steps', and with 'for_each' also 'item' and 'index'
        test.yaml:8:18: the template is not readable: '{{ oops': syntax error: unexpected end of input, expected end of variable block
        test.yaml:8:18: no step before this one is called 'nothing'
        test.yaml:8:18: 'for_each' has to be a list, or a template that gives one
        test.yaml:8:9: a pipeline cannot call itself
        test.yaml:8:7: the step's id 'a-b' cannot be used in templates: give it an 'id' of letters, digits and '_'
        test.yaml:8:51: no step before this one is called 'x'
        fits
    "#]].assert_eq(&(lines.join("\n") + "\n"));
}
