//! Commands, presses, modals and response URLs.

use expect_test::expect;
use serde_json::{Value, json};
use sim::slack::{Limits, Setup};
use slack_morphism::prelude::SlackApiViewsOpenResponse;

use crate::slack_rig::{Rig, Socket, start, start_setup, start_with, text_of};

fn plain(text: &str) -> Value {
    json!({"type": "plain_text", "text": text})
}

fn button(id: &str) -> Value {
    json!({"type": "actions", "elements": [{"type": "button", "action_id": id, "value": "42", "text": plain("Go")}]})
}

fn view() -> Value {
    let input = |block: &str, label: &str, element: Value| json!({"type": "input", "block_id": block, "label": plain(label), "element": element});
    let options = json!([{"text": plain("Celsius"), "value": "c"}, {"text": plain("Kelvin"), "value": "k"}]);
    json!({"type": "modal", "callback_id": "ask", "private_metadata": "m", "title": plain("Weather"), "submit": plain("Ask"), "notify_on_close": true, "blocks": [
        input("city", "City", json!({"type": "plain_text_input", "action_id": "v", "max_length": 5})),
        input("unit", "Unit", json!({"type": "static_select", "action_id": "v", "options": options, "initial_option": options[0]})),
    ]})
}

/// A modal that is open for ann, and the answer that opened it.
async fn opened(rig: &Rig, socket: &mut Socket) -> Value {
    rig.done("command", json!({"conversation": "general", "user": "ann", "name": "ask"})).await;
    let trigger = socket.payload().await["trigger_id"].clone();
    let mut answer = rig.ok("views.open", json!({"trigger_id": trigger, "view": view()})).await;
    serde_json::from_value::<SlackApiViewsOpenResponse>(answer.clone()).expect("what a strict client takes");
    answer["view"].take()
}

async fn submit(rig: &Rig, values: Value) -> (u16, Value) {
    rig.control("submit", json!({"conversation": "general", "user": "ann", "values": values})).await
}

#[tokio::test]
async fn a_command_is_answered_in_its_acknowledgement_and_by_its_url() {
    let rig = start().await;
    let mut socket = rig.greeted().await;
    rig.done("command", json!({"conversation": "general", "user": "ann", "name": "weather", "args": "Oslo"})).await;
    let frame = socket.next().await;
    let payload = &frame["payload"];
    assert_eq!(
        (&frame["accepts_response_payload"], &payload["command"], &payload["text"]),
        (&json!(true), &json!("/weather"), &json!("Oslo"))
    );
    socket.send(json!({"envelope_id": frame["envelope_id"], "payload": {"text": "*soon*"}})).await;
    let entry = rig.slack().until("general", 0, |entry| entry.text == "soon").await.expect("an entry");
    assert_eq!(entry.to.as_deref(), Some("ann"));
    let url = text_of(&payload["response_url"]);
    for (number, body) in [json!({"text": "1"}), json!({"text": "2", "response_type": "in_channel"})].iter().enumerate()
    {
        assert_eq!(rig.http.post(&url).json(body).send().await.expect("an answer").status(), 200, "{number}");
    }
    let entry = rig.last("general");
    assert_eq!((entry.text.as_str(), entry.to), ("2", None));
    assert_eq!(rig.http.post(&url).json(&json!({})).send().await.expect("an answer").status(), 400);
    for _ in 0..2 {
        assert_eq!(rig.http.post(&url).json(&json!({"text": "x"})).send().await.expect("an answer").status(), 200);
    }
    assert_eq!(rig.http.post(&url).json(&json!({"text": "x"})).send().await.expect("an answer").status(), 404);
    assert_eq!(rig.rules(), ["no_text", "used_url"]);
    rig.end().await;
}

#[tokio::test]
async fn commands_are_those_that_the_app_registered_and_not_for_threads() {
    let rig =
        start_setup(Setup { commands: Some(vec!["/ask".into()]), limits: Limits::none(), ..Setup::default() }).await;
    let _socket = rig.greeted().await;
    let (_, ts) = rig.say("general", "ann", "hello").await;
    for (body, status) in [
        (json!({"conversation": "general", "user": "ann", "name": "/ask", "args": {"a": "b c"}}), 200),
        (json!({"conversation": "general", "user": "ann", "name": "other"}), 404),
        (json!({"conversation": "general", "user": "ann", "name": "ask", "thread": ts}), 400),
    ] {
        assert_eq!(rig.control("command", body).await.0, status);
    }
    assert_eq!(rig.last("general").text, "/ask a=\"b c\"");
    assert_eq!(rig.control_get("menu?conversation=general").await["commands"][0]["command"], "/ask");
    rig.end().await;
}

