use contract::Problem;
use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::args::parse_json;

fn schema(source: Value) -> Schema {
    Schema::compile(&source).unwrap()
}

/// A tool with one parameter `x` of this schema.
fn one(x: Value) -> Schema {
    schema(json!({"type": "object", "properties": {"x": x}}))
}

fn coerced(schema: &Schema, args: Value) -> Option<Value> {
    let before = args.clone();
    let outcome = schema.coerce(&args);
    assert_eq!(args, before, "the input is untouched");
    outcome.ok().map(|p| p.map_or(args, |p| p.args))
}

/// What `x` becomes; nothing when it is refused.
fn x(of: &Value, value: Value) -> Option<Value> {
    coerced(&one(of.clone()), json!({"x": value})).map(|args| args.get("x").cloned().unwrap_or(json!("(dropped)")))
}

fn rows(of: Value, rows: &[(Value, Option<Value>)]) {
    for (given, wanted) in rows {
        assert_eq!(x(&of, given.clone()), *wanted, "{given} as {of}");
    }
}

fn told(problems: &[Problem]) -> String {
    let line = |p: &Problem| {
        let got = p.got.as_ref().map(|g| format!(", got {g}")).unwrap_or_default();
        let hint = p.hint.as_ref().map(|h| format!(" ({h})")).unwrap_or_default();
        format!("{}: expected {}{got}{hint}\n", p.path, p.expected)
    };
    problems.iter().map(line).collect()
}

fn check(schema: &Schema, args: Value, expect: Expect) {
    let text = match schema.coerce_and_validate(args) {
        Ok(prepared) => format!("{}\n{}\n", prepared.args, prepared.changes.join("\n")),
        Err(problems) => told(&problems),
    };
    expect.assert_eq(&text);
}

fn orders() -> Schema {
    schema(json!({
        "type": "object", "required": ["order_id"], "additionalProperties": false,
        "properties": {
            "order_id": {"type": "string", "description": "order number"},
            "status": {"type": "string", "enum": ["pending", "paid", "shipped", "completed"]},
            "limit": {"type": "integer", "minimum": 1, "maximum": 50},
            "date_range": {"type": "object", "properties": {
                "start": {"type": "string", "format": "date"}, "end": {"type": "string", "format": "date"}}},
        },
    }))
}

#[test]
fn text_becomes_an_integer_only_when_it_is_one() {
    let mut table = vec![(json!("42"), Some(json!(42))), (json!("-7"), Some(json!(-7))), (json!("0"), Some(json!(0)))];
    for refused in ["007", "+5", " 42", "42 ", "1e3", "0x10", "1_000", "4.0", "", "-", "-0", "--1", "٣", "1,000", "NaN"]
    {
        table.push((json!(refused), None));
    }
    rows(json!({"type": "integer"}), &table);
}

#[test]
fn text_becomes_a_number_or_a_boolean_only_in_their_own_writing() {
    rows(
        json!({"type": "number"}),
        &[
            (json!("0.1"), Some(json!(0.1))),
            (json!("1e3"), Some(json!(1000.0))),
            (json!("-2.5E-2"), Some(json!(-0.025))),
            (json!("12"), Some(json!(12))),
            (json!("NaN"), None),
            (json!("Infinity"), None),
            (json!("-inf"), None),
            (json!("1,5"), None),
            (json!("1e999"), None),
            (json!(".5"), None),
            (json!("5."), None),
            (json!(" 0.1"), None),
            (json!(true), None),
        ],
    );
    rows(
        json!({"type": "boolean"}),
        &[
            (json!("true"), Some(json!(true))),
            (json!("False"), Some(json!(false))),
            (json!("TRUE"), Some(json!(true))),
            (json!("yes"), None),
            (json!("1"), None),
            (json!(1), None),
            (json!(0), None),
            (json!(""), None),
        ],
    );
}

