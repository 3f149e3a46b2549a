//! Servers that are slow, broken, full or strict, and others that answer in their place.

use std::time::Duration;

use contract::Health;
use expect_test::{Expect, expect};
use secrecy::SecretString;
use serde_json::json;

use super::*;
use crate::{Api, key};

async fn check(replies: Vec<Reply>, expected: Expect) -> Vec<Asked> {
    let server = Server::new(replies).await;
    expected.assert_eq(&step(server.settings(Api::Chat), &tools(), &[person("hi")]).await);
    server.asked()
}

fn broken() -> Reply {
    vec![stream(events(&[delta(json!({ "content": "Sun" }))]))]
}

#[tokio::test]
async fn a_failure_of_its_own_is_asked_again_twice() {
    let answered = expect![[r#"
        "Sunny." Done
    "#]];
    assert_eq!(check(vec![status(500, "", "oops"), status(503, "", ""), says("Sunny.")], answered).await.len(), 3);
    let gave_up = expect![[r#"
        model.unavailable: the language model did not answer
        openai 'small' at HOST: 500, it failed on its own side: oops
    "#]];
    assert_eq!(check(vec![status(500, "", "oops")], gave_up).await.len(), 3);
}

#[tokio::test]
async fn a_wait_that_fits_is_waited_and_one_that_does_not_is_told() {
    let answered = || {
        expect![[r#"
        "Sunny." Done
    "#]]
    };
    check(vec![status(429, "retry-after: 0\r\n", ""), says("Sunny.")], answered()).await;
    let past = "retry-after: Wed, 21 Oct 2015 07:28:00 GMT\r\n";
    check(vec![status(429, past, ""), says("Sunny.")], answered()).await;
    let asked = check(
        vec![status(429, "retry-after: 60\r\n", "slow down")],
        expect![[r#"
        model.unavailable: the language model is asked too often (after 60 s)
        openai 'small' at HOST: 429, it is asked too often: slow down
    "#]],
    )
    .await;
    assert_eq!(asked.len(), 1);
}

#[tokio::test]
async fn a_stream_that_is_cut_is_no_answer() {
    let answered = expect![[r#"
        "Sunny." Done
    "#]];
    assert_eq!(check(vec![broken(), says("Sunny.")], answered).await.len(), 2);
    let gave_up = expect![[r#"
        model.unavailable: the language model's answer broke off
        openai 'small' at HOST: the answer ended in the middle
    "#]];
    assert_eq!(check(vec![broken()], gave_up).await.len(), 2);
    let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\ndata:\r\n".to_vec();
    let server = Server::new(vec![vec![Act::Say(chunked)]]).await;
    let said = step(server.settings(Api::Chat), &tools(), &[person("hi")]).await;
    assert!(said.starts_with("model.unavailable: the language model's answer broke off\n"), "{said}");
}

#[tokio::test]
async fn an_empty_answer_is_asked_for_once_more() {
    let empty = || vec![stream(events(&[finish("stop")]) + "data: [DONE]\n\n")];
    let answered = expect![[r#"
        "Sunny." Done
    "#]];
    assert_eq!(check(vec![empty(), says("Sunny.")], answered).await.len(), 2);
    let gave_up = expect![[r#"
        model.unavailable: the language model gave an empty answer
        openai 'small' at HOST: neither text nor calls came
    "#]];
    assert_eq!(check(vec![empty()], gave_up).await.len(), 2);
    // Its room was used up by thinking: another try would be no better.
    let thought = events(&[delta(json!({ "content": "<think>hm" })), finish("length")]);
    let cut = expect![[r#"
        "" Length
    "#]];
    assert_eq!(check(vec![vec![stream(thought)]], cut).await.len(), 1);
}

#[tokio::test]
async fn what_only_an_operator_can_mend_is_asked_once_and_told_to_them() {
    let body = r#"{"error":{"message":"Incorrect API key provided: sk-abc***yz."}}"#;
    let asked = check(
        vec![status(401, "", body)],
        expect![[r#"
        model.unavailable: the language model did not answer [an operator has to look at this]
        openai 'small' at HOST: 401, it wants a key: set 'api_key': {"error":{"message":"Incorrect API key provided: …
    "#]],
    )
    .await;
    assert_eq!(asked.len(), 1);
    check(
        vec![status(404, "", "not here")],
        expect![[r#"
        model.unavailable: the language model did not answer [an operator has to look at this]
        openai 'small' at HOST: 404, there is no such model or no such address: look at 'name' and 'base_url': not here
    "#]],
    )
    .await;
    check(
        vec![status(302, "location: http://127.0.0.1:1/\r\n", "")],
        expect![[r#"
        model.unavailable: the language model did not answer [an operator has to look at this]
        openai 'small' at HOST: 302, a redirect, which is not followed: look at 'base_url'
    "#]],
    )
    .await;
    let server = Server::new(vec![status(404, "", r#"{"error":"model 'small' not found"}"#)]).await;
    expect![[r#"
        model.unavailable: the language model did not answer [an operator has to look at this]
        ollama 'small' at HOST: 404, it has no such model: run `ollama pull small` there: {"error":"model 'small' not found"}
    "#]]
    .assert_eq(&step(server.settings(Api::Ollama), &tools(), &[person("hi")]).await);
}

#[tokio::test]
async fn a_conversation_that_is_too_long_has_a_code_of_its_own() {
    let body = r#"{"error":{"code":"context_length_exceeded","message":"too many tokens"}}"#;
    let asked = check(vec![status(400, "", body)], expect![[r#"
        model.overflow: the conversation is too long for the language model
        openai 'small' at HOST: 400, the prompt does not fit: {"error":{"code":"context_length_exceeded","message":"too many tokens"}}
    "#]])
    .await;
    assert_eq!(asked.len(), 1);
    let error = r#"data: {"error":{"message":"the request exceeds the available context size"}}"#;
    check(
        vec![vec![stream(format!("{error}\n\n"))]],
        expect![[r#"
        model.overflow: the conversation is too long for the language model
        openai 'small' at HOST: an error in the stream: {"message":"the request exceeds the available context size"}
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_part_that_a_server_does_not_take_is_left_out_from_then_on() {
    let refuses =
        |what: &str| status(400, "", &format!(r#"{{"error":{{"message":"Unsupported parameter: '{what}'"}}}}"#));
    let server = Server::new(vec![refuses("max_tokens"), refuses("temperature"), says("Sunny."), says("Warm.")]).await;
    let settings = Settings { temperature: Some(0.2), ..server.settings(Api::Chat) };
    let chain = Chain::new(settings, Vec::new()).unwrap();
    for _ in 0..2 {
        chain.step(&prompt(&tools(), &[person("hi")]), &Drafts::default()).await.unwrap();
    }
    let parts = |asked: &Asked| {
        ["max_tokens", "max_completion_tokens", "temperature"].map(|part| asked.body.get(part).is_some())
    };
    let sent: Vec<_> = server.asked().iter().map(parts).collect();
    assert_eq!(sent, [[true, false, true], [false, true, true], [false, true, false], [false, true, false]]);
}

#[tokio::test]
async fn an_answer_without_an_end_is_cut_off_at_eight_mebibytes() {
    let piece = events(&[delta(json!({ "content": "x".repeat(1 << 20) }))]).into_bytes();
    let mut acts = vec![stream("")];
    acts.extend(std::iter::repeat_n(Act::Say(piece), 9));
    let asked = check(
        vec![acts],
        expect![[r#"
        model.unavailable: the language model answered more than 8 MiB
        openai 'small' at HOST: the answer is longer than 8 MiB
    "#]],
    )
    .await;
    assert_eq!(asked.len(), 1);
}

#[tokio::test]
async fn the_step_ends_at_its_deadline_whatever_happens() {
    let server = Server::new(vec![vec![Act::Hang]]).await;
    let chain = Chain::new(server.settings(Api::Chat), Vec::new()).unwrap();
    let (tools, messages) = (tools(), [person("hi")]);
    let deadline = tokio::time::Instant::now() + Duration::from_millis(200);
    let prompt = dispatch::model::Prompt { deadline, ..prompt(&tools, &messages) };
    let failure = chain.step(&prompt, &Drafts::default()).await.unwrap_err();
    assert_eq!(failure.to_string(), "the language model did not answer in time");
}

#[tokio::test]
async fn a_key_goes_into_a_header_and_nowhere_else() {
    let secret = "hunter2-and-more";
    for (api, header) in [
        (Api::Chat, "authorization: bearer hunter2-and-more"),
        (Api::Anthropic, "x-api-key: hunter2-and-more"),
        (Api::Gemini, "x-goog-api-key: hunter2-and-more"),
    ] {
        let server = Server::new(vec![status(401, "", &format!("wrong key {secret}"))]).await;
        let settings =
            Settings { key: Some(key(move || async move { Ok(SecretString::from(secret)) })), ..server.settings(api) };
        let said = step(settings, &tools(), &[person("hi")]).await;
        assert!(said.contains("401, it does not accept the key: wrong key …") && !said.contains(secret), "{said}");
        let asked = server.asked();
        assert!(asked[0].head.contains(header) && !asked[0].path.contains(secret), "{}", asked[0].head);
    }
    let server = Server::new(vec![says("hi")]).await;
    let unset = key(|| async { Err("the secret 'model.api_key' cannot be read: the variable KEY is not set".into()) });
    let said = step(Settings { key: Some(unset), ..server.settings(Api::Chat) }, &tools(), &[person("hi")]).await;
    assert!(said.ends_with("the variable KEY is not set\n"), "{said}");
    assert!(server.asked().is_empty());
}

fn named(name: &str, server: &Server) -> Settings {
    Settings { name: name.into(), ..server.settings(Api::Chat) }
}

#[tokio::test]
async fn when_one_is_out_of_order_the_next_answers_and_the_first_is_left_alone() {
    let first = Server::new(vec![status(500, "", "")]).await;
    let second = Server::new(vec![says("Sunny.")]).await;
    let chain = Chain::new(named("first", &first), vec![named("second", &second)]).unwrap();
    let health = Health::default();
    chain.tell(health.clone());
    let (tools, messages) = (tools(), [person("hi")]);
    for _ in 0..2 {
        let answer = chain.step(&prompt(&tools, &messages), &Drafts::default()).await.unwrap();
        assert_eq!((answer.text.as_str(), answer.model.as_str()), ("Sunny.", "second"));
    }
    assert_eq!((first.asked().len(), second.asked().len()), (3, 2));
    assert_eq!(chain.about().name.as_ref(), "first");
}

#[tokio::test]
async fn how_the_models_fare_is_told_after_each_step() {
    let server = Server::new(vec![status(401, "", "secret words"), says("Sunny.")]).await;
    let chain = Chain::new(server.settings(Api::Chat), Vec::new()).unwrap();
    let health = Health::default();
    chain.tell(health.clone());
    assert!(health.all().is_empty());
    let (tools, messages) = (tools(), [person("hi")]);
    chain.step(&prompt(&tools, &messages), &Drafts::default()).await.unwrap_err();
    let [(part, contract::seams::Condition::Degraded(words))] = &health.all()[..] else { panic!("{:?}", health.all()) };
    assert!(part == "model" && words.ends_with("401, it wants a key: set 'api_key'"), "{words}");
    chain.step(&prompt(&tools, &messages), &Drafts::default()).await.unwrap();
    assert_eq!(health.all(), [("model".to_owned(), contract::seams::Condition::Ready)]);
}

#[tokio::test]
async fn a_server_that_is_not_there_costs_no_time_when_there_is_another() {
    let gone = Server::new(Vec::new()).await;
    let second = Server::new(vec![says("Sunny.")]).await;
    let first = named("first", &gone);
    drop(gone);
    // The listener's task has to have ended for its port to be closed.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let chain = Chain::new(first.clone(), vec![named("second", &second)]).unwrap();
    let (tools, messages) = (tools(), [person("hi")]);
    let answer = chain.step(&prompt(&tools, &messages), &Drafts::default()).await.unwrap();
    assert_eq!(answer.model, "second");
    let alone = Chain::new(first, Vec::new()).unwrap();
    let failure = alone.step(&prompt(&tools, &messages), &Drafts::default()).await.unwrap_err();
    assert!(
        told(&failure)
            .starts_with("model.unavailable: the language model did not answer\nopenai 'first' at HOST: no connection"),
        "{}",
        told(&failure)
    );
}

#[tokio::test]
async fn a_model_that_hangs_leaves_time_for_the_next() {
    let first = Server::new(vec![vec![Act::Hang]]).await;
    let second = Server::new(vec![says("Sunny.")]).await;
    let chain = Chain::new(named("first", &first), vec![named("second", &second)]).unwrap();
    let (tools, messages) = (tools(), [person("hi")]);
    let deadline = tokio::time::Instant::now() + Duration::from_secs(1);
    let prompt = dispatch::model::Prompt { deadline, ..prompt(&tools, &messages) };
    let answer = chain.step(&prompt, &Drafts::default()).await.unwrap();
    assert_eq!(answer.model, "second");
}
