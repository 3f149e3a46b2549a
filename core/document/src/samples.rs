//! Replies that every platform renders into files side by side, and inputs for what must hold for all of them.

use std::{path::PathBuf, time::Duration};

use contract::{Code, Content, Failure, Locale, Notice, Part, Problem, Reply, TurnId};
use proptest::prelude::*;

/// Compares what a platform makes of all samples with `tests/golden/PLATFORM/NAME.ENDING`; `UPDATE_EXPECT=1` writes them.
pub fn compare(platform: &str, ending: &str, render: impl Fn(&Reply) -> String) {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden")).join(platform);
    std::fs::create_dir_all(&folder).expect("the repository can be written to");
    for (name, reply) in all() {
        let mut shown = render(&reply);
        shown.push('\n');
        expect_test::expect_file![folder.join(format!("{name}.{ending}"))].assert_eq(&shown);
    }
}

/// The bodies of several parts in one text, each behind a line with its number and its files.
pub fn joined(parts: &[Part], show: impl Fn(&Part) -> String) -> String {
    let files = |part: &Part| part.files.iter().map(|file| format!(" · {}", file.name)).collect::<String>();
    match parts {
        [part] if part.files.is_empty() => show(part),
        _ => parts
            .iter()
            .enumerate()
            .map(|(n, part)| format!("<!-- {} of {}{} -->\n{}", n + 1, parts.len(), files(part), show(part)))
            .collect::<Vec<_>>()
            .join("\n\n"),
    }
}

/// The turn that samples refer to.
pub fn turn() -> TurnId {
    "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().expect("it is one")
}

/// Every sample with its name.
pub fn all() -> Vec<(String, Reply)> {
    let mut samples: Vec<(String, Reply)> = [
        ("authoring", AUTHORING.to_owned()),
        ("code", code()),
        ("text", TEXT.to_owned()),
        ("mentions", MENTIONS.to_owned()),
        ("links", LINKS.to_owned()),
        ("scripts", SCRIPTS.to_owned()),
        ("table", TABLES.to_owned()),
        ("emoji", "😀".repeat(3_000)),
        ("cjk", "汉字排版".repeat(1_250)),
        ("families", "👨‍👩‍👧‍👦".repeat(400)),
        ("listing", listing()),
        (
            "paragraphs",
            "A sentence of a paragraph that goes on for a while. ".repeat(60).replace("while. A", "while.\n\nA"),
        ),
        ("blank", "\u{200B} \n".to_owned()),
        ("everything", everything()),
    ]
    .into_iter()
    .map(|(name, text)| (name.to_owned(), Reply::text(text)))
    .collect();
    samples.extend(notices());
    samples.extend(others());
    samples
}

const AUTHORING: &str = "# A heading with `code`

