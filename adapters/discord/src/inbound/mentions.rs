//! Who is named in a message, and its text as a person reads it.

use serde_json::Value;

use super::{Context, text, words::list};

/// Whether the platform says that the message names us, or the role that is ours alone.
pub(super) fn name_us(message: &Value, cx: &Context<'_>) -> bool {
    let roles = || message["mention_roles"].as_array().into_iter().flatten().filter_map(Value::as_str);
    list(message, "mentions").any(|user| text(user, "id") == Some(cx.me))
        || cx.our_role.is_some_and(|ours| roles().any(|role| role == ours))
}

/// The text without our name at its ends; other people are called by their names.
pub(super) fn readable(whole: &str, message: &Value, cx: &Context<'_>) -> String {
    let whole = without_us(whole, cx);
    let mut out = String::with_capacity(whole.len());
    let mut rest = whole;
    while let Some(at) = rest.find(['<', '`']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (len, shown) = match rest.starts_with('`') {
            true => (code_len(rest), None),
            false => match Mention::at(rest) {
                Some((mention, len)) => (len, name(mention, message)),
                None => (1, None),
            },
        };
        match shown {
            Some(name) => out.push_str(&name),
            None => out.push_str(&rest[..len]),
        }
        rest = &rest[len..];
    }
    out.push_str(rest);
    out
}

#[derive(Clone, Copy, PartialEq)]
enum Mention<'a> {
    User(&'a str),
    Role(&'a str),
}

impl<'a> Mention<'a> {
    /// The mention that the text begins with, and its length.
    fn at(text: &'a str) -> Option<(Self, usize)> {
        let inner = text.strip_prefix("<@")?;
        let (is_role, inner) = match inner.strip_prefix('&') {
            Some(inner) => (true, inner),
            None => (false, inner.strip_prefix('!').unwrap_or(inner)),
        };
        let end = inner.find(|c: char| !c.is_ascii_digit())?;
        let id = &inner[..end];
        if id.is_empty() || !inner[end..].starts_with('>') {
            return None;
        }
        let len = text.len() - inner.len() + end + 1;
        Some((if is_role { Self::Role(id) } else { Self::User(id) }, len))
    }

    fn is_us(self, cx: &Context<'_>) -> bool {
        match self {
            Self::User(id) => id == cx.me,
            Self::Role(id) => cx.our_role == Some(id),
        }
    }
}

/// Our name at the beginning, with what may follow a name, and at the end.
fn without_us<'a>(whole: &'a str, cx: &Context<'_>) -> &'a str {
    let mut rest = whole.trim();
    while let Some((_, len)) = Mention::at(rest).filter(|(mention, _)| mention.is_us(cx)) {
        rest = rest[len..].trim_start_matches([',', ':']).trim_start();
    }
    while let Some(at) = rest.rfind("<@").filter(|_| rest.ends_with('>')) {
        match Mention::at(&rest[at..]) {
            Some((mention, len)) if mention.is_us(cx) && at + len == rest.len() => rest = rest[..at].trim_end(),
            _ => break,
        }
    }
    rest
}

/// A name as people see it; nothing when the message does not tell it.
fn name(mention: Mention<'_>, message: &Value) -> Option<String> {
    let Mention::User(id) = mention else { return None };
    let user = list(message, "mentions").find(|user| text(user, "id") == Some(id))?;
    super::person(user, &user["member"]).map(|person| format!("@{}", person.name))
}

/// How long the code is that the text begins with: to the next run of as many backticks, or the run alone.
fn code_len(text: &str) -> usize {
    let run = text.len() - text.trim_start_matches('`').len();
    let mut at = run;
    while let Some(found) = text[at..].find('`') {
        let begin = at + found;
        let len = text[begin..].len() - text[begin..].trim_start_matches('`').len();
        at = begin + len;
        if len == run {
            return at;
        }
    }
    run
}
