//! What a person reads of the platform's Markdown: marks are taken away, mentions become names.

/// Finds names for the ids in mentions.
pub trait Names {
    fn user(&self, id: u64) -> Option<String>;
    fn role(&self, id: u64) -> Option<String>;
    fn channel(&self, id: u64) -> Option<String>;
}

/// The visible text.
pub fn plain(text: &str, names: &dyn Names) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut quoting = false;
    while !rest.is_empty() {
        // A fence may stand anywhere in a line and runs over line ends.
        let line_end = rest.find('\n').map_or(rest.len(), |at| at + 1);
        let fence = rest[..line_end].find("```");
        if let Some(at) = fence
            && let Some((code, after)) = fenced(&rest[at + 3..])
        {
            line(&rest[..at], &mut quoting, names, &mut out);
            if !out.is_empty() && !out.ends_with('\n') {
                out.push('\n');
            }
            out.push_str(code);
            rest = after;
            if !rest.is_empty() && !rest.starts_with('\n') && !out.ends_with('\n') {
                out.push('\n');
            }
            continue;
        }
        // Marks inside a line may run over its end, so that lines without a mark of their own are read together.
        let end = paragraph(rest, line_end);
        line(&rest[..end], &mut quoting, names, &mut out);
        rest = &rest[end..];
    }
    out
}

/// The code of a fence and what follows it; a first line that is one word alone is the language.
fn fenced(body: &str) -> Option<(&str, &str)> {
    let end = body.find("```")?;
    let (code, after) = (&body[..end], &body[end + 3..]);
    let code = match code.split_once('\n') {
        Some((first, rest))
            if !rest.trim().is_empty() && first.chars().all(|c| c.is_ascii_alphanumeric() || "+-_#.".contains(c)) =>
        {
            rest
        }
        _ => code,
    };
    Some((code.strip_suffix('\n').unwrap_or(code), after))
}

/// How far text goes on whose lines have no mark of their own.
fn paragraph(rest: &str, line_end: usize) -> usize {
    let mut end = line_end;
    while end < rest.len() {
        let next = rest[end..].find('\n').map_or(rest.len(), |at| end + at + 1);
        let line = &rest[end..next];
        if line.contains("```") || marked(line) || marked(&rest[..line_end]) {
            break;
        }
        end = next;
    }
    end
}

fn marked(line: &str) -> bool {
    let bare = line.trim_start();
    let number = bare.bytes().take_while(u8::is_ascii_digit).count();
    ["> ", ">>> ", "# ", "## ", "### ", "-# ", "- ", "* "].iter().any(|mark| bare.starts_with(mark))
        || (number > 0 && bare[number..].starts_with(". "))
        || bare.trim().is_empty()
}

/// One line or several, without the marks at its start.
fn line(text: &str, quoting: &mut bool, names: &dyn Names, out: &mut String) {
    let mut rest = text;
    if let Some(after) = rest.strip_prefix(">>> ") {
        *quoting = true;
        rest = after;
    }
    rest = rest.strip_prefix("> ").unwrap_or(rest);
    for mark in ["# ", "## ", "### ", "-# "] {
        if let Some(after) = rest.strip_prefix(mark) {
            rest = after;
            break;
        }
    }
    let indent = rest.len() - rest.trim_start_matches(' ').len();
    let bare = &rest[indent..];
    if let Some(item) = bare.strip_prefix("- ").or_else(|| bare.strip_prefix("* ")) {
        out.push_str(&rest[..indent]);
        out.push_str("• ");
        rest = item;
    }
    inline(rest, names, out);
}

/// Pairs of marks around text, the longer ones first.
const PAIRS: [&str; 7] = ["***", "**", "__", "~~", "||", "*", "_"];

