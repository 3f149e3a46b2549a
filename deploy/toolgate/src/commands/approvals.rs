//! `approvals list`, `show`, `approve` and `deny`: of the running gateway, whose turns wait for them.

use contract::records::ApprovalId;
use serde_json::{Value, json};

use super::{Said, remote::Gateway};
use crate::{
    cli::{Exit, Remote},
    config::Config,
    table::{self, text},
};

/// What waits for an answer.
pub async fn approvals(config: &Config, remote: &Remote) -> Said {
    let gateway = match Gateway::at(config, remote).await {
        Ok(gateway) => gateway,
        Err(said) => return said,
    };
    match gateway.get("/v1/approvals", &[]).await {
        Ok(json) => Said::told(listed(&json), json).by(&gateway.teller()),
        Err(trouble) => gateway.said(trouble),
    }
}

pub async fn approval(config: &Config, id: &str, remote: &Remote) -> Said {
    let id = match id.parse::<ApprovalId>() {
        Ok(id) => id,
        Err(why) => return Said::failed(Exit::Usage, why.to_string()),
    };
    let gateway = match Gateway::at(config, remote).await {
        Ok(gateway) => gateway,
        Err(said) => return said,
    };
    match gateway.get(&format!("/v1/approvals/{id}"), &[]).await {
        Ok(json) => Said::told(one(&json), json).by(&gateway.teller()),
        Err(trouble) => gateway.said(trouble),
    }
}

/// `session`: also the very same call again in its session.
pub async fn allow(config: &Config, id: &str, session: bool, remote: &Remote) -> Said {
    answer(config, id, json!({ "answer": "allow", "session": session }), remote).await
}

pub async fn deny(config: &Config, id: &str, why: &str, remote: &Remote) -> Said {
    answer(config, id, json!({ "answer": "deny", "why": why }), remote).await
}

async fn answer(config: &Config, id: &str, answer: Value, remote: &Remote) -> Said {
    let id = match id.parse::<ApprovalId>() {
        Ok(id) => id,
        Err(why) => return Said::failed(Exit::Usage, why.to_string()),
    };
    let gateway = match Gateway::at(config, remote).await {
        Ok(gateway) => gateway,
        Err(said) => return said,
    };
    match gateway.post(&format!("/v1/approvals/{id}"), &[], answer.to_string()).await {
        Ok(json) => Said::told(word(&json, "said"), json),
        Err(trouble) => gateway.said(trouble),
    }
}

fn word(row: &Value, name: &str) -> String {
    contract::text::one_line(row[name].as_str().unwrap_or_default(), 200)
}

fn clock(row: &Value, name: &str) -> String {
    contract::notice::clock(row[name].as_u64().unwrap_or_default())
}

fn asker(row: &Value) -> String {
    if word(row, "sender").is_empty() {
        return "somebody who was forgotten since".to_owned();
    }
    format!("{}:{}/{} ({})", word(row, "platform"), word(row, "account"), word(row, "sender"), word(row, "name"))
}

fn listed(json: &Value) -> String {
    let rows = json["approvals"].as_array().cloned().unwrap_or_default();
    let rows = rows.into_iter().map(|row| {
        vec![
            word(&row, "id"),
            word(&row, "tool"),
            asker(&row),
            word(&row, "by"),
            clock(&row, "until_ms"),
            word(&row, "args"),
        ]
    });
    let columns = [text("id"), text("tool"), text("who asked"), text("by"), text("until"), text("arguments")];
    table::draw(&columns, rows, "no call waits for an answer")
}

fn one(json: &Value) -> String {
    let people = |name: &str| {
        let all = json[name].as_array().cloned().unwrap_or_default();
        all.iter()
            .map(|who| match word(who, "sender").is_empty() {
                true => format!("somebody who was forgotten since, at {}", clock(who, "at_ms")),
                false => format!(
                    "{} ({}:{}) at {}",
                    word(who, "name"),
                    word(who, "platform"),
                    word(who, "sender"),
                    clock(who, "at_ms")
                ),
            })
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut lines = vec![
        format!("{}  {}  {}", word(json, "id"), word(json, "tool"), word(json, "state")),
        format!("asked by {} at {}, until {}", asker(json), clock(json, "asked_ms"), clock(json, "until_ms")),
        format!("turn {}, call {}, by {}", word(json, "turn"), word(json, "path"), word(json, "by")),
        format!("rule: {}", word(json, "rule")),
    ];
    for (label, who) in [("agreed so far", people("yes")), ("decided by", people("decided_by"))] {
        if !who.is_empty() {
            lines.push(format!("{label}: {who}"));
        }
    }
    if json["why"].is_string() {
        lines.push(format!("why: {}", word(json, "why")));
    }
    if json["said_by_model"].is_string() {
        lines.push(format!("a model says: {}", word(json, "said_by_model")));
    }
    lines.push(String::new());
    let args = json["args"].as_str().unwrap_or_default();
    lines.extend(args.lines().map(|line| contract::text::one_line(line, args.len())));
    lines.join("\n")
}
