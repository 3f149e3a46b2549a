//! Rendering and splitting for Telegram.

use contract::{Address, Outlet, Platform, Reply};
use telegram::Telegram;

use crate::figures::{row, sample};

fn document(bytes: usize) -> String {
    let block = "## Heading\n\nSome **bold** text with `code`, a [link](https://example.org/a?b=1) and snake_case_name.\n\n\
                 - one item\n- another *item*\n\n```rust\nfn main() { println!(\"{}\", 1 < 2); }\n```\n\n";
    block.repeat(bytes / block.len() + 1)[..bytes].to_owned()
}

pub fn run() {
    let config = telegram::Config::new("main", "1:token".into(), Some("http://127.0.0.1:1".into()));
    let telegram = Telegram::new(config).expect("a token of the right form is taken");
    let to = Address::new(Platform::Telegram, "main", "1");
    for (name, bytes, times) in [("1 KB", 1_000, 5_000), ("10 KB", 10_000, 1_000), ("100 KB", 100_000, 200)] {
        let reply = Reply::text(document(bytes));
        let (samples, all) = sample(times, || {
            std::hint::black_box(telegram.render(&reply, &to));
        });
        row(&format!("rendering and splitting for Telegram, {name}"), samples, all);
    }
}
