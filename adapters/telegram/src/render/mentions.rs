//! Keeps a reply from pinging anybody: Telegram makes a mention of every `@name` in plain text.

/// Invisible, forbids a line break, and ends what Telegram takes for a name.
pub(crate) const JOINER: char = '\u{2060}';

/// How far back the beginning of a link is looked for.
const LINK_REACH: usize = 200;

/// Puts a joiner after each `@` that would ping; paths of links stay as they are.
pub(crate) fn disarm(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 32);
    let mut from = 0;
    for (at, _) in text.match_indices('@').filter(|(at, _)| pings(text, *at)) {
        out.push_str(&text[from..=at]);
        out.push(JOINER);
        from = at + 1;
    }
    out.push_str(&text[from..]);
    out
}

/// Whether the `@` at `at` begins a name that is pinged.
pub(crate) fn pings(text: &str, at: usize) -> bool {
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
