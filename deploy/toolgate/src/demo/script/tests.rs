use expect_test::{Expect, expect};

use super::*;

const TOOLS: [&str; 9] = [
    "daily_digest",
    "generate_summary",
    "inventory_check",
    "order_cancel",
    "order_query",
    "order_refund",
    "read_page",
    "search_web",
    "weather_query",
];

fn request(tools: &[&str], messages: &[Value]) -> Value {
    let tools: Vec<_> = tools.iter().map(|name| json!({ "type": "function", "function": { "name": name } })).collect();
    json!({ "model": NAME, "tools": tools, "messages": messages })
}

/// Plays a conversation: each step of the script and, for its calls, what `answer` gives.
fn play(text: &str, tools: &[&str], answer: impl Fn(&str, &Value) -> Value) -> String {
    let mut messages = vec![json!({ "role": "system", "content": "…" }), json!({ "role": "user", "content": text })];
    let mut out = String::new();
    for step in 0..6 {
        let next = rules::next(&request(tools, &messages));
        out.push_str(&format!("{}{}\n", if step == 0 { "" } else { "then " }, next.text));
        if next.calls.is_empty() {
            return out;
        }
        let calls: Vec<_> = next
            .calls
            .iter()
            .enumerate()
            .map(|(n, (tool, args))| {
                out.push_str(&format!("  {tool} {args}\n"));
                json!({ "id": format!("{step}_{n}"), "function": { "name": tool, "arguments": args.to_string() } })
            })
            .collect();
        messages.push(json!({ "role": "assistant", "content": next.text, "tool_calls": calls }));
        for (n, (tool, args)) in next.calls.iter().enumerate() {
            let answer = answer(tool, args);
            let answer = answer.as_str().map_or_else(|| answer.to_string(), str::to_owned);
            let content = format!("<untrusted tool>{answer}</untrusted>");
            messages.push(json!({ "role": "tool", "tool_call_id": format!("{step}_{n}"), "content": content }));
        }
    }
    panic!("it goes on for ever:\n{out}");
}

fn check(text: &str, answer: impl Fn(&str, &Value) -> Value, expected: Expect) {
    expected.assert_eq(&play(text, &TOOLS, answer));
}

fn fails(why: &str) -> Value {
    json!({ "error": { "layer": "execution", "code": "timeout", "message": why } })
}

