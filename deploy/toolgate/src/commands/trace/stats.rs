//! `trace stats` and `trace audit`: how calls fared, what stands out, and their events.

use std::time::Duration;

use contract::{
    Platform, TurnId,
    records::{AuditQuery, StatsBy, ToolStats},
};
use serde_json::Value;

use super::{super::Said, ask, fared, since_ms, when};
use crate::{
    cli::{AuditFilter, Exit, Remote, StatsFilter},
    config::Config,
    ink::duration,
    table::{self, number, text},
};

/// Statistics go back this far unless it is said otherwise.
const SINCE: Duration = Duration::from_secs(24 * 3_600);

/// How each tool fared, or whatever else calls are told apart by.
pub async fn stats(config: &Config, filter: &StatsFilter, remote: &Remote) -> Said {
    if let Some(schedule) = &filter.schedule {
        return fared::stats(config, *schedule, filter.since, remote).await;
    }
    let since = filter.since.unwrap_or(SINCE);
    let by = filter.by.as_deref().unwrap_or("tool");
    let mut query = vec![("since", format!("{}s", since.as_secs().max(1)))];
    if filter.unusual {
        query.push(("unusual", "true".to_owned()));
    } else if by != "tool" {
        query.push(("by", by.to_owned()));
    }
    let asked = ask(config, remote, "/v1/stats", &query, |stores| async move {
        if filter.unusual {
            let found = dispatch::unusual(&stores, since_ms(since), since_ms(Duration::ZERO)).await;
            return Ok(web::unusual_shown(&found.map_err(|down| down.to_string())?));
        }
        let measures = stores.trees.measures(since_ms(since)).await.map_err(|down| down.to_string())?;
        let apart = web::by_of(by).unwrap_or(StatsBy::Tool);
        Ok(web::stats_shown(&ToolStats::all(&measures, apart), by))
    });
    match asked.await {
        Ok((json, teller)) if filter.unusual => Said::told(unusual(&json), json).by(&teller),
        Ok((json, teller)) => Said::told(fared_by(by, &json), json).by(&teller),
        Err(said) => said,
    }
}

fn fared_by(by: &str, json: &Value) -> String {
    let none = "no tool was called in that time";
    if by == "code" {
        let rows = json["codes"].as_array().into_iter().flatten().map(|of| {
            let word = |name: &str| of[name].as_str().unwrap_or_default().to_owned();
            vec![word("code"), of["calls"].as_u64().unwrap_or_default().to_string(), word("mostly")]
        });
        return table::draw(&[text("code"), number("calls"), text("mostly of")], rows, none);
    }
    // Titles of columns are fixed words.
    let title = match by {
        "platform" => "platform",
        "tenant" => "tenant",
        _ => "tool",
    };
    let columns =
        [text(title), number("calls"), number("ok"), number("p50"), number("p95"), number("p99"), text("failures")];
    let rows = json[format!("{by}s")].as_array().into_iter().flatten().map(|of| row(of, by));
    table::draw(&columns, rows, none)
}

fn row(of: &Value, by: &str) -> Vec<String> {
    let (calls, ok) = (of["calls"].as_u64().unwrap_or_default(), of["ok"].as_u64().unwrap_or_default());
    let percent = if calls == 0 { String::new() } else { format!("{:.1} %", ok as f64 * 100.0 / calls as f64) };
    let failed = of["failed"].as_object().into_iter().flatten().map(|(code, n)| format!("{n} {code}"));
    let time = |name: &str| of[name].as_u64().map(duration).unwrap_or_default();
    let name = contract::text::one_line(of[by].as_str().unwrap_or_default(), 64);
    let failed = failed.collect::<Vec<_>>().join(", ");
    vec![name, calls.to_string(), percent, time("p50_us"), time("p95_us"), time("p99_us"), failed]
}

fn unusual(json: &Value) -> String {
    let found = json["unusual"].as_array().into_iter().flatten().map(|of| {
        let word = |name: &str| contract::text::one_line(of[name].as_str().unwrap_or_default(), 80);
        match of["kind"].as_str() {
            Some("rise") => format!(
                "{} was called {} times in the 15 minutes from {}; usual are {}",
                word("tool"),
                of["calls"],
                when(of["from_ms"].as_u64().unwrap_or_default() * 1_000),
                of["usual"]
            ),
            _ => {
                let tools = of["tools"].as_array().into_iter().flatten().filter_map(Value::as_str);
                let tools = tools.collect::<Vec<_>>().join(", ");
                let (session, turn) = (word("session"), word("turn"));
                format!("{session} called one after the other what nobody else does: {tools}; see trace show {turn}")
            }
        }
    });
    let found: Vec<_> = found.collect();
    if found.is_empty() { "nothing stands out".to_owned() } else { found.join("\n") }
}

/// Events of calls, newest first.
pub async fn audit(config: &Config, filter: &AuditFilter, remote: &Remote) -> Said {
    let turn = match filter.turn.as_deref().map(str::parse::<TurnId>).transpose() {
        Ok(turn) => turn,
        Err(_) => return Said::failed(Exit::Usage, "not a reference: those have 26 letters and digits".to_owned()),
    };
    let query = query(filter);
    let asked = ask(config, remote, "/v1/audit", &query, |stores| async move {
        let query = AuditQuery {
            turn,
            tool: filter.tool.clone(),
            platform: filter.platform,
            tenant: filter.tenant.clone(),
            failed: filter.failed,
            since_ms: filter.since.map(since_ms),
            most: usize::from(filter.limit),
        };
        let events = stores.audit.audited(&query).await.map_err(|down| down.to_string())?;
        Ok(web::audit_shown(&events))
    });
    match asked.await {
        Ok((json, teller)) => {
            let columns = [
                text("when"),
                text("reference"),
                text("where"),
                text("tenant"),
                text("tool"),
                number("took"),
                text("ended"),
                text("arguments"),
            ];
            let rows = json["events"].as_array().into_iter().flatten().map(event);
            Said::told(table::draw(&columns, rows, "nothing fits"), json).by(&teller)
        }
        Err(said) => said,
    }
}

fn query(filter: &AuditFilter) -> Vec<(&'static str, String)> {
    let mut query = vec![("limit", filter.limit.to_string())];
    query.extend(filter.turn.clone().map(|turn| ("turn", turn)));
    query.extend(filter.tool.clone().map(|tool| ("tool", tool)));
    query.extend(filter.platform.map(|platform: Platform| ("platform", platform.to_string())));
    query.extend(filter.tenant.clone().map(|tenant| ("tenant", tenant)));
    query.extend(filter.failed.then(|| ("failed", "true".to_owned())));
    query.extend(filter.since.map(|since| ("since", format!("{}s", since.as_secs().max(1)))));
    query
}

fn event(of: &Value) -> Vec<String> {
    let word = |value: &Value| contract::text::one_line(value.as_str().unwrap_or_default(), 48);
    let sender = Some(word(&of["sender"]["name"])).filter(|name| !name.is_empty());
    let sender = sender.unwrap_or_else(|| word(&of["sender"]["id"]));
    let ended = of["code"].as_str().unwrap_or("ok").to_owned();
    vec![
        when(of["at_ms"].as_u64().unwrap_or_default() * 1_000),
        word(&of["turn"]),
        format!("{} · {sender}", word(&of["platform"])),
        word(&of["tenant"]),
        word(&of["tool"]),
        of["duration_us"].as_u64().map(duration).unwrap_or_default(),
        ended,
        word(&of["args"]),
    ]
}
