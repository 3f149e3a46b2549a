//! Menus as they are registered, and what comes back.

use expect_test::expect;

use super::*;

fn item(name: &str, parameters: Value) -> MenuItem {
    MenuItem {
        name: name.into(),
        description: format!("runs {name}"),
        parameters: Arc::new(parameters),
        ..MenuItem::default()
    }
}

fn menu(items: Vec<MenuItem>) -> Menu {
    Menu { items, digest: None }
}

fn opt(name: &str, value: Value) -> Opt {
    Opt { name: name.into(), value, kind: 3, focused: false }
}

fn path(name: &str) -> Vec<String> {
    vec![name.to_owned()]
}

#[test]
fn a_schema_becomes_options() {
    let schema = json!({"type": "object", "required": ["order_id", "text", "filter"], "properties": {
        "status": {"type": "string", "enum": ["paid", "open"], "description": "only\nthese"},
        "order_id": {"type": "string", "minLength": 1, "maxLength": 20},
        "count": {"type": ["integer", "null"], "minimum": -5, "exclusiveMaximum": 10},
        "ratio": {"type": "number", "minimum": 0.5},
        "loud": {"type": "boolean"},
        "text": {"type": "string", "maxLength": 4000},
        "filter": {"type": "object"},
        "City Name": {"type": "string"},
        "big": {"type": "integer", "maximum": 1e19},
        "level": {"enum": [1, 2]}
    }});
    let commands = Commands::of(&menu(vec![item("order_query", schema)]));
    let lines: Vec<String> =
        commands.wire[0]["options"].as_array().expect("options").iter().map(ToString::to_string).collect();
    expect![[r#"
        {"name":"order_id","type":3,"description":"order_id","required":true,"min_length":1,"max_length":20}
        {"name":"status","type":3,"description":"only these","required":false,"choices":[{"name":"paid","value":"paid"},{"name":"open","value":"open"}]}
        {"name":"count","type":4,"description":"count","required":false,"min_value":-5,"max_value":9}
        {"name":"ratio","type":10,"description":"ratio","required":false,"min_value":0.5}
        {"name":"loud","type":5,"description":"loud","required":false}
        {"name":"text","type":3,"description":"text","required":false,"max_length":4000}
        {"name":"filter","type":3,"description":"filter","required":false}
        {"name":"city-name","type":3,"description":"city-name","required":false}
        {"name":"big","type":4,"description":"big","required":false,"max_value":9007199254740992}
        {"name":"level","type":4,"description":"level","required":false,"choices":[{"name":"1","value":1},{"name":"2","value":2}]}"#]]
    .assert_eq(&lines.join("\n"));
    let args = commands.called(&path("order_query"), &[opt("city-name", json!("Oslo")), opt("count", json!(3))]);
    let expected = json!({"City Name": "Oslo", "count": 3});
    assert_eq!(
        args,
        Called::Args { tool: "order_query".into(), args: expected.as_object().expect("an object").clone() }
    );
}

#[test]
fn many_values_are_looked_up_while_they_are_typed() {
    let values: Vec<String> = (0..26).map(|n| format!("v{n}")).collect();
    let commands =
        Commands::of(&menu(vec![item("a", json!({"properties": {"x": {"type": "string", "enum": values}}}))]));
    assert_eq!(commands.wire[0]["options"][0]["autocomplete"], true);
    let typed = Opt { focused: true, ..opt("x", json!("v1")) };
    assert_eq!(commands.focused(&path("a"), &[typed]), Some(("a".into(), "x".into(), "v1".into())));
}

#[test]
fn more_parameters_than_options_are_one_json() {
    let properties: Map<String, Value> = (0..26).map(|n| (format!("p{n}"), json!({"type": "string"}))).collect();
    let commands = Commands::of(&menu(vec![item("a", json!({"required": ["p0"], "properties": properties}))]));
    assert_eq!(commands.wire[0]["options"][0]["name"], "json");
    let called = |json: &str| commands.called(&path("a"), &[opt("json", json!(json))]);
    let Called::Args { args, .. } = called(r#"{"p1": "x"}"#) else { panic!("arguments") };
    assert_eq!(Value::Object(args), json!({"p1": "x"}));
    assert_eq!(called(r#"{"p1": "#), Called::Typed(r#"/a {"p1":"#.into()));
    let form = commands.find(&path("a")).and_then(|tool| tool.form(&Map::new())).expect("a form");
    assert_eq!(form.wire("form:1:a", "a")["components"][0]["components"][0]["custom_id"], "p0");
}

#[test]
fn names_that_discord_does_not_take_are_mapped_and_stay_apart() {
    let long = |end: &str| item(&format!("{}{end}", "x".repeat(70)), json!({}));
    let items = vec![
        item("Order.Query", json!({})),
        item("order-query", json!({})),
        long("a"),
        long("b"),
        item("天气", json!({})),
    ];
    let commands = Commands::of(&menu(items));
    let names: Vec<&str> = commands.wire.iter().filter_map(|command| command["name"].as_str()).collect();
    expect![[r#"["order-query-2480d0", "order-query", "xxxxxxxxxxxxxxxxxxxxxxxxx-6e42a5", "xxxxxxxxxxxxxxxxxxxxxxxxx-d6fc6f", "天气"]"#]]
        .assert_eq(&format!("{names:?}"));
    let back: Vec<String> =
        names.iter().filter_map(|name| commands.find(&path(name)).map(|tool| tool.name.clone())).collect();
    assert_eq!((back[0].as_str(), back[1].as_str(), back[4].as_str()), ("Order.Query", "order-query", "天气"));
    assert!(back[2].ends_with('a') && back[3].ends_with('b'));
}

#[test]
fn more_tools_than_commands_stand_in_groups_and_by_name() {
    let mut items: Vec<MenuItem> = (0..60).map(|n| item(&format!("first_{n}"), json!({}))).collect();
    let grouped = (0..40).map(|n| MenuItem { toolset: "lab".into(), ..item(&format!("later_{n}"), json!({})) });
    items.extend(grouped);
    items.extend((0..900).map(|n| item(&format!("k{n}_x"), json!({}))));
    let commands = Commands::of(&menu(items));
    assert_eq!(commands.wire.len(), 100);
    let named = |name: &str| commands.wire.iter().find(|command| command["name"] == name).expect("registered");
    assert_eq!(named("tools-lab")["options"].as_array().map(Vec::len), Some(25));
    assert_eq!(named("tools-lab-2")["options"].as_array().map(Vec::len), Some(15));
    let sub = vec!["tools-lab".to_owned(), "later_3".to_owned()];
    assert_eq!(commands.called(&sub, &[]), Called::Args { tool: "later_3".into(), args: Map::new() });
    let run = |json: &str| commands.called(&path("run"), &[opt("name", json!("k899_x")), opt("json", json!(json))]);
    assert_eq!(
        run(r#"{"a":1}"#),
        Called::Args { tool: "k899_x".into(), args: json!({"a": 1}).as_object().expect("an object").clone() }
    );
    assert_eq!(commands.like("K899"), ["k899_x"]);
}

#[test]
fn a_command_is_never_larger_than_discord_takes() {
    let values: Vec<String> = (0..25).map(|n| format!("{n}{}", "v".repeat(90))).collect();
    let properties: Map<String, Value> = (0..25)
        .map(|n| (format!("p{n}"), json!({"type": "string", "enum": values, "description": "d".repeat(200)})))
        .collect();
    let commands = Commands::of(&menu(vec![item("a", json!({"properties": properties}))]));
    let options = commands.wire[0]["options"].as_array().expect("options");
    assert!(size(options) <= LARGEST && options.iter().all(|option| option["autocomplete"] == true));
}

#[test]
fn a_form_asks_for_what_is_long_and_keeps_what_was_typed() {
    let schema = json!({"required": ["to", "text"], "properties": {"to": {"type": "string"}, "text": {"type": "string", "maxLength": 4000},
        "note": {"type": "string"}, "loud": {"type": "boolean"}}});
    let commands = Commands::of(&menu(vec![item("send", schema)]));
    let tool = commands.find(&path("send")).expect("registered");
    let filled = |value: Value| value.as_object().expect("an object").clone();
    assert!(tool.form(&filled(json!({"to": "x", "text": "y"}))).is_none());
    assert!(tool.form(&filled(json!({"text": "y"}))).is_none(), "a short one is not asked for in a form");
    let form = tool.form(&filled(json!({"to": "x", "loud": true}))).expect("a form");
    expect![[r#"{"components":[{"type":1,"components":[{"type":4,"custom_id":"text","style":2,"label":"text","min_length":0,"max_length":4000,"required":true}]},{"type":1,"components":[{"type":4,"custom_id":"to","style":1,"label":"to","min_length":0,"max_length":4000,"required":false,"value":"x"}]},{"type":1,"components":[{"type":4,"custom_id":"loud","style":1,"label":"loud","min_length":0,"max_length":4000,"required":false,"value":"true"}]}],"custom_id":"form:1:send","title":"send"}"#]]
    .assert_eq(&form.wire("form:1:send", "send").to_string());
    assert_eq!(
        super::filled("send", filled(json!({"text": "y"}))),
        Called::Args { tool: "send".into(), args: filled(json!({"text": "y"})) }
    );
}
