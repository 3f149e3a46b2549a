//! Each person is spoken to in their own language: by what the platform says, else by what they write, else English;
//! policy may fix one.

use std::time::Duration;

use contract::{Accepted, Action, Inbox, Locale, Message, Platform, TurnId};
use expect_test::{Expect, expect};
use testkit::{Fault, Flaky, Gate, InABox, Said, Setup, message, press};

async fn started(change: impl FnOnce(Setup) -> Setup) -> InABox {
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    change(Setup::new(stores)).start().ready().await
}

fn says(platform: Platform, tag: Option<&str>, text: &str) -> Message {
    Message { locale: tag.map(str::to_owned), ..message(platform, "c1", "ada", text) }
}

async fn asked(gateway: &InABox, tag: Option<&str>, text: &str) -> Said {
    gateway.say_as(says(Platform::Api, tag, text)).await
}

async fn check(tag: Option<&str>, text: &str, expected: Expect) {
    let said = asked(&started(|setup| setup).await, tag, text).await;
    expected.assert_eq(&said.text);
}

#[tokio::test]
async fn a_wrong_argument_is_told_in_chinese() {
    check(
        Some("zh-hans"),
        "/noop b=viele c=true d=[1,\"x\"] e=xx f=1",
        expect![[r#"
            ✏️ 请检查输入：“noop”无法用这些参数运行：有 4 处不对
              a：应为文本，但没有提供
              b：应为整数，实际是 "viele"（请用数字写出整数，例如 3）
              d/1：应为数字，实际是 "x"（请用小数点，例如 2.5）
              e：应为以下之一：x, y，实际是 "xx"（您是不是想写“x”？）
              用法：/noop a [b=integer] [c=true|false] [d=[…]] [e=x|y]
              代码：args.invalid
            → 请改正后重新发送"#]],
    )
    .await;
}

#[tokio::test]
async fn a_tool_that_is_denied_is_told_in_chinese_like_one_that_does_not_exist() {
    let gateway = started(|setup| setup).await;
    let denied = asked(&gateway, Some("zh-cn"), "/secret_thing").await.text;
    let unknown = asked(&gateway, Some("zh-cn"), "/secret_thong").await.text;
    assert_eq!(denied.replace("secret_thing", "T"), unknown.replace("secret_thong", "T"));
    expect![[r#"
        🚫 不可用：这里不能使用“secret_thing”
          代码：tool.unknown
        → 发送 /tools 可以查看这里能用的工具"#]]
    .assert_eq(&denied);
}

#[tokio::test]
async fn a_crash_and_a_request_that_is_not_there_are_told_in_chinese() {
    check(
        Some("zh"),
        "/crash",
        expect![[r#"
            🛑 我们的故障：我们这边出了故障；其他调用没有受到影响
              代码：panic
            → 如果一直这样，请把请求编号告诉管理员"#]],
    )
    .await;
    check(
        Some("zh"),
        "/trace",
        expect![[r#"
            ✏️ 请检查输入：请说明是哪一次请求：/trace 请求编号
              代码：input.refused
            → 请求编号在每条答复的末尾"#]],
    )
    .await;
}

#[tokio::test]
async fn help_is_in_chinese_and_what_tools_say_of_themselves_is_not() {
    check(
        Some("zh-hans"),
        "/help",
        expect![[r#"
            请写命令：/名称 值 或 /名称 键=值。几条命令各占一行时会同时运行。

            - /crash — Crashes on purpose
            - /gate id — Waits until the test opens it; may be repeated
            - /noop a [b=integer] [c=true|false] [d=[…]] [e=x|y] — Does nothing, with five fields to check
            - /once id — Has an effect, so that it is never run twice
            - /send_message to text — Sends a text to another conversation
            - /sleep ms — Sleeps for some milliseconds

            关于我自己：

            - /help — 这里能做什么
            - /tools — 您在这里能用的工具；/tools 关键词 可以缩小范围
            - /trace — 某次请求的经过：/trace 请求编号
            - /stop — 停止正在为您运行的操作
            - /new — 开始新的会话；/resume 可以回到之前的会话
            - /status — 正在运行什么，网关的状态如何
            - /sessions — 您在这里之前的会话
            - /resume — 回到之前的会话：/resume 序号
            - /keep — 记住关于您的事：/keep 内容；不写内容则列出记住了什么
            - /forget — 忘记已经记住的事：/forget 序号
            - /approvals — 等待您答复的调用
            - /approve — 让等待中的调用运行：/approve ID
            - /deny — 不让它运行：/deny ID 理由
            - /schedule — 到时间自动运行：/schedule add 时间 say 内容；单独使用时列出您的定时任务
        "#]],
    )
    .await;
}

#[tokio::test]
async fn built_ins_answer_in_chinese() {
    let gateway = started(|setup| setup).await;
    let mut all = String::new();
    for text in ["/start", "/tools 没有", "/stop", "/status", "/new", "你好，你能做什么？", "/noop"] {
        let said = asked(&gateway, Some("zh-hans"), text).await.text;
        all.push_str(&format!("{text}: {}\n", said.lines().next().unwrap_or_default()));
    }
    expect![[r#"
        /start: 您好。我替您运行工具，并告诉您结果如何。
        /tools 没有: 这里没有与“没有”有关的工具。发送 /tools 可以查看全部。
        /stop: 这里没有正在为您运行的操作。
        /status: 这个会话里没有正在运行的请求。
        /new: 已开始新的会话。之前说过的内容不再使用；/sessions 说明如何回到之前的会话。
        你好，你能做什么？: 我在这里执行命令。发送 /help 可以查看能做什么。
        /noop: ✏️ 请检查输入：“noop”无法用这些参数运行：有一处不对
    "#]]
    .assert_eq(&all);
}

#[tokio::test]
async fn two_people_of_one_group_are_each_answered_in_their_language() {
    let gateway = started(|setup| setup).await;
    for (tag, text, locale) in [
        (Some("en"), "/noop b=x", Locale::En),
        (Some("zh-hant"), "/noop b=x", Locale::ZhHans),
        (None, "/sleep 一会儿", Locale::ZhHans),
        (None, "/sleep abc", Locale::En),
        (None, "帮我查一下 Oslo 的天气", Locale::ZhHans),
        (None, "what does 你好 mean in English?", Locale::En),
        (None, "東京の天気は？", Locale::En),
        (Some("fr"), "你好", Locale::ZhHans),
        (Some("en-GB"), "你好", Locale::En),
    ] {
        let said = asked(&gateway, tag, text).await;
        assert_eq!(said.reply.locale, locale, "{tag:?} {text}");
        assert_eq!(
            said.text.contains("ommand") || said.text.contains("expected"),
            locale == Locale::En,
            "{}",
            said.text
        );
    }
}

#[tokio::test]
async fn policy_fixes_a_language_for_everybody() {
    for (written, locale) in [("zh-Hans", Locale::ZhHans), ("en", Locale::En), ("auto", Locale::ZhHans)] {
        let policy = format!("platform: api\ntoolsets: {{ allow: [lab] }}\nreplies: {{ locale: {written} }}\n");
        let gateway = started(|setup| Setup { policies: vec![("api.yaml".into(), policy)], ..setup }).await;
        assert_eq!(asked(&gateway, None, "你好").await.reply.locale, locale, "{written}");
        if written != "auto" {
            assert_eq!(asked(&gateway, Some("en"), "hello").await.reply.locale, locale, "{written}");
        }
    }
}

async fn turn(gateway: &InABox, message: Message) -> TurnId {
    match gateway.gateway_accept(message).await {
        Accepted::Turn { id, .. } => id,
        other => panic!("not a turn: {other:?}"),
    }
}

#[tokio::test]
async fn progress_buttons_and_signals_are_in_chinese() {
    let gate = Gate::closed();
    let gateway = started(|setup| setup.gate(&gate)).await;
    let id = turn(&gateway, says(Platform::Telegram, Some("zh-hans"), "/gate id=1\n/noop x")).await;
    let seen = gateway.outlet.wait_for(1).await;
    assert!(seen[0].text.starts_with("正在处理：已完成 1/2"), "{seen:?}");
    let cancel = |who: &str| Message {
        locale: Some("zh-hans".into()),
        ..press(Platform::Telegram, "c1", who, Action::Cancel(id))
    };
    let mut signals = Vec::new();
    for who in ["bob", "ada"] {
        let Accepted::Signal(words) = gateway.gateway_accept(cancel(who)).await else { panic!("a signal") };
        signals.push(words);
    }
    assert_eq!(signals, ["只有提出请求的人可以停止这个请求", "正在停止这个请求"]);
    gateway.outlet.wait_for_finals(1).await;
    let said = gateway.gateway.reply(id).await.unwrap().unwrap();
    let labels: Vec<_> = said.buttons.iter().map(|b| b.label.as_str()).collect();
    assert_eq!(labels.last(), Some(&"详情"), "{labels:?}");
}

#[tokio::test]
async fn what_is_said_without_a_turn_is_in_chinese_too() {
    let gate = Gate::closed();
    let flaky = Flaky::new();
    let gateway = started(|setup| setup.gate(&gate).hook(flaky.clone())).await;
    flaky.go_down(true);
    let asking = says(Platform::Telegram, Some("zh-hans"), "/gate id=0");
    assert!(gateway.gateway.accept(asking).await.is_err());
    let told = gateway.outlet.wait_for_finals(1).await;
    assert!(told[0].text.contains("我现在无法接收消息"), "{told:?}");
    flaky.go_down(false);
    for n in 0..=32 {
        turn(&gateway, says(Platform::Telegram, Some("zh-hans"), &format!("/gate id={n}"))).await;
    }
    let told = gateway.outlet.wait_for_finals(2).await;
    assert!(told[1].text.contains("这里等待的消息已经太多；这一条没有受理"), "{told:?}");
    gate.open();
    gateway.gateway.drain().await;
}

#[tokio::test]
async fn a_part_that_may_have_arrived_is_announced_in_chinese() {
    let gateway = started(|setup| setup).await;
    let outlet = gateway.outlet.clone();
    outlet.split_at(50);
    outlet.take_time(Duration::from_millis(30));
    turn(&gateway, says(Platform::Telegram, Some("zh-hans"), &format!("/gate id={}", "x".repeat(120)))).await;
    outlet.wait_for(1).await;
    outlet.fail_next([Fault::UnsureAfter]);
    let seen = outlet.wait_for_finals(5).await;
    assert!(seen.iter().any(|seen| seen.text == "（您可能已经收到过这条消息）"), "{seen:?}");
}
