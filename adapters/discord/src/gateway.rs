//! The gateway: who we are, how many shards there are, and one task for each until shutdown.

use std::{sync::Arc, time::Duration};

use contract::{Core, Stopped, seams::Condition};
use tokio::{task::JoinSet, time::sleep};
use tokio_util::sync::CancellationToken;

use crate::{Discord, Me, inbound::text, random, rest::Problem, stopped};

mod door;
mod fatal;
mod keeper;
mod memory;
mod report;
mod shard;

pub(crate) use self::{
    memory::{Event, Memory},
    report::Report,
};

const FIRST_BACKOFF: Duration = Duration::from_millis(500);

/// Asks who we are until it is answered; a refused token ends the adapter elsewhere.
pub(crate) async fn introduce(discord: &Arc<Discord>, core: &Core) {
    let mut failures = 0;
    while discord.me.get().is_none() {
        match who(discord).await {
            Ok(me) => {
                tracing::info!(account = discord.account, bot = me.user, "is known to Discord");
                let _ = discord.me.set(me);
            }
            Err(words) => {
                core.health.set(&discord.part(), Condition::Degraded(format!("Discord does not answer: {words}")));
                sleep(back_off(&mut failures, discord.config.timing.backoff)).await;
            }
        }
    }
}

async fn who(discord: &Discord) -> Result<Me, String> {
    let user = discord.rest.get("/users/@me").await.map_err(|problem| words(&problem))?;
    let user = text(&user, "id").ok_or("an answer without an id")?.to_owned();
    if let Some(application) = discord.config.application_id.clone() {
        return Ok(Me { user, application });
    }
    let application = discord.rest.get("/applications/@me").await.map_err(|problem| words(&problem))?;
    // Of all but very old bots both are the same.
    let application = text(&application, "id").unwrap_or(&user).to_owned();
    Ok(Me { user, application })
}

/// What operators are told of a failed request.
pub(crate) fn words(problem: &Problem) -> String {
    match problem {
        Problem::Refused { words, .. } | Problem::NotSent(words) | Problem::Unsure(words) => words.clone(),
        Problem::Wait { wait, .. } => format!("it asks to wait {}", contract::text::wait(*wait)),
    }
}

/// Runs all shards until shutdown; one that a person must mend ends them all.
pub(crate) async fn run(discord: &Arc<Discord>, core: &Core, shutdown: &CancellationToken) -> Result<(), Stopped> {
    let door = tokio::select! {
        door = door::Door::open(discord, core) => Arc::new(door?),
        () = shutdown.cancelled() => return Ok(()),
    };
    let leaving = shutdown.child_token();
    let mut shards = JoinSet::new();
    for id in door.shards() {
        shards.spawn(shard::run(discord.clone(), core.clone(), door.clone(), id, leaving.clone()));
    }
    let mut ended = Ok(());
    while let Some(joined) = shards.join_next().await {
        let result = joined.unwrap_or_else(|_| {
            Err(stopped("a shard ended by a fault of ours", &["see the log for the panic, and start again"]))
        });
        if result.is_err() {
            leaving.cancel();
            ended = ended.and(result);
        }
    }
    ended
}

/// Full jitter over a range that doubles with each failure.
fn back_off(failures: &mut u32, most: Duration) -> Duration {
    let range = FIRST_BACKOFF.saturating_mul(1 << (*failures).min(10)).min(most);
    *failures += 1;
    range.mul_f64(random()).max(FIRST_BACKOFF.min(most) / 10)
}
