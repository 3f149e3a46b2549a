//! Buttons, reactions, private answers, forms and commands: what a person presses and fills in.

use std::time::Duration;

use conformance::{Entry, Options, Stage};
use contract::{Action, Platform, TurnId};
use serde_json::{Value, json};
use testkit::Gate;

use crate::tools::{echoing, failing};

cases! {
    "Buttons, forms, commands, and what one person alone sees";
    cancel_stops_what_runs: "R8";
    a_reaction_stops_what_runs: "R8";
    details_shows_the_tree: "R8 X3";
    try_again_runs_it_again_and_a_double_press_once: "P8 P10";
    what_must_not_run_twice_has_no_try_again: "R8 E2";
    buttons_work_after_a_restart: "P10";
    another_person_cannot_stop_it_and_is_told_alone: "P9";
    a_forged_button_does_nothing: "P1 P10";
    an_error_is_seen_by_its_sender_alone: "R8" on [Discord Slack] since "nothing can be shown to one person of a group";
    a_command_is_answered_where_it_was_given: "R8";
    options_arrive_with_their_types: "T1 R7" on [Discord] since "commands are text, with the types of the tool's schema";
    values_are_offered_while_they_are_typed: "R7" on [Discord] since "the platform does not ask for completions";
    a_command_that_lacks_something_opens_a_form: "R8" on [Discord Slack] since "the platform has no forms; what is missing is said in words";
    what_is_wrong_in_a_form_is_said_and_can_be_corrected: "R8" on [Discord Slack] since "the platform has no forms";
    a_command_that_lacks_something_is_told_how_to_write_it: "T10" on [Telegram] since "a form asks for it";
    the_menu_shows_what_may_be_used_and_is_registered_when_it_changed: "R7" on [Discord Telegram] since "slash commands stand in the app's manifest and cannot be registered by a bot";
    more_tools_than_a_menu_takes_are_trimmed_and_stay_reachable: "R7" on [Discord Telegram] since "slash commands stand in the app's manifest";
}

/// Something that fails, so that it has buttons.
async fn failed(stage: &Stage, conversation: &str, user: &str) -> Entry {
    match conversation.starts_with("dm:") {
        true => stage.people.say(conversation, user, "/away").await,
        false => stage.people.mention(conversation, user, "/away").await,
    };
    stage.people.reads(conversation, "not there").await
}

async fn cancel_stops_what_runs(platform: Platform) {
    let stage = Stage::gated(platform).await;
    stage.people.say("dm:ann", "ann", "/gate id=A").await;
    let progress = stage.people.sees("dm:ann", |entry| !entry.buttons.is_empty()).await;
    stage.people.press("ann", &progress, "Cancel").await;
    let stopped = stage.people.sees("dm:ann", |entry| entry.is_said() && entry.text.contains("Stopped")).await;
    assert!(stopped.text.contains("cancelled"), "{stopped:?}");
    testkit::until("it is left", || stage.gate.inside() == 0).await;
    // A press too late is answered, and does nothing.
    stage.end().await;
}

async fn a_reaction_stops_what_runs(platform: Platform) {
    let stage = Stage::gated(platform).await;
    let asked = stage.people.say("dm:ann", "ann", "/gate id=A").await;
    stage.gate.wait_for(1).await;
    stage.people.react("dm:ann", "ann", &asked, stage.people.thumb()).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(stage.gate.inside(), 1, "another emoji says nothing");
    stage.people.react("dm:ann", "ann", &asked, stage.people.cross()).await;
    stage.people.sees("dm:ann", |entry| entry.is_said() && entry.text.contains("Stopped")).await;
    assert_eq!(stage.gate.inside(), 0);
    stage.end().await;
}

async fn details_shows_the_tree(platform: Platform) {
    let stage = Stage::with(platform, failing()).await;
    let error = failed(&stage, "dm:ann", "ann").await;
    stage.people.press("ann", &error, "Details").await;
    stage.people.sees("dm:ann", |entry| entry.n > error.n && entry.is_said() && entry.text.contains("turn")).await;
    stage.end().await;
}

