//! Whether a description lets a model choose the tool.

use contract::text;

/// Words that say nothing of what a tool does.
const EMPTY: &[&str] = &[
    "a",
    "an",
    "and",
    "any",
    "api",
    "by",
    "call",
    "called",
    "calls",
    "data",
    "description",
    "do",
    "does",
    "endpoint",
    "execute",
    "executes",
    "for",
    "from",
    "function",
    "get",
    "gets",
    "handle",
    "handles",
    "helper",
    "http",
    "in",
    "is",
    "it",
    "its",
    "my",
    "of",
    "on",
    "or",
    "our",
    "perform",
    "performs",
    "process",
    "processes",
    "request",
    "requests",
    "run",
    "runs",
    "service",
    "some",
    "something",
    "stuff",
    "tbd",
    "test",
    "that",
    "the",
    "things",
    "this",
    "to",
    "todo",
    "tool",
    "use",
    "used",
    "useful",
    "uses",
    "using",
    "utility",
    "various",
    "with",
    "wrapper",
];

/// Why a model cannot choose by it; nothing when it can.
pub fn vague(description: &str, name: &str) -> Option<&'static str> {
    let bare = |t: &str| t.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
    if bare(description) == bare(name) {
        return Some("the description only repeats the name");
    }
    if weight(description) < 10 {
        return Some("the description is thin");
    }
    let of_name: Vec<_> = name.split(['_', '-']).map(str::to_lowercase).collect();
    let says_nothing = |word: &str| {
        let word = word.to_lowercase();
        EMPTY.contains(&&*word) || of_name.iter().any(|own| same(own, &word))
    };
    let mut words = description.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.all(says_nothing).then_some("the description says nothing that the name does not say")
}

/// Letters; one of Chinese, Japanese or Korean says as much as several others.
fn weight(text: &str) -> usize {
    let of = |c: char| match c {
        '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' => 3,
        _ => 1,
    };
    text.trim().chars().map(of).sum()
}

/// `order` and `orders`.
fn same(a: &str, b: &str) -> bool {
    a == b || text::distance(a, b) == 1 && (a.strip_suffix('s') == Some(b) || b.strip_suffix('s') == Some(a))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_chooses_by_what_a_tool_does() {
        for (description, name) in [
            ("Get weather", "get_weather"),
            ("Weather", "weather_query"),
            ("This tool gets the weather", "weather"),
            ("A useful helper function for orders", "order_helper"),
            ("TODO: description", "x"),
            ("查询", "weather"),
        ] {
            assert!(vague(description, name).is_some(), "{description}");
        }
        for (description, name) in [
            ("Gets the weather of a city for a day", "weather"),
            ("查询天气", "weather"),
            ("根据订单号查询订单状态，支持按状态和日期范围过滤", "order_query"),
            ("Waits inside the gateway", "sleep"),
            ("A long answer", "long"),
        ] {
            assert_eq!(vague(description, name), None, "{description}");
        }
    }
}
