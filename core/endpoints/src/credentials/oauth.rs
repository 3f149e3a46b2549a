//! Access tokens that are kept: got once for all callers, renewed before they end, and once when a service refuses one.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use jiff::Timestamp;
use reqwest::Client;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::{
    Applied, Place, Trouble,
    token::{Given, OAuth, Refusal},
    trimmed,
};
use crate::secret::Known;

/// How long before its end a token is renewed, where it lives long enough.
const AHEAD: Duration = Duration::from_secs(60);
/// A token that ends as soon as this is not sent any more: a request takes a moment.
const NOT_SENT: Duration = Duration::from_secs(5);
/// How long one that could not be renewed is used before that is tried again.
const TRIED_AGAIN: Duration = Duration::from_secs(10);
/// How long a service that could not be reached is not asked for a token, so that callers do not queue up for it.
const LEFT_ALONE: Duration = Duration::from_secs(1);
/// The longest that a service may ask us to wait.
const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// How long nothing is renewed after a renewed token was refused too.
const IN_VAIN: Duration = Duration::from_secs(30);
/// How far the clocks of replicas may be apart.
const SKEW: Duration = Duration::from_secs(30);
/// Between two requests for one token.
const PAUSE: Duration = Duration::from_millis(200);

/// Where replicas leave access tokens for each other. Whatever fails there is as if nothing were there.
#[async_trait]
pub trait TokenShare: Send + Sync {
    async fn get(&self, key: &str) -> Option<SharedToken>;
    /// Kept until it ends.
    async fn put(&self, key: &str, token: &SharedToken);
}

/// An access token that another replica may have got.
#[derive(Debug, Clone)]
pub struct SharedToken {
    pub token: SecretString,
    pub ends: Timestamp,
}

/// The tokens of one credential.
pub struct Flow {
    settings: OAuth,
    share: Option<Arc<dyn TokenShare>>,
    state: Mutex<State>,
    /// Held by whoever asks for a token. Whoever gives up lets the next one ask.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    held: Option<Held>,
    /// The last time that no token was given, why, and until when nobody asks again.
    failed: Option<(Instant, Trouble, Instant)>,
    nothing_renewed_until: Option<Instant>,
}

#[derive(Clone)]
struct Held {
    token: SecretString,
    renew_from: Instant,
    usable_until: Instant,
}

impl Held {
    fn new(token: SecretString, asked: Instant, life: Duration) -> Self {
        // A token of a minute is renewed when four fifths are over.
        let ahead = AHEAD.min(life / 5);
        let usable_until = asked + life.saturating_sub(NOT_SENT.min(life / 10));
        Self { token, renew_from: asked + life.saturating_sub(ahead), usable_until }
    }
}

impl Flow {
    pub fn new(settings: OAuth, share: Option<Arc<dyn TokenShare>>) -> Self {
        Self { settings, share, state: Mutex::default(), asking: tokio::sync::Mutex::default() }
    }

    pub fn place(&self) -> &Place {
        &self.settings.place
    }

    /// A token that can be sent.
    pub async fn token(&self, client: &Client) -> Result<SecretString, Trouble> {
        let came = Instant::now();
        if let Some(held) = self.held().filter(|held| came < held.usable_until) {
            if came < held.renew_from {
                return Ok(held.token);
            }
            // One caller renews it; the others use it as long as it lasts.
            let Ok(_asking) = self.asking.try_lock() else { return Ok(held.token) };
            if let Some(newer) = self.held().filter(|now| came < now.renew_from) {
                return Ok(newer.token);
            }
            return Ok(match self.get(client, None).await {
                Ok(token) => token,
                Err(_) => {
                    self.try_again_later();
                    held.token
                }
            });
        }
        let _asking = self.asking.lock().await;
        let now = Instant::now();
        if let Some(held) = self.held().filter(|held| now < held.usable_until) {
            return Ok(held.token);
        }
        if let Some(trouble) = self.failed_since(came) {
            return Err(trouble);
        }
        self.get(client, None).await
    }

    /// A service refused this token: whether there is another one now.
    pub async fn renew(&self, refused: Applied, client: &Client) -> bool {
        let came = Instant::now();
        let _asking = self.asking.lock().await;
        if self.held().is_some_and(|held| Applied::of([&held.token]) != refused) {
            return true;
        }
        let in_vain = self.state().nothing_renewed_until.is_some_and(|until| came < until);
        if in_vain || self.failed_since(came).is_some() {
            return false;
        }
        self.get(client, Some(refused)).await.is_ok()
    }