#[tokio::test]
async fn what_nobody_answers_fails_where_the_person_sees_it() {
    let rig = start_with(Limits { ack_seconds: 0.05, ..Limits::none() }).await;
    rig.done("command", json!({"conversation": "dm:ann", "user": "ann", "name": "ask"})).await;
    let entry = rig.slack().until("dm:ann", 1, |entry| entry.is_bot()).await.expect("an entry");
    assert_eq!(entry.text, "/ask failed with the error \"dispatch_failed\"");
    let _socket = rig.greeted().await;
    rig.done("command", json!({"conversation": "dm:ann", "user": "ann", "name": "ask"})).await;
    let entry = rig.slack().until("dm:ann", entry.n + 1, |entry| entry.is_bot()).await.expect("an entry");
    assert_eq!(entry.text, "/ask failed with the error \"operation_timeout\"");
    rig.end().await;
}

#[tokio::test]
async fn a_press_carries_message_and_container_and_may_replace_it() {
    let rig = start().await;
    let mut socket = rig.greeted().await;
    let (channel, root) = rig.say("general", "ann", "hello").await;
    socket.event().await;
    let posted = rig
        .ok("chat.postMessage", json!({"channel": channel, "thread_ts": root, "text": "x", "blocks": [button("go")]}))
        .await;
    socket.event().await;
    rig.done("press", json!({"conversation": "general", "user": "bob", "message": posted["ts"], "button": "Go"})).await;
    let press = socket.payload().await;
    assert_eq!((&press["actions"][0]["action_id"], &press["actions"][0]["value"]), (&json!("go"), &json!("42")));
    assert_eq!((&press["container"]["thread_ts"], &press["message"]["ts"]), (&json!(root), &posted["ts"]));
    let url = text_of(&press["response_url"]);
    rig.http.post(&url).json(&json!({"replace_original": true, "text": "gone"})).send().await.expect("an answer");
    assert_eq!(
        (rig.last("general").text.as_str(), &rig.last("general").message),
        ("gone", &Some(text_of(&posted["ts"])))
    );
    assert_eq!(socket.event().await["subtype"], "message_changed");
    assert_eq!(
        rig.control(
            "press",
            json!({"conversation": "general", "user": "bob", "message": posted["ts"], "button": "Go"})
        )
        .await
        .0,
        404
    );
    rig.http.post(&url).json(&json!({"delete_original": true})).send().await.expect("an answer");
    assert_eq!(socket.event().await["subtype"], "message_deleted");
    rig.end().await;
}

#[tokio::test]
async fn buttons_of_private_messages_are_for_their_one_reader() {
    let rig = start().await;
    let mut socket = rig.greeted().await;
    let (channel, _) = rig.say("general", "ann", "hello").await;
    let user = socket.event().await["user"].clone();
    rig.say("general", "bob", "hello").await;
    socket.event().await;
    let posted = rig
        .ok("chat.postEphemeral", json!({"channel": channel, "user": user, "text": "x", "blocks": [button("go")]}))
        .await;
    let press =
        |user: &str| json!({"conversation": "general", "user": user, "message": posted["message_ts"], "button": "go"});
    assert_eq!(rig.control("press", press("bob")).await.0, 404);
    rig.done("press", press("ann")).await;
    let payload = socket.payload().await;
    assert_eq!((&payload["container"]["is_ephemeral"], &payload["message"]), (&json!(true), &Value::Null));
    rig.http
        .post(text_of(&payload["response_url"]))
        .json(&json!({"delete_original": true}))
        .send()
        .await
        .expect("an answer");
    assert_eq!(rig.last("general").to.as_deref(), Some("ann"));
    rig.end().await;
}

