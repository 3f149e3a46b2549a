//! What models write into their text that is no text: thinking; and what of an unfinished text may be shown.

use std::borrow::Cow;

use crate::printed::{MARKS, marks, may_be_fenced};

const THINKING: [(&str, &str); 4] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
];

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
pub(crate) fn visible(raw: &str, may_call: bool) -> Cow<'_, str> {
    let text = without_thinking(raw, false);
    let end = visible_end(&text, may_call);
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[..end]),
        Cow::Owned(mut text) => {
            text.truncate(end);
            Cow::Owned(text)
        }
    }
}

fn visible_end(text: &str, may_call: bool) -> usize {
    let mut end = text.len();
    if may_call {
        if text.trim_start().starts_with(['{', '[']) || may_be_fenced(text) {
            return 0;
        }
        end = marks(text).next().unwrap_or(end);
    }
    // The beginning of a mark whose rest has not come yet.
    let all = THINKING.iter().map(|(open, _)| *open).chain(MARKS);
    let cut = all.filter_map(|mark| (1..mark.len()).rev().find(|n| text[..end].ends_with(&mark[..*n])));
    end - cut.max().unwrap_or(0)
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
            ("Look:\n```json\n{\"name\"", "Look:\n```json\n{\"name\""),
            ("```json\n{\"name\"", ""),
            ("```json\n{\"name\":\"time\",\"arguments\":{}}\n```", ""),
            ("```json\n{}\n```\nis it.", "```json\n{}\n```\nis it."),
            ("It says <tool_call>{}</tool_call> there", "It says <tool_call>{}</tool_call> there"),
            ("Look:\n```sh\nls", "Look:\n```sh\nls"),
            ("a <", "a "),
            ("a < b", "a < b"),
            ("<thi", ""),
        ] {
            assert_eq!(visible(raw, true), shown, "{raw}");
        }
        assert_eq!(visible("{\"a\":1", false), "{\"a\":1");
    }
}
