//! Calls that wait for people: cards, who may press what, and what becomes of it.

use std::{sync::Arc, time::Duration};

use conformance::{Entry, Options, People, Stage};
use contract::Platform;
use testkit::Gate;

cases! {
    "Calls that wait for people";
    an_approver_lets_a_call_run_and_its_card_shows_it: "P7 X5 R7";
    what_is_refused_is_told_with_by_whom: "X5";
    approving_the_second_of_two_runs_the_second: "P7";
    the_first_of_two_presses_counts_and_the_second_is_told_by_whom: "P8";
    who_may_not_answer_is_told_alone: "P9";
    an_answer_counts_after_a_kill_and_once: "P9 P10 D1";
    a_press_that_comes_too_late_is_told_so: "P9 X5";
    where_nobody_can_be_asked_it_is_told_at_once: "P5 P11 X5";
    a_preview_of_long_arguments_is_one_message_and_hides_secrets: "P12 R2 R4";
    a_call_that_waits_holds_nobody: "P13";
    a_yes_for_the_session_is_for_the_very_same_call: "P7";
    it_is_asked_and_answered_on_another_platform: "P9 P10";
    an_answer_can_be_typed: "P10 I9";
    a_no_can_have_a_reason: "X5 I9";
    an_approver_is_asked_privately: "P9";
}

