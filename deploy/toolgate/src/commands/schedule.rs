//! `schedule add`, `list`, `show`, `pause`, `resume`, `remove` and `run`: of the running gateway, whose clock they go by.

use contract::records::ScheduleId;
use serde_json::{Map, Value, json};

use super::{
    Said,
    remote::{Gateway, Trouble, named},
};
use crate::{
    cli::{Named, Remote, Wish},
    config::Config,
    table::{self, text},
};

/// Makes one.
pub async fn schedule_add(config: &Config, wish: &Wish, remote: &Remote) -> Said {
    let gateway = match Gateway::at(config, remote).await {
        Ok(gateway) => gateway,
        Err(said) => return said,
    };
    match gateway.post("/v1/schedules", &[], body(wish).to_string()).await {
        Ok(json) => Said::told(one(&json), json).by(&gateway.teller()),
        Err(trouble) => gateway.said(trouble),
    }
}

fn body(wish: &Wish) -> Value {
    let mut owner: Map<_, _> =
        named(&wish.owner).into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    owner.insert("account".into(), json!(wish.account));
    owner.entry("sender").or_insert_with(|| json!("operator"));
    json!({
        "say": wish.say, "when": wish.when, "zone": wish.zone, "name": wish.name, "missed": wish.missed, "to": wish.to,
        "owner": owner, "owner_name": wish.sender_name, "direct": wish.direct,
    })
}

pub async fn schedules(config: &Config, tenant: Option<&str>, remote: &Remote) -> Said {
    let gateway = match Gateway::at(config, remote).await {
        Ok(gateway) => gateway,
        Err(said) => return said,
    };
    let query: Vec<_> = tenant.map(|tenant| ("tenant", tenant.to_owned())).into_iter().collect();
    match gateway.get("/v1/schedules", &query).await {
        Ok(json) => Said::told(listed(&json), json).by(&gateway.teller()),
        Err(trouble) => gateway.said(trouble),
    }
}

pub async fn schedule(config: &Config, which: &Named) -> Said {
    ask(config, which, Ask::Show).await
}

pub async fn schedule_pause(config: &Config, which: &Named, why: Option<&str>) -> Said {
    ask(config, which, Ask::Pause(why)).await
}

pub async fn schedule_resume(config: &Config, which: &Named) -> Said {
    ask(config, which, Ask::Resume).await
}

pub async fn schedule_remove(config: &Config, which: &Named) -> Said {
    ask(config, which, Ask::Remove).await
}

pub async fn schedule_run(config: &Config, which: &Named) -> Said {
    ask(config, which, Ask::Run).await
}

/// What is to become of one.
enum Ask<'a> {
    Show,
    Pause(Option<&'a str>),
    Resume,
    Remove,
    Run,
}

impl Ask<'_> {
    async fn of(&self, gateway: &Gateway, id: ScheduleId) -> Result<Value, Trouble> {
        let path = format!("/v1/schedules/{id}");
        match self {
            Self::Show => gateway.get(&path, &[]).await,
            Self::Pause(why) => {
                let body = why.map_or_else(|| json!({}), |why| json!({ "why": why }));
                gateway.post(&format!("{path}/pause"), &[], body.to_string()).await
            }
            Self::Resume => gateway.post(&format!("{path}/resume"), &[], String::new()).await,
            Self::Remove => {
                gateway.delete(&path).await?;
                Ok(json!({ "id": id, "removed": true }))
            }
            Self::Run => gateway.post(&format!("{path}/run"), &[], String::new()).await,
        }
    }

    fn told(&self, json: &Value) -> String {
        match self {
            Self::Show | Self::Pause(_) | Self::Resume => one(json),
            Self::Remove => format!("{} is removed", word(json, "id")),
            Self::Run => {
                let turn = word(json, "turn");
                format!("{} runs now; what it does:\n\n  toolgate trace show {turn}", word(json, "id"))
            }
        }
    }
}

async fn ask(config: &Config, which: &Named, ask: Ask<'_>) -> Said {
    let gateway = match Gateway::at(config, &which.remote).await {
        Ok(gateway) => gateway,
        Err(said) => return said,
    };
    match ask.of(&gateway, which.id).await {
        Ok(json) => Said::told(ask.told(&json), json).by(&gateway.teller()),
        Err(trouble) => gateway.said(trouble),
    }
}

fn word(row: &Value, name: &str) -> String {
    contract::text::one_line(row[name].as_str().unwrap_or_default(), 400)
}

fn owner(row: &Value) -> String {
    let owner = &row["owner"];
    let who = format!("{}:{}/{}", word(owner, "platform"), word(owner, "account"), word(owner, "sender"));
    match word(owner, "name") {
        name if name.is_empty() || name == word(owner, "sender") => who,
        name => format!("{who} ({name})"),
    }
}

/// When it is due next, or why it is not.
fn next(row: &Value) -> String {
    match (&row["paused"], &row["next"]) {
        (Value::Object(_), _) => format!("paused: {}", word(&row["paused"], "why")),
        (_, Value::String(_)) => word(row, "next"),
        _ => "it is over".into(),
    }
}

fn listed(json: &Value) -> String {
    let rows = json["schedules"].as_array().cloned().unwrap_or_default();
    let rows = rows.iter().map(|row| {
        vec![word(row, "id"), word(row, "title"), word(row, "when"), next(row), owner(row), word(row, "to")]
    });
    let columns = [text("id"), text("what"), text("when"), text("next"), text("owner"), text("to")];
    table::draw(&columns, rows, "there is no schedule")
}

fn one(json: &Value) -> String {
    let missed = match json["missed"].as_str() {
        Some("skip") => "left out",
        _ => "the latest is made up for",
    };
    let mut lines = vec![
        format!("{}  {}", word(json, "id"), word(json, "title")),
        format!("says    {}", word(json, "say")),
        format!("when    {} ({}); missed runs: {missed}", word(json, "when"), word(json, "zone")),
        format!("next    {}", next(json)),
        format!("owner   {}, tenant {}", owner(json), word(&json["owner"], "tenant")),
        format!("to      {}", word(json, "to")),
    ];
    if json["last"].is_object() {
        let last = &json["last"];
        lines.push(format!("last    {}: toolgate trace show {}", word(last, "due"), word(last, "turn")));
    }
    let count = |name: &str| json[name].as_u64().filter(|n| *n > 0);
    lines.extend(
        count("left_out").map(|n| format!("left out {n} times: the gateway was away, or the run before was not over")),
    );
    lines.extend(count("refused").map(|n| format!("refused {n} times in a row for want of a right")));
    lines.join("\n")
}
