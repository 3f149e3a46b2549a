//! Text as a person reads it: mrkdwn with its marks taken off, `<…>` resolved, and whom it notifies.

/// The names that ids are shown by.
pub type Names<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What is read, and who is notified by it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Read {
    pub text: String,
    pub pings: Vec<String>,
}

/// Undoes the three escapes.
pub fn unescape(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Reads mrkdwn; without `marks`, only `<…>` and escapes mean something.
pub fn mrkdwn(source: &str, marks: bool, names: Names<'_>) -> Read {
    let mut read = Read::default();
    let mut rest = source;
    while marks && let Some((before, after)) = rest.split_once("```") {
        let Some((code, after)) = after.split_once("```") else { break };
        lines(before, true, names, &mut read);
        let code = code.strip_prefix('\n').unwrap_or(code);
        let code = code.strip_suffix('\n').unwrap_or(code);
        if !read.text.is_empty() && !read.text.ends_with('\n') {
            read.text.push('\n');
        }
        angles(code, names, &mut read);
        rest = after;
        if !rest.is_empty() && !rest.starts_with('\n') {
            read.text.push('\n');
        }
    }
    lines(rest, marks, names, &mut read);
    read
}

fn lines(source: &str, marks: bool, names: Names<'_>, read: &mut Read) {
    for (number, line) in source.split('\n').enumerate() {
        if number > 0 {
            read.text.push('\n');
        }
        if !marks {
            angles(line, names, read);
            continue;
        }
        let quoted = line.strip_prefix("&gt;").or_else(|| line.strip_prefix('>'));
        let line = quoted.map_or(line, |line| line.strip_prefix(' ').unwrap_or(line));
        for (piece, code) in spans(line) {
            let piece = if code { piece.to_owned() } else { unmarked(piece) };
            angles(&piece, names, read);
        }
    }
}

/// A line in turns of text and inline code.
fn spans(line: &str) -> Vec<(&str, bool)> {
    let (mut out, mut rest) = (Vec::new(), line);
    while let Some((before, after)) = rest.split_once('`') {
        let Some((code, after)) = after.split_once('`').filter(|(code, _)| !code.is_empty()) else { break };
        out.push((before, false));
        out.push((code, true));
        rest = after;
    }
    out.push((rest, false));
    out
}

/// Takes the marks of bold, italic and struck text off where they are marks; what stands between `<` and `>` is left alone.
fn unmarked(piece: &str) -> String {
    let chars: Vec<char> = piece.chars().collect();
    let mut gone = vec![false; chars.len()];
    let mut angle = vec![false; chars.len()];
    let mut inside = false;
    for (at, c) in chars.iter().enumerate() {
        inside |= *c == '<';
        angle[at] = inside;
        inside &= *c != '>';
    }
    for mark in ['*', '_', '~'] {
        let mut open: Option<usize> = None;
        for at in 0..chars.len() {
            if chars[at] != mark || angle[at] {
                continue;
            }
            let before = at.checked_sub(1).map(|at| chars[at]);
            let after = chars.get(at + 1).copied();
            let closes = open.is_some_and(|from| at > from + 1)
                && before.is_some_and(|c| !c.is_whitespace())
                && after.is_none_or(|c| !c.is_alphanumeric());
            let opens = after.is_some_and(|c| !c.is_whitespace() && c != mark)
                && before.is_none_or(|c| !c.is_alphanumeric() && c != mark);
            match open {
                Some(from) if closes => {
                    (gone[from], gone[at]) = (true, true);
                    open = None;
                }
                _ if opens => open = Some(at),
                _ => {}
            }
        }
    }
    chars.iter().zip(gone).filter(|(_, gone)| !gone).map(|(c, _)| *c).collect()
}

/// Resolves references in a text that is not escaped.
pub fn references(piece: &str, names: Names<'_>, read: &mut Read) {
    let mut rest = piece;
    while let Some((before, after)) = rest.split_once('<') {
        read.text.push_str(before);
        match after.split_once('>').filter(|(inner, _)| inner.starts_with(['@', '#', '!']) && inner.len() > 1) {
            Some((inner, after)) => {
                reference(inner, names, read);
                rest = after;
            }
            None => {
                read.text.push('<');
                rest = after;
            }
        }
    }
    read.text.push_str(rest);
}

/// Resolves what stands between `<` and `>`.
fn angles(piece: &str, names: Names<'_>, read: &mut Read) {
    let mut rest = piece;
    while let Some((before, after)) = rest.split_once('<') {
        read.text.push_str(&unescape(before));
        let Some((inner, after)) = after.split_once('>').filter(|(inner, _)| !inner.is_empty()) else {
            read.text.push('<');
            rest = after;
            continue;
        };
        reference(inner, names, read);
        rest = after;
    }
    read.text.push_str(&unescape(rest));
}

fn reference(inner: &str, names: Names<'_>, read: &mut Read) {
    let (target, label) = inner
        .split_once('|')
        .map_or((inner, None), |(target, label)| (target, Some(label).filter(|label| !label.is_empty())));
    let named = |id: &str| names(id).or(label.map(unescape)).unwrap_or_else(|| id.to_owned());
    match target.split_at_checked(1) {
        Some(("@", id)) => {
            read.pings.push(id.to_owned());
            read.text.push_str(&format!("@{}", named(id)));
        }
        Some(("#", id)) => read.text.push_str(&format!("#{}", named(id))),
        Some(("!", word)) => special(word, label, read),
        _ => read
            .text
            .push_str(&label.map_or_else(|| unescape(target.strip_prefix("mailto:").unwrap_or(target)), unescape)),
    }
}

fn special(word: &str, label: Option<&str>, read: &mut Read) {
    let (kind, rest) = word.split_once('^').unwrap_or((word, ""));
    match kind {
        "channel" | "here" | "everyone" | "group" => {
            read.pings.push(kind.to_owned());
            read.text.push_str(&format!("@{kind}"));
        }
        "subteam" => {
            read.pings.push(rest.to_owned());
            let label = label.map_or_else(|| rest.to_owned(), unescape);
            read.text.push_str(&format!("@{}", label.trim_start_matches('@')));
        }
        _ => read.text.push_str(&label.map_or_else(|| word.to_owned(), unescape)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &str) -> String {
        let names = |id: &str| match id {
            "U1" => Some("ann".to_owned()),
            "C1" => Some("general".to_owned()),
            _ => None,
        };
        let read = mrkdwn(source, true, &names);
        format!("{} {:?}", read.text, read.pings)
    }

    #[test]
    fn marks_go_and_references_are_resolved() {
        for (source, seen) in [
            ("*bold* _it_ ~gone~ `a*b*`", "bold it gone a*b* []"),
            ("a*b*c 2 * 3 * 4 snake_case_name", "a*b*c 2 * 3 * 4 snake_case_name []"),
            ("*_both_*, (*x*)", "both, (x) []"),
            ("<https://e.test/a_b_c|here> <https://e.test/_x_>", "here https://e.test/_x_ []"),
            ("<@U1> in <#C1|old> of <@U9|who>", "@ann in #general of @who [\"U1\", \"U9\"]"),
            (
                "<!here> <!channel> <!subteam^S1|@team> <!date^1^{date}|then>",
                "@here @channel @team then [\"here\", \"channel\", \"S1\"]",
            ),
            ("a &lt;b&gt; &amp;amp; 1 < 2", "a <b> &amp; 1 < 2 []"),
            ("&gt; said\n>more\nnot", "said\nmore\nnot []"),
            ("a\n```\nlet *x* = 1;\n```\nb", "a\nlet *x* = 1;\nb []"),
            ("one ``` open", "one ``` open []"),
        ] {
            assert_eq!(read(source), seen, "{source}");
        }
    }
}