async fn try_again_runs_it_again_and_a_double_press_once(platform: Platform) {
    let stage = Stage::with(platform, failing()).await;
    let error = failed(&stage, "dm:ann", "ann").await;
    for _ in 0..2 {
        stage.people.press("ann", &error, "Try again").await;
    }
    let turns = async || stage.gateway().turns(&Default::default()).await.expect("the store answers").len();
    while turns().await < 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    stage.people.sees("dm:ann", |entry| entry.n > error.n && entry.is_said() && entry.text.contains("not there")).await;
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert_eq!(turns().await, 2, "a double press is one");
    stage.end().await;
}

async fn what_must_not_run_twice_has_no_try_again(platform: Platform) {
    let stage = Stage::with(platform, failing()).await;
    stage.people.say("dm:ann", "ann", "/risky").await;
    let error = stage.people.sees("dm:ann", |entry| entry.is_said() && !entry.buttons.is_empty()).await;
    let labels: Vec<_> = error.buttons.iter().map(|button| button.text.as_str()).collect();
    assert_eq!(labels, ["Details"]);
    // Whoever writes such a button by hand is not let in either: the platform refuses what the message does not carry.
    stage.end().await;
}

async fn buttons_work_after_a_restart(platform: Platform) {
    let mut stage = Stage::with(platform, failing()).await;
    let error = failed(&stage, "dm:ann", "ann").await;
    stage.restart().await;
    stage.people.press("ann", &error, "Details").await;
    stage.people.sees("dm:ann", |entry| entry.n > error.n && entry.is_said() && entry.text.contains("turn")).await;
    stage.kill();
    stage.start().await;
    stage.people.press("ann", &error, "Try again").await;
    stage.people.sees("dm:ann", |entry| entry.n > error.n && entry.is_said() && entry.text.contains("not there")).await;
    // A press that was taken and answered comes again when the process died before it noted so: Discord refuses the second
    // answer, and nobody sees anything.
    stage.end_but_for(&["answered_twice"]).await;
}

async fn another_person_cannot_stop_it_and_is_told_alone(platform: Platform) {
    let stage = Stage::gated(platform).await;
    stage.people.mention("general", "ann", "/gate id=A").await;
    let progress = stage.people.sees("general", |entry| !entry.buttons.is_empty()).await;
    stage.people.press("bob", &progress, "Cancel").await;
    let told = stage.people.sees("general", |entry| entry.text.contains("only the one who asked")).await;
    assert_eq!((told.kind.as_str(), told.to.as_deref()), ("private", Some("bob")), "{told:?}");
    assert_eq!(stage.gate.inside(), 1);
    stage.gate.open();
    stage.people.reads("general", "id: A").await;
    stage.end().await;
}

async fn a_forged_button_does_nothing(platform: Platform) {
    let stage = Stage::gated(platform).await;
    stage.people.say("dm:ann", "ann", "/gate id=A").await;
    let progress = stage.people.sees("dm:ann", |entry| !entry.buttons.is_empty()).await;
    let (turn, _) = stage.running().await;
    for data in ["cancel:", "again:01ARZ3NDEKTSV4RRFFQ69G5FAV", "rm -rf", &Action::Details(TurnId::new()).to_string()] {
        assert!(stage.people.forge("mallory", &progress, data).await, "the platform would bring it");
    }
    // Somebody who knows the number of a turn may not stop it either.
    assert!(stage.people.forge("mallory", &progress, &Action::Cancel(turn).to_string()).await);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(stage.gate.inside(), 1);
    stage.gate.open();
    stage.people.reads("dm:ann", "id: A").await;
    assert_eq!(stage.gate.runs(), 1);
    stage.end_but_for(&stage_rules()).await;
}

/// Answers to presses that the platform did not make itself.
fn stage_rules() -> [&'static str; 7] {
    [
        "unknown_interaction",
        "answered_twice",
        "query_id",
        "trigger",
        "unknown_response_url",
        "not_found",
        "response_url",
    ]
}