#[tokio::test]
async fn a_modal_is_filled_in_corrected_and_sent_off() {
    let rig = start().await;
    let mut socket = rig.greeted().await;
    opened(&rig, &mut socket).await;
    let shown = rig.last("general");
    assert_eq!(
        (shown.text.as_str(), shown.fields.len(), &shown.fields[1].value),
        ("Weather\nCity\nUnit", 2, &json!("Celsius"))
    );
    let mut told = Vec::new();
    for values in [
        json!({}),
        json!({"City": "Reykjavik"}),
        json!({"City": "Oslo", "unit": "f"}),
        json!({"City": "Oslo", "Wind": 5}),
    ] {
        told.push(submit(&rig, values).await.1["error"].clone());
    }
    assert_eq!(
        told,
        [
            "values: 'City' is required",
            "values: 'City' is too long",
            "values: 'Unit' has no option 'f'",
            "values: the view has no such input"
        ]
    );
    submit(&rig, json!({"city": "Oslo", "Unit": "Kelvin"})).await;
    let frame = socket.next().await;
    let values = &frame["payload"]["view"]["state"]["values"];
    assert_eq!(
        (&values["city"]["v"]["value"], &values["unit"]["v"]["selected_option"]["value"]),
        (&json!("Oslo"), &json!("k"))
    );
    assert_eq!(
        (&frame["payload"]["view"]["private_metadata"], &frame["payload"]["view"]["callback_id"]),
        (&json!("m"), &json!("ask"))
    );
    socket.send(json!({"envelope_id": frame["envelope_id"], "payload": {"response_action": "errors", "errors": {"city": "unknown"}}})).await;
    rig.slack().until("general", 0, |entry| entry.text.ends_with("City: unknown")).await.expect("an entry");
    submit(&rig, json!({"city": "Rome"})).await;
    let frame = socket.next().await;
    socket.acknowledge(&frame).await;
    rig.slack().until("general", 0, |entry| format!("{:?}", entry.kind) == "Delete").await.expect("the view closes");
    assert_eq!(submit(&rig, json!({"city": "Rome"})).await.0, 404);
    assert_eq!(rig.rules(), Vec::<&str>::new());
    rig.end().await;
}

#[tokio::test]
async fn views_are_pushed_updated_and_closed() {
    let rig = start().await;
    let mut socket = rig.greeted().await;
    let first = opened(&rig, &mut socket).await;
    submit(&rig, json!({"city": "Oslo"})).await;
    let frame = socket.next().await;
    let mut second = view();
    second["title"] = plain("Sure?");
    second["blocks"] = json!([button("yes")]);
    socket
        .send(json!({"envelope_id": frame["envelope_id"], "payload": {"response_action": "push", "view": second}}))
        .await;
    let pushed = rig.slack().until("general", 0, |entry| entry.text.starts_with("Sure?")).await.expect("an entry");
    rig.done("press", json!({"conversation": "general", "user": "ann", "message": pushed.message, "button": "yes"}))
        .await;
    let press = socket.payload().await;
    assert_eq!((&press["container"]["type"], &press["view"]["previous_view_id"]), (&json!("view"), &first["id"]));
    let hash = press["view"]["hash"].clone();
    second["title"] = plain("Done");
    rig.ok("views.update", json!({"view_id": pushed.message, "hash": hash, "view": second})).await;
    assert_eq!(
        rig.refusal("views.update", json!({"view_id": pushed.message, "hash": hash, "view": second})).await,
        "hash_conflict"
    );
    rig.done("submit", json!({"conversation": "general", "user": "ann", "close": true})).await;
    let closed = socket.payload().await;
    assert_eq!((&closed["type"], &closed["view"]["id"]), (&json!("view_closed"), &json!(pushed.message)));
    rig.end().await;
}

#[tokio::test]
async fn triggers_are_good_once_and_not_for_long() {
    let rig = start_with(Limits { trigger_seconds: 0.5, ..Limits::none() }).await;
    let mut socket = rig.greeted().await;
    rig.done("command", json!({"conversation": "general", "user": "ann", "name": "ask"})).await;
    let trigger = socket.payload().await["trigger_id"].clone();
    let open = json!({"trigger_id": trigger, "view": view()});
    rig.ok("views.open", open.clone()).await;
    assert_eq!(rig.refusal("views.open", open).await, "exchanged_trigger_id");
    rig.done("limits", json!({"trigger_seconds": 0.0})).await;
    rig.done("command", json!({"conversation": "general", "user": "ann", "name": "ask"})).await;
    let trigger = socket.payload().await["trigger_id"].clone();
    assert_eq!(rig.refusal("views.open", json!({"trigger_id": trigger, "view": view()})).await, "expired_trigger_id");
    rig.end().await;
}

