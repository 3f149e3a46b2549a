//! The long poll: updates from an offset on, one poller at a time.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::Telegram;
use super::api::{Asked, Ending, ordered};
use super::cast::Bot;
use super::error::ApiError;
use super::fault::{Kind, Target};
use super::params::Params;
use super::world::World;

pub const METHOD: &str = "getUpdates";
/// The longest that a poll waits, whatever is asked.
const LONGEST: i64 = 50;
const TERMINATED: &str = "terminated by other getUpdates request; make sure that only one bot instance is running";
const HOOKED: &str =
    "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first";
/// How many delivered updates are remembered, to be delivered again on demand.
const REMEMBERED: usize = 100;

/// What one poll asked for.
struct Poll {
    number: u64,
    cuts: u64,
    offset: i64,
    limit: usize,
}

impl Telegram {
    pub async fn poll(&self, asked: &Asked<'_>, target: Target<'_>) -> Ending {
        let mut changes = self.updates();
        let deadline =
            Instant::now() + Duration::from_secs(asked.params.int("timeout").unwrap_or(0).clamp(0, LONGEST) as u64);
        let poll = match self.write(|world| begin(world, asked, target)) {
            Ok(Some(poll)) => poll,
            Ok(None) => return Ending::Cut,
            Err(error) => return Ending::Answer(Err(error)),
        };
        // A poller that still waits learns of its successor at once.
        self.wake();
        loop {
            match self.write(|world| look(world, asked.token, &poll)) {
                Look::Nothing if Instant::now() < deadline => {}
                Look::Nothing => return Ending::Answer(Ok(json!([]))),
                Look::Updates(updates) => return Ending::Answer(Ok(json!(updates))),
                Look::Ended(error) => return Ending::Answer(Err(error)),
                Look::Cut => return Ending::Cut,
            }
            tokio::select! {
                _ = changes.changed() => {}
                () = tokio::time::sleep_until(deadline) => {}
                () = self.stopped() => return Ending::Answer(Ok(json!([]))),
            }
        }
    }
}

fn begin(world: &mut World, asked: &Asked<'_>, target: Target<'_>) -> Result<Option<Poll>, ApiError> {
    if let Some(error) = ordered(world, asked, target) {
        return Err(error);
    }
    if world.faults.hit(&[Kind::Conflict], target).is_some() {
        return Err(ApiError::conflict(TERMINATED));
    }
    if world.faults.hit(&[Kind::Disconnect, Kind::Close], target).is_some() {
        return Ok(None);
    }
    let cuts = world.cuts;
    let Some(bot) = world.bots.get_mut(asked.token) else { return Err(ApiError::new(401, "Unauthorized")) };
    if bot.webhook.is_some() {
        return Err(ApiError::conflict(HOOKED));
    }
    bot.allow(asked.params)?;
    let offset = asked.params.int("offset").unwrap_or(0);
    bot.confirm(offset);
    bot.polls += 1;
    let limit = asked.params.int("limit").unwrap_or(100).clamp(1, 100) as usize;
    Ok(Some(Poll { number: bot.polls, cuts, offset, limit }))
}

enum Look {
    Nothing,
    Updates(Vec<Value>),
    Ended(ApiError),
    Cut,
}

fn look(world: &mut World, token: &str, poll: &Poll) -> Look {
    if world.cuts != poll.cuts {
        return Look::Cut;
    }
    let duplicates = &mut world.duplicates;
    let Some(bot) = world.bots.get_mut(token) else { return Look::Nothing };
    if bot.polls != poll.number {
        return Look::Ended(ApiError::conflict(TERMINATED));
    }
    if bot.webhook.is_some() {
        return Look::Ended(ApiError::conflict(HOOKED));
    }
    let mut out = std::mem::take(&mut bot.again);
    out.truncate(poll.limit);
    let ready = bot.queue.iter().filter(|(id, _)| *id >= poll.offset).take(poll.limit - out.len());
    let fresh: Vec<(i64, Value)> = ready.cloned().collect();
    for (id, update) in &fresh {
        if bot.remember((*id, update.clone())) && *duplicates > 0 {
            *duplicates -= 1;
            bot.again.push(update.clone());
        }
    }
    out.extend(fresh.into_iter().map(|(_, update)| update));
    if out.is_empty() { Look::Nothing } else { Look::Updates(out) }
}

impl Bot {
    /// Remembers which kinds of updates are wanted; an empty list asks for the usual ones.
    pub fn allow(&mut self, params: &Params) -> Result<(), ApiError> {
        let Some(list) = params.json("allowed_updates")? else { return Ok(()) };
        let Some(kinds) = list.as_array() else {
            return Err(ApiError::broken(
                "allowed_updates",
                "can't parse allowed_updates: expected an Array of String",
            ));
        };
        let kinds: Vec<String> = kinds.iter().filter_map(|kind| kind.as_str().map(str::to_owned)).take(100).collect();
        self.allowed = (!kinds.is_empty()).then_some(kinds);
        Ok(())
    }

    /// Notes what was delivered; tells whether it is new.
    pub fn remember(&mut self, (id, update): (i64, Value)) -> bool {
        if self.past.iter().any(|(known, _)| *known == id) {
            return false;
        }
        self.past.push_back((id, update));
        if self.past.len() > REMEMBERED {
            self.past.pop_front();
        }
        true
    }

    /// Forgets what an offset confirms; a negative one keeps only the newest.
    fn confirm(&mut self, offset: i64) {
        if offset > 0 {
            self.queue.retain(|(id, _)| *id >= offset);
        } else if offset < 0 {
            let keep = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
            let surplus = self.queue.len().saturating_sub(keep);
            self.queue.drain(..surplus);
        }
    }
}
