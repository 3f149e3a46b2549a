//! Renderings as goldens, and what must hold for any input.

use contract::{Action, Audience, Button, Code, Digest, Failure, FileRef, Notice, Opaque, Problem};
use document::{
    Piece,
    samples::{joined, turn, visible},
};
use expect_test::{Expect, expect};

use super::{reader::read, *};

fn parts(markdown: &str) -> Vec<Part> {
    reply(&Reply::text(markdown))
}

fn check(markdown: &str, html: Expect) {
    let parts = parts(markdown);
    assert_eq!(parts.len(), 1);
    read(&parts[0].body).expect("valid markup");
    html.assert_eq(&parts[0].body);
}

#[test]
fn the_authoring_format_is_drawn_in_telegrams_manner() {
    check(
        "# H\n\n**b** *i* _i2_ ~~s~~ `c` [t](https://e.test?a=1&b=2)\n\n> quote\n> more\n\n---\n\nend",
        expect![[r#"
            <b>H</b>

            <b>b</b> <i>i</i> <i>i2</i> <s>s</s> <code>c</code> <a href="https://e.test?a=1&amp;b=2">t</a>

            <blockquote>quote
            more</blockquote>

            ――――――――

            end"#]],
    );
}

#[test]
fn lists_keep_their_marks_order_and_depth() {
    check(
        "Do:\n- one\n  - deep\n    1. deeper\n- two\n\n3. three\n4. four\n\n- [x] done\n- [ ] open\n\nafter",
        expect![[r#"
            Do:

            • one
              ◦ deep
                1. deeper
            • two

            3. three
            4. four

            ☑ done
            ☐ open

            after"#]],
    );
    check(
        "- a\n\n  second\n\n      code\n- \n- - x",
        expect![[r#"
            • a

              second

            <pre>code</pre>
            • 
            • 
              ◦ x"#]],
    );
}

#[test]
fn a_table_is_aligned() {
    check(
        "| city | t |\n|:--|--:|\n| Oslo | -3 |\n| 上海 | **12** |",
        expect![[r#"
        <pre>city │  t
        ─────┼───
        Oslo │ -3
        上海 │ 12</pre>"#]],
    );
}

#[test]
fn images_and_unusable_links_keep_their_targets() {
    check(
        "![a cat](https://e.test/c.png) [doc](docs/a.md) [me](tg://user?id=5) <https://e.test/x> [x](javascript:alert(1)) [](https://e.test)",
        expect![[
            r#"<a href="https://e.test/c.png">a cat</a> doc (docs/a.md) me (tg://user?id=5) https://e.test/x x (javascript:alert(1)) <a href="https://e.test">https://e.test</a>"#
        ]],
    );
    check(
        "see [1] and [two][2]\n\n[1]: https://e.test/1\n[2]: https://e.test/2\n[3]: https://e.test/3",
        expect![[r#"
        see <a href="https://e.test/1">1</a> and <a href="https://e.test/2">two</a>

        [3]: https://e.test/3"#]],
    );
}

#[test]
fn code_is_sacred() {
    check(
        "`__init__` `2**3` `# comment` `*` `a<b` `@ann`",
        expect![
            "<code>__init__</code> <code>2**3</code> <code># comment</code> <code>*</code> <code>a&lt;b</code> <code>@ann</code>"
        ],
    );
    check(
        "````rust\nfn a() {\n    ```\n    b & c\n}\n````",
        expect![[r#"
        <pre><code class="language-rust">fn a() {
            ```
            b &amp; c
        }</code></pre>"#]],
    );
    check(&format!("```{}\nx\n```", "y".repeat(5_000)), expect!["<pre>x</pre>"]);
    check(
        "# T `c` t\n\n**a `b` c** [`d` **e**](https://e.test)",
        expect![[r#"
        <b>T </b><code>c</code><b> t</b>

        <b>a </b><code>b</code><b> c</b> <a href="https://e.test">d <b>e</b></a>"#]],
    );
}

#[test]
fn text_is_not_markup() {
    for text in [
        "2 * 3 = 6 and 4 * 5",
        "snake_case_name",
        "a<b && c>d",
        r"C:\__tmp__\x",
        r"see C:\new_*dir*\a_b_c, then",
        "an address <ann@example.org>",
        "README.md",
        "<b>not bold</b> <unknown>",
        "&lt",
    ] {
        let parts = parts(text);
        assert_eq!(read(&parts[0].body).expect("valid").0, text);
        assert_eq!(parts[0].plain, text);
    }
    check(
        "<!channel> <@U1> @everyone <@&1>",
        expect!["&lt;!channel&gt; &lt;@\u{2060}U1&gt; @\u{2060}everyone &lt;@&amp;1&gt;"],
    );
    check(r"`C:\a_b_` and C:\\a\_b and C:\a_b_", expect![[r#"<code>C:\a_b_</code> and C:\a_b and C:\a_b_"#]]);
}

#[test]
fn nobody_is_pinged_and_links_stay_whole() {
    check(
        "@ann, (@bob) **@carl** x@dora.org é@eve https://m.test/@fay https://@gus [@hal](https://e.test/@hal) @ 5 @",
        expect![
            "@\u{2060}ann, (@\u{2060}bob) <b>@\u{2060}carl</b> x@dora.org é@eve https://m.test/@fay https://@\u{2060}gus <a href=\"https://e.test/@hal\">@\u{2060}hal</a> @ 5 @"
        ],
    );
}

#[test]
fn verbatim_text_keeps_every_character() {
    let verbatim = Reply { content: vec![Content::Plain("**a** <b>\n  `c` # d\n".into())], ..Reply::default() };
    assert_eq!(reply(&verbatim)[0].body, "**a** &lt;b&gt;\n  `c` # d");
}

#[test]
fn nothing_to_show_is_said() {
    for text in ["", "  \n", "\u{200B}\u{FEFF}", "\u{0}\u{1}"] {
        assert!(matches!(parts(text).as_slice(), [part] if part.body.ends_with("(no output)")), "{text:?}");
    }
    assert_eq!(reply(&Reply::default())[0].body, "(no output)");
}

#[test]
fn a_failure_shows_layer_sentence_details_next_step_and_reference() {
    let problem =
        Problem { path: "days".into(), expected: "an integer".into(), got: Some("\"a<b\"".into()), hint: None };
    let failure = Failure::invalid_args("weather_query", vec![problem], "/weather_query city [days=3]".into());
    let notice = Notice::of(&failure, Some("weather_query"), Some(turn()));
    let parts = reply(&Reply::notice(notice));
    read(&parts[0].body).expect("valid");
    expect![[r#"
        <b>✏️ Check the input</b> · <code>weather_query</code>
        'weather_query' cannot run with these arguments: one thing is wrong
        <blockquote expandable>days: expected an integer, got "a&lt;b"
        usage: /weather_query city [days=3]
        code: args.invalid</blockquote>
        → correct it and send it again

        ref <code>01ARZ3NDEKTSV4RRFFQ69G5FAV</code>"#]]
    .assert_eq(&parts[0].body);
}

#[test]
fn every_code_has_a_valid_notice() {
    for code in Code::ALL {
        let parts =
            reply(&Reply::notice(Notice::of(&Failure::new(*code, "it <failed>"), Some("a_tool"), Some(turn()))));
        let (text, _) = read(&parts[0].body).expect("valid");
        assert!(text.contains("it <failed>") && text.contains(code.as_str()) && text.contains("ref 01ARZ3"));
    }
}

#[test]
fn a_repeat_is_marked_and_a_reference_closes() {
    let repeated = Reply { maybe_repeated: true, reference: Some(turn()), ..Reply::text("**done**") };
    expect![[r#"
        (you may have received this already)

        <b>done</b>

        ref <code>01ARZ3NDEKTSV4RRFFQ69G5FAV</code>"#]]
    .assert_eq(&reply(&repeated)[0].body);
}

#[test]
fn a_fence_is_closed_and_reopened_with_its_language() {
    let code: String = (0..400).map(|n| format!("    line {n} of the listing\n")).collect();
    let parts = parts(&format!("before\n\n```python\n{code}```\nafter"));
    assert!(parts.len() > 2);
    let mut seen = String::new();
    for (n, part) in parts.iter().enumerate() {
        let (text, entities) = read(&part.body).expect("valid");
        assert!(document::units(&text) <= MOST_TEXT && entities >= 1);
        assert!(n == 0 || part.body.starts_with("<pre><code class=\"language-python\">    line"), "{:.60}", part.body);
        // The line end at a cut is not shown.
        seen.push_str(if n > 0 && !text.starts_with("after") { "\n" } else { "" });
        seen.push_str(&text);
    }
    assert_eq!(seen, format!("before\n\n{}\n\nafter", code.trim_end_matches('\n')));
}

#[test]
fn long_texts_take_the_fewest_messages() {
    let emoji = "👨‍👩‍👧‍👦".repeat(1_000);
    assert_eq!(parts(&emoji).len(), 3);
    assert_eq!(parts(&"😀".repeat(3_000)).len(), 2);
    assert_eq!(parts(&"汉".repeat(5_000)).len(), 2);
    for part in parts(&emoji) {
        assert_eq!(part.plain.chars().count() % 7, 0, "no family is torn");
    }
}

#[test]
fn words_stay_whole_and_paragraphs_when_they_can() {
    let words = "word ".repeat(2_000);
    assert!(parts(&words).iter().all(|part| part.plain.trim().split(' ').all(|word| word == "word")));
    let paragraph = "a line of text ".repeat(100);
    let cut = parts(&[paragraph.as_str(); 6].join("\n\n"));
    assert!(cut.iter().all(|part| part.plain.starts_with("a line") && part.plain.trim_end().ends_with("text")));
}

#[test]
fn a_message_has_at_most_a_hundred_entities() {
    let parts = parts(&"**b** `c` ".repeat(200));
    assert!(parts.len() >= 4);
    assert!(parts.iter().all(|part| read(&part.body).expect("valid").1 <= 100));
}

#[test]
fn what_escapes_to_much_stays_under_the_servers_limit() {
    let links: String = (0..200).map(|n| format!("[x](https://e.test/{}{n}) ", "p".repeat(900))).collect();
    for part in parts(&links).into_iter().chain(parts(&"&<".repeat(20_000))) {
        assert!(part.body.len() <= 32_768);
        read(&part.body).expect("valid");
    }
}

#[test]
fn too_many_messages_become_a_file() {
    let long = Reply { most_messages: Some(2), ..Reply::text("word ".repeat(5_000)) };
    let parts = reply(&long);
    assert_eq!(parts.len(), 2);
    assert_eq!(parts[1].files[0].name, "reply.md");
    assert_eq!(parts[1].plain, "The answer is too long for 2 messages: it goes on in the file.");
    assert!(parts[1].files[0].bytes.starts_with(b"word word"));
    let fits = Reply { most_messages: Some(1), ..Reply::text("word ".repeat(500)) };
    assert!(matches!(reply(&fits).as_slice(), [part] if part.files.is_empty()));
}

#[test]
fn a_file_takes_a_short_text_as_its_caption_and_buttons_come_last() {
    let attachment =
        Content::Attachment { name: "a/b.txt".into(), media_type: "text/plain".into(), bytes: b"x".to_vec() };
    let by_id = FileRef {
        name: "c.pdf".into(),
        media_type: None,
        size: None,
        handle: Opaque::new("telegram:F1").expect("short"),
    };
    let mut with_files = Reply::text("**two** files");
    with_files.content.extend([attachment, Content::File(by_id)]);
    with_files.buttons.push(Button { label: "Details".into(), action: Action::Details(turn()) });
    with_files.audience = Audience::Sender;
    let parts = reply(&with_files);
    assert_eq!(parts[0].body, "<b>two</b> files");
    assert_eq!((parts[0].files[0].name.as_str(), parts[0].buttons.len()), ("a_b.txt", 0));
    assert_eq!((parts[1].files[0].media_type.as_str(), parts[1].body.as_str(), parts[1].buttons.len()), (BY_ID, "", 1));
    assert!(parts.iter().all(|part| part.audience == Audience::Sender));
    with_files.content[0] = Content::Text("long ".repeat(500));
    assert_eq!(reply(&with_files).iter().map(|part| part.files.len()).collect::<Vec<_>>(), [0, 1, 1]);
}

#[test]
fn files_of_a_kind_are_albums_of_at_most_ten() {
    let bytes = |media_type: &str| Content::Attachment {
        name: "a".into(),
        media_type: media_type.into(),
        bytes: b"x".to_vec(),
    };
    let by_id = |handle: &str| {
        let handle = Opaque::new(handle).expect("short");
        Content::File(FileRef { name: "b".into(), media_type: None, size: None, handle })
    };
    let sizes = |content: Vec<Content>| {
        let parts = reply(&Reply { content, ..Reply::text("see") });
        parts.iter().map(|part| part.files.len()).collect::<Vec<_>>()
    };
    let text = || Content::Text("see".into());
    assert_eq!(sizes(vec![text(), bytes("image/png"), by_id("telegram:video:V"), bytes("image/jpeg")]), [3]);
    assert_eq!(sizes(vec![text(), bytes("image/png"), bytes("text/plain"), by_id("telegram:D")]), [1, 2]);
    assert_eq!(sizes(vec![text(), by_id("telegram:voice:A"), by_id("telegram:voice:B")]), [1, 1], "not in albums");
    let many = [vec![text()], vec![bytes("text/plain"); 23]].concat();
    assert_eq!(sizes(many), [10, 10, 3]);
    let long = [vec![Content::Text("long ".repeat(500))], vec![bytes("text/plain"); 2]].concat();
    assert_eq!(sizes(long), [0, 2]);
}

#[test]
fn what_takes_no_caption_leaves_the_text_a_message_of_its_own() {
    for (handle, expected) in [("telegram:photo:P", vec!["see"]), ("telegram:sticker:S", vec!["see", ""])] {
        let (name, handle) = ("x".to_owned(), Opaque::new(handle).expect("short"));
        let mut with_file = Reply::text("see");
        with_file.content.push(Content::File(FileRef { name, media_type: None, size: None, handle }));
        let parts = reply(&with_file);
        assert_eq!(parts.iter().map(|part| part.body.as_str()).collect::<Vec<_>>(), expected);
        assert_eq!(parts.iter().map(|part| part.files.len()).sum::<usize>(), 1);
    }
}

#[test]
fn bytes_are_never_taken_for_a_file_that_lies_elsewhere() {
    let attachment = Content::Attachment { name: "a".into(), media_type: BY_ID.into(), bytes: b"photo:F1".to_vec() };
    let parts = reply(&Reply { content: vec![attachment], ..Reply::default() });
    assert_ne!(parts[0].files[0].media_type, BY_ID);
}

#[test]
fn a_rendering_is_stable() {
    let digests: Vec<Digest> = (0..2).flat_map(|_| parts("a **b** c")).map(|part| part.digest()).collect();
    assert_eq!(digests[0], digests[1]);
}

#[test]
fn a_style_within_itself_is_drawn_once_and_code_interrupts_it() {
    check(
        "> **a `c` *b **x** `d` e* f**\n> > deep `g`",
        expect![[r#"
        <blockquote><b>a </b><code>c</code><b> <i>b x </i></b><code>d</code><b><i> e</i> f</b>

        deep <code>g</code></blockquote>"#]],
    );
    let nested = parts(&format!("{}{}", "> ".repeat(2_000), "`c` ".repeat(50)));
    assert_eq!(read(&nested[0].body).map(|(text, _)| text), Ok("c ".repeat(50).trim_end().to_owned()));
}

#[test]
fn samples_are_drawn_as_the_files_beside_those_of_other_platforms() {
    document::samples::compare("telegram", "html", |sample| joined(&reply(sample), |part| part.body.clone()));
}

#[test]
fn every_sample_is_within_limits_and_shows_what_was_written() {
    for (name, sample) in document::samples::all() {
        let mut seen = String::new();
        for part in reply(&sample) {
            let (text, entities) = read(&part.body).unwrap_or_else(|problem| panic!("{name}: {problem}"));
            assert!(
                document::units(&text) <= MOST_TEXT && document::units(&part.plain) <= MOST_TEXT && entities <= 100,
                "{name}"
            );
            assert!(!reader::pings(&part.body), "{name}");
            seen.push_str(&text);
        }
        let written = document::plain::of(Piece::whole(&document::of(&sample, &RULES)), 0);
        assert!(sample.most_messages.is_some() || visible(&seen) == visible(&written), "{name}");
    }
}

#[test]
fn names_ping_where_they_may() {
    let pings = contract::Pings { users: true, ..contract::Pings::default() };
    let parts = reply(&Reply { pings, ..Reply::text("**@ann** and `@bob`") });
    assert_eq!(parts[0].body, "<b>@ann</b> and <code>@bob</code>");
    // Without markup nothing keeps a name in code from being one.
    assert_eq!(reply(&Reply::text("`@bob`"))[0].plain, "@\u{2060}bob");
}