#[tokio::test]
async fn a_name_of_a_view_is_taken_once() {
    let rig = start().await;
    let mut socket = rig.greeted().await;
    let mut named = view();
    named["external_id"] = json!("one");
    for user in ["ann", "bob"] {
        rig.done("command", json!({"conversation": "general", "user": user, "name": "ask"})).await;
        let trigger = socket.payload().await["trigger_id"].clone();
        let (_, answer) = rig.call("views.open", json!({"trigger_id": trigger, "view": named})).await;
        assert_eq!(answer["error"], if user == "ann" { Value::Null } else { json!("duplicate_external_id") });
    }
    let me = rig.slack().transcript(Some("general"), 0);
    assert_eq!(me.iter().filter(|entry| format!("{:?}", entry.kind) == "Modal").count(), 1);
    rig.end().await;
}

#[tokio::test]
async fn shortcuts_and_homes_have_their_own_ways() {
    let rig = start().await;
    let mut socket = rig.greeted().await;
    let (_, ts) = rig.say("general", "ann", "hello").await;
    let user = socket.event().await["user"].clone();
    rig.done("shortcut", json!({"conversation": "general", "user": "ann", "callback_id": "explain", "message": ts}))
        .await;
    let payload = socket.payload().await;
    assert_eq!((&payload["type"], &payload["message"]["text"]), (&json!("message_action"), &json!("hello")));
    let home = json!({"type": "home", "blocks": [{"type": "section", "text": plain("welcome")}]});
    rig.ok("views.publish", json!({"user_id": user, "view": home})).await;
    assert_eq!(rig.last("dm:ann").text, "welcome");
    rig.end().await;
}

#[tokio::test]
async fn requests_of_people_that_make_no_sense_are_refused_with_the_reason() {
    let rig = start().await;
    let (_, ts) = rig.say("general", "ann", "hello").await;
    let mut told = Vec::new();
    for (verb, body) in [
        ("say", json!({"conversation": "general", "user": "ann"})),
        ("say", json!({"conversation": "", "user": "ann", "text": "x"})),
        ("say", json!({"conversation": "general", "text": "x"})),
        ("say", json!({"conversation": "dm:ann", "user": "bob", "text": "x"})),
        ("say", json!({"conversation": "general", "user": "ann", "text": "x", "reply_to": "9"})),
        ("say", json!({"conversation": "general", "user": "ann", "text": "x", "typo": 1})),
        ("edit", json!({"conversation": "general", "user": "bob", "message": ts, "text": "x"})),
        ("press", json!({"conversation": "general", "user": "ann", "message": ts, "button": "x"})),
        ("submit", json!({"conversation": "general", "user": "ann"})),
        ("react", json!({"conversation": "general", "user": "ann", "message": "9", "emoji": "eyes"})),
        ("raw", json!({"event": 5})),
        ("fault", json!({"kind": "flood"})),
        ("conversation", json!({"name": "dm:x", "kind": "channel"})),
        ("app", json!({})),
        ("events", json!({"url": "http://127.0.0.1:1/x"})),
        ("open", json!({"conversation": "general", "user": "ann"})),
    ] {
        let (status, answer) = rig.control(verb, body).await;
        let why = text_of(&answer["error"]);
        told.push(format!("{verb} {status} {}", why.split(" at line").next().unwrap_or_default()));
    }
    expect![[r#"
        say 400 text: nothing to say
        say 400 conversation: it needs a name
        say 400 user: it needs a name
        say 400 user: dm:ann is somebody else's direct conversation
        say 404 reply_to: no such message
        say 400 unknown field `typo`, expected one of `conversation`, `user`, `text`, `thread`, `reply_to`, `files`, `mention`, `language_code`, `locale`, `bot`, `broadcast`
        edit 400 message: written by somebody else
        press 404 button: the message has no button 'x'
        submit 404 view: nothing is open
        react 404 message: message_not_found
        raw 400 event: an event is an object
        fault 400 unknown variant `flood`, expected one of `rate_limit`, `error`, `drop`, `delay`, `duplicate`, `disconnect`, `close`, `cut`, `silence`, `refuse_markup`, `conflict`
        conversation 400 kind: direct conversations are called dm:NAME, and no others
        app 400 name: it needs one
        events 400 url: Connection refused (os error 111)
        open 400 conversation: only a direct one is opened so"#]].assert_eq(&told.join("\n"));
    rig.end().await;
}
