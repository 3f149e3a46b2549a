//! Rendering and splitting for each platform, and failures in each language.

use contract::{Code, Failure, Locale, Notice, Part, Problem, Reply};

use crate::figures::{row, sample};

fn document(bytes: usize) -> String {
    let block = "## Heading\n\nSome **bold** text with `code`, a [link](https://example.org/a?b=1) and snake_case_name.\n\n\
                 - one item\n- another *item*\n\n```rust\nfn main() { println!(\"{}\", 1 < 2); }\n```\n\n";
    block.repeat(bytes / block.len() + 1)[..bytes].to_owned()
}

/// What a platform makes of a reply.
type Render = fn(&Reply) -> Vec<Part>;

const PLATFORMS: [(&str, Render); 3] =
    [("Telegram", telegram::render::reply), ("Discord", discord::render::reply), ("Slack", slack::render::reply)];

pub fn run() {
    for (platform, render) in PLATFORMS {
        for (name, bytes, times) in [("1 KB", 1_000, 5_000), ("10 KB", 10_000, 1_000), ("100 KB", 100_000, 200)] {
            let reply = Reply::text(document(bytes));
            let (samples, all) = sample(times, || {
                std::hint::black_box(render(&reply));
            });
            row(&format!("rendering and splitting for {platform}, {name}"), samples, all);
        }
    }
    for (name, notice) in [("one sentence", late()), ("four problems", wrong())] {
        for locale in Locale::ALL {
            let (samples, all) = sample(20_000, || {
                std::hint::black_box(words::notice(&notice, locale));
            });
            row(&format!("a failure in words, {name}, {}", locale.as_str()), samples, all);
        }
    }
}

fn late() -> Notice {
    let say = "'sleep' did not answer within 5 s; it may have taken effect";
    let failure = Failure::new(Code::Timeout, say).hint("check before you ask for it again");
    Notice::of(&failure, Some("sleep"), None)
}

fn wrong() -> Notice {
    let problem = |path: &str, expected: &str, got: &str, hint: &str| Problem {
        path: path.to_owned(),
        expected: expected.to_owned(),
        got: Some(got.to_owned()),
        hint: Some(hint.to_owned()),
    };
    let problems = vec![
        problem("status", "one of pending, paid", "\"payed\"", "did you mean 'paid'?"),
        problem("limit", "at most 50", "99", "for example 10"),
        problem("days", "integer", "\"abc\"", "a whole number in digits, like 3"),
        problem("start", "a date like 2026-01-31", "\"yesterday\"", "for example \"2026-01-31\""),
    ];
    Notice::of(
        &Failure::invalid_args("order_query", problems, "/order_query order_id".into()),
        Some("order_query"),
        None,
    )
}