fn inline(text: &str, names: &dyn Names, out: &mut String) {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = special(rest, first, names, out) {
            rest = after;
            continue;
        }
        let word = out.chars().next_back().is_some_and(char::is_alphanumeric);
        let pair = PAIRS.iter().find_map(|mark| {
            let body = rest.strip_prefix(mark)?;
            let end = closing(body, mark).filter(|_| !(*mark == "_" && word))?;
            Some((&body[..end], &body[end + mark.len()..]))
        });
        match pair {
            Some((inner, after)) => {
                inline(inner, names, out);
                rest = after;
            }
            None => {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
}

/// Where the mark that closes stands; escaped ones and those in code do not count.
fn closing(body: &str, mark: &str) -> Option<usize> {
    if body.starts_with(char::is_whitespace) && matches!(mark, "*" | "_") {
        return None;
    }
    let mut at = 0;
    while at < body.len() {
        let here = &body[at..];
        if let Some(after) = here.strip_prefix('\\') {
            at += 1 + after.chars().next().map_or(0, char::len_utf8);
        } else if here.starts_with('`') {
            at += code(here).map_or(1, |(_, after)| here.len() - after.len());
        } else if here.starts_with(mark) {
            // One star is not closed by the first of two.
            let run = here.bytes().take_while(|c| *c == mark.as_bytes()[0]).count();
            if run >= mark.len() && (mark.len() > 1 || run != 2) && at > 0 {
                let extra = if mark.len() == 1 || run <= mark.len() { 0 } else { run - mark.len() };
                return Some(at + extra);
            }
            at += run;
        } else {
            at += here.chars().next().map_or(1, char::len_utf8);
        }
    }
    None
}

/// Code in a line and what follows it.
fn code(text: &str) -> Option<(&str, &str)> {
    let ticks = text.bytes().take_while(|c| *c == b'`').count();
    let (fence, body) = text.split_at(ticks);
    let end = body.find(fence)?;
    Some((&body[..end], &body[end + ticks..])).filter(|(inner, _)| !inner.is_empty())
}

/// Escapes, code, links and mentions; gives what follows.
fn special<'a>(rest: &'a str, first: char, names: &dyn Names, out: &mut String) -> Option<&'a str> {
    match first {
        '\\' => {
            let next = rest[1..].chars().next().filter(char::is_ascii_punctuation)?;
            out.push(next);
            Some(&rest[2..])
        }
        '`' => {
            let (inner, after) = code(rest)?;
            out.push_str(
                inner
                    .strip_prefix(' ')
                    .and_then(|inner| inner.strip_suffix(' '))
                    .filter(|inner| inner.contains('`'))
                    .unwrap_or(inner),
            );
            Some(after)
        }
        '[' => {
            let (label, tail) = rest[1..].split_once("](")?;
            let (target, after) = tail.split_once(')')?;
            let target = target.trim_start_matches('<');
            if label.contains('\n') || !(target.starts_with("http://") || target.starts_with("https://")) {
                return None;
            }
            inline(label, names, out);
            Some(after)
        }
        '<' => {
            let (inner, after) = rest[1..].split_once('>')?;
            out.push_str(&angle(inner, names)?);
            Some(after)
        }
        _ => None,
    }
}

/// What stands for something in angle brackets.
fn angle(inner: &str, names: &dyn Names) -> Option<String> {
    let id = |text: &str| text.parse::<u64>().ok();
    if let Some(role) = inner.strip_prefix("@&") {
        return Some(format!("@{}", names.role(id(role)?).unwrap_or_else(|| "deleted-role".into())));
    }
    if let Some(user) = inner.strip_prefix('@') {
        let user = id(user.trim_start_matches('!'))?;
        return Some(format!("@{}", names.user(user).unwrap_or_else(|| "unknown-user".into())));
    }
    if let Some(channel) = inner.strip_prefix('#') {
        return Some(format!("#{}", names.channel(id(channel)?).unwrap_or_else(|| "unknown".into())));
    }
    if let Some(command) = inner.strip_prefix('/') {
        let (name, number) = command.rsplit_once(':')?;
        id(number)?;
        return Some(format!("/{name}"));
    }
    if let Some(moment) = inner.strip_prefix("t:") {
        let seconds: u64 = moment.split(':').next()?.parse().ok()?;
        return Some(super::ids::stamp(seconds.saturating_mul(1_000)).get(..16)?.replace('T', " "));
    }
    if inner.starts_with("http://") || inner.starts_with("https://") {
        return (!inner.contains(char::is_whitespace)).then(|| inner.to_owned());
    }
    let emoji = inner.strip_prefix("a:").or_else(|| inner.strip_prefix(':'))?;
    let (name, number) = emoji.split_once(':')?;
    id(number)?;
    Some(format!(":{name}:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Known;

    impl Names for Known {
        fn user(&self, id: u64) -> Option<String> {
            (id == 5).then(|| "ann".into())
        }
        fn role(&self, id: u64) -> Option<String> {
            (id == 6).then(|| "staff".into())
        }
        fn channel(&self, id: u64) -> Option<String> {
            (id == 7).then(|| "general".into())
        }
    }

    #[test]
    fn marks_are_taken_away_and_names_are_read() {
        for (written, read) in [
            ("**bold** *it* _it_ __under__ ~~gone~~ ||secret||", "bold it it under gone secret"),
            ("***both*** and **a *b* c**", "both and a b c"),
            ("*open **closed**", "*open closed"),
            ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"),
            (r"\*not\* \_this\_ \<@5>", "*not* _this_ <@5>"),
            ("<@5> <@!5> <@&6> <#7> <@9>", "@ann @ann @staff #general @unknown-user"),
            ("<:smile:123> <a:wave:124> </ask me:125>", ":smile: :wave: /ask me"),
            ("<t:0:R>", "1970-01-01 00:00"),
            ("[text](https://e.test/a) <https://e.test> [no](ftp://x)", "text https://e.test [no](ftp://x)"),
            ("`*code*` ``a`b`` `open", "*code* a`b `open"),
            ("# Title\n## Sub\n-# small\n> quoted\nend", "Title\nSub\nsmall\nquoted\nend"),
            ("- one\n  - two\n1. three", "• one\n  • two\n1. three"),
            ("```rust\nlet a = \"**\";\n```\nafter", "let a = \"**\";\nafter"),
            ("before ```one``` after", "before \none\n after"),
            ("```\nopen **a**", "```\nopen a"),
            ("**over\nlines**", "over\nlines"),
            ("", ""),
        ] {
            assert_eq!(plain(written, &Known), read, "{written}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "[*_~|`\\\\<>@#:a \\n\\[\\]()-]{0,60}") {
            plain(&text, &Known);
        }
    }
}
