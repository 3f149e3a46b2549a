//! The platform's MarkdownV2, read as strictly as its HTML.

use super::html::link;
use super::text::{Entity, Formatted};

const RESERVED: &str = "_*[]()~`>#+-=|{}.!";

/// Reads a text in the dialect; an error is the platform's sentence after "can't parse entities: ".
pub fn parse(input: &str) -> Result<Formatted, String> {
    Parser { input, at: 0, text: String::new(), offset: 0, open: Vec::new(), entities: Vec::new() }.run()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Bold,
    Italic,
    Underline,
    Strikethrough,
    Spoiler,
    Code,
    Pre,
    TextUrl,
    CustomEmoji,
    BlockQuote,
}

struct Open {
    mark: Mark,
    argument: String,
    offset: usize,
    start: usize,
    byte: usize,
}

struct Parser<'a> {
    input: &'a str,
    at: usize,
    text: String,
    offset: usize,
    open: Vec<Open>,
    entities: Vec<Entity>,
}

impl Parser<'_> {
    fn run(mut self) -> Result<Formatted, String> {
        while let Some(c) = self.rest().chars().next() {
            if let Some(escaped) = escape(self.rest()) {
                self.at += 2;
                self.push(escaped);
            } else if self.quote_ends(c) {
                self.end_quote()?;
                self.literal(c);
            } else if self.ends() {
                self.end()?;
            } else if self.is_plain(c) {
                self.literal(c);
            } else {
                self.begin(c)?;
            }
        }
        if self.open.iter().any(|open| open.mark == Mark::BlockQuote) {
            self.end_quote()?;
        }
        if let Some(open) = self.open.last() {
            return Err(format!("Can't find end of {:?} entity at byte offset {}", open.mark, open.byte));
        }
        self.entities.sort_by(|a, b| a.offset.cmp(&b.offset).then(b.length.cmp(&a.length)));
        Ok(Formatted { text: self.text, entities: self.entities })
    }

    fn rest(&self) -> &str {
        &self.input[self.at..]
    }

    fn top(&self) -> Option<Mark> {
        self.open.last().map(|open| open.mark)
    }

    fn push(&mut self, c: char) {
        self.offset += c.len_utf16();
        self.text.push(c);
    }

    fn literal(&mut self, c: char) {
        self.at += c.len_utf8();
        self.push(c);
        // Further lines of a quotation repeat its mark, which is not shown.
        if c == '\n' && self.rest().starts_with('>') && self.open.iter().any(|open| open.mark == Mark::BlockQuote) {
            self.at += 1;
        }
    }

    fn is_plain(&self, c: char) -> bool {
        match self.top() {
            Some(Mark::Code | Mark::Pre) => c != '`',
            _ => !RESERVED.contains(c),
        }
    }

    fn ends(&self) -> bool {
        let rest = self.rest();
        match self.top() {
            None | Some(Mark::BlockQuote) => false,
            Some(Mark::Bold) => rest.starts_with('*'),
            Some(Mark::Italic) => rest.starts_with('_') && !rest.starts_with("__"),
            Some(Mark::Underline) => rest.starts_with("__"),
            Some(Mark::Strikethrough) => rest.starts_with('~'),
            Some(Mark::Spoiler) => rest.starts_with("||"),
            Some(Mark::Code) => rest.starts_with('`'),
            Some(Mark::Pre) => rest.starts_with("```"),
            Some(Mark::TextUrl | Mark::CustomEmoji) => rest.starts_with(']'),
        }
    }

    fn quote_ends(&self, c: char) -> bool {
        c == '\n' && !self.rest().starts_with("\n>") && self.open.iter().any(|open| open.mark == Mark::BlockQuote)
    }

    /// Ends a quotation; two bars at its very end, which look like a spoiler that begins, make it expandable.
    fn end_quote(&mut self) -> Result<(), String> {
        let empty = self.open.last().is_some_and(|open| open.mark == Mark::Spoiler && open.offset == self.offset);
        if empty {
            self.open.pop();
        }
        match self.open.pop() {
            Some(open) if open.mark == Mark::BlockQuote => {
                let kind = if empty { "expandable_blockquote" } else { "blockquote" };
                self.add(Entity::new(kind, open.offset, self.offset - open.offset));
                Ok(())
            }
            Some(open) => Err(format!("Can't find end of {:?} entity at byte offset {}", open.mark, open.byte)),
            None => Ok(()),
        }
    }

    fn begin(&mut self, c: char) -> Result<(), String> {
        let (byte, rest) = (self.at, self.rest());
        let line_start = self.text.is_empty() || self.text.ends_with('\n');
        let (mark, length) = match c {
            '_' if rest.starts_with("__") => (Mark::Underline, 2),
            '_' => (Mark::Italic, 1),
            '*' => (Mark::Bold, 1),
            '~' => (Mark::Strikethrough, 1),
            '|' if rest.starts_with("||") => (Mark::Spoiler, 2),
            '[' => (Mark::TextUrl, 1),
            '!' if rest.starts_with("![") => (Mark::CustomEmoji, 2),
            '`' if rest.starts_with("```") => (Mark::Pre, 3),
            '`' => (Mark::Code, 1),
            '>' if line_start => (Mark::BlockQuote, 1),
            _ => return Err(format!("Character '{c}' is reserved and must be escaped with the preceding '\\'")),
        };
        self.at += length;
        let argument = if mark == Mark::Pre { self.language() } else { String::new() };
        self.open.push(Open { mark, argument, offset: self.offset, start: self.text.len(), byte });
        Ok(())
    }

    /// The word after three backticks, when more follows it, and the line break behind.
    fn language(&mut self) -> String {
        let rest = self.rest();
        let length = rest.find(|c: char| c.is_ascii_whitespace() || c == '`').unwrap_or(0);
        let word = if rest[length..].starts_with('`') { "" } else { &rest[..length] };
        let word = word.to_owned();
        self.at += word.len();
        if self.rest().starts_with('\n') {
            self.at += 1;
        }
        word
    }

    fn end(&mut self) -> Result<(), String> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        self.at += match open.mark {
            Mark::Underline | Mark::Spoiler => 2,
            Mark::Pre => 3,
            _ => 1,
        };
        let entity = |kind| Entity::new(kind, open.offset, self.offset - open.offset);
        let made = match open.mark {
            Mark::Bold => entity("bold"),
            Mark::Italic => entity("italic"),
            Mark::Underline => entity("underline"),
            Mark::Strikethrough => entity("strikethrough"),
            Mark::Spoiler => entity("spoiler"),
            Mark::Code => entity("code"),
            Mark::BlockQuote => entity("blockquote"),
            Mark::Pre if open.argument.is_empty() => entity("pre"),
            Mark::Pre => entity("pre").with(open.argument),
            Mark::TextUrl | Mark::CustomEmoji => {
                let base = entity("text_link");
                let target = self.target()?.unwrap_or_else(|| self.text[open.start..].to_owned());
                match (open.mark, target.strip_prefix("tg://emoji?id="), link(&target)) {
                    (Mark::CustomEmoji, Some(id), _) => Entity { kind: "custom_emoji", ..base.with(id) },
                    (Mark::CustomEmoji, None, _) => return Err("Custom emoji URL must have an emoji identifier".into()),
                    (_, _, Some((kind, argument))) => Entity { kind, ..base.with(argument) },
                    (_, _, None) => return Ok(()),
                }
            }
        };
        self.add(made);
        Ok(())
    }

    fn add(&mut self, entity: Entity) {
        if entity.length > 0 {
            self.entities.push(entity);
        }
    }

    /// The address in parentheses, if one follows.
    fn target(&mut self) -> Result<Option<String>, String> {
        if !self.rest().starts_with('(') {
            return Ok(None);
        }
        self.at += 1;
        let begin = self.at;
        let mut url = String::new();
        while let Some(c) = self.rest().chars().next() {
            if let Some(escaped) = escape(self.rest()) {
                self.at += 2;
                url.push(escaped);
                continue;
            }
            self.at += c.len_utf8();
            if c == ')' {
                return Ok(Some(url));
            }
            url.push(c);
        }
        Err(format!("Can't find end of a URL at byte offset {begin}"))
    }
}

