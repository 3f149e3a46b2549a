//! What is known of guilds and channels: which thread is of which channel, and which role is ours alone.

use std::{collections::HashMap, sync::Mutex, time::Duration};

use reqwest::Method;
use serde_json::Value;
use tokio::sync::watch;

use crate::{Discord, inbound::text, lock, rest::Problem};

/// Channels that are remembered; those that are no threads go first.
const MOST_CHANNELS: usize = 50_000;
/// Guilds that are remembered; a bot needs more shards long before.
const MOST_GUILDS: usize = 10_000;
/// How long a look-up may take before a channel is taken to be what it looks like.
const PATIENCE: Duration = Duration::from_secs(5);
const TRIES: usize = 2;
const THREADS: std::ops::RangeInclusive<u64> = 10..=12;

/// Grows with what the gateway tells.
pub(crate) struct Places {
    /// A channel, and the channel that it is a thread of.
    channels: Mutex<HashMap<String, Option<String>>>,
    guilds: Mutex<HashMap<String, Guild>>,
    /// Changes with the list of guilds.
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default, Clone)]
struct Guild {
    /// The role that came with us; nothing while it is not known.
    our_role: Option<Option<String>>,
}

impl Default for Places {
    fn default() -> Self {
        Self { channels: Mutex::default(), guilds: Mutex::default(), changes: watch::Sender::new(0) }
    }
}

impl Places {
    /// Takes note of what an event says of places.
    pub(crate) fn learn(&self, name: &str, event: &Value, me: &str) {
        match name {
            "GUILD_CREATE" => {
                let each = |key: &str| event[key].as_array().into_iter().flatten();
                each("channels").chain(each("threads")).for_each(|channel| self.channel(channel));
                if let Some(id) = text(event, "id") {
                    let known = event["roles"].as_array().map(|roles| our_role(roles, me));
                    self.guild(id, Guild { our_role: known });
                }
            }
            "GUILD_DELETE" if event["unavailable"] != true => {
                if let Some(id) = text(event, "id") {
                    lock(&self.guilds).remove(id);
                    self.changes.send_modify(|n| *n += 1);
                }
            }
            "THREAD_LIST_SYNC" => {
                event["threads"].as_array().into_iter().flatten().for_each(|channel| self.channel(channel))
            }
            "CHANNEL_DELETE" | "THREAD_DELETE" => {
                text(event, "id").map(|id| lock(&self.channels).remove(id));
            }
            _ if name.starts_with("CHANNEL_") || name.starts_with("THREAD_") => self.channel(event),
            _ => {}
        }
    }

    /// What a channel's object says of it.
    pub(crate) fn channel(&self, channel: &Value) {
        let (Some(id), Some(kind)) = (text(channel, "id"), channel["type"].as_u64()) else { return };
        let parent = text(channel, "parent_id").filter(|_| THREADS.contains(&kind)).map(str::to_owned);
        let mut channels = lock(&self.channels);
        if channels.len() >= MOST_CHANNELS {
            channels.retain(|_, parent| parent.is_some());
        }
        if channels.len() >= MOST_CHANNELS {
            channels.clear();
        }
        channels.insert(id.to_owned(), parent);
    }

    fn guild(&self, id: &str, guild: Guild) {
        let mut guilds = lock(&self.guilds);
        let is_new = !guilds.contains_key(id);
        if !is_new && guild.our_role.is_none() {
            return;
        }
        if is_new && guilds.len() >= MOST_GUILDS {
            return;
        }
        let known = guilds.entry(id.to_owned()).or_default();
        known.our_role = guild.our_role.or(known.our_role.take());
        drop(guilds);
        if is_new {
            self.changes.send_modify(|n| *n += 1);
        }
    }

    /// A guild that we are in, of which nothing else is known yet.
    pub(crate) fn name_guild(&self, id: &str) {
        self.guild(id, Guild::default());
    }

