//! `trace stats --schedule`: how the turns of a schedule, or of all, fared, and the tools that they called.

use std::time::Duration;

use contract::records::{ScheduleId, TurnQuery};
use dispatch::{TURNS_MOST, fared};
use serde_json::Value;

use super::{super::Said, ask, named, since_ms};
use crate::{
    cli::Remote,
    config::Config,
    ink::duration,
    table::{self, number, text},
};

pub(super) async fn stats(config: &Config, id: Option<ScheduleId>, since: Option<Duration>, remote: &Remote) -> Said {
    let mut query = vec![("schedule", named(id))];
    query.extend(since.map(|since| ("since", format!("{}s", since.as_secs().max(1)))));
    let asked = ask(config, remote, "/v1/stats", &query, |stores| async move {
        let query = TurnQuery {
            session: id.map(ScheduleId::session),
            scheduled: true,
            since_ms: since.map(since_ms),
            most: TURNS_MOST + 1,
            ..TurnQuery::default()
        };
        let lines = stores.trees.turns(&query).await.map_err(|down| down.to_string())?;
        let fared = fared(&lines, |turn| stores.trees.tree(turn)).await.map_err(|down| down.to_string())?;
        Ok(web::fared(query.since_ms, &fared))
    });
    match asked.await {
        Ok((json, teller)) => Said::told(drawn(&json), json).by(&teller),
        Err(said) => said,
    }
}

fn drawn(json: &Value) -> String {
    if json["turns"].is_null() {
        return "no schedule had a turn in that time".into();
    }
    let columns = [
        text("tool"),
        number("calls"),
        number("ok"),
        number("p50"),
        number("slowest"),
        text("slowest in"),
        text("failures"),
    ];
    let rows = json["tools"].as_array().into_iter().flatten().map(|tool| row(tool, "calls"));
    let all = row(&json["turns"], "turns");
    let older = if json["more"] == true { "; older turns are not counted" } else { "" };
    format!("{}\n\n{}", turns(&all, older), table::draw(&columns, rows, "they called no tool"))
}

fn turns(all: &[String], older: &str) -> String {
    let [_, turns, ok, p50, slowest, slowest_in, failures] = all else { return String::new() };
    let failures = if failures.is_empty() { String::new() } else { format!(" ({failures})") };
    let turns = if turns == "1" { "1 turn".to_owned() } else { format!("{turns} turns") };
    format!("{turns}, {ok} ok{failures}, p50 {p50}, the slowest {slowest} in {slowest_in}{older}")
}

fn row(of: &Value, counted: &str) -> Vec<String> {
    let (calls, ok) = (of[counted].as_u64().unwrap_or_default(), of["ok"].as_u64().unwrap_or_default());
    let percent = if calls == 0 { String::new() } else { format!("{:.1} %", ok as f64 * 100.0 / calls as f64) };
    let time = |name: &str| of[name].as_u64().map(duration).unwrap_or_default();
    let word = |name: &str| contract::text::one_line(of[name].as_str().unwrap_or_default(), 80);
    let failed = of["failed"].as_object().into_iter().flatten().map(|(code, n)| format!("{n} {code}"));
    vec![
        word("tool"),
        calls.to_string(),
        percent,
        time("p50_us"),
        time("slowest_us"),
        word("slowest_in"),
        failed.collect::<Vec<_>>().join(", "),
    ]
}
