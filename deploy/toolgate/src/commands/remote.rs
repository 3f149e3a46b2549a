//! Asking the running gateway over HTTP, as an operator.

use std::{net::IpAddr, time::Duration};

use contract::Platform;
use reqwest::{RequestBuilder, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::{Said, Teller};
use crate::{
    cli::{Exit, Remote, Who},
    config::{Config, Secret},
};

/// A gateway of this machine answers at once; whoever names another waits a little.
const CONNECT: Duration = Duration::from_secs(2);
/// The longest call of a tool, and some more.
const ANSWER: Duration = Duration::from_secs(330);

/// The running gateway.
pub struct Gateway {
    http: reqwest::Client,
    base: String,
    token: Option<SecretString>,
    /// Why there is no token although the configuration names one: it matters only to a gateway that asks for it.
    untold: Option<String>,
    /// Whether the user named it: then nothing else will do.
    named: bool,
}

/// Why there is no answer.
pub enum Trouble {
    /// Nothing listens there.
    Away(String),
    /// It wants the token that the configuration names, which cannot be read here.
    Untold(String),
    /// It answered, but not what was asked.
    Refused(StatusCode, Value),
}

impl Gateway {
    pub async fn at(config: &Config, remote: &Remote) -> Result<Self, Said> {
        let (token, untold) = match &remote.token {
            Some(text) => {
                let secret = Secret::parse("--token", text, std::path::Path::new(""))
                    .map_err(|why| Said::failed(Exit::Usage, format!("--token: {why}")))?;
                let token = secret.read().await.map_err(|why| Said::failed(Exit::BadConfig, why.to_string()))?;
                (Some(token), None)
            }
            None => match &config.admin_token {
                Some(secret) => {
                    secret.read().await.map_or_else(|why| (None, Some(why.to_string())), |token| (Some(token), None))
                }
                None => (None, None),
            },
        };
        let http = reqwest::Client::builder().no_proxy().connect_timeout(CONNECT).timeout(ANSWER).build();
        let http = http.map_err(|error| Said::failed(Exit::Failed, format!("no HTTP client: {error}")))?;
        let base = remote.gateway.clone().unwrap_or_else(|| listening(config));
        Ok(Self { http, base: base.trim_end_matches('/').to_owned(), token, untold, named: remote.gateway.is_some() })
    }

    pub async fn get(&self, path: &str, query: &[(&str, String)]) -> Result<Value, Trouble> {
        self.send(self.http.get(format!("{}{path}", self.base)).query(query)).await
    }

    pub async fn post(&self, path: &str, query: &[(&str, String)], body: String) -> Result<Value, Trouble> {
        let request = self.http.post(format!("{}{path}", self.base)).query(query);
        self.send(request.header("content-type", "application/json").body(body)).await
    }

    /// A text that is no JSON.
    pub async fn post_text(&self, path: &str, query: &[(&str, String)], body: String) -> Result<Value, Trouble> {
        self.send(self.http.post(format!("{}{path}", self.base)).query(query).body(body)).await
    }

    /// With words about it.
    pub async fn delete_with(&self, path: &str, query: &[(&str, String)], body: String) -> Result<Value, Trouble> {
        let request = self.http.delete(format!("{}{path}", self.base)).query(query);
        self.send(request.header("content-type", "application/json").body(body)).await
    }

    pub async fn delete(&self, path: &str) -> Result<Value, Trouble> {
        self.send(self.http.delete(format!("{}{path}", self.base))).await
    }

    async fn send(&self, request: RequestBuilder) -> Result<Value, Trouble> {
        let request = match &self.token {
            Some(token) => request.bearer_auth(token.expose_secret()),
            None => request,
        };
        let answer = request.send().await.map_err(|error| Trouble::Away(self.away(&error)))?;
        let status = answer.status();
        if status == StatusCode::UNAUTHORIZED
            && let Some(why) = &self.untold
        {
            return Err(Trouble::Untold(why.clone()));
        }
        let body = answer.json().await.unwrap_or(Value::Null);
        if status.is_success() { Ok(body) } else { Err(Trouble::Refused(status, body)) }
    }

    fn away(&self, error: &reqwest::Error) -> String {
        let why = if error.is_timeout() { "did not answer in time" } else { "does not answer" };
        format!("the gateway at {} {why}", self.base)
    }

    /// Who answers when it does.
    pub fn teller(&self) -> Teller {
        Teller::Gateway(self.base.clone())
    }

    /// What is said of a trouble with it, and by whom.
    pub fn said(&self, trouble: Trouble) -> Said {
        match trouble {
            Trouble::Refused(_, Value::Null) | Trouble::Away(_) | Trouble::Untold(_) => trouble.said(),
            Trouble::Refused(..) => trouble.said().by(&self.teller()),
        }
    }

    /// Whether an answer may come from elsewhere when it is away.
    pub fn may_be_away(&self) -> bool {
        !self.named
    }
}

/// Where the configuration listens, as this machine reaches it.
fn listening(config: &Config) -> String {
    let mut address = config.listen;
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => IpAddr::from([127, 0, 0, 1]),
            IpAddr::V6(_) => IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]),
        });
    }
    format!("http://{address}")
}

