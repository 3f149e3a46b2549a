//! Markdown blocks as a person reads them: standard Markdown, and the platform's own `<…>` references in it.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::text::{Names, Read, references};

/// Reads a Markdown block.
pub fn markdown(source: &str, names: Names<'_>) -> Read {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut reader = Reader { source, names, read: Read::default(), pending: 0..0, lists: Vec::new(), cell: 0 };
    for (event, range) in Parser::new_ext(source, options).into_offset_iter() {
        reader.event(event, range);
    }
    reader.flush();
    reader.read.text.truncate(reader.read.text.trim_end().len());
    reader.read
}

struct Reader<'a> {
    source: &'a str,
    names: Names<'a>,
    read: Read,
    /// Source text that may hold a reference; what was escaped is none.
    pending: Range<usize>,
    /// The next number of each open list; nothing for bullets.
    lists: Vec<Option<u64>>,
    cell: usize,
}

impl Reader<'_> {
    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        if let Event::Text(text) | Event::InlineHtml(text) | Event::Html(text) = &event
            && self.source.get(range.clone()) == Some(text)
            && self.source.as_bytes().get(range.start.wrapping_sub(1)) != Some(&b'\\')
        {
            if range.start != self.pending.end {
                self.flush();
                self.pending = range.start..range.start;
            }
            self.pending.end = range.end;
            return;
        }
        self.flush();
        match event {
            Event::Text(text) | Event::Code(text) | Event::InlineHtml(text) | Event::Html(text) => {
                self.read.text.push_str(&text)
            }
            Event::SoftBreak | Event::HardBreak => self.read.text.push('\n'),
            Event::Rule => self.block("———\n"),
            Event::TaskListMarker(done) => self.read.text.push_str(if done { "☑ " } else { "☐ " }),
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::List(number) => {
                if !self.lists.is_empty() && !self.read.text.ends_with('\n') {
                    self.read.text.push('\n');
                }
                self.lists.push(*number);
            }
            Tag::Item => {
                let indent = "  ".repeat(self.lists.len().saturating_sub(1));
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}.", *number - 1)
                    }
                    _ => "•".to_owned(),
                };
                self.read.text.push_str(&format!("{indent}{mark} "));
            }
            Tag::TableHead | Tag::TableRow => self.cell = 0,
            Tag::TableCell => {
                if self.cell > 0 {
                    self.read.text.push_str(" | ");
                }
                self.cell += 1;
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph
            | TagEnd::Heading(_)
            | TagEnd::CodeBlock
            | TagEnd::Item
            | TagEnd::TableHead
            | TagEnd::TableRow => self.block(""),
            TagEnd::List(_) => drop(self.lists.pop()),
            _ => {}
        }
    }

    /// Ends a line, unless it is ended already.
    fn block(&mut self, text: &str) {
        self.read.text.push_str(text);
        if !self.read.text.ends_with('\n') {
            self.read.text.push('\n');
        }
    }

    fn flush(&mut self) {
        let range = std::mem::replace(&mut self.pending, 0..0);
        if let Some(text) = self.source.get(range).filter(|text| !text.is_empty()) {
            references(text, self.names, &mut self.read);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_is_read_and_references_ping_unless_escaped() {
        let names = |id: &str| (id == "U1").then(|| "ann".to_owned());
        let read = |source: &str| {
            let read = markdown(source, &names);
            format!("{} {:?}", read.text, read.pings)
        };
        for (source, seen) in [
            ("# Title\n\n**bold** *it* ~~no~~ `co*de*`", "Title\nbold it no co*de* []"),
            ("- a\n- b\n  1. c\n  2. d\n\nend", "• a\n• b\n  1. c\n  2. d\nend []"),
            ("| a | b |\n|---|---|\n| 1 | 2 |", "a | b\n1 | 2 []"),
            ("[t](https://e.test) <https://e.test/x>", "t https://e.test/x []"),
            ("> quoted\n\n```rust\nlet a = b < c;\n```\n", "quoted\nlet a = b < c; []"),
            ("hi <@U1> and <!channel>", "hi @ann and @channel [\"U1\", \"channel\"]"),
            ("`<@U1>` \\<@U1> &lt;!here&gt;", "<@U1> <@U1> <!here> []"),
        ] {
            assert_eq!(read(source), seen, "{source}");
        }
    }
}