    pub(crate) fn guilds(&self) -> Vec<String> {
        let mut all: Vec<String> = lock(&self.guilds).keys().cloned().collect();
        all.sort();
        all
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn known_channel(&self, id: &str) -> Option<Option<String>> {
        lock(&self.channels).get(id).cloned()
    }
}

/// The role that an invitation of ours made.
fn our_role(roles: &[Value], me: &str) -> Option<String> {
    let ours = roles.iter().find(|role| text(&role["tags"], "bot_id") == Some(me))?;
    text(ours, "id").map(str::to_owned)
}

impl Discord {
    /// The channel that the event's channel is a thread of; asked for when it is not known.
    pub(crate) async fn parent_of(&self, event: &Value) -> Option<String> {
        let id = text(event, "channel_id")?;
        text(event, "guild_id").into_iter().for_each(|guild| self.places.name_guild(guild));
        if event["channel"]["id"] == *id {
            self.places.channel(&event["channel"]);
        }
        let is_no_thread = event["channel_type"].as_u64().is_some_and(|kind| !THREADS.contains(&kind));
        if is_no_thread || text(event, "guild_id").is_none() {
            return None;
        }
        for _ in 0..TRIES {
            if let Some(parent) = self.places.known_channel(id) {
                return parent;
            }
            match self.rest.patiently(Method::GET, &format!("/channels/{id}"), None, PATIENCE).await {
                Ok(channel) => self.places.channel(&channel),
                Err(Problem::Refused { .. }) => return None,
                Err(problem) => tracing::debug!(account = self.account, ?problem, "a channel is not known yet"),
            }
        }
        None
    }

    /// The role in the event's guild that is ours alone, if the event names any role.
    pub(crate) async fn our_role_in(&self, event: &Value) -> Option<String> {
        let names_some = event["mention_roles"].as_array().is_some_and(|roles| !roles.is_empty());
        let guild = text(event, "guild_id").filter(|_| names_some)?;
        let known = lock(&self.places.guilds).get(guild).and_then(|guild| guild.our_role.clone());
        if let Some(known) = known {
            return known;
        }
        let answer = self.rest.patiently(Method::GET, &format!("/guilds/{guild}/roles"), None, PATIENCE).await;
        let role = our_role(answer.ok()?.as_array()?, self.user());
        self.places.guild(guild, Guild { our_role: Some(role.clone()) });
        role
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn threads_and_roles_are_learned_and_forgotten() {
        let places = Places::default();
        places.learn("GUILD_CREATE", &json!({"id": "3", "channels": [{"id": "2", "type": 0, "parent_id": "1"}],
            "threads": [{"id": "9", "type": 11, "parent_id": "2"}], "roles": [{"id": "3"}, {"id": "4", "tags": {"bot_id": "777"}}]}), "777");
        assert_eq!(places.known_channel("2"), Some(None), "a category is no parent");
        assert_eq!(places.known_channel("9"), Some(Some("2".into())));
        assert_eq!(lock(&places.guilds)["3"].our_role, Some(Some("4".into())));
        places.learn("THREAD_CREATE", &json!({"id": "10", "type": 12, "parent_id": "2"}), "777");
        assert_eq!(places.known_channel("10"), Some(Some("2".into())));
        places.learn("THREAD_DELETE", &json!({"id": "10"}), "777");
        assert_eq!(places.known_channel("10"), None);
        places.learn("GUILD_DELETE", &json!({"id": "3", "unavailable": true}), "777");
        assert_eq!(places.guilds(), ["3"]);
        places.learn("GUILD_DELETE", &json!({"id": "3"}), "777");
        assert!(places.guilds().is_empty());
        for poison in [json!(null), json!({"id": 5}), json!({"id": "1", "type": "x"}), json!([])] {
            for name in ["GUILD_CREATE", "THREAD_UPDATE", "THREAD_LIST_SYNC", "CHANNEL_DELETE"] {
                places.learn(name, &poison, "777");
            }
        }
    }
}
