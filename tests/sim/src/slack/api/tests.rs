use super::super::{Say, Setup};
use super::*;
use proptest::prelude::*;
use tokio_util::sync::CancellationToken;

fn any_value() -> impl Strategy<Value = Value> {
    let texts = vec![
        "",
        "1",
        "true",
        "modal",
        "home",
        "section",
        "actions",
        "button",
        "mrkdwn",
        "plain_text",
        "rich_text",
        "table",
        "input",
        "<@U1> *x",
        "{}",
        "[]",
        "[1]",
        "eyes",
        "1700000000.000001",
        "im",
        "a,b",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-3_i64..5).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(texts).prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    let names = prop::sample::select(vec![
        "type",
        "text",
        "elements",
        "blocks",
        "title",
        "element",
        "label",
        "options",
        "value",
        "action_id",
        "rows",
        "id",
        "event_type",
        "event_payload",
    ]);
    leaf.prop_recursive(4, 16, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((names.clone(), inner), 0..4).prop_map(|fields| Value::Object(
                fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            )),
        ]
    })
}

fn any_params() -> impl Strategy<Value = Vec<(&'static str, Value)>> {
    let names = prop::sample::select(vec![
        "text",
        "blocks",
        "attachments",
        "markdown_text",
        "metadata",
        "thread_ts",
        "ts",
        "timestamp",
        "name",
        "user",
        "users",
        "view",
        "view_id",
        "trigger_id",
        "files",
        "filename",
        "length",
        "file",
        "cursor",
        "limit",
        "types",
        "oldest",
        "latest",
        "status",
        "title",
        "prompts",
        "channel_id",
        "message_ts",
        "user_id",
        "chunks",
        "channels",
        "initial_comment",
        "hash",
        "external_id",
    ]);
    prop::collection::vec((names, any_value()), 0..6)
}

proptest! {
    #[test]
    fn any_parameters_of_any_method_are_answered(params in any_params(), method in 0..METHODS.len(), known in any::<bool>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let slack = Slack::new(Setup::default(), "http://127.0.0.1:1", CancellationToken::new());
        let said = slack.say(Say::new("general", "ann", "hello")).expect("said");
        let mut values: serde_json::Map<String, Value> = params.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        if known {
            values.insert("channel".into(), json!(said.chat));
            values.insert("ts".into(), json!(said.message));
        }
        let token = if METHODS[method].name == "apps.connections.open" { "xapp-1" } else { "xoxb-1" };
        let params = Params { values, token: Some(token.into()), warning: None };
        let Ending::Answer(Answer { status, body, .. }) = runtime.block_on(slack.request(METHODS[method].name, Ok(params))) else { panic!("no fault was ordered") };
        prop_assert_eq!(status, 200);
        prop_assert_eq!(body["ok"] == json!(true), body.get("error").is_none());
    }
}
