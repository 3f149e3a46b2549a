//! Conversations that change while an answer is in the making.

use sim::telegram::{Conversation, NewKind, Remove, State};

use crate::world::{World, eventually, on_both_stores};

on_both_stores!(
    a_group_that_becomes_a_supergroup_takes_its_session_and_answers_along,
    a_bot_that_was_removed_records_it_and_goes_on_elsewhere,
    an_answer_whose_topic_is_gone_goes_to_the_chat_itself,
    an_answer_whose_question_is_gone_is_given_all_the_same,
);

fn becomes(world: &World, name: &str, kind: Option<NewKind>, state: Option<State>) {
    let wanted = Conversation { name: name.into(), kind, state, ..Conversation::default() };
    world.telegram.conversation(&wanted).expect("it can be done");
}

async fn a_group_that_becomes_a_supergroup_takes_its_session_and_answers_along(world: World) {
    becomes(&world, "team", Some(NewKind::Group), None);
    let (gateway, team) = (world.start().await, world.chat("team"));
    let before = team.says("/look tag=old").answered_once_unmarked(&gateway).await;
    world.service.hold("look");
    let asked = team.says("/look tag=moving");
    world.service.asked("look", "moving", 1).await;
    becomes(&world, "team", None, Some(State::Upgraded));
    world.service.let_go("look");
    let done = || team.seen().iter().filter(|seen| seen.text.contains("tag: moving")).count();
    eventually("the answer is in the supergroup", async || done() == 1).await;
    asked.quiet(&gateway).await;
    assert_eq!(done(), 1, "{:#?}", team.seen());

    gateway.kill();
    let gateway = world.start().await;
    let after = team.says("/look tag=new").answered_once_unmarked(&gateway).await;
    let session = async |reference: &str| gateway.tree(reference).await["session"].clone();
    assert_eq!(session(&before.reference()).await, session(&after.reference()).await);
    assert_eq!(done(), 1, "{:#?}", team.seen());
    world.no_rule_was_broken();
}

async fn a_bot_that_was_removed_records_it_and_goes_on_elsewhere(world: World) {
    let (gateway, team) = (world.start().await, world.chat("team"));
    world.service.hold("act");
    let asked = team.says("/act tag=a");
    world.service.asked("act", "a", 1).await;
    becomes(&world, "team", None, Some(State::Kicked));
    world.service.let_go("act");
    gateway.logged("delivery failed").await;
    gateway.idles().await;
    assert!(asked.answers().is_empty());
    world.chat("dm:bob").says("/look tag=b").answered_once_unmarked(&gateway).await;
    gateway.kill();
    let gateway = world.start().await;
    becomes(&world, "team", None, Some(State::Open));
    team.says("/look tag=c").answered_once_unmarked(&gateway).await;
    assert!(asked.answers().is_empty(), "what could not be delivered is not tried for ever");
    assert_eq!(world.service.count("act", "a"), 1);
}

async fn an_answer_whose_topic_is_gone_goes_to_the_chat_itself(world: World) {
    becomes(&world, "forum", Some(NewKind::Forum), None);
    let (gateway, forum) = (world.start().await, world.chat("forum"));
    let answer = forum.says_in("plans", "/look tag=a").answered_once_unmarked(&gateway).await;
    assert_eq!(answer.thread.as_deref(), Some("plans"));
    world.service.hold("look");
    let asked = forum.says_in("plans", "/look tag=b");
    world.service.asked("look", "b", 1).await;
    let topic = Remove { conversation: "forum".into(), message: None, thread: Some("plans".into()) };
    world.telegram.remove(&topic).expect("the topic is there");
    world.service.let_go("look");
    let found = || forum.seen().into_iter().filter(|seen| seen.text.contains("tag: b")).collect::<Vec<_>>();
    eventually("the answer is in the chat", async || !found().is_empty()).await;
    asked.quiet(&gateway).await;
    assert_eq!(found().len(), 1, "{:#?}", forum.seen());
    assert_eq!(found()[0].thread.as_deref(), Some("General"));
    world.no_rule_was_broken();
}

async fn an_answer_whose_question_is_gone_is_given_all_the_same(world: World) {
    let (gateway, team) = (world.start().await, world.chat("team"));
    world.service.hold("act");
    let asked = team.says("/act tag=a");
    world.service.asked("act", "a", 1).await;
    let question = Remove { conversation: "team".into(), message: Some(asked.message), thread: None };
    world.telegram.remove(&question).expect("the message is there");
    world.service.let_go("act");
    let found = || team.seen().into_iter().filter(|seen| seen.text.contains("tag: a")).count();
    eventually("the answer is there", async || found() > 0).await;
    asked.quiet(&gateway).await;
    assert_eq!((found(), world.service.count("act", "a")), (1, 1), "{:#?}", team.seen());
    world.no_rule_was_broken();
}
