//! What the platform refuses of its people and of views: slashes that are no commands, scopes, and inputs that begin wrong.

use expect_test::expect;
use serde_json::{Value, json};
use sim::slack::{Limits, NewApp, Setup};

use crate::slack_rig::{APP, BOT, Rig, start, start_setup, text_of};

fn plain(text: &str) -> Value {
    json!({"type": "plain_text", "text": text})
}

fn only(scopes: &[&str]) -> Setup {
    let first = NewApp {
        name: "toolgate".into(),
        scopes: Some(scopes.iter().map(|scope| (*scope).to_owned()).collect()),
        ..NewApp::default()
    };
    Setup { apps: vec![first], limits: Limits::none(), ..Setup::default() }
}

#[tokio::test]
async fn a_client_sends_no_message_that_begins_with_a_slash() {
    let rig = start_setup(Setup { limits: Limits::none(), ..Setup::default() }).await;
    let _socket = rig.greeted().await;
    let (_, root) = rig.say("general", "ann", "hello").await;
    let mut told = Vec::new();
    for more in [
        json!({"text": "/foo bar"}),
        json!({"text": "/"}),
        json!({"text": "/toolgate help"}),
        json!({"text": "/toolgate help", "thread": root}),
        json!({"text": "/help @toolgate", "mention": true}),
    ] {
        let mut body = json!({"conversation": "general", "user": "ann"});
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let (status, answer) = rig.control("say", body).await;
        told.push(format!("{status} {}", text_of(&answer["error"])));
    }
    expect![[r#"
        400 text: /foo is not a valid command. In Slack, all messages that start with the "/" character are interpreted as commands; registered: /toolgate
        400 text: / is not a valid command. In Slack, all messages that start with the "/" character are interpreted as commands; registered: /toolgate
        400 text: /toolgate is a slash command: a person sends it with 'command'
        400 text: /toolgate is a slash command, and not supported in threads
        400 text: /help is not a valid command. In Slack, all messages that start with the "/" character are interpreted as commands; registered: /toolgate"#]]
    .assert_eq(&told.join("\n"));
    for fine in [
        json!({"text": " /foo bar"}),
        json!({"text": "/foo", "mention": true}),
        json!({"text": "/foo", "bot": true, "user": "robot"}),
    ] {
        let mut body = json!({"conversation": "general", "user": "ann"});
        body.as_object_mut().expect("an object").extend(fine.as_object().expect("an object").clone());
        rig.done("say", body).await;
    }
    let command =
        json!({"conversation": "general", "user": "ann", "name": "toolgate weather", "args": {"city": "Oslo"}});
    rig.done("command", command).await;
    assert_eq!(rig.last("general").text, "/toolgate weather city=Oslo");
    let (status, answer) = rig.control("app", json!({"name": "toolgate", "commands": ["/Two Words"]})).await;
    assert_eq!((status, text_of(&answer["error"])), (400, "commands: '/Two Words' is no name of a command".into()));
    rig.end().await;
}

async fn headers(rig: &Rig, token: &str, method: &str) -> (Option<String>, Option<String>) {
    let response = rig.http.post(rig.address(method)).bearer_auth(token).send().await.expect("an answer");
    let named = |name: &str| response.headers().get(name).map(|value| value.to_str().expect("text").to_owned());
    (named("x-oauth-scopes"), named("x-accepted-oauth-scopes"))
}

#[tokio::test]
async fn every_answer_to_a_good_token_names_its_scopes() {
    let rig = start_setup(only(&["chat:write", "im:history"])).await;
    let given = Some("chat:write,im:history".to_owned());
    assert_eq!(headers(&rig, BOT, "auth.test").await, (given.clone(), None));
    assert_eq!(headers(&rig, BOT, "chat.postMessage").await, (given.clone(), Some("chat:write".into())));
    assert_eq!(headers(&rig, BOT, "users.info").await, (given.clone(), Some("users:read".into())));
    let histories = "channels:history,groups:history,im:history,mpim:history";
    assert_eq!(headers(&rig, BOT, "conversations.history").await, (given, Some(histories.into())));
    let sockets = Some("connections:write".to_owned());
    assert_eq!(headers(&rig, APP, "apps.connections.open").await, (sockets.clone(), sockets));
    assert_eq!(headers(&rig, "nonsense", "auth.test").await, (None, None));
    let (_, refused) = rig.call("users.info", json!({"user": "U1"})).await;
    assert_eq!(
        refused,
        json!({"ok": false, "error": "missing_scope", "needed": "users:read", "provided": "chat:write,im:history"})
    );
    rig.end().await;
}

#[tokio::test]
async fn a_status_takes_the_scope_of_messages_and_prompts_that_of_assistants() {
    let rig = start_setup(only(&["chat:write", "im:history"])).await;
    let (channel, ts) = rig.say("dm:ann", "ann", "hello").await;
    rig.ok("assistant.threads.setStatus", json!({"channel_id": channel, "thread_ts": ts, "status": "thinks"})).await;
    let title = json!({"channel_id": channel, "thread_ts": ts, "title": "t"});
    assert_eq!(rig.refusal("assistant.threads.setTitle", title).await, "missing_scope");
    rig.end().await;
}

#[tokio::test]
async fn events_and_commands_need_their_scopes() {
    let rig = start_setup(only(&["channels:history", "chat:write"])).await;
    let mut socket = rig.greeted().await;
    let (_, ts) = rig.say("general", "ann", "one").await;
    assert_eq!(socket.event().await["text"], "one");
    rig.done("react", json!({"conversation": "general", "user": "ann", "message": ts, "emoji": "eyes"})).await;
    rig.say("dm:ann", "ann", "in private").await;
    rig.say("general", "ann", "two").await;
    assert_eq!(socket.event().await["text"], "two", "neither the reaction nor the direct message was told");
    let (status, _) =
        rig.control("command", json!({"conversation": "general", "user": "ann", "name": "toolgate"})).await;
    assert_eq!(status, 404, "an app without the scope has no commands");
    rig.end().await;
}

#[tokio::test]
async fn a_view_whose_inputs_begin_wrong_is_refused() {
    let rig = start().await;
    let mut socket = rig.greeted().await;
    rig.done("command", json!({"conversation": "general", "user": "ann", "name": "ask"})).await;
    let trigger = socket.payload().await["trigger_id"].clone();
    let options = json!([{"text": plain("A"), "value": "a"}, {"text": plain("B"), "value": "b"}]);
    let other = json!({"text": plain("C"), "value": "c"});
    let elements = [
        json!({"type": "plain_text_input", "max_length": 3, "initial_value": "long"}),
        json!({"type": "plain_text_input", "min_length": 3, "initial_value": "no"}),
        json!({"type": "plain_text_input", "initial_value": 5}),
        json!({"type": "plain_text_input", "initial_value": "x".repeat(3_001)}),
        json!({"type": "number_input", "is_decimal_allowed": false, "min_value": "2", "max_value": "4", "initial_value": "1"}),
        json!({"type": "number_input", "is_decimal_allowed": false, "max_value": "4", "initial_value": "4.5"}),
        json!({"type": "number_input", "is_decimal_allowed": true, "min_value": "5", "max_value": "4", "initial_value": "x"}),
        json!({"type": "datepicker", "initial_date": "2026-02-30"}),
        json!({"type": "timepicker", "initial_time": "9:30"}),
        json!({"type": "datetimepicker", "initial_date_time": 5}),
        json!({"type": "email_text_input", "initial_value": "nobody"}),
        json!({"type": "url_text_input", "initial_value": "here"}),
        json!({"type": "static_select", "options": options, "initial_option": other}),
        json!({"type": "radio_buttons", "options": options, "initial_option": {"text": plain("a"), "value": "a"}}),
        json!({"type": "checkboxes", "options": options, "initial_options": []}),
        json!({"type": "checkboxes", "options": options, "initial_options": [options[0], other]}),
        json!({"type": "multi_static_select", "options": options, "max_selected_items": 1, "initial_options": options}),
        json!({"type": "multi_static_select", "options": options, "max_selected_items": 0, "initial_options": [options[0], options[0]]}),
        json!({"type": "file_input", "max_files": 11}),
    ];
    let mut told = Vec::new();
    for mut element in elements {
        element["action_id"] = json!("v");
        let blocks = json!([{"type": "input", "label": plain("L"), "element": element}]);
        let view = json!({"type": "modal", "title": plain("T"), "submit": plain("Go"), "blocks": blocks});
        let (_, answer) = rig.call("views.open", json!({"trigger_id": trigger, "view": view})).await;
        assert_eq!(answer["error"], "invalid_arguments", "{view}");
        let lines = answer["response_metadata"]["messages"].as_array().expect("reasons");
        let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
        told.push(lines.join(" ").replace("json-pointer:/view/blocks/0/element", "…"));
    }
    expect![[r#"
        [ERROR] must be less than 4 characters […/initial_value]
        [ERROR] must be more than 2 characters […/initial_value]
        [ERROR] must be a string […/initial_value]
        [ERROR] must be less than 3001 characters […/initial_value]
        [ERROR] must not be less than min_value […/initial_value]
        [ERROR] must not be greater than max_value […/initial_value] [ERROR] must be a whole number […/initial_value]
        [ERROR] must be a valid number […/initial_value] [ERROR] must not be greater than max_value […/min_value]
        [ERROR] must be a valid date […/initial_date]
        [ERROR] must be a valid time […/initial_time]
        [ERROR] must be a UNIX timestamp of 10 digits […/initial_date_time]
        [ERROR] must be a valid email address […/initial_value]
        [ERROR] must be a valid URL […/initial_value]
        [ERROR] must be one of the options […/initial_option]
        [ERROR] must be one of the options […/initial_option]
        [ERROR] no fewer than 1 items allowed […/initial_options]
        [ERROR] must be among the options […/initial_options]
        [ERROR] no more than 1 items allowed […/initial_options]
        [ERROR] must be greater than 0 […/max_selected_items] [ERROR] no more than 0 items allowed […/initial_options] [ERROR] an option is there twice […/initial_options]
        [ERROR] must be between 1 and 10 […/max_files]"#]]
    .assert_eq(&told.join("\n"));
    let focused = |block: &str| json!({"type": "input", "block_id": block, "label": plain("L"), "element": {"type": "plain_text_input", "action_id": "v", "focus_on_load": true, "initial_value": ""}});
    let mut view =
        json!({"type": "modal", "title": plain("T"), "submit": plain("Go"), "blocks": [focused("a"), focused("b")]});
    assert_eq!(rig.refusal("views.open", json!({"trigger_id": trigger, "view": view})).await, "invalid_arguments");
    view["blocks"] = json!([focused("a")]);
    rig.ok("views.open", json!({"trigger_id": trigger, "view": view})).await;
    rig.end().await;
}

#[tokio::test]
async fn a_text_that_is_no_mrkdwn_is_kept_and_shown_as_it_stands() {
    let rig = start().await;
    let mut socket = rig.greeted().await;
    let (channel, _) = rig.say("general", "ann", "hello").await;
    socket.event().await;
    let text = "*stars* `ticks` ```x``` &lt;b&gt;";
    let posted = rig.ok("chat.postMessage", json!({"channel": channel, "text": text, "mrkdwn": false})).await;
    assert_eq!((&posted["message"]["mrkdwn"], &posted["message"]["text"]), (&json!(false), &json!(text)));
    assert_eq!(rig.last("general").text, "*stars* `ticks` ```x``` <b>");
    assert_eq!(socket.event().await["mrkdwn"], false);
    let history = rig.ok("conversations.history", json!({"channel": channel, "limit": 1})).await;
    assert_eq!(history["messages"][0]["mrkdwn"], false);
    // A change of the text leaves the message what it is.
    rig.ok("chat.update", json!({"channel": channel, "ts": posted["ts"], "text": "*more*"})).await;
    assert_eq!(rig.last("general").text, "*more*");
    let marked = rig.ok("chat.postMessage", json!({"channel": channel, "text": text, "mrkdwn": true})).await;
    assert_eq!(marked["message"].get("mrkdwn"), None);
    let read = rig.last("general").text;
    assert!(read.starts_with("stars ticks") && read.ends_with("<b>"), "{read}");
    rig.end().await;
}
