//! What a request holds, read with rules of thumb. Pure.

use serde_json::Value;

/// The conversation as a rule sees it.
#[derive(Debug, Default)]
pub struct Heard {
    /// What people said before, oldest first.
    pub before: Vec<String>,
    /// What was said last, in the asker's own words.
    pub last: String,
    /// What has been called since, with what came of it.
    pub done: Vec<Done>,
    /// Names of the tools that may be called.
    pub tools: Vec<String>,
}

/// A call and its result.
#[derive(Debug)]
pub struct Done {
    pub tool: String,
    pub args: Value,
    /// As JSON where it is some.
    pub result: Value,
}

impl Heard {
    pub fn of(request: &Value) -> Self {
        let mut heard = Self::default();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        for tool in list(&request["tools"]) {
            heard.tools.extend(tool["function"]["name"].as_str().map(str::to_owned));
        }
        let mut open: Vec<(Value, Value)> = Vec::new();
        for message in list(&request["messages"]) {
            match message["role"].as_str().unwrap_or_default() {
                "user" => {
                    let said = std::mem::replace(&mut heard.last, own_words(&text(&message["content"])));
                    heard.before.extend(Some(said).filter(|said| !said.is_empty()));
                    heard.done.clear();
                }
                "assistant" => {
                    open.extend(
                        list(&message["tool_calls"]).iter().map(|call| (call["id"].clone(), call["function"].clone())),
                    );
                }
                "tool" => {
                    let Some(at) = open.iter().position(|(id, _)| *id == message["tool_call_id"]) else { continue };
                    let (_, function) = open.remove(at);
                    let args = function["arguments"].as_str().unwrap_or_default();
                    heard.done.push(Done {
                        tool: function["name"].as_str().unwrap_or_default().to_owned(),
                        args: serde_json::from_str(args).unwrap_or_default(),
                        result: json_in(&text(&message["content"])),
                    });
                }
                _ => {}
            }
        }
        heard
    }

    pub fn offers(&self, tool: &str) -> bool {
        self.tools.iter().any(|name| name == tool)
    }

    /// What came of a tool's calls, in order.
    pub fn results(&self, tool: &str) -> Vec<&Done> {
        self.done.iter().filter(|done| done.tool == tool).collect()
    }

    pub fn is_chinese(&self) -> bool {
        self.last.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c))
    }

    pub fn says_any(&self, words: &[&str]) -> bool {
        let lower = self.last.to_lowercase();
        words.iter().any(|word| lower.contains(word))
    }
}

impl Done {
    /// Why it failed, if it did.
    pub fn failed(&self) -> Option<&str> {
        self.result["error"]["message"].as_str()
    }

    /// What kind of failure it was; empty where none is told.
    pub fn code(&self) -> &str {
        self.result["error"]["code"].as_str().unwrap_or_default()
    }

    /// Whether a call that failed may have taken effect nevertheless.
    pub fn may_have_happened(&self) -> bool {
        let unsure = ["outcome.unknown", "timeout", "cancelled", "upstream.5xx", "upstream.broken"];
        unsure.contains(&self.code())
    }
}

fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

/// Without what is quoted of others, which no rule should follow.
fn own_words(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("<untrusted") {
        out.push_str(before);
        rest = after.split_once("</untrusted>").map_or("", |(_, behind)| behind);
    }
    out.push_str(rest);
    out.trim().to_owned()
}

/// The JSON that a result is, or holds; otherwise its text.
fn json_in(text: &str) -> Value {
    let inner = match (text.find(['{', '[']), text.rfind(['}', ']'])) {
        (Some(from), Some(to)) if from < to => &text[from..=to],
        _ => text,
    };
    serde_json::from_str(inner).unwrap_or_else(|_| Value::String(within_mark(text).to_owned()))
}

/// What others wrote, without the mark around it that says so.
fn within_mark(text: &str) -> &str {
    let marked = text.trim().strip_prefix("<untrusted").and_then(|rest| rest.split_once('>'));
    marked.and_then(|(_, rest)| rest.strip_suffix("</untrusted>")).map_or(text, str::trim)
}

