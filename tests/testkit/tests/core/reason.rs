//! Turns that a language model plans.

use std::sync::Arc;

use expect_test::expect;
use testkit::{
    InABox, Scripted, Setup,
    model::{says, wants},
};

async fn with(model: &Arc<Scripted>) -> InABox {
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    Setup::new(stores).model(model).start().ready().await
}

#[tokio::test]
async fn results_come_back_in_the_order_of_the_calls_and_then_it_answers() {
    let calls = wants(&[("sleep", r#"{"ms": 30}"#), ("sleep", r#"{"ms": 1}"#)]).saying("I sleep twice.");
    let model = Scripted::new([calls, says("Slept **31 ms**.")]);
    let said = with(&model).await.say("sleep a little, then a moment").await;
    expect!["Slept 31 ms."].assert_eq(&said.text);
    expect![[r#"
        turn  ok
        ├─ model step  ok
        │  ├─ sleep {ms: 30}  ok
        │  └─ sleep {ms: 1}  ok
        └─ model step  ok
    "#]]
    .assert_eq(&said.tree);
    expect![[r#"
        person: sleep a little, then a moment
        model: I sleep twice. [call_1_1 sleep {"ms":30}] [call_1_2 sleep {"ms":1}]
        result call_1_1 sleep: {"slept_ms":30}
        result call_1_2 sleep: {"slept_ms":1}
    "#]]
    .assert_eq(&model.asked()[1].text());
}
