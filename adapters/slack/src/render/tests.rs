//! Renderings, and what must hold for any input.

use contract::{Action, Audience, Button, Code, Failure, Notice, Pings};
use document::samples::{is_kept, piece, turn, visible};
use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{reader::read, *};

fn body(part: &Part) -> Value {
    serde_json::from_str(&part.body).unwrap_or(Value::Null)
}

fn check(markdown: &str, blocks: Expect) {
    let parts = reply(&Reply::text(markdown));
    assert_eq!(parts.len(), 1);
    read(&parts[0].body).expect("valid");
    let lines: Vec<String> = body(&parts[0])["blocks"].as_array().unwrap().iter().map(Value::to_string).collect();
    blocks.assert_eq(&lines.join("\n"));
}

/// All parts as one JSON document, a line for each block or element: the names of files, the text, the blocks.
fn shown(parts: &[Part]) -> String {
    let part = |part: &Part| {
        let files: Vec<&str> = part.files.iter().map(|file| file.name.as_str()).collect();
        let body = body(part);
        let blocks: Vec<String> = body["blocks"].as_array().into_iter().flatten().map(block).collect();
        let blocks = blocks.join(",\n ");
        format!("{{\"files\": {}, \"text\": {}, \"blocks\": [\n {blocks}]}}", json!(files), body["text"])
    };
    format!("[{}]", parts.iter().map(part).collect::<Vec<_>>().join(",\n"))
}

fn block(block: &Value) -> String {
    match block["elements"].as_array().filter(|_| block["type"] == "rich_text") {
        Some(elements) => {
            let elements: Vec<String> = elements.iter().map(Value::to_string).collect();
            format!("{{\"type\": \"rich_text\", \"elements\": [\n  {}]}}", elements.join(",\n  "))
        }
        None => block.to_string(),
    }
}

#[test]
fn samples_are_drawn_as_the_files_beside_those_of_other_platforms() {
    document::samples::compare("slack", "json", |sample| shown(&reply(sample)));
}

#[test]
fn every_sample_is_within_limits_and_shows_what_was_written() {
    for (name, sample) in document::samples::all() {
        let mut seen = String::new();
        for part in reply(&sample).iter().filter(|part| !part.body.is_empty()) {
            let read = read(&part.body).unwrap_or_else(|problem| panic!("{name}: {problem}"));
            assert!(read.mentions.is_empty(), "{name}");
            seen.push_str(&read.text);
        }
        let doc = document::of(&sample, &RULES);
        for block in &doc.blocks {
            let is_text = !matches!(
                block.kind,
                document::BlockKind::Table(_) | document::BlockKind::Rule | document::BlockKind::Reference
            );
            let shows =
                !is_text || sample.most_messages.is_some() || visible(&seen).contains(&visible(doc.text_of(block)));
            assert!(shows, "{name}: {}", doc.text_of(block));
        }
    }
}

#[test]
fn text_and_code_need_no_escaping() {
    check(
        "*a*b `__c*` <!channel> &\n\n```rust\n1 < 2 && \"x\"\n```",
        expect![[
            r#"{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"a","style":{"italic":true}},{"type":"text","text":"b "},{"type":"text","text":"__c*","style":{"code":true}},{"type":"text","text":" <!channel> &"}]},{"type":"rich_text_preformatted","elements":[{"type":"text","text":"1 < 2 && \"x\""}]}]}"#
        ]],
    );
}

