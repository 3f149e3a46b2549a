//! Rendering and splitting for each platform.

use contract::{Part, Reply};

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
}