async fn an_error_is_seen_by_its_sender_alone(platform: Platform) {
    let stage = Stage::new(platform).await;
    stage.people.offers("general", "noop").await;
    stage.people.command("general", "ann", "crash", Value::Null).await;
    let error = stage.people.reads("general", "panic").await;
    assert_eq!(error.to.as_deref(), Some("ann"), "{error:?}");
    let chat = stage.people.transcript("general").await;
    let public = chat.iter().filter(|entry| entry.is_bot() && entry.to.is_none());
    assert!(public.clone().all(|entry| !entry.text.contains("panic")), "{chat:#?}");
    stage.end().await;
}

async fn a_command_is_answered_where_it_was_given(platform: Platform) {
    let stage = Stage::new(platform).await;
    for place in ["general", "dm:ann"] {
        stage.people.offers(place, "gate").await;
        stage.people.command(place, "ann", "gate", json!({ "id": "two words" })).await;
        let answer = stage.people.reads(place, "id: two words").await;
        assert_eq!(answer.to, None, "{answer:?}");
    }
    stage.end().await;
}

/// A tool with a field of each type.
const TYPED: &str = "---\nname: typed\ntoolset: lab\ndescription: Takes all types\npermissions: [read]\n\
    parameters: { type: object, properties: { s: { type: string }, i: { type: integer }, n: { type: number }, \
    b: { type: boolean }, e: { type: string, enum: [x, y] } } }\nendpoint: { type: native, name: echo }\n";

async fn options_arrive_with_their_types(platform: Platform) {
    let stage = Stage::with(platform, echoing(TYPED)).await;
    stage.people.offers("general", "typed").await;
    let args = json!({ "s": "007", "i": 7, "n": 0.5, "b": true, "e": "x" });
    stage.people.command("general", "ann", "typed", args).await;
    let answer = stage.people.sees("general", |entry| entry.is_said() && entry.text.contains("007")).await;
    for words in [r#""s":"007""#, r#""i":7"#, r#""n":0.5"#, r#""b":true"#, r#""e":"x""#] {
        assert!(answer.text.contains(words), "{words}: {answer:?}");
    }
    // A client does not send what the type does not allow.
    let body = json!({ "conversation": "general", "user": "ann", "name": "typed", "args": { "i": "seven" } });
    assert_eq!(stage.people.try_post("command", body).await.0, 400);
    stage.end().await;
}

/// A tool whose values are more than a menu of choices takes.
fn many_values() -> Options {
    let values: Vec<String> = (0..40).map(|n| format!("city_{n}")).collect();
    let tools = format!(
        "---\nname: visit\ntoolset: lab\ndescription: Visits a city\npermissions: [read]\n\
         parameters: {{ type: object, required: [city], properties: {{ city: {{ type: string, enum: [{}] }} }} }}\n\
         endpoint: {{ type: native, name: noop }}\n",
        values.join(", ")
    );
    Options { tools, ..Options::default() }
}

async fn values_are_offered_while_they_are_typed(platform: Platform) {
    let stage = Stage::with(platform, many_values()).await;
    stage.people.offers("general", "visit").await;
    let body = json!({ "conversation": "general", "user": "ann", "name": "visit", "field": "city", "typed": "city_3" });
    let offered = stage.people.post("autocomplete", body).await;
    let choices = offered["choices"].as_array().expect("they are offered");
    assert!(!choices.is_empty() && choices.len() <= 25, "{offered}");
    assert!(
        choices.iter().all(|choice| choice["value"].as_str().is_some_and(|value| value.contains("city_3"))),
        "{offered}"
    );
    stage.end().await;
}

/// A tool whose text is better written in a form.
const LETTER: &str = "---\nname: letter\ntoolset: lab\ndescription: Writes a letter\npermissions: [read]\n\
    parameters: { type: object, required: [to, text], properties: { to: { type: string, minLength: 2 }, \
    text: { type: string, maxLength: 3000, pattern: '[.]$' } } }\n\
    endpoint: { type: native, name: echo }\n";

/// Opens the form of the tool `letter`.
pub(crate) async fn form(stage: &Stage) -> Entry {
    stage.people.offers("general", "letter").await;
    let args = match stage.platform {
        Platform::Discord => json!({ "to": "bob" }),
        _ => Value::Null,
    };
    let before = stage.people.transcript("general").await.last().map_or(0, |entry| entry.n);
    stage.people.command("general", "ann", "letter", args).await;
    stage.people.sees("general", |entry| entry.n > before && entry.kind == "modal").await
}

