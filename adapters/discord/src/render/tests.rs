//! Renderings, and what must hold for any input.

use contract::{Action, Audience, Button, Code, Failure, Notice};
use document::samples::{is_kept, joined, piece, turn};
use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{reader::read, *};

fn bodies(parts: &[Part]) -> Vec<Value> {
    parts.iter().map(|part| serde_json::from_str(&part.body).expect("a body is JSON")).collect()
}

fn content(part: &Part) -> String {
    let body: Value = serde_json::from_str(&part.body).unwrap_or_default();
    body["content"].as_str().unwrap_or_default().to_owned()
}

/// The separator, which is invisible, is shown as `¦`.
fn check(markdown: &str, drawn: Expect) {
    let parts = reply(&Reply::text(markdown));
    assert_eq!(parts.len(), 1);
    drawn.assert_eq(&content(&parts[0]).replace('\u{200B}', "¦"));
}

/// As a file: the content, or the whole body where there is more to it.
fn shown(part: &Part) -> String {
    match serde_json::from_str::<Value>(&part.body) {
        Ok(body) if body.get("embeds").is_some() => serde_json::to_string_pretty(&body).expect("it was read"),
        Ok(_) => content(part),
        Err(_) => part.plain.clone(),
    }
}

#[test]
fn samples_are_drawn_as_the_files_beside_those_of_other_platforms() {
    document::samples::compare("discord", "md", |sample| joined(&reply(sample), shown));
}

#[test]
fn every_sample_is_within_limits_and_shows_what_was_written() {
    for (name, sample) in document::samples::all() {
        let parts = reply(&sample);
        let mut seen = String::new();
        for part in &parts {
            let content = content(part);
            let read = read(&content);
            assert!(
                content.encode_utf16().count() <= MOST_TEXT && part.plain.encode_utf16().count() <= MOST_TEXT,
                "{name}"
            );
            assert!(read.mentions.is_empty() && read.surprises.is_empty(), "{name}: {:?} in {content}", read.surprises);
            assert!(part.files.len() <= MOST_FILES);
            seen.push_str(&read.text);
        }
        let is_text = sample.most_messages.is_none() && !bodies(&parts[..1])[0]["embeds"].is_array();
        let written = document::plain::of(document::Piece::whole(&document::of(&sample, &RULES)), 0);
        let written = written.replace(['◦', '▪'], "•").replace("☐", "•☐").replace("☑", "•☑");
        assert!(!is_text || is_kept(&written, &seen), "{name}:\n{written}\n----\n{seen}");
    }
}