/// The platform's id of a person.
async fn id_of(stage: &Stage, people: &People, name: &str) -> String {
    let before = turns(stage).await.len();
    people.say(&format!("dm:{name}"), name, "/noop a=x").await;
    loop {
        let turns = turns(stage).await;
        if turns.len() > before {
            return turns[0].sender.clone();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn turns(stage: &Stage) -> Vec<contract::records::TurnLine> {
    stage.gateway().turns(&Default::default()).await.expect("the store answers")
}

/// Calls of `once` are asked about, and those of `gate` that say so; bob and eve approve.
async fn asking_with(platform: Platform, gate: Gate, more: &str) -> Stage {
    let mut stage = Stage::at(platform, Options::default(), gate, None).await;
    let (bob, eve) = (id_of(&stage, &stage.people, "bob").await, id_of(&stage, &stage.people, "eve").await);
    let rules = format!(
        "approve: {{ once: {{}}, gate: {{ when: \"id == 'ask'\" }} }}\napprovers: {{ users: [\"id:{bob}\", \"id:{eve}\"] }}\n{more}"
    );
    // Also for lives that come.
    stage.options = Arc::new(Options::policy(platform, &rules));
    stage.swap(testkit::allow_lab_with(platform, &rules));
    stage
}

async fn asking(platform: Platform) -> Stage {
    asking_with(platform, Gate::opened(), "").await
}

fn is_card(entry: &Entry) -> bool {
    entry.buttons.iter().any(|button| button.text == "Allow once")
}

/// The card that shows these words.
async fn card(people: &People, conversation: &str, words: &str) -> Entry {
    people.sees(conversation, |entry| is_card(entry) && entry.text.contains(words)).await
}

/// What one person alone is told.
async fn told_alone(stage: &Stage, who: &str, words: &str) {
    let told = stage.people.sees("general", |entry| entry.text.contains(words)).await;
    assert_eq!((told.kind.as_str(), told.to.as_deref()), ("private", Some(who)), "{told:?}");
}

async fn an_approver_lets_a_call_run_and_its_card_shows_it(platform: Platform) {
    let stage = asking(platform).await;
    stage.people.mention("general", "ann", "/once id=x").await;
    let card = card(&stage.people, "general", "id: \"x\"").await;
    assert!(card.text.contains("Approval needed") && card.text.contains("once"), "{card:?}");
    let labels: Vec<_> = card.buttons.iter().map(|button| button.text.as_str()).collect();
    assert_eq!(labels, ["Allow once", "Allow in this session", "Deny", "Deny with a reason"]);
    assert_eq!(stage.gate.runs(), 0);
    stage.people.press("bob", &card, "Allow once").await;
    told_alone(&stage, "bob", "goes on").await;
    stage.people.reads("general", "was allowed by").await;
    testkit::until("it ran", || stage.gate.runs() == 1).await;
    // The card has no buttons any more.
    let chat = stage.people.chat("general").await;
    let now = chat.iter().find(|entry| entry.message == card.message).expect("it stands there");
    assert!(now.buttons.is_empty() && now.text.contains("was allowed by"), "{now:?}");
    stage.end().await;
}

async fn what_is_refused_is_told_with_by_whom(platform: Platform) {
    let stage = asking(platform).await;
    stage.people.mention("general", "ann", "/once id=x").await;
    let card = card(&stage.people, "general", "once").await;
    stage.people.press("eve", &card, "Deny").await;
    stage.people.sees("general", |entry| entry.is_said() && entry.text.contains("'once' was refused by")).await;
    assert_eq!(stage.gate.runs(), 0);
    stage.end().await;
}

async fn approving_the_second_of_two_runs_the_second(platform: Platform) {
    let stage = asking(platform).await;
    stage.people.mention("general", "ann", "/once id=first\n/once id=second").await;
    card(&stage.people, "general", "first").await;
    let second = card(&stage.people, "general", "second").await;
    stage.people.press("bob", &second, "Allow once").await;
    stage.gate.wait_for(1).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let log = stage.gate.log();
    assert_eq!(log.iter().filter(|line| line.starts_with("in ")).collect::<Vec<_>>(), ["in second"]);
    stage.end().await;
}

async fn the_first_of_two_presses_counts_and_the_second_is_told_by_whom(platform: Platform) {
    let stage = asking(platform).await;
    stage.people.mention("general", "ann", "/once id=x").await;
    let card = card(&stage.people, "general", "once").await;
    let press = async |who: &str| {
        let (message, button) = (card.message.clone().unwrap_or_default(), &card.button("Allow once").id);
        let message = message
            .parse::<i64>()
            .ok()
            .filter(|_| message.len() < 13)
            .map_or(message.clone().into(), serde_json::Value::from);
        let body = serde_json::json!({ "conversation": "general", "user": who, "message": message, "button": button });
        stage.people.try_post("press", body).await.0
    };
    let (bob, eve) = tokio::join!(press("bob"), press("eve"));
    stage.people.sees("general", |entry| entry.kind == "private" && entry.text.contains("goes on")).await;
    // Whoever still found the button.
    if bob == eve {
        let late = |entry: &Entry| entry.kind == "private" && entry.text.contains("was allowed already, by");
        stage.people.sees("general", late).await;
    }
    testkit::until("it ran", || stage.gate.runs() == 1).await;
    stage.end().await;
}

async fn who_may_not_answer_is_told_alone(platform: Platform) {
    let stage = asking(platform).await;
    stage.people.mention("general", "ann", "/once id=x").await;
    let mine = card(&stage.people, "general", "once").await;
    stage.people.press("mallory", &mine, "Allow once").await;
    told_alone(&stage, "mallory", "you are not an approver of this").await;
    stage.people.press("ann", &mine, "Allow in this session").await;
    stage
        .people
        .sees("general", |entry| entry.to.as_deref() == Some("ann") && entry.text.contains("not an approver"))
        .await;
    // An approver does not approve what they asked for themselves.
    stage.people.mention("general", "bob", "/once id=own").await;
    let own = card(&stage.people, "general", "own").await;
    stage.people.press("bob", &own, "Allow once").await;
    told_alone(&stage, "bob", "somebody else has to approve it").await;
    // What was copied into another conversation is no answer either.
    let approval = stage.gateway().approvals(9).await.expect("the store answers")[0].id;
    stage.people.say("dm:bob", "bob", &format!("/approve {approval}")).await;
    stage.people.sees("dm:bob", |entry| entry.text.contains("only where it was asked")).await;
    assert_eq!(stage.gate.runs(), 0);
    stage.end().await;
}

async fn an_answer_counts_after_a_kill_and_once(platform: Platform) {
    let mut stage = asking(platform).await;
    stage.people.mention("general", "ann", "/once id=x").await;
    let card = card(&stage.people, "general", "once").await;
    stage.parked().await;
    stage.kill();
    stage.start().await;
    stage.people.press("bob", &card, "Allow once").await;
    testkit::until("it ran", || stage.gate.runs() == 1).await;
    stage.people.reads("general", "was allowed by").await;
    stage.kill();
    stage.start().await;
    let approval = card.buttons[0].id.clone();
    let _ = stage.people.forge("eve", &card, &approval).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(stage.gate.runs(), 1, "an old press does nothing");
    stage.kill_and_end().await;
}

async fn a_press_that_comes_too_late_is_told_so(platform: Platform) {
    let stage = asking_with(platform, Gate::opened(), "approval: { expires: 1s }\n").await;
    stage.people.mention("general", "ann", "/once id=x").await;
    let card = card(&stage.people, "general", "once").await;
    stage.people.sees("general", |entry| entry.is_said() && entry.text.contains("nobody answered in time")).await;
    let approval = card.buttons[0].id.clone();
    if stage.people.forge("bob", &card, &approval).await {
        stage.people.reads("general", "Nobody answered in time").await;
    }
    assert_eq!(stage.gate.runs(), 0);
    stage.kill_and_end().await;
}

async fn where_nobody_can_be_asked_it_is_told_at_once(platform: Platform) {
    let rules = "approve: { once: {} }\napprovers: { users: [] }\n";
    let stage = Stage::with(platform, Options::policy(platform, rules)).await;
    stage.people.mention("general", "ann", "/once id=x").await;
    stage.people.sees("general", |entry| entry.is_said() && entry.text.contains("nobody can give one here")).await;
    assert_eq!(stage.gate.runs(), 0);
    stage.end().await;
}

async fn a_preview_of_long_arguments_is_one_message_and_hides_secrets(platform: Platform) {
    let stage = asking(platform).await;
    // As long as a person can write it there.
    let long = "```rust fn()``` ".repeat(100);
    let text = serde_json::json!({ "id": long, "api_key": "sk-live-secret" }).to_string();
    stage.people.mention("general", "ann", &format!("/once {text}")).await;
    let card = card(&stage.people, "general", "once").await;
    assert!(card.text.contains(" left out)") && card.text.contains("api_key: ***"), "{card:?}");
    assert_eq!(card.buttons.len(), 4);
    let chat = stage.people.chat("general").await;
    assert_eq!(chat.iter().filter(|entry| is_card(entry)).count(), 1);
    assert!(!stage.people.everything().await.contains("sk-live-secret"));
    stage.people.press("bob", &card, "Deny").await;
    stage.people.reads("general", "was refused by").await;
    stage.end().await;
}

async fn a_call_that_waits_holds_nobody(platform: Platform) {
    let stage = asking(platform).await;
    stage.people.mention("general", "ann", "/gate id=ask\n/gate id=one").await;
    let card = card(&stage.people, "general", "ask").await;
    stage.gate.wait_for(1).await;
    assert_eq!(stage.gate.log()[0], "in one");
    stage.people.mention("general", "gwen", "/gate id=two").await;
    stage.people.reads("general", "id: two").await;
    stage.people.press("bob", &card, "Allow once").await;
    let answer = stage.people.sees("general", |entry| entry.is_said() && entry.text.contains("id: ask")).await;
    assert!(answer.text.contains("id: one"), "{answer:?}");
    assert_eq!(stage.gate.runs(), 3);
    stage.end().await;
}

async fn a_yes_for_the_session_is_for_the_very_same_call(platform: Platform) {
    let stage = asking(platform).await;
    stage.people.mention("general", "ann", "/once id=x").await;
    let first = card(&stage.people, "general", "once").await;
    stage.people.press("bob", &first, "Allow in this session").await;
    testkit::until("it ran", || stage.gate.runs() == 1).await;
    // Where an answer opens a thread, that is the session.
    let more = match &first.thread {
        Some(thread) => serde_json::json!({ "mention": true, "thread": thread }),
        None => serde_json::json!({ "mention": true }),
    };
    stage.people.say_with("general", "ann", "/once id=x", more.clone()).await;
    testkit::until("it ran again", || stage.gate.runs() == 2).await;
    stage.people.say_with("general", "ann", "/once id=other", more).await;
    card(&stage.people, "general", "other").await;
    assert_eq!(stage.gate.runs(), 2);
    stage.end().await;
}

async fn it_is_asked_and_answered_on_another_platform(platform: Platform) {
    let other = if platform == Platform::Slack { Platform::Telegram } else { Platform::Slack };
    let options = || Options { beside: vec![other], ..Options::default() };
    let mut stage = Stage::with(platform, options()).await;
    let there = stage.people_of(other);
    let bob = id_of(&stage, &there, "bob").await;
    there.mention("general", "bob", "/noop a=x").await;
    let chat = there.sees("general", Entry::is_said).await.chat.expect("a conversation has its id");
    let rules = format!(
        "approve: {{ once: {{}} }}\napprovers: {{ users: [\"{other}:id:{bob}\"], deliver: [\"{other}:main/{chat}\"] }}\n"
    );
    stage.swap(testkit::allow_lab_with(platform, &rules));
    stage.people.say("dm:ann", "ann", "/once id=x").await;
    stage.people.reads("dm:ann", "waits until somebody approves it").await;
    let card = card(&there, "general", "once").await;
    assert!(card.text.contains(&format!("Asked in {platform}:main/")), "{card:?}");
    there.press("mallory", &card, "Allow once").await;
    there.reads("general", "you are not an approver of this").await;
    there.press("bob", &card, "Allow once").await;
    stage.people.reads("dm:ann", "id: x").await;
    there.reads("general", "was allowed by").await;
    assert_eq!(stage.gate.runs(), 1);
    stage.end().await;
}

async fn an_answer_can_be_typed(platform: Platform) {
    let stage = asking(platform).await;
    stage.people.mention("general", "ann", "/once id=x").await;
    card(&stage.people, "general", "once").await;
    let approval = stage.gateway().approvals(9).await.expect("the store answers")[0].id;
    stage.people.mention("general", "eve", &format!("/deny {approval} not today")).await;
    stage.people.sees("general", |entry| entry.is_said() && entry.text.contains("not today")).await;
    assert_eq!(stage.gate.runs(), 0);
    stage.end().await;
}

async fn an_approver_is_asked_privately(platform: Platform) {
    let mut stage = Stage::with(platform, Options::default()).await;
    let bob = id_of(&stage, &stage.people, "bob").await;
    let rules = format!("approve: {{ once: {{}} }}\napprovers: {{ users: [\"id:{bob}\"], deliver: [private] }}\n");
    stage.swap(testkit::allow_lab_with(platform, &rules));
    stage.people.say("dm:ann", "ann", "/once id=x").await;
    let card = card(&stage.people, "dm:bob", "once").await;
    stage.people.press("bob", &card, "Allow once").await;
    stage.people.reads("dm:ann", "id: x").await;
    let chat = stage.people.chat("dm:bob").await;
    stage.people.reads("dm:bob", "was allowed by").await;
    let cards = chat.iter().filter(|entry| entry.text.contains("id: \"x\"")).count();
    assert_eq!(cards, 1, "{chat:#?}");
    stage.end().await;
}

/// Where there are forms one asks for it; else the answer to the card says it.
async fn a_no_can_have_a_reason(platform: Platform) {
    let stage = asking(platform).await;
    stage.people.mention("general", "ann", "/once id=x").await;
    let card = card(&stage.people, "general", "once").await;
    let before = stage.people.transcript("general").await.last().map_or(0, |entry| entry.n);
    stage.people.press("eve", &card, "Deny with a reason").await;
    if platform == Platform::Telegram {
        told_alone(&stage, "eve", "send the reason as a reply to the question").await;
        let message = card.message.clone().expect("a card is a message");
        stage.people.say_to("general", "eve", "too much at once", &message).await;
    } else {
        stage.people.sees("general", |entry| entry.n > before && entry.kind == "modal").await;
        let values = serde_json::json!({ "why": "too much at once" });
        let sent = serde_json::json!({ "conversation": "general", "user": "eve", "values": values });
        stage.people.post("submit", sent).await;
    }
    stage.people.sees("general", |entry| entry.is_said() && entry.text.contains("too much at once")).await;
    stage.people.reads("general", "was refused by").await;
    assert_eq!(stage.gate.runs(), 0);
    stage.end().await;
}
