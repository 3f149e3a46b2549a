//! A call's arguments as people see them before they decide: a line each, secrets masked, what is long cut and said to be.

use serde_json::{Map, Value};

use crate::summary::is_secret;

/// Most characters of all arguments together, of one of them, and most lines.
const ALL_MAX: usize = 1_000;
const ONE_MAX: usize = 270;
const LINES_MAX: usize = 24;
/// Lines of a difference, and characters of one.
const DIFF_LINES_MAX: usize = 40;
const DIFF_LINE_MAX: usize = 160;
/// Most bytes of what is kept of all arguments, for those who look at more than a card.
const WHOLE_MAX: usize = 64 * 1024;

/// How much is told.
#[derive(Clone, Copy)]
struct Most {
    one: usize,
    lines: usize,
    diff_lines: usize,
    diff_line: usize,
}

const ON_A_CARD: Most = Most { one: ONE_MAX, lines: LINES_MAX, diff_lines: DIFF_LINES_MAX, diff_line: DIFF_LINE_MAX };
const WHOLE: Most = Most { one: WHOLE_MAX, lines: usize::MAX, diff_lines: usize::MAX, diff_line: WHOLE_MAX };

/// Names under which tools that write take what stands there and what is to stand there.
const PAIRS: [(&str, &str); 5] = [
    ("old", "new"),
    ("old_string", "new_string"),
    ("old_text", "new_text"),
    ("old_content", "new_content"),
    ("before", "after"),
];

/// Everything that is asked of the tool. With `writes`, an old and a new text are shown as their difference.
pub(super) fn shown(args: &Value, writes: bool) -> String {
    bounded(told(args, writes, ON_A_CARD))
}

/// The same without a cut, unless it is too long to be kept; nothing where `shown` has it all.
pub(super) fn whole(args: &Value, writes: bool, shown: &str) -> String {
    let mut whole = told(args, writes, WHOLE);
    if whole.len() > WHOLE_MAX {
        let long = whole.len();
        whole.truncate(whole.floor_char_boundary(WHOLE_MAX));
        whole.push_str(&format!("\n… ({long} bytes, cut)"));
    }
    if whole == shown { String::new() } else { whole }
}

fn told(args: &Value, writes: bool, most: Most) -> String {
    let Value::Object(map) = args else { return one(args, most.one) };
    let pair = writes.then(|| pair(map, most)).flatten();
    let is_of_pair = |name: &str| pair.as_ref().is_some_and(|(old, new, _)| name == *old || name == *new);
    let mut out = String::new();
    for (n, (name, value)) in map.iter().filter(|(name, _)| !is_of_pair(name)).enumerate() {
        if n == most.lines {
            out.push_str(&format!("… {} more\n", map.len() - n));
            break;
        }
        let value = if is_secret(name) { "***".to_owned() } else { one(value, most.one) };
        out.push_str(&format!("{}: {value}\n", plain(name, 64)));
    }
    if let Some((.., difference)) = pair {
        out.push_str(&difference);
    }
    out.trim_end().to_owned()
}

fn pair(map: &Map<String, Value>, most: Most) -> Option<(&'static str, &'static str, String)> {
    let text = |name: &str| map.get(name).and_then(Value::as_str);
    let (old, new) = PAIRS.into_iter().find(|(old, new)| text(old).is_some() && text(new).is_some())?;
    Some((old, new, difference(text(old)?, text(new)?, most)))
}

/// What is the same at both ends is left out.
fn difference(old: &str, new: &str, most: Most) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    let lines = |mark: char, lines: &[&str]| {
        let shown = lines.iter().take(most.diff_lines).map(|line| format!("{mark} {}\n", plain(line, most.diff_line)));
        let more = lines.len().saturating_sub(most.diff_lines);
        let more = (more > 0).then(|| format!("{mark} … {more} more\n"));
        shown.chain(more).collect::<String>()
    };
    let place = format!("@@ {} @@\n", head + 1);
    place + &lines('-', &old[head..old.len() - tail]) + &lines('+', &new[head..new.len() - tail])
}

