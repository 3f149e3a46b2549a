//! An answer is seen while it is being made: natively where the platform has a form for it, as an edited message elsewhere;
//! and whatever becomes of that, it is there once and whole.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use conformance::{Entry, Options, Stage};
use contract::{Platform, reply::DUPLICATE_MARK};
use serde_json::json;
use testkit::{Death, Gate, Scripted, model};

cases! {
    "Answers in the making";
    an_answer_in_the_making_grows_in_one_message_and_takes_it_over: "R6 D4";
    a_long_answer_in_the_making_is_cut_to_one_message_and_goes_on_in_others: "R6 R4";
    an_answer_in_the_making_is_streamed_in_a_thread_and_drawn_whole_at_its_end: "R6 D4" on [Slack] since "nothing else has streams";
    a_draft_leaves_no_message_and_the_answer_is_one: "R6 D4" on [Telegram] since "nothing else has drafts";
    the_button_of_a_draft_stops_the_answer: "R6 E4" on [Telegram] since "nothing else has drafts";
    where_the_platform_refuses_its_own_form_a_message_is_edited: "R6" on [Telegram Slack] since "Discord has no other form than edits";
    an_answer_that_is_begun_anew_is_there_once: "R6 D4";
    what_runs_has_its_buttons_also_after_a_draft: "R6";
    a_kill_in_the_middle_of_an_answer_in_the_making_leaves_it_once: "R6 D1";
    a_kill_at_any_step_of_an_answer_in_the_making_leaves_it_once_or_says_so: "R6 D1";
}

const TEXT: &str = "**Bold** at first, then `code` & <b>angles</b> for @everyone:\n\n```rust\nfn main() {\n    println!(\"a < b\");\n}\n```\n\n- one\n- two, with a [link](https://example.org/a?b=c)\n\nThe end.";

/// What the text looks like when it is whole: with the platform's own marks where its people see them.
fn is_whole(entry: &Entry) -> bool {
    let wanted = ["Bold at first, then code & <b>angles</b> for", "println!(\"a < b\");", "The end."];
    wanted.iter().all(|words| entry.text.contains(words)) && !entry.text.contains("**") && !entry.text.contains("```")
}

/// A text as it grows by so many characters.
fn grown(text: &str, by: usize) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    (1..=chars.len().div_ceil(by)).map(|n| chars.iter().take(n * by).collect()).collect()
}

/// The text as an answer that is shown as it grows, ten times a second.
fn act(text: &str, by: usize) -> model::Act {
    let grown = grown(text, by);
    let grown: Vec<&str> = grown.iter().map(String::as_str).collect();
    model::says(text).drafting(&grown, Duration::from_millis(100))
}

async fn with(platform: Platform, model: Arc<Scripted>) -> Stage {
    Stage::with(platform, Options { model: Some(model), ..Options::default() }).await
}

/// Where an answer in the making is an edited message: in no private chat of Telegram, and in no thread of Slack.
fn edited(platform: Platform) -> &'static str {
    if platform == Platform::Telegram { "general" } else { "dm:ann" }
}

/// Where the platform's own form is used, if it has one.
fn native(platform: Platform) -> &'static str {
    if platform == Platform::Slack { "general" } else { "dm:ann" }
}

async fn ask(stage: &Stage, place: &str, text: &str) -> String {
    match place.starts_with("dm:") {
        true => stage.people.say(place, "ann", text).await,
        false => stage.people.mention(place, "ann", text).await,
    }
}

/// How often the bot changed what it had posted.
fn edits(transcript: &[Entry]) -> usize {
    transcript.iter().filter(|entry| entry.is_bot() && entry.kind == "edit").count()
}

/// How often a method was called.
async fn calls(stage: &Stage, method: &str) -> u64 {
    let methods = stage.people.stats().await["methods"].clone();
    let all = methods.as_object().cloned().unwrap_or_default();
    all.iter().find(|(name, _)| name.eq_ignore_ascii_case(method)).map_or(0, |(_, n)| n.as_u64().unwrap_or_default())
}

async fn an_answer_in_the_making_grows_in_one_message_and_takes_it_over(platform: Platform) {
    let (stage, place) = (with(platform, Scripted::new([act(TEXT, 4)])).await, edited(platform));
    ask(&stage, place, "tell me").await;
    let begun = stage.people.reads(place, "Bold").await;
    assert!(!begun.text.contains("The end") && begun.buttons.len() == 1, "{begun:?}");
    stage.people.reads(place, "The end.").await;
    let chat = stage.people.settled(place, 1).await;
    assert_eq!((chat[0].message.as_deref(), chat[0].buttons.len()), (begun.message.as_deref(), 0), "{chat:?}");
    let edits = edits(&stage.people.transcript(place).await);
    // Five seconds of growing, at most one edit in each, and the answer; a group of Telegram takes one in three.
    assert!((2..=6).contains(&edits), "{edits} edits");
    stage.end().await;
}

