//! What the marks of a text say about whom it concerns. Offsets count UTF-16 units and are not trusted.

use std::ops::Range;

use serde_json::Value;

use super::{Me, int, text};

/// The marks of a text that matter to us.
pub(super) struct Entities<'a> {
    text: &'a str,
    marks: Vec<Mark>,
}

struct Mark {
    range: Range<usize>,
    what: What,
}

#[derive(PartialEq)]
enum What {
    /// `@us`, or our name with a link to us.
    Us,
    /// `/name`, and the length of its `@us`.
    Command { suffix: usize },
    /// `/name@somebody_else`.
    AnothersCommand,
}

impl<'a> Entities<'a> {
    pub(super) fn new(text: &'a str, entities: &[Value], me: &Me) -> Self {
        let mut marks: Vec<Mark> = entities.iter().filter_map(|entity| mark(text, entity, me)).collect();
        marks.sort_by_key(|mark| mark.range.start);
        Self { text, marks }
    }

    pub(super) fn name_us(&self) -> bool {
        self.marks.iter().any(|mark| match mark.what {
            What::Us => true,
            What::Command { suffix } => suffix > 0,
            What::AnothersCommand => false,
        })
    }

    /// The text is a command that is not another bot's. A command within a sentence is talk about it.
    pub(super) fn command_us(&self) -> bool {
        self.first().is_some_and(|mark| matches!(mark.what, What::Command { .. }))
    }

    pub(super) fn commands_another(&self) -> bool {
        self.first().is_some_and(|mark| mark.what == What::AnothersCommand)
    }

    /// The mark that the text begins with, our own name aside.
    fn first(&self) -> Option<&Mark> {
        let mut from = 0;
        for mark in &self.marks {
            if !is_filler(self.text.get(from..mark.range.start).unwrap_or("?")) {
                return None;
            }
            if mark.what != What::Us {
                return Some(mark);
            }
            from = mark.range.end;
        }
        None
    }

    /// The text without what only says that we are meant.
    pub(super) fn without_us(&self) -> String {
        let mut out = String::with_capacity(self.text.len());
        let mut from = 0;
        for mark in &self.marks {
            if mark.range.start < from {
                continue;
            }
            match mark.what {
                What::Us => {
                    out.push_str(&self.text[from..mark.range.start]);
                    from = self.after_name(&out, mark.range.end);
                }
                What::Command { suffix } => {
                    out.push_str(&self.text[from..mark.range.end - suffix]);
                    from = mark.range.end;
                }
                What::AnothersCommand => {}
            }
        }
        out.push_str(&self.text[from..]);
        if from > 0 { out.trim_end().to_owned() } else { out }
    }

    /// Where the text goes on behind our name: `@us, do it` loses the comma at its beginning, and one space elsewhere.
    fn after_name(&self, before: &str, end: usize) -> usize {
        let rest = &self.text[end..];
        let kept = if before.trim().is_empty() {
            rest.trim_start_matches(|c: char| is_filler_char(c) && c != '\n')
        } else if before.ends_with(char::is_whitespace) {
            rest.strip_prefix(' ').unwrap_or(rest)
        } else {
            rest
        };
        self.text.len() - kept.len()
    }
}

fn is_filler(text: &str) -> bool {
    text.chars().all(is_filler_char)
}

fn is_filler_char(c: char) -> bool {
    c.is_whitespace() || matches!(c, ',' | ':')
}

fn mark(text: &str, entity: &Value, me: &Me) -> Option<Mark> {
    let range = range(text, int(entity, &["offset"])?, int(entity, &["length"])?)?;
    let marked = &text[range.clone()];
    let is_us = |name: &str| !me.username.is_empty() && name.eq_ignore_ascii_case(&me.username);
    let what = match self::text(entity, &["type"])? {
        "mention" if is_us(marked.strip_prefix('@')?) => What::Us,
        "text_mention" if int(entity, &["user", "id"]) == Some(me.id) => What::Us,
        "bot_command" => match marked.split_once('@') {
            Some((_, name)) if is_us(name) => What::Command { suffix: name.len() + 1 },
            Some(_) => What::AnothersCommand,
            None => What::Command { suffix: 0 },
        },
        _ => return None,
    };
    Some(Mark { range, what })
}

/// The bytes of a stretch given in UTF-16 units, if it lies on characters within the text.
fn range(text: &str, offset: i64, length: i64) -> Option<Range<usize>> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(length).ok()?)?;
    let at = |units: usize| {
        let mut seen = 0;
        for (byte, c) in text.char_indices() {
            if seen >= units {
                return (seen == units).then_some(byte);
            }
            seen += c.len_utf16();
        }
        (seen == units).then_some(text.len())
    };
    let range = at(start)?..at(end)?;
    (!range.is_empty()).then_some(range)
}
