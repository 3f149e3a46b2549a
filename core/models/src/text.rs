//! What models write into their text that is no text: thinking, and calls that are printed.

use std::borrow::Cow;

use dispatch::model::Asked;
use serde_json::{Map, Value};

use crate::calls::MOST_CALLS;

const THINKING: [(&str, &str); 4] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
];
const CALL: (&str, &str) = ("<tool_call>", "</tool_call>");
/// What stands before calls that go on to the end of the text.
const TO_THE_END: [&str; 2] = ["[TOOL_CALLS]", "<|python_tag|>"];

/// The text without thinking. It stands at the beginning of a line; what has no end is thinking when nothing came
/// before it, or as long as more may come. Where the beginning is missing (a template wrote it) all before its end is.
pub(crate) fn without_thinking(raw: &str, is_finished: bool) -> Cow<'_, str> {
    if !THINKING.iter().any(|(open, close)| raw.contains(open) || raw.contains(close)) {
        return Cow::Borrowed(raw);
    }
    let mut rest = after_lone_end(raw);
    let mut out = String::new();
    while let Some((at, open, close)) = next_thinking(rest) {
        let begun = &rest[at + open.len()..];
        let before = &rest[..at];
        match begun.find(close) {
            Some(end) => {
                out.push_str(before);
                rest = begun[end + close.len()..].trim_start_matches(['\n', '\r']);
            }
            None if !is_finished || (out.trim().is_empty() && before.trim().is_empty()) => {
                out.push_str(before);
                rest = "";
            }
            None => break,
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn next_thinking(text: &str) -> Option<(usize, &'static str, &'static str)> {
    let begins_line =
        |at: usize| text[..at].trim_end_matches([' ', '\t']).chars().next_back().is_none_or(|c| c == '\n');
    let found = THINKING.iter().filter_map(|(open, close)| {
        let at = text.match_indices(open).map(|(at, _)| at).find(|at| begins_line(*at))?;
        Some((at, *open, *close))
    });
    found.min_by_key(|(at, ..)| *at)
}

/// Whether the text has an end of thinking whose beginning the server's template kept to itself.
pub(crate) fn has_lone_end(text: &str) -> bool {
    after_lone_end(text).len() < text.len()
}

fn after_lone_end(text: &str) -> &str {
    let (open, close) = THINKING[0];
    let Some((before, after)) = text.split_once(close) else { return text };
    let alone = before.is_empty() || before.ends_with('\n') || after.is_empty() || after.starts_with('\n');
    if before.contains(open) || !alone { text } else { after.trim_start_matches(['\n', '\r']) }
}

/// What may be shown of an answer in the making: no thinking, and nothing that may become a call.
pub(crate) fn visible(raw: &str, offers_tools: bool) -> Cow<'_, str> {
    let text = without_thinking(raw, false);
    let end = visible_end(&text, offers_tools);
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[..end]),
        Cow::Owned(mut text) => {
            text.truncate(end);
            Cow::Owned(text)
        }
    }
}

fn visible_end(text: &str, offers_tools: bool) -> usize {
    let mut end = text.len();
    if offers_tools {
        if text.trim_start().starts_with(['{', '[']) {
            return 0;
        }
        for mark in std::iter::once(CALL.0).chain(TO_THE_END) {
            end = text.find(mark).unwrap_or(end).min(end);
        }
        end = open_fence(&text[..end]).unwrap_or(end);
    }
    // The beginning of a mark whose rest has not come yet.
    let marks = THINKING.iter().map(|(open, _)| *open).chain([CALL.0, TO_THE_END[0], TO_THE_END[1]]);
    let cut = marks.filter_map(|mark| (1..mark.len()).rev().find(|n| text[..end].ends_with(&mark[..*n])));
    end - cut.max().unwrap_or(0)
}

/// Where a fence begins that is not closed and holds what may be a call.
fn open_fence(text: &str) -> Option<usize> {
    let fences: Vec<usize> = text.match_indices("```").map(|(at, _)| at).collect();
    let at = *fences.last().filter(|_| fences.len() % 2 == 1)?;
    let body = text[at + 3..].trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_').trim_start();
    (body.is_empty() || body.starts_with(['{', '['])).then_some(at)
}

/// Calls that a model printed, and the text without them. Without tools there are none; what is not marked as a call has
/// to be exactly one, by a name that was offered.
pub(crate) fn printed(text: &str, offered: &[&str]) -> (String, Vec<Asked>) {
    if offered.is_empty() {
        return (text.to_owned(), Vec::new());
    }
    let (rest, mut asked) = marked(text);
    if asked.is_empty() {
        let (rest, found) = fenced(text, offered);
        if !found.is_empty() {
            return (rest, bounded(found));
        }
        if let Some(found) = calls_in(text, offered) {
            return (String::new(), bounded(found));
        }
    }
    asked.truncate(MOST_CALLS);
    (rest, asked)
}

fn bounded(mut asked: Vec<Asked>) -> Vec<Asked> {
    asked.truncate(MOST_CALLS);
    asked
}

