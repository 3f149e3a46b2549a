//! A failure in a person's language.

use contract::{Code, Layer, Locale, Notice, Problem, notice::clock};

use crate::{
    catalogue::{self, Values},
    reading,
    replies::wait,
};

/// A notice in a person's language; each adapter draws it in its platform's manner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// A mark that does not rely on colour.
    pub mark: &'static str,
    /// The layer in words.
    pub heading: String,
    pub say: String,
    /// Where, what was expected, what stood there, how to write it; a line each.
    pub details: Vec<String>,
    /// What to do next.
    pub hint: String,
}

/// What is said of a failure.
pub fn notice(notice: &Notice, locale: Locale) -> Shown {
    let (mark, _) = notice.heading();
    Shown {
        mark,
        heading: catalogue::plain(locale, heading_key(notice)),
        say: sentence(notice, locale),
        details: details(notice, locale),
        hint: reading::said("hint", &notice.hint, locale),
    }
}

/// A heading and what stands under it, where there is one line for both.
pub fn headed(heading: &str, say: &str, locale: Locale) -> String {
    let values = [("sentence", catalogue::value(heading)), ("words", catalogue::value(say))];
    catalogue::text(locale, "detail-in-words", &Values::from(values))
}

fn heading_key(notice: &Notice) -> &'static str {
    match (notice.layer, notice.code) {
        (_, Code::ToolUnknown | Code::ToolRemoved) => "heading-unavailable",
        (_, Code::OutcomeUnknown) => "heading-unknown",
        (_, Code::Cancelled) => "heading-stopped",
        (_, Code::NotStarted) => "heading-not-started",
        (_, Code::Busy) => "heading-busy",
        (_, Code::ModelUnavailable | Code::ModelOverflow | Code::ModelStuck) => "heading-model",
        (Layer::Validation, _) => "heading-input",
        (Layer::Permission, _) => "heading-refused",
        (Layer::Execution, _) => "heading-tool",
        (Layer::Fatal, _) => "heading-ours",
    }
}

/// The failure's own sentence where it can be said in the language; else what its code means, and the words of whoever
/// wrote it as they are.
fn sentence(notice: &Notice, locale: Locale) -> String {
    let words = notice.say.trim();
    match locale {
        Locale::En if !words.is_empty() => return notice.say.clone(),
        Locale::En => {}
        Locale::ZhHans => {
            if let Some(known) = reading::known("say", words, locale) {
                return known;
            }
        }
    }
    let meaning = meaning(notice.code, notice.tool.as_deref(), locale);
    if words.is_empty() {
        return meaning;
    }
    headed(&meaning, words, locale)
}

fn meaning(code: Code, tool: Option<&str>, locale: Locale) -> String {
    let key = code_key(code);
    match tool {
        Some(tool) => {
            let values = Values::from([("tool", catalogue::value(tool))]);
            catalogue::text(locale, &format!("{key}.tool"), &values)
        }
        None => catalogue::plain(locale, &key),
    }
}

/// A dot in a key would name an attribute.
pub(crate) fn code_key(code: Code) -> String {
    format!("code-{}", code.as_str().replace('.', "-"))
}

fn details(notice: &Notice, locale: Locale) -> Vec<String> {
    let mut lines: Vec<String> = notice.problems.iter().map(|problem| problem_line(problem, locale)).collect();
    let mut line = |key, name, value: String| {
        lines.push(catalogue::text(locale, key, &Values::from([(name, catalogue::value(value))])));
    };
    if let Some(usage) = &notice.usage {
        line("detail-usage", "usage", usage.clone());
    }
    if let Some(at_ms) = notice.may_have_happened_ms {
        // The zone is said: people of one conversation may live in several.
        line("detail-happened", "time", reading::said("time", &clock(at_ms), locale));
    }
    if let Some(after) = notice.retry_after {
        line("detail-retry", "wait", wait(after, locale));
    }
    line("detail-code", "code", notice.code.to_string());
    lines
}

fn problem_line(problem: &Problem, locale: Locale) -> String {
    let place = match problem.path.as_str() {
        "" => catalogue::plain(locale, "detail-whole"),
        path => path.to_owned(),
    };
    let expected = reading::said("expected", &problem.expected, locale);
    let mut values = Values::from([("place", catalogue::value(place)), ("expected", catalogue::value(expected))]);
    let line = match &problem.got {
        Some(got) => {
            values.insert("got", catalogue::value(got.as_str()));
            catalogue::text(locale, "detail-problem", &values)
        }
        // Of the arguments as a whole nothing is missing: they are not as they should be.
        None if problem.path.is_empty() => catalogue::text(locale, "detail-expected", &values),
        None => catalogue::text(locale, "detail-missing", &values),
    };
    advised(line, problem, locale)
}

