//! One model: asked again where that helps, as long as there is time.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    time::Duration,
};

use dispatch::model::{Answer, Draft, Prompt};
use reqwest::Client;
use tokio::time::{Instant, sleep};
use tracing::debug;

use crate::{
    ask::{Asking, ask},
    settings::Settings,
    trouble::{Kind, Trouble},
};

/// How often a request is made again.
const AGAIN: u32 = 2;
/// The first pause is anything up to this; each further one up to twice as much.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Parts of a request that a server may refuse one after the other.
const LESSONS: u32 = 3;

pub(crate) struct Provider(Asking);

impl Provider {
    pub fn new(settings: Settings, client: Client) -> Self {
        Self(Asking { client, settings, spared: Default::default(), opens_thinking: Default::default() })
    }

    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// Asks until there is an answer, no hope, or no time. A stream that broke is asked for again also when a part of it
    /// was shown: a draft is replaced as a whole, and what was said so far is no answer. `is_last`: nobody else can be
    /// asked, so a server that cannot be reached is given another chance.
    pub async fn step(
        &self,
        prompt: &Prompt<'_>,
        draft: &dyn Draft,
        until: Instant,
        is_last: bool,
    ) -> Result<Answer, Trouble> {
        let until = until.min(Instant::now() + self.0.settings.timeout);
        let (mut failed, mut learned) = (0, 0);
        loop {
            let trouble = match ask(&self.0, prompt, draft, until).await {
                Ok(answer) => return Ok(answer),
                Err(trouble) => trouble,
            };
            if trouble.kind == Kind::Learned && learned < LESSONS {
                learned += 1;
                continue;
            }
            let most = match trouble.kind {
                Kind::Unreachable if !is_last => 0,
                Kind::Broke | Kind::Empty => 1,
                _ => AGAIN,
            };
            let pause = pause(failed, trouble.retry_after);
            if failed >= most || !trouble.may_pass() || Instant::now() + pause >= until {
                return Err(trouble);
            }
            debug!(model = self.0.settings.name, cause = trouble.cause(), ?pause, "a model is asked again");
            failed += 1;
            sleep(pause).await;
        }
    }
}

/// What the server asks for, otherwise full jitter over a range that doubles.
fn pause(failed: u32, asked: Option<Duration>) -> Duration {
    let share = (RandomState::new().build_hasher().finish() % 1_000) as f64 / 1_000.0;
    match asked {
        // Not all who were told to wait come back at once.
        Some(wait) => wait + FIRST_PAUSE.mul_f64(share / 5.0),
        None => (FIRST_PAUSE * 2_u32.pow(failed.min(4))).mul_f64(share),
    }
}
