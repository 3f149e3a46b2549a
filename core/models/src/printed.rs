//! Calls that a server leaves in the text, since it does not read the format of the model that it runs.
//!
//! An answer may repeat what others wrote, and that must not become a call. So a call is only what nothing else stands
//! behind: marked ones from the beginning of a line to the end of the answer, others only when the answer is nothing else.

use dispatch::model::Asked;
use serde_json::{Deserializer, Map, Value};

use crate::calls::MOST_CALLS;

const CALL: (&str, &str) = ("<tool_call>", "</tool_call>");
/// What calls begin with. Only the first has an end.
pub(crate) const MARKS: [&str; 3] = [CALL.0, "[TOOL_CALLS]", "<|python_tag|>"];
/// Most marks of an answer that are tried, since each try may read to its end.
const MOST_TRIED: usize = 32;

/// Calls that a model printed, and the text before them. Without tools there are none; what is not marked as a call has
/// to be exactly one, by a name that was offered.
pub(crate) fn printed(text: &str, offered: &[&str]) -> (String, Vec<Asked>) {
    if offered.is_empty() {
        return (text.to_owned(), Vec::new());
    }
    let whole = || calls_in(text, offered).or_else(|| fenced(text, offered));
    let found = at_the_end(text).or_else(|| Some(("", whole()?)));
    let (said, mut asked) = found.unwrap_or((text, Vec::new()));
    asked.truncate(MOST_CALLS);
    (said.trim().to_owned(), asked)
}

/// Where a mark begins the text (after white space) or a line.
pub(crate) fn marks(text: &str) -> impl Iterator<Item = usize> {
    let first = text.len() - text.trim_start().len();
    let lines = text.match_indices('\n').map(|(at, _)| at + 1).filter(move |at| *at > first);
    std::iter::once(first).chain(lines).filter(|at| begins_with_a_mark(&text[*at..]))
}

fn begins_with_a_mark(text: &str) -> bool {
    MARKS.iter().any(|mark| text.starts_with(mark))
}

/// Whether a text in the making may become nothing but fences with calls.
pub(crate) fn may_be_fenced(text: &str) -> bool {
    let Some(begun) = text.trim_start().strip_prefix("```") else { return false };
    let body = begun.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_').trim_start();
    let behind = begun.split_once("```").map_or("", |(_, behind)| behind.trim_start());
    (body.is_empty() || body.starts_with(['{', '['])) && (behind.is_empty() || behind.starts_with('`'))
}

/// The text before marked calls that go on to its end, and them.
fn at_the_end(text: &str) -> Option<(&str, Vec<Asked>)> {
    marks(text).take(MOST_TRIED).find_map(|at| {
        let (before, behind) = text.split_at(at);
        let asked = marked(behind)?;
        (!is_quoting(before)).then_some((before, asked))
    })
}

/// Whether what follows stands in a fence, in a block quote or between quotation marks. In doubt it does: a call that is
/// shown as text does no harm.
fn is_quoting(before: &str) -> bool {
    let is_block = before.lines().next_back().is_some_and(|line| line.trim_start().starts_with('>'));
    let quotation = before.matches(['"', '“', '”', '„', '«', '»']).count();
    is_block || quotation % 2 == 1 || in_fence(before)
}

fn in_fence(before: &str) -> bool {
    let mut open = None;
    for line in before.lines().map(str::trim) {
        let Some(of @ ('`' | '~')) = line.chars().next() else { continue };
        let length = line.len() - line.trim_start_matches(of).len();
        open = match open {
            None if length >= 3 => Some((of, length)),
            Some((kind, least)) if kind == of && length >= least && length == line.len() => None,
            as_before => as_before,
        };
    }
    open.is_some() || before.matches("```").count() % 2 == 1
}

/// The marked calls that a text consists of; nothing if anything else is in it.
fn marked(text: &str) -> Option<Vec<Asked>> {
    let (mut asked, mut rest) = (Vec::new(), text.trim_start());
    while !rest.is_empty() {
        let (found, behind) = first_marked(rest)?;
        asked.extend(found);
        rest = behind.trim_start();
    }
    Some(asked)
}

/// What stands behind the mark that a text begins with: one call or several, as JSON or in angle brackets; and what
/// comes behind it.
fn first_marked(text: &str) -> Option<(Vec<Asked>, &str)> {
    let mark = MARKS.iter().find(|mark| text.starts_with(**mark))?;
    let inner = text[mark.len()..].trim_start();
    let has_end = *mark == CALL.0;
    if let Some((asked, rest)) = readable(inner) {
        let rest = rest.trim_start();
        match rest.strip_prefix(CALL.1).filter(|_| has_end) {
            Some(rest) => return Some((asked, rest)),
            None if rest.is_empty() || begins_with_a_mark(rest) => return Some((asked, rest)),
            None => {}
        }
    }
    let (inner, rest) = match inner.split_once(CALL.1).filter(|_| has_end) {
        Some(closed) => closed,
        None if is_cut_off(inner) => (inner, ""),
        None => return None,
    };
    let asked = in_brackets(inner).or_else(|| unreadable(inner.trim()))?;
    Some((vec![asked], rest))
}