#[test]
fn a_list_or_object_sent_as_text_is_read() {
    rows(
        json!({"type": "array", "items": {"type": "integer"}}),
        &[
            (json!("[1271, 2106]"), Some(json!([1271, 2106]))),
            (json!(" [\"1\"] "), Some(json!([1]))),
            (json!("[1"), None),
            (json!("[1]]"), None),
            (json!("{\"a\": 1}"), None),
        ],
    );
    rows(
        json!({"type": "object", "properties": {"n": {"type": "integer"}}}),
        &[(json!("{\"n\": \"5\"}"), Some(json!({"n": 5}))), (json!("{n: 5}"), None), (json!("[1]"), None)],
    );
    rows(json!({}), &[(json!("[1, 2]"), Some(json!("[1, 2]"))), (json!("5"), Some(json!("5")))]);
    rows(json!({"description": "anything"}), &[(json!("true"), Some(json!("true")))]);
    check(
        &one(json!({"type": "array", "items": {"type": "integer"}})),
        json!({"x": "[1"}),
        expect![[r#"
        x: expected array, got "[1" (not readable as a JSON list: check its brackets and commas)
    "#]],
    );
}

#[test]
fn a_text_is_never_converted() {
    rows(
        json!({"type": "string"}),
        &[(json!("01234"), Some(json!("01234"))), (json!(1234), None), (json!(true), None)],
    );
    rows(json!({"type": ["string", "integer"]}), &[(json!("007"), Some(json!("007"))), (json!("7"), Some(json!("7")))]);
    rows(json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}), &[(json!("7"), Some(json!("7")))]);
    rows(json!({"enum": ["1", 2]}), &[(json!("1"), Some(json!("1"))), (json!("2"), None)]);
    rows(
        json!({"anyOf": [{"type": "integer"}, {"type": "null"}, {"type": "string", "pattern": "^[A-Z]+$"}]}),
        &[(json!("42"), None), (json!("null"), None), (json!("AB"), Some(json!("AB")))],
    );
    rows(
        json!({"oneOf": [{"anyOf": [{"type": "string", "maxLength": 2}, {"type": "boolean"}]}, {"type": "integer"}]}),
        &[(json!("123"), None), (json!("true"), None)],
    );
    rows(json!({"anyOf": [{"const": "auto"}, {"type": "integer"}]}), &[(json!("5"), Some(json!(5)))]);
}