async fn submit(stage: &Stage, values: Value) {
    stage.people.post("submit", json!({ "conversation": "general", "user": "ann", "values": values })).await;
}

/// With the tool `letter`.
pub(crate) fn letters() -> Options {
    echoing(LETTER)
}

async fn a_command_that_lacks_something_opens_a_form(platform: Platform) {
    let stage = Stage::with(platform, letters()).await;
    form(&stage).await;
    let values = match platform {
        Platform::Discord => json!({ "text": "two lines & <b>." }),
        _ => json!({ "to": "bob", "text": "two lines & <b>." }),
    };
    submit(&stage, values).await;
    let answer = stage.people.sees("general", |entry| entry.is_said() && entry.text.contains("lines & <b>")).await;
    assert!(answer.text.contains("bob"), "{answer:?}");
    stage.end().await;
}

async fn what_is_wrong_in_a_form_is_said_and_can_be_corrected(platform: Platform) {
    let stage = Stage::with(platform, letters()).await;
    let first = form(&stage).await;
    // What a client lets through, and the tool's schema does not.
    let values = |text: &str| match platform {
        Platform::Discord => json!({ "text": text }),
        _ => json!({ "to": "bob", "text": text }),
    };
    submit(&stage, values("without an end")).await;
    let is_told =
        |entry: &Entry| entry.n > first.n && entry.is_bot() && entry.text.contains("text") && entry.kind != "menu";
    let told = stage.people.sees("general", is_told).await;
    assert!(told.kind == "modal" || told.to.as_deref() == Some("ann"), "{told:?}");
    if told.kind != "modal" {
        form(&stage).await;
    }
    submit(&stage, values("as it should be.")).await;
    stage.people.sees("general", |entry| entry.is_said() && entry.text.contains("as it should be.")).await;
    stage.end().await;
}

async fn a_command_that_lacks_something_is_told_how_to_write_it(platform: Platform) {
    let stage = Stage::with(platform, letters()).await;
    stage.people.say("dm:ann", "ann", "/letter to=b").await;
    let told = stage.people.reads("dm:ann", "args.invalid").await;
    assert!(told.text.contains("text") && told.text.contains("usage: /letter"), "{told:?}");
    stage.end().await;
}

async fn the_menu_shows_what_may_be_used_and_is_registered_when_it_changed(platform: Platform) {
    let mut stage = Stage::new(platform).await;
    stage.people.offers("general", "gate").await;
    let shown = stage.people.get("menu?conversation=general").await.to_string();
    assert!(shown.contains("\"help\"") && !shown.contains("secret_thing"), "{shown}");
    let first = stage.people.registrations().await;
    stage.restart().await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(stage.people.registrations().await, first, "unchanged, it is left alone");
    stage.swap(testkit::allow_lab_with(platform, "tools: { deny: [gate] }"));
    while stage.people.get("menu?conversation=general").await["commands"].to_string().contains("\"gate\"") {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(stage.people.registrations().await > first);
    stage.end().await;
}

async fn more_tools_than_a_menu_takes_are_trimmed_and_stay_reachable(platform: Platform) {
    let tool = |n: usize| {
        format!(
            "---\nname: tool_{n:03}\ntoolset: lab\ndescription: Tool {n}\npermissions: [read]\nendpoint: {{ type: native, name: noop }}\n"
        )
    };
    let tools: String = (0..120).map(tool).collect();
    let stage = Stage::at(platform, Options { tools, ..Options::default() }, Gate::opened(), None).await;
    stage.people.offers("general", "help").await;
    let menu = stage.people.get("menu?conversation=general").await;
    let shown = menu["commands"].as_array().map_or(0, Vec::len);
    assert!((20..=100).contains(&shown), "{shown}");
    stage.people.say("dm:ann", "ann", "/tool_119").await;
    stage.people.sees("dm:ann", |entry| entry.is_said() && !entry.text.contains("Not available")).await;
    stage.end().await;
}
