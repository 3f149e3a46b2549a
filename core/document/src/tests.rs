//! How documents are built and cut, by a measure that counts characters.

use contract::{Content, Reply};
use expect_test::{Expect, expect};
use proptest::prelude::*;

use crate::{
    Block, Builder, Cost, Cutter, Doc, Manner, Measure, Piece, Rules, Run, cut::Bytes, doc::UNITS, is_blank, links,
    markdown, plain, units,
};

const RULES: Rules = Rules { is_link: links::is_web, is_sent: |_| false };

/// Counts UTF-16 units of the plain form and draws it.
struct Plain(usize);

static BYTES: Bytes = {
    let mut table = [(1, 1); 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte].0 = UNITS[byte];
        byte += 1;
    }
    table
};

impl Measure for Plain {
    fn bytes(&self, _: bool) -> &'static Bytes {
        &BYTES
    }

    fn block(&self, doc: &Doc, n: usize) -> Cost {
        let block = &doc.blocks[n];
        Cost::length(usize::from(block.gap) + block.indent() + block.mark.map_or(0, crate::Mark::width))
    }

    fn line(&self, block: &Block) -> usize {
        block.indent()
    }

    fn run(&self, _: &Doc, _: &Run) -> Cost {
        Cost::default()
    }
}

impl Manner for Plain {
    fn most(&self) -> Cost {
        Cost::new(self.0, 0, usize::MAX)
    }

    fn draw(&self, piece: Piece<'_>) -> String {
        plain::of(piece, 0)
    }
}

fn doc(markdown: &str) -> Doc {
    let mut to = Builder::default();
    markdown::write(&mut to, markdown, links::is_web);
    to.finish()
}

fn cut(markdown: &str, most: usize) -> Vec<String> {
    let (doc, manner) = (doc(markdown), Plain(most));
    let mut cutter = Cutter::new(&doc, &manner);
    std::iter::from_fn(|| cutter.next(manner.most())).map(|piece| manner.draw(piece)).collect()
}

/// A line for each block: what it is, where it stands, its runs.
fn check(markdown: &str, blocks: Expect) {
    let doc = doc(markdown);
    let line = |block: &Block| {
        let runs: Vec<String> = doc.runs[block.runs.clone()].iter().map(|run| show(&doc, run)).collect();
        let quote = block.quote.map_or(String::new(), |quote| format!(" quote {}", quote.number));
        let mark = block.mark.map_or(String::new(), |mark| format!(" {}", mark.sign(block.level).trim_end()));
        format!("{:?} +{} level {}{quote}{mark}: {}", block.kind, block.gap, block.level, runs.concat())
    };
    blocks.assert_eq(&doc.blocks.iter().map(line).collect::<Vec<_>>().join("\n"));
}

fn show(doc: &Doc, run: &Run) -> String {
    let signs = [(run.style.bold, 'b'), (run.style.italic, 'i'), (run.style.strike, 's'), (run.style.code, 'c')];
    let style: String = signs.into_iter().filter(|(is, _)| *is).map(|(_, sign)| sign).collect();
    let link = run.link.map_or(String::new(), |link| format!("→{}", doc.target(link)));
    format!("[{style}{link}|{}]", doc.text[run.start..run.end].escape_debug())
}

