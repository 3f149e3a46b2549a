//! `session list|show|reset|forget`: of the running gateway, else of the store.

use std::future::Future;

use contract::records::{Erased, Item, Session, SessionQuery, Stores};
use dispatch::session_of;
use serde_json::{Value, json};

use super::{
    Said, Teller,
    pairing::encoded,
    remote::{Gateway, Trouble},
};
use crate::{
    cli::{Exit, Remote, SessionFilter, Whom},
    config::{Config, Store},
    run::gateway::open_store,
    table::{self, number, text},
};

/// Most lines that are asked for.
const LINES: usize = 200;

/// The last used first.
pub async fn sessions(config: &Config, filter: &SessionFilter, remote: &Remote) -> Said {
    let mut query = vec![("limit", LINES.to_string())];
    query.extend(filter.platform.map(|platform| ("platform", platform.to_string())));
    let gateway = match Gateway::at(config, remote).await {
        Ok(gateway) => gateway,
        Err(said) => return said,
    };
    let asked = gateway.get("/v1/sessions", &query).await;
    let stored = |stores: Stores| async move {
        let query = SessionQuery { platform: filter.platform, most: LINES, ..SessionQuery::default() };
        let sessions = stores.sessions.list(&query).await.map_err(|down| down.to_string())?;
        Ok(json!({ "sessions": sessions.iter().map(stored_line).collect::<Vec<_>>() }))
    };
    match else_stored(config, &gateway, asked, stored).await {
        Ok((json, teller)) => {
            let columns = [text("id"), text("where"), text("owner"), text("used"), number("turns"), text("title")];
            let rows = json["sessions"].as_array().into_iter().flatten().map(row);
            Said::told(table::draw(&columns, rows, "nothing is remembered"), json).by(&teller)
        }
        Err(said) => said,
    }
}

/// One with what it remembers.
pub async fn session(config: &Config, which: &str, remote: &Remote) -> Said {
    let gateway = match Gateway::at(config, remote).await {
        Ok(gateway) => gateway,
        Err(said) => return said,
    };
    let asked = gateway.get(&format!("/v1/sessions/{}", encoded(which)), &[]).await;
    let stored = |stores: Stores| async move {
        let session = stored_session(&stores, which).await?;
        let items = stores.sessions.items(&session, None, LINES).await.map_err(|down| down.to_string())?;
        let mut json = stored_line(&session);
        json["items"] = items.iter().map(stored_item).collect();
        Ok(json)
    };
    match else_stored(config, &gateway, asked, stored).await {
        Ok((json, teller)) => Said::told(drawn(&json), json).by(&teller),
        Err(said) => said,
    }
}

/// Forgets one; the next message there begins anew.
pub async fn reset(config: &Config, which: &str, remote: &Remote) -> Said {
    let gateway = match Gateway::at(config, remote).await {
        Ok(gateway) => gateway,
        Err(said) => return said,
    };
    let asked = gateway.delete(&format!("/v1/sessions/{}", encoded(which))).await;
    let stored = |stores: Stores| async move {
        let session = stored_session(&stores, which).await?;
        stores.sessions.erase(&session).await.map_err(|down| down.to_string())?;
        Ok(json!({ "reset": true }))
    };
    match else_stored(config, &gateway, asked, stored).await {
        Ok((_, teller)) => {
            let text = "it is forgotten; the next message there begins anew".to_owned();
            Said::told(text, json!({ "reset": true })).by(&teller)
        }
        Err(said) => said,
    }
}

/// Erases what is stored of a person.
pub async fn forget(config: &Config, whom: &Whom, remote: &Remote) -> Said {
    let gateway = match Gateway::at(config, remote).await {
        Ok(gateway) => gateway,
        Err(said) => return said,
    };
    let body = json!({ "platform": whom.platform.as_str(), "account": whom.account, "sender": whom.sender });
    let asked = gateway.post("/v1/forget", &[], body.to_string()).await;
    let stored = |stores: Stores| async move {
        let person = contract::records::Person {
            platform: whom.platform,
            account: whom.account.clone(),
            space: None,
            sender: whom.sender.clone(),
        };
        let erased: Erased = stores.people.forget(&person).await.map_err(|down| down.to_string())?;
        Ok(serde_json::to_value(erased).unwrap_or_default())
    };
    match else_stored(config, &gateway, asked, stored).await {
        Ok((json, teller)) => Said::told(erased(whom, &json), json).by(&teller),
        Err(said) => said,
    }
}

