use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use expect_test::{Expect, expect};
use policies::ToolSet;
use serde_json::Value;
use tempfile::TempDir;

use super::*;
use crate::{Output, testing::Acts};

mod stored;

/// A folder of spec files, and the registry that reads it.
struct Desk {
    folder: TempDir,
    registry: Registry,
    natives: Vec<(&'static str, &'static str)>,
}

impl Desk {
    fn new() -> Self {
        let acts = Acts::default().with("known", |_, _| async { Ok(Output::Done(Value::Null)) });
        Self { folder: TempDir::new().unwrap(), registry: Registry::new(Arc::new(acts)), natives: Vec::new() }
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    fn load(&self) -> Loaded {
        self.registry.load_with(&[self.folder.path().to_owned()], &self.natives)
    }

    /// The snapshot and what is wrong, without the folder's name.
    fn check(&self, expected: Expect) {
        let loaded = self.load();
        let mut out = format!("generation {}\n", loaded.snapshot.generation);
        for tool in loaded.snapshot.tools() {
            let (file, line) = tool.spec.source();
            writeln!(out, "tool {} {}:{line}: {}", tool.name, name_of(file), tool.spec.description).unwrap();
        }
        for Quarantine { name, reason, file, line, kept } in loaded.snapshot.quarantined() {
            let kept = if *kept { "kept" } else { "out" };
            writeln!(out, "{kept} {} {}:{line}: {reason}", name_of(name), name_of(file)).unwrap();
        }
        for error in &loaded.errors {
            writeln!(out, "error {error}").unwrap();
        }
        // Of the warnings only what keeps a tool out; the rest is the specs' to test.
        for warning in loaded.warnings.iter().filter(|w| w.message.contains("are not active")) {
            writeln!(out, "warning {warning}").unwrap();
        }
        let folder = format!("{}/", self.folder.path().display());
        expected.assert_eq(&out.replace(&folder, ""));
    }
}

fn name_of(file: &str) -> &str {
    Path::new(file).file_name().and_then(|name| name.to_str()).unwrap_or(file)
}

fn spec(name: &str, words: &str) -> String {
    format!("name: {name}\ndescription: {words}\nendpoint: {{ url: 'https://a.test/{name}' }}\n")
}

#[test]
fn files_are_read_in_order_and_tools_sorted_by_name() {
    let mut desk = Desk::new();
    desk.natives = vec![("natives.yaml", "name: known\ndescription: native\nendpoint: { type: native, name: known }")];
    desk.write("b.yaml", &format!("{}---\n{}", spec("zebra", "z"), spec("ant", "a")));
    desk.write("a.yml", &spec("bee", "b"));
    desk.write("more/c.yaml", &spec("cow", "c"));
    desk.write("more/deep/d.yaml", &spec("dog", "too deep"));
    desk.write("notes.txt", "no: spec");
    desk.write(".hidden.yaml", "no: spec");
    desk.check(expect![[r#"
        generation 1
        tool ant b.yaml:5: a
        tool bee a.yml:1: b
        tool cow c.yaml:1: c
        tool known natives.yaml:1: native
        tool zebra b.yaml:1: z
    "#]]);
}

#[test]
fn nothing_new_is_the_same_snapshot() {
    let desk = Desk::new();
    desk.write("a.yaml", &spec("a", "one"));
    let first = desk.load().snapshot;
    assert!(Arc::ptr_eq(&first, &desk.load().snapshot));
    assert!(Arc::ptr_eq(&first, &desk.registry.current()));
    desk.write("a.yaml", &spec("a", "two"));
    let second = desk.load().snapshot;
    assert_eq!((first.generation, second.generation), (1, 2));
    assert_eq!(first.get("a").unwrap().spec.description, "one");
}

#[test]
fn a_bad_file_keeps_its_last_good_tools_and_says_so() {
    let desk = Desk::new();
    desk.write("a.yaml", &format!("{}---\n{}", spec("one", "good"), spec("two", "good")));
    desk.write("b.yaml", &spec("three", "good"));
    desk.load();
    desk.write("a.yaml", &format!("{}---\n{}zzz: 1\n", spec("one", "better"), spec("two", "worse")));
    desk.write("b.yaml", "{ half");
    desk.check(expect![[r#"
        generation 2
        tool one a.yaml:1: better
        tool three b.yaml:1: good
        tool two a.yaml:5: good
        kept three b.yaml:1: unclosed bracket '{'
        kept two a.yaml:8: unknown key 'zzz' in a tool: known are name, toolset, description, parameters, returns, permissions, platforms, requires_env, check, endpoint, execution, max_result_size_chars, select, full_payload_log, publish, pinned, override, deprecated, dynamic, examples
        error a.yaml:8:1: unknown key 'zzz' in a tool: known are name, toolset, description, parameters, returns, permissions, platforms, requires_env, check, endpoint, execution, max_result_size_chars, select, full_payload_log, publish, pinned, override, deprecated, dynamic, examples; the last good version of 'two' stays in use
        error b.yaml:1:1: unclosed bracket '{': the last good version of 'three' stays in use
    "#]]);
    desk.write("a.yaml", &spec("one", "best"));
    desk.write("b.yaml", "");
    desk.check(expect![[r#"
        generation 3
        tool one a.yaml:1: best
        tool three b.yaml:1: good
        kept three b.yaml:1: the file is empty
        error b.yaml:1:1: the file is empty: the last good version of 'three' stays in use
    "#]]);
    fs::remove_file(desk.path("b.yaml")).unwrap();
    desk.check(expect![[r#"
        generation 4
        tool one a.yaml:1: best
    "#]]);
}

#[test]
fn a_file_that_cannot_be_read_keeps_its_tools() {
    let desk = Desk::new();
    desk.write("a.yaml", &spec("one", "good"));
    desk.load();
    fs::write(desk.path("a.yaml"), b"name: \xff\xfe").unwrap();
    desk.check(expect![[r#"
        generation 2
        tool one a.yaml:1: good
        kept one a.yaml:1: the file is not UTF-8 text
        error a.yaml:1:1: the file is not UTF-8 text: the last good version of 'one' stays in use
    "#]]);
}

#[test]
fn a_folder_that_cannot_be_read_keeps_its_tools() {
    let desk = Desk::new();
    let folder = desk.path("in");
    desk.write("in/a.yaml", &spec("one", "good"));
    let paths = [folder.clone()];
    desk.registry.load(&paths);
    fs::rename(&folder, desk.path("out")).unwrap();
    let loaded = desk.registry.load(&paths);
    assert!(loaded.snapshot.get("one").is_some() && loaded.snapshot.quarantined()[0].kept);
    assert_eq!(loaded.errors.len(), 1);
}

#[test]
fn a_tool_that_becomes_what_cannot_be_run_keeps_its_last_version() {
    let desk = Desk::new();
    desk.write("a.yaml", &spec("one", "good"));
    desk.load();
    desk.write("a.yaml", "name: one\nendpoint: { type: native, name: nobody }\n");
    desk.check(expect![[r#"
        generation 2
        tool one a.yaml:1: good
        kept one a.yaml:2: no native tool is called 'nobody'
        error a.yaml:2:27: no native tool is called 'nobody': the last good version of 'one' stays in use
    "#]]);
}

#[test]
fn a_half_written_file_never_loses_a_tool() {
    let desk = Desk::new();
    let whole = format!(
        "name: one\ndescription: good\nparameters: {{ properties: {{ a: {{ type: string }} }} }}\n{}---\n{}",
        "endpoint:\n  method: POST\n  url: https://a.test/one\n",
        spec("two", "good")
    );
    for end in 0..whole.len() {
        desk.write("a.yaml", &whole);
        desk.load();
        desk.write("a.yaml", &whole[..end]);
        let loaded = desk.load();
        let is_whole_document = loaded.errors.is_empty();
        assert!(loaded.snapshot.get("one").is_some(), "{end}");
        assert!(is_whole_document || loaded.snapshot.get("two").is_some(), "{end}");
    }
}

#[test]
fn a_name_has_one_owner_and_the_first_stays() {
    let desk = Desk::new();
    desk.write("b.yaml", &spec("same", "first"));
    desk.load();
    desk.write("a.yaml", &spec("same", "second"));
    desk.check(expect![[r#"
        generation 2
        tool same b.yaml:1: first
        out same a.yaml:1: 'same' has an owner already: b.yaml:1: choose another name, or say 'override: true'
        error a.yaml:1:1: 'same' has an owner already: b.yaml:1: choose another name, or say 'override: true'
    "#]]);
    desk.write("a.yaml", &format!("{}override: true\n", spec("same", "second")));
    desk.check(expect![[r#"
        generation 3
        tool same a.yaml:1: second
    "#]]);
    desk.check(expect![[r#"
        generation 3
        tool same a.yaml:1: second
    "#]]);
}

#[test]
fn what_cannot_be_run_is_not_offered() {
    let desk = Desk::new();
    desk.write(
        "a.yaml",
        "name: remote\nendpoint: { type: mcp, server: s, tool: t }\n---\nname: shell\nendpoint: { type: command, argv: [ls] }\n---\n\
         name: lost\nendpoint: { type: native, name: nobody }\n---\n\
         name: fetches\nparameters: { properties: { a: { $ref: 'https://a.test/schema' } } }\nendpoint: { url: 'https://a.test' }\n",
    );
    desk.check(expect![[r#"
        generation 1
        tool remote a.yaml:1: 
        tool shell a.yaml:4: 
        out fetches a.yaml:11: 'parameters.properties.a.$ref': 'https://a.test/schema' lies outside of this schema: nothing is fetched, copy it into '$defs'
        out lost a.yaml:8: no native tool is called 'nobody'
        error a.yaml:8:27: no native tool is called 'nobody'
        error a.yaml:11:34: 'parameters.properties.a.$ref': 'https://a.test/schema' lies outside of this schema: nothing is fetched, copy it into '$defs'
    "#]]);
}

#[test]
fn the_lints_of_schemas_have_their_places() {
    let desk = Desk::new();
    desk.write(
        "a.yaml",
        "name: t\ndescription: a tool of this test\nendpoint: { url: 'https://a.test' }\nexecution: { concurrency_limit: 1 }\nparameters:\n  properties:\n    \
         list: { type: array }\n    any: true\n    n: { type: integer, enum: [1, two] }\n  required: [list]\n\
         returns: { type: object, properties: { l: { type: array } } }\nexamples: [{ say: hi, args: { list: 3, n: x } }]\n",
    );
    let loaded = desk.load();
    let told: Vec<_> = loaded.warnings.iter().map(|w| format!("{}:{}: {}", w.line, w.column, w.message)).collect();
    expect![[r#"
        2:1: the description says nothing that the name does not say
        5:1: 'parameters': the property 'any' is only true or false; give it a type
        7:5: 'parameters.properties.list': an array without 'items' takes anything; some model services refuse it
        9:5: 'parameters.properties.n': the enum value "two" contradicts the type and can never be given
        11:40: 'returns.properties.l': an array without 'items' takes anything; some model services refuse it
        12:23: the example's arguments do not fit 'parameters': n expected one of 1, two"#]]
    .assert_eq(&told.join("\n"));
}

#[test]
fn a_guard_survives_a_reload_while_its_limit_stays() {
    let desk = Desk::new();
    let with = |words: &str, limit: u32| format!("{}execution: {{ concurrency_limit: {limit} }}\n", spec("t", words));
    let mut guards = Vec::new();
    for text in [with("one", 2), with("two", 2), with("two", 3)] {
        desk.write("a.yaml", &text);
        guards.push(desk.load().snapshot.get("t").unwrap().guard.clone());
    }
    assert!(Arc::ptr_eq(&guards[0], &guards[1]));
    assert!(!Arc::ptr_eq(&guards[1], &guards[2]));
}

#[test]
fn policies_are_told_what_is_offered() {
    let desk = Desk::new();
    desk.write(
        "a.yaml",
        "name: manual\npublish: manual\nendpoint: { url: 'https://a.test' }\n---\n\
         name: unset\nrequires_env: [PATH, TOOLGATE_TEST_SURELY_UNSET]\npermissions: [money]\nendpoint: { url: 'https://a.test' }\n---\n\
         name: set\nrequires_env: [PATH]\nplatforms: [web]\nendpoint: { url: 'https://a.test' }\n",
    );
    let snapshot = desk.load().snapshot;
    let facts: Vec<_> =
        snapshot.facts().iter().map(|f| format!("{} {} {}", f.name, f.published, f.available)).collect();
    assert_eq!(facts, ["manual false true", "set true true", "unset true false"]);
    expect!["the environment variable 'TOOLGATE_TEST_SURELY_UNSET' is not set"]
        .assert_eq(&snapshot.get("unset").unwrap().unavailable().unwrap());
}

#[test]
fn a_model_is_told_name_description_and_parameters() {
    let desk = Desk::new();
    desk.write("a.yaml", &format!("{}deprecated: use new_one\n", spec("old_one", "Does it.")));
    let tool = desk.load().snapshot.get("old_one").unwrap().clone();
    assert!(Arc::ptr_eq(&tool.described(), &tool.described()));
    expect![[r#"{"name":"old_one","description":"Does it. (deprecated: use new_one)","parameters":{"type":"object","properties":{}}}"#]].assert_eq(&tool.described().to_string());
}

#[test]
fn a_missing_path_is_an_error_and_the_rest_is_loaded() {
    let desk = Desk::new();
    desk.write("a.yaml", &spec("a", "one"));
    let loaded = desk.registry.load(&[desk.path("nowhere"), desk.path("a.yaml"), desk.path("a.yaml")]);
    assert_eq!((loaded.snapshot.tools().len(), loaded.errors.len()), (1, 1));
    assert!(loaded.errors[0].to_string().contains("nowhere:1:1: cannot be read"));
}

#[test]
fn a_name_that_does_not_exist_gets_the_nearest_of_the_view() {
    let desk = Desk::new();
    let names = ["order_query", "order_refund", "weather_query", "sleep", "delete_user"];
    desk.write("a.yaml", &names.map(|n| spec(n, "x")).join("---\n"));
    let snapshot = desk.load().snapshot;
    let all = ToolSet::all(snapshot.tools().len());
    assert_eq!(snapshot.nearest("wether_query", &all), ["weather_query"]);
    assert_eq!(snapshot.nearest("order", &all), ["order_query", "order_refund"]);
    assert_eq!(snapshot.nearest("Delete_User", &all), ["delete_user"]);
    assert!(snapshot.nearest("zzzzzz", &all).is_empty());
    assert!(snapshot.nearest("sleep", &ToolSet::none(snapshot.tools().len())).is_empty());
}

#[test]
fn a_pipeline_may_be_repeated_when_all_that_it_calls_may() {
    let desk = Desk::new();
    let native = |name: &str, idempotent: bool| {
        format!(
            "name: {name}\nendpoint: {{ type: native, name: known }}\nexecution: {{ idempotent: {idempotent} }}\n---\n"
        )
    };
    let pipeline = |name: &str, steps: &str| {
        format!("name: {name}\nendpoint: {{ type: pipeline, steps: [{{ parallel: [{steps}] }}] }}\n---\n")
    };
    let text = [
        native("look", true),
        native("pay", false),
        pipeline("looks", "{ tool: look }, { tool: not_there }"),
        pipeline("pays", "{ tool: look }, { tool: pay }"),
        pipeline("within", "{ tool: looks }, { tool: pays }"),
        pipeline("round", "{ tool: about }"),
        pipeline("about", "{ tool: round }"),
    ];
    desk.write("a.yaml", &text.concat());
    let snapshot = desk.load().snapshot;
    assert_eq!(snapshot.tools().len(), 7);
    let repeatable: Vec<_> = snapshot.tools().iter().filter(|t| snapshot.is_repeatable(&t.name)).collect();
    assert_eq!(repeatable.iter().map(|t| &*t.name).collect::<Vec<_>>(), ["look", "looks"]);
}

#[test]
fn a_pipeline_that_holds_what_its_own_call_needs_is_refused() {
    let desk = Desk::new();
    let steps = |tool: &str| format!("endpoint: {{ type: pipeline, steps: [{{ tool: {tool} }}] }}\n");
    let leaf = "name: leaf\nexecution: { resource: \"db:{region}\" }\nendpoint: { url: \"http://h.test/\" }\n";
    let middle = format!("name: middle\n{}", steps("leaf"));
    let outer = format!("name: outer\nexecution: {{ resource: \"db:eu\" }}\n{}", steps("middle"));
    let fine = format!("name: fine\nexecution: {{ resource: queue }}\n{}", steps("middle"));
    let to = format!("name: to\nexecution: {{ parallel: false }}\n{}", steps("fro"));
    let fro = format!("name: fro\n{}", steps("to"));
    desk.write("a.yaml", &[leaf, &middle, &outer, &fine, &to, &fro].join("---\n"));
    let loaded = desk.load();
    let names: Vec<_> = loaded.snapshot.tools().iter().map(|tool| tool.name.to_string()).collect();
    assert_eq!(names, ["fine", "fro", "leaf", "middle"]);
    assert!(
        loaded.errors[0].message.starts_with("the pipeline holds 'db:eu' while it runs 'leaf'"),
        "{:?}",
        loaded.errors
    );
}