fn readable(text: &str) -> Option<(Vec<Asked>, &str)> {
    if text.starts_with("<function=") {
        let within = text.split_once(CALL.1).map_or(text, |(within, _)| within);
        let end = within.find("</function>")?;
        return Some((vec![in_brackets(&text[..end])?], &text[end + "</function>".len()..]));
    }
    let mut values = Deserializer::from_str(text).into_iter::<Value>();
    let asked: Vec<_> = match values.next()?.ok()? {
        Value::Array(items) => items.iter().filter_map(|item| call(item, false)).collect(),
        value => call(&value, false).into_iter().collect(),
    };
    (!asked.is_empty()).then(|| (asked, &text[values.byte_offset()..]))
}

/// Whether all of it is JSON whose end is missing.
fn is_cut_off(text: &str) -> bool {
    text.starts_with('{') && serde_json::from_str::<Value>(text).is_err_and(|error| error.is_eof())
}

/// `<function=NAME><parameter=KEY>VALUE</parameter></function>`: every value is text, which is converted by the schema.
fn in_brackets(inner: &str) -> Option<Asked> {
    let (name, mut rest) = inner.strip_prefix("<function=")?.split_once('>')?;
    let mut args = Map::new();
    while let Some((_, after)) = rest.split_once("<parameter=") {
        let (key, after) = after.split_once('>')?;
        let end = after.find("</parameter>").unwrap_or(after.len());
        args.insert(key.trim().to_owned(), Value::String(after[..end].trim_matches('\n').to_owned()));
        rest = &after[end..];
    }
    Some(Asked { tool: name.trim().to_owned(), args: Value::Object(args).to_string() })
}

/// A call whose JSON is broken: its name, and its arguments as they stand, so that the model can be told.
fn unreadable(inner: &str) -> Option<Asked> {
    let name = after_key(inner.strip_prefix('{')?, "name")?.strip_prefix('"')?;
    let name = &name[..name.find('"')?];
    let args = ["arguments", "parameters"].iter().find_map(|key| after_key(inner, key)).unwrap_or_default();
    (!name.is_empty()).then(|| Asked { tool: name.to_owned(), args: args.strip_suffix('}').unwrap_or(args).to_owned() })
}

fn after_key<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let (_, after) = text.split_once(&format!("\"{key}\""))?;
    Some(after.trim_start().strip_prefix(':')?.trim())
}

/// Calls of a text that is fences with nothing but calls in them.
fn fenced(text: &str, offered: &[&str]) -> Option<Vec<Asked>> {
    let (mut asked, mut rest) = (Vec::new(), text.trim());
    while !rest.is_empty() {
        let (inner, behind) = rest.strip_prefix("```")?.split_once("```")?;
        let body = inner.split_once('\n').map_or(inner, |(info, body)| match info.trim() {
            "" | "json" | "tool_call" | "tool_code" | "tool" => body,
            _ => inner,
        });
        asked.extend(calls_in(body, offered)?);
        rest = behind.trim_start();
    }
    (!asked.is_empty()).then_some(asked)
}

