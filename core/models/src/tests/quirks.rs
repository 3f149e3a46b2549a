//! What servers that speak chat-completions do otherwise than the first of them.

use std::time::Duration;

use dispatch::model::{Answered, Wish};
use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crate::Api;

async fn check(reply: Reply, expected: Expect) {
    let server = Server::new(vec![reply]).await;
    expected.assert_eq(&step(server.settings(Api::Chat), &tools(), &[person("hi")]).await);
}

fn call(index: u64, id: &str, name: &str, args: serde_json::Value) -> serde_json::Value {
    let mut call = json!({ "index": index, "function": { "arguments": args } });
    if !id.is_empty() {
        call["id"] = id.into();
    }
    if !name.is_empty() {
        call["function"]["name"] = name.into();
    }
    delta(json!({ "tool_calls": [call] }))
}

fn recorded(all: &[serde_json::Value]) -> Reply {
    vec![stream(events(all) + "data: [DONE]\n\n")]
}

#[tokio::test]
async fn parallel_calls_that_all_carry_index_0_stay_apart() {
    let all = [
        call(0, "a", "weather", json!("{\"city\":")),
        call(0, "", "", json!("\"Oslo\"}")),
        call(0, "b", "weather", json!("{\"city\":\"Rome\"}")),
        call(0, "", "time", json!("{}")),
        finish("tool_calls"),
    ];
    check(
        recorded(&all),
        expect![[r#"
        "" Done
        weather {"city":"Oslo"}
        weather {"city":"Rome"}
        time {}
    "#]],
    )
    .await;
}

#[tokio::test]
async fn missing_ids_and_indices_and_arguments_as_objects_are_taken() {
    let all = [
        delta(json!({ "tool_calls": [
        { "function": { "name": "weather", "arguments": { "city": "Oslo" } } },
        { "type": "function", "function": { "name": "weather", "arguments": { "city": "Rome" } } },
        { "function": { "name": "time" } },
    ] })),
        finish("stop"),
    ];
    check(
        recorded(&all),
        expect![[r#"
        "" Done
        weather {"city":"Oslo"}
        weather {"city":"Rome"}
        time 
    "#]],
    )
    .await;
}

#[tokio::test]
async fn calls_that_are_printed_are_calls_and_thinking_is_nothing() {
    let text = "<think>They want the weather.</think>\n\nI look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";
    check(
        says(text),
        expect![[r#"
        "I look." Done
        weather {"city":"Oslo"}
    "#]],
    )
    .await;
    check(
        says("```json\n{\"name\":\"weather\",\"arguments\":{\"city\":\"Oslo\"}}\n```"),
        expect![[r#"
        "" Done
        weather {"city":"Oslo"}
    "#]],
    )
    .await;
    check(
        says("```json\n{\"name\":\"somebody\",\"arguments\":{}}\n```"),
        expect![[r#"
        "```json\n{\"name\":\"somebody\",\"arguments\":{}}\n```" Done
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_call_that_is_quoted_in_an_answer_is_shown_and_not_made() {
    let text = "The page says [TOOL_CALLS] [{\"name\":\"time\",\"arguments\":{}}] and then\n<tool_call>{\"name\":\"time\",\"arguments\":{}}</tool_call>\nand no more.";
    let server = Server::new(vec![says(text)]).await;
    for api in [Api::Chat, Api::Ollama] {
        let settings = Settings { base_url: format!("{}/v1", server.url), ..server.settings(api) };
        assert_eq!(step(settings, &tools(), &[person("hi")]).await, format!("{text:?} Done\n"));
    }
}

#[tokio::test]
async fn between_results_and_a_person_the_model_speaks() {
    let server = Server::new(vec![says("Sunny.")]).await;
    let wish = |n: u32| Wish { id: format!("call_1_{n}"), tool: "time".into(), args: json!({}) };
    let result = |n: u32| Said::Result {
        call: format!("call_1_{n}"),
        tool: "time".into(),
        content: "noon".into(),
        failed: false,
    };
    let calls = || Said::Model(Answered { text: String::new(), calls: vec![wish(1), wish(2)], carried: None });
    let messages = [person("a"), calls(), result(1), result(2), person("b"), calls(), result(1), result(2)];
    step(server.settings(Api::Chat), &tools(), &messages).await;
    let asked = &server.asked()[0].body["messages"];
    let lines = asked.as_array().unwrap().iter().map(|said| format!("{} {}\n", said["role"], said["content"]));
    expect![[r#"
        "system" "Be kind."
        "user" "a"
        "assistant" ""
        "tool" "noon"
        "tool" "noon"
        "assistant" "…"
        "user" "b"
        "assistant" ""
        "tool" "noon"
        "tool" "noon"
    "#]]
    .assert_eq(&lines.collect::<String>());
}

#[tokio::test]
async fn a_printed_call_with_broken_json_goes_on_as_text() {
    check(
        says("<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": Oslo}}</tool_call>"),
        expect![[r#"
        "" Done
        weather {"city": Oslo}
    "#]],
    )
    .await;
}

#[tokio::test]
async fn arguments_that_were_cut_off_are_passed_on_as_they_came() {
    let all = [call(0, "a", "weather", json!("{\"city\":\"Os")), finish("length")];
    check(
        recorded(&all),
        expect![[r#"
        "" Length
        weather {"city":"Os
    "#]],
    )
    .await;
}

#[tokio::test]
async fn an_index_of_three_million_is_a_label() {
    check(
        recorded(&[call(3_000_000, "a", "time", json!("{}")), finish("tool_calls")]),
        expect![[r#"
        "" Done
        time {}
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_stream_may_end_without_done_or_without_a_reason_or_not_at_all() {
    let words = delta(json!({ "content": "Sunny." }));
    let expected = || {
        expect![[r#"
        "Sunny." Done
    "#]]
    };
    check(vec![stream(events(&[words.clone(), finish("stop")]))], expected()).await;
    check(vec![stream(events(std::slice::from_ref(&words)) + "data: [DONE]\n\n")], expected()).await;
    check(vec![stream(events(&[words.clone(), finish("stop")])), Act::Hang], expected()).await;
    check(vec![stream(events(&[words, finish("stop")]) + "data: [DONE]\n\n"), Act::Hang], expected()).await;
}

#[tokio::test]
async fn an_answer_that_is_not_streamed_is_read() {
    let body = json!({ "choices": [{ "message": { "role": "assistant", "content": "Sunny.", "tool_calls": null } }] });
    check(
        status(200, "content-type: application/json\r\n", &format!("{body:#}")),
        expect![[r#"
        "Sunny." Done
    "#]],
    )
    .await;
}

#[tokio::test]
async fn comments_that_never_end_do_not_keep_an_answer_waiting() {
    let begun = stream(events(&[delta(json!({ "content": "Sun" }))]));
    check(
        vec![begun, Act::ForEver(": keep-alive\n\n")],
        expect![[r#"
        model.unavailable: the language model did not answer in time
        openai 'small' at HOST: nothing more came for 1 s
    "#]],
    )
    .await;
    // Before the first word a model may think for as long as its step has.
    let server = Server::new(vec![vec![stream(""), Act::ForEver(": keep-alive\n\n")]]).await;
    let settings = Settings { timeout: Duration::from_millis(700), ..server.settings(Api::Chat) };
    expect![[r#"
        model.unavailable: the language model did not answer in time
        openai 'small' at HOST: no answer in time
    "#]]
    .assert_eq(&step(settings, &tools(), &[person("hi")]).await);
}

#[tokio::test]
async fn bytes_that_are_no_utf8_are_shown_as_such() {
    let mut bytes =
        b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"caf".to_vec();
    bytes.extend_from_slice(b"\xe9\"},\"finish_reason\":\"stop\"}]}\n\n");
    check(
        vec![Act::Say(bytes)],
        expect![[r#"
        "caf�" Done
    "#]],
    )
    .await;
}

#[tokio::test]
async fn usage_comes_last_or_is_estimated_and_has_a_price() {
    let usage = json!({ "choices": [], "usage": { "prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": { "cached_tokens": 60 } } });
    let all = [delta(json!({ "content": "Sunny." })), finish("stop"), usage];
    let server = Server::new(vec![recorded(&all), says("Sunny and warm.")]).await;
    let price = crate::Price { input: 2.0, output: 10.0, cached: 0.5 };
    let chain = Chain::new(Settings { price, ..server.settings(Api::Chat) }, Vec::new()).unwrap();
    let (tools, messages) = (tools(), [person("hi")]);
    let counted = chain.step(&prompt(&tools, &messages), &Drafts::default()).await.unwrap().usage;
    assert_eq!((counted.input, counted.cached, counted.output, counted.cost_micros), (100, 60, 10, 210));
    let estimated = chain.step(&prompt(&tools, &messages), &Drafts::default()).await.unwrap().usage;
    assert!((10..200).contains(&estimated.input) && estimated.output == 4, "{estimated:?}");
}

#[tokio::test]
async fn a_draft_is_the_whole_text_and_never_thinking_or_a_call() {
    let parts = [
        "<think>",
        "hm",
        "</think>",
        "\n\nIt is ",
        "sunny",
        " in Oslo.",
        "\n<tool_",
        "call>{\"name\":\"time\",\"arguments\":{}}",
    ];
    let mut acts = vec![stream("")];
    for part in parts {
        acts.push(Act::Say(events(&[delta(json!({ "content": part }))]).into_bytes()));
        acts.push(Act::Pause(Duration::from_millis(120)));
    }
    acts.push(Act::Say(events(&[finish("stop")]).into_bytes()));
    let server = Server::new(vec![acts]).await;
    let chain = Chain::new(server.settings(Api::Chat), Vec::new()).unwrap();
    let drafts = Drafts::default();
    let answer = chain.step(&prompt(&tools(), &[person("hi")]), &drafts).await.unwrap();
    assert_eq!(shown(&answer), "\"It is sunny in Oslo.\" Done\ntime {}\n");
    let all = drafts.all();
    assert_eq!(all.last().map(String::as_str), Some("It is sunny in Oslo."));
    assert!(all.iter().all(|draft| "It is sunny in Oslo.".starts_with(draft.as_str())), "{all:?}");
}

#[tokio::test]
async fn a_template_that_opens_the_thinking_is_known_after_its_first_answer() {
    let thought = || {
        vec![
            stream(""),
            Act::Say(events(&[delta(json!({ "content": "They say hi" }))]).into_bytes()),
            Act::Pause(Duration::from_millis(150)),
            Act::Say(events(&[delta(json!({ "content": "\n</think>\n\nHello!" })), finish("stop")]).into_bytes()),
        ]
    };
    let server = Server::new(vec![thought(), thought()]).await;
    let chain = Chain::new(server.settings(Api::Chat), Vec::new()).unwrap();
    for (n, seen) in [vec!["They say hi", "Hello!"], vec!["Hello!"]].into_iter().enumerate() {
        let drafts = Drafts::default();
        let answer = chain.step(&prompt(&tools(), &[person("hi")]), &drafts).await.unwrap();
        assert_eq!(answer.text, "Hello!", "{n}");
        assert_eq!(drafts.all(), seen, "{n}");
    }
}

#[tokio::test]
async fn a_thousand_deltas_are_shown_a_few_times() {
    let word = delta(json!({ "content": "x".repeat(64) }));
    let all: Vec<_> = std::iter::repeat_n(word, 1_000).chain([finish("stop")]).collect();
    let server = Server::new(vec![recorded(&all)]).await;
    let chain = Chain::new(server.settings(Api::Chat), Vec::new()).unwrap();
    let drafts = Drafts::default();
    let answer = chain.step(&prompt(&tools(), &[person("hi")]), &drafts).await.unwrap();
    assert_eq!(answer.text.len(), 64_000);
    // At most one each 100 ms, and the stream is read in pieces of many deltas.
    assert!((1..100).contains(&drafts.all().len()), "{}", drafts.all().len());
}
