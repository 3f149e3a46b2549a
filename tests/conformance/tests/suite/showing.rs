//! What people see: every kind of reply whole and valid, files both ways, each in their own language.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use conformance::{Entry, Options, Stage};
use contract::{Address, DeliveryError, DeliveryKey, Op, Part, Platform, Receipt, Reply, TurnId, Why, reply::Content};
use futures_util::StreamExt;
use serde_json::json;
use testkit::Gate;

use crate::tools::{Resends, reading, resending, says, turning};

cases! {
    "What people see";
    every_sample_goes_out_and_is_valid: "R1 R2 R3 R4";
    every_sample_goes_out_as_an_edit: "R1 R6";
    what_is_written_in_code_arrives_unchanged: "R2";
    nobody_is_pinged_by_what_a_tool_says: "R3";
    a_long_answer_is_split_in_order: "R4";
    what_exceeds_the_messages_of_a_reply_goes_on_in_a_file: "R4";
    an_empty_answer_is_said_to_be_empty: "R5";
    a_file_of_ours_arrives_byte_for_byte: "R1";
    a_file_of_theirs_is_read_byte_for_byte: "I11";
    a_file_of_theirs_is_sent_again: "I11 R1";
    a_file_of_theirs_is_an_argument: "I11 T";
    a_command_that_wants_a_file_says_so: "I11 T10";
    a_service_is_sent_a_file_and_answers_with_one: "I11 E11";
    a_chinese_reader_is_told_in_chinese: "R8";
    a_list_of_results_keeps_its_order: "E13";
}

/// Sends every part and returns what is seen of them.
async fn posted(stage: &Stage, reply: &Reply) -> Vec<Part> {
    let (_, message) = stage.running().await;
    let to = message.address;
    let parts = stage.adapter().outlet.render(reply, &to);
    assert!(!parts.is_empty());
    let turn = TurnId::new();
    for (n, part) in (0..).zip(&parts) {
        let key = DeliveryKey { turn, n: 0, part: n };
        patiently(stage, &to, Op::Post(part), &key).await.unwrap_or_else(|error| panic!("{error} of {part:?}"));
    }
    parts
}

/// The adapter may know that the platform would have it wait.
async fn patiently(stage: &Stage, to: &Address, op: Op<'_>, key: &DeliveryKey) -> Result<Receipt, DeliveryError> {
    loop {
        let again = match &op {
            Op::Post(part) => Op::Post(part),
            Op::Replace(receipt, part) => Op::Replace(receipt, part),
            _ => unreachable!("nothing else is sent here"),
        };
        match stage.adapter().outlet.send(to, again, key).await {
            Err(DeliveryError::Wait { until, .. }) => {
                tokio::time::sleep(until.duration_since(SystemTime::now()).unwrap_or_default()).await;
            }
            sent => return sent,
        }
    }
}

/// Letters and digits alone: what a platform draws by itself (bullets, frames, shortened pictures) is left out.
fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// A stage on which a turn waits, so that there is an address.
async fn waiting(platform: Platform) -> Stage {
    let stage = Stage::gated(platform).await;
    stage.people.say("dm:ann", "ann", "/gate id=A").await;
    stage.gate.wait_for(1).await;
    stage
}

async fn every_sample_goes_out_and_is_valid(platform: Platform) {
    let stage = waiting(platform).await;
    for (name, reply) in document::samples::all() {
        let before = stage.people.chat("dm:ann").await.len();
        let parts = posted(&stage, &reply).await;
        let chat = stage.people.chat("dm:ann").await;
        let shown = &chat[before..];
        assert!(shown.len() >= parts.len(), "{name}: {} of {}", shown.len(), parts.len());
        let seen = letters(&shown.iter().map(|entry| entry.text.as_str()).collect::<String>());
        let files = shown.iter().any(|entry| !entry.files.is_empty());
        for part in &parts {
            let start: String =
                letters(part.plain.split_whitespace().next().unwrap_or_default()).chars().take(12).collect();
            assert!(files || seen.contains(&start), "{name}: '{start}' is not seen in {seen}");
        }
    }
    stage.gate.open();
    stage.end().await;
}