async fn a_long_answer_in_the_making_is_cut_to_one_message_and_goes_on_in_others(platform: Platform) {
    let lines: String = (0..700).map(|n| format!("    line {n} of *many* <lines>\n")).collect();
    let text = format!("It begins.\n\n```text\n{lines}```\n\nThe end.");
    let (stage, place) = (with(platform, Scripted::new([act(&text, 500)])).await, edited(platform));
    ask(&stage, place, "at length").await;
    let begun = stage.people.reads(place, "It begins.").await;
    assert_eq!(begun.buttons.len(), 1, "{begun:?}");
    let mut chat = stage.people.chat(place).await;
    while chat.len() < 2 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        chat = stage.people.chat(place).await;
    }
    assert_eq!((chat[0].message.as_deref(), chat[0].buttons.len()), (begun.message.as_deref(), 0), "{chat:?}");
    let edits = edits(&stage.people.transcript(place).await);
    assert!(edits <= 6, "once it is cut, it stays as it is: {edits} edits");
    stage.end().await;
}

async fn an_answer_in_the_making_is_streamed_in_a_thread_and_drawn_whole_at_its_end(platform: Platform) {
    let (stage, place) = (with(platform, Scripted::new([act(TEXT, 4)])).await, native(platform));
    let asked = ask(&stage, place, "tell me").await;
    let begun = stage.people.reads(place, "Bold").await;
    assert_eq!((begun.thread.as_deref(), begun.buttons.len()), (Some(asked.as_str()), 0), "{begun:?}");
    stage.people.sees(place, |entry| entry.is_said() && is_whole(entry)).await;
    let chat = stage.people.settled(place, 1).await;
    assert!(is_whole(&chat[0]) && chat[0].message == begun.message && chat[0].buttons.is_empty(), "{chat:?}");
    let added = calls(&stage, "chat.appendStream").await;
    assert!((2..=4).contains(&added), "five seconds, at most one addition in 1.25: {added}");
    for (method, expected) in
        [("chat.startStream", 1), ("chat.stopStream", 1), ("chat.update", 1), ("chat.postMessage", 0)]
    {
        assert_eq!(calls(&stage, method).await, expected, "{method}");
    }
    stage.end().await;
}

async fn a_draft_leaves_no_message_and_the_answer_is_one(platform: Platform) {
    let (stage, place) = (with(platform, Scripted::new([act(TEXT, 4)])).await, native(platform));
    ask(&stage, place, "tell me").await;
    stage.people.sees(place, |entry| entry.is_said() && is_whole(entry)).await;
    let chat = stage.people.settled(place, 1).await;
    assert!(is_whole(&chat[0]) && chat[0].kind == "message", "{chat:?}");
    let all = stage.people.transcript(place).await;
    let drafts: Vec<&Entry> = all.iter().filter(|entry| entry.kind == "draft").collect();
    assert!((3..=5).contains(&drafts.len()), "five seconds, at most one draft in each: {drafts:?}");
    assert!(drafts.iter().all(|draft| draft.message == drafts[0].message && draft.n < chat[0].n), "{drafts:?}");
    assert_eq!(edits(&all), 0);
    stage.end().await;
}

async fn the_button_of_a_draft_stops_the_answer(platform: Platform) {
    let model = Scripted::new([model::never().drafting(&["Once upon a time"], Duration::ZERO)]);
    let (stage, place) = (with(platform, model).await, native(platform));
    ask(&stage, place, "a tale").await;
    let draft = stage.people.sees(place, |entry| entry.kind == "draft").await;
    stage.people.press("ann", &draft, "Stop").await;
    stage.people.reads(place, "stopped, as you asked").await;
    stage.people.settled(place, 1).await;
    stage.end().await;
}

