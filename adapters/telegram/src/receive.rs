//! Updates that the webhook brings, taken in by one task: in order within each chat, each answered once it is durable.

use std::{
    collections::HashSet,
    mem,
    pin::Pin,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use contract::{Core, Stopped, StoreDown, seams::Condition};
use secrecy::SecretString;
use serde_json::Value;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use crate::{
    Telegram,
    api::Problem,
    held::Held,
    inbound,
    line::{FAREWELL, Line, STAND_BY},
    mailbox::Arrival,
    poll::LOOKS,
    updates::{Intake, Taken},
    webhook::{self, Standing, Wanted},
};

/// Updates that are taken at once.
const MOST: usize = 256;
/// Nothing is held: nothing is looked at.
const NEVER: Duration = Duration::from_secs(24 * 3_600);

type Checking = Pin<Box<dyn Future<Output = Result<Standing, Problem>> + Send>>;

/// Takes in until shutdown, then gives the account back. The webhook stays set: Telegram keeps what comes meanwhile.
pub(crate) async fn run(
    telegram: &Arc<Telegram>,
    core: &Core,
    shutdown: &CancellationToken,
    (url, secret): (&str, &SecretString),
) -> Result<(), Stopped> {
    let mut receiver = Receiver {
        line: Line::new(telegram.clone(), core.clone()),
        wanted: Wanted { url: url.to_owned(), secret: secret.clone() },
        intake: None,
        held: Held::default(),
        is_noted: true,
        is_set: false,
        store: None,
        hook: None,
        news_since: 0,
    };
    // Dropped wherever it waits: what was not answered is delivered again.
    let ended = tokio::select! {
        biased;
        () = shutdown.cancelled() => Ok(()),
        ended = receiver.work() => ended,
    };
    telegram.close_mailbox();
    if let Some(intake) = &mut receiver.intake {
        intake.finish(FAREWELL).await;
    }
    receiver.line.release().await;
    if let Err(stopped) = &ended {
        core.health.set(&telegram.part(), Condition::Stopped(stopped.why.clone()));
    }
    ended
}

struct Receiver {
    line: Line,
    wanted: Wanted,
    intake: Option<Intake>,
    held: Held,
    /// What is noted of [`Receiver::held`] is what is held.
    is_noted: bool,
    /// The webhook was set since the start.
    is_set: bool,
    /// What is wrong with the store, and with deliveries.
    store: Option<String>,
    hook: Option<String>,
    /// From this second on (since 1970) a failed delivery is news: nothing was taken in since, and we listened.
    news_since: u64,
}

impl Receiver {
    async fn work(&mut self) -> Result<(), Stopped> {
        let me = self.line.introduce().await?;
        let telegram = self.line.telegram.clone();
        tracing::info!(account = telegram.account, bot = me.username, "waits for updates at its webhook");
        self.intake = Some(Intake::new(telegram.clone(), self.line.core.clone(), me));
        loop {
            self.line.take_over().await;
            self.held = match Held::recall(&self.line).await {
                Ok(held) => held,
                Err(cause) => {
                    self.line.degraded(&format!("nothing is taken in: {cause}"));
                    sleep(STAND_BY).await;
                    continue;
                }
            };
            let ended = self.receive(telegram.open_mailbox()).await;
            telegram.close_mailbox();
            ended?;
        }
    }

    /// Takes in until another process holds the account.
    async fn receive(&mut self, mut arrivals: mpsc::Receiver<Arrival>) -> Result<(), Stopped> {
        self.news_since = now();
        let mut checking = self.check(Duration::ZERO);
        let mut look = self.next_look();
        let mut batch = Vec::new();
        loop {
            tokio::select! {
                biased;
                () = sleep_until(self.line.lease_due) => {
                    if !self.line.hold_lease().await {
                        return Ok(());
                    }
                }
                standing = &mut checking => {
                    let wait = self.weigh(standing)?;
                    checking = self.check(wait);
                }
                () = sleep_until(look) => {
                    self.take(Vec::new()).await;
                    look = self.next_look();
                }
                count = arrivals.recv_many(&mut batch, MOST) => {
                    if count == 0 {
                        return Ok(());
                    }
                    self.take(mem::take(&mut batch)).await;
                    look = self.next_look();
                }
            }
        }
    }

    fn check(&self, after: Duration) -> Checking {
        Box::pin(webhook::check(self.line.api.clone(), self.wanted.clone(), after, !self.is_set))
    }

    fn next_look(&self) -> Instant {
        let album = self.line.telegram.config.timing.album;
        let wait = match (self.held.updates.is_empty() && self.is_noted, &self.store) {
            (true, _) => NEVER,
            (false, None) => album / LOOKS,
            (false, Some(_)) => STAND_BY,
        };
        Instant::now() + wait
    }

    /// What the webhook's state means, and when to look again.
    fn weigh(&mut self, standing: Result<Standing, Problem>) -> Result<Duration, Stopped> {
        let wait = match standing {
            Ok(standing) => {
                self.is_set = true;
                self.hook = self.complaint(standing);
                self.line.telegram.config.timing.check
            }
            Err(Problem::Refused { code: 400, words, .. }) => {
                self.hook = Some(format!("Telegram does not take the webhook: {words}"));
                self.line.back_off()
            }
            Err(problem) => {
                let wait = self.line.trouble(&problem)?;
                self.hook = Some(self.line.complaint().to_owned());
                wait
            }
        };
        self.tell();
        Ok(wait)
    }

    /// A failed delivery is news until something is taken in after it.
    fn complaint(&self, standing: Standing) -> Option<String> {
        if standing.was_changed {
            let words = "another program changed this bot's webhook, and it was set again: stop that program, or give it a \
                         bot of its own";
            return Some(words.to_owned());
        }
        let (_, words) = standing.error.filter(|(at, _)| *at >= self.news_since && standing.waiting > 0)?;
        Some(format!("Telegram cannot deliver {} updates to the webhook: {words}", standing.waiting))
    }

    fn tell(&mut self) {
        match (&self.store, &self.hook) {
            (Some(why), _) | (None, Some(why)) => {
                let why = why.clone();
                self.line.degraded(&why);
            }
            (None, None) if self.is_set => self.line.ready(),
            (None, None) => {}
        }
    }

    /// Takes in what came and what is held, and answers.
    async fn take(&mut self, arrivals: Vec<Arrival>) {
        let (known, mut fresh): (Vec<_>, Vec<_>) =
            arrivals.into_iter().partition(|arrival| self.held.knows(&arrival.update));
        known.into_iter().for_each(|arrival| answer(arrival, Ok(())));
        self.store = None;
        // Deliveries overtake each other.
        fresh.sort_by_key(|arrival| arrival.update["update_id"].as_i64());
        let fresh = self.hold(fresh).await;
        let mut updates: Vec<Value> = self.held.updates.clone();
        let mut waiting = Vec::with_capacity(fresh.len());
        for Arrival { update, kept } in fresh {
            waiting.push((update["update_id"].as_i64(), kept));
            updates.push(update);
        }
        updates.sort_by_key(|update| update["update_id"].as_i64());
        let Some(intake) = &mut self.intake else { return };
        if updates.is_empty() && self.is_noted {
            return self.tell();
        }
        let (dealt, taken) = intake.take(&updates).await;
        let ids = updates.iter().zip(dealt).filter(|(_, dealt)| *dealt);
        let accepted: HashSet<i64> = ids.filter_map(|(update, _)| update["update_id"].as_i64()).collect();
        let down = match taken {
            Taken::StoreDown(cause) => Some(cause),
            Taken::All | Taken::Open => None,
        };
        for (id, kept) in waiting {
            let is_dealt = id.is_some_and(|id| accepted.contains(&id));
            let why = || down.clone().unwrap_or_else(|| StoreDown("too much is held".into()));
            // Who does not wait any more gets it again, and then it is known.
            let _ = kept.send(if is_dealt { Ok(()) } else { Err(why()) });
        }
        self.is_noted &= !self.held.let_go(&accepted);
        if let Some(cause) = down {
            self.store = Some(format!("nothing is taken in: {cause}"));
        }
        self.note().await;
        if self.store.is_none() && !accepted.is_empty() {
            self.news_since = now() + 1;
        }
        self.tell();
    }

    /// Notes and answers those that may grow, and what their chats said since; gives the others.
    async fn hold(&mut self, fresh: Vec<Arrival>) -> Vec<Arrival> {
        let mut chats = self.held.chats();
        let (grow, rest): (Vec<_>, Vec<_>) = fresh.into_iter().partition(|arrival| {
            let Some(chat) = inbound::chat(&arrival.update) else { return false };
            let grows = inbound::album(&arrival.update).is_some() || inbound::long(&arrival.update).is_some();
            if grows {
                chats.insert(chat);
            }
            grows || chats.contains(&chat)
        });
        if grow.is_empty() {
            return rest;
        }
        if !self.held.has_room(grow.len()) {
            grow.into_iter().for_each(|arrival| answer(arrival, Err(StoreDown("too much is held".into()))));
            return rest;
        }
        let before = self.held.updates.len();
        self.held.updates.extend(grow.iter().map(|arrival| arrival.update.clone()));
        let noted = self.held.save(&self.line).await;
        match &noted {
            Ok(()) => self.is_noted = true,
            Err(cause) => {
                self.held.updates.truncate(before);
                self.store = Some(format!("nothing is taken in: {cause}"));
            }
        }
        grow.into_iter().for_each(|arrival| answer(arrival, noted.clone()));
        rest
    }

    /// Notes that something is held no more. Not noted, it would be known by its key, and so no second turn.
    async fn note(&mut self) {
        if self.is_noted {
            return;
        }
        match self.held.save(&self.line).await {
            Ok(()) => self.is_noted = true,
            Err(cause) => self.store = Some(format!("nothing is taken in: {cause}")),
        }
    }
}

fn answer(arrival: Arrival, kept: Result<(), StoreDown>) {
    // Who does not wait any more gets it again, and then it is known.
    let _ = arrival.kept.send(kept);
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
