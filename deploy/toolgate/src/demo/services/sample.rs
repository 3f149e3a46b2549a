//! Texts to see how each platform shows them.

use axum::{Json, extract::Query};
use serde::Deserialize;

const EVERYTHING: &str = include_str!("sample.md");
/// More than fits into the messages of one reply.
const LONG_LINES: u32 = 600;

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum What {
    Everything,
    Long,
}

#[derive(Deserialize)]
pub(super) struct Wanted {
    what: What,
}

pub(super) async fn sample(Query(wanted): Query<Wanted>) -> Json<String> {
    Json(match wanted.what {
        What::Everything => EVERYTHING.to_owned(),
        What::Long => format!("A table of squares, as a program prints it:\n\n```text\n{}```\n", squares()),
    })
}

fn squares() -> String {
    (1..=LONG_LINES).map(|n| format!("{n:>6} squared is {:>10}\n", n * n)).collect()
}
