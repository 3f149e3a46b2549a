//! The gateway in the words of OpenAI's API, and what streams of turns with a model hold.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use dispatch::model::{About, Said};
use reqwest::{Method, Response};
use serde_json::{Value, json};
use testkit::{
    Scripted,
    model::{fails, never, says, wants},
};

use crate::world::{DESKTOP, OTHER, World, events, shared, until, world, world_with};

const PACE: Duration = Duration::from_millis(120);

async fn post(world: &World, token: Option<&str>, session: Option<&str>, body: &Value) -> Response {
    let mut ask = world.ask(Method::POST, "/v1/chat/completions", token);
    if let Some(session) = session {
        ask = ask.header("x-toolgate-session", session);
    }
    ask.body(body.to_string()).send().await.unwrap()
}

async fn ask(world: &World, messages: Value) -> (u16, Value) {
    let answer = post(world, Some(DESKTOP), None, &json!({ "model": "any", "messages": messages })).await;
    (answer.status().as_u16(), answer.json().await.unwrap())
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

/// The data of each event.
async fn chunks(answer: Response) -> Vec<String> {
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let text = answer.text().await.unwrap();
    text.lines().filter_map(|line| line.strip_prefix("data: ").map(str::to_owned)).collect()
}

fn content(chunks: &[String]) -> String {
    let read = |chunk: &String| serde_json::from_str::<Value>(chunk).unwrap_or_default();
    chunks.iter().filter_map(|c| read(c)["choices"][0]["delta"]["content"].as_str().map(str::to_owned)).collect()
}

#[tokio::test]
async fn a_conversation_is_answered_with_a_completion_and_what_it_took() {
    let model = Scripted::new([wants(&[("sleep", r#"{"ms": 1}"#)]), says("**Rested**, thanks.")]);
    let world = world_with(model.clone()).await;
    let (status, answer) =
        ask(&world, json!([{ "role": "system", "content": "Be kind." }, user("hi"), { "role": "assistant", "content": "hello" }, user("rest a bit")]))
            .await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(
        answer["choices"][0]["message"],
        json!({ "role": "assistant", "content": "**Rested**, thanks.", "refusal": null })
    );
    assert_eq!((&answer["object"], &answer["model"]), (&json!("chat.completion"), &json!("toolgate")));
    assert_eq!((&answer["usage"]["prompt_tokens"], &answer["usage"]["total_tokens"]), (&json!(200), &json!(220)));
    let told = model.asked()[0].text();
    expect_test::expect![[r"
        person: (Said beforehand, for the whole conversation: Be kind.)

        hi
        model: hello
        person: rest a bit
    "]]
    .assert_eq(&told);
    let reference = answer["reference"].as_str().unwrap();
    assert_eq!(world.get(&format!("/v1/traces/{reference}"), Some(DESKTOP)).await.0, 200);
}

#[tokio::test]
async fn what_a_program_tells_itself_is_not_remembered_and_a_session_is() {
    let model = Scripted::by(|_| says("yes"));
    let world = world_with(model.clone()).await;
    ask(&world, json!([user("one")])).await;
    ask(&world, json!([user("two")])).await;
    assert_eq!(model.asked()[1].text(), "person: two\n");
    for text in ["three", "four"] {
        let body = json!({ "messages": [user("of the body"), user(text)] });
        assert_eq!(post(&world, Some(DESKTOP), Some("s1"), &body).await.status(), 200);
    }
    assert_eq!(model.asked()[3].text(), "person: three\nmodel: yes\nperson: four\n");
}

#[tokio::test]
async fn a_stream_grows_piece_by_piece_and_ends() {
    let drafts = ["It", "It is", "It is so"];
    let world = world_with(Scripted::new([says("It is so.").drafting(&drafts, PACE)])).await;
    let body = json!({ "messages": [user("is it?")], "stream": true, "stream_options": { "include_usage": true } });
    let chunks = chunks(post(&world, Some(DESKTOP), None, &body).await).await;
    assert_eq!(content(&chunks), "It is so.");
    let (first, last): (Value, &str) = (serde_json::from_str(&chunks[0]).unwrap(), chunks.last().unwrap());
    assert_eq!((&first["choices"][0]["delta"]["role"], last), (&json!("assistant"), "[DONE]"));
    assert!(chunks.len() > 5, "the text comes in pieces: {chunks:?}");
    let end: Vec<Value> =
        chunks[chunks.len() - 3..chunks.len() - 1].iter().map(|c| serde_json::from_str(c).unwrap()).collect();
    assert_eq!(end[0]["choices"][0]["finish_reason"], "stop");
    assert_eq!((&end[1]["choices"], &end[1]["usage"]["completion_tokens"]), (&json!([]), &json!(10)));
}

#[tokio::test]
async fn a_message_streams_drafts_nodes_and_its_end() {
    let model = Scripted::new([wants(&[("sleep", r#"{"ms": 1}"#)]), says("Done.").drafting(&["Do"], PACE)]);
    let world = world_with(model).await;
    let ask = world.ask(Method::POST, "/v1/messages", Some(DESKTOP)).header("accept", "text/event-stream");
    let events = events(ask.body(json!({ "text": "rest" }).to_string()).send().await.unwrap()).await;
    let draft = events.iter().find(|(name, _)| name == "draft").unwrap();
    assert_eq!(draft.1, json!({ "text": "Do" }));
    let used = events.iter().filter(|(_, node)| node["kind"] == "model_step" && node["usage"]["output"] == 10).count();
    assert!(used >= 2, "{events:?}");
    assert_eq!(events.last().unwrap().1["text"], "Done.");
}

#[tokio::test]
async fn a_turn_stops_when_its_client_hangs_up() {
    for streams in [false, true] {
        let world = world_with(Scripted::new([never()])).await;
        let body = json!({ "messages": [user("think for ever")], "stream": streams });
        {
            let asking = post(&world, Some(DESKTOP), None, &body);
            tokio::pin!(asking);
            let under_way = until("the turn runs", || async { world.gateway.gateway.load().2 == 1 });
            let answer = tokio::select! {
                answer = &mut asking => Some(answer),
                () = under_way => None,
            };
            assert!(streams || answer.is_none(), "nothing is answered before the turn is over");
        }
        until("nothing runs", || async { world.gateway.gateway.load().2 == 0 }).await;
        until("it was stopped", || async {
            world.get("/v1/traces", Some(DESKTOP)).await.1["traces"][0]["state"] == "cancelled"
        })
        .await;
    }
}

#[tokio::test]
async fn at_shutdown_a_wait_ends_with_the_reference_and_the_turn_of_a_session_goes_on() {
    for session in [Some("s1"), None] {
        let world = shared(world_with(Scripted::new([never()])).await);
        let waiting = tokio::spawn({
            let world = world.clone();
            let body = json!({ "messages": [user("think for ever")] });
            async move { post(&world, Some(DESKTOP), session, &body).await }
        });
        until("the turn runs", || async { world.gateway.gateway.load().2 == 1 }).await;
        world.shutdown.cancel();
        let answer = waiting.await.unwrap();
        assert_eq!((answer.status().as_u16(), &answer.headers()["x-should-retry"]), (503, &"false".parse().unwrap()));
        let body: Value = answer.json().await.unwrap();
        assert_eq!((&body["error"]["code"], &body["error"]["type"]), (&json!("unavailable"), &json!("server_error")));
        let turn = body["error"]["reference"].as_str().unwrap().parse().unwrap();
        until("the interface has ended", || async { world.web.join.is_finished() }).await;
        match session {
            Some(_) => {
                let record = world.gateway.gateway.record(turn).await.unwrap().unwrap();
                assert!(record.reply.is_none() && !record.cancelled, "it goes on");
                assert_eq!(world.gateway.gateway.load().2, 1);
            }
            None => until("it was stopped", || async { world.gateway.gateway.load().2 == 0 }).await,
        }
    }
}

#[tokio::test]
async fn a_picture_is_shown_to_a_model_that_sees() {
    let about = About { sees_images: true, ..Scripted::usual() };
    let model = Scripted::about(about, |_| says("a dot"));
    let world = world_with(model.clone()).await;
    let url = format!("data:image/png;base64,{}", STANDARD.encode(vec![7_u8; 2_000_000]));
    let content =
        json!([{ "type": "text", "text": "what is it?" }, { "type": "image_url", "image_url": { "url": url } }]);
    let (status, answer) = ask(&world, json!([{ "role": "user", "content": content }])).await;
    assert_eq!(status, 200, "{answer}");
    let asked = model.asked();
    let Said::Person { text, images } = &asked[0].messages[0] else { panic!("a person asks") };
    assert!(
        text.starts_with("what is it?") && images[0].bytes.len() == 2_000_000 && images[0].media_type == "image/png"
    );
}

#[tokio::test]
async fn errors_have_the_shape_that_clients_of_that_api_read() {
    let world = world().await;
    let error = |answer: Value| (answer["error"]["type"].clone(), answer["error"]["code"].clone());
    let body = json!({ "messages": [user("hi")], "tools": [{ "type": "function" }] });
    let refused = post(&world, Some(DESKTOP), None, &body).await;
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["content-type"]),
        (400, &"application/json".parse().unwrap())
    );
    let refused: Value = refused.json().await.unwrap();
    assert_eq!(refused["error"]["param"], "tools");
    assert!(refused["error"]["message"].as_str().unwrap().contains("its own tools"), "{refused}");
    assert_eq!(error(refused), (json!("invalid_request_error"), json!("args.invalid")));
    let stranger = post(&world, None, None, &body).await;
    assert_eq!(stranger.status(), 401);
    assert_eq!(error(stranger.json().await.unwrap()), (json!("authentication_error"), json!("client.unknown")));
    let garbage = world.ask(Method::POST, "/v1/chat/completions", Some(DESKTOP)).body("[]").send().await.unwrap();
    assert_eq!(garbage.status(), 400);
    assert_eq!(error(garbage.json().await.unwrap()).1, "args.unreadable");
}

#[tokio::test]
async fn a_model_that_does_not_answer_is_an_error_with_its_reference_that_is_not_to_be_repeated() {
    let world = world_with(Scripted::by(|_| fails())).await;
    let answer = post(&world, Some(DESKTOP), None, &json!({ "messages": [user("hi")] })).await;
    assert_eq!((answer.status().as_u16(), &answer.headers()["x-should-retry"]), (503, &"false".parse().unwrap()));
    let body: Value = answer.json().await.unwrap();
    assert_eq!((&body["error"]["code"], &body["error"]["type"]), (&json!("model.unavailable"), &json!("server_error")));
    let reference = body["error"]["reference"].as_str().unwrap();
    assert_eq!(world.get(&format!("/v1/traces/{reference}"), Some(DESKTOP)).await.0, 200);
    let chunks =
        chunks(post(&world, Some(DESKTOP), None, &json!({ "messages": [user("hi")], "stream": true })).await).await;
    assert!(chunks.iter().any(|chunk| chunk.contains("model.unavailable")) && chunks.last().unwrap() == "[DONE]");
}

#[tokio::test]
async fn commands_work_without_a_model_and_a_client_is_who_its_token_says() {
    let world = world().await;
    let (status, answer) =
        ask(&world, json!([user("/echo n=5"), { "role": "assistant", "content": "5" }, user("/echo n=7")])).await;
    assert_eq!(status, 200, "{answer}");
    assert!(answer["choices"][0]["message"]["content"].as_str().unwrap().contains('7'), "{answer}");
    let reference = answer["reference"].as_str().unwrap();
    let (_, trace) = world.get(&format!("/v1/traces/{reference}"), Some(DESKTOP)).await;
    assert_eq!(
        (&trace["platform"], &trace["tenant"], &trace["account"]),
        (&json!("api"), &json!("default"), &json!("desktop"))
    );
    assert_eq!(world.get(&format!("/v1/traces/{reference}"), Some(OTHER)).await.0, 404);
    let (_, models) = world.get("/v1/models", Some(DESKTOP)).await;
    assert_eq!(models["data"][0]["id"], "toolgate");
}

#[tokio::test]
async fn a_button_of_an_answer_is_pressed_over_http() {
    let world = world().await;
    let (_, failed) = world.say(Some(DESKTOP), json!({ "text": "/fail timeout", "conversation": "c" })).await;
    let buttons = failed["buttons"].as_array().unwrap();
    let details = buttons.iter().find(|button| button["press"].as_str().unwrap().starts_with("details:")).unwrap();
    let (status, shown) = world.say(Some(DESKTOP), json!({ "press": details["press"], "conversation": "c" })).await;
    assert_eq!((status, &shown["failed"]), (200, &json!(false)), "{shown}");
    assert!(shown["text"].as_str().unwrap().contains("fail"), "{shown}");
    let (status, _) = world.say(Some(DESKTOP), json!({ "press": "details:1", "text": "and" })).await;
    assert_eq!(status, 422);
}

#[tokio::test]
async fn the_chat_page_is_served_with_all_that_it_needs_and_may_load_nothing_else() {
    let world = world().await;
    let page = world.ask(Method::GET, "/chat", None).send().await.unwrap();
    assert!(page.headers()["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'"));
    let html = page.text().await.unwrap();
    for file in html.split("\"/chat/").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        let served = world.ask(Method::GET, &format!("/chat/{file}"), None).send().await.unwrap();
        assert_eq!(served.status(), 200, "{file}");
    }
    let foreign = world.ask(Method::GET, "/chat", None).header("host", "evil.test").send().await.unwrap();
    assert_eq!(foreign.status(), 403);
}