#[test]
fn what_is_text_is_escaped_and_styles_do_not_run_together() {
    check(
        "2 * 3, snake_case, a|b, <@123456789012345678>, :smile:, [x], `c`",
        expect![[r"2 \* 3, snake\_case, a\|b, \<@123456789012345678>, \:smile:, \[x], `c`"]],
    );
    check("**a***b*~~c~~`d`*e*", expect![[r"**a**¦*b*¦~~c~~¦`d`¦*e*"]]);
    check("**bold `code` on** ***both***", expect!["**bold** `code` **on** ***both***"]);
    check(
        "\\# no\\\n\\- no\\\n1\\. no\\\n\\> no",
        expect![[r"
        \# no
        \- no
        1\. no
        \> no"]],
    );
}

#[test]
fn the_longest_names_of_emoji_make_no_picture() {
    check(
        ":people_holding_hands_medium_light_skin_tone_medium_dark_skin_tone: and 12:30:45",
        expect![[r"\:people\_holding\_hands\_medium\_light\_skin\_tone\_medium\_dark\_skin\_tone: and 12:30:45"]],
    );
}

#[test]
fn a_link_leads_to_pages_only_and_makes_no_preview() {
    check(
        "[t](https://e.test/a(b)) [a [b]](https://e.test) [https://x.test](https://e.test) https://e.test/a_b. [j](javascript:x)",
        expect![
            "[t](<https://e.test/a%28b%29>) a \\[b] (<https://e.test>) https\\://x.test (<https://e.test>) <https://e.test/a_b>. j (javascript:x)"
        ],
    );
}

#[test]
fn a_bracket_behind_a_link_does_not_become_its_end() {
    check(
        "[t](https://e.test) a](b) `c](d)` [x] `e](f)`",
        expect![[r"[t](<https://e.test>) a]\(b) `c]¦(d)` \[x] `e](f)`"]],
    );
}

#[test]
fn code_is_sacred() {
    check("``a`b`` ```` ``` ````", expect!["``a`b`` `` `¦`¦` ``"]);
    check(
        "````rust\na\n```\nb\n````",
        expect![[r"
        ```rust
        a
        ``¦`
        b
        ```"]],
    );
    check(
        "> ```\n> a\n> ```",
        expect![[r"
        > ```
        > a
        > ```"]],
    );
}

#[test]
fn a_failure_is_an_embed_whose_words_say_all() {
    let failure = Failure::new(Code::Timeout, "'weather_query' did not answer in 10 s");
    let parts = reply(&Reply::notice(Notice::of(&failure, Some("weather_query"), Some(turn()))));
    expect![[r#"
        {
          "content": "",
          "embeds": [
            {
              "title": "⚠️ The tool did not answer well",
              "description": "'weather\\_query' did not answer in 10 s\n→ try again in a moment; if it goes on, tell an operator the reference",
              "color": 15105570,
              "footer": {
                "text": "weather_query · timeout · ref 01ARZ3NDEKTSV4RRFFQ69G5FAV"
              }
            }
          ],
          "allowed_mentions": {
            "parse": [],
            "replied_user": false
          }
        }"#]]
    .assert_eq(&shown(&parts[0]));
    for part in ["timeout", "weather_query", "did not answer", "ref 01ARZ3NDEKTSV4RRFFQ69G5FAV"] {
        assert!(parts[0].plain.contains(part), "{part}: {}", parts[0].plain);
    }
}

#[test]
fn notices_that_fit_no_embed_are_text_without_loss() {
    let problem = contract::Problem { path: "p".into(), expected: "x*y ".repeat(60), got: None, hint: None };
    let failure = Failure::invalid_args("t", vec![problem; 30], "usage".into());
    let parts = reply(&Reply::notice(Notice::of(&failure, None, Some(turn()))));
    let seen: String = parts.iter().map(|part| read(&content(part)).text).collect();
    assert!(parts.len() > 1 && bodies(&parts).iter().all(|body| body.get("embeds").is_none()));
    assert_eq!(seen.matches("x*y").count(), 30 * 60);
}

#[test]
fn a_reply_pings_whom_it_may() {
    let text = "<@123456789012345678> <@&123456789012345678> @everyone";
    let nobody = bodies(&reply(&Reply::text(text)));
    assert_eq!(nobody[0]["allowed_mentions"], json!({ "parse": [], "replied_user": false }));
    let pings = Pings { users: true, roles: false, everyone: true };
    let some = bodies(&reply(&Reply { pings, ..Reply::text(text) }));
    assert_eq!(some[0]["allowed_mentions"]["parse"], json!(["users", "everyone"]));
    assert_eq!(some[0]["content"], "<@123456789012345678> \\<@&123456789012345678> @everyone");
}

#[test]
fn files_go_with_the_last_text_ten_to_a_message_and_buttons_come_last() {
    let file = Content::Attachment { name: "a/b".into(), media_type: "text/plain".into(), bytes: b"x".to_vec() };
    let mut with_files = Reply { audience: Audience::Sender, ..Reply::text("see") };
    with_files.content.extend(std::iter::repeat_n(file, 12));
    with_files.buttons.push(Button { label: "Details".into(), action: Action::Details(turn()) });
    let parts = reply(&with_files);
    let counts: Vec<_> = parts.iter().map(|part| (part.files.len(), part.buttons.len(), part.audience)).collect();
    assert_eq!(counts, [(10, 0, Audience::Sender), (2, 1, Audience::Sender)]);
    assert_eq!(parts[0].files[0].name, "a_b");
}

#[test]
fn long_texts_take_the_fewest_messages() {
    assert_eq!(reply(&Reply::text("汉".repeat(5_000))).len(), 3);
    assert_eq!(reply(&Reply::text("😀".repeat(3_000))).len(), 4);
    assert_eq!(reply(&Reply::text("a".repeat(2_000 - 2))).len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_text_is_shown_without_loss_or_surprise(pieces in proptest::collection::vec(piece(), 0..30)) {
        let sample = Reply::text(pieces.concat());
        let mut seen = String::new();
        for part in reply(&sample) {
            let content = content(&part);
            let read = read(&content);
            prop_assert!(content.encode_utf16().count() <= MOST_TEXT, "{}", content.len());
            prop_assert!(part.plain.encode_utf16().count() <= MOST_TEXT);
            prop_assert!(read.mentions.is_empty() && read.surprises.is_empty(), "{:?} in {content:?}", read.surprises);
            seen.push_str(&read.text);
        }
        let doc = document::of(&sample, &RULES);
        let written: String = doc.blocks.iter().map(|block| doc.text_of(block)).collect();
        prop_assert!(is_kept(&written, &seen), "{written:?}\n{seen:?}");
    }

    #[test]
    fn any_reply_is_within_limits_and_pings_nobody(sample in document::samples::reply()) {
        for part in reply(&sample) {
            let body: Value = serde_json::from_str(&part.body).unwrap_or_default();
            let embeds = body["embeds"].as_array().cloned().unwrap_or_default();
            let mut texts = vec![content(&part)];
            for embed in &embeds {
                texts.extend([&embed["title"], &embed["description"]].map(|text| text.as_str().expect("it is set").to_owned()));
                prop_assert!(texts[texts.len() - 1].encode_utf16().count() <= 4_096);
            }
            let total: usize = embeds.iter().map(|embed| embed.to_string().encode_utf16().count()).sum();
            prop_assert!(embeds.len() <= 10 && total <= 7_500);
            prop_assert!(texts[0].encode_utf16().count() <= MOST_TEXT && part.plain.encode_utf16().count() <= MOST_TEXT);
            prop_assert!(!part.plain.is_empty() || !part.files.is_empty());
            for text in texts {
                let read = read(&text);
                prop_assert!(read.mentions.is_empty() && read.surprises.is_empty(), "{:?} in {text:?}", read.surprises);
            }
        }
    }

    #[test]
    fn verbatim_text_shows_exactly_itself(text in "[ a-z*_`~#>|<&@!\\[\\]()\\\\:/.0-9\n-]{0,120}|\\PC{0,100}") {
        let parts = reply(&Reply { content: vec![Content::Plain(text.clone())], ..Reply::default() });
        if !document::is_blank(&text) {
            let read = read(&content(&parts[0]));
            prop_assert_eq!(document::samples::visible(&read.text), document::samples::visible(&text));
        }
    }
}