/// The character behind a backslash; those outside ASCII need none and keep it.
fn escape(rest: &str) -> Option<char> {
    rest.strip_prefix('\\')?.chars().next().filter(|c| (1..=126).contains(&u32::from(*c)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn check(input: &str, expected: Expect) {
        let shown = match parse(input) {
            Ok(done) => {
                let mark = |e: &Entity| {
                    let argument = e.argument.as_ref().map(|argument| format!("={argument}")).unwrap_or_default();
                    format!(" {}@{}+{}{argument}", e.kind, e.offset, e.length)
                };
                format!("{:?}{}", done.text, done.entities.iter().map(mark).collect::<String>())
            }
            Err(problem) => format!("ERROR {problem}"),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn marks_become_entities() {
        check(
            "*b* _i_ __u__ ~s~ ||p||",
            expect![[r#""b i u s p" bold@0+1 italic@2+1 underline@4+1 strikethrough@6+1 spoiler@8+1"#]],
        );
        check("*b _i_*", expect![[r#""b i" bold@0+3 italic@2+1"#]]);
        check("`a_b*` ```rust\nfn``` ```x```", expect![[r#""a_b* fn x" code@0+4 pre@5+2=rust pre@8+1"#]]);
        check(
            r"[t](https://e.test/a\)b) [Ann](tg://user?id=42)",
            expect![[r#""t Ann" text_link@0+1=https://e.test/a)b text_mention@2+3=42"#]],
        );
        check("![👍](tg://emoji?id=5)", expect![[r#""👍" custom_emoji@0+2=5"#]]);
        check(">a\n>b\nc", expect![[r#""a\nb\nc" blockquote@0+3"#]]);
        check(">a\n>b||", expect![[r#""a\nb" expandable_blockquote@0+3"#]]);
        check(r"1\.5 \\ é\é", expect![[r#""1.5 \\ é\\é""#]]);
    }

    #[test]
    fn what_is_not_the_dialect_is_refused_in_the_platforms_words() {
        check("1.5", expect![[r#"ERROR Character '.' is reserved and must be escaped with the preceding '\'"#]]);
        check("a *b", expect!["ERROR Can't find end of Bold entity at byte offset 2"]);
        check("a - b", expect![[r#"ERROR Character '-' is reserved and must be escaped with the preceding '\'"#]]);
        check("[t](e", expect!["ERROR Can't find end of a URL at byte offset 4"]);
        check("*a\n_b*", expect!["ERROR Can't find end of Bold entity at byte offset 5"]);
        check("a > b", expect![[r#"ERROR Character '>' is reserved and must be escaped with the preceding '\'"#]]);
    }

    proptest! {
        #[test]
        fn any_input_is_read_or_refused_without_a_panic(input in "(_|\\*|\\[|\\]|\\(|\\)|~|`|>|\\||!|\\\\|\n|a|😀|é){0,40}") {
            if let Ok(done) = parse(&input) {
                let done = done.settle();
                prop_assert!(done.entities.iter().all(|entity| entity.length > 0 && entity.end() <= done.units()));
            }
        }

        #[test]
        fn escaped_text_comes_back_unchanged(text in "\\PC{0,100}") {
            let escaped: String = text.chars().flat_map(|c| (RESERVED.contains(c) || c == '\\').then_some('\\').into_iter().chain([c])).collect();
            prop_assert_eq!(parse(&escaped).map(|done| done.text), Ok(text));
        }
    }
}
