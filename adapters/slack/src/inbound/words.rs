//! What a message says in words: Slack's marks resolved, its escapes undone.

use serde_json::Value;

use super::{Me, array, blocks, text};

/// A text as a person reads it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Words {
    pub text: String,
    /// Our name stood in it; it is left out.
    pub names_us: bool,
}

/// The words of a message: its text, else what its blocks and attachments show.
pub(crate) fn read(message: &Value, me: &Me) -> Words {
    let mut words = plain(text(message, "text").unwrap_or_default(), me);
    if words.text.trim().is_empty() {
        let mut shown = blocks::Shown::new(me);
        shown.blocks(array(message, "blocks"));
        array(message, "attachments").iter().for_each(|attachment| shown.attachment(attachment));
        let (text, names_us) = shown.finish();
        words = Words { text, names_us: words.names_us || names_us };
    }
    words
}

/// Text in Slack's own writing as a person reads it.
pub(crate) fn plain(written: &str, me: &Me) -> Words {
    let mut words = Words { text: String::with_capacity(written.len()), names_us: false };
    let mut rest = written;
    while let Some(at) = rest.find(['<', '&']) {
        words.text.push_str(&rest[..at]);
        rest = &rest[at..];
        rest = if rest.starts_with('&') { escape(rest, &mut words.text) } else { mark(rest, &mut words, me) };
    }
    words.text.push_str(rest);
    if words.names_us {
        words.text.truncate(words.text.trim_end().len());
    }
    words
}

/// One escape at the beginning; an ampersand that begins none stands for itself.
fn escape<'a>(text: &'a str, out: &mut String) -> &'a str {
    for (written, meant) in [("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>')] {
        if let Some(rest) = text.strip_prefix(written) {
            out.push(meant);
            return rest;
        }
    }
    out.push('&');
    &text[1..]
}

/// One mark at the beginning: a mention, a link, a date. What is none stands for itself.
fn mark<'a>(text: &'a str, words: &mut Words, me: &Me) -> &'a str {
    let end = text.find('>').filter(|end| !text[1..*end].contains(['<', '\n']));
    let Some(end) = end.filter(|end| is_mark(&text[1..*end])) else {
        words.text.push('<');
        return &text[1..];
    };
    let (inside, rest) = (&text[1..end], &text[end + 1..]);
    let (target, label) = inside.split_once('|').map_or((inside, None), |(target, label)| (target, Some(label)));
    if target.strip_prefix('@').is_some_and(|user| is_us(user, me)) {
        words.names_us = true;
        return after_name(&words.text, rest);
    }
    let label = label.map(unescaped).filter(|label| !label.is_empty());
    words.text.push_str(&shown(&unescaped(target), label.as_deref()));
    rest
}

/// A name's sign, or an address: the text of a slash command has its own brackets as they were typed.
fn is_mark(inside: &str) -> bool {
    let scheme = inside.split_once(':').map(|(scheme, _)| scheme);
    let is_address = scheme.is_some_and(|scheme| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    });
    inside.starts_with(['@', '#', '!']) || is_address
}

pub(super) fn is_us(user: &str, me: &Me) -> bool {
    !me.user.is_empty() && user == me.user
}

/// Where a text goes on behind our name: `@us, do it` loses the comma at its beginning, and one space elsewhere.
pub(super) fn after_name<'a>(before: &str, rest: &'a str) -> &'a str {
    if before.trim().is_empty() {
        rest.trim_start_matches(|c: char| c != '\n' && (c.is_whitespace() || matches!(c, ',' | ':')))
    } else if before.ends_with(char::is_whitespace) {
        rest.strip_prefix(' ').unwrap_or(rest)
    } else {
        rest
    }
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = escape(&rest[at..], &mut out);
    }
    out.push_str(rest);
    out
}

fn shown(target: &str, label: Option<&str>) -> String {
    let named = |sign: char, id: &str| {
        let name = label.unwrap_or(id);
        format!("{sign}{}", name.strip_prefix(sign).unwrap_or(name))
    };
    if let Some(user) = target.strip_prefix('@') {
        return named('@', user);
    }
    if let Some(channel) = target.strip_prefix('#') {
        return named('#', channel);
    }
    if let Some(special) = target.strip_prefix('!') {
        return match special.split_once('^') {
            Some(("subteam", group)) => named('@', group),
            Some(("date", _)) => label.unwrap_or_default().to_owned(),
            _ if matches!(special, "here" | "channel" | "everyone") => format!("@{special}"),
            _ => label.unwrap_or(special).to_owned(),
        };
    }
    link(target, label)
}

/// A link as it was typed: its words alone when the app made a link of them by itself.
pub(super) fn link(target: &str, label: Option<&str>) -> String {
    let bare = |address: &str| {
        let address =
            ["https://", "http://", "mailto:", "tel:"].iter().find_map(|s| address.strip_prefix(s)).unwrap_or(address);
        address.trim_end_matches('/').to_owned()
    };
    match label {
        None => target.strip_prefix("mailto:").unwrap_or(target).to_owned(),
        Some(label) if label == target => label.to_owned(),
        Some(label) if bare(label) == bare(target) => label.to_owned(),
        Some(label) => format!("{label} ({target})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_that_name_nothing_stand_for_themselves() {
        let read = |written: &str| plain(written, &Me::default()).text;
        assert_eq!(read("<img src=x onerror=y> and <b>"), "<img src=x onerror=y> and <b>");
        assert_eq!(read("a<b, c>d &lt;!channel&gt;"), "a<b, c>d <!channel>");
    }
}
