//! Commands, presses, forms and completions: what a client lets pass, and how a bot may answer.

use expect_test::expect;
use serde_json::{Value, json};
use sim::discord::Limits;

use crate::discord_rig::{BOT, Rig, Socket, start, start_with};

fn commands() -> Value {
    json!([
        {"name": "weather", "description": "d", "options": [
            {"name": "city", "description": "d", "type": 3, "required": true, "autocomplete": true, "max_length": 20},
            {"name": "days", "description": "d", "type": 4, "min_value": 1, "max_value": 7},
            {"name": "unit", "description": "d", "type": 3, "choices": [{"name": "Celsius", "value": "c"}, {"name": "Kelvin", "value": "k"}]},
            {"name": "fine", "description": "d", "type": 5}, {"name": "factor", "description": "d", "type": 10},
            {"name": "who", "description": "d", "type": 6}, {"name": "where", "description": "d", "type": 7},
            {"name": "file", "description": "d", "type": 11},
        ]},
        {"name": "tool", "description": "d", "options": [{"name": "files", "description": "d", "type": 2, "options": [
            {"name": "put", "description": "d", "type": 1, "options": [{"name": "n", "description": "d", "type": 4}]},
        ]}]},
    ])
}

async fn ready(rig: &Rig) -> Socket {
    let (socket, _) = rig.online().await;
    rig.ok(&format!("PUT applications/{BOT}/commands"), commands()).await;
    socket
}

/// Invokes a command and gives what the bot hears of it.
async fn invoke(rig: &Rig, socket: &mut Socket, args: Value) -> Value {
    rig.act("command", json!({"conversation": "general", "user": "ann", "name": "weather", "args": args})).await;
    socket.event("INTERACTION_CREATE").await
}

fn callback(event: &Value) -> String {
    let text = |field: &str| event[field].as_str().expect("a text");
    format!("POST interactions/{}/{}/callback", text("id"), text("token"))
}

fn webhook(event: &Value, verb: &str, rest: &str) -> String {
    format!("{verb} webhooks/{BOT}/{}{rest}", event["token"].as_str().expect("a token"))
}