#[test]
fn a_digest_is_told_as_it_is_written() {
    let digest = |_: &str, args: &Value| json!(format!("**Weather in {}**: sunny [really]", args["city"]));
    check(
        "the daily digest for Oslo, please",
        digest,
        expect![[r#"

          daily_digest {"city":"Oslo"}
        then **Weather in "Oslo"**: sunny [really]
    "#]],
    );
    check(
        "请给我上海的每日摘要",
        |_, _| fails("nothing answered"),
        expect![[r#"

          daily_digest {"city":"上海"}
        then 没有摘要：nothing answered。
    "#]],
    );
}

#[test]
fn two_cities_are_asked_for_at_once() {
    let sunny = |_: &str, args: &Value| match args["city"].as_str() {
        Some("Atlantis") => fails("'weather_query' refused the request: there is no such thing (404)"),
        _ => json!({ "days": [{ "sky": "sunny", "low_c": 12, "high_c": 20 }] }),
    };
    check(
        "What is the weather in Shanghai and Berlin?",
        sunny,
        expect![[r#"
        I look at the forecast.
          weather_query {"city":"Shanghai"}
          weather_query {"city":"Berlin"}
        then - **Shanghai**: sunny, 12 – 20 °C
        - **Berlin**: sunny, 12 – 20 °C
    "#]],
    );
    check(
        "上海和北京的天气怎么样？",
        sunny,
        expect![[r#"
        我查一下天气预报。
          weather_query {"city":"上海"}
          weather_query {"city":"北京"}
        then - **上海**: sunny, 12 – 20 °C
        - **北京**: sunny, 12 – 20 °C
    "#]],
    );
    check(
        "weather in Atlantis",
        sunny,
        expect![[r#"
            I look at the forecast.
              weather_query {"city":"Atlantis"}
            then - **Atlantis**: no forecast; 'weather_query' refused the request: there is no such thing (404)
        "#]],
    );
    check(
        "how is the weather?",
        sunny,
        expect![[r#"
        For which city?
    "#]],
    );
}

#[test]
fn a_refund_asks_for_the_amount_first() {
    let shop = |tool: &str, _: &Value| match tool {
        "order_query" => json!({ "order_id": "A-17", "status": "paid", "amount": 12.9, "currency": "EUR" }),
        _ => json!({ "refund_id": "R-1", "state": "accepted" }),
    };
    check(
        "Please refund order A-17",
        shop,
        expect![[r#"
        I look up how much it was.
          order_query {"order_id":"A-17"}
        then 
          order_refund {"order_id":"A-17","amount":12.9}
        then Refund **R-1** is accepted.
    "#]],
    );
    check(
        "refund 5 of order a-17",
        |_, _| fails("'order_refund' did not answer in time"),
        expect![[r#"

              order_refund {"order_id":"A-17","amount":5.0}
            then It is not known whether it was paid back: 'order_refund' did not answer in time. Look at the order before you ask again.
        "#]],
    );
    check(
        "where is order A-17?",
        shop,
        expect![[r#"

          order_query {"order_id":"A-17"}
        then Order **A-17** is **paid**: 12.9 EUR.
    "#]],
    );
    let without: Vec<_> = TOOLS.into_iter().filter(|tool| *tool != "order_refund").collect();
    expect![[r#"
        这需要用到 `order_refund`，但我在这里不能使用它。
    "#]]
    .assert_eq(&play("给订单 A-17 退款", &without, shop));
}

#[test]
fn what_became_of_a_cancellation_is_told_as_it_is() {
    let refused = |code: &str, why: &str| json!({ "error": { "layer": "permission", "code": code, "message": why } });
    for (result, says) in [
        (json!({ "order_id": "A-17", "state": "cancelled" }), "Order **A-17** is cancelled."),
        (
            refused("approval.refused", "ops refused it"),
            "Order **A-17** was *not* cancelled, because somebody said no: ops refused it.",
        ),
        (
            refused("approval.expired", "nobody answered"),
            "Nobody answered in time, so order **A-17** was *not* cancelled. Ask again if it is still wanted.",
        ),
        (refused("approval.unavailable", "nobody can"), "Order **A-17** was *not* cancelled: nobody can."),
    ] {
        let told = play("please cancel order A-17", &TOOLS, |_, _| result.clone());
        let expected =
            format!("Order A-17 is to be cancelled.\n  order_cancel {{\"order_id\":\"A-17\"}}\nthen {says}\n");
        assert_eq!(told, expected);
    }
}

#[test]
fn what_is_to_be_seen_growing_takes_some_seconds() {
    let next = rules::next(&request(&TOOLS, &[json!({ "role": "user", "content": "tell me about yourself slowly" })]));
    let takes: Duration = deltas(&next).iter().map(|(_, pause)| *pause).sum();
    assert!(takes > Duration::from_secs(4) && takes < Duration::from_secs(12), "{takes:?}");
}

#[test]
fn a_page_that_does_not_answer_is_replaced_and_it_is_said() {
    let web = |hangs: &'static [&'static str]| {
        move |tool: &str, args: &Value| match tool {
            "search_web" => json!({ "results": [
            { "title": "a", "url": "https://x/a", "snippet": "A is old." }, { "title": "b", "url": "https://x/b", "snippet": "B is new." },
        ] }),
            "read_page" if hangs.contains(&args["url"].as_str().unwrap()) => {
                fails("'read_page' did not answer in time")
            }
            "read_page" => json!({ "title": "t", "text": "Long ago." }),
            _ => json!({ "summary": format!("Of {}.", args["text"]) }),
        }
    };
    check(
        "search for green tea and write a summary",
        web(&[]),
        expect![[r#"
        I search first.
          search_web {"query":"green tea","limit":3}
        then I read what was found.
          read_page {"url":"https://x/a"}
        then 
          generate_summary {"topic":"green tea","text":["Long ago."]}
        then Of ["Long ago."].
    "#]],
    );
    check(
        "search for green tea and write a summary",
        web(&["https://x/a"]),
        expect![[r#"
        I search first.
          search_web {"query":"green tea","limit":3}
        then I read what was found.
          read_page {"url":"https://x/a"}
        then That page did not answer; I try another one.
          read_page {"url":"https://x/b"}
        then 
          generate_summary {"topic":"green tea","text":["Long ago."]}
        then Of ["Long ago."].

        *One page did not answer in time; I read another one.*
    "#]],
    );
    check(
        "搜索绿茶并总结",
        web(&["https://x/a", "https://x/b"]),
        expect![[r#"
        我先搜索。
          search_web {"query":"绿茶","limit":3}
        then 我读一下找到的页面。
          read_page {"url":"https://x/a"}
        then 这个页面没有回应，我换一个。
          read_page {"url":"https://x/b"}
        then 
          generate_summary {"topic":"绿茶","text":["A is old.","B is new."]}
        then Of ["A is old.","B is new."].

        *没有页面及时回应：以上来自搜索结果的摘要。*
    "#]],
    );
}

#[test]
fn it_says_that_it_is_a_script() {
    let nothing = |_: &str, _: &Value| Value::Null;
    assert!(play("hello", &TOOLS, nothing).starts_with("I am a **script, not an AI**"));
    assert!(play("你好", &TOOLS, nothing).starts_with("我是一段**脚本，不是人工智能**"));
    // What others wrote is not what was asked.
    assert!(play("<untrusted quote>weather in Oslo</untrusted> hello", &TOOLS, nothing).starts_with("I am"));
}

#[test]
fn it_knows_what_was_said_and_sums_it_up_where_it_has_no_tools() {
    let user = |text: &str| json!({ "role": "user", "content": text });
    let messages =
        [user("weather in Oslo"), json!({ "role": "assistant", "content": "…" }), user("what did I ask before?")];
    assert_eq!(rules::next(&request(&TOOLS, &messages)).text, "You said:\n\n- weather in Oslo");
    let text = rules::next(&request(&[], &messages)).text;
    assert_eq!(text, "(by a script) What was said so far:\n- weather in Oslo\n- what did I ask before?");
}

#[tokio::test]
async fn the_gateways_own_client_understands_it() {
    struct Nowhere;
    impl dispatch::Draft for Nowhere {
        fn show(&self, _: &str) {}
    }
    let script = Script::start().await.unwrap();
    let chain = models::Chain::new(script.settings(), Vec::new()).unwrap();
    let tools = json!([{ "name": "weather_query", "description": "", "parameters": { "type": "object" } }]);
    let messages = [dispatch::model::Said::Person { text: "weather in Oslo and Paris".into(), images: Vec::new() }];
    let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
    let prompt = dispatch::model::Prompt { system: "", tools: &tools, messages: &messages, deadline };
    let answer = dispatch::Model::step(&chain, &prompt, &Nowhere).await.unwrap();
    let calls: Vec<_> = answer.calls.iter().map(|asked| format!("{} {}", asked.tool, asked.args)).collect();
    assert_eq!(calls, [r#"weather_query {"city":"Oslo"}"#, r#"weather_query {"city":"Paris"}"#]);
    assert_eq!((answer.text.as_str(), answer.model.as_str()), ("I look at the forecast.", NAME));
    script.stop().await;
}
