//! `pairing list`, `pairing approve` and `pairing remove`: of the running gateway, which alone knows who asks.

use reqwest::StatusCode;
use serde_json::Value;

use super::{
    Said,
    remote::{Gateway, Trouble},
};
use crate::{
    cli::{Exit, Person, Remote},
    config::Config,
    table::{self, number, text},
};

/// Who asks, and who was let in.
pub async fn pairings(config: &Config, remote: &Remote) -> Said {
    let gateway = match Gateway::at(config, remote).await {
        Ok(gateway) => gateway,
        Err(said) => return said,
    };
    match gateway.get("/v1/pairings", &[]).await {
        Ok(json) => Said::told(listed(&json), json).by(&gateway.teller()),
        Err(trouble) => gateway.said(trouble),
    }
}

fn listed(json: &Value) -> String {
    let rows = |list: &str| json[list].as_array().cloned().unwrap_or_default();
    let word = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let person = |row: &Value| format!("{}:{}/{}", word(row, "platform"), word(row, "account"), word(row, "sender"));
    let asking = rows("waiting").into_iter().map(|row| {
        let minutes = row["left_s"].as_u64().unwrap_or_default().div_ceil(60);
        vec![word(&row, "code"), person(&row), word(&row, "name"), minutes.to_string()]
    });
    let asks =
        table::draw(&[text("code"), text("who asks"), text("name"), number("minutes left")], asking, "nobody asks");
    let people = rows("people").into_iter().map(|row| vec![person(&row), word(&row, "name")]);
    let let_in = table::draw(&[text("let in"), text("name")], people, "nobody was let in");
    format!("{asks}\n\n{let_in}")
}

/// Lets in whose code it is.
pub async fn approve(config: &Config, code: &str, remote: &Remote) -> Said {
    // What is no letter or digit is in no code, and in no path.
    let code: String = code.chars().filter(char::is_ascii_alphanumeric).collect();
    if code.is_empty() {
        return Said::failed(Exit::Usage, "a code has eight letters and digits");
    }
    let gateway = match Gateway::at(config, remote).await {
        Ok(gateway) => gateway,
        Err(said) => return said,
    };
    match gateway.post(&format!("/v1/pairings/{code}/approve"), &[], String::new()).await {
        Ok(json) => {
            let word = |name: &str| contract::text::one_line(json[name].as_str().unwrap_or_default(), 64);
            let person = format!("{}:{}/{}", word("platform"), word("account"), word("sender"));
            Said::told(format!("{person} ({}) is heard from now on", word("name")), json)
        }
        Err(Trouble::Refused(StatusCode::NOT_FOUND, Value::Object(mut problem))) => {
            let hint = "a code holds for an hour; `toolgate pairing list` shows who asks";
            problem.insert("hint".to_owned(), hint.into());
            gateway.said(Trouble::Refused(StatusCode::NOT_FOUND, Value::Object(problem)))
        }
        Err(trouble) => gateway.said(trouble),
    }
}

/// Lets a person in no more.
pub async fn remove(config: &Config, person: &Person, remote: &Remote) -> Said {
    let gateway = match Gateway::at(config, remote).await {
        Ok(gateway) => gateway,
        Err(said) => return said,
    };
    let Person { platform, account, sender } = person;
    let path = format!("/v1/pairings/{platform}/{}/{}", encoded(account), encoded(sender));
    match gateway.delete(&path).await {
        Ok(_) => Said::told(
            format!("{platform}:{account}/{sender} is heard no more, unless 'gating.allowlist' names them"),
            serde_json::json!({ "removed": true }),
        ),
        Err(trouble @ Trouble::Refused(..)) => gateway.said(trouble),
        Err(trouble) => trouble.said(),
    }
}

/// As one part of a path.
pub(super) fn encoded(part: &str) -> String {
    let mut out = String::with_capacity(part.len());
    for byte in part.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