#[tokio::test]
async fn options_arrive_typed_in_their_order_and_resolved() {
    let rig = start().await;
    let mut socket = ready(&rig).await;
    rig.say("general", "bob", "here").await;
    let args = json!({"who": "bob", "days": "3", "city": "Oslo", "unit": "Kelvin", "fine": true, "factor": 1.5, "where": "general", "file": {"name": "a.txt", "text": "inside"}});
    let event = invoke(&rig, &mut socket, args).await;
    let options = event["data"]["options"].as_array().expect("options");
    let seen: Vec<_> = options.iter().map(|one| format!("{} {} {}", one["name"], one["type"], one["value"])).collect();
    assert_eq!(
        &seen[..5],
        [r#""city" 3 "Oslo""#, r#""days" 4 3"#, r#""unit" 3 "k""#, r#""fine" 5 true"#, r#""factor" 10 1.5"#]
    );
    let resolved = &event["data"]["resolved"];
    let only = |kind: &str| resolved[kind].as_object().and_then(|all| all.values().next().cloned()).unwrap_or_default();
    assert_eq!(
        (&only("users")["username"], &only("members")["deaf"], &only("channels")["name"]),
        (&json!("bob"), &json!(false), &json!("general"))
    );
    let file = rig.http.get(only("attachments")["url"].as_str().expect("an address")).send().await.expect("an answer");
    assert_eq!(file.text().await.expect("text"), "inside");
    assert_eq!(
        (&event["member"]["user"]["username"], &event["user"], &event["context"]),
        (&json!("ann"), &Value::Null, &json!(0))
    );
    let call = json!({"conversation": "dm:ann", "user": "ann", "name": "tool files put", "args": {"n": 5}, "language_code": "zh-CN"});
    rig.act("command", call).await;
    let event = socket.event("INTERACTION_CREATE").await;
    assert_eq!(event["data"]["options"][0]["options"][0]["options"], json!([{"name": "n", "type": 4, "value": 5}]));
    assert_eq!(
        (&event["user"]["username"], &event["member"], &event["locale"]),
        (&json!("ann"), &Value::Null, &json!("zh-CN"))
    );
    rig.end().await;
}

#[tokio::test]
async fn a_client_lets_nothing_pass_that_does_not_fit() {
    let rig = start().await;
    let _socket = ready(&rig).await;
    let mut told = Vec::new();
    for (name, args) in [
        ("unknown", json!({})),
        ("weather", json!({})),
        ("weather", json!({"city": "Oslo", "days": 8})),
        ("weather", json!({"city": "Oslo", "days": "many"})),
        ("weather", json!({"city": "Oslo", "unit": "F"})),
        ("weather", json!({"city": "x".repeat(21)})),
        ("weather", json!({"city": "Oslo", "other": 1})),
        ("weather", json!({"city": "Oslo", "who": "nobody"})),
        ("tool", json!({})),
        ("tool files get", json!({})),
    ] {
        let call = json!({"conversation": "general", "user": "ann", "name": name, "args": args});
        let (status, answer) = rig.control("command", call).await;
        told.push(format!("{status} {}", answer["error"].as_str().unwrap_or_default()));
    }
    expect![[r#"
        404 name: no bot has registered /unknown here
        400 args: 'city' is required
        400 args: 'days' is above 7
        400 args: 'days' is no whole number
        400 args: 'unit' is none of the choices
        400 args: 'city' has 21 characters, allowed are 0 to 20
        400 args: the command has no option 'other'
        400 args: nobody is called 'nobody'
        400 name: a sub-command is needed
        404 name: there is no sub-command 'get'"#]]
    .assert_eq(&told.join("\n"));
    rig.end().await;
}

#[tokio::test]
async fn an_answer_is_given_once_at_once_or_after_thinking() {
    let rig = start().await;
    let mut socket = ready(&rig).await;
    let event = invoke(&rig, &mut socket, json!({"city": "Oslo"})).await;
    assert!(rig.refusal(&webhook(&event, "POST", ""), json!({"content": "early"})).await.contains("10015"));
    let answer = json!({"type": 4, "data": {"content": "**rain**", "flags": 64}});
    rig.ok(&callback(&event), answer.clone()).await;
    let entry = rig.last("general");
    assert_eq!(
        (entry.kind, entry.to.as_deref(), entry.text.as_str()),
        (sim::discord::transcript::Kind::Private, Some("ann"), "rain")
    );
    assert!(rig.refusal(&callback(&event), answer.clone()).await.contains("40060"));
    assert!(rig.refusal("POST interactions/5/x/callback", answer).await.contains("10062"));

    let event = invoke(&rig, &mut socket, json!({"city": "Oslo"})).await;
    let answer = rig.ok(&(callback(&event) + "?with_response=true"), json!({"type": 5})).await;
    assert_eq!(answer["resource"]["message"]["flags"], 128);
    assert_eq!(rig.last("general").text, "toolgate is thinking…");
    let original = webhook(&event, "PATCH", "/messages/@original");
    let edited = rig.ok(&original, json!({"content": "sun"})).await;
    assert_eq!((&edited["flags"], &edited["edited_timestamp"]), (&json!(0), &Value::Null));
    assert_eq!(
        (rig.last("general").kind, rig.last("general").text.as_str()),
        (sim::discord::transcript::Kind::Message, "sun")
    );
    rig.ok(&original, json!({"content": "more sun"})).await;
    assert_eq!(rig.last("general").kind, sim::discord::transcript::Kind::Edit);
    let more = rig.ok(&webhook(&event, "POST", ""), json!({"content": "later", "flags": 64})).await;
    assert_eq!(rig.last("general").to.as_deref(), Some("ann"));
    let id = more["id"].as_str().expect("an id");
    rig.ok(&webhook(&event, "DELETE", &format!("/messages/{id}")), Value::Null).await;
    assert_eq!(rig.ok(&webhook(&event, "GET", "/messages/@original"), Value::Null).await["content"], "more sun");
    assert_eq!(rig.rules(), ["follow_before_answer", "answered_twice", "unknown_interaction"]);
    rig.end().await;
}

#[tokio::test]
async fn an_interaction_waits_three_seconds_and_its_token_holds_a_quarter_of_an_hour() {
    let rig = start_with(Limits { interaction_seconds: 0.0, ..Limits::none() }).await;
    let mut socket = ready(&rig).await;
    let event = invoke(&rig, &mut socket, json!({"city": "Oslo"})).await;
    assert!(rig.refusal(&callback(&event), json!({"type": 5})).await.contains("10062"));
    assert_eq!(rig.last("general").text, "The application did not respond");
    assert_eq!(rig.rules(), ["interaction_unanswered", "interaction_late"]);
    let limits = Limits { token_seconds: 0.0, ..Limits::none() };
    rig.discord().set_limits(limits);
    let event = invoke(&rig, &mut socket, json!({"city": "Oslo"})).await;
    rig.ok(&callback(&event), json!({"type": 5, "data": {"flags": 64}})).await;
    let late = rig.refusal(&webhook(&event, "PATCH", "/messages/@original"), json!({"content": "x"})).await;
    assert_eq!(late, "401 50027 Invalid Webhook Token");
    rig.end().await;
}

#[tokio::test]
async fn a_button_changes_its_message_or_answers_below_it() {
    let rig = start().await;
    let mut socket = ready(&rig).await;
    let channel = rig.say("general", "ann", "hi").await.0;
    let parts = json!([{"type": 1, "components": [
        {"type": 2, "style": 4, "label": "Go", "custom_id": "go"}, {"type": 2, "style": 5, "label": "Read", "url": "https://e.test"},
        {"type": 2, "style": 1, "label": "No", "custom_id": "no", "disabled": true},
    ]}, {"type": 1, "components": [{"type": 3, "custom_id": "pick", "options": [{"label": "A", "value": "a"}]}]}]);
    let sent = rig.ok(&format!("POST channels/{channel}/messages"), json!({"content": "x", "components": parts})).await;
    let buttons: Vec<_> = rig
        .last("general")
        .buttons
        .iter()
        .map(|one| format!("{} {} {} {}", one.id, one.text, one.row, one.style))
        .collect();
    assert_eq!(buttons, ["go Go 0 danger", " Read 0 link", "no No 0 primary", "pick  1 select"]);
    let press = |button: &str, values: Value| json!({"conversation": "general", "user": "ann", "message": sent["id"], "button": button, "values": values});
    for refused in ["Read", "No", "other"] {
        assert!(rig.control("press", press(refused, json!([]))).await.0 >= 400, "{refused}");
    }
    rig.act("press", press("Go", json!([]))).await;
    let event = socket.event("INTERACTION_CREATE").await;
    assert_eq!(
        (&event["type"], &event["data"]["custom_id"], &event["message"]["id"]),
        (&json!(3), &json!("go"), &sent["id"])
    );
    rig.ok(&callback(&event), json!({"type": 7, "data": {"content": "gone", "components": []}})).await;
    assert_eq!((rig.last("general").text.as_str(), rig.last("general").buttons.len()), ("gone", 0));
    rig.ok(
        &format!("PATCH channels/{channel}/messages/{}", sent["id"].as_str().expect("an id")),
        json!({"components": parts}),
    )
    .await;
    rig.act("press", press("pick", json!(["a"]))).await;
    let event = socket.event("INTERACTION_CREATE").await;
    assert_eq!(event["data"]["values"], json!(["a"]));
    rig.ok(&callback(&event), json!({"type": 6})).await;
    rig.ok(&webhook(&event, "PATCH", "/messages/@original"), json!({"content": "picked"})).await;
    assert_eq!(rig.last("general").text, "picked");
    rig.end().await;
}

#[tokio::test]
async fn a_form_is_shown_checked_and_sent_off() {
    let rig = start().await;
    let mut socket = ready(&rig).await;
    let input = |label: Value, id: &str, least: u64| json!({"type": 4, "custom_id": id, "style": 1, "label": label, "min_length": least, "max_length": 10});
    let form = json!({"title": "Report", "custom_id": "f", "components": [
        {"type": 1, "components": [input(json!("What?"), "what", 2)]},
        {"type": 18, "label": "Which?", "component": {"type": 3, "custom_id": "which", "options": [{"label": "A", "value": "a"}]}},
    ]});
    for (field, value) in [
        ("title", json!("x".repeat(46))),
        ("components", json!([])),
        ("custom_id", json!("")),
        ("components", json!([{"type": 18, "label": "x".repeat(46), "component": input(Value::Null, "a", 0)}])),
    ] {
        let event = invoke(&rig, &mut socket, json!({"city": "Oslo"})).await;
        let mut bad = form.clone();
        bad[field] = value;
        assert!(
            rig.refusal(&callback(&event), json!({"type": 9, "data": bad})).await.starts_with("400 50035"),
            "{field}"
        );
        rig.ok(&callback(&event), json!({"type": 9, "data": form})).await;
    }
    let entry = rig.last("general");
    assert_eq!(
        (entry.kind, entry.text.as_str(), entry.to.as_deref()),
        (sim::discord::transcript::Kind::Modal, "Report\nWhat?\nWhich?", Some("ann"))
    );
    let send = |values: Value| json!({"conversation": "general", "user": "ann", "interaction": entry.interaction, "values": values});
    for values in [
        json!({}),
        json!({"What?": "x", "which": "a"}),
        json!({"What?": "fine", "which": "b"}),
        json!({"What?": "fine", "which": "a", "else": 1}),
    ] {
        assert_eq!(rig.control("submit", send(values.clone())).await.0, 400, "{values}");
    }
    rig.act("submit", send(json!({"What?": "fine", "which": "a"}))).await;
    let event = socket.event("INTERACTION_CREATE").await;
    assert_eq!((&event["type"], &event["data"]["custom_id"]), (&json!(5), &json!("f")));
    assert_eq!(event["data"]["components"][0]["components"][0]["value"], "fine");
    assert_eq!(event["data"]["components"][1]["component"]["values"], json!(["a"]));
    assert!(rig.refusal(&callback(&event), json!({"type": 9, "data": form})).await.contains("50035"));
    rig.ok(&callback(&event), json!({"type": 4, "data": {"content": "noted"}})).await;
    rig.end().await;
}

#[tokio::test]
async fn what_is_typed_is_completed() {
    let rig = start().await;
    let mut socket = ready(&rig).await;
    let typed = json!({"conversation": "general", "user": "ann", "name": "weather", "field": "city", "typed": "Os", "args": {"days": 2}});
    let answer = async {
        let event = socket.event("INTERACTION_CREATE").await;
        let focused = json!({"name": "city", "type": 3, "value": "Os", "focused": true});
        assert_eq!((&event["type"], &event["data"]["options"][0]), (&json!(4), &focused));
        let many: Vec<_> = (0..26).map(|n| json!({"name": format!("n{n}"), "value": "v"})).collect();
        assert!(rig.refusal(&callback(&event), json!({"type": 8, "data": {"choices": many}})).await.contains("50035"));
        rig.ok(&callback(&event), json!({"type": 8, "data": {"choices": [{"name": "Oslo", "value": "oslo"}]}})).await;
    };
    let (found, ()) = tokio::join!(rig.act("autocomplete", typed), answer);
    assert_eq!(found["choices"], json!([{"name": "Oslo", "value": "oslo"}]));
    let other = json!({"conversation": "general", "user": "ann", "name": "weather", "field": "days", "typed": 2});
    assert_eq!(rig.control("autocomplete", other).await.0, 400);
    rig.end().await;
}

#[tokio::test]
async fn commands_are_checked_as_they_are_registered() {
    let rig = start().await;
    let call = format!("POST applications/{BOT}/commands");
    let option = |changes: Value| {
        let mut option = json!({"name": "o", "description": "d", "type": 3});
        changes.as_object().into_iter().flatten().for_each(|(field, value)| option[field] = value.clone());
        json!({"name": "c", "description": "d", "options": [option]})
    };
    let many = |n: usize| {
        (0..n)
            .map(|n| json!({"name": format!("n{n}"), "description": "d", "type": 3, "value": "v"}))
            .collect::<Vec<_>>()
    };
    for (command, rule) in [
        (json!({"name": "Upper", "description": "d"}), "command_name"),
        (json!({"name": "two words", "description": "d"}), "command_name"),
        (json!({"name": "x".repeat(33), "description": "d"}), "command_name"),
        (json!({"name": "c"}), "required_field"),
        (json!({"name": "c", "description": "x".repeat(101)}), "command_description"),
        (json!({"name": "c", "description": "d", "options": many(26)}), "command_options"),
        (
            json!({"name": "c", "description": "d", "options": [{"name": "a", "description": "d", "type": 3}, {"name": "b", "description": "d", "type": 3, "required": true}]}),
            "required_first",
        ),
        (
            json!({"name": "c", "description": "d", "options": [{"name": "a", "description": "d", "type": 1}, {"name": "b", "description": "d", "type": 3}]}),
            "command_mixed",
        ),
        (option(json!({"type": 12})), "choice"),
        (option(json!({"choices": many(26)})), "option_choices"),
        (option(json!({"choices": many(1), "autocomplete": true})), "option_autocomplete"),
        (option(json!({"choices": [{"name": "x".repeat(101), "value": "v"}]})), "choice_name"),
        (option(json!({"choices": [{"name": "x", "value": 1}]})), "choice_value"),
        (option(json!({"type": 4, "min_value": 1.5})), "option_range"),
        (option(json!({"type": 4, "min_value": 2, "max_value": 1})), "option_range"),
        (option(json!({"max_length": 6_001})), "option_length"),
        (
            json!({"name": "c", "description": "d", "options": (0..25).map(|n| json!({"name": format!("o{n}"), "description": "d", "type": 3, "choices": (0..5).map(|c| json!({"name": format!("{c}{}", "x".repeat(70)), "value": format!("{c}")})).collect::<Vec<_>>()})).collect::<Vec<_>>()}),
            "command_size",
        ),
    ] {
        let (status, answer) = rig.call(&call, command.clone()).await;
        assert_eq!((status, rig.rules().pop()), (400, Some(rule)), "{command} {answer}");
    }
    let first = rig.ok(&call, option(json!({}))).await;
    assert_eq!(
        rig.ok(&call, option(json!({"required": true}))).await["id"],
        first["id"],
        "the same name is the same command"
    );
    let all: Vec<_> = (0..101).map(|n| json!({"name": format!("c{n}"), "description": "d"})).collect();
    let put = format!("PUT applications/{BOT}/commands");
    assert!(rig.refusal(&put, json!(all)).await.contains("30032"));
    assert_eq!(rig.ok(&put, json!(all[..100])).await.as_array().map(Vec::len), Some(100));
    assert!(rig.refusal("PUT applications/5/commands", json!([])).await.starts_with("403"));
    rig.end().await;
}

#[tokio::test]
async fn commands_of_a_guild_are_its_own_and_creates_are_counted() {
    let rig = start_with(Limits { commands_per_day: 2, ..Limits::none() }).await;
    rig.online().await;
    let guild = rig.ok("GET users/@me/guilds", Value::Null).await[0]["id"].as_str().expect("an id").to_owned();
    let at = format!("applications/{BOT}/guilds/{guild}/commands");
    let made = rig.ok(&format!("POST {at}"), json!({"name": "here", "description": "d"})).await;
    let names = async |conversation: &str| {
        let menu = rig.control_get(&format!("menu?conversation={conversation}")).await;
        menu["commands"].as_array().into_iter().flatten().map(|one| one["name"].clone()).collect::<Vec<_>>()
    };
    rig.say("dm:ann", "ann", "x").await;
    rig.ok(
        &format!("POST applications/{BOT}/commands"),
        json!({"name": "guilds", "description": "d", "contexts": [0]}),
    )
    .await;
    assert_eq!((names("general").await, names("dm:ann").await), (vec![json!("here"), json!("guilds")], vec![]));
    assert!(rig.refusal(&format!("POST {at}"), json!({"name": "third", "description": "d"})).await.contains("30034"));
    let id = made["id"].as_str().expect("an id");
    assert_eq!(rig.ok(&format!("PATCH {at}/{id}"), json!({"description": "new"})).await["description"], "new");
    rig.ok(&format!("DELETE {at}/{id}"), Value::Null).await;
    assert!(rig.refusal(&format!("GET {at}/{id}"), Value::Null).await.contains("10063"));
    rig.end().await;
}