#[test]
fn lists_quotes_and_headings_have_elements_of_their_own() {
    check(
        "# Title\n\n1. one\n   - deep\n2. two\n\n> q **b**\n> - l\n\n## Two\n\n---\n\n- [x] done",
        expect![[r#"
            {"type":"header","text":{"type":"plain_text","text":"Title","emoji":false}}
            {"type":"rich_text","elements":[{"type":"rich_text_list","style":"ordered","indent":0,"elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"one"}]}]},{"type":"rich_text_list","style":"bullet","indent":1,"elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"deep"}]}]},{"type":"rich_text_list","style":"ordered","indent":0,"offset":1,"elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"two"}]}]},{"type":"rich_text_quote","elements":[{"type":"text","text":"q "},{"type":"text","text":"b","style":{"bold":true}}]},{"type":"rich_text_list","style":"bullet","indent":0,"border":1,"elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"l"}]}]},{"type":"rich_text_section","elements":[{"type":"text","text":"Two","style":{"bold":true}}]}]}
            {"type":"divider"}
            {"type":"rich_text","elements":[{"type":"rich_text_list","style":"bullet","indent":0,"elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"☑ "},{"type":"text","text":"done"}]}]}]}"#]],
    );
}

#[test]
fn a_table_is_a_table_and_the_second_is_text() {
    check(
        "| a | b |\n|--|--:|\n| 1 |  |\n\n| c |\n|--|\n| 2 |",
        expect![[r#"
        {"type":"table","rows":[[{"type":"raw_text","text":"a"},{"type":"raw_text","text":"b"}],[{"type":"raw_text","text":"1"},{"type":"raw_text","text":" "}]],"column_settings":[{"align":"left","is_wrapped":true},{"align":"right","is_wrapped":true}]}
        {"type":"rich_text","elements":[{"type":"rich_text_preformatted","elements":[{"type":"text","text":"c\n─\n2"}]}]}"#]],
    );
}

#[test]
fn a_failure_shows_layer_sentence_details_next_step_code_and_reference() {
    let failure = Failure::new(Code::Timeout, "'weather_query' did not answer in 10 s");
    let parts = reply(&Reply::notice(Notice::of(&failure, Some("weather_query"), Some(turn()))));
    expect![[r#"
        [{"files": [], "text": "⚠️ The tool did not answer well · weather_query\n'weather_query' did not answer in 10 s\ncode: timeout\n→ try again in a moment; if it goes on, tell an operator the reference\n\nref 01ARZ3NDEKTSV4RRFFQ69G5FAV", "blocks": [
         {"type": "rich_text", "elements": [
          {"type":"rich_text_section","elements":[{"type":"text","text":"⚠️ The tool did not answer well","style":{"bold":true}},{"type":"text","text":" · "},{"type":"text","text":"weather_query","style":{"code":true}},{"type":"text","text":"\n'weather_query' did not answer in 10 s"}]},
          {"type":"rich_text_quote","elements":[{"type":"text","text":"code: timeout"}]},
          {"type":"rich_text_section","elements":[{"type":"text","text":"→ try again in a moment; if it goes on, tell an operator the reference"}]}]},
         {"type":"context","elements":[{"type":"mrkdwn","text":"ref `01ARZ3NDEKTSV4RRFFQ69G5FAV`","verbatim":true}]}]}]"#]].assert_eq(&shown(&parts));
}

#[test]
fn a_reply_pings_whom_it_may() {
    let text = "<@U12345678> <!subteam^S12345678> <!here> <@Ux>";
    assert!(read(&reply(&Reply::text(text))[0].body).expect("valid").mentions.is_empty());
    let pings = Pings { users: true, roles: false, everyone: true };
    let parts = reply(&Reply { pings, ..Reply::text(text) });
    let read = read(&parts[0].body).expect("valid");
    assert_eq!(read.mentions, [r#"{"type":"user","user_id":"U12345678"}"#, r#"{"type":"broadcast","range":"here"}"#]);
    assert_eq!(visible(&read.text), "<!subteam^S12345678><@Ux>");
}

#[test]
fn files_come_in_a_part_of_their_own_and_buttons_last() {
    let file = Content::Attachment { name: "a/b".into(), media_type: "text/plain".into(), bytes: b"x".to_vec() };
    let mut with_files = Reply { audience: Audience::Sender, ..Reply::text("see") };
    with_files.content.extend(std::iter::repeat_n(file, 2));
    with_files.buttons.push(Button { label: "Details".into(), action: Action::Details(turn()) });
    let parts = reply(&with_files);
    let counts: Vec<_> = parts.iter().map(|part| (part.files.len(), part.buttons.len(), part.audience)).collect();
    assert_eq!(counts, [(0, 0, Audience::Sender), (2, 1, Audience::Sender)]);
    assert_eq!((parts[1].body.as_str(), parts[1].files[0].name.as_str()), ("", "a_b"));
}

#[test]
fn long_texts_take_the_fewest_messages() {
    assert_eq!(reply(&Reply::text("汉".repeat(5_000))).len(), 1);
    assert_eq!(reply(&Reply::text("😀".repeat(3_000))).len(), 1);
    assert_eq!(reply(&Reply::text("汉".repeat(20_000))).len(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_text_is_shown_without_loss_in_valid_messages(pieces in proptest::collection::vec(piece(), 0..60)) {
        let sample = Reply::text(pieces.concat());
        let mut seen = String::new();
        for part in reply(&sample) {
            match read(&part.body) {
                Ok(read) => {
                    prop_assert!(read.mentions.is_empty());
                    seen.push_str(&read.text);
                }
                Err(problem) => return Err(TestCaseError::fail(format!("{problem} in {}", part.body))),
            }
        }
        let doc = document::of(&sample, &RULES);
        let is_shown = |block: &&document::Block| !matches!(block.kind, document::BlockKind::Table(_) | document::BlockKind::Rule);
        let written: String = doc.blocks.iter().filter(is_shown).map(|block| doc.text_of(block)).collect();
        prop_assert!(is_kept(&written, &seen), "{written:?}\n{seen:?}");
    }

    #[test]
    fn any_reply_is_valid_and_pings_nobody(sample in document::samples::reply()) {
        for part in reply(&sample) {
            prop_assert!(!part.body.is_empty() || !part.files.is_empty());
            if !part.body.is_empty() {
                let read = read(&part.body).map_err(|problem| TestCaseError::fail(format!("{problem} in {}", part.body)))?;
                prop_assert!(read.mentions.is_empty());
            }
        }
    }

    #[test]
    fn verbatim_text_shows_exactly_itself(text in "[ a-z*_`~#>|<&@!\\[\\]()\\\\:/.0-9\n-]{0,120}|\\PC{0,100}") {
        let parts = reply(&Reply { content: vec![Content::Plain(text.clone())], ..Reply::default() });
        if !document::is_blank(&text) {
            let read = read(&parts[0].body).expect("valid");
            prop_assert_eq!(read.text.trim_end_matches('\n'), text.trim_end_matches('\n'));
        }
    }
}
