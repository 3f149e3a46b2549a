use expect_test::expect;

use super::*;

fn origin() -> Origin {
    let address = Address { thread: Some("1.1".into()), ..Address::new(contract::Platform::Slack, "main", "C1") };
    Origin::new("weather_query", &address)
}

fn begun(known: &Map<String, Value>) -> Begun<'_> {
    Begun { known, problems: &[] }
}

fn schema() -> Value {
    json!({"type": "object", "required": ["city", "days"], "properties": {
        "note": {"type": "string", "maxLength": 4000},
        "city": {"type": "string", "description": "Which city", "minLength": 2, "maxLength": 40},
        "days": {"type": "integer", "minimum": 1, "maximum": 7, "default": 3},
        "units": {"enum": ["metric", "imperial"], "default": "metric"},
        "hourly": {"type": "boolean"},
        "on": {"type": "string", "format": "date"},
        "site": {"type": "string", "format": "uri"},
        "mail": {"type": "string", "format": "email"},
        "layers": {"type": "array", "items": {"enum": ["wind", "rain"]}},
        "tags": {"type": "array", "items": {"type": "string"}},
        "ratio": {"type": ["null", "number"]},
    }})
}

fn short(block: &Value) -> String {
    let element = &block["element"];
    let optional = if block["optional"] == true { "?" } else { "" };
    let options = element["options"].as_array().map(|options| format!(" of {}", options.len())).unwrap_or_default();
    let initial = ["initial_value", "initial_option", "initial_date"].iter().find_map(|key| element.get(*key));
    let initial = initial.map(|initial| format!(" = {initial}")).unwrap_or_default();
    let lines = if element["multiline"] == true { " lines" } else { "" };
    format!("{}{optional} {}{options}{lines}{initial}", block["block_id"], element["type"])
}

