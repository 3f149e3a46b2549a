//! Several models, asked one after the other: when one is out of order the next answers in its place.

use std::{
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use contract::{Failure, Health, Private, seams::Condition};
use dispatch::{
    Draft, Model,
    model::{About, Answer, Prompt},
};
use tokio::time::Instant;
use tracing::{info, warn};

use crate::{
    provider::Provider,
    settings::Settings,
    trouble::{Kind, Trouble},
};

/// How long a model that failed is left alone, when there is another one; then one step tries it.
pub const LEFT_ALONE: Duration = Duration::from_secs(30);
/// What the health of models is told under.
pub const PART: &str = "model";

/// A model and those that answer in its place.
pub struct Chain {
    members: Vec<Member>,
    about: About,
    health: OnceLock<Health>,
}

struct Member {
    provider: Provider,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// It failed, and is left alone until then.
    until: Option<Instant>,
    /// A step tries whether it is well again.
    is_tried: bool,
}

impl Chain {
    /// The first is asked; each of the others when all before it are out of order. Makes no request.
    ///
    /// The window is the smallest of all, since a conversation has to fit into whichever answers.
    pub fn new(first: Settings, others: Vec<Settings>) -> Result<Self, String> {
        // Fails only when a provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = client()?;
        let all: Vec<_> = std::iter::once(first).chain(others).collect();
        let least = |of: fn(&Settings) -> u32| all.iter().map(of).min().unwrap_or(1);
        let about = About {
            name: all[0].name.as_str().into(),
            context_tokens: least(|settings| settings.context_tokens),
            output_tokens: least(|settings| settings.output_tokens),
            sees_images: all[0].sees_images,
        };
        let member = |settings| Member { provider: Provider::new(settings, client.clone()), state: Mutex::default() };
        Ok(Self { members: all.into_iter().map(member).collect(), about, health: OnceLock::new() })
    }

    /// Where it is said how the models fare. Nothing is said before the first step.
    pub fn tell(&self, health: Health) {
        // A second one would be a second gateway over the same models; the first keeps being told.
        let _ = self.health.set(health);
    }

    /// Members in the order in which a step asks them: those that are well, then those that are left alone.
    fn order(&self) -> Vec<Turn<'_>> {
        if let [only] = self.members.as_slice() {
            return vec![Turn { member: only, is_trial: false }];
        }
        let now = Instant::now();
        let (well, alone): (Vec<_>, Vec<_>) =
            self.members.iter().map(|member| (member, member.standing(now))).partition(|(_, s)| *s != Standing::Alone);
        let turn = |(member, standing)| Turn { member, is_trial: standing == Standing::Trial };
        well.into_iter().chain(alone).map(turn).collect()
    }

    fn told(&self, condition: Condition) {
        if let Some(health) = self.health.get() {
            health.set(PART, condition);
        }
    }

    fn answered(&self, answer: &Answer, troubles: &[(String, Trouble)]) {
        match troubles.first() {
            None => self.told(Condition::Ready),
            Some((who, trouble)) => {
                let words = format!("{who}: {}; '{}' answers in its place", trouble.why, answer.model);
                self.told(Condition::Degraded(words));
            }
        }
    }

    fn failed(&self, troubles: &[(String, Trouble)]) -> Failure {
        let each = |said: fn(&Trouble) -> String| -> String {
            let lines: Vec<_> = troubles.iter().map(|(who, trouble)| format!("{who}: {}", said(trouble))).collect();
            lines.join("; ")
        };
        let Some((_, last)) = troubles.last() else {
            return Trouble::new(Kind::Slow, "no time was left").failure("no time was left to ask a model".into());
        };
        if last.kind != Kind::Overflow {
            self.told(Condition::Degraded(each(|trouble| trouble.why.clone())));
        }
        let soonest = troubles.iter().filter_map(|(_, trouble)| trouble.retry_after).min();
        let mut failure = last.failure(each(Trouble::cause));
        failure.retry_after = failure.retry_after.and(soonest);
        failure
    }
}

#[async_trait]
impl Model for Chain {
    async fn step(&self, prompt: &Prompt<'_>, draft: &dyn Draft) -> Result<Answer, Failure> {
        let mut troubles = Vec::new();
        let order = self.order();
        let count = order.len();
        for (n, turn) in order.into_iter().enumerate() {
            let now = Instant::now();
            if now >= prompt.deadline {
                break;
            }
            let is_last = n + 1 == count;
            // Whoever may be asked after it needs time too.
            let share = (prompt.deadline - now) / if is_last { 1 } else { 2 };
            let provider = &turn.member.provider;
            match provider.step(prompt, draft, now + share, is_last).await {
                Ok(answer) => {
                    turn.went_well();
                    self.answered(&answer, &troubles);
                    return Ok(answer);
                }
                Err(trouble) => {
                    let who = provider.settings().shown();
                    warn!(model = who, cause = trouble.cause(), "a language model did not answer");
                    if trouble.is_outage() {
                        turn.went_wrong();
                    }
                    let is_about_the_prompt = trouble.kind == Kind::Overflow;
                    troubles.push((who, trouble));
                    // The loop makes it shorter, which helps with any of them.
                    if is_about_the_prompt {
                        break;
                    }
                }
            }
        }
        Err(self.failed(&troubles))
    }

    fn about(&self) -> About {
        self.about.clone()
    }
}

/// A member's turn to be asked. A trial that is dropped was none.
struct Turn<'a> {
    member: &'a Member,
    is_trial: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Well,
    Trial,
    Alone,
}

impl Member {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn standing(&self, now: Instant) -> Standing {
        let mut state = self.lock();
        match state.until {
            None => Standing::Well,
            Some(until) if now < until || state.is_tried => Standing::Alone,
            Some(_) => {
                state.is_tried = true;
                Standing::Trial
            }
        }
    }
}

impl Turn<'_> {
    fn went_well(&self) {
        if self.member.lock().until.take().is_some() {
            info!(model = self.member.provider.settings().shown(), "a language model answers again");
        }
    }

    fn went_wrong(&self) {
        self.member.lock().until = Some(Instant::now() + LEFT_ALONE);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if self.is_trial {
            self.member.lock().is_tried = false;
        }
    }
}

/// One client for all models, so that connections are shared. Redirects are not followed, since they would choose another
/// address than the operator did; proxies of the environment are not used, since they would see the conversations.
fn client() -> Result<reqwest::Client, String> {
    reqwest::Client::builder()
        .user_agent(concat!("toolgate/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .referer(false)
        .connect_timeout(Duration::from_secs(5))
        .pool_idle_timeout(Duration::from_secs(30))
        .tcp_nodelay(true)
        .build()
        .map_err(|error| Private::chain(&error).for_operator().to_owned())
}
