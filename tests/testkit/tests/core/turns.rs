//! Messages that become turns: one call, batches, refusals.

use std::time::Duration;

use contract::Platform;
use expect_test::{Expect, expect};
use testkit::{InABox, Setup, message};

async fn gateway() -> InABox {
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    let gateway = Setup::new(stores).start();
    while gateway.gateway.partitions_held() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    gateway
}

async fn check(text: &str, reply: Expect, tree: Expect) {
    let said = gateway().await.say(text).await;
    reply.assert_eq(&said.text);
    tree.assert_eq(&said.tree);
}

#[tokio::test]
async fn a_call_is_answered_and_its_tree_kept() {
    check(
        "/sleep 5",
        expect!["- slept_ms: 5"],
        expect![[r#"
        turn  ok
        └─ sleep {ms: 5}  ok
    "#]],
    )
    .await;
}

#[tokio::test]
async fn calls_of_one_message_run_together_and_are_answered_in_order() {
    let gateway = gateway().await;
    let lines: Vec<_> = (0..8).map(|n| format!("/sleep {}", 100 - n)).collect();
    let said = gateway.say(&lines.join("\n")).await;
    let nodes = gateway.gateway.tree(said.turn).await.unwrap();
    let (root, calls): (Vec<_>, Vec<_>) = nodes.iter().partition(|n| n.parent.is_none());
    let one_after_the_other: u64 = calls.iter().filter_map(|n| n.duration_us).sum();
    assert!(root[0].duration_us.unwrap() < one_after_the_other, "they overlap");
    expect![[r#"
        1. sleep — slept_ms: 100
        2. sleep — slept_ms: 99
        3. sleep — slept_ms: 98
        4. sleep — slept_ms: 97
        5. sleep — slept_ms: 96
        6. sleep — slept_ms: 95
        7. sleep — slept_ms: 94
        8. sleep — slept_ms: 93"#]]
    .assert_eq(&said.text);
}

#[tokio::test]
async fn a_wrong_argument_says_where_what_and_how() {
    check(
        "/sleep ms=abc",
        expect![[r#"
        ✏️ Check the input: 'sleep' cannot run with these arguments: one thing is wrong
          ms: expected integer, got "abc" (a whole number in digits, like 3)
          usage: /sleep ms
          code: args.invalid
        → correct it and send it again"#]],
        expect![[r#"
        turn  failed [args.invalid]
        └─ sleep {ms: "abc"}  failed [args.invalid]
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_denied_tool_and_an_unknown_one_get_the_same_words() {
    let gateway = gateway().await;
    let denied = gateway.say("/secret_thing").await;
    let unknown = gateway.say("/secret_thong").await;
    assert_eq!(denied.text.replace("secret_thing", "X"), unknown.text.replace("secret_thong", "X"));
    expect![[r#"
        🚫 Not available: 'secret_thing' is not available here
          code: tool.unknown
        → send /tools to see what can be used here"#]]
    .assert_eq(&denied.text);
    expect![[r#"
        turn  failed [tool.unknown]
        └─ secret_thing null  denied [denied]
    "#]]
    .assert_eq(&denied.tree);
    expect![[r#"
        turn  failed [tool.unknown]
        └─ secret_thong null  failed [tool.unknown]
    "#]]
    .assert_eq(&unknown.tree);
}

#[tokio::test]
async fn a_tool_that_crashes_harms_no_other() {
    check(
        "/sleep 1\n/crash\n/noop x",
        expect![[r#"
            1. sleep — slept_ms: 1
            2. crash

            🛑 Our fault: something broke on our side; other calls were not affected
              code: panic
            → if it goes on, tell an operator the reference

            3. noop

            (no output)"#]],
        expect![[r#"
        turn  failed [panic]
        ├─ sleep {ms: 1}  ok
        ├─ crash {}  failed [panic]
        └─ noop {a: "x"}  ok
    "#]],
    )
    .await;
}

#[tokio::test]
async fn free_text_without_a_model_is_answered_with_the_nearest_tools() {
    check(
        "please sleep some milliseconds",
        expect![[r#"
            I run commands here. Perhaps one of these is what you look for:

            - /sleep ms

            Send /tools to see them all."#]],
        expect![[r#"
        turn  ok
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_tools_name_without_the_slash_is_the_command() {
    let tree = expect![[r#"
        turn  ok
        └─ sleep {ms: 1}  ok
    "#]];
    check("sleep 1", expect!["- slept_ms: 1"], tree).await;
}

#[tokio::test]
async fn a_reply_is_sent_once_to_where_it_was_asked() {
    let gateway = gateway().await;
    gateway.gateway_accept(message(Platform::Telegram, "42", "ada", "/sleep 1")).await;
    let seen = gateway.outlet.wait_for(1).await;
    assert_eq!(seen.len(), 1);
    assert_eq!((seen[0].op, seen[0].conversation.as_str()), ("post", "42"));
}

fn with_files(text: &str, names: &[&str]) -> contract::Message {
    let file = |name: &&str| contract::FileRef {
        name: (*name).to_owned(),
        media_type: None,
        size: None,
        handle: contract::Opaque::default(),
    };
    contract::Message { files: names.iter().map(file).collect(), ..message(Platform::Api, "c1", "ada", text) }
}

#[tokio::test]
async fn whoever_sends_a_file_is_told_that_it_is_not_used() {
    let gateway = gateway().await;
    let alone = gateway.say_as(with_files("", &["invoice.pdf"])).await;
    expect![[r#"
        Thank you, but a file alone says nothing to me: write the command that takes it beside the file.

        I run commands here. Send /help to see what can be done."#]]
    .assert_eq(&alone.text);
    let caption = gateway.say_as(with_files("/sleep 1", &["a\n*b*.png"])).await;
    expect![[r#"
        - slept_ms: 1

        The file 'a *b*.png' was not used: this command takes no file."#]]
    .assert_eq(&caption.text);
    let several = gateway.say_as(with_files("/sleep 1", &["a", "b"])).await;
    assert!(several.text.ends_with("The 2 files were not used: this command takes none."));
}