async fn where_the_platform_refuses_its_own_form_a_message_is_edited(platform: Platform) {
    let model = Scripted::by(|_| act(TEXT, 8));
    let (stage, place) = (with(platform, model).await, native(platform));
    let method = if platform == Platform::Slack { "chat.startStream" } else { "sendMessageDraft" };
    let fault = match platform {
        Platform::Slack => json!({ "kind": "error", "method": method, "error": "not_supported_here" }),
        _ => json!({ "kind": "error", "method": method, "status": 400, "description": "Bad Request: NOT_SUPPORTED" }),
    };
    stage.people.fault(fault).await;
    for n in 1..=2 {
        ask(&stage, place, "tell me").await;
        let begun = stage.people.sees(place, |entry| entry.is_said() && entry.buttons.len() == 1).await;
        assert!(begun.text.contains("Bold"), "{begun:?}");
        let whole = async || stage.people.chat(place).await.iter().filter(|entry| is_whole(entry)).count();
        while whole().await < n {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        stage.people.settled(place, n).await;
        assert_eq!(calls(&stage, method).await, 1, "it is not asked again for a while");
    }
    stage.end().await;
}

async fn an_answer_that_is_begun_anew_is_there_once(platform: Platform) {
    let mut texts = grown("Once upon a time there was a stream that broke", 4);
    texts.extend(grown(TEXT, 6));
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let model = Scripted::new([model::says(TEXT).drafting(&texts, Duration::from_millis(150))]);
    let (stage, place) = (with(platform, model).await, native(platform));
    ask(&stage, place, "tell me").await;
    stage.people.sees(place, |entry| entry.is_growing() && entry.text.contains("Once")).await;
    stage.people.sees(place, |entry| entry.is_growing() && entry.text.contains("Bold")).await;
    stage.people.sees(place, |entry| entry.is_said() && is_whole(entry)).await;
    let chat = stage.people.settled(place, 1).await;
    assert!(is_whole(&chat[0]) && !chat[0].text.contains("Once"), "{chat:?}");
    stage.end().await;
}

async fn what_runs_has_its_buttons_also_after_a_draft(platform: Platform) {
    let before = model::wants(&[("gate", r#"{"id":"A"}"#)]).saying("Let me see.");
    let model = Scripted::new([
        before.drafting(&["Let me", "Let me see."], Duration::from_millis(1_300)),
        model::says("It is open.").drafting(&["It", "It is"], Duration::from_millis(1_300)),
    ]);
    let options = Options { model: Some(model), ..Options::default() };
    let (stage, place) = (Stage::at(platform, options, Gate::closed(), None).await, native(platform));
    ask(&stage, place, "is it open?").await;
    stage.people.sees(place, |entry| entry.is_growing() && entry.text.contains("Let me")).await;
    let listed = stage.people.sees(place, |entry| entry.is_said() && entry.text.contains("0 of 1 done")).await;
    assert!(listed.buttons.iter().any(|button| button.text == "Cancel"), "{listed:?}");
    stage.gate.open();
    stage.people.reads(place, "It is open.").await;
    let chat = stage.people.settled(place, 1).await;
    assert!(chat[0].text.starts_with("It is open.") && chat[0].message == listed.message, "{chat:?}");
    stage.end().await;
}

async fn a_kill_in_the_middle_of_an_answer_in_the_making_leaves_it_once(platform: Platform) {
    let half = model::never().drafting(&["**Bold** at first", "**Bold** at first, then"], Duration::from_millis(1_300));
    let model = Scripted::new([half, model::says(TEXT)]);
    let (mut stage, place) = (with(platform, model).await, native(platform));
    ask(&stage, place, "tell me").await;
    stage.people.sees(place, |entry| entry.is_growing() && entry.text.contains("then")).await;
    stage.kill();
    stage.start().await;
    stage.people.sees(place, |entry| entry.is_said() && is_whole(entry)).await;
    let chat = stage.people.settled(place, 1).await;
    assert!(is_whole(&chat[0]) && chat[0].buttons.is_empty() && !chat[0].text.contains(DUPLICATE_MARK), "{chat:?}");
    stage.end().await;
}

async fn a_kill_at_any_step_of_an_answer_in_the_making_leaves_it_once_or_says_so(platform: Platform) {
    let drafts = ["**Bold** at first", "**Bold** at first, then `co"];
    // After a death it is not shown again.
    let is_quick = Arc::new(AtomicBool::new(false));
    let quick = is_quick.clone();
    let model = Scripted::by(move |_| match quick.load(Ordering::Relaxed) {
        true => model::says(TEXT),
        false => model::says(TEXT).drafting(&drafts, Duration::from_millis(1_300)),
    });
    let (mut stage, place) = (with(platform, model).await, native(platform));
    // A first answer says at which steps there is something to see.
    let steps = restart_with(&mut stage, &Death::never(), place, 1).await;
    let first = steps.iter().position(|step| step == "before send draft").expect("it is seen in the making");
    assert!(steps.iter().filter(|step| *step == "after send draft").count() >= 2, "{steps:?}");
    let mut count = 1;
    for at in first..steps.len() {
        let death = Death::at(at);
        count += 1;
        restart_with(&mut stage, &death, place, count).await;
        stage.kill();
        is_quick.store(true, Ordering::Relaxed);
        stage.start().await;
        let whole = async || stage.people.chat(place).await.iter().filter(|entry| is_whole(entry)).count();
        while whole().await < count {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        tokio::time::sleep(Duration::from_millis(150)).await;
        let chat = stage.people.chat(place).await;
        let repeated = chat.iter().filter(|entry| entry.text.contains(DUPLICATE_MARK)).count();
        // Telegram alone cannot tell whether an answer arrived; and then it says so.
        assert!(repeated == 0 || platform == Platform::Telegram, "{:?}: {chat:#?}", death.names());
        assert!(chat.iter().all(is_whole), "{:?}: a half answer was left: {chat:#?}", death.names());
        assert!(chat.len() == count || chat.len() <= count + repeated, "{:?}: {chat:#?}", death.names());
        count = chat.len();
        is_quick.store(false, Ordering::Relaxed);
    }
    stage.end().await;
}

/// A life that answers once, or dies before; its steps.
async fn restart_with(stage: &mut Stage, death: &Arc<Death>, place: &str, count: usize) -> Vec<String> {
    stage.stop().await.expect("it stops when it is asked to");
    stage.start_with(Some(death.clone())).await;
    ask(stage, place, "tell me").await;
    let whole = async || {
        while stage.people.chat(place).await.iter().filter(|entry| is_whole(entry)).count() < count {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    };
    tokio::select! {
        () = death.reached() => {}
        () = whole() => {}
    }
    death.names()
}
