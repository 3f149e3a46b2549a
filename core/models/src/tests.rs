//! Against a server on loopback that says what was recorded, or what no server should.

mod apis;
mod hosted;
mod quirks;
mod troubles;

use dispatch::{Model, model::Said};
use serde_json::Value;

use crate::{Chain, Settings, testing::*};

/// One step, and the answer or the failure in few lines.
async fn step(settings: Settings, tools: &Value, messages: &[Said]) -> String {
    let chain = Chain::new(settings, Vec::new()).unwrap();
    match chain.step(&prompt(tools, messages), &Drafts::default()).await {
        Ok(answer) => shown(&answer),
        Err(failure) => told(&failure),
    }
}

fn told(failure: &contract::Failure) -> String {
    let wait = failure.retry_after.map(|wait| format!(" (after {} s)", wait.as_secs())).unwrap_or_default();
    let hint = failure.hint.as_ref().map(|hint| format!(" [{hint}]")).unwrap_or_default();
    // The port is another one at each run.
    let mut cause = failure.cause.for_operator().to_owned();
    while let Some(at) = cause.find("127.0.0.1:") {
        let end = cause[at + 10..].find(|c: char| !c.is_ascii_digit()).map_or(cause.len(), |n| at + 10 + n);
        cause.replace_range(at..end, "HOST");
    }
    format!("{}: {failure}{hint}{wait}\n{cause}\n", failure.code)
}
