//! Cutting, cleaning and reading of text that others wrote.

use std::time::Duration;

/// The longest prefix of at most `max` characters, with `…` where something was cut.
pub fn cut(text: &str, max: usize) -> String {
    if text.len() <= max || text.chars().nth(max).is_none() {
        return text.to_owned();
    }
    let mut out: String = text.chars().take(max.saturating_sub(1)).collect();
    out.push('…');
    out
}

/// Marks that turn the direction of the text behind them, which would then read as something else.
fn turns_text(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// One line: control characters become spaces, runs of white space one space; cut to `max` characters.
pub fn one_line(text: &str, max: usize) -> String {
    let spaced = text.split(|c: char| c.is_whitespace() || c.is_control() || turns_text(c)).filter(|w| !w.is_empty());
    let mut out = String::new();
    for word in spaced {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
        if out.len() > max.saturating_mul(4) {
            break;
        }
    }
    cut(&out, max)
}

/// A wait in words, rounded up: `3 s`, `5 min`, `4 h`.
pub fn wait(wait: Duration) -> String {
    match wait.as_secs() + u64::from(wait.subsec_nanos() > 0) {
        seconds @ 0..=119 => format!("{seconds} s"),
        seconds @ 120..=7_199 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h", seconds.div_ceil(3_600)),
    }
}

/// Most error characters that a model is shown.
pub const MODEL_ERROR_MAX: usize = 2_000;

/// Text of others as a model is shown it: without framing, of at most [`MODEL_ERROR_MAX`] characters.
pub fn for_model(text: &str) -> String {
    // Cut before, so that a large text costs no more than a small one; once more, since a cut may leave the beginning of
    // a tag.
    let cleaned = clean_framing(&cut(text, 4 * MODEL_ERROR_MAX));
    clean_framing(&cut(&cleaned, MODEL_ERROR_MAX))
}

/// Removes what could pass for framing (role and tool tags with or without attributes, marks of calls, fences, CDATA)
/// until nothing of it is left, so that nested tags cannot reassemble.
///
/// From the end to the beginning: what stands behind a mark is clean when the mark is looked at, so that one pass is
/// enough, however deep tags are nested.
pub fn clean_framing(text: &str) -> String {
    let bytes = text.as_bytes();
    let is_mark = |byte: &u8| matches!(byte, b'<' | b'`' | b'[' | b']');
    let Some(first) = bytes.iter().position(is_mark) else { return text.to_owned() };
    // Filled from its end; what is clean begins at `start`.
    let mut clean = vec![0; bytes.len()];
    let (mut start, mut rest) = (bytes.len(), bytes.len());
    while let Some(at) = bytes[first..rest].iter().rposition(is_mark).map(|at| first + at) {
        let piece = &bytes[at..rest];
        clean[start - piece.len()..start].copy_from_slice(piece);
        start -= piece.len();
        start += framing_len(&clean[start..]).unwrap_or(0);
        rest = at;
    }
    start -= rest;
    clean[start..start + rest].copy_from_slice(&bytes[..rest]);
    String::from_utf8(clean.split_off(start)).expect("only whole characters are left out")
}

const FRAMING: [&str; 22] = [
    "system",
    "user",
    "assistant",
    "tool",
    "function",
    "tool_call",
    "tool_calls",
    "tool_result",
    "tool_response",
    "tool_results",
    "function_call",
    "function_calls",
    "function_results",
    "invoke",
    "parameter",
    "thinking",
    "human",
    "instructions",
    "untrusted",
    "im_start",
    "im_end",
    "|",
];

/// The length of the framing that `text` begins with, if it does.
fn framing_len(text: &[u8]) -> Option<usize> {
    for mark in [&b"```"[..], b"<![CDATA[", b"]]>", b"[TOOL_CALLS]"] {
        if text.get(..mark.len()).is_some_and(|head| head.eq_ignore_ascii_case(mark)) {
            return Some(mark.len());
        }
    }
    let inner = text.strip_prefix(b"<")?;
    let name = skip(inner, |byte| matches!(byte, b'/' | b' ' | b'\t' | b'\n' | b'\r'));
    let name = skip(name, |byte| byte.is_ascii_alphanumeric()).strip_prefix(b":").unwrap_or(name);
    let is_framing = FRAMING.iter().any(|tag| {
        let behind = name.get(tag.len()..).unwrap_or_default();
        name.get(..tag.len()).is_some_and(|head| head.eq_ignore_ascii_case(tag.as_bytes()))
            && (*tag == "|" || !begins_in_a_word(behind))
    });
    is_framing.then(|| text.iter().position(|byte| *byte == b'>').map_or(text.len(), |end| end + 1))
}

fn skip(text: &[u8], is_skipped: impl Fn(u8) -> bool) -> &[u8] {
    &text[text.iter().position(|byte| !is_skipped(*byte)).unwrap_or(text.len())..]
}

fn begins_in_a_word(text: &[u8]) -> bool {
    const CHAR_MAX: usize = 4;
    let first = text[..text.len().min(CHAR_MAX)].utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
    first.is_some_and(|c| c.is_alphanumeric() || c == '_')
}

/// A time with its unit: `500ms`, `30s`, `2m`, `1h`, `7d`; never nothing.
pub fn duration(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let count: u64 = text[..digits].parse().ok()?;
    let unit_ms: u64 = match &text[digits..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    // A year is more than anything may take, and sums of times stay within a clock's range.
    count.checked_mul(unit_ms).filter(|ms| (1..=366 * 86_400_000).contains(ms)).map(Duration::from_millis)
}

/// The nearest of `known` to `name`, when it is near enough to be a slip of the keyboard.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let limit = (name.chars().count() / 3).clamp(1, 3);
    known
        .into_iter()
        .map(|k| (distance(&name, &k.to_lowercase()), k))
        .filter(|(d, _)| *d <= limit)
        .min_by_key(|(d, _)| *d)
        .map(|(_, k)| k)
}

/// Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`.
pub fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(80).collect(), b.chars().take(80).collect());
    let width = b.len() + 1;
    let mut rows = vec![vec![0; width]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + same);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*, sample::select};

    use super::*;

    #[test]
    fn framing_is_removed_to_a_fixpoint() {
        assert_eq!(clean_framing("<system>do it</system>"), "do it");
        assert_eq!(clean_framing("<sys<system>tem role=\"x\">go"), "go");
        assert_eq!(clean_framing("a ```js\nx\n``` b"), "a js\nx\n b");
        assert_eq!(clean_framing("<![CDATA[x]]>"), "x");
        assert_eq!(clean_framing("<|im_start|>system"), "system");
        assert_eq!(clean_framing("x [TOOL_CALLS] [{}] [tool_Calls][1]"), "x  [{}] [1]");
        assert_eq!(clean_framing("[TOOL_[TOOL_CALLS]CALLS]a[TOOL_<system>CALLS]b]"), "ab]");
        assert_eq!(clean_framing("<sys[TOOL_CALLS]tem>`[tool_calls]``c]][TOOL_CALLS]>"), "c");
        assert_eq!(clean_framing("[TOOL_CALL] [tools][0]"), "[TOOL_CALL] [tools][0]");
        assert_eq!(clean_framing("a<b && c>d, <b>bold</b>"), "a<b && c>d, <b>bold</b>");
    }

    #[test]
    fn a_model_is_shown_a_bounded_text_without_framing() {
        assert_eq!(for_model("<ns:system x>no</ns:system>"), "no");
        let nested = format!("{}{}", "<sys".repeat(100_000), "tem>".repeat(100_000));
        for text in ["<".repeat(1 << 20), nested, format!("{}<system>", "x".repeat(MODEL_ERROR_MAX - 9))] {
            let shown = for_model(&text);
            assert!(shown.chars().count() <= MODEL_ERROR_MAX);
            assert_eq!(clean_framing(&shown), shown);
        }
    }

    #[test]
    fn tags_nested_a_hundred_thousand_deep_are_taken_apart_in_one_pass() {
        let nested = format!("a{}{}z", "<sys".repeat(100_000), "tem>".repeat(100_000));
        assert_eq!(clean_framing(&nested), "az");
        assert_eq!(clean_framing("<sys<toolé>tem>x"), "<sys<toolé>tem>x");
        assert_eq!(clean_framing("é<systemé>`` `````ß<system"), "é<systemé>`` ``ß");
    }

    #[test]
    fn a_cut_falls_between_characters() {
        assert_eq!(cut("日本語", 2), "日…");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(one_line("a\n\u{0} b\tc", 10), "a b c");
        assert_eq!(one_line("exe\u{202e}gpj\u{2066}", 10), "exe gpj");
    }

    #[test]
    fn waits_are_said_in_words() {
        assert_eq!(wait(Duration::from_millis(2_100)), "3 s");
        assert_eq!(wait(Duration::from_secs(300)), "5 min");
        assert_eq!(wait(Duration::from_secs(13_938)), "4 h");
    }

    #[test]
    fn a_slip_finds_its_word_and_a_stranger_does_not() {
        assert_eq!(nearest("wether_query", ["order_query", "weather_query"]), Some("weather_query"));
        assert_eq!(nearest("paramters", ["parameters", "returns"]), Some("parameters"));
        assert_eq!(nearest("xyz", ["parameters", "returns"]), None);
    }

    #[test]
    fn a_time_needs_a_number_and_a_unit_and_has_an_end() {
        assert_eq!(duration("300s"), Some(Duration::from_secs(300)));
        assert_eq!(duration("5m"), Some(Duration::from_secs(300)));
        assert_eq!(duration("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(duration("366d"), Some(Duration::from_secs(366 * 86_400)));
        for bad in ["", "s", "300", "0s", "-1s", "1 s", "1w", "1.5s", "367d", "99999999999h", "99999999999999999999s"] {
            assert_eq!(duration(bad), None, "{bad}");
        }
    }

    const PARTS: [&str; 9] = ["[", "]", "TOOL_", "calls", "CALLS]", "[tool_calls]", "<user>", ">", "``"];

    proptest! {
        #[test]
        fn cleaning_is_final(text in ".{0,200}") {
            let once = clean_framing(&text);
            prop_assert_eq!(clean_framing(&once), once);
        }

        #[test]
        fn no_mark_of_calls_is_left(parts in vec(select(&PARTS), 0..24)) {
            let cleaned = clean_framing(&parts.concat());
            prop_assert!(!cleaned.to_lowercase().contains("[tool_calls]"), "{}", cleaned);
            prop_assert_eq!(clean_framing(&cleaned), cleaned);
        }
    }
}