fn one(value: &Value, most: usize) -> String {
    let text = masked(value, 0).to_string();
    let long = text.chars().count();
    match long > most {
        // Both ends: what stands behind a long beginning would else be agreed to unseen.
        true => {
            let (head, tail) = (most - most / 3, most / 3);
            let end: String = text.chars().skip(long - tail).collect();
            format!("{}{} ({long} characters, {} left out)", plain(&text, head), plain(&end, tail), long - head - tail)
        }
        false => plain(&text, most),
    }
}

/// Deeper values are left out: arguments are no deeper than a parser takes them.
fn masked(value: &Value, depth: usize) -> Value {
    match value {
        Value::Object(_) | Value::Array(_) if depth > 16 => Value::String("…".to_owned()),
        Value::Object(map) => {
            let entry = |(name, value): (&String, &Value)| {
                let value = if is_secret(name) { Value::String("***".to_owned()) } else { masked(value, depth + 1) };
                (name.clone(), value)
            };
            Value::Object(map.iter().map(entry).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(|item| masked(item, depth + 1)).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// On one line and without characters that hide or reorder what stands there: a person decides by what they see.
fn plain(text: &str, most: usize) -> String {
    let hides = |c: char| {
        c.is_control()
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    };
    let mut out = String::new();
    for (n, c) in text.chars().enumerate() {
        if n == most {
            out.push('…');
            break;
        }
        match hides(c) {
            true => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            false => out.push(c),
        }
    }
    out
}

fn bounded(text: String) -> String {
    let long = text.chars().count();
    match long > ALL_MAX {
        true => format!("{}\n… ({long} characters, cut)", text.chars().take(ALL_MAX).collect::<String>()),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_a_line_each_and_hide_secrets() {
        let args =
            json!({"order_id": "A-17", "amount": 250.5, "to": {"mail": "a@x.test", "api_key": "sk"}, "Password": 1});
        expect![[r#"
            order_id: "A-17"
            amount: 250.5
            to: {"mail":"a@x.test","api_key":"***"}
            Password: ***"#]]
        .assert_eq(&shown(&args, false));
    }

    #[test]
    fn what_is_long_is_cut_and_says_so() {
        let text = "```\n".repeat(1_250);
        let shown = shown(&json!({"text": text, "more": text, "list": vec![text; 9], "x": "y"}), false);
        assert!(shown.chars().count() < 1_400 && shown.lines().count() < 10);
        assert!(shown.contains("(6252 characters, 5982 left out)") && shown.ends_with("x: \"y\""), "{shown}");
        let many: Map<String, Value> = (0..500).map(|n| (format!("k{n}"), json!("v".repeat(200)))).collect();
        let shown = super::shown(&Value::Object(many), false);
        assert!(shown.chars().count() < 1_300 && shown.ends_with("characters, cut)"));
    }

    #[test]
    fn what_a_card_cuts_is_kept_whole_without_secrets() {
        let args = json!({"text": "a".repeat(5_000), "api_key": "sk", "old": "x", "new": "y\n".repeat(90)});
        let cut = shown(&args, true);
        let kept = whole(&args, true, &cut);
        assert!(kept.contains(&"a".repeat(5_000)) && !kept.contains("sk") && !kept.contains("more"), "{kept}");
        assert_eq!(kept.matches("+ y").count(), 90);
        let small = json!({"id": 1});
        assert_eq!(whole(&small, false, &shown(&small, false)), "");
        let huge = json!({"text": "ü".repeat(90_000)});
        let kept = whole(&huge, false, "");
        assert!(kept.len() < WHOLE_MAX + 100 && kept.ends_with("bytes, cut)"), "{}", kept.len());
    }

    #[test]
    fn nothing_hides_or_turns_around_what_is_decided() {
        expect![[r#"to: "a\u{202e}b\u{200b}" "#]]
            .assert_eq(&(shown(&json!({"to": "a\u{202e}b\u{200b}"}), false) + " "));
    }

    #[test]
    fn a_change_of_a_file_is_shown_as_what_changes() {
        let args = json!({"path": "a.txt", "old": "one\ntwo\nthree\n", "new": "one\n2\nthree\n"});
        expect![[r#"
            path: "a.txt"
            @@ 2 @@
            - two
            + 2"#]]
        .assert_eq(&shown(&args, true));
        assert!(shown(&args, false).contains("old: "));
        expect![[r#"
            @@ 2 @@
            + a"#]]
        .assert_eq(&shown(&json!({"old": "a", "new": "a\na"}), true));
    }
}
