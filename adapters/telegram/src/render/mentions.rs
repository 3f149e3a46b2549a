//! Keeps a reply from pinging anybody: Telegram makes a mention of every `@name` in plain text.

use super::doc::Doc;

/// Invisible, forbids a line break, and ends what Telegram takes for a name.
const JOINER: char = '\u{2060}';

/// How far back the beginning of a link is looked for.
const LINK_REACH: usize = 200;

/// Puts a joiner after each `@` that would ping; code and paths of links stay as they are.
pub(crate) fn disarm(doc: &mut Doc) {
    let places = armed(doc);
    if places.is_empty() {
        return;
    }
    let mut text = String::with_capacity(doc.text.len() + places.len() * JOINER.len_utf8());
    let mut from = 0;
    for at in &places {
        text.push_str(&doc.text[from..*at]);
        text.push(JOINER);
        from = *at;
    }
    text.push_str(&doc.text[from..]);
    doc.text = text;
    let shift = |offset: usize| offset + places.partition_point(|at| *at < offset) * JOINER.len_utf8();
    for span in &mut doc.spans {
        (span.start, span.end) = (shift(span.start), shift(span.end));
    }
    for offset in &mut doc.breaks {
        *offset = shift(*offset);
    }
}

/// The offsets behind each `@` that would ping.
fn armed(doc: &Doc) -> Vec<usize> {
    let mut code = doc.spans.iter().filter(|span| span.style.is_code()).peekable();
    let mut places = Vec::new();
    for (at, _) in doc.text.match_indices('@') {
        while code.next_if(|span| span.end <= at).is_some() {}
        let is_code = code.peek().is_some_and(|span| span.start <= at);
        if !is_code && pings(&doc.text, at) {
            places.push(at + 1);
        }
    }
    places
}

fn pings(text: &str, at: usize) -> bool {
    let names = text[at + 1..].bytes().next().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_');
    let joined = text[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_');
    names && !joined && !is_in_link(&text[..at])
}

/// Whether `before` ends within the path of a link, where a joiner would break the link and nobody is pinged.
fn is_in_link(before: &str) -> bool {
    let near = before.char_indices().rev().take(LINK_REACH);
    let token = near.take_while(|(_, c)| !c.is_whitespace()).last().map_or("", |(at, _)| &before[at..]);
    let Some(rest) =
        token.split_once("://").filter(|(scheme, _)| scheme.ends_with("http") || scheme.ends_with("https"))
    else {
        return false;
    };
    let Some((host, path)) = rest.1.split_once('/') else { return false };
    let is_host = host.contains('.') && host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-:".contains(&b));
    is_host && path.bytes().all(|b| b.is_ascii_alphanumeric() || b"/_.-~%@".contains(&b))
}