#[test]
fn a_document_is_blocks_of_runs() {
    check(
        "# T `c`\n\na **b *c*** [d](https://e.test)\nhttps://f.test/g.\n\n- one\n  - ~~two~~\n    > q\n- [x] three\n\n```rs x\ncode\n```",
        expect![[r#"
            Heading(1) +0 level 0: [|T ][c|c]
            Paragraph +2 level 0: [|a ][b|b ][bi|c][| ][→https://e.test|d][|\n][→https://f.test/g|https://f.test/g][|.]
            Paragraph +2 level 1 •: [|one]
            Paragraph +1 level 2 ◦: [s|two]
            Paragraph +1 level 2 quote 1: [|q]
            Paragraph +2 level 1 ☑: [|three]
            Code("rs") +2 level 0: [|code]"#]],
    );
}

#[test]
fn a_mark_without_text_is_kept_and_code_stands_below_it() {
    check(
        "- \n- - x\n- ```\n  y\n  ```",
        expect![[r#"
        Paragraph +0 level 1 •: 
        Paragraph +1 level 1 •: 
        Paragraph +1 level 2 ◦: [|x]
        Paragraph +1 level 1 •: 
        Code("") +1 level 1: [|y]"#]],
    );
}

#[test]
fn a_cut_is_behind_a_paragraph_a_line_a_word_or_a_grapheme() {
    assert_eq!(cut("one two three\n\nfour five", 20), ["one two three", "four five"]);
    assert_eq!(cut("one two three\nfour five", 20), ["one two three", "four five"]);
    assert_eq!(cut("one two three four", 12), ["one two", "three four"]);
    assert_eq!(cut("abcdefghij", 4), ["abcd", "efgh", "ij"]);
    assert_eq!(cut(&"👨‍👩‍👧‍👦".repeat(3), 12), ["👨‍👩‍👧‍👦", "👨‍👩‍👧‍👦", "👨‍👩‍👧‍👦"]);
}

#[test]
fn a_heading_goes_with_what_it_is_over() {
    assert_eq!(
        cut("some more text here\n\n# Title\n\nand more text", 30),
        ["some more text here", "Title\n\nand more text"]
    );
}

#[test]
fn an_address_and_code_within_a_line_stay_whole() {
    assert_eq!(cut("see https://e.test/a/long/path", 24), ["see", "https://e.test/a/long/pa", "th"]);
    assert_eq!(cut("see `a b c d e f g` now", 16), ["see", "a b c d e f g", "now"]);
}

#[test]
fn code_keeps_its_indentation_over_cuts() {
    assert_eq!(cut("```\n  one\n    two\n\n  three\n```", 14), ["  one\n    two", "  three"]);
}

#[test]
fn something_is_always_taken_however_small_the_limit() {
    assert_eq!(cut("1000000. 汉字", 1), ["1000000. 汉", "  字"]);
}

#[test]
fn a_plain_form_shows_marks_and_where_links_lead() {
    let doc = doc("[a **b**](https://e.test) https://f.test\n\n1. one\n   two\n   - x");
    expect![[r#"
        a b (https://e.test) https://f.test

        1. one
          two
          ◦ x"#]]
    .assert_eq(&plain::of(Piece::whole(&doc), 1_000));
    assert!(plain::of(Piece::whole(&doc), 10).starts_with("a b https://f.test"));
}

#[test]
fn code_of_too_many_messages_is_a_file_in_its_language() {
    let code = Content::Code { language: "python".into(), text: "x = 1\n".repeat(100) };
    let reply = Reply { content: vec![code], most_messages: Some(2), ..Reply::default() };
    let parts = crate::texts(&crate::of(&reply, &RULES), &reply, &Plain(100));
    assert_eq!(parts.len(), 2);
    let file = &parts[1].files[0];
    assert_eq!((file.name.as_str(), &file.bytes[..12]), ("reply.py", &b"x = 1\nx = 1\n"[..]));
    let reply = Reply {
        content: vec![
            Content::Text("a\n\n```\nb\n```".into()),
            Content::Code { language: "c".into(), text: "```".into() },
        ],
        most_messages: Some(1),
        ..Reply::default()
    };
    let parts = crate::texts(&crate::of(&reply, &RULES), &reply, &Plain(5));
    assert_eq!(parts[0].files[0].name, "reply.md");
    assert_eq!(&parts[0].files[0].bytes[..], b"a\n\n```\nb\n```\n\n````c\n```\n````\n\n");
}

#[test]
fn a_text_is_cut_in_time_linear_in_it() {
    // A hundred times what is shown at once: a quadratic walk would not end within the test's patience.
    for text in ["a".repeat(1 << 20), "*a ".repeat(1 << 18), "- a\n".repeat(1 << 16), "🇩🇪".repeat(1 << 15)] {
        assert!(cut(&text, 2_000).len() > 20);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_text_is_cut_within_limits_and_without_loss(
        text in "([ a-z*_`~#>|<&@!\\[\\]()\\\\:/.\n-]{0,40}|\\PC{0,20}|[a-z ]{60,90}|\n\n- a\n  1. b\n     > c\n|```\na\n\n b\n```\n){0,12}",
        most in 30_usize..120,
    ) {
        let pieces = cut(&text, most);
        for piece in &pieces {
            prop_assert!(units(piece) <= most, "{piece:?}");
        }
        let visible = |text: &str| text.chars().filter(|c| !is_blank(c.encode_utf8(&mut [0; 4]))).collect::<String>();
        let whole = doc(&text);
        prop_assert_eq!(visible(&pieces.concat()), visible(&plain::of(Piece::whole(&whole), 0)));
        for block in &whole.blocks {
            let mut at = block.text.start;
            for run in &whole.runs[block.runs.clone()] {
                prop_assert_eq!(run.start, at);
                at = run.end;
            }
            prop_assert_eq!(at, block.text.end);
        }
    }
}
