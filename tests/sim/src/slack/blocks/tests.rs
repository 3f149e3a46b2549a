use super::*;
use expect_test::expect;

fn told(blocks: Value) -> String {
    let mut list = blocks.as_array().cloned().expect("a list");
    match check_message(&mut list) {
        Ok(()) => "fine".into(),
        Err(error) => error.detail(),
    }
}

fn plain(text: &str) -> Value {
    json!({"type": "plain_text", "text": text})
}

#[test]
fn what_the_documentation_shows_is_taken() {
    let button = json!({"type": "button", "action_id": "a", "text": plain("Go"), "value": "1", "style": "primary"});
    let section = |text: &str| json!({"type": "rich_text_section", "elements": [{"type": "text", "text": text, "style": {"bold": true}}]});
    let blocks = json!([
        {"type": "header", "text": plain("Title")},
        {"type": "section", "text": {"type": "mrkdwn", "text": "*x*"}, "accessory": button},
        {"type": "section", "fields": [{"type": "mrkdwn", "text": "a"}, plain("b")]},
        {"type": "divider"},
        {"type": "context", "elements": [{"type": "mrkdwn", "text": "small"}, {"type": "image", "image_url": "https://e.test/a.png", "alt_text": "a"}]},
        {"type": "actions", "elements": [button, {"type": "static_select", "placeholder": plain("Pick"), "options": [{"text": plain("A"), "value": "a"}]}]},
        {"type": "markdown", "text": "# hi"},
        {"type": "rich_text", "elements": [section("x"), {"type": "rich_text_list", "style": "bullet", "elements": [section("y")]},
            {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "code"}]}, {"type": "rich_text_quote", "elements": [{"type": "user", "user_id": "U1"}]}]},
        {"type": "table", "rows": [[{"type": "raw_text", "text": "a"}, null], [{"type": "rich_text", "elements": [section("c")]}, {"type": "raw_text", "text": "d"}]],
            "column_settings": [{"align": "right"}, {"is_wrapped": true}]},
        {"type": "image", "image_url": "https://e.test/a.png", "alt_text": "a", "title": plain("t")},
    ]);
    assert_eq!(told(blocks), "fine");
}

