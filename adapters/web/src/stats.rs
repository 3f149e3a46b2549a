//! `GET /v1/stats` and `GET /v1/audit`: how calls fared, what stands out, and the events of single calls.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Extension, Json,
    extract::State,
    http::Uri,
    response::{IntoResponse, Response},
};
use contract::{
    Platform, TurnId,
    records::{AuditEvent, AuditQuery, StatsBy, ToolStats},
};
use dispatch::Unusual;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{body, gate::Who, problem::Problem, routes::App, traces};

/// Statistics go back this far unless the request says otherwise.
const SINCE: &str = "24h";
/// Events of an answer unless the request says otherwise, and at most.
const EVENTS: usize = 100;
const EVENTS_MAX: usize = 1_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Window {
    since: Option<String>,
    schedule: Option<String>,
    by: Option<String>,
    unusual: Option<bool>,
}

/// How each tool fared, and how busy the gateway is.
pub async fn stats(State(app): State<Arc<App>>, Extension(who): Extension<Who>, uri: Uri) -> Result<Response, Problem> {
    who.operator()?;
    let window: Window = body::query(&uri)?;
    if window.schedule.is_some() {
        return traces::stats_of_schedules(&app, window.schedule, window.since).await;
    }
    let since = body::since("since", Some(window.since.as_deref().unwrap_or(SINCE)), body::now_ms())?;
    if window.unusual == Some(true) {
        let found = app.gateway.unusual(since.unwrap_or_default()).await?;
        return Ok(Json(unusual_shown(&found)).into_response());
    }
    let by = window.by.as_deref().unwrap_or("tool");
    let stats = match (by, by_of(by)) {
        (_, Some(by)) => ToolStats::all(&app.gateway.measures(since.unwrap_or_default()).await?, by),
        ("code", None) => app.gateway.stats(since.unwrap_or_default()).await?,
        _ => return Err(Problem::invalid("by", "tool, platform, tenant or code", Some(by))),
    };
    let mut shown = stats_shown(&stats, by);
    shown["since_ms"] = json!(since);
    if by == "tool" {
        add_load(&app, &mut shown);
    }
    Ok(Json(shown).into_response())
}

/// What is told besides of the process at work.
fn add_load(app: &App, shown: &mut Value) {
    let spent = app.gateway.spent();
    // Since this process began.
    let models = spent.iter().map(|spent| {
        let usage = &spent.usage;
        json!({ "tenant": spent.tenant, "model": spent.model, "steps": spent.steps, "failed": spent.failed,
            "input": usage.input, "cached": usage.cached, "output": usage.output, "cost_micros": usage.cost_micros })
    });
    shown["models"] = models.collect();
    let (lanes, deliveries, running) = app.gateway.load();
    shown["load"] = json!({ "conversations": lanes, "deliveries": deliveries, "turns": running });
    let traces = app.gateway.trace_health();
    shown["trace_records"] = json!({ "waiting": traces.waiting, "dropped": traces.dropped });
}

/// The word for it, where calls are told apart by it.
pub fn by_of(word: &str) -> Option<StatsBy> {
    match word {
        "tool" => Some(StatsBy::Tool),
        "platform" => Some(StatsBy::Platform),
        "tenant" => Some(StatsBy::Tenant),
        _ => None,
    }
}

/// `stats` are of tools for `tool` and `code`, else of what `by` names.
pub fn stats_shown(stats: &[ToolStats], by: &str) -> Value {
    let one = |stats: &ToolStats, name: &str| {
        let failed: Map<_, _> = stats.failed.iter().map(|(code, n)| (code.as_str().to_owned(), json!(n))).collect();
        json!({ name: stats.tool, "calls": stats.calls, "ok": stats.ok, "failed": failed,
            "p50_us": stats.p50_us, "p95_us": stats.p95_us, "p99_us": stats.p99_us })
    };
    match by {
        "platform" => json!({ "platforms": stats.iter().map(|s| one(s, "platform")).collect::<Vec<_>>() }),
        "tenant" => json!({ "tenants": stats.iter().map(|s| one(s, "tenant")).collect::<Vec<_>>() }),
        "code" => json!({ "codes": codes(stats) }),
        _ => json!({ "tools": stats.iter().map(|s| one(s, "tool")).collect::<Vec<_>>() }),
    }
}

/// What became of all calls, the most first, each with the tool that had it most often.
fn codes(stats: &[ToolStats]) -> Vec<Value> {
    let mut codes = BTreeMap::<&str, (u64, u64, &str)>::new();
    for tool in stats {
        let failed = tool.failed.iter().map(|(code, n)| (code.as_str(), *n));
        for (code, n) in failed.chain([("ok", tool.ok)]).filter(|(_, n)| *n > 0) {
            let (sum, most, name) = codes.entry(code).or_insert((0, 0, ""));
            *sum += n;
            if n > *most {
                (*most, *name) = (n, &tool.tool);
            }
        }
    }
    let mut codes: Vec<_> = codes.into_iter().collect();
    codes.sort_by_key(|(_, (sum, ..))| std::cmp::Reverse(*sum));
    codes.iter().map(|(code, (n, _, most))| json!({ "code": code, "calls": n, "mostly": most })).collect()
}

pub fn unusual_shown(found: &[Unusual]) -> Value {
    let shown = found.iter().map(|unusual| match unusual {
        Unusual::Rise { tool, from_minute, calls, usual } => json!({
            "kind": "rise", "tool": tool, "from_ms": from_minute * 60_000, "calls": calls,
            "usual": (usual * 10.0).round() / 10.0,
        }),
        Unusual::Row { session, turn, tools } => json!({
            "kind": "row", "session": session, "turn": turn.to_string(), "tools": tools,
        }),
    });
    json!({ "unusual": shown.collect::<Vec<_>>() })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    turn: Option<String>,
    tool: Option<String>,
    platform: Option<String>,
    tenant: Option<String>,
    failed: Option<bool>,
    since: Option<String>,
    limit: Option<usize>,
}

/// Events of calls, newest first.
pub async fn audit(State(app): State<Arc<App>>, Extension(who): Extension<Who>, uri: Uri) -> Result<Response, Problem> {
    who.operator()?;
    let wanted: Wanted = body::query(&uri)?;
    let limit = wanted.limit.unwrap_or(EVENTS);
    if !(1..=EVENTS_MAX).contains(&limit) {
        return Err(Problem::invalid("limit", "1 to 1000", Some(&limit.to_string())));
    }
    let turn = wanted.turn.as_deref().map(str::parse::<TurnId>).transpose();
    let turn = turn.map_err(|_| Problem::invalid("turn", "a reference", wanted.turn.as_deref()))?;
    let platform = wanted.platform.as_deref().map(str::parse::<Platform>).transpose();
    let platform = platform.map_err(|_| Problem::invalid("platform", "a platform", wanted.platform.as_deref()))?;
    let query = AuditQuery {
        turn,
        tool: body::word("tool", wanted.tool)?,
        platform,
        tenant: body::word("tenant", wanted.tenant)?,
        failed: wanted.failed.unwrap_or(false),
        since_ms: body::since("since", wanted.since.as_deref(), body::now_ms())?,
        most: limit,
    };
    Ok(Json(audit_shown(&app.gateway.audited(&query).await?)).into_response())
}

pub fn audit_shown(events: &[AuditEvent]) -> Value {
    let events = events.iter().filter_map(|event| serde_json::from_str::<Value>(&event.text).ok());
    json!({ "events": events.collect::<Vec<_>>() })
}