fn marked(text: &str) -> (String, Vec<Asked>) {
    let (mut out, mut asked, mut rest) = (String::new(), Vec::new(), text);
    while let Some((before, after)) = rest.split_once(CALL.0) {
        let end = after.find(CALL.1).or_else(|| after.find(CALL.0)).unwrap_or(after.len());
        let found = read_marked(&after[..end]);
        out.push_str(before);
        if found.is_empty() {
            out.push_str(CALL.0);
            out.push_str(&after[..end]);
        }
        asked.extend(found);
        rest = after[end..].strip_prefix(CALL.1).unwrap_or(&after[end..]);
    }
    out.push_str(rest);
    for mark in TO_THE_END {
        let Some((before, after)) = out.split_once(mark) else { continue };
        let found = read_marked(after);
        if !found.is_empty() {
            asked.extend(found);
            out = before.to_owned();
        }
    }
    (out.trim().to_owned(), asked)
}

/// What stands between marks: one call or several, as JSON or in angle brackets; what cannot be read keeps its text.
fn read_marked(inner: &str) -> Vec<Asked> {
    let inner = inner.trim();
    match serde_json::from_str::<Value>(inner) {
        Ok(Value::Array(items)) => items.iter().filter_map(|item| call(item, false)).collect(),
        Ok(value) => call(&value, false).into_iter().collect(),
        Err(_) => in_brackets(inner).or_else(|| unreadable(inner)).into_iter().collect(),
    }
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
    let name = after_key(inner, "name")?.strip_prefix('"')?;
    let name = &name[..name.find('"')?];
    let args = ["arguments", "parameters"].iter().find_map(|key| after_key(inner, key)).unwrap_or_default();
    (!name.is_empty()).then(|| Asked { tool: name.to_owned(), args: args.strip_suffix('}').unwrap_or(args).to_owned() })
}

fn after_key<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let (_, after) = text.split_once(&format!("\"{key}\""))?;
    Some(after.trim_start().strip_prefix(':')?.trim())
}

/// Fences that hold nothing but calls.
fn fenced(text: &str, offered: &[&str]) -> (String, Vec<Asked>) {
    let (mut out, mut asked, mut rest) = (String::new(), Vec::new(), text);
    while let Some((before, after)) = rest.split_once("```") {
        let Some((inner, behind)) = after.split_once("```") else { break };
        let body = inner.split_once('\n').map_or(inner, |(info, body)| match info.trim() {
            "" | "json" | "tool_call" | "tool_code" | "tool" => body,
            _ => inner,
        });
        out.push_str(before);
        match calls_in(body, offered) {
            Some(found) => asked.extend(found),
            None => {
                out.push_str("```");
                out.push_str(inner);
                out.push_str("```");
            }
        }
        rest = behind;
    }
    out.push_str(rest);
    (out.trim().to_owned(), asked)
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

    #[test]
    fn thinking_is_no_text_wherever_its_line_begins() {
        let check = |raw: &str, shown: &str, said: &str| {
            assert_eq!(without_thinking(raw, false).trim(), shown, "{raw}");
            assert_eq!(without_thinking(raw, true).trim(), said, "{raw}");
        };
        check("<think>hm</think>\n\nSunny.", "Sunny.", "Sunny.");
        check("<think>a</think><think>b</think>Sunny.", "Sunny.", "Sunny.");
        check("Sunny.\n<thinking>hm</thinking>\nAnd warm.", "Sunny.\nAnd warm.", "Sunny.\nAnd warm.");
        check("<think>hm", "", "");
        check("One writes\n<think>\nand so on", "One writes", "One writes\n<think>\nand so on");
        check("hm, hm\n</think>\n\nSunny.", "Sunny.", "Sunny.");
        check(
            "A `<think>` tag ends with `</think>` there.",
            "A `<think>` tag ends with `</think>` there.",
            "A `<think>` tag ends with `</think>` there.",
        );
    }

    #[test]
    fn what_may_become_a_call_or_a_thought_is_not_shown_yet() {
        for (raw, shown) in [
            ("Let me look.\n<tool_c", "Let me look.\n"),
            ("Let me look.\n<tool_call>{\"na", "Let me look.\n"),
            ("{\"name\":", ""),
            ("Look:\n```json\n{\"name\"", "Look:\n"),
            ("Look:\n```sh\nls", "Look:\n```sh\nls"),
            ("a <", "a "),
            ("a < b", "a < b"),
            ("<thi", ""),
        ] {
            assert_eq!(visible(raw, true), shown, "{raw}");
        }
        assert_eq!(visible("{\"a\":1", false), "{\"a\":1");
    }

    fn check(text: &str, rest: &str, expected: &[(&str, &str)]) {
        let (said, asked) = printed(text, &["weather", "time"]);
        let asked: Vec<_> = asked.iter().map(|asked| (asked.tool.as_str(), asked.args.as_str())).collect();
        assert_eq!((said.as_str(), asked.as_slice()), (rest, expected), "{text}");
    }

    #[test]
    fn a_call_that_is_printed_is_a_call() {
        let one = &[("weather", r#"{"city":"Oslo"}"#)];
        check(r#"I look. <tool_call>{"name":"weather","arguments":{"city":"Oslo"}}</tool_call>"#, "I look.", one);
        check(r#"<tool_call>{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}"#, "", one);
        check("Now:\n```json\n{\"name\":\"weather\",\"arguments\":{\"city\":\"Oslo\"}}\n```", "Now:", one);
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
        check("<tool_call>what?</tool_call>", "<tool_call>what?", &[]);
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
}
