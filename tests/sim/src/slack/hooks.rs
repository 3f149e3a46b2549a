//! Request URLs: events, commands and presses posted to an app, signed; and the clock of everything that waits.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, Request};
use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::Slack;
use super::cast::{Hooks, now};
use super::outbox::{Delivery, What};
use super::people::{Events, Outcome, refused};
use crate::form::form;

/// How many posts are under way at once.
const MOST_POSTS: usize = 128;
/// How many idle connections are kept to one place.
const IDLE: usize = 32;
/// Longer answers are not read.
const MAX_ANSWER: usize = 1 << 20;

/// Connections to request URLs that are free again.
#[derive(Default)]
pub struct Pool(Mutex<HashMap<String, Vec<SendRequest<Body>>>>);

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pool")
    }
}

/// What a request URL answered.
#[derive(Debug)]
struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Bytes,
}

impl Pool {
    fn take(&self, host: &str) -> Option<SendRequest<Body>> {
        let mut pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let free = pool.get_mut(host)?;
        free.retain(|sender| !sender.is_closed());
        free.pop()
    }

    fn give(&self, host: &str, sender: SendRequest<Body>) {
        let mut pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let free = pool.entry(host.to_owned()).or_default();
        if free.len() < IDLE {
            free.push(sender);
        }
    }

    async fn post(&self, url: &str, headers: &[(&str, String)], body: String) -> Result<Answer, String> {
        let rest = url.strip_prefix("http://").ok_or("only http is spoken here")?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let mut request = Request::post(format!("/{path}"))
            .header("host", host)
            .header("user-agent", "Slackbot 1.0 (+https://api.slack.com/robots)");
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let request = request.body(Body::from(body)).map_err(|cause| cause.to_string())?;
        let mut sender = match self.take(host) {
            Some(sender) if sender.is_ready() => sender,
            _ => connect(host).await?,
        };
        let response = sender.send_request(request).await.map_err(|cause| cause.to_string())?;
        let (parts, incoming) = response.into_parts();
        let body = axum::body::to_bytes(Body::new(incoming), MAX_ANSWER).await.map_err(|cause| cause.to_string())?;
        if sender.ready().await.is_ok() {
            self.give(host, sender);
        }
        Ok(Answer { status: parts.status.as_u16(), headers: parts.headers, body })
    }
}

async fn connect(host: &str) -> Result<SendRequest<Body>, String> {
    let stream = TcpStream::connect(host).await.map_err(|cause| cause.to_string())?;
    stream.set_nodelay(true).map_err(|cause| cause.to_string())?;
    let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|cause| cause.to_string())?;
    // Ends with the connection, which ends when nobody holds its sender any more.
    tokio::spawn(async move {
        if let Err(cause) = connection.await {
            tracing::debug!(%cause, "a connection to a request URL ended");
        }
    });
    Ok(sender)
}

/// The signature of a body, as the platform makes it.
pub fn signature(secret: &str, stamp: u64, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any key length will do");
    mac.update(format!("v0:{stamp}:{body}").as_bytes());
    let hex: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("v0={hex}")
}

fn headers(secret: &str, kind: &str, body: &str) -> Vec<(&'static str, String)> {
    let stamp = now();
    vec![
        ("content-type", kind.to_owned()),
        ("x-slack-request-timestamp", stamp.to_string()),
        ("x-slack-signature", signature(secret, stamp, body)),
    ]
}

/// One delivery on its way to a request URL.
struct Post {
    app: usize,
    hooks: Hooks,
    secret: String,
    delivery: Delivery,
    patience: Duration,
}

/// Posts what is to be posted and ends every wait in time, until the server stops.
pub async fn pump(slack: Arc<Slack>) {
    let mut changes = slack.updates();
    let mut posts = JoinSet::new();
    loop {
        changes.borrow_and_update();
        let (ready, next) = slack.write(|world| {
            let next = world.expire();
            let room = MOST_POSTS.saturating_sub(posts.len());
            (due(world, room), next)
        });
        for post in ready {
            let slack = slack.clone();
            posts.spawn(async move { deliver(&slack, post).await });
        }
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return },
            Some(_) = posts.join_next(), if !posts.is_empty() => {}
            // What waited for its time is now for the sockets to send.
            () = tokio::time::sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => slack.wake(),
            () = slack.stopped() => return,
        }
    }
}

fn due(world: &mut super::world::World, mut room: usize) -> Vec<Post> {
    let patience = Duration::from_secs_f64(world.limits.ack_seconds.clamp(0.001, 1e6));
    let mut out = Vec::new();
    for app in 0..world.apps.len() {
        let Some(hooks) = world.apps[app].hooks.clone() else { continue };
        let secret = world.apps[app].signing_secret.clone();
        for delivery in world.posts(app, room) {
            room -= 1;
            out.push(Post { app, hooks: hooks.clone(), secret: secret.clone(), delivery, patience });
        }
    }
    out
}

