//! Entities that the platform finds by itself in plain text: mentions, commands, tags, links and addresses.

use super::text::{Entity, units};

/// Endings after which a bare name counts as a link; the platform knows all of them, these are the ones that chats meet.
const TOP_LEVELS: [&str; 16] =
    ["com", "org", "net", "io", "dev", "md", "rs", "py", "sh", "me", "ai", "app", "co", "de", "info", "ru"];

/// Finds what the platform would mark in a text that carries no marks.
pub fn find(text: &str) -> Vec<Entity> {
    let mut out = Vec::new();
    let (mut at, mut offset) = (0, 0);
    let mut before = None;
    while let Some(c) = text[at..].chars().next() {
        let found = at_place(&text[at..], before);
        let (taken, entity) = match found {
            Some((kind, length)) => (length, Some(Entity::new(kind, offset, units(&text[at..at + length])))),
            None => (c.len_utf8(), None),
        };
        let piece = &text[at..at + taken];
        before = piece.chars().next_back();
        offset += units(piece);
        at += taken;
        out.extend(entity);
    }
    out
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The kind and length in bytes of what begins at the start of `rest`, if anything does.
fn at_place(rest: &str, before: Option<char>) -> Option<(&'static str, usize)> {
    if before.is_some_and(is_word) {
        return None;
    }
    match rest.chars().next()? {
        '@' => mention(rest).map(|length| ("mention", length)),
        '/' if !before.is_some_and(|c| matches!(c, '/' | '<' | '>')) => {
            command(rest).map(|length| ("bot_command", length))
        }
        '#' => tag(rest).map(|length| ("hashtag", length)),
        '$' => cashtag(rest).map(|length| ("cashtag", length)),
        c if c.is_alphanumeric() => link(rest, before),
        _ => None,
    }
}

fn run(text: &str, fits: impl Fn(char) -> bool) -> usize {
    text.chars().take_while(|c| fits(*c)).map(char::len_utf8).sum()
}

fn name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn ends(rest: &str) -> bool {
    !rest.chars().next().is_some_and(is_word)
}

fn mention(rest: &str) -> Option<usize> {
    let length = run(&rest[1..], name);
    ((3..=32).contains(&length) && ends(&rest[1 + length..])).then_some(1 + length)
}

fn command(rest: &str) -> Option<usize> {
    let mut length = 1 + run(&rest[1..], name);
    if !(2..=65).contains(&length) {
        return None;
    }
    if rest[length..].starts_with('@') {
        length += mention(&rest[length..]).unwrap_or(0);
    }
    let next = rest[length..].chars().next();
    (!next.is_some_and(|c| is_word(c) || matches!(c, '/' | '<' | '>'))).then_some(length)
}

fn tag(rest: &str) -> Option<usize> {
    let length = run(&rest[1..], is_word);
    let body = &rest[1..1 + length];
    (length > 0
        && body.chars().count() <= 256
        && body.chars().any(|c| !c.is_ascii_digit())
        && !rest[1 + length..].starts_with('#'))
    .then_some(1 + length)
}

fn cashtag(rest: &str) -> Option<usize> {
    let length = run(&rest[1..], |c| c.is_ascii_uppercase());
    ((1..=8).contains(&length) && ends(&rest[1 + length..])).then_some(1 + length)
}

/// A link with a scheme, a bare host with a known ending, or an address of mail.
fn link(rest: &str, before: Option<char>) -> Option<(&'static str, usize)> {
    let scheme = ["https://", "http://", "tg://", "ftp://"].into_iter().find(|scheme| rest.starts_with(scheme));
    if let Some(scheme) = scheme {
        let length = url_end(&rest[scheme.len()..]);
        return (length > 0).then_some(("url", scheme.len() + length));
    }
    let local = run(rest, |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-'));
    if local > 0 && rest[local..].starts_with('@') {
        let host = host(&rest[local + 1..], false)?;
        return Some(("email", local + 1 + host));
    }
    if before.is_some_and(|c| matches!(c, '@' | '.' | '/' | '-' | '\\')) {
        return None;
    }
    let host = host(rest, true)?;
    let path = if rest[host..].starts_with(['/', '?', '#', ':']) { url_end(&rest[host..]) } else { 0 };
    Some(("url", host + path))
}

fn host(rest: &str, known: bool) -> Option<usize> {
    let length = run(rest, |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'));
    let length = rest[..length].trim_end_matches(['.', '-']).len();
    let (before, ending) = rest[..length].rsplit_once('.')?;
    let legal = !before.is_empty()
        && !before.contains("..")
        && ending.len() >= 2
        && ending.chars().all(|c| c.is_ascii_alphabetic());
    let listed = !known || TOP_LEVELS.contains(&ending.to_ascii_lowercase().as_str());
    (legal && listed && ends(&rest[length..])).then_some(length)
}

fn url_end(rest: &str) -> usize {
    let length = run(rest, |c| !c.is_whitespace() && !matches!(c, '<' | '>' | '"' | '`' | '«' | '»'));
    rest[..length].trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '\'']).len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, expected: Expect) {
        let found: Vec<String> =
            find(text).iter().map(|entity| format!("{}@{}+{}", entity.kind, entity.offset, entity.length)).collect();
        expected.assert_eq(&found.join(" "));
    }

    #[test]
    fn what_the_platform_marks_by_itself_is_found_with_utf16_offsets() {
        check("ask @someone", expect!["mention@4+8"]);
        check("😀 @someone!", expect!["mention@3+8"]);
        check("mail a@example.org", expect!["email@5+13"]);
        check("x@someone", expect![""]);
        check("@\u{2060}someone", expect![""]);
        check("/start now", expect!["bot_command@0+6"]);
        check("/start@toolgate_bot", expect!["bot_command@0+19"]);
        check("/path/like/this", expect![""]);
        check("see https://e.test/a?b=1&c=2.", expect!["url@4+24"]);
        check("README.md and e.com/x", expect!["url@0+9 url@14+7"]);
        check("#tag #12 $USD a#b", expect!["hashtag@0+4 cashtag@9+4"]);
        check("2.5 and v1.2.3", expect![""]);
    }
}