#[test]
fn integers_stay_exact_through_coercion() {
    for digits in [
        "1234567890123456789",
        "9007199254740993",
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551615",
    ] {
        let args = parse_json(&format!("{{\"x\": {digits}}}")).unwrap();
        for of in [json!({"type": "integer"}), json!({"type": "number"})] {
            assert_eq!(coerced(&one(of.clone()), args.clone()).unwrap()["x"].to_string(), digits);
            assert_eq!(x(&of, json!(digits)).unwrap().to_string(), digits);
        }
    }
    check(
        &one(json!({"type": "integer"})),
        json!({"x": "18446744073709551616"}),
        expect![[r#"
        x: expected integer, got "18446744073709551616" (too many digits to be kept exactly)
    "#]],
    );
}

#[test]
fn null_is_dropped_kept_or_refused_as_the_field_is() {
    let nulls = schema(json!({"type": "object", "required": ["must"], "properties": {
        "must": {"type": "string"}, "may": {"type": "integer"}, "pick": {"enum": ["a"]}, "null": {"type": ["integer", "null"]},
        "union": {"anyOf": [{"type": "integer"}, {"type": "boolean"}]},
        "deep": {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}}}));
    assert_eq!(
        coerced(
            &nulls,
            json!({"must": "a", "may": null, "pick": null, "null": null, "union": null, "deep": {"a": 1, "b": null}})
        ),
        Some(json!({"must": "a", "null": null, "deep": {"a": 1}}))
    );
    assert_eq!(coerced(&nulls, json!({"must": "a", "null": "null"})), Some(json!({"must": "a", "null": null})));
    assert_eq!(coerced(&nulls, json!({"must": "a", "may": "null"})), None);
    assert_eq!(coerced(&nulls, json!({"must": "null"})), Some(json!({"must": "null"})));
    rows(
        json!({"type": ["string", "null"]}),
        &[(json!("null"), Some(json!("null"))), (json!(null), Some(json!(null)))],
    );
    rows(
        json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        &[(json!("null"), Some(json!(null))), (json!("4"), Some(json!(4)))],
    );
    check(
        &nulls,
        json!({"must": null, "may": null, "deep": {"a": null}}),
        expect![[r#"
        must: expected string, got null
        deep/a: expected integer, got null (a whole number in digits, like 3)
    "#]],
    );
}

#[test]
fn many_faults_cost_no_more_than_their_number() {
    let ints = one(json!({"type": "array", "items": {"type": "integer"}}));
    let prepared = ints.coerce(&json!({"x": vec!["1"; 4_000]})).unwrap().unwrap();
    assert_eq!(prepared.args["x"].as_array().unwrap().len(), 4_000);
    assert_eq!((prepared.changes.len(), prepared.changes[50].as_str()), (51, "and 3950 more"));
    assert!(ints.coerce(&json!({"x": vec!["1"; 200_000]})).is_err(), "so many are not a slip");
    let strangers: serde_json::Map<_, _> = (0..50_000).map(|n| (format!("stranger_{n}"), json!(1))).collect();
    assert_eq!(orders().coerce(&strangers.into()).unwrap_err().len(), 30);
    let forms = one(json!({"type": "array", "items": {"anyOf": [
        {"type": "object", "additionalProperties": {"type": "integer"}}, {"type": "string"}]}}));
    let faults: serde_json::Map<_, _> = (0..4_000).map(|n| (format!("k{n}"), json!("a"))).collect();
    assert!(forms.coerce(&json!({"x": [faults]})).unwrap_err().len() <= 30);
    let named = schema(json!({"type": "object", "additionalProperties": {"type": "integer"}}));
    let long = "n".repeat(100_000);
    assert_eq!(named.coerce(&json!({long.clone(): "a"})).unwrap_err()[0].path.chars().count(), 120);
    let dropped = named.coerce(&json!({long: null})).unwrap().unwrap();
    assert!(dropped.changes[0].len() < 300, "{} bytes", dropped.changes[0].len());
    let unions = one(json!({"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "boolean"}]}}));
    assert!(unions.coerce(&json!({"x": vec!["a"; 4_000]})).is_err());
}

#[test]
fn a_scalar_becomes_a_list_of_one_as_the_last_resort() {
    rows(
        json!({"type": "array", "items": {"type": "integer"}}),
        &[(json!(5), Some(json!([5]))), (json!("5"), Some(json!([5]))), (json!("a"), None), (json!({"a": 1}), None)],
    );
    rows(
        json!({"type": "array", "items": {"type": "string"}}),
        &[(json!("5"), Some(json!(["5"]))), (json!("a,b"), Some(json!(["a,b"])))],
    );
    rows(json!({"type": ["integer", "array"]}), &[(json!("5"), Some(json!(5)))]);
    let either = json!({"oneOf": [{"type": "array", "items": {"type": "string"}}, {"type": "integer"}]});
    rows(either, &[(json!("5"), Some(json!(5))), (json!("a"), Some(json!(["a"]))), (json!(true), None)]);
    check(
        &one(json!({"type": "array", "items": {"type": "integer"}})),
        json!({"x": "abc"}),
        expect![[r#"
        x: expected integer, got "abc" (a whole number in digits, like 3)
    "#]],
    );
}

#[test]
fn nested_values_and_items_follow_their_own_schema() {
    let nested = schema(json!({"type": "object", "$defs": {"n": {"type": "integer"}}, "properties": {
        "list": {"type": "array", "items": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}, "s": {"type": "string"}}}},
        "map": {"type": "object", "additionalProperties": {"type": "boolean"}},
        "pair": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]},
        "a/b~c": {"type": "integer"}}}));
    check(
        &nested,
        json!({"list": [{"n": "1", "s": "1"}, {"n": 2}, "{\"n\": \"3\"}"], "map": {"k": "true"}, "pair": ["1", "2"], "a/b~c": "9"}),
        expect![[r#"
            {"list":[{"n":1,"s":"1"},{"n":2},{"n":3}],"map":{"k":true},"pair":[1,"2"],"a/b~c":9}
            coerced list/0/n: "1" to 1
            coerced list/2: "{\"n\": \"3\"}" to {"n":"3"}
            coerced map/k: "true" to true
            coerced pair/0: "1" to 1
            coerced a~1b~0c: "9" to 9
            coerced list/2/n: "3" to 3
        "#]],
    );
}

#[test]
fn the_whole_may_come_as_text_or_wrapped_once() {
    let tool = schema(json!({"type": "object", "properties": {"days": {"type": "integer"}}}));
    assert_eq!(coerced(&tool, json!({"arguments": {"days": "3"}})), Some(json!({"days": 3})));
    assert_eq!(coerced(&tool, json!({"arguments": "{\"days\": 3}"})), Some(json!({"days": 3})));
    assert_eq!(coerced(&tool, json!("{\"days\": 3}")), Some(json!({"days": 3})));
    assert_eq!(
        coerced(&tool, json!({"arguments": {"days": "x"}})),
        Some(json!({"arguments": {"days": "x"}})),
        "valid as it is"
    );
    assert_eq!(coerced(&tool, json!({"arguments": "just text"})), Some(json!({"arguments": "just text"})));
    let own =
        schema(json!({"type": "object", "properties": {"arguments": {"type": "object"}, "n": {"type": "integer"}}}));
    assert_eq!(coerced(&own, json!({"arguments": {"n": 1}})), Some(json!({"arguments": {"n": 1}})));
    let closed = orders();
    assert_eq!(coerced(&closed, json!({"arguments": {"arguments": {"order_id": "A"}}})), None, "only once");
}

#[test]
fn a_valid_value_is_never_changed() {
    let tool = schema(json!({"type": "object", "properties": {
        "a": {"type": ["string", "null"]}, "b": {}, "c": {"type": "array"}, "d": {"type": "number"}}}));
    let args = json!({"a": null, "b": "[1]", "c": [], "d": 4.0, "e": "5"});
    assert_eq!(tool.coerce(&args), Ok(None));
    let prepared = tool.coerce_and_validate(args.clone()).unwrap();
    assert_eq!((prepared.args, prepared.changes), (args, vec![]));
}

#[test]
fn only_what_failed_is_coerced_and_the_changes_are_told() {
    let tool = schema(json!({"type": "object", "properties": {
        "days": {"type": "integer"}, "zip": {"type": "string"}, "tags": {"type": "array"}, "unit": {"type": "string", "enum": ["c", "f"]}}}));
    check(
        &tool,
        json!({"days": "3", "zip": "01234", "tags": "a", "unit": null}),
        expect![[r#"
        {"days":3,"zip":"01234","tags":["a"]}
        coerced days: "3" to 3
        coerced tags: "a" to ["a"]
        dropped unit: null
    "#]],
    );
}

#[test]
fn all_problems_are_told_at_once() {
    check(
        &orders(),
        json!({"statuss": "x", "status": "payed", "limit": "99", "date_range": {"start": "yesterday", "end": 5}, "zzzzzz": null}),
        expect![[r#"
            status: expected one of pending, paid, shipped, completed, got "payed" (did you mean 'paid'?)
            limit: expected at most 50, got 99
            date_range/start: expected a date like 2026-01-31, got "yesterday"
            date_range/end: expected string, got 5 (put it in quotes)
            statuss: expected no such field, got "x" (did you mean 'status'?)
            zzzzzz: expected no such field, got null (known: order_id, status, limit, date_range)
            order_id: expected string (order number)
        "#]],
    );
    let long = orders().coerce_and_validate(json!({"order_id": ["x".repeat(100_000)]})).unwrap_err();
    assert!(long[0].got.as_ref().unwrap().chars().count() <= 80);
}

#[test]
fn a_choice_of_numbers_without_a_type_says_how_to_write_it() {
    check(
        &one(json!({"enum": [1, 2]})),
        json!({"x": "2"}),
        expect![[r#"
            x: expected one of 1, 2, got "2" (write 2 without quotes)
        "#]],
    );
}

fn payment() -> Schema {
    one(json!({"oneOf": [
        {"title": "card", "type": "object", "required": ["kind", "number", "cvc"], "additionalProperties": false,
         "properties": {"kind": {"const": "card"}, "number": {"type": "string"}, "cvc": {"type": "integer"}}},
        {"type": "object", "required": ["kind", "iban"], "additionalProperties": false,
         "properties": {"kind": {"const": "bank"}, "iban": {"type": "string"}, "urgent": {"type": "boolean"}}},
        {"type": "string"},
    ]}))
}

#[test]
fn a_union_tells_of_its_nearest_branch() {
    check(
        &payment(),
        json!({"x": {"kind": "card", "number": 5}}),
        expect![[r#"
            x/cvc: expected integer (for the form 'card'; other forms: kind=bank, 3)
            x/number: expected string, got 5 (put it in quotes; for the form 'card'; other forms: kind=bank, 3)
        "#]],
    );
    check(
        &payment(),
        json!({"x": {"kind": "bank", "iben": "DE1"}}),
        expect![[r#"
            x/iban: expected string (for the form kind=bank; other forms: 'card', 3)
            x/iben: expected no such field, got "DE1" (did you mean 'iban'?; for the form kind=bank; other forms: 'card', 3)
        "#]],
    );
    check(
        &payment(),
        json!({"x": 5}),
        expect![[r#"
        x: expected object or string, got 5
    "#]],
    );
    check(
        &payment(),
        json!({"x": {"kind": "bank", "iban": "DE1", "urgent": "True"}}),
        expect![[r#"
        {"x":{"kind":"bank","iban":"DE1","urgent":true}}
        coerced x/urgent: "True" to true
    "#]],
    );
    let unions =
        schema(json!({"type": "object", "additionalProperties": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}));
    let many: Value =
        (0..300).map(|n| (format!("k{n}"), json!(n.to_string()))).collect::<serde_json::Map<_, _>>().into();
    assert_eq!(coerced(&unions, many).unwrap()["k299"], 299, "many unions are settled together");
}

#[test]
fn an_ambiguous_union_is_told_so() {
    let both = one(json!({"oneOf": [{"type": "integer"}, {"minimum": 0}]}));
    check(
        &both,
        json!({"x": 5}),
        expect![[r#"
        x: expected exactly one of the allowed forms; this fits several, got 5
    "#]],
    );
}

#[test]
fn recursive_schemas_work() {
    let tree = schema(json!({"type": "object", "required": ["n"], "properties": {
        "n": {"type": "integer"}, "children": {"type": "array", "items": {"$ref": "#"}}}}));
    assert_eq!(
        coerced(&tree, json!({"n": "1", "children": [{"n": "2", "children": "[{\"n\": \"3\"}]"}]})),
        Some(json!({"n": 1, "children": [{"n": 2, "children": [{"n": 3}]}]}))
    );
    check(
        &tree,
        json!({"n": 1, "children": [{"n": 1}, {"children": []}]}),
        expect![[r#"
        children/1/n: expected integer
    "#]],
    );
    let mutual = schema(json!({"$ref": "#/$defs/a", "$defs": {
        "a": {"type": "object", "properties": {"b": {"$ref": "#/$defs/b"}}, "additionalProperties": false},
        "b": {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}, "n": {"$ref": "#/x-shared/n~1m"}}}},
        "x-shared": {"n/m": {"type": "integer"}}}));
    assert_eq!(coerced(&mutual, json!({"b": {"a": {"b": {"n": "7"}}}})), Some(json!({"b": {"a": {"b": {"n": 7}}}})));
    let anchored =
        schema(json!({"properties": {"x": {"$ref": "#num"}}, "$defs": {"n": {"$anchor": "num", "type": "integer"}}}));
    assert_eq!(coerced(&anchored, json!({"x": "7"})), Some(json!({"x": 7})));
}

#[test]
fn what_a_schema_may_not_do_is_said_with_its_place() {
    let refused = |source: Value| Schema::compile(&source).unwrap_err().to_string();
    let table = [
        json!({"properties": {"a": {"$ref": "https://example.org/s.json"}}}),
        json!({"properties": {"a": {"$ref": "other.json#/a"}}}),
        json!({"$ref": "file:///etc/passwd"}),
        json!({"properties": {"a": {"$ref": "#/$defs/missing"}}}),
        json!({"$schema": "https://example.org/draft"}),
        json!({"properties": {"a": {"pattern": "^(?=x)y"}}}),
        json!({"patternProperties": {"(?<!a)b": {}}}),
        json!({"pattern": "(a)\\1"}),
        json!({"pattern": "(a"}),
        json!({"type": "strnig"}),
        json!({"properties": {"a": "string"}}),
        json!({"properties": {"a": {"minimum": "1"}}}),
        json!("object"),
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}}),
    ];
    let all: String = table.into_iter().map(|source| refused(source) + "\n").collect();
    expect![[r#"
        the schema is not usable at '/properties/a/$ref': 'https://example.org/s.json' lies outside of this schema: nothing is fetched, copy it into '$defs'
        the schema is not usable at '/properties/a/$ref': 'other.json#/a' lies outside of this schema: nothing is fetched, copy it into '$defs'
        the schema is not usable at '/$ref': 'file:///etc/passwd' lies outside of this schema: nothing is fetched, copy it into '$defs'
        the schema is not usable at '/properties/a/$ref': '#/$defs/missing' points to nothing
        the schema is not usable: '$schema' names a draft that is not known: leave it out for 2020-12
        the schema is not usable at '/properties/a/pattern': the pattern uses look-around, which is not supported: patterns run in linear time
        the schema is not usable at '/patternProperties/(?<!a)b': the pattern uses look-around, which is not supported: patterns run in linear time
        the schema is not usable at '/pattern': the pattern uses a back-reference, which is not supported: patterns run in linear time
        the schema is not usable at '/pattern': "(a" is not a "regex"
        the schema is not usable at '/type': unknown type 'strnig': did you mean 'string'?
        the schema is not usable at '/properties/a': must be a schema: an object, or true or false
        the schema is not usable at '/properties/a/minimum': "1" is not of type "number"
        the schema is not usable: must be a schema: an object, or true or false
        the schema is not usable: refers to itself without an end
        the schema is not usable at '/$defs/a': refers to itself without an end
    "#]]
    .assert_eq(&all);
}

#[test]
fn a_hostile_schema_is_refused_before_it_is_compiled() {
    let refused = |source: &Value| Schema::compile(source).unwrap_err().to_string();
    let mut defs = serde_json::Map::new();
    for n in 0..27 {
        let next = format!("#/$defs/d{}", n + 1);
        defs.insert(format!("d{n}"), json!({"allOf": [{"$ref": next}, {"$ref": next}]}));
    }
    defs.insert("d27".into(), json!({"type": "object"}));
    let doubling = json!({"$ref": "#/$defs/d0", "$defs": defs});
    assert_eq!(refused(&doubling), "the schema is not usable: unfolds to more than 10000 parts through its references");

    let mut deep = json!({"type": "integer"});
    for _ in 0..1_000 {
        deep = json!({"items": deep});
    }
    assert_eq!(refused(&deep), "the schema is not usable: nested deeper than 64 levels");
    let long_names = (0..5).fold(json!({}), |inner, _| json!({"properties": {"n".repeat(1_000): inner}}));
    assert!(refused(&long_names).ends_with("the names on the way to it are longer than 4096 bytes"));
    let large = json!({"enum": ["x".repeat(10 << 20)]});
    assert_eq!(refused(&large), "the schema is not usable: larger than 256 KiB");
    assert!(Schema::compile(&json!({"pattern": "(((a{1000}){1000}){1000})"})).is_err());
}

#[test]
fn recursion_that_multiplies_limits_the_depth_of_arguments() {
    let both = json!({"$ref": "#"});
    let tree =
        schema(json!({"type": "object", "properties": {"a": {"allOf": [both, both, both]}, "n": {"type": "integer"}}}));
    let nested = |levels: usize, leaf: Value| (0..levels).fold(leaf, |inner, _| json!({"a": inner}));
    assert_eq!(coerced(&tree, nested(5, json!({"n": "5"}))), Some(nested(5, json!({"n": 5}))));
    check(
        &tree,
        nested(100, json!({"n": "5"})),
        expect![[r#"
        : expected at most 6 levels of nesting (send a flatter structure)
    "#]],
    );
    check(
        &tree,
        json!({"a": nested(100, json!({"n": "5"})).to_string()}),
        expect![[r#"
        : expected at most 6 levels of nesting (send a flatter structure)
    "#]],
    );
    let plain = schema(json!({"type": "object", "properties": {"a": {"$ref": "#"}, "n": {"type": "integer"}}}));
    assert_eq!(coerced(&plain, nested(100, json!({"n": "5"}))), Some(nested(100, json!({"n": 5}))));
}

#[test]
fn what_is_hardly_meant_is_told() {
    let odd = schema(json!({"type": "object", "required": ["ghost"], "properties": {
        "list": {"type": "array"}, "yes": true, "pick": {"type": "string", "enum": ["a", 1, null]},
        "when": {"type": "string", "format": "datum"}, "fine": {"type": "array", "items": {}},
        "deep": {"type": "object", "properties": {"inner": {"type": ["array", "null"]}}}}}));
    expect![[r#"
        the whole: the property 'yes' is only true or false; give it a type
        the whole: 'ghost' is required but not described in 'properties'
        properties/list: an array without 'items' takes anything; some model services refuse it
        properties/pick: the enum value 1 contradicts the type and can never be given
        properties/pick: the enum value null contradicts the type and can never be given
        properties/when: the format 'datum' is not known and not checked
        properties/deep/properties/inner: an array without 'items' takes anything; some model services refuse it
    "#]]
    .assert_eq(&(odd.lints().join("\n") + "\n"));
    assert_eq!(orders().lints(), Vec::<String>::new());
}

#[test]
fn usage_lists_required_parameters_in_their_order_first() {
    let lines = [
        orders().usage("order_query"),
        schema(json!({"type": "object", "required": ["to", "text"], "properties": {
            "loud": {"type": "boolean"}, "text": {"type": "string"}, "n": {"type": "number"}, "tags": {"type": "array"},
            "to": {"$ref": "#/$defs/to"}, "many": {"enum": [1, 2, 3, 4, 5, 6, 7, 8]}}, "$defs": {"to": {"type": "string"}}}))
        .usage("send"),
        schema(json!({"type": "object", "required": ["kind"], "properties": {"kind": {"enum": ["a", "b"]}}})).usage("k"),
        schema(json!({})).usage("noop"),
    ];
    expect![[r#"
        /order_query order_id [status=pending|paid|shipped|completed] [limit=integer] [date_range={start,end}]
        /send to text [loud=true|false] [n=number] [tags=[…]] [many=1|2|3|4|5|6|…]
        /k kind=a|b
        /noop
    "#]]
    .assert_eq(&(lines.join("\n") + "\n"));
}

#[test]
fn parameters_are_described_for_a_command_line() {
    let tool = schema(
        json!({"allOf": [{"$ref": "#/$defs/base"}], "required": ["b"], "properties": {"b": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
        "$defs": {"base": {"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "description": "first"}}}}}),
    );
    assert_eq!(tool.required_in_order(), ["b", "a"]);
    assert_eq!(tool.properties()[0].kinds, [Kind::Null, Kind::Integer]);
    assert_eq!(tool.properties()[1].description.as_deref(), Some("first"));
    assert!(tool.string_only("a") && !tool.string_only("b") && tool.string_only("unknown"));
    assert!(
        one(json!({})).string_only("x")
            && one(json!({"enum": ["a"]})).string_only("x")
            && !one(json!({"enum": [1]})).string_only("x")
    );
}

#[test]
fn formats_are_asserted() {
    let tool = one(json!({"type": "string", "format": "date"}));
    assert!(tool.is_valid(&json!({"x": "2026-02-28"})) && !tool.is_valid(&json!({"x": "2026-02-30"})));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[0-9a-z\\[\\]{}\", .-]{0,6}".prop_map(Value::from),
        Just(json!("null")),
        Just(json!("[1]")),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-d]", inner), 0..4).prop_map(|kv| Value::Object(kv.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_prepared_is_valid_and_what_was_valid_is_unchanged(args in any_json()) {
        let tool = schema(json!({"type": "object", "properties": {
            "a": {"type": "integer"}, "b": {"type": "array", "items": {"$ref": "#"}},
            "c": {"oneOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "number"}}, {"$ref": "#"}]},
            "d": {"type": ["string", "null"]}}}));
        match tool.coerce(&args) {
            Ok(None) => prop_assert!(tool.is_valid(&args)),
            Ok(Some(prepared)) => {
                prop_assert!(tool.is_valid(&prepared.args));
                prop_assert!(!prepared.changes.is_empty());
            }
            Err(problems) => prop_assert!(!problems.is_empty()),
        }
    }
}