async fn deliver(slack: &Slack, post: Post) {
    let Post { app, hooks, secret, delivery, patience } = post;
    let (url, kind, body) = wire(&hooks, &delivery);
    let mut headers = headers(&secret, kind, &body);
    if delivery.attempt > 0 {
        headers.push(("x-slack-retry-num", delivery.attempt.to_string()));
        headers.push(("x-slack-retry-reason", delivery.reason.to_owned()));
    }
    let answer = tokio::time::timeout(patience, slack.hooks.post(url, &headers, body)).await;
    let outcome = match answer {
        Ok(Ok(answer)) => settle(answer),
        Ok(Err(cause)) => {
            tracing::debug!(%cause, "a request URL was not reached");
            Err(("connection_failed", false))
        }
        Err(_) => Err(("http_timeout", false)),
    };
    slack.write(|world| match outcome {
        Ok(body) => {
            if let Some(delivery) = world.acknowledge(app, &delivery.envelope) {
                world.answered(app, delivery, body);
            }
        }
        Err((reason, final_)) => world.failed(app, &delivery.envelope, reason, final_),
    });
}

/// What the answer means: an acknowledgement with what it says, or a failure and whether it is final.
fn settle(answer: Answer) -> Result<Value, (&'static str, bool)> {
    if !(200..300).contains(&answer.status) {
        let enough = answer.headers.get("x-slack-no-retry").is_some_and(|value| value == "1");
        return Err(("http_error", enough));
    }
    let text = String::from_utf8_lossy(&answer.body);
    let json = answer.headers.get("content-type").is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    // A plain text is shown as it is.
    Ok(serde_json::from_str(&text).ok().filter(|_| json).unwrap_or_else(|| json!({"text": text})))
}

/// Address, type and body of a delivery.
fn wire<'a>(hooks: &'a Hooks, delivery: &Delivery) -> (&'a str, &'static str, String) {
    const FORM: &str = "application/x-www-form-urlencoded";
    match delivery.what {
        What::Event => (&hooks.events, "application/json", delivery.payload.to_string()),
        What::Interactive => (&hooks.interactivity, FORM, form([("payload", delivery.payload.to_string().as_str())])),
        What::Command => {
            let fields = delivery.payload.as_object();
            let texts: Vec<(String, String)> = fields
                .into_iter()
                .flatten()
                .map(|(name, value)| (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
                .collect();
            (&hooks.commands, FORM, form(texts.iter().map(|(name, value)| (name.as_str(), value.as_str()))))
        }
    }
}

impl Slack {
    /// Sends an app's events to a URL, once it has proved to be the app's; returns the secret that signs them.
    pub async fn set_events(&self, events: Events) -> Outcome<String> {
        let Some(app) = self.lock().app_named(events.app.as_deref()) else { return refused(404, "app: no such app") };
        let known = self.lock().apps[app].signing_secret.clone();
        let secret = events.signing_secret.clone().unwrap_or(known);
        let Some(url) = events.url.clone() else {
            self.write(|world| world.set_hooks(app, None, Some(secret.clone())));
            self.wake();
            return Ok(secret);
        };
        let challenge = self.write(|world| world.next_uuid());
        let body = json!({"token": "verification", "challenge": challenge, "type": "url_verification"}).to_string();
        let signed = headers(&secret, "application/json", &body);
        let asked = self.hooks.post(&url, &signed, body);
        let answer = match tokio::time::timeout(Duration::from_secs(3), asked).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(cause)) => return refused(400, format!("url: {cause}")),
            Err(_) => return refused(400, "url: no answer within three seconds"),
        };
        let text = String::from_utf8_lossy(&answer.body);
        let json: Option<Value> = serde_json::from_str(&text).ok();
        let said = json.as_ref().and_then(|json| json["challenge"].as_str()).unwrap_or(text.trim());
        let form_encoded = text.trim().strip_prefix("challenge=").is_some_and(|value| value == challenge);
        if answer.status != 200 || !(said == challenge || form_encoded) {
            return refused(400, format!("url: the challenge was answered with {} and not with itself", answer.status));
        }
        let hooks = Hooks {
            commands: events.commands_url.unwrap_or_else(|| url.clone()),
            interactivity: events.interactivity_url.unwrap_or_else(|| url.clone()),
            events: url,
        };
        self.write(|world| world.set_hooks(app, Some(hooks), Some(secret.clone())));
        self.wake();
        Ok(secret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_that_of_the_documentation() {
        let body = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
        assert_eq!(
            signature("8f742231b10e8888abcd99yyyzzz85a5", 1_531_420_618, body),
            "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
        );
    }
}
