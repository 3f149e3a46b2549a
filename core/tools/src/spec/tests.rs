mod traps;

use std::{fmt::Write as _, time::Duration};

use contract::Digest;
use expect_test::{Expect, expect};

use super::{fields::parse_rate, *};

/// What a file holds, and everything that is said of it.
fn check(text: &str, expected: Expect) {
    expected.assert_eq(&told(text));
}

fn told(text: &str) -> String {
    let parsed = parse("t.yaml", text);
    let mut out = String::new();
    for spec in &parsed.specs {
        writeln!(out, "tool {} from line {}", spec.name, spec.source().1).unwrap();
    }
    for refused in &parsed.refused {
        writeln!(out, "refused {}", refused.name.as_deref().unwrap_or("(no name)")).unwrap();
    }
    for error in &parsed.errors {
        writeln!(out, "error {error}").unwrap();
    }
    for warning in &parsed.warnings {
        writeln!(out, "warning {warning}").unwrap();
    }
    out
}

fn one(text: &str) -> Spec {
    let mut parsed = parse("t.yaml", text);
    assert_eq!(parsed.errors, [], "{text}");
    parsed.specs.remove(0)
}

/// A tool of which nothing is to be said, with more keys.
fn quiet(more: &str) -> String {
    format!(
        "name: t\ndescription: answers with what it was asked\nreturns: {{ type: object }}\n\
         endpoint: {{ type: native, name: t }}\n{more}"
    )
}

const EVERY_KEY: &str = include_str!("../../fixtures/every_key.yaml");