    pub fn renewed_in_vain(&self) {
        self.state().nothing_renewed_until = Some(Instant::now() + IN_VAIN);
    }

    /// Gets a token and keeps it; only to be called by whoever holds `asking`.
    async fn get(&self, client: &Client, refused: Option<Applied>) -> Result<SecretString, Trouble> {
        let key = match &self.share {
            Some(_) => self.key().await,
            None => None,
        };
        if let (Some(share), Some(key)) = (&self.share, &key)
            && let Some(held) = shared(share.get(key).await, refused)
        {
            Known::shared().note(&held.token);
            self.keep(held.clone());
            return Ok(held.token);
        }
        let (asked, given) = match self.ask(client, refused.is_some()).await {
            Ok(given) => given,
            Err(refusal) => return Err(self.remember(refusal)),
        };
        let held = Held::new(given.token, asked, given.life);
        self.keep(held.clone());
        if let (Some(share), Some(key)) = (&self.share, &key) {
            let token = SharedToken { token: held.token.clone(), ends: Timestamp::now() + given.life };
            share.put(key, &token).await;
        }
        Ok(held.token)
    }

    /// Asks; what passes is asked again once.
    async fn ask(&self, client: &Client, anew: bool) -> Result<(Instant, Given), Refusal> {
        let asked = Instant::now();
        match self.settings.ask(client, anew).await {
            Ok(given) => Ok((asked, given)),
            Err(refusal) if refusal.is_passing && refusal.trouble.retry_after.is_none() => {
                tokio::time::sleep(PAUSE).await;
                let asked = Instant::now();
                self.settings.ask(client, anew).await.map(|given| (asked, given))
            }
            Err(refusal) => Err(refusal),
        }
    }

    fn keep(&self, held: Held) {
        let mut state = self.state();
        state.held = Some(held);
        state.failed = None;
    }

    fn remember(&self, refusal: Refusal) -> Trouble {
        let now = Instant::now();
        let wait = match (refusal.trouble.retry_after, refusal.is_passing) {
            (Some(wait), _) => wait.min(LONGEST_WAIT),
            (None, true) => LEFT_ALONE,
            // A client that was put right is let in at once.
            (None, false) => Duration::ZERO,
        };
        let trouble = Trouble { why: format!("no access token: {}", refusal.trouble.why), ..refusal.trouble };
        self.state().failed = Some((now, trouble.clone(), now + wait));
        trouble
    }

    /// Why nobody got a token since then, or why nobody may ask for one at present.
    fn failed_since(&self, came: Instant) -> Option<Trouble> {
        let state = self.state();
        let (at, trouble, until) = state.failed.as_ref()?;
        (*at > came || Instant::now() < *until).then(|| trouble.clone())
    }

    fn try_again_later(&self) {
        if let Some(held) = &mut self.state().held {
            held.renew_from = Instant::now() + TRIED_AGAIN;
        }
    }

    fn held(&self) -> Option<Held> {
        self.state().held.clone()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a token is for: another client, scope or service has another one.
    async fn key(&self) -> Option<String> {
        let OAuth { token_url, client_id, scopes, audience, params, .. } = &self.settings;
        let id = client_id.read_name().await.ok()?;
        let mut hasher = Sha256::new();
        for part in [token_url.as_str(), trimmed(&id), &scopes.join(" "), audience.as_deref().unwrap_or_default()] {
            hasher.update(part);
            hasher.update([0]);
        }
        params.iter().for_each(|(name, value)| hasher.update(format!("{name}={value}\0")));
        Some(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// Another replica's token, when it lasts a while and is not the one that was refused.
fn shared(found: Option<SharedToken>, refused: Option<Applied>) -> Option<Held> {
    let found = found.filter(|found| !found.token.expose_secret().is_empty())?;
    if refused.is_some_and(|refused| Applied::of([&found.token]) == refused) {
        return None;
    }
    let left = Duration::try_from(found.ends.duration_since(Timestamp::now())).ok()?.checked_sub(SKEW)?;
    (left > AHEAD).then(|| Held::new(found.token, Instant::now(), left))
}
