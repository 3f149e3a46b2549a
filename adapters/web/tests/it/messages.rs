//! Text in, reply out.

use reqwest::Method;
use serde_json::json;

use crate::world::{ADMIN, DESKTOP, OTHER, events, read, until, world};

#[tokio::test]
async fn a_message_is_answered_with_text_parts_and_its_reference() {
    let world = world().await;
    let (status, answer) = world.say(Some(DESKTOP), json!({ "text": "/sleep 1" })).await;
    assert_eq!((status, &answer["failed"]), (200, &json!(false)), "{answer}");
    assert!(answer["text"].as_str().unwrap().contains("slept"), "{answer}");
    assert!(answer["parts"].as_array().is_some_and(|parts| !parts.is_empty()));
    let reference = answer["reference"].as_str().unwrap();
    assert_eq!(world.get(&format!("/v1/messages/{reference}"), Some(DESKTOP)).await, (200, answer.clone()));
}

#[tokio::test]
async fn a_failure_is_a_notice_in_the_reply() {
    let world = world().await;
    let (status, answer) = world.say(Some(DESKTOP), json!({ "text": "/sleep soon" })).await;
    assert_eq!((status, &answer["failed"]), (200, &json!(true)));
    let notice = answer["parts"].as_array().unwrap().iter().find(|part| part["kind"] == "notice").unwrap();
    assert_eq!((&notice["layer"], &notice["code"]), (&json!("validation"), &json!("args.invalid")));
    assert_eq!(notice["problems"][0]["path"], "ms");
    assert!(notice["usage"].as_str().unwrap().starts_with("/sleep"));
}

#[tokio::test]
async fn a_wait_that_ends_first_leaves_a_reference_to_fetch_later() {
    let world = world().await;
    let (status, later) = world.say(Some(DESKTOP), json!({ "text": "/sleep 300", "wait": 0 })).await;
    assert_eq!(status, 202);
    let path = format!("/v1/messages/{}", later["reference"].as_str().unwrap());
    until("the answer is there", || async { world.get(&path, Some(DESKTOP)).await.0 == 200 }).await;
    let (_, answer) = world.get(&path, Some(DESKTOP)).await;
    assert!(answer["text"].as_str().unwrap().contains("slept"));
}

#[tokio::test]
async fn a_message_that_waits_in_its_lane_is_answered_in_the_same_request() {
    let world = world().await;
    let (first, second) = tokio::join!(
        world.say(Some(DESKTOP), json!({ "text": "/sleep 150" })),
        world.say(Some(DESKTOP), json!({ "text": "/sleep 151" })),
    );
    assert_eq!((first.0, second.0), (200, 200), "{first:?} {second:?}");
}

#[tokio::test]
async fn an_id_sent_twice_is_one_message() {
    let world = world().await;
    let ask = json!({ "text": "/sleep 1", "id": "order-1" });
    let (first, second) = (world.say(Some(DESKTOP), ask.clone()).await, world.say(Some(DESKTOP), ask.clone()).await);
    assert_eq!(first, second);
    let (_, of_another) = world.say(Some(OTHER), ask).await;
    assert_ne!(of_another["reference"], first.1["reference"]);
    let of_a_person = world.say(Some(DESKTOP), json!({ "text": "/sleep 1", "id": "order-1", "user": "mia" })).await;
    assert_ne!(of_a_person.1["reference"], first.1["reference"]);
}

#[tokio::test]
async fn an_id_does_not_stand_for_two_messages() {
    let world = world().await;
    let ask = |text: &str, place: &str| json!({ "text": text, "conversation": place, "id": "order-1" });
    let (_, first) = world.say(Some(DESKTOP), ask("/sleep 1", "a")).await;
    for other in [ask("/sleep 2", "a"), ask("/sleep 1", "b")] {
        let (status, problem) = world.say(Some(DESKTOP), other).await;
        assert_eq!((status, &problem["code"]), (409, &json!("input.refused")), "{problem}");
        assert_eq!(problem["reference"], first["reference"]);
    }
    assert_eq!(world.say(Some(DESKTOP), ask("/sleep 1", "a")).await.1, first);
}

