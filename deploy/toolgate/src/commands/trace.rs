//! `trace list|show|tail|stats|audit`: of the running gateway, else of the store.

use std::{collections::HashSet, future::Future, time::Duration};

use contract::{
    CallId, CallPath, Code, Node, NodeKind, SessionKey, State, TurnId,
    records::{ScheduleId, Stores, TurnLine, TurnQuery},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

mod fared;
mod stats;

pub use stats::{audit, stats};

use super::{
    Said, Teller,
    remote::{Gateway, Trouble},
};
use crate::{
    cli::{Exit, Remote, TraceFilter},
    config::{Config, Store},
    ink::{Ink, Tone, duration, ending},
    run::{Ended, gateway::open_store},
    table::{self, number, text},
    tree,
};

/// In place of a schedule's id: all of them.
const ANY: &str = "any";
/// How often `tail` asks.
const TAIL_EVERY: Duration = Duration::from_millis(500);

/// Recent turns.
pub async fn turns(config: &Config, filter: &TraceFilter, remote: &Remote) -> Said {
    let query = query(filter);
    let asked = ask(config, remote, "/v1/traces", &query, |stores| async move {
        let lines = stores.trees.turns(&stored_query(filter)).await.map_err(|down| down.to_string())?;
        Ok(json!({ "traces": lines.iter().map(stored_line).collect::<Vec<_>>() }))
    });
    match asked.await {
        Ok((json, teller)) => {
            let rows = json["traces"].as_array().into_iter().flatten().map(row);
            let columns = [
                text("when"),
                text("reference"),
                text("where"),
                text("asked"),
                number("calls"),
                number("took"),
                text("ended"),
            ];
            let table =
                table::draw(&columns, rows, if narrowed(filter) { "nothing fits" } else { "nothing was asked yet" });
            Said::told(table, json).by(&teller)
        }
        Err(said) => said,
    }
}

/// One turn with its tree.
pub async fn turn(config: &Config, reference: &str, full: bool, remote: &Remote) -> Said {
    let Ok(turn) = reference.parse::<TurnId>() else {
        return Said::failed(Exit::Usage, format!("{reference}: not a reference: those have 26 letters and digits"));
    };
    let path = format!("/v1/traces/{turn}");
    let asked = ask(config, remote, &path, &[], |stores| async move {
        let nodes = stores.trees.tree(turn).await.map_err(|down| down.to_string())?;
        if nodes.is_empty() {
            Err(format!("there is no turn {turn} in the store"))
        } else {
            Ok(stored_turn(turn, &nodes))
        }
    });
    match asked.await {
        Ok((json, teller)) => {
            let mut text = drawn(turn, &json);
            if full {
                text.push_str(&bodies(&json));
            }
            Said::told(text, json).by(&teller)
        }
        Err(said) => said,
    }
}

fn has_ended(line: &Value) -> bool {
    line["state"] != "running" && line["state"] != "parked"
}

/// Turns as they end, until Ctrl+C.
#[expect(clippy::print_stdout, reason = "it prints line by line for as long as it runs")]
pub async fn tail(config: &Config, filter: &TraceFilter, remote: &Remote, as_json: bool) -> Result<Exit, Ended> {
    let gateway = Gateway::at(config, remote).await.map_err(|said| Ended::Failed(said.text))?;
    let mut seen: HashSet<String> = HashSet::new();
    let mut first = true;
    loop {
        let body = gateway
            .get("/v1/traces", &query(filter))
            .await
            .map_err(|trouble| Ended::Failed(gateway.said(trouble).text))?;
        let lines: Vec<_> = body["traces"].as_array().cloned().unwrap_or_default();
        if first && !as_json {
            eprintln!("{}", Ink::for_stderr().paint(Tone::Quiet, &gateway.teller().note()));
        }
        let ended = lines.iter().rev().filter(|line| has_ended(line));
        for line in ended.filter(|line| !seen.contains(line["turn"].as_str().unwrap_or_default())) {
            match as_json {
                true => println!("{line}"),
                false => println!(
                    "{}",
                    row(line).iter().map(|cell| contract::text::one_line(cell, 100)).collect::<Vec<_>>().join("  ")
                ),
            }
        }
        if first && lines.is_empty() && !as_json {
            eprintln!("waiting for the first turn; Ctrl+C ends it");
        }
        first = false;
        // Only what the next answer can name again has to be remembered.
        seen = lines
            .iter()
            .filter(|line| has_ended(line))
            .filter_map(|line| line["turn"].as_str().map(str::to_owned))
            .collect();
        tokio::select! {
            () = tokio::time::sleep(TAIL_EVERY) => {}
            _ = tokio::signal::ctrl_c() => return Ok(Exit::Ok),
        }
    }
}

/// The gateway's answer; the store's when no gateway answers and none was named.
async fn ask<F, Fut>(
    config: &Config,
    remote: &Remote,
    path: &str,
    query: &[(&str, String)],
    stored: F,
) -> Result<(Value, Teller), Said>
where
    F: FnOnce(Stores) -> Fut,
    Fut: Future<Output = Result<Value, String>>,
{
    let gateway = Gateway::at(config, remote).await?;
    let away = match gateway.get(path, query).await {
        Ok(json) => return Ok((json, gateway.teller())),
        Err(Trouble::Away(why)) if gateway.may_be_away() => why,
        Err(trouble) => return Err(gateway.said(trouble)),
    };
    if let Store::Sqlite(path) = &config.store
        && !path.exists()
    {
        // Opening would make an empty one.
        return Err(Said::failed(Exit::Failed, format!("{away}, and there is no store at {}", path.display())));
    }
    let stores =
        open_store(config).await.map_err(|ended| Said::failed(Exit::Failed, format!("{away}, and {ended}")))?;
    let answer = stored(stores.clone()).await;
    stores.close().await;
    match answer {
        Ok(json) => Ok((json, Teller::Store(config.store.to_string(), away))),
        Err(why) => Err(Said::failed(Exit::Failed, format!("{why} ({away})"))),
    }
}

/// Whether it asks for less than everything: then none found is not none there.
fn narrowed(filter: &TraceFilter) -> bool {
    let (session, schedule) = (filter.session.is_some(), filter.schedule.is_some());
    filter.failed || filter.tool.is_some() || session || schedule || filter.since.is_some()
}

fn query(filter: &TraceFilter) -> Vec<(&'static str, String)> {
    let mut query = vec![("limit", filter.limit.to_string())];
    query.extend(filter.failed.then(|| ("failed", "true".to_owned())));
    query.extend(filter.tool.clone().map(|tool| ("tool", tool)));
    query.extend(filter.session.clone().map(|session| ("session", session)));
    query.extend(filter.schedule.map(|id| ("schedule", named(id))));
    query.extend(filter.since.map(|since| ("since", format!("{}s", since.as_secs().max(1)))));
    query
}

/// As the API names one schedule, or all.
fn named(schedule: Option<ScheduleId>) -> String {
    schedule.map_or_else(|| ANY.to_owned(), |id| id.to_string())
}

fn stored_query(filter: &TraceFilter) -> TurnQuery {
    let session = filter.session.clone().map(SessionKey::from_text);
    let of_schedule = filter.schedule.flatten().map(ScheduleId::session);
    TurnQuery {
        session: session.or(of_schedule),
        scheduled: filter.schedule.is_some(),
        tool: filter.tool.clone(),
        failed: filter.failed,
        since_ms: filter.since.map(since_ms),
        most: usize::from(filter.limit),
    }
}

fn since_ms(since: Duration) -> u64 {
    let now = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or_default();
    now.saturating_sub(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn stored_line(line: &TurnLine) -> Value {
    let mut json = serde_json::to_value(line).unwrap_or_default();
    json["layer"] = json!(line.code.map(Code::layer));
    json
}

fn stored_turn(turn: TurnId, nodes: &[Node]) -> Value {
    let place = nodes.iter().find_map(|node| node.place.as_deref());
    let shown = nodes.iter().map(|node| {
        let mut json = serde_json::to_value(node).unwrap_or_default();
        json["layer"] = json!(node.layer());
        json
    });
    let caller = place.map(|place| &place.caller);
    json!({
        "turn": turn.to_string(), "platform": caller.map(|c| c.platform), "account": caller.map(|c| &c.account),
        "tenant": caller.map(|c| &c.tenant), "space": caller.and_then(|c| c.space.as_ref()),
        "conversation": caller.map(|c| &c.conversation), "session": place.map(|place| &place.session),
        "sender": caller.map(|c| &c.sender), "nodes": shown.collect::<Vec<_>>(),
    })
}

fn row(line: &Value) -> Vec<String> {
    let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
    let place = format!("{} · {}", text("platform"), text("sender"));
    let took = line["duration_us"].as_u64().map(duration).unwrap_or_default();
    let state = read(&line["state"]).unwrap_or(State::Unknown);
    let ended = if state == State::Parked { "waits".to_owned() } else { ending(state, read(&line["code"])) };
    vec![
        when(line["started_us"].as_u64().unwrap_or_default()),
        text("turn"),
        place,
        contract::text::cut(&text("asked"), 48),
        line["calls"].as_u64().map(|n| n.to_string()).unwrap_or_default(),
        took,
        ended,
    ]
}

fn drawn(turn: TurnId, json: &Value) -> String {
    let text = |value: &Value| value.as_str().map(|text| contract::text::one_line(text, 200));
    let nodes: Vec<_> = json["nodes"].as_array().into_iter().flatten().filter_map(|value| node(turn, value)).collect();
    let mut lines = vec![format!("reference  {turn}")];
    let started = nodes.iter().map(|node| node.started_us).min();
    lines.extend(started.map(|us| format!("started    {}", when(us))));
    let sender = text(&json["sender"]["name"]).filter(|name| !name.is_empty()).or_else(|| text(&json["sender"]["id"]));
    let place = [text(&json["platform"]), text(&json["account"]), text(&json["conversation"])];
    lines.push(format!("where      {}", place.into_iter().flatten().collect::<Vec<_>>().join(" / ")));
    for (name, value) in [("who", sender), ("tenant", text(&json["tenant"])), ("session", text(&json["session"]))] {
        lines.extend(value.map(|value| format!("{name:<10} {value}")));
    }
    let asked =
        text(&json["asked"]).or_else(|| nodes.iter().find(|n| n.kind == NodeKind::Turn).map(|n| n.args.clone()));
    lines.extend(asked.map(|asked| format!("asked      {}", contract::text::one_line(&asked, 200))));
    lines.push(String::new());
    lines.push(tree::draw(&nodes, tree::Style { ink: Ink::for_stdout(), details: true }));
    lines.join("\n")
}

/// Whole arguments and results, where tools keep them.
fn bodies(json: &Value) -> String {
    let mut text = String::new();
    for node in json["nodes"].as_array().into_iter().flatten() {
        let Some(bodies) = node["bodies"].as_object() else { continue };
        let name = |key: &str| node[key].as_str().unwrap_or_default();
        text.push_str(&format!("\n\n{} {}", name("tool"), name("path")));
        for part in ["args", "result"] {
            let body = bodies.get(part).and_then(Value::as_str).unwrap_or_default();
            text.push_str(&format!("\n{part}:\n{}", shown(body)));
        }
    }
    match text.is_empty() {
        true => "\n\nno call of it keeps its bodies; a tool that says 'full_payload_log' does".to_owned(),
        false => text,
    }
}

/// Nothing of it moves a terminal's cursor.
fn shown(body: &str) -> String {
    body.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect()
}

/// A node as the API shows it; what this version does not know of it is left out.
pub(super) fn node(turn: TurnId, value: &Value) -> Option<Node> {
    let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let call = CallId(u32::try_from(value["call"].as_u64()?).ok()?);
    let mut node = Node::new(turn, call, read(&value["kind"]).unwrap_or(NodeKind::Call), value["started_us"].as_u64()?);
    node.parent = value["parent"].as_u64().and_then(|parent| u32::try_from(parent).ok()).map(CallId);
    node.path = value["path"].as_str().and_then(|path| CallPath::try_from(path.to_owned()).ok());
    node.tool = text("tool");
    node.state = read(&value["state"]).unwrap_or(State::Unknown);
    node.code = read(&value["code"]);
    node.duration_us = value["duration_us"].as_u64();
    node.queued_us = value["queued_us"].as_u64().unwrap_or_default();
    node.attempts = value["attempts"].as_u64().and_then(|n| u32::try_from(n).ok()).unwrap_or_default();
    node.args = text("args");
    node.result = text("result");
    node.detail = text("detail");
    node.marks = read(&value["marks"]).unwrap_or_default();
    node.told = text("told");
    node.usage = read(&value["usage"]);
    Some(node)
}

fn read<T: DeserializeOwned>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}

pub(super) fn when(us: u64) -> String {
    let at = i64::try_from(us).ok().and_then(|us| jiff::Timestamp::from_microsecond(us).ok());
    at.map(|at| at.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()).unwrap_or_default()
}