impl Trouble {
    /// What is said of it; the problem itself for programs.
    pub fn said(self) -> Said {
        match self {
            Self::Away(why) => Said::failed(Exit::Failed, format!("{why}; name another with --gateway URL")),
            Self::Untold(why) => Said::failed(Exit::BadConfig, why),
            // No gateway answers without a body: what listens there is something else.
            Self::Refused(status, Value::Null) => {
                Said::failed(Exit::Failed, format!("what listens there answered {status}: is it a gateway?"))
            }
            Self::Refused(status, body) => {
                Said::refused(Exit::Failed, words(&body, &format!("the gateway answered {status}")), body)
            }
        }
    }
}

/// Problem details as lines: what is wrong (`otherwise` where they do not say), where, what to do, the reference.
pub(super) fn words(body: &Value, otherwise: &str) -> String {
    let error = &body["error"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let say = text(&body["detail"]).or_else(|| text(&error["message"])).or_else(|| text(&body["title"]));
    let mut lines = vec![say.unwrap_or_else(|| otherwise.to_owned())];
    let problems = body["problems"].as_array().or_else(|| error["problems"].as_array());
    for problem in problems.into_iter().flatten() {
        let part = |name: &str| text(&problem[name]).unwrap_or_default();
        let got = text(&problem["got"]).map_or_else(|| ", but it is missing".into(), |got| format!(", got {got}"));
        let hint = text(&problem["hint"]).map(|hint| format!(" ({hint})")).unwrap_or_default();
        lines.push(format!("  {}: expected {}{got}{hint}", part("path"), part("expected")));
    }
    let either = |name: &str| text(&body[name]).or_else(|| text(&error[name]));
    lines.extend(either("usage").map(|usage| format!("  usage: {usage}")));
    lines.extend(either("hint").map(|hint| format!("  {hint}")));
    lines.extend(either("code").zip(either("layer")).map(|(code, layer)| format!("  {layer} · {code}")));
    lines.extend(text(&body["reference"]).map(|reference| format!("  toolgate trace show {reference}")));
    // What others wrote stands in it; the terminal is not theirs.
    let clean = |line: &String| line.replace(|c: char| c.is_control(), " ");
    lines.iter().map(clean).collect::<Vec<_>>().join("\n")
}

/// What became of a question that files can answer too.
pub enum Answer {
    Given(Value, Teller),
    /// Nothing listens there, and none was named.
    Away,
    Refused(Said),
}

/// Asks the running gateway; that none answers matters only when one was named.
pub async fn ask(config: &Config, remote: &Remote, path: &str, query: &[(&str, String)]) -> Answer {
    let gateway = match Gateway::at(config, remote).await {
        Ok(gateway) => gateway,
        Err(said) => return Answer::Refused(said),
    };
    match gateway.get(path, query).await {
        Ok(json) => Answer::Given(json, gateway.teller()),
        Err(Trouble::Away(_)) if gateway.may_be_away() => Answer::Away,
        Err(trouble) => Answer::Refused(gateway.said(trouble)),
    }
}

/// Asks for the tools of somebody. A client has its own view alone and may name no platform: where an operator at the
/// console is refused and none was asked for, it is asked for that.
pub async fn ask_tools(config: &Config, remote: &Remote, who: &Who) -> Answer {
    let gateway = match Gateway::at(config, remote).await {
        Ok(gateway) => gateway,
        Err(said) => return Answer::Refused(said),
    };
    let mut answer = gateway.get(TOOLS, &named(who)).await;
    if who.platform.is_none() && matches!(answer, Err(Trouble::Refused(StatusCode::FORBIDDEN, _))) {
        let own: Vec<_> = named(who).into_iter().filter(|(name, _)| *name != "platform").collect();
        answer = gateway.get(TOOLS, &own).await;
    }
    match answer {
        Ok(json) => Answer::Given(json, gateway.teller()),
        Err(Trouble::Away(_)) if gateway.may_be_away() => Answer::Away,
        Err(trouble) => Answer::Refused(gateway.said(trouble)),
    }
}

/// Somebody, as the API's queries name them.
pub fn named(who: &Who) -> Vec<(&'static str, String)> {
    let mut query = vec![("platform", who.platform.unwrap_or(Platform::Console).to_string())];
    let parts =
        [("tenant", &who.tenant), ("space", &who.space), ("conversation", &who.conversation), ("sender", &who.sender)];
    query.extend(parts.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))));
    if !who.role.is_empty() {
        query.push(("roles", who.role.join(",")));
    }
    query
}

const TOOLS: &str = "/v1/tools";

/// Whether the running gateway is ready.
pub async fn health(config: &Config, remote: &Remote) -> Said {
    let gateway = match Gateway::at(config, remote).await {
        Ok(gateway) => gateway,
        Err(said) => return said,
    };
    let (exit, json) = match gateway.get("/readyz", &[]).await {
        Ok(json) => (Exit::Ok, json),
        Err(Trouble::Refused(StatusCode::SERVICE_UNAVAILABLE, json)) => (Exit::Failed, json),
        Err(trouble) => return trouble.said(),
    };
    let mut lines = vec![if exit == Exit::Ok { "ready".to_owned() } else { "not ready".to_owned() }];
    for condition in json["conditions"].as_array().into_iter().flatten().filter(|c| c["state"] != "ready") {
        let part = |name: &str| condition[name].as_str().unwrap_or_default();
        lines.push(format!("{}: {} {}", part("part"), part("state"), part("says")).trim_end().to_owned());
    }
    Said { exit, ..Said::told(lines.join("\n"), json) }
}