/// The demo's cities that a text names, as it names them.
pub fn cities(text: &str) -> Vec<String> {
    const KNOWN: [&str; 33] = [
        "Shanghai",
        "Beijing",
        "Shenzhen",
        "Guangzhou",
        "Chengdu",
        "Hangzhou",
        "Hong Kong",
        "Tokyo",
        "Singapore",
        "Berlin",
        "Zürich",
        "Zurich",
        "London",
        "Paris",
        "Lisbon",
        "Oslo",
        "New York",
        "San Francisco",
        "São Paulo",
        "Nairobi",
        "Sydney",
        "上海",
        "北京",
        "深圳",
        "广州",
        "成都",
        "杭州",
        "香港",
        "东京",
        "新加坡",
        "柏林",
        "伦敦",
        "巴黎",
    ];
    let lower = text.to_lowercase();
    let mut found: Vec<_> =
        KNOWN.iter().filter_map(|city| Some((lower.find(&city.to_lowercase())?, (*city).to_owned()))).collect();
    if found.is_empty() {
        // Others are asked for as they are written, so that it can be seen what a tool says of a place that is none.
        let after = ["weather in ", "weather for ", "forecast for ", "forecast in "];
        found.extend(after.iter().find_map(|words| {
            let at = lower.find(words)? + words.len();
            let name: String =
                text.get(at..)?.chars().take_while(|c| c.is_alphabetic() || *c == ' ').take(40).collect();
            Some((at, name.trim().to_owned())).filter(|(_, name)| !name.is_empty())
        }));
    }
    found.sort();
    found.into_iter().map(|(_, city)| city).take(8).collect()
}

/// An order's number: a letter, a hyphen, digits.
pub fn order(text: &str) -> Option<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let is_order = |word: &&str| {
        word.split_once('-').is_some_and(|(letter, digits)| {
            letter.len() == 1 && letter.chars().all(|c| c.is_ascii_alphabetic()) && is_number(digits)
        })
    };
    words.into_iter().find(is_order).map(str::to_uppercase)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

/// An amount of money: a number that is no part of a word.
pub fn amount(text: &str) -> Option<f64> {
    let words = text.split(|c: char| c.is_whitespace() || "€$¥£,，。元".contains(c));
    words.filter(|word| !word.contains('-')).find_map(|word| word.parse().ok()).filter(|amount| *amount > 0.0)
}

/// What an article is numbered by: letters, a hyphen, digits.
pub fn article(text: &str) -> Option<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let is_article = |word: &&str| {
        word.split_once('-').is_some_and(|(letters, digits)| {
            letters.len() > 1 && letters.chars().all(|c| c.is_ascii_alphabetic()) && is_number(digits)
        })
    };
    words.into_iter().find(is_article).map(str::to_uppercase)
}

/// What is to be read about: whatever is said beside the words that ask for it.
pub fn topic(text: &str) -> String {
    const ASKING: [&str; 24] = [
        "please",
        "search",
        "research",
        "the web",
        "find",
        "articles",
        "read",
        "pages",
        "look up",
        "summarise",
        "summarize",
        "summary",
        "sum up",
        "give me",
        "write",
        "tell me",
        "about",
        "for",
        "and",
        "then",
        "it",
        "a",
        "of",
        "on",
    ];
    let mut words: Vec<String> = text
        .to_lowercase()
        .split(|c: char| c.is_whitespace() || ",.;:!?，。；：！？、".contains(c))
        .map(str::to_owned)
        .collect();
    words.retain(|word| !word.is_empty() && !ASKING.iter().any(|asking| asking.split(' ').any(|part| part == word)));
    let mut topic = words.join(" ");
    for asking in [
        "请帮我",
        "请",
        "帮我",
        "搜索",
        "查找",
        "搜一下",
        "并总结",
        "然后总结",
        "总结",
        "摘要",
        "一下",
        "关于",
        "的资料",
        "的文章",
        "给我",
        "写",
        "个",
        "并",
    ] {
        topic = topic.replace(asking, "");
    }
    let topic = topic.trim();
    if topic.is_empty() { "tea".to_owned() } else { topic.chars().take(80).collect() }
}