#[test]
fn every_documented_key_is_read() {
    let spec = one(EVERY_KEY);
    assert_eq!((&*spec.name, &*spec.toolset, spec.permissions), ("order_query", "orders", vec!["read".into()]));
    assert_eq!(spec.parameters["required"], serde_json::json!(["order_id"]));
    assert_eq!(spec.returns.unwrap()["properties"]["amount"]["type"], "number");
    let gates =
        (spec.platforms, spec.requires_env, spec.check, spec.publish, spec.pinned, spec.overrides, spec.deprecated);
    let answer = (spec.max_result_size_chars, spec.select, spec.full_payload_log, spec.dynamic, spec.examples);
    expect![[r#"
        (
            (
                Some(
                    [
                        Discord,
                        Slack,
                    ],
                ),
                [
                    "ORDER_TOKEN",
                ],
                Some(
                    Http(
                        "https://internal-api.example.local/healthz",
                    ),
                ),
                Manual,
                true,
                false,
                None,
            ),
            Http(
                HttpSpec {
                    method: "POST",
                    url: "https://internal-api.example.local/order/query",
                    headers: [
                        (
                            "content-type",
                            "application/json",
                        ),
                    ],
                    rename: [
                        (
                            "order_id",
                            "orderId",
                        ),
                    ],
                    places: [],
                    file_limit: 10485760,
                    credential: Some(
                        "order_api",
                    ),
                },
            ),
            Execution {
                timeout: 30s,
                total_timeout: Some(
                    70s,
                ),
                retries: 2,
                retry_interval: 500ms,
                backoff_multiplier: 2.0,
                concurrency_limit: Some(
                    10,
                ),
                rate_limit: Some(
                    Rate {
                        count: 20,
                        per: 1s,
                    },
                ),
                circuit_breaker: Some(
                    Breaker {
                        failure_threshold: 5,
                        cooldown: 60s,
                        failure_percent: None,
                        window: 60s,
                        minimum_calls: 10,
                        scope: Tool,
                    },
                ),
                idempotent: Some(
                    true,
                ),
                parallel: true,
                resource: Some(
                    "orders:{order_id}",
                ),
                resource_scope: Process,
                async: Some(
                    Jobs {
                        id: "/job_id",
                        poll: Asked {
                            method: "GET",
                            url: "https://internal-api.example.local/jobs/{id}",
                            headers: [],
                        },
                        interval: 2s,
                        done: Condition(
                            [
                                Test {
                                    pointer: "/status",
                                    equal: true,
                                    value: String("done"),
                                },
                            ],
                        ),
                        failed: Some(
                            Condition(
                                [
                                    Test {
                                        pointer: "/status",
                                        equal: true,
                                        value: String("failed"),
                                    },
                                ],
                            ),
                        ),
                        result: "/result",
                        progress: None,
                        timeout: 1800s,
                        cancel: None,
                    },
                ),
            },
            (
                Some(
                    8000,
                ),
                Some(
                    "items[].{id, status}",
                ),
                For(
                    7200s,
                ),
                {
                    "parameters.properties.region.enum": Dynamic {
                        url: "https://internal-api.example.local/regions",
                        ttl: 300s,
                        select: None,
                    },
                },
                [
                    Example {
                        say: "where is order A-17?",
                        args: Object {
                            "order_id": String("A-17"),
                        },
                    },
                ],
            ),
        )
    "#]]
    .assert_debug_eq(&(gates, spec.endpoint, spec.execution, answer));
}

#[test]
fn what_is_not_built_yet_is_said_to_be_so() {
    check(
        EVERY_KEY,
        expect![[r#"
            tool order_query from line 1
            warning t.yaml:8:58: nothing is said of 'prefix match allowed': if it belongs to the text before it, put that in quotes
        "#]],
    );
}

#[test]
fn a_tool_needs_little() {
    let spec = one("name: t\nendpoint: { url: 'https://a.test/x' }");
    assert_eq!(&*spec.toolset, "default");
    assert_eq!(spec.parameters, serde_json::json!({"type": "object", "properties": {}}));
    assert_eq!(spec.execution, Execution::default());
    assert!(spec.permissions.is_empty() && spec.returns.is_none() && spec.platforms.is_none());
    assert!(matches!(&spec.endpoint, EndpointSpec::Http(http) if http.method == "GET"));
}

#[test]
fn an_unknown_key_is_refused_with_its_place_and_the_nearest_known_one() {
    check(
        "name: t\nparamters: { type: object }\nendpoint:\n  url: https://a.test\n  hedaers: {}\nexecution: { timeuot: 3s, zzz: 1 }\n",
        expect![[r#"
            refused t
            error t.yaml:2:1: unknown key 'paramters' in a tool: did you mean 'parameters'?
            error t.yaml:5:3: unknown key 'hedaers' in an http endpoint: did you mean 'headers'?
            error t.yaml:6:14: unknown key 'timeuot' in 'execution': did you mean 'timeout'?
            error t.yaml:6:27: unknown key 'zzz' in 'execution': known are timeout, total_timeout, retries, retry_interval, backoff_multiplier, concurrency_limit, rate_limit, circuit_breaker, idempotent, parallel, resource, resource_scope, async
        "#]],
    );
}

#[test]
fn a_wrong_type_is_said_beside_what_else_is_wrong() {
    check(
        "name: t\ntoolsett: a\nparameters: { type: object, properties: { n: { type: intger } } }\nreturns: { type: objct }\n\
         endpoint: { url: https://a.test }\nexecution: { concurrency_limit: \"8\", retries: lots }\n",
        expect![[r#"
            refused t
            error t.yaml:2:1: unknown key 'toolsett' in a tool: did you mean 'toolset'?
            error t.yaml:3:48: 'parameters.properties.n.type': unknown type 'intger': did you mean 'integer'?
            error t.yaml:4:12: 'returns.type': unknown type 'objct': did you mean 'object'?
            error t.yaml:6:33: 'concurrency_limit' has to be a whole number of at least 1, not the text "8"
            error t.yaml:6:47: 'retries' has to be a whole number of at least 0, not 'lots'
        "#]],
    );
}

#[test]
fn a_bad_document_loses_itself_only() {
    check(
        &format!("{}\n---\nname: bad\nendpoint: [\n---\n{}", quiet(""), quiet("").replace("name: t", "name: u")),
        expect![[r#"
            tool t from line 1
            tool u from line 10
            refused bad
            error t.yaml:8:11: unclosed bracket '['
        "#]],
    );
}

#[test]
fn everything_wrong_is_said_at_once() {
    check(
        "name: Bad.Name\ntoolset: 3\nparameters: 'order_id: string'\nreturns: text\npermissions: [read, 'Write Files']\n\
         platforms: [telegrm]\npublish: later\nexecution: { timeout: 30, retries: -1, rate_limit: 20, parallel: yes, backoff_multiplier: 0 }\n\
         endpoint: { type: htp }\n",
        expect![[r#"
            refused (no name)
            error t.yaml:1:7: the name 'Bad.Name' is not fit: 1 to 64 of a-z, 0-9, '_' and '-'
            error t.yaml:2:10: 'toolset' has to be text, not '3': put it in quotes
            error t.yaml:3:13: 'parameters' has to be a JSON Schema written as YAML, not text: write 'type: object' and 'properties:' below it
            error t.yaml:4:10: 'returns' has to be a JSON Schema written as YAML, not text: write 'type: object' and 'properties:' below it
            error t.yaml:5:21: the label 'Write Files' is not fit: 1 to 64 of a-z, 0-9, '_' and '-'
            error t.yaml:6:13: 'platforms' has to be one of discord, telegram, slack, web, api, console, mcp, not 'telegrm': did you mean 'telegram'?
            error t.yaml:7:10: 'publish' has to be one of auto, manual, not 'later'
            error t.yaml:8:23: 'timeout' has to be a time, not '30': write it like 500ms, 30s, 2m or 1h
            error t.yaml:8:36: 'retries' has to be a whole number of at least 0, not '-1'
            error t.yaml:8:52: 'rate_limit' has to be a rate, not '20': write it like 20/s, 100/m or 5/10s
            error t.yaml:8:66: 'parallel' has to be true or false, not 'yes'
            error t.yaml:8:91: 'backoff_multiplier' has to be a number of at least 1, not '0'
            error t.yaml:9:19: 'type' has to be one of http, mcp, command, pipeline, native, not 'htp': did you mean 'http'?
        "#]],
    );
}

#[test]
fn endpoints_are_checked() {
    for (endpoint, expected) in [
        (
            "{ url: 'ftp://a.test' }",
            expect![[r#"
                refused t
                error t.yaml:4:18: 'url' has to begin with http:// or https://: write it like https://api.example.com/orders/{id}
            "#]],
        ),
        (
            "{ url: 'https://{host}/x' }",
            expect![[r#"
                refused t
                error t.yaml:4:18: the host of 'url' cannot come from an argument: write it like https://api.example.com/orders/{id}
            "#]],
        ),
        (
            "{ url: 'https:///x' }",
            expect![[r#"
                refused t
                error t.yaml:4:18: 'url' names no host: write it like https://api.example.com/orders/{id}
            "#]],
        ),
        (
            "{ url: 'https://a.test/{x' }",
            expect![[r#"
                refused t
                error t.yaml:4:18: 'url' has a brace without its partner: write it like https://api.example.com/orders/{id}
            "#]],
        ),
        (
            "{ url: 'https://a.test/a b' }",
            expect![[r#"
                refused t
                error t.yaml:4:18: 'url' has white space in it: write it like https://api.example.com/orders/{id}
            "#]],
        ),
        (
            "{ method: FETCH, url: 'https://a.test/' }",
            expect![[r#"
            refused t
            error t.yaml:4:21: 'method' has to be one of GET, HEAD, POST, PUT, PATCH, DELETE, not 'FETCH'
        "#]],
        ),
        (
            "{ type: mcp, server: s }",
            expect![[r#"
            refused t
            error t.yaml:4:11: an mcp endpoint needs 'tool'
        "#]],
        ),
        (
            "{ type: command }",
            expect![[r#"
            refused t
            error t.yaml:4:11: a command endpoint needs 'argv'
        "#]],
        ),
        (
            "{ type: native }",
            expect![[r#"
            refused t
            error t.yaml:4:11: a native endpoint needs 'name'
        "#]],
        ),
        (
            "{ type: pipeline, steps: [] }",
            expect![[r#"
            refused t
            error t.yaml:4:36: a pipeline has 1 to 100 steps
        "#]],
        ),
        (
            "{ type: pipeline, steps: [{ tool: a }, { tool: a }, { parallel: [{ tool: b, step: 1 }], id: x }] }",
            expect![[r#"
                refused t
                error t.yaml:4:50: two steps are called 'a': give one an 'id' of its own
                error t.yaml:4:87: unknown key 'step' in a step: known are id, tool, args, when, for_each, on_error, default, optional
                error t.yaml:4:99: 'id' does not go with 'parallel': write it in the steps below
            "#]],
        ),
    ] {
        check(&quiet("").replace("{ type: native, name: t }", endpoint), expected);
    }
}

#[test]
fn a_pipeline_has_steps_and_groups() {
    let text = "name: research\nendpoint:\n  type: pipeline\n  steps:\n  - { id: found, tool: search_web, args: { query: '{topic}' } }\n  \
                - parallel:\n    - { id: a, tool: read_page, args: { url: '{found.0}' } }\n    - { id: b, tool: read_page, optional: true }\n  result: '{a}'\n";
    let EndpointSpec::Pipeline(pipeline) = one(text).endpoint else { panic!("not a pipeline") };
    assert_eq!(pipeline.steps.len(), 2);
    assert_eq!(one(text).execution.timeout, Duration::from_secs(300));
    assert!(
        matches!(&pipeline.steps[1], Step::Parallel(group) if group[1].on_error == OnError::Skip && group[1].tool == "read_page")
    );
    assert_eq!(pipeline.result, Some(serde_json::json!("{a}")));
}

#[test]
fn what_is_hardly_meant_is_said() {
    for (text, expected) in [
        (
            "name: get_it\ndescription: Get it\nendpoint: { url: 'https://a.test/{id}' }",
            expect![[r#"
                tool get_it from line 1
                warning t.yaml:1:1: no 'returns': the answer passes unchecked
                warning t.yaml:1:1: no 'concurrency_limit': any number of calls may run at once
                warning t.yaml:2:1: the description only repeats the name: say what the tool does and when to use it; a model chooses by it
                warning t.yaml:3:13: 'id' is no parameter of the tool
            "#]],
        ),
        (
            "name: t\nparameters: { properties: { order_id: {} } }\nendpoint:\n  method: post\n  url: https://u:p@a.test/?api_key=k\n  headers: { Authorization: Bearer abc, X-Api-Key: env:KEY, x-token: '{order_id}' }\n  \
             rename: { ordr_id: id }\nexecution: { retries: 1, resource: 'o:{oder_id}', timeout: 10s, total_timeout: 5s }",
            expect![[r#"
                tool t from line 1
                warning t.yaml:1:1: no 'description': nobody can tell what the tool is for: write 'description': what it does, and when to use it
                warning t.yaml:1:1: no 'returns': the answer passes unchecked
                warning t.yaml:5:3: 'url' holds a literal key: everybody who reads the file can use it: keep it in 'credential_store' and write 'credential: NAME'
                warning t.yaml:6:14: the header 'Authorization' holds a literal key: everybody who reads the file can use it: keep it in 'credential_store' and write 'credential: NAME'
                warning t.yaml:7:13: 'ordr_id' is no parameter of the tool: did you mean 'order_id'?
                warning t.yaml:8:1: no 'concurrency_limit': any number of calls may run at once
                warning t.yaml:8:14: 'retries' of a tool that is not idempotent: only what was surely not carried out is repeated
                warning t.yaml:8:26: 'oder_id' is no parameter of the tool: did you mean 'order_id'?
                warning t.yaml:8:65: 'total_timeout' is less than 'timeout'
            "#]],
        ),
    ] {
        check(text, expected);
    }
    check(
        &quiet(""),
        expect![[r#"
        tool t from line 1
    "#]],
    );
    check(
        &quiet("").replace("name: t\n", "name: help\n"),
        expect![[r#"
        tool help from line 1
        warning t.yaml:1:1: 'help' is a word of the gateway's own: the tool can hardly be called
    "#]],
    );
}

#[test]
fn what_nothing_can_fulfil_is_an_error_with_what_to_write() {
    check(
        &quiet(
            "parameters:\n  required: [order_id, ordr]\n  properties:\n    order_id: { type: string, minLength: 9, maxLength: 3 }\n    \
             state: { type: string, enum: [paid, open, paid] }\n    n: { type: integer, enum: [one, two] }\n",
        ),
        expect![[r#"
            refused t
            error t.yaml:6:24: 'parameters.required': 'ordr' is required but not described in 'properties': describe 'ordr' in 'properties', or take it out
            error t.yaml:8:31: 'parameters.properties.order_id': 'minLength' 9 and 'maxLength' 3 leave no value: write 'minLength' below 'maxLength'
            error t.yaml:9:47: 'parameters.properties.state.enum': the value 'paid' stands here twice, first as number 1: take one of them out
            error t.yaml:10:25: 'parameters.properties.n': no value of 'enum' is of type integer: nothing can be given: change the type or the values; quotes make text of a number
        "#]],
    );
    for (url, wrong) in [
        ("https://a b.test", "white space"),
        ("https://:80/x", "names no host"),
        ("https://a.test:99999/", "port"),
        ("https://http://a.test", "port"),
        ("https://a..test", "cannot be one"),
        ("https://-a.test", "cannot be one"),
        ("https://[::1/", "no ']'"),
        ("a.test/x", "begin with"),
    ] {
        let told = told(&format!("name: t\nendpoint: {{ url: '{url}' }}"));
        assert!(told.contains("error") && told.contains(wrong) && told.contains("write it like"), "{url}: {told}");
    }
    for url in ["https://münchen.example/x", "http://[::1]:8080/{id}", "http://u:p@a_b.test.:1/", "http://127.0.0.1"] {
        assert!(!told(&format!("name: t\nendpoint: {{ url: '{url}' }}")).contains("error"), "{url}");
    }
}

#[test]
fn a_literal_key_is_found_by_its_looks_too() {
    check(
        &quiet("").replace(
            "{ type: native, name: t }",
            "{ url: 'https://a.test/v2/sk_live_51H8abcdefghij/x', headers: { x-thing: 'Bearer ghp_0123456789abcdefghijklmnopqrstuv' } }",
        ),
        expect![[r#"
            tool t from line 1
            warning t.yaml:1:1: no 'concurrency_limit': any number of calls may run at once
            warning t.yaml:4:18: this looks like a literal key: everybody who reads the file can use it: keep it in 'credential_store' and write 'credential: NAME'
            warning t.yaml:4:84: this looks like a literal key: everybody who reads the file can use it: keep it in 'credential_store' and write 'credential: NAME'
        "#]],
    );
}

#[test]
fn a_secret_is_not_repeated_in_a_warning() {
    let told = told(
        "name: t\nendpoint: { url: 'https://u:hunter2@a.test/?key=hunter2', headers: { authorization: hunter2 } }",
    );
    assert!(told.contains("literal key") && !told.contains("hunter2"), "{told}");
}

#[test]
fn what_may_be_repeated_is_said_or_follows_from_the_method() {
    let repeatable = |keys: &str| one(&format!("name: t\n{keys}")).is_repeatable();
    assert!(repeatable("endpoint: { url: 'https://a.test' }"));
    assert!(repeatable("endpoint: { method: put, url: 'https://a.test' }"));
    assert!(!repeatable("endpoint: { method: POST, url: 'https://a.test' }"));
    assert!(!repeatable("endpoint: { method: PATCH, url: 'https://a.test' }"));
    assert!(repeatable("permissions: [read]\nendpoint: { method: POST, url: 'https://a.test' }"));
    assert!(!repeatable("permissions: [read, money]\nendpoint: { method: POST, url: 'https://a.test' }"));
    assert!(!repeatable("execution: { idempotent: false }\nendpoint: { url: 'https://a.test' }"));
    assert!(repeatable("execution: { idempotent: true }\nendpoint: { type: native, name: x }"));
    assert!(!repeatable("endpoint: { type: native, name: x }"));
    assert!(repeatable("endpoint: { type: pipeline, steps: [{ tool: a }] }"));
}

#[test]
fn a_digest_is_of_the_content() {
    let a = one("name: t\ndescription: d\nendpoint: { url: 'https://a.test' }");
    let b = one("# a comment\n\nendpoint:\n  url: \"https://a.test\"\ndescription: d\nname: t\n");
    let c = one("name: t\ndescription: e\nendpoint: { url: 'https://a.test' }");
    assert_eq!(a.digest(), b.digest());
    assert_ne!(a.digest(), c.digest());
    assert_ne!(a.digest(), Digest::of(b""));
}

#[test]
fn times_and_rates_have_units() {
    assert_eq!(contract::text::duration("500ms"), Some(Duration::from_millis(500)));
    assert_eq!(contract::text::duration("2m"), Some(Duration::from_secs(120)));
    for wrong in ["30", "s", "-1s", "1.5s", "1 s", "1y", "99999999999999999999s", "9999999d", ""] {
        assert_eq!(contract::text::duration(wrong), None, "{wrong}");
    }
    assert_eq!(parse_rate("20/s"), Some(Rate { count: 20, per: Duration::from_secs(1) }));
    assert_eq!(parse_rate("5/10s"), Some(Rate { count: 5, per: Duration::from_secs(10) }));
    for wrong in ["20", "0/s", "20/", "/s", "20/0s", "a/s"] {
        assert_eq!(parse_rate(wrong), None, "{wrong}");
    }
}

#[test]
fn specs_of_tutorials_load_unchanged() {
    let own = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/tutorial");
    let given = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/specs");
    let folders = [own, given];
    for folder in folders.iter().filter(|f| f.is_dir()) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let parsed = parse("tutorial.yaml", &std::fs::read_to_string(&path).unwrap());
            assert_eq!(parsed.errors, [], "{}", path.display());
            assert_eq!(parsed.specs.len(), 1, "{}", path.display());
        }
    }
}
