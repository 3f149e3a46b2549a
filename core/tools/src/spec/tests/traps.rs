//! What YAML makes of what people write.

use std::fmt::Write as _;

use expect_test::expect;
use proptest::prelude::*;

use super::{check, one, quiet};
use crate::spec::parse;

#[test]
fn yaml_traps_are_read_as_written_or_flagged() {
    let text = quiet(
        "parameters:\n  properties:\n    answer: { type: string, enum: [no, on, y, yes, off, null, 'true', 1.10] }\n    \
         zip: { type: string, default: 007 }\n    big: { enum: [1_000, 0x1F, 12345678901234567890123, 1e3, -0, .inf, +5] }\n",
    );
    let spec = one(&text);
    assert_eq!(
        spec.parameters["properties"]["answer"]["enum"],
        serde_json::json!(["no", "on", "y", "yes", "off", null, "true", 1.10])
    );
    assert_eq!(spec.parameters["properties"]["zip"]["default"], "007");
    check(
        &text,
        expect![[r#"
            tool t from line 1
            warning t.yaml:7:36: 'no' is read as text here; other readers of YAML take it for true or false: put it in quotes
            warning t.yaml:7:40: 'on' is read as text here; other readers of YAML take it for true or false: put it in quotes
            warning t.yaml:7:44: 'y' is read as text here; other readers of YAML take it for true or false: put it in quotes
            warning t.yaml:7:47: 'yes' is read as text here; other readers of YAML take it for true or false: put it in quotes
            warning t.yaml:7:52: 'off' is read as text here; other readers of YAML take it for true or false: put it in quotes
            warning t.yaml:7:71: '1.10' is read as the number 1.1: put it in quotes if it is a text, such as a version
            warning t.yaml:8:35: '007' is read as text: put it in quotes, or write a plain number
            warning t.yaml:9:19: '1_000' is read as text: put it in quotes, or write a plain number
            warning t.yaml:9:26: '0x1F' is read as text: put it in quotes, or write a plain number
            warning t.yaml:9:32: '12345678901234567890123' is read as text: put it in quotes, or write a plain number
            warning t.yaml:9:62: '-0' is read as text: put it in quotes, or write a plain number
        "#]],
    );
}

#[test]
fn what_others_would_read_otherwise_is_flagged_where_values_stand() {
    check(
        &quiet(
            "parameters:\n  properties:\n    state: { type: string, enum: [on, off, 'yes', auto], default: off }\n    \
             day: { type: string, default: 2026-12-01 }\n    at: { type: string, examples: [12:30, noon] }\n    \
             version: { type: string, const: 1.10 }\n    ratio: { type: number, default: 1.5 }\n    y: { type: integer }\n  \
             required: [y]\n",
        ),
        expect![[r#"
            tool t from line 1
            warning t.yaml:7:35: 'on' is read as text here; other readers of YAML take it for true or false: put it in quotes
            warning t.yaml:7:39: 'off' is read as text here; other readers of YAML take it for true or false: put it in quotes
            warning t.yaml:7:67: 'off' is read as text here; other readers of YAML take it for true or false: put it in quotes
            warning t.yaml:8:35: '2026-12-01' is read as text here; other readers of YAML take it for a date: put it in quotes
            warning t.yaml:9:36: '12:30' is read as text here; other readers of YAML take it for a number: put it in quotes
            warning t.yaml:10:37: '1.10' is read as the number 1.1: put it in quotes if it is a text, such as a version
        "#]],
    );
}

#[test]
fn what_yaml_should_not_hold_is_refused_with_line_and_column() {
    for (text, expected) in [
        (
            "name: a\nname: b\n",
            expect![[r#"
            refused a
            error t.yaml:2:1: 'name' stands here twice, first in line 1
        "#]],
        ),
        (
            "name: a\nendpoint:\n\turl: x\n",
            expect![[r#"
            refused a
            error t.yaml:3:2: a tab where YAML wants spaces (tabs disallowed within this context (block indentation))
        "#]],
        ),
        (
            "a: &a [x, x]\nb: &b [*a, *a, *a, *a]\nc: [*nothing]\n",
            expect![[r#"
                refused (no name)
                error t.yaml:3:5: no '&' before this names what '*' refers to: put a text that begins with '*' in quotes
            "#]],
        ),
        (
            "a: &a { <<: { b: 1 } }\n",
            expect![[r#"
            refused (no name)
            error t.yaml:1:9: merge keys are not read: write the keys out
        "#]],
        ),
        (
            "a: !ruby/object:Gem::Installer x\n",
            expect![[r#"
            refused (no name)
            error t.yaml:1:32: the tag '!ruby/object:Gem::Installer' is not read
        "#]],
        ),
        (
            "? [a, b]\n: c\n",
            expect![[r#"
            refused (no name)
            error t.yaml:1:3: a key has to be a word
        "#]],
        ),
        (
            "name: a\n...\nname: b\n",
            expect![[r#"
            refused a
            error t.yaml:3:1: a second document begins here: put '---' before it
        "#]],
        ),
        (
            "just text\n",
            expect![[r#"
            refused (no name)
            error t.yaml:1:1: a tool has to be a map, not text
        "#]],
        ),
        (
            "- name: a\n",
            expect![[r#"
            refused (no name)
            error t.yaml:1:1: a tool has to be a map, not a list
        "#]],
        ),
    ] {
        check(text, expected);
    }
}

#[test]
fn an_alias_bomb_ends_with_a_word() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for i in 1..12 {
        let refs = vec![format!("*a{}", i - 1); 10].join(", ");
        writeln!(text, "a{i}: &a{i} [{refs}]").unwrap();
    }
    check(
        &text,
        expect![[r#"
        refused (no name)
        error t.yaml:5:10: too large once aliases are filled in
    "#]],
    );
    let deep = format!("a: {}", "[".repeat(100_000));
    assert_eq!(parse("t.yaml", &deep).errors.len(), 1);
    let deep: String = (0..5_000).fold(String::new(), |text, i| text + &" ".repeat(i) + "a:\n");
    assert_eq!(parse("t.yaml", &deep).errors.len(), 1);
}

#[test]
fn an_alias_stands_for_what_it_names() {
    let spec = one(&quiet("parameters:\n  properties:\n    a: &p { type: string }\n    b: *p\n"));
    assert_eq!(spec.parameters["properties"]["b"], serde_json::json!({"type": "string"}));
}

proptest! {
    #[test]
    fn any_text_ends_in_tools_or_in_words(text in "[a-z:\\- \n\t\\[\\]{}&*!'\"#0-9.,|>%@]{0,200}") {
        let parsed = parse("t.yaml", &text);
        for error in parsed.errors.iter().chain(&parsed.warnings) {
            prop_assert!(error.line >= 1 && error.column >= 1);
            prop_assert!(error.line as usize <= text.lines().count() + 1, "{} of {:?}", error, text);
        }
        prop_assert!(parsed.refused.len() <= parsed.errors.len());
    }

    #[test]
    fn json_is_read_as_json(value in json()) {
        let text = quiet(&format!("examples: [{{ say: s, args: {{ v: {value} }} }}]"));
        let spec = one(&text);
        prop_assert_eq!(&spec.examples[0].args["v"], &value);
    }
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        any::<u64>().prop_map(serde_json::Value::from),
        "[ -~äß日]{0,12}".prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            proptest::collection::btree_map("[a-z]{1,6}", inner, 0..4)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}