/// What a place should hold, for where the place itself is pointed at: a field of a form.
pub fn expected(problem: &Problem, locale: Locale) -> String {
    advised(reading::said("expected", &problem.expected, locale), problem, locale)
}

fn advised(line: String, problem: &Problem, locale: Locale) -> String {
    let Some(hint) = &problem.hint else { return line };
    let advice = reading::said("advice", hint, locale);
    let values = [("line", catalogue::value(line)), ("advice", catalogue::value(advice))];
    catalogue::text(locale, "detail-advice", &Values::from(values))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use contract::Failure;
    use expect_test::expect;

    use super::*;

    fn problem(path: &str, expected: &str, got: Option<&str>, hint: Option<&str>) -> Problem {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Problem { path: path.into(), expected: expected.into(), got: owned(got), hint: owned(hint) }
    }

    fn full() -> Notice {
        let problems = vec![
            problem("status", "one of pending, paid", Some("\"payed\""), Some("did you mean 'paid'?")),
            problem("order_id", "string", None, Some("order number")),
            problem("limit", "at most 50", Some("99"), None),
            problem("", "at most 6 levels of nesting", None, Some("send a flatter structure")),
        ];
        let failure = Failure::invalid_args("order_query", problems, "/order_query order_id".into());
        let mut notice = Notice::of(&failure.retry_after(Duration::from_secs(300)), Some("order_query"), None);
        notice.may_have_happened_ms = Some(43_389_000);
        notice
    }

    fn drawn(notice: &Notice, locale: Locale) -> String {
        let Shown { mark, heading, say, details, hint } = super::notice(notice, locale);
        format!("{mark} {heading}: {say}\n{}\n→ {hint}", details.join("\n"))
    }

    #[test]
    fn english_is_what_the_notice_says_of_itself() {
        let notice = full();
        let (mark, heading) = notice.heading();
        let own = format!("{mark} {heading}: {}\n{}\n→ {}", notice.say, notice.detail_lines().join("\n"), notice.hint);
        assert_eq!(drawn(&notice, Locale::En), own);
        let mut notice = notice;
        for at in [0, u64::MAX, 253_402_207_199_999, 253_402_207_200_000] {
            notice.may_have_happened_ms = Some(at);
            assert_eq!(super::notice(&notice, Locale::En).details, notice.detail_lines(), "{at}");
        }
    }

    #[test]
    fn chinese_fills_in_names_problems_and_waits() {
        expect![[r#"
            ✏️ 请检查输入: “order_query”无法用这些参数运行：有 4 处不对
            status：应为以下之一：pending, paid，实际是 "payed"（您是不是想写“paid”？）
            order_id：应为文本，但没有提供（order number）
            limit：应为不大于 50 的数，实际是 99
            参数：应为至多 6 层嵌套（请减少嵌套）
            用法：/order_query order_id
            操作可能已在 12:03:09 UTC 生效
            请在 5 分钟后再试
            代码：args.invalid
            → 请改正后重新发送"#]]
        .assert_eq(&drawn(&full(), Locale::ZhHans));
    }

    #[test]
    fn a_field_says_what_it_should_hold() {
        let said = |locale| {
            let full = full();
            full.problems.iter().map(|problem| expected(problem, locale)).collect::<Vec<_>>().join("\n")
        };
        expect![[r#"
            one of pending, paid (did you mean 'paid'?)
            string (order number)
            at most 50
            at most 6 levels of nesting (send a flatter structure)"#]]
        .assert_eq(&said(Locale::En));
        expect![[r#"
            以下之一：pending, paid（您是不是想写“paid”？）
            文本（order number）
            不大于 50 的数
            至多 6 层嵌套（请减少嵌套）"#]]
        .assert_eq(&said(Locale::ZhHans));
    }

    #[test]
    fn the_owners_words_stand_behind_what_the_code_means() {
        let failure = Failure::new(Code::InputRefused, "no such article").hint("look into the price list");
        let notice = Notice::of(&failure, Some("shop"), None);
        expect![[r#"
            ✏️ 请检查输入: “shop”没有接受输入：no such article
            代码：input.refused
            → look into the price list"#]]
        .assert_eq(&drawn(&notice, Locale::ZhHans));
    }
}