**b** *i* _i2_ ~~s~~ `c` [t](https://e.test?a=1&b=2) ***both***
a second line

## Lists

- one
- two
  - deep
    1. deeper
    2. and on
  - up again
- three

  a second paragraph

3. three
4. four

- [x] done
- [ ] open

> a quote
> with **two** lines
>
> - and a list

| city | t |
|:--|--:|
| Oslo | -3 |
| 上海 | **12** |

#### A deep heading

---

end";

const TEXT: &str = r"2 * 3 = 6 and 4 * 5, snake_case_name, __init__, a<b && c>d, C:\__tmp__\x and README.md

<!channel> <@U1> @everyone <@&1> <#C1> <@123456789012345678> <ann@example.org> :smile: 12:03:09 ||x|| &lt; &amp;lt;

1\. no list  
\- no list  
\# no heading  
\> no quote  
a\*b\*c \[x\](https://e.test) \~\~x\~\~ \`x\` ¯\\\_(ツ)\_/¯ <b>bold?</b> $x_1$ ^2^";

const MENTIONS: &str =
    "@everyone @here @channel @ann (@bob) **@carl** x@dora.org https://m.test/@fay `@gus` <@123456789012345678>
<@&123456789012345678> <@U12345678> <!here> <!subteam^S12345678> <#123456789012345678>

```
@everyone <!channel>
```";

const LINKS: &str = "[plain](https://e.test/a_b) [**bold** `code`](https://e.test/x(y)) [a [b] c](https://e.test)
[https://bank.test](https://e.test) ![a cat](https://e.test/c.png) [doc](docs/a.md) [me](tg://user?id=5)
[mail](mailto:ann@example.org) [x](javascript:alert(1)) <https://e.test/auto_link> <ann@example.org>
https://e.test/bare_link_*x*, (https://e.test/p). see [1] and [two][2] [](https://e.test/empty)

[1]: https://e.test/1
[2]: https://e.test/2
[3]: https://e.test/3";

const SCRIPTS: &str = "# مرحبا بالعالم

شكرا **جزيلا** (Toolgate) ۱۲۳ · עברית `code` עברית · 中文，**粗体**，`代码`。

- 👨‍👩‍👧‍👦 family, 🇳🇴 flag, 👍🏽 tone, 1️⃣ keycap
- e\u{301} n\u{303} combining, ﷽, 𝔘𝔫𝔦𝔠𝔬𝔡𝔢, ไทย, हिन्दी";

const TABLES: &str = "| left | centre | right |
|:--|:-:|--:|
| a | b | c |
| 上海 😀 | `x\\|y` | [t](https://e.test) |
| | *i* | 1,000 |

- a table in a list:

  | a |
  |---|
  | 1 |";

fn code() -> String {
    let inline = "`__init__` `2**3` `# comment` `*` `a<b` `@ann` ``a`b`` `` ` `` ```` ``` ```` `:smile:`";
    let nested = "````rust\nfn a() {\n    ```\n    b & c // \"<>\"\n}\n````";
    let listed = "1. do\n\n   ```sh\n   rm -rf ./build\n   ```\n2. done\n\n> ```\n> quoted\n> ```";
    let long = format!("```{}\nan info string that is longer than any limit\n```", "y".repeat(5_000));
    format!("{inline}\n\n{nested}\n\n{listed}\n\n{long}\n\n    indented\n\n```diff\n- old\n+ new\n\n\n# end\n```")
}

fn listing() -> String {
    let lines: String = (0..400).map(|n| format!("    line {n} of the listing\n")).collect();
    format!("before\n\n```python\ndef f():\n{lines}```\n\nafter")
}

/// All at once, in 20,000 characters.
fn everything() -> String {
    let mut text = format!("{AUTHORING}\n\n{}\n\n{MENTIONS}\n\n{LINKS}\n\n{SCRIPTS}\n\n{TABLES}\n\n", code());
    text.push_str(&format!("```text\n{}\n```\n\n", "a long line of code ".repeat(40).trim_end()));
    let mut n = 0;
    while text.chars().count() < 20_000 {
        n += 1;
        text.push_str(&format!(
            "Paragraph {n} goes on: *some* **words** with `code_{n}`, 一些汉字, and https://e.test/{n}. "
        ));
        text.push_str(if n % 4 == 0 { "\n\n" } else { "" });
    }
    text
}

fn notices() -> Vec<(String, Reply)> {
    let problem = |path: &str, got: Option<&str>| Problem {
        path: path.into(),
        expected: "an integer".into(),
        got: got.map(str::to_owned),
        hint: None,
    };
    let problems = vec![problem("days", Some("\"a<b*c*\"")), problem("date_range/start", None)];
    let invalid = Failure::invalid_args("weather_query", problems, "/weather_query city [days=3]".into());
    let mut waits = Failure::new(Code::RateLimited, "the service asks to wait");
    waits.retry_after = Some(Duration::from_secs(300));
    let failures = [
        ("validation", invalid),
        ("permission", Failure::new(Code::LimitReached, "a limit of 3 calls was reached")),
        ("execution", waits),
        ("fatal", Failure::new(Code::Internal, "something is wrong with the gateway itself")),
    ];
    let mut out = Vec::new();
    for (name, failure) in failures {
        for locale in Locale::ALL {
            let notice = Notice::of(&failure, Some("weather_query"), Some(turn()));
            out.push((format!("notice-{name}-{}", locale.as_str()), Reply { locale, ..Reply::notice(notice) }));
        }
    }
    out
}

fn others() -> Vec<(String, Reply)> {
    let unknown = Notice::of(&Failure::new(Code::ToolUnknown, "there is no 'x_y' here"), None, Some(turn()));
    let mixed = Reply {
        content: vec![Content::Text("**done** in part".into()), Content::Notice(unknown)],
        reference: Some(turn()),
        ..Reply::default()
    };
    let file =
        |name: &str| Content::Attachment { name: name.into(), media_type: "text/plain".into(), bytes: b"x".to_vec() };
    let files = Reply {
        content: vec![Content::Text("two *files*".into()), file("a.txt"), file("b/c.txt")],
        ..Reply::default()
    };
    let verbatim = Reply { content: vec![Content::Plain("**a** <b>\n  `c` # d\n\n- e".into())], ..Reply::default() };
    let result = Content::Code { language: "json".into(), text: "{\n  \"a\": \"``` <b>\"\n}\n".into() };
    let long = Content::Code { language: "rust".into(), text: "let a = 1;\n".repeat(4_000) };
    vec![
        ("mixed".into(), mixed),
        ("files".into(), files),
        ("verbatim".into(), verbatim),
        ("result".into(), Reply { content: vec![result], reference: Some(turn()), ..Reply::default() }),
        ("repeated".into(), Reply { maybe_repeated: true, reference: Some(turn()), ..Reply::text("**done**") }),
        ("repeated-zh-Hans".into(), Reply { maybe_repeated: true, locale: Locale::ZhHans, ..Reply::default() }),
        ("overflow".into(), Reply { most_messages: Some(2), ..Reply::text("word ".repeat(8_000)) }),
        ("overflow-code".into(), Reply { most_messages: Some(1), content: vec![long], ..Reply::default() }),
    ]
}

/// Pieces of what a model or a tool may write.
pub fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ a-z*_`~#>|<&@!\\[\\]()\\\\:/.\n-]{0,40}",
        "\\PC{0,20}",
        "[*_~` ab\n]{0,30}",
        "[-#>0-9. |:a\n]{0,30}",
        "[]\\[()` a]{0,20}",
        Just("```rust\nlet a = 1;\n\n  b\n```\n".to_owned()),
        Just("\n\n- a\n  1. b\n     > c\n".to_owned()),
        Just("\n\n> q\n> - l\n>\n> ```\n> c\n> ```\n\n".to_owned()),
        Just("\n\n| a | b |\n|---|--:|\n| 1 | @two |\n\n".to_owned()),
        Just("**bold `code` [link](https://e.test/@x)** ".to_owned()),
        Just("***a** b* ~~c~~*d*`e``f`".to_owned()),
        Just("[x [y]](https://e.test/(a) \"t\") :smile: <@123456789012345678> <!here> ".to_owned()),
        Just("👩‍👩‍👧🇩🇪e\u{301} ".to_owned()),
        Just("https://m.test/@ann @bob ".to_owned()),
        "[a-z ]{200,400}",
        "[汉字]{100,300}",
    ]
}

/// Replies of all kinds of content in any order.
pub fn reply() -> impl Strategy<Value = Reply> {
    let text = || proptest::collection::vec(piece(), 0..8).prop_map(|pieces| pieces.concat());
    let content = prop_oneof![
        text().prop_map(Content::Text),
        text().prop_map(Content::Plain),
        ("\\PC{0,12}", text()).prop_map(|(language, text)| Content::Code { language, text }),
        (any::<prop::sample::Index>(), text())
            .prop_map(|(code, text)| Content::Notice(notice(*code.get(Code::ALL), &text))),
        "\\PC{0,40}".prop_map(|name| Content::Attachment {
            name,
            media_type: "text/plain".into(),
            bytes: b"x".to_vec()
        }),
    ];
    let settings = (any::<bool>(), any::<bool>(), any::<bool>(), proptest::option::of(1_u32..4));
    (proptest::collection::vec(content, 0..6), settings).prop_map(
        |(content, (is_repeated, is_chinese, refers, most))| Reply {
            content,
            maybe_repeated: is_repeated,
            locale: if is_chinese { Locale::ZhHans } else { Locale::En },
            reference: refers.then(turn),
            most_messages: most,
            ..Reply::default()
        },
    )
}

/// A notice in which every text is the one given.
fn notice(code: Code, text: &str) -> Notice {
    let problem = Problem { path: text.into(), expected: text.into(), got: Some(text.into()), hint: Some(text.into()) };
    let failure = Failure::new(code, text);
    let mut notice = Notice::of(&failure, Some(text), Some(turn()));
    notice.problems = vec![problem; text.len() % 40];
    notice.usage = Some(text.to_owned());
    notice.hint = text.to_owned();
    notice
}

/// What a person sees of a text: without what joins, separates and fills.
pub fn visible(text: &str) -> String {
    text.chars().filter(|c| !crate::is_blank(c.encode_utf8(&mut [0; 4]))).collect()
}

/// Whether everything visible of `part` stands in `whole`, in order.
pub fn is_kept(part: &str, whole: &str) -> bool {
    let (part, whole) = (visible(part), visible(whole));
    let mut seen = whole.chars();
    part.chars().all(|c| seen.any(|other| other == c))
}