#[test]
fn what_breaks_a_rule_is_told_with_its_place() {
    let long = |n: usize| "x".repeat(n);
    let cases = [
        json!([{"type": "flood"}]),
        json!([{"type": "section"}]),
        json!([{"type": "section", "text": plain("")}]),
        json!([{"type": "section", "text": {"type": "mrkdwn", "text": long(3_001)}}]),
        json!([{"type": "section", "text": plain("a"), "color": "red"}]),
        json!([{"type": "header", "text": {"type": "mrkdwn", "text": "a"}}]),
        json!([{"type": "header", "text": plain(&long(151))}]),
        json!([{"type": "actions", "elements": []}]),
        json!([{"type": "actions", "elements": [{"type": "button", "text": plain(&long(76)), "value": long(2_001), "action_id": long(256)}]}]),
        json!([{"type": "actions", "elements": [{"type": "button", "text": plain("a"), "action_id": "x"}, {"type": "button", "text": plain("b"), "action_id": "x"}]}]),
        json!([{"type": "divider", "block_id": "a"}, {"type": "divider", "block_id": "a"}]),
        json!([{"type": "actions", "elements": [{"type": "plain_text_input", "action_id": "x"}]}]),
        json!([{"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": ""}]}]}]),
        json!([{"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": []}]}]),
        json!([{"type": "table", "rows": [[{"type": "raw_text", "text": ""}]]}]),
        json!([{"type": "markdown", "text": long(7_000)}, {"type": "markdown", "text": long(5_001)}]),
        json!([{"type": "markdown", "text": long(12_000)}, {"type": "section", "text": plain(&long(1_300))}]),
        json!([{"type": "table", "rows": [[null]]}, {"type": "table", "rows": [[null]]}]),
    ];
    let all: Vec<String> = cases.into_iter().map(told).collect();
    expect![[r#"
        invalid_blocks [ERROR] unsupported type: flood [json-pointer:/blocks/0/type]
        invalid_blocks [ERROR] missing required field: text or fields [json-pointer:/blocks/0]
        invalid_blocks [ERROR] must be more than 0 characters [json-pointer:/blocks/0/text/text]
        invalid_blocks [ERROR] must be less than 3001 characters [json-pointer:/blocks/0/text/text]
        invalid_blocks [ERROR] invalid additional property: color [json-pointer:/blocks/0]
        invalid_blocks [ERROR] unsupported type: mrkdwn [json-pointer:/blocks/0/text]
        invalid_blocks [ERROR] must be less than 151 characters [json-pointer:/blocks/0/text/text]
        invalid_blocks [ERROR] no fewer than 1 items allowed [json-pointer:/blocks/0/elements]
        invalid_blocks [ERROR] must be less than 256 characters [json-pointer:/blocks/0/elements/0/action_id] [ERROR] must be less than 76 characters [json-pointer:/blocks/0/elements/0/text/text] [ERROR] must be less than 2001 characters [json-pointer:/blocks/0/elements/0/value]
        invalid_blocks [ERROR] `action_id` "x" already exists for `block_id` "006XJ" [json-pointer:/blocks/0/elements/1]
        invalid_blocks [ERROR] `block_id` "a" already exists [json-pointer:/blocks/1]
        invalid_blocks [ERROR] unsupported type: plain_text_input [json-pointer:/blocks/0/elements/0/type]
        invalid_blocks [ERROR] must be more than 0 characters [json-pointer:/blocks/0/elements/0/elements/0/text]
        invalid_blocks [ERROR] no fewer than 1 items allowed [json-pointer:/blocks/0/elements/0/elements]
        invalid_blocks [ERROR] must be more than 0 characters [json-pointer:/blocks/0/rows/0/0/text]
        msg_blocks_too_long
        msg_blocks_too_long
        invalid_attachments [ERROR] only_one_table_allowed"#]].assert_eq(&all.join("\n"));
}

#[test]
fn views_have_bounds_of_their_own() {
    let input =
        json!({"type": "input", "label": plain("City"), "element": {"type": "plain_text_input", "action_id": "a"}});
    let view = |change: &dyn Fn(&mut Value)| {
        let mut view = json!({"type": "modal", "title": plain("T"), "submit": plain("Go"), "blocks": [input]});
        change(&mut view);
        check_view(&mut view).map_or_else(|error| error.detail(), |()| "fine".to_owned())
    };
    let all = [
        view(&|_| {}),
        view(&|view| view["title"] = plain("a title that is far too long")),
        view(&|view| view["private_metadata"] = json!("x".repeat(3_001))),
        view(&|view| drop(view.as_object_mut().map(|view| view.remove("submit")))),
        view(&|view| view["blocks"] = json!([{"type": "markdown", "text": "x"}])),
        view(&|view| view["blocks"][0]["element"] = json!({"type": "number_input"})),
        view(&|view| view["blocks"][0]["element"] = json!({"type": "plain_text_input", "max_length": 5_000})),
        view(&|view| view["blocks"][0]["element"] = json!({"type": "static_select", "options": []})),
    ];
    expect![[r#"
        fine
        invalid_arguments [ERROR] must be less than 25 characters [json-pointer:/view/title/text]
        invalid_arguments [ERROR] must be less than 3001 characters [json-pointer:/view/private_metadata]
        invalid_arguments [ERROR] missing required field: submit [json-pointer:/view/submit]
        invalid_arguments [ERROR] unsupported type: markdown [json-pointer:/view/blocks/0/type]
        invalid_arguments [ERROR] missing required field: is_decimal_allowed [json-pointer:/view/blocks/0/element]
        invalid_arguments [ERROR] min_length and max_length lie between 0 and 3000 [json-pointer:/view/blocks/0/element]
        invalid_arguments [ERROR] no fewer than 1 items allowed [json-pointer:/view/blocks/0/element/options]"#]]
    .assert_eq(&all.join("\n"));
}
