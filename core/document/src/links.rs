//! Which addresses lead to a page, and where one stands in a text.

use std::ops::Range;

/// Longer addresses are text: platforms cut or refuse them.
pub const LONGEST: usize = 1_000;

/// Whether every platform makes a link of it that leads to a page.
pub fn is_web(target: &str) -> bool {
    let Some((scheme, rest)) = target.split_once("://") else { return false };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // In mixed letters it is no link to some clients.
    let is_web = matches!(scheme, "http" | "https" | "HTTP" | "HTTPS");
    let is_host = (host.contains('.') || host.starts_with("localhost")) && !host.starts_with('.');
    let is_plain = !target.chars().any(|c| c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | '"' | '\\'));
    is_web && is_host && is_plain && target.len() <= LONGEST
}

/// The next address that stands in a text as it is, at or behind `from`.
pub fn next_bare(text: &str, from: usize) -> Option<Range<usize>> {
    let mut from = from;
    loop {
        let colon = from + text[from..].find("://")?;
        if let Some(start) = scheme(&text[..colon]).filter(|start| *start >= from) {
            let end = start + length(&text[start..]);
            if is_web(&text[start..end]) && is_named(&text[colon + 3..end]) {
                return Some(start..end);
            }
        }
        from = colon + 3;
    }
}

/// Where `http` or `https` begins, when `before` ends in one that is a word of its own.
fn scheme(before: &str) -> Option<usize> {
    let start = [5, 4].iter().filter_map(|length| before.len().checked_sub(*length)).find(|start| {
        before.get(*start..).is_some_and(|s| s.eq_ignore_ascii_case("https") || s.eq_ignore_ascii_case("http"))
    })?;
    let joined = before[..start].chars().next_back().is_some_and(|c| c.is_ascii_alphanumeric());
    (!joined).then_some(start)
}

/// Whether it begins with the name of a host, without a user before it.
fn is_named(rest: &str) -> bool {
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':') || b >= 0x80)
}

/// How long the address is that `text` begins with: without what closes the sentence around it.
fn length(text: &str) -> usize {
    let is_end = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | '"' | '\\' | '`' | '|' | '^');
    let mut end = text.find(is_end).unwrap_or(text.len());
    // Looked for once: a text may be nothing but brackets.
    let opens = text[..end].find('(');
    while let Some(last) = text[..end].chars().next_back() {
        let is_closing = match last {
            '.' | ',' | ':' | ';' | '!' | '?' | '\'' | '*' | '_' | '~' | ']' | '}' | '…' | '。' | '，' | '）'
            | '、' => true,
            ')' => opens.is_none_or(|at| at >= end),
            _ => false,
        };
        if !is_closing {
            break;
        }
        end -= last.len_utf8();
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_ends_where_the_sentence_goes_on() {
        for (text, found) in [
            ("see https://e.test/a_b, and", Some("https://e.test/a_b")),
            ("(https://e.test/x)", Some("https://e.test/x")),
            ("https://e.test/x_(y)", Some("https://e.test/x_(y)")),
            ("HTTP://E.test.", Some("HTTP://E.test")),
            ("http://localhost:8080/a?b=1#c", Some("http://localhost:8080/a?b=1#c")),
            ("ftp://e.test xhttp://e.test https://@gus https:// http://a", None),
            ("ftp://a.b https://m.test/@fay!", Some("https://m.test/@fay")),
        ] {
            assert_eq!(next_bare(text, 0).map(|range| &text[range]), found, "{text}");
        }
    }
}
