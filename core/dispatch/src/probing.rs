//! Asks in the background whether what tools need is there, and fetches what their parameters are filled with, so that no
//! list waits for it.

use std::{sync::Arc, time::Duration};

use tokio::{
    task::JoinSet,
    time::{MissedTickBehavior, interval},
};
use tools::{Tool, dynamic::Fetching};
use tracing::{info, warn};

use crate::gateway::Inner;

/// How often it is looked whose answer is too old.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Probes at once; the others wait for the next look.
const AT_ONCE: usize = 8;

/// Until the gateway stops.
pub(crate) async fn keep(inner: Arc<Inner>) {
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut asking = JoinSet::new();
    loop {
        tokio::select! {
            () = inner.stop.cancelled() => return,
            _ = looks.tick() => {}
            Some(_) = asking.join_next() => {}
        }
        let snapshot = inner.snapshot.load_full();
        for tool in snapshot.tools.tools() {
            for part in &tool.dynamic {
                if asking.len() < AT_ONCE
                    && let Some(due) = part.due()
                {
                    asking.spawn(fetch(tool.name.clone(), part.pointer.clone(), due));
                }
            }
            let Some(probe) = &tool.probe else { continue };
            // Also where nothing was asked: the time in which a bad answer is not believed passes by itself.
            note(tool, &snapshot.policies);
            if asking.len() >= AT_ONCE {
                continue;
            }
            if let Some(due) = tool.availability.due() {
                let probe = probe.clone();
                asking.spawn(async move { due.run(&*probe).await });
            }
        }
    }
}

/// The next look makes it anew; what was known stays.
async fn fetch(tool: Arc<str>, part: String, due: Fetching) {
    if let Err(why) = due.run().await {
        warn!(tool = &*tool, part, why, "a part of a tool's parameters cannot be fetched");
    }
}

fn note(tool: &Tool, policies: &policies::Compiled) {
    let why = tool.unavailable();
    if policies.available(&tool.name) == Some(why.is_none()) {
        return;
    }
    policies.set_available(&tool.name, why.is_none());
    match why {
        Some(why) => warn!(tool = &*tool.name, why, "a tool is not available"),
        None => info!(tool = &*tool.name, "a tool is available again"),
    }
}
