//! Webhooks: updates posted to an address, in order per chat, again until they are taken.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_TYPE, HOST};
use axum::http::{HeaderValue, Request};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::Telegram;
use super::api::Asked;
use super::cast::{Bot, now};
use super::error::ApiError;
use super::fault::{Kind, Target, When};
use super::world::World;

/// What faults call a delivery.
pub const DELIVERY: &str = "webhook";
/// How long a receiver may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// The platform waits longer; a test does not want to.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(5);
const IDLE: Duration = Duration::from_secs(3_600);
const MOST_ANSWER: usize = 1 << 20;
const USUAL_CONNECTIONS: usize = 40;

/// Where a bot wants its updates, and how that goes.
#[derive(Clone, Debug)]
pub struct Hook {
    pub url: String,
    secret: Option<String>,
    /// Deliveries at once.
    most: usize,
    /// Updates under way.
    busy: HashSet<i64>,
    /// Refused updates: how often, and when they are tried again.
    refused: HashMap<i64, (u32, Instant)>,
    /// When and why the last delivery failed.
    error: Option<(i64, String)>,
}

/// One update on its way.
struct Parcel {
    token: String,
    url: String,
    secret: Option<String>,
    update: i64,
    chat: Option<i64>,
    body: String,
    /// Delivered before, and once more because somebody ordered it.
    again: bool,
}

/// `setWebhook`.
pub fn set(world: &mut World, asked: &Asked<'_>) -> Result<Value, ApiError> {
    let url = asked.params.text("url").unwrap_or_default();
    if url.is_empty() {
        return put(world, asked, None);
    }
    let is_here = url.strip_prefix("http://").is_some_and(is_loopback);
    if !url.starts_with("https://") && !is_here {
        return Err(ApiError::broken("webhook", "bad webhook: An HTTPS URL must be provided for webhook"));
    }
    let secret = asked.params.text("secret_token").filter(|secret| !secret.is_empty());
    let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if secret.as_ref().is_some_and(|secret| secret.len() > 256 || !secret.bytes().all(legal)) {
        return Err(ApiError::broken("secret_token", "secret token contains unallowed characters"));
    }
    let most = match asked.params.int("max_connections") {
        None => USUAL_CONNECTIONS,
        Some(most @ 1..=100) => most as usize,
        Some(_) => return Err(ApiError::broken("max_connections", "max_connections must be from 1 to 100")),
    };
    let hook = Hook { url, secret, most, busy: HashSet::new(), refused: HashMap::new(), error: None };
    put(world, asked, Some(hook))
}

/// `deleteWebhook`.
pub fn delete(world: &mut World, asked: &Asked<'_>) -> Result<Value, ApiError> {
    put(world, asked, None)
}

fn put(world: &mut World, asked: &Asked<'_>, mut hook: Option<Hook>) -> Result<Value, ApiError> {
    let dropped = asked.params.flag("drop_pending_updates");
    world.hooks += 1;
    let Some(bot) = world.bots.get_mut(asked.token) else { return Err(ApiError::new(401, "Unauthorized")) };
    if hook.is_some() {
        bot.allow(asked.params)?;
    }
    // What is under way to the old address stays so: the same update does not go out twice at once.
    if let (Some(new), Some(old)) = (&mut hook, &bot.webhook) {
        new.busy.clone_from(&old.busy);
    }
    bot.webhook = hook;
    if dropped {
        bot.queue.clear();
    }
    Ok(json!(true))
}

/// `getWebhookInfo`.
pub fn info(world: &mut World, asked: &Asked<'_>) -> Result<Value, ApiError> {
    let bot = world.bots.get(asked.token).ok_or_else(|| ApiError::new(401, "Unauthorized"))?;
    let mut out =
        json!({"url": "", "has_custom_certificate": false, "pending_update_count": bot.queue.len() + bot.again.len()});
    if let Some(kinds) = &bot.allowed {
        out["allowed_updates"] = json!(kinds);
    }
    let Some(hook) = &bot.webhook else { return Ok(out) };
    out["url"] = json!(hook.url);
    out["max_connections"] = json!(hook.most);
    out["ip_address"] = json!("127.0.0.1");
    if let Some((date, words)) = &hook.error {
        out["last_error_date"] = json!(date);
        out["last_error_message"] = json!(words);
    }
    Ok(out)
}

impl Telegram {
    /// Carries updates to webhooks until the server stops.
    pub async fn courier(self: Arc<Self>) {
        let mut changes = self.updates();
        let mut under_way = JoinSet::new();
        loop {
            changes.borrow_and_update();
            let (parcels, next) = self.lock_now(due);
            for parcel in parcels {
                let telegram = self.clone();
                under_way.spawn(async move { telegram.carry(parcel).await });
            }
            tokio::select! {
                () = self.stopped() => break,
                _ = changes.changed() => {}
                Some(_) = under_way.join_next() => {}
                () = tokio::time::sleep_until(next) => {}
            }
        }
        under_way.shutdown().await;
    }

    async fn carry(&self, parcel: Parcel) {
        let target = Target { method: DELIVERY, chat: parcel.chat, marked: false };
        if let Some(delay) = self.lock_now(|world| world.faults.hit(&[Kind::Delay], target)) {
            self.pause(Duration::from_secs_f64(delay.seconds.unwrap_or(1.0).clamp(0.0, 3_600.0))).await;
        }
        let dropped = self.lock_now(|world| world.faults.hit(&[Kind::Drop], target)).map(|fault| fault.when);
        let outcome = match dropped {
            Some(When::Before) => Err("Connection reset by peer".to_owned()),
            Some(When::After) => {
                // The receiver has it, and its answer is lost.
                let _ = timeout(PATIENCE, post(&parcel)).await;
                Err("Read timeout expired".to_owned())
            }
            None => timeout(PATIENCE, post(&parcel)).await.unwrap_or_else(|_| Err("Read timeout expired".into())),
        };
        self.write(|world| settle(world, &parcel, outcome));
    }