async fn every_sample_goes_out_as_an_edit(platform: Platform) {
    let stage = waiting(platform).await;
    let (_, message) = stage.running().await;
    let to = message.address;
    let outlet = stage.adapter().outlet.clone();
    let first = &outlet.render(&Reply::text("the first text"), &to)[0];
    let key = DeliveryKey { turn: TurnId::new(), n: 0, part: 0 };
    let receipt = outlet.send(&to, Op::Post(first), &key).await.expect("it is sent");
    for (name, reply) in document::samples::all() {
        for part in outlet.render(&reply, &to).iter().filter(|part| part.files.is_empty()) {
            match patiently(&stage, &to, Op::Replace(&receipt, part), &key).await {
                Ok(_) => {}
                // An edit may be smaller than a message: then the answer is a message of its own.
                Err(DeliveryError::Refused(Why::Unsupported | Why::TooOld)) => {}
                Err(error) => panic!("{name}: {error} of {part:?}"),
            }
        }
    }
    stage.gate.open();
    stage.end().await;
}

async fn what_is_written_in_code_arrives_unchanged(platform: Platform) {
    let code = "__init__ 2**3 # comment *x* <b> & `one` \\*\n    indented\n\ttabbed";
    let stage =
        Stage::with(platform, says(json!(format!("before\n\n````python\n{code}\n```\ninner\n````\n\nafter")))).await;
    stage.people.say("dm:ann", "ann", "/says").await;
    let seen = stage.people.reads("dm:ann", "after").await;
    // Where a fence inside would end the code, something invisible stands in it.
    let seen = Entry { text: seen.text.replace('\u{200b}', ""), ..seen };
    for line in code.lines().chain(["```", "inner"]) {
        assert!(seen.text.contains(line.trim_end()), "'{line}' is not in {:?}", seen.text);
    }
    stage.end().await;
}

async fn nobody_is_pinged_by_what_a_tool_says(platform: Platform) {
    let stage = Stage::new(platform).await;
    let text = "@everyone @here @ann <!channel> <!here> <@U1> <@123> <@&1> @toolgate ann@example.test";
    stage.people.mention("general", "ann", "/gate id=x").await;
    stage.people.reads("general", "id: x").await;
    stage.people.mention("general", "ann", &format!("/gate id=\"{text}\"")).await;
    stage.people.sees("general", |entry| entry.is_said() && entry.text.contains("everyone")).await;
    stage.end().await;
}

async fn a_long_answer_is_split_in_order(platform: Platform) {
    let long: String = (0..3_000).map(|n| format!("w{n} ")).collect();
    let policy = Options::policy(platform, "limits: { messages_per_minute: 1000, messages_per_reply: 20 }\n");
    let stage = Stage::with(platform, Options { policies: policy.policies, ..says(json!(long)) }).await;
    stage.people.say("dm:ann", "ann", "/says").await;
    stage.people.reads("dm:ann", "w2999").await;
    let chat = stage.people.chat("dm:ann").await;
    let all: String = chat.iter().map(|entry| format!("{} ", entry.text)).collect();
    let numbers: Vec<usize> = all.split_whitespace().filter_map(|word| word.strip_prefix('w')?.parse().ok()).collect();
    assert_eq!(numbers, (0..3_000).collect::<Vec<_>>());
    stage.end().await;
}

async fn what_exceeds_the_messages_of_a_reply_goes_on_in_a_file(platform: Platform) {
    let long: String = (0..12_000).map(|n| format!("w{n} ")).collect();
    let policy = Options::policy(
        platform,
        "limits: { messages_per_minute: 1000, messages_per_reply: 2, result_chars: 1000000 }\n",
    );
    let stage = Stage::with(platform, Options { policies: policy.policies, ..says(json!(long)) }).await;
    stage.people.say("dm:ann", "ann", "/says").await;
    let with_file = stage.people.sees("dm:ann", |entry| entry.is_said() && !entry.files.is_empty()).await;
    let bytes = stage.people.file(&with_file.files[0]).await;
    let text = String::from_utf8(bytes).expect("it is text");
    assert!(text.contains("w11999"), "the rest is in it");
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(stage.people.chat("dm:ann").await.len() <= 3);
    stage.end().await;
}

async fn an_empty_answer_is_said_to_be_empty(platform: Platform) {
    let stage = Stage::with(platform, says(json!("\u{200b} \n"))).await;
    stage.people.say("dm:ann", "ann", "/says").await;
    stage.people.reads("dm:ann", "(no output)").await;
    stage.people.settled("dm:ann", 1).await;
    stage.end().await;
}

