//! A reply without any marks.

use contract::{Content, Locale, Notice, Reply};

/// A reply as plain text: for pull addresses, summaries and sessions.
pub fn plain(reply: &Reply) -> String {
    let parts: Vec<_> = reply.content.iter().map(|content| plain_content(content, reply.locale)).collect();
    parts.join("\n\n")
}

fn plain_content(content: &Content, locale: Locale) -> String {
    match content {
        Content::Text(markdown) => unmarked(markdown),
        Content::Plain(text) | Content::Code { text, .. } => text.clone(),
        Content::Notice(notice) => plain_notice(notice, locale),
        Content::File(file) => words::named_file(&file.name, locale),
        Content::Attachment { name, .. } => words::named_file(name, locale),
    }
}

fn plain_notice(notice: &Notice, locale: Locale) -> String {
    let shown = words::notice(notice, locale);
    let mut text = format!("{} {}", shown.mark, words::headed(&shown.heading, &shown.say, locale));
    for line in shown.details {
        text.push_str("\n  ");
        text.push_str(&line);
    }
    text.push_str(&format!("\n→ {}", shown.hint));
    text
}

/// CommonMark that we wrote ourselves, without its marks: escapes and emphasis of fields and titles, the ticks of
/// code. What stands in a code block is shown as it is.
fn unmarked(markdown: &str) -> String {
    let mut lines = Vec::new();
    let mut fence = None;
    for line in markdown.split('\n') {
        let ticks = line.trim_start().chars().take_while(|c| *c == '`').count();
        match fence {
            Some(open) if ticks >= open && line.trim().len() == ticks => fence = None,
            Some(_) => lines.push(line.to_owned()),
            None if ticks >= 3 && !line.trim_start()[ticks..].contains('`') => fence = Some(ticks),
            None => lines.push(unmarked_line(line)),
        }
    }
    lines.join("\n")
}

fn unmarked_line(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(['\\', '*', '`']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let taken = match code_span(rest) {
            Some((code, taken)) => {
                out.push_str(code);
                taken
            }
            None if rest.starts_with('\\') => {
                let escaped = rest[1..].chars().next();
                out.extend(escaped);
                1 + escaped.map_or(0, char::len_utf8)
            }
            None if rest.starts_with("**") => 2,
            None => {
                let run = rest.len() - rest.trim_start_matches('`').len();
                let kept = run.max(1);
                out.push_str(&rest[..kept]);
                kept
            }
        };
        rest = &rest[taken..];
    }
    out + rest
}

/// The code that a text begins with, and how long it is with its ticks; as many close it as opened it.
fn code_span(text: &str) -> Option<(&str, usize)> {
    let open = text.len() - text.trim_start_matches('`').len();
    if open == 0 {
        return None;
    }
    let mut at = open;
    loop {
        at += text[at..].find('`')?;
        let run = text.len() - at - text[at..].trim_start_matches('`').len();
        if run == open {
            let code = &text[open..at];
            let padded = code.strip_prefix(' ').and_then(|code| code.strip_suffix(' '));
            return Some((padded.filter(|code| !code.trim().is_empty()).unwrap_or(code), at + run));
        }
        at += run;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_of_our_own_documents_has_no_marks() {
        assert_eq!(unmarked("- **city**: a\\_b"), "- city: a_b");
        assert_eq!(unmarked("**1.** `sleep` — 3 \\* 2\n- `/echo n **`"), "1. sleep — 3 * 2\n- /echo n **");
        assert_eq!(unmarked("`` a`b `` and ` ` and a lone ` or ``"), "a`b and   and a lone ` or ``");
        assert_eq!(unmarked("so:\n```json\n{\"a\": \"**`x`\\\\n\"}\n```\ndone"), "so:\n{\"a\": \"**`x`\\\\n\"}\ndone");
        assert_eq!(unmarked("é\\`\\"), "é`");
    }
}