    fn lock_now<T>(&self, look: impl FnOnce(&mut World) -> T) -> T {
        look(&mut self.lock())
    }
}

/// What can be delivered now, and when to look again at the latest.
fn due(world: &mut World) -> (Vec<Parcel>, Instant) {
    let (mut parcels, mut next, now) = (Vec::new(), Instant::now() + IDLE, Instant::now());
    for (token, bot) in &mut world.bots {
        let Bot { webhook: Some(hook), queue, again, .. } = bot else { continue };
        let parcel = |hook: &Hook, update: &Value, again| Parcel {
            token: token.clone(),
            url: hook.url.clone(),
            secret: hook.secret.clone(),
            update: update["update_id"].as_i64().unwrap_or_default(),
            chat: place(update),
            body: update.to_string(),
            again,
        };
        parcels.extend(again.drain(..).map(|update| parcel(hook, &update, true)));
        // A chat's next update goes out when the one before it was taken.
        let mut held: HashSet<i64> = HashSet::new();
        for (id, update) in queue.iter() {
            if hook.busy.len() >= hook.most {
                break;
            }
            let chat = place(update);
            let waits = hook.refused.get(id).map(|(_, until)| *until).filter(|until| *until > now);
            next = waits.map_or(next, |until| next.min(until));
            let is_free = chat.is_none_or(|chat| !held.contains(&chat));
            if is_free && waits.is_none() && hook.busy.insert(*id) {
                parcels.push(parcel(hook, update, false));
            }
            held.extend(chat);
        }
    }
    (parcels, next)
}

/// Whose order an update belongs to: its chat's, else its person's.
fn place(update: &Value) -> Option<i64> {
    let (_, event) = update.as_object()?.iter().find(|(key, _)| *key != "update_id")?;
    let chat = |value: &Value| value["chat"]["id"].as_i64();
    chat(event).or_else(|| event["from"]["id"].as_i64())
}

fn settle(world: &mut World, parcel: &Parcel, outcome: Result<(u16, Bytes), String>) {
    let words = match &outcome {
        Ok((200..=299, _)) => None,
        Ok((status, _)) => {
            let reason = axum::http::StatusCode::from_u16(*status).ok().and_then(|status| status.canonical_reason());
            Some(format!("Wrong response from the webhook: {status} {}", reason.unwrap_or_default()))
        }
        Err(words) => Some(words.clone()),
    };
    world.stats.hooked += u64::from(words.is_none());
    world.stats.hook_failures += u64::from(words.is_some());
    let duplicates = &mut world.duplicates;
    let Some(bot) = world.bots.get_mut(&parcel.token) else { return };
    if let Some(hook) = &mut bot.webhook {
        hook.busy.remove(&parcel.update);
        match words {
            None => {
                hook.refused.remove(&parcel.update);
            }
            Some(words) => {
                let tries = hook.refused.get(&parcel.update).map_or(0, |(tries, _)| *tries);
                let wait = FIRST_WAIT.saturating_mul(1 << tries.min(10)).min(LONGEST_WAIT);
                hook.error = Some((now(), words));
                if !parcel.again {
                    hook.refused.insert(parcel.update, (tries + 1, Instant::now() + wait));
                }
                return;
            }
        }
    }
    let at = bot.queue.iter().position(|(id, _)| *id == parcel.update).filter(|_| !parcel.again && outcome.is_ok());
    if let Some(taken) = at.and_then(|at| bot.queue.remove(at)) {
        if *duplicates > 0 {
            *duplicates -= 1;
            bot.again.push(taken.1.clone());
        }
        bot.remember(taken);
    }
}

/// Status and body of the answer, or why there is none.
async fn post(parcel: &Parcel) -> Result<(u16, Bytes), String> {
    let rest = parcel.url.strip_prefix("http://").filter(|rest| is_loopback(rest));
    let rest = rest.ok_or("Failed to resolve host: Name or service not known")?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let address = if host.contains(':') { host.to_owned() } else { format!("{host}:80") };
    let stream = TcpStream::connect(address).await.map_err(|_| "Connection refused")?;
    let _ = stream.set_nodelay(true);
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|_| "Connection reset by peer")?;
    let mut request = Request::post(format!("/{path}"))
        .header(HOST, host)
        .header(CONTENT_TYPE, "application/json")
        .body(Body::from(parcel.body.clone()))
        .map_err(|_| "Wrong URL")?;
    if let Some(secret) = parcel.secret.as_deref().and_then(|secret| HeaderValue::from_str(secret).ok()) {
        request.headers_mut().insert("x-telegram-bot-api-secret-token", secret);
    }
    let exchange = async move {
        let answer = sender.send_request(request).await.map_err(|_| "Connection reset by peer".to_owned())?;
        let status = answer.status().as_u16();
        let body = axum::body::to_bytes(Body::new(answer.into_body()), MOST_ANSWER).await;
        body.map(|body| (status, body)).map_err(|_| "Connection reset by peer".to_owned())
    };
    // The connection ends when the exchange has let go of it.
    let (outcome, _) = tokio::join!(exchange, connection);
    outcome
}

fn is_loopback(rest: &str) -> bool {
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    host.parse::<std::net::SocketAddr>().map(|at| at.ip()).or_else(|_| host.parse()).is_ok_and(|ip| ip.is_loopback())
        || host.split(':').next() == Some("localhost")
}