#[test]
fn a_form_has_an_input_for_each_argument_the_required_first() {
    let known = json!({"city": "Oslo"});
    let view = modal(&origin(), &schema(), &begun(known.as_object().expect("an object")), Locale::En).expect("a form");
    let lines: Vec<String> = array(&view, "blocks").iter().map(short).collect();
    expect![[r#"
        "text:city" "plain_text_input" = "Oslo"
        "text:days" "number_input" = "3"
        "text:note"? "plain_text_input" lines
        "text:units"? "static_select" of 2 = {"text":{"type":"plain_text","text":"metric"},"value":"\"metric\""}
        "text:hourly"? "radio_buttons" of 2
        "text:on"? "datepicker"
        "text:site"? "url_text_input"
        "text:mail"? "email_text_input"
        "text:layers"? "multi_static_select" of 2
        "json:tags"? "plain_text_input" lines
        "text:ratio"? "number_input""#]]
    .assert_eq(&lines.join("\n"));
    assert_eq!((&view["title"]["text"], &view["submit"]["text"]), (&json!("weather_query"), &json!("Send")));
    assert_eq!(Origin::of(&view), Some(origin()));
    let city = &view["blocks"][0];
    assert_eq!((&city["element"]["min_length"], &city["element"]["max_length"]), (&json!(2), &json!(40)));
    assert_eq!(city["hint"]["text"], "Which city");
    assert_eq!(view["blocks"][1]["element"]["min_value"], "1");
    let hourly = modal(&origin(), &schema(), &begun(&Map::new()), Locale::ZhHans).expect("a form")["blocks"][4].take();
    assert_eq!(hourly["element"]["options"][0], json!({"text": {"type": "plain_text", "text": "是"}, "value": "true"}));
}

#[test]
fn what_is_filled_in_has_the_types_of_the_schema() {
    let option = |value: &str| json!({"value": value, "text": {"type": "plain_text", "text": "shown"}});
    let values = json!({
        "text:city": {"city": {"type": "plain_text_input", "value": "[1]"}},
        "text:note": {"note": {"type": "plain_text_input", "value": null}},
        "text:days": {"days": {"type": "number_input", "value": "3"}},
        "text:ratio": {"ratio": {"type": "number_input", "value": "0.5"}},
        "text:units": {"units": {"type": "static_select", "selected_option": option("\"metric\"")}},
        "text:hourly": {"hourly": {"type": "radio_buttons", "selected_option": option("true")}},
        "text:none": {"none": {"type": "radio_buttons", "selected_option": null}},
        "text:on": {"on": {"type": "datepicker", "selected_date": "2026-01-02"}},
        "text:layers": {"layers": {"type": "multi_static_select", "selected_options": [option("\"wind\""), option("\"rain\"")]}},
        "text:empty": {"empty": {"type": "multi_static_select", "selected_options": []}},
        "json:tags": {"tags": {"type": "plain_text_input", "value": "a\n\n b \n3"}},
        "json:deep": {"deep": {"type": "plain_text_input", "value": "{\"a\": [1]}"}},
        "json:bad": {"bad": {"type": "plain_text_input", "value": "{oops"}},
        "text:long": {"long": {"type": "static_select", "selected_option": option("#4")}},
    });
    let filled = filled(&json!({"state": {"values": values}}));
    expect![[r##"{"city":"[1]","days":3,"ratio":0.5,"units":"metric","hourly":true,"on":"2026-01-02","layers":["wind","rain"],"tags":["a","b",3],"deep":{"a":[1]},"bad":"{oops","long":"shown"}"##]]
    .assert_eq(&json!(filled).to_string());
}

#[test]
fn a_problem_stands_at_its_field() {
    let view = modal(&origin(), &schema(), &begun(&Map::new()), Locale::En).expect("a form");
    let problem = |path: &str, hint: Option<&str>| Problem {
        path: path.into(),
        expected: "a whole number".into(),
        got: None,
        hint: hint.map(str::to_owned),
    };
    let errors =
        errors(&view, &[problem("days/0", Some("like 3")), problem("", None), problem("city", None)], Locale::En);
    assert_eq!(json!(errors).to_string(), r#"{"text:days":"a whole number (like 3)","text:city":"a whole number"}"#);
}

#[test]
fn a_form_stays_within_what_the_platform_takes() {
    let many: Map<String, Value> = (0..150).map(|n| (format!("p{n}"), json!({"type": "string"}))).collect();
    let view = modal(&origin(), &json!({"properties": many}), &begun(&Map::new()), Locale::En).expect("a form");
    assert_eq!(array(&view, "blocks").len(), 100);
    let all: Vec<&String> = many.keys().collect();
    assert!(modal(&origin(), &json!({"properties": many, "required": all}), &begun(&Map::new()), Locale::En).is_none());
    let choices: Vec<String> = (0..120).map(|n| n.to_string()).collect();
    let view = modal(
        &origin(),
        &json!({"properties": {"c": {"type": "string", "enum": choices}}}),
        &begun(&Map::new()),
        Locale::En,
    );
    assert_eq!(view.expect("a form")["blocks"][0]["element"]["type"], "plain_text_input");
    let long = Origin { command: "a_command_with_a_very_long_name".into(), ..origin() };
    let view =
        modal(&long, &json!({"properties": {"x": {"enum": ["y".repeat(200)]}}}), &begun(&Map::new()), Locale::En)
            .expect("a form");
    assert!(view["title"]["text"].as_str().is_some_and(|title| title.chars().count() <= 24));
    let option = &view["blocks"][0]["element"]["options"][0];
    assert_eq!(option["value"], "#0");
    assert!(option["text"]["text"].as_str().is_some_and(|shown| shown.chars().count() <= 75));
    assert!(modal(&origin(), &json!({"type": "object"}), &begun(&Map::new()), Locale::En).is_none());
}

#[test]
fn pairs_are_taken_over_and_other_ways_are_left_to_the_core() {
    let schema = json!({"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}});
    let read = |typed: &str| pairs(typed, &schema).map(|pairs| json!(pairs).to_string());
    assert_eq!(read("").as_deref(), Some("{}"));
    assert_eq!(read("city=5 days=3").as_deref(), Some(r#"{"city":"5","days":3}"#));
    assert_eq!((read("Oslo"), read("town=Oslo"), read("city=\"New York\"")), (None, None, None));
}

#[test]
fn what_breaks_its_fields_limits_is_not_filled_in_but_said() {
    let known = json!({"days": 99, "note": "x"});
    let problem = |path: &str, got: Option<&str>| Problem {
        path: path.into(),
        expected: "at most 7".into(),
        got: got.map(str::to_owned),
        hint: None,
    };
    let problems = [problem("city", None), problem("days", Some("99"))];
    let begun = Begun { known: known.as_object().expect("an object"), problems: &problems };
    let view = modal(&origin(), &schema(), &begun, Locale::En).expect("a form");
    let block = |name: &str| {
        let mut blocks = view["blocks"].as_array().into_iter().flatten();
        blocks.find(|block| block["element"]["action_id"] == name).cloned().expect("it is there")
    };
    assert_eq!(block("days")["element"].get("initial_value"), None);
    assert_eq!(block("days")["hint"]["text"], "at most 7");
    assert_eq!(block("city")["hint"]["text"], "Which city");
    assert_eq!(block("note")["element"]["initial_value"], "x");
}