async fn a_file_of_ours_arrives_byte_for_byte(platform: Platform) {
    let stage = waiting(platform).await;
    let bytes: Vec<u8> = (0..=255).cycle().take(5_000).collect();
    let name = "odd name & <x>.bin";
    let attachment =
        Content::Attachment { name: name.into(), media_type: "application/octet-stream".into(), bytes: bytes.clone() };
    let reply = Reply { content: vec![Content::Text("a file".into()), attachment], ..Reply::default() };
    posted(&stage, &reply).await;
    let seen = stage.people.sees("dm:ann", |entry| !entry.files.is_empty()).await;
    assert_eq!(stage.people.file(&seen.files[0]).await, bytes, "{seen:?}");
    stage.people.reads("dm:ann", "a file").await;
    stage.gate.open();
    stage.end().await;
}

async fn a_file_of_theirs_is_read_byte_for_byte(platform: Platform) {
    let stage = Stage::gated(platform).await;
    let files = json!([{ "name": "数据 1.bin", "mime": "application/octet-stream", "base64": "AAECA/7/gA==" }]);
    stage.people.say_with("dm:ann", "ann", "/gate id=A", json!({ "files": files })).await;
    let (_, message) = stage.running().await;
    let mut stream = stage.adapter().source.open(&message.files[0]).await.expect("it is opened");
    let mut bytes = Vec::new();
    while let Some(chunk) = stream.next().await {
        bytes.extend(chunk.expect("it is read"));
    }
    assert_eq!(bytes, [0, 1, 2, 3, 0xfe, 0xff, 0x80]);
    stage.gate.open();
    stage.people.reads("dm:ann", "id: A").await;
    stage.end().await;
}

async fn a_file_of_theirs_is_sent_again(platform: Platform) {
    let resends = Arc::new(Resends::default());
    let stage = Stage::at(platform, resending(&resends), Gate::closed(), None).await;
    let file = |name: &str, bytes: &str| json!({ "name": name, "mime": "application/octet-stream", "base64": bytes });
    stage.people.say_with("dm:ann", "ann", "/gate id=A", json!({ "files": [file("one.bin", "AAECA/7/gA==")] })).await;
    let (_, message) = stage.running().await;
    *resends.0.lock().expect("nobody panics") = Some(message);
    stage.gate.open();
    stage.people.reads("dm:ann", "id: A").await;
    stage.people.say("dm:ann", "ann", "/resends").await;
    let seen = stage.people.sees("dm:ann", |entry| entry.is_said() && !entry.files.is_empty()).await;
    assert_eq!(stage.people.file(&seen.files[0]).await, [0, 1, 2, 3, 0xfe, 0xff, 0x80], "{seen:?}");
    let said = stage.people.reads("dm:ann", "sent again").await;
    assert!(!said.text.contains("one.bin"), "it is not named besides: {said:?}");
    stage.end().await;
}

async fn a_file_of_theirs_is_an_argument(platform: Platform) {
    let stage = Stage::at(platform, reading(), Gate::closed(), None).await;
    let file = |name: &str, bytes: &str| json!({ "name": name, "mime": "application/octet-stream", "base64": bytes });
    // The only file is meant where nothing is said of it.
    let one = json!({ "files": [file("one.bin", "AAEC")] });
    stage.people.say_with("dm:ann", "ann", "/scan_read note=first", one).await;
    let said = stage.people.reads("dm:ann", "holds [0, 1, 2] first").await;
    assert!(said.text.contains("one.bin"), "{said:?}");
    let two = || json!({ "files": [file("one.bin", "AAEC"), file("two.bin", "BAUG")] });
    stage.people.say_with("dm:ann", "ann", "/scan_read scan=two.bin note=named", two()).await;
    stage.people.reads("dm:ann", "two.bin holds [4, 5, 6] named").await;
    stage.people.say_with("dm:ann", "ann", "/scan_read scan=#1 note=numbered", two()).await;
    stage.people.reads("dm:ann", "one.bin holds [0, 1, 2] numbered").await;
    stage.people.say_with("dm:ann", "ann", "/scan_read note=either", two()).await;
    stage.people.reads("dm:ann", "with the message came 'one.bin', 'two.bin'").await;
    if platform == Platform::Discord {
        // A command there has a place for it.
        stage.people.offers("dm:ann", "scan_read").await;
        let args = json!({ "scan": file("slashed.bin", "BwgJ"), "note": "attached" });
        stage.people.command("dm:ann", "ann", "scan_read", args).await;
        stage.people.reads("dm:ann", "slashed.bin holds [7, 8, 9] attached").await;
    }
    stage.end().await;
}