/// The gateway's answer; the store's when no gateway answers and none was named.
async fn else_stored<F, Fut>(
    config: &Config,
    gateway: &Gateway,
    asked: Result<Value, Trouble>,
    stored: F,
) -> Result<(Value, Teller), Said>
where
    F: FnOnce(Stores) -> Fut,
    Fut: Future<Output = Result<Value, String>>,
{
    let away = match asked {
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

async fn stored_session(stores: &Stores, which: &str) -> Result<Session, String> {
    let found = session_of(&*stores.sessions, which).await.map_err(|down| down.to_string())?;
    found.ok_or_else(|| "there is no such session".to_owned())
}

/// As the API tells it.
fn stored_line(session: &Session) -> Value {
    json!({
        "id": session.id.to_string(), "key": session.place.as_str(), "platform": session.owner.platform.as_str(),
        "account": session.owner.account, "space": session.owner.space, "owner": session.owner.sender,
        "tenant": session.tenant, "title": session.title, "began_ms": session.began_ms, "used_ms": session.used_ms,
        "turns": session.turns, "summary": session.summary, "tools": session.mounted, "allowed": session.allowed.len(),
    })
}

fn stored_item(item: &Item) -> Value {
    let calls = item.steps.iter().flat_map(|step| &step.calls);
    let calls: Vec<Value> = calls.map(|call| json!({ "tool": call.tool, "failed": call.failed })).collect();
    json!({ "turn": item.turn.to_string(), "sender": item.sender, "asked": item.asked, "answered": item.answered,
            "calls": calls })
}

fn word(json: &Value, name: &str) -> String {
    contract::text::one_line(json[name].as_str().unwrap_or_default(), 200)
}

fn when(json: &Value, name: &str) -> String {
    contract::notice::moment(json[name].as_u64().unwrap_or_default())
}

fn row(json: &Value) -> Vec<String> {
    let turns = json["turns"].as_u64().unwrap_or_default().to_string();
    vec![
        word(json, "id"),
        word(json, "key"),
        word(json, "owner"),
        when(json, "used_ms"),
        turns,
        contract::text::cut(&word(json, "title"), 40),
    ]
}

fn drawn(json: &Value) -> String {
    let tools = json["tools"].as_array().map(|names| {
        let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
        contract::text::one_line(&names.join(", "), 200)
    });
    let mut lines = vec![
        format!("session  {}", word(json, "id")),
        format!("where    {}", word(json, "key")),
        format!("owner    {}", word(json, "owner")),
        format!("tenant   {}", word(json, "tenant")),
        format!("began    {}", when(json, "began_ms")),
        format!("used     {}, {} turns", when(json, "used_ms"), json["turns"]),
        format!("tools    {}", tools.unwrap_or_else(|| "all that policy shows".to_owned())),
    ];
    if let Some(summary) = json["summary"].as_str() {
        lines.push(format!("notes    {}", contract::text::one_line(summary, 1_500)));
    }
    for item in json["items"].as_array().into_iter().flatten() {
        let sender = word(item, "sender");
        let who = if sender.is_empty() { "they".to_owned() } else { sender };
        lines.push(format!("\n{who}: {}", word(item, "asked")));
        for call in item["calls"].as_array().into_iter().flatten() {
            let failed = if call["failed"] == true { " (failed)" } else { "" };
            lines.push(format!("  {}{failed}", word(call, "tool")));
        }
        lines.push(format!("  → {}", word(item, "answered")));
    }
    lines.join("\n")
}

fn erased(whom: &Whom, json: &Value) -> String {
    let count = |name: &str| json[name].as_u64().unwrap_or_default();
    let mut lines = vec![
        format!("erased of {}:{}/{}:", whom.platform, whom.account, whom.sender),
        format!("  {} sessions, whole", count("sessions")),
        format!("  {} turns out of sessions that others share, with the notes on those", count("items")),
        format!("  {} facts that were kept", count("facts")),
        format!("  {} records of answered turns: of each the key of its message stays for a day", count("records")),
        format!("  {} call trees", count("trees")),
        format!("  {} approvals that they asked for or answered: what was decided stays for a day", count("approvals")),
    ];
    match json["pairing"].as_bool() {
        Some(true) => lines.push("  that they had been let in".to_owned()),
        Some(false) => {}
        None => lines.push("whether they were let in is the gateway's: toolgate pairing remove".to_owned()),
    }
    if count("open") > 0 {
        lines.push(format!(
            "{} turns are under way and were left alone: run it again when they have ended",
            count("open")
        ));
    }
    lines.join("\n")
}