#[tokio::test]
async fn a_message_streams_its_nodes_and_ends_with_its_answer() {
    let world = world().await;
    let ask = world.ask(Method::POST, "/v1/messages", Some(DESKTOP)).header("accept", "text/event-stream");
    let events = events(ask.body(json!({ "text": "/sleep 30\n/sleep 1" }).to_string()).send().await.unwrap()).await;
    let names: Vec<_> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names[0], *names.last().unwrap()), ("node", "end"), "{names:?}");
    assert_eq!(events[0].1["kind"], "turn");
    assert_eq!(names.iter().filter(|name| **name == "end").count(), 1);
    let end = &events.last().unwrap().1;
    assert_eq!(end["failed"], false);
    assert!(end["text"].as_str().unwrap().contains("slept"));
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_said() {
    let world = world().await;
    for (body, code) in [
        (json!({}), "args.invalid"),
        (json!({ "text": "hi", "platform": "console" }), "args.unreadable"),
        (json!({ "text": " " }), "args.invalid"),
        (json!({ "text": "hi", "wait": 301 }), "args.invalid"),
        (json!({ "text": "hi", "user": "" }), "args.invalid"),
        (json!({ "text": "hi", "conversation": "a\u{0}b" }), "args.invalid"),
    ] {
        let (status, problem) = world.say(Some(DESKTOP), body.clone()).await;
        assert_eq!((status, problem["code"].as_str().unwrap()), (422, code), "{body}: {problem}");
    }
    let huge = world.ask(Method::POST, "/v1/messages", Some(DESKTOP)).body("x".repeat(1_100_000));
    let (status, _) = read(huge.send().await.unwrap()).await;
    assert_eq!(status, 413);
}

#[tokio::test]
async fn a_full_lane_says_busy_and_when_to_try_again() {
    let world = world().await;
    world.say(Some(DESKTOP), json!({ "text": "/sleep 30000", "wait": 0 })).await;
    let mut refused = None;
    for n in 0..40 {
        let ask = world.ask(Method::POST, "/v1/messages", Some(DESKTOP));
        let said = json!({ "text": "/sleep 1", "wait": 0, "id": format!("m{n}") });
        let answer = ask.body(said.to_string()).send().await.unwrap();
        if answer.status() != 202 {
            refused = Some((answer, said));
            break;
        }
    }
    let (refused, said) = refused.expect("the lane is bounded");
    assert!(refused.headers().contains_key("retry-after"));
    let (status, problem) = read(refused).await;
    assert_eq!((status, problem["code"].as_str().unwrap()), (503, "busy"));
    let (status, stopped) = world.say(Some(DESKTOP), json!({ "text": "/stop" })).await;
    assert_eq!((status, &stopped["reference"]), (200, &json!(null)), "a signal has no turn: {stopped}");
    until("there is room again", || async { world.say(Some(DESKTOP), said.clone()).await.0 != 503 }).await;
    let (_, once) = world.say(Some(DESKTOP), said.clone()).await;
    assert_eq!(world.say(Some(DESKTOP), said).await.1["reference"], once["reference"]);
}

#[tokio::test]
async fn the_answer_of_somebody_else_does_not_exist() {
    let world = world().await;
    let reference = world.said(DESKTOP, "/sleep 1").await;
    let path = format!("/v1/messages/{reference}");
    let foreign = world.get(&path, Some(OTHER)).await;
    let unknown = world.get("/v1/messages/01KBA7Q3ZJ8M4W0N5RX2VCT008", Some(OTHER)).await;
    let nonsense = world.get("/v1/messages/nonsense", Some(OTHER)).await;
    assert_eq!(foreign.0, 404);
    assert_eq!((&foreign, &foreign), (&unknown, &nonsense));
    assert_eq!(world.get(&path, Some(ADMIN)).await.0, 200);
    assert_eq!(world.get(&path, None).await.0, 401);
}