async fn a_command_that_wants_a_file_says_so(platform: Platform) {
    let stage = Stage::at(platform, reading(), Gate::closed(), None).await;
    stage.people.say("dm:ann", "ann", "/scan_read note=none").await;
    stage.people.reads("dm:ann", "attach it to the message that asks for this").await;
    stage.people.say("dm:ann", "ann", "/scan_read scan=/etc/passwd").await;
    stage.people.reads("dm:ann", "a file that came with the message").await;
    if platform == Platform::Slack {
        // A command there brings no file, and a form has no place for one.
        stage.people.command("general", "ann", "scan_read", json!("note=slashed")).await;
        stage.people.reads("general", "attach it to the message that asks for this").await;
    }
    stage.end().await;
}

async fn a_service_is_sent_a_file_and_answers_with_one(platform: Platform) {
    let stage = Stage::at(platform, turning().await, Gate::closed(), None).await;
    // No text: bytes that no character begins with.
    let file =
        json!({ "name": "page.bin", "mime": "application/octet-stream", "base64": "/////////////////////wABAg==" });
    stage.people.say_with("dm:ann", "ann", "/turn_round note=new-", json!({ "files": [file] })).await;
    stage.people.reads("dm:ann", "is sent to the chat as a file").await;
    let seen = stage.people.sees("dm:ann", |entry| entry.is_said() && !entry.files.is_empty()).await;
    let bytes = stage.people.file(&seen.files[0]).await;
    assert_eq!((&bytes[..3], bytes.len()), (&[2, 1, 0][..], 19), "{seen:?}");
    stage.end().await;
}

async fn a_chinese_reader_is_told_in_chinese(platform: Platform) {
    let stage = Stage::new(platform).await;
    let is_chinese = |entry: &Entry| entry.is_said() && entry.text.contains("我们的故障");
    match platform {
        // A message itself does not say which language its sender's client has; a command does.
        Platform::Discord => {
            stage.people.offers("dm:mei", "crash").await;
            let body = json!({ "conversation": "dm:mei", "user": "mei", "name": "crash", "args": {}, "language_code": "zh-CN" });
            stage.people.post("command", body).await;
        }
        // Slack is asked for it beside the first message; by the second one it is known.
        Platform::Slack => {
            let more = || json!({ "language_code": "zh-CN" });
            stage.people.say_with("dm:mei", "mei", "/sleep 1", more()).await;
            stage.people.sees("dm:mei", Entry::is_said).await;
            tokio::time::sleep(Duration::from_millis(300)).await;
            stage.people.say_with("dm:mei", "mei", "/crash", more()).await;
        }
        _ => drop(stage.people.say_with("dm:mei", "mei", "/crash", json!({ "language_code": "zh-hans" })).await),
    }
    let seen = stage.people.sees("dm:mei", is_chinese).await;
    assert!(seen.buttons.iter().any(|button| button.text == "详情"), "{seen:?}");
    // Who writes Chinese is understood without any tag.
    stage.people.say("dm:li", "li", "你能做什么？").await;
    stage.people.sees("dm:li", |entry| entry.is_said() && entry.text.contains("我在这里执行命令")).await;
    stage.end().await;
}

async fn a_list_of_results_keeps_its_order(platform: Platform) {
    let stage = Stage::new(platform).await;
    stage.people.say("dm:ann", "ann", "/sleep 80\n/gate id=second\n/nothing_like_it\n/gate id=fourth").await;
    let seen = stage.people.reads("dm:ann", "fourth").await;
    let at = |words: &str| seen.text.find(words).unwrap_or_else(|| panic!("'{words}' is not in {seen:?}"));
    assert!(at("80") < at("second") && at("second") < at("nothing_like_it") && at("nothing_like_it") < at("fourth"));
    stage.end().await;
}