/// The calls that a text consists of; nothing if anything else is in it.
fn calls_in(text: &str, offered: &[&str]) -> Option<Vec<Asked>> {
    let value: Value = serde_json::from_str(text.trim()).ok()?;
    let items = match &value {
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let asked: Option<Vec<_>> = items.iter().map(|item| call(item, true)).collect();
    asked.filter(|asked| !asked.is_empty() && asked.iter().all(|asked| offered.contains(&asked.tool.as_str())))
}

/// `{"name", "arguments"}`, with or without a `function` around it. `strictly`: these keys and no others.
fn call(value: &Value, strictly: bool) -> Option<Asked> {
    let object = value.as_object()?;
    if let Some(inner @ Value::Object(_)) = object.get("function") {
        return call(inner, strictly);
    }
    let keys = ["arguments", "parameters"];
    let (args, known) = match keys.iter().find_map(|key| object.get(*key)) {
        Some(Value::String(text)) => (text.clone(), 2),
        Some(Value::Null) => (String::new(), 2),
        Some(args) => (args.to_string(), 2),
        None if strictly => return None,
        None => (String::new(), 1),
    };
    let extra = ["id", "type"].iter().filter(|key| object.contains_key(**key)).count();
    let name = object.get("name")?.as_str().filter(|name| !name.is_empty())?;
    (!strictly || object.len() == known + extra).then(|| Asked { tool: name.to_owned(), args })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, rest: &str, expected: &[(&str, &str)]) {
        let (said, asked) = printed(text, &["weather", "time"]);
        let asked: Vec<_> = asked.iter().map(|asked| (asked.tool.as_str(), asked.args.as_str())).collect();
        assert_eq!((said.as_str(), asked.as_slice()), (rest, expected), "{text}");
    }

    #[test]
    fn a_call_that_is_printed_is_a_call() {
        let one = &[("weather", r#"{"city":"Oslo"}"#)];
        check(
            "I look.\n<tool_call>{\"name\":\"weather\",\"arguments\":{\"city\":\"Oslo\"}}</tool_call>",
            "I look.",
            one,
        );
        check(r#"  <tool_call>{"name":"weather","arguments":{"city":"Oslo"}}</tool_call>"#, "", one);
        check(r#"<tool_call>{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}"#, "", one);
        check("```json\n{\"name\":\"weather\",\"arguments\":{\"city\":\"Oslo\"}}\n```", "", one);
        check(r#"{"name":"weather","parameters":{"city":"Oslo"}}"#, "", one);
        check(r#"[TOOL_CALLS] [{"name":"weather","arguments":{"city":"Oslo"}}]"#, "", one);
        check(r#"<|python_tag|>{"name":"weather","parameters":{"city":"Oslo"}}"#, "", one);
        let brackets =
            "<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>";
        check(brackets, "", one);
        check(
            r#"<tool_call>{"name":"weather","arguments":{"city":"Oslo"}}</tool_call><tool_call>{"name":"time","arguments":{}}</tool_call>"#,
            "",
            &[("weather", r#"{"city":"Oslo"}"#), ("time", "{}")],
        );
    }

    #[test]
    fn a_printed_call_that_cannot_be_read_keeps_its_text() {
        check(
            r#"<tool_call>{"name": "weather", "arguments": {"city": Oslo}}</tool_call>"#,
            "",
            &[("weather", r#"{"city": Oslo}"#)],
        );
        check(r#"<tool_call>{"name":"weather","arguments":{"city":"Os"#, "", &[("weather", r#"{"city":"Os"#)]);
        check("<tool_call>what?</tool_call>", "<tool_call>what?</tool_call>", &[]);
    }

    #[test]
    fn json_that_is_an_answer_stays_one() {
        for text in [
            "```json\n{\"name\":\"Oslo\",\"arguments\":{}}\n```",
            "```json\n{\"name\":\"weather\",\"population\":7}\n```",
            "```json\n{\"name\":\"weather\",\"arguments\":{},\"note\":\"an example\"}\n```",
            r#"{"name":"weather"}"#,
            r#"{"name":"delete_all","arguments":{}}"#,
        ] {
            check(text, text, &[]);
        }
        let text = r#"<tool_call>{"name":"weather","arguments":{}}</tool_call>"#;
        assert_eq!(printed(text, &[]), (text.to_owned(), Vec::new()));
    }

    #[test]
    fn a_quote_of_a_call_stays_text() {
        let json = r#"{"name":"weather","arguments":{"city":"Oslo"}}"#;
        let tagged = format!("<tool_call>{json}</tool_call>");
        for call in [&tagged, &format!("[TOOL_CALLS] [{json}]"), &format!("<|python_tag|>{json}")] {
            for text in [
                format!("The page says {call}"),
                format!("The page says {call} and no more."),
                format!("The page says:\n{call}\nand no more."),
                format!("{call}\nis what the page says."),
                format!("The page says:\n```\n{call}\n```"),
                format!("The page says:\n```\n{call}"),
                format!("The page says:\n````\n```\nls\n```\n{call}"),
                format!("The page says:\n~~~\n{call}"),
                format!("```\n{call}\n```"),
                format!("The page says:\n> {call}"),
                format!("> The page says:\n{call}"),
                format!("The page says: \"Hello.\n{call}"),
                format!("The page says: “Hello.\n{call}”"),
                format!("\"{call}\""),
                format!("- {call}"),
                format!("`{call}`"),
            ] {
                check(&text, &text, &[]);
            }
        }
        for text in [
            format!("The page says:\n```json\n{json}\n```"),
            format!("```json\n{json}\n```\nis what the page says."),
            format!("The page says:\n{json}"),
            format!("{json}\nis what the page says."),
            format!("> {json}"),
            format!("<tool_call>{json}\nis what the page says."),
            format!("[TOOL_CALLS] {json} is what the page says."),
        ] {
            check(&text, &text, &[]);
        }
    }

    #[test]
    fn a_call_behind_a_quote_is_a_call() {
        let call = r#"<tool_call>{"name":"time","arguments":{}}</tool_call>"#;
        for said in [
            "I look up \"Oslo\".".to_owned(),
            "Like\n```sh\ndate\n```\ndoes.".to_owned(),
            "> What time?\n\nNow.".to_owned(),
            format!("It says {call}, and so"),
            format!("It says\n{call}\nand so"),
        ] {
            check(&format!("{said}\n{call}\n"), &said, &[("time", "{}")]);
        }
    }

    #[test]
    fn an_answer_full_of_marks_is_read_at_once() {
        let call = r#"<tool_call>{"name":"time","arguments":{}}</tool_call>"#;
        for text in [format!("{call}\n").repeat(20_000) + "x", "<tool_call>\n".repeat(100_000)] {
            check(text.trim(), text.trim(), &[]);
        }
    }
}
