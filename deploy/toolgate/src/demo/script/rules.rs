//! What the script says or calls next. Pure: the conversation decides, nothing is remembered.

use serde_json::{Value, json};

use super::words::{Done, Heard, amount, article, cities, order, topic};

/// A step of the script.
#[derive(Debug, Default)]
pub struct Next {
    pub text: String,
    pub calls: Vec<(&'static str, Value)>,
    /// Word by word, so that one sees it grow.
    pub slowly: bool,
}

fn say(text: impl Into<String>) -> Next {
    Next { text: text.into(), ..Next::default() }
}

fn call(text: impl Into<String>, calls: Vec<(&'static str, Value)>) -> Next {
    Next { text: text.into(), calls, slowly: false }
}

/// The next step of a conversation in chat-completions' form.
pub fn next(request: &Value) -> Next {
    let heard = Heard::of(request);
    if heard.tools.is_empty() {
        return without_tools(&heard);
    }
    let rule = match () {
        () if heard.says_any(&["slowly", "慢慢"]) => Some(about(&heard)),
        () if heard.says_any(&["cancel", "取消"]) => cancel(&heard),
        () if heard.says_any(&["refund", "退款", "pay back"]) => refund(&heard),
        () if heard.says_any(&["digest", "每日"]) => digest(&heard),
        () if heard.says_any(&["weather", "forecast", "天气", "预报"]) => weather(&heard),
        () if heard.says_any(&["search", "summar", "read about", "搜索", "总结", "摘要"]) => research(&heard),
        () if heard.says_any(&["stock", "inventory", "库存"]) => stock(&heard),
        () if heard.says_any(&["order", "订单"]) => find_order(&heard),
        () if heard.says_any(&["report", "报告"]) => report(&heard),
        () if heard.says_any(&["what did i", "did i say", "did i ask", "说过什么", "问过什么"]) => {
            Some(memory(&heard))
        }
        () => None,
    };
    rule.unwrap_or_else(|| help(&heard))
}

/// In the language of the question.
fn said(heard: &Heard, english: impl Into<String>, chinese: impl Into<String>) -> String {
    if heard.is_chinese() { chinese.into() } else { english.into() }
}

fn may_not(heard: &Heard, tool: &str) -> Next {
    say(said(
        heard,
        format!("I would use `{tool}` for that, but it is not among the tools that I may use here."),
        format!("这需要用到 `{tool}`，但我在这里不能使用它。"),
    ))
}

fn help(heard: &Heard) -> Next {
    say(said(
        heard,
        "I am a **script, not an AI**: I follow a few rules so that the demo works without a key. I understand:\n\n\
         - *what is the weather in Shanghai and Berlin?*\n\
         - *search for green tea and write a summary* (with *atlantis* no page answers)\n\
         - *where is order A-17?*, *refund order A-17*, *cancel order A-17*\n\
         - *how many of TEA-100 are in stock?*\n\
         - *run the sales report*\n\
         - *the daily digest for Oslo, please*\n\
         - *tell me about yourself slowly*\n\
         - *what did I ask before?*",
        "我是一段**脚本，不是人工智能**：我只按几条规则回答，这样演示不需要密钥。我能听懂：\n\n\
         - *上海和北京的天气怎么样？*\n\
         - *搜索绿茶并总结*（换成 *atlantis* 则没有页面回应）\n\
         - *订单 A-17 在哪里？*、*给订单 A-17 退款*、*取消订单 A-17*\n\
         - *TEA-100 还有多少库存？*\n\
         - *运行销售报告*\n\
         - *请给我柏林的每日摘要*\n\
         - *慢慢介绍一下自己*\n\
         - *我问过什么？*",
    ))
}

fn about(heard: &Heard) -> Next {
    let text = said(
        heard,
        "Gladly, word by word. I am a **script, not an AI**: a small server on your own machine that speaks the protocol \
         of a language model. Whatever you write is compared with a few rules, and a rule says which tools are called \
         and with what.\n\n\
         Everything around me is real. The gateway tells me which tools *you* may use here, runs what I ask for, several \
         calls at once, and gives me what came of each, failures too. What I say is sent to you while I still say it: \
         that is why this message grows.\n\n\
         Put a model of your own in my place, with one block of settings, and nothing else changes.",
        "好的，一个词一个词地说。我是一段**脚本，不是人工智能**：运行在您自己机器上的一个小服务，使用语言模型的协议。\
         您写的话会和几条规则比较，规则决定调用哪些工具、用什么参数。\n\n\
         除了我，一切都是真的。网关告诉我*您*在这里可以使用哪些工具，同时运行我请求的各个调用，再把每个调用的结果交给我，\
         失败也不例外。我还没说完的时候，已经说出的部分就会发给您：所以这条消息在不断变长。\n\n\
         用一段配置换上您自己的模型，其他什么都不用改。",
    );
    Next { text, slowly: true, ..Next::default() }
}

/// Asked to sum a conversation up, or to answer with what there is.
fn without_tools(heard: &Heard) -> Next {
    let all: Vec<_> =
        heard.before.iter().chain([&heard.last]).map(|text| contract::text::one_line(text, 200)).collect();
    let from = all.len().saturating_sub(12);
    say(format!("(by a script) What was said so far:\n- {}", all[from..].join("\n- ")))
}

fn memory(heard: &Heard) -> Next {
    let from = heard.before.len().saturating_sub(8);
    let lines: Vec<_> =
        heard.before[from..].iter().map(|text| format!("- {}", contract::text::one_line(text, 120))).collect();
    say(match lines.is_empty() {
        true => {
            said(heard, "Nothing yet: this is the first thing that you say here.", "还没有：这是您在这里说的第一句话。")
        }
        false => format!("{}\n\n{}", said(heard, "You said:", "您说过："), lines.join("\n")),
    })
}

fn weather(heard: &Heard) -> Option<Next> {
    let done = heard.results("weather_query");
    if !done.is_empty() {
        return Some(say(done.iter().map(|done| forecast(heard, done)).collect::<Vec<_>>().join("\n")));
    }
    let cities = cities(&heard.last);
    if cities.is_empty() {
        return Some(say(said(heard, "For which city?", "哪个城市？")));
    }
    if !heard.offers("weather_query") {
        return Some(may_not(heard, "weather_query"));
    }
    let calls = cities.into_iter().map(|city| ("weather_query", json!({ "city": city }))).collect();
    Some(call(said(heard, "I look at the forecast.", "我查一下天气预报。"), calls))
}

fn forecast(heard: &Heard, done: &Done) -> String {
    let city = done.args["city"].as_str().unwrap_or("?");
    if let Some(why) = done.failed() {
        return format!("- **{city}**: {}{why}", said(heard, "no forecast; ", "没有预报；"));
    }
    let day = &done.result["days"][0];
    match (&day["sky"], &day["low_c"], &day["high_c"]) {
        (Value::String(sky), low, high) => format!("- **{city}**: {sky}, {low} – {high} °C"),
        _ => format!("- **{city}**: {}", plain(&done.result)),
    }
}

fn find_order(heard: &Heard) -> Option<Next> {
    if let Some(done) = heard.results("order_query").last() {
        return Some(say(order_line(heard, done)));
    }
    let Some(order) = order(&heard.last) else {
        return Some(say(said(heard, "Which order? Its number looks like A-17.", "哪个订单？编号形如 A-17。")));
    };
    Some(match heard.offers("order_query") {
        true => call("", vec![("order_query", json!({ "order_id": order }))]),
        false => may_not(heard, "order_query"),
    })
}

fn order_line(heard: &Heard, done: &Done) -> String {
    if let Some(why) = done.failed() {
        return said(heard, format!("I could not look it up: {why}."), format!("没有查到：{why}。"));
    }
    let of = |key: &str| plain(&done.result[key]);
    said(
        heard,
        format!("Order **{}** is **{}**: {} {}.", of("order_id"), of("status"), of("amount"), of("currency")),
        format!("订单 **{}** 的状态是 **{}**：{} {}。", of("order_id"), of("status"), of("amount"), of("currency")),
    )
}

/// Looks up the amount where none was said, then pays it back.
fn refund(heard: &Heard) -> Option<Next> {
    if let Some(done) = heard.results("order_refund").last() {
        return Some(say(match done.failed() {
            Some(why) if done.may_have_happened() => said(
                heard,
                format!("It is not known whether it was paid back: {why}. Look at the order before you ask again."),
                format!("不知道是否已经退款：{why}。再次请求之前请先查看订单。"),
            ),
            Some(why) => said(heard, format!("Nothing was paid back: {why}."), format!("没有退款：{why}。")),
            None => {
                let (id, state) = (plain(&done.result["refund_id"]), plain(&done.result["state"]));
                said(heard, format!("Refund **{id}** is {state}."), format!("退款 **{id}**：{state}。"))
            }
        }));
    }
    let Some(order) = order(&heard.last) else {
        return Some(say(said(heard, "Which order? Its number looks like A-17.", "哪个订单？编号形如 A-17。")));
    };
    if !heard.offers("order_refund") {
        return Some(may_not(heard, "order_refund"));
    }
    let refund = |amount: Value| call("", vec![("order_refund", json!({ "order_id": order, "amount": amount }))]);
    if let Some(amount) = amount(&heard.last) {
        return Some(refund(json!(amount)));
    }
    let Some(done) = heard.results("order_query").pop() else {
        return Some(call(
            said(heard, "I look up how much it was.", "我先查一下金额。"),
            vec![("order_query", json!({ "order_id": order }))],
        ));
    };
    Some(match done.result["amount"].is_number() {
        true => refund(done.result["amount"].clone()),
        false => say(order_line(heard, done)),
    })
}

/// Waits for nobody itself: whether people are asked first is the gateway's affair, and what they said comes as the result.
fn cancel(heard: &Heard) -> Option<Next> {
    let Some(order) = order(&heard.last) else {
        return Some(say(said(heard, "Which order? Its number looks like A-17.", "哪个订单？编号形如 A-17。")));
    };
    let Some(done) = heard.results("order_cancel").pop() else {
        let calls = vec![("order_cancel", json!({ "order_id": order }))];
        return Some(match heard.offers("order_cancel") {
            true => call(
                said(heard, format!("Order {order} is to be cancelled."), format!("需要取消订单 {order}。")),
                calls,
            ),
            false => may_not(heard, "order_cancel"),
        });
    };
    Some(say(match (done.failed(), done.code()) {
        (None, _) => {
            let state = plain(&done.result["state"]);
            said(heard, format!("Order **{order}** is {state}."), format!("订单 **{order}** 已取消。"))
        }
        (Some(_), "approval.expired") => said(
            heard,
            format!(
                "Nobody answered in time, so order **{order}** was *not* cancelled. Ask again if it is still wanted."
            ),
            format!("没有人及时答复，所以订单 **{order}** *没有*取消。如果仍然需要，请再说一次。"),
        ),
        (Some(why), "approval.refused") => said(
            heard,
            format!("Order **{order}** was *not* cancelled, because somebody said no: {why}."),
            format!("订单 **{order}** *没有*取消，因为有人拒绝了：{why}。"),
        ),
        (Some(why), _) if done.may_have_happened() => said(
            heard,
            format!("It is not known whether order **{order}** was cancelled: {why}. Look at it before you ask again."),
            format!("不知道订单 **{order}** 是否已经取消：{why}。再次请求之前请先查看。"),
        ),
        (Some(why), _) => said(
            heard,
            format!("Order **{order}** was *not* cancelled: {why}."),
            format!("订单 **{order}** *没有*取消：{why}。"),
        ),
    }))
}

fn stock(heard: &Heard) -> Option<Next> {
    if let Some(done) = heard.results("inventory_check").last() {
        return Some(say(match done.failed() {
            Some(why) => said(heard, format!("I could not look it up: {why}."), format!("没有查到：{why}。")),
            None => {
                let (name, total) = (plain(&done.result["name"]), plain(&done.result["total"]));
                said(heard, format!("**{total}** of {name} in stock."), format!("{name} 的库存：**{total}**。"))
            }
        }));
    }
    let sku = article(&heard.last).unwrap_or_else(|| "TEA-100".into());
    Some(match heard.offers("inventory_check") {
        true => call("", vec![("inventory_check", json!({ "sku": sku }))]),
        false => may_not(heard, "inventory_check"),
    })
}

fn report(heard: &Heard) -> Option<Next> {
    if let Some(done) = heard.results("slow_report").last() {
        return Some(say(match done.failed() {
            Some(why) => said(heard, format!("There is no report: {why}."), format!("没有报告：{why}。")),
            None => format!("{}\n\n{}", said(heard, "Here it is:", "报告如下："), plain(&done.result)),
        }));
    }
    Some(match heard.offers("slow_report") {
        true => call(
            said(heard, "This takes some seconds.", "这需要几秒钟。"),
            vec![("slow_report", json!({ "name": "sales" }))],
        ),
        false => may_not(heard, "slow_report"),
    })
}

/// The tool's own text is the answer.
fn digest(heard: &Heard) -> Option<Next> {
    if let Some(done) = heard.results("daily_digest").last() {
        return Some(say(match done.failed() {
            Some(why) => said(heard, format!("There is no digest: {why}."), format!("没有摘要：{why}。")),
            None => plain(&done.result),
        }));
    }
    let city = cities(&heard.last).into_iter().next().unwrap_or_else(|| "Berlin".into());
    Some(match heard.offers("daily_digest") {
        true => call("", vec![("daily_digest", json!({ "city": city }))]),
        false => may_not(heard, "daily_digest"),
    })
}

/// Search, read, sum up. A page that does not answer is replaced by the next one; without any page the search's own words
/// are summed up, and it is said so.
fn research(heard: &Heard) -> Option<Next> {
    let topic = topic(&heard.last);
    let Some(found) = heard.results("search_web").pop() else {
        return Some(match heard.offers("search_web") {
            true => call(
                said(heard, "I search first.", "我先搜索。"),
                vec![("search_web", json!({ "query": topic, "limit": 3 }))],
            ),
            false => may_not(heard, "search_web"),
        });
    };
    if let Some(why) = found.failed() {
        return Some(say(said(heard, format!("The search failed: {why}."), format!("搜索失败：{why}。"))));
    }
    let of = |key: &str| -> Vec<String> {
        let all = found.result["results"].as_array().into_iter().flatten();
        all.filter_map(|result| result[key].as_str().map(str::to_owned)).collect()
    };
    let tried = heard.results("read_page");
    let read: Vec<String> = tried.iter().filter_map(|done| done.result["text"].as_str().map(str::to_owned)).collect();
    let next = of("url").into_iter().nth(tried.len());
    if let Some(done) = heard.results("generate_summary").pop() {
        return Some(say(summary(heard, done, tried.len(), read.len())));
    }
    if let Some(url) = next.filter(|_| read.is_empty() && tried.len() < 2 && heard.offers("read_page")) {
        let words = match tried.is_empty() {
            true => said(heard, "I read what was found.", "我读一下找到的页面。"),
            false => said(heard, "That page did not answer; I try another one.", "这个页面没有回应，我换一个。"),
        };
        return Some(call(words, vec![("read_page", json!({ "url": url }))]));
    }
    if !heard.offers("generate_summary") {
        return Some(may_not(heard, "generate_summary"));
    }
    let texts = if read.is_empty() { of("snippet") } else { read };
    Some(call("", vec![("generate_summary", json!({ "topic": topic, "text": texts }))]))
}

fn summary(heard: &Heard, done: &Done, tried: usize, read: usize) -> String {
    let text = match (done.result["summary"].as_str(), done.failed()) {
        (Some(text), _) => text.to_owned(),
        (None, Some(why)) => said(heard, format!("I could not sum it up: {why}."), format!("无法总结：{why}。")),
        (None, None) => plain(&done.result),
    };
    let honest = match (tried, read) {
        (_, 0) => said(
            heard,
            "\n\n*No page answered in time: this is from the search's own lines.*",
            "\n\n*没有页面及时回应：以上来自搜索结果的摘要。*",
        ),
        (tried, read) if read < tried => said(
            heard,
            "\n\n*One page did not answer in time; I read another one.*",
            "\n\n*有一个页面没有及时回应，我读了另一个。*",
        ),
        _ => String::new(),
    };
    format!("{text}{honest}")
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "?".into(),
        other => other.to_string(),
    }
}
