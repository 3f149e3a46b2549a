//! Messages that were missed while no session could be resumed: looked up in the channels that we know of, and taken in like
//! all others, the oldest first.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use contract::Heard;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    inbound::{self, Context, made_at_ms, text},
    intake::{Intake, Words},
};

/// Messages of one channel that are looked up.
const MOST: usize = 100;
/// Conversations with one person that are looked at; no event tells what is new in them.
const MOST_DIRECT: usize = 50;
/// How long one channel may take.
const PATIENCE: Duration = Duration::from_secs(15);

impl Intake<'_> {
    /// What a guild's channels say of their newest messages tells where something was missed.
    pub(crate) async fn catch_up_guild(&self, guild: &Value) -> Vec<Words> {
        let mut said = Vec::new();
        let Some(id) = text(guild, "id") else { return said };
        let each = |key: &str| guild[key].as_array().into_iter().flatten();
        for channel in each("channels").chain(each("threads")) {
            let Some(channel_id) = text(channel, "id") else { continue };
            let Some(seen) = self.memory.missed_since(channel_id) else { continue };
            let newest = text(channel, "last_message_id");
            let is_new = newest.and_then(|newest| newest.parse().ok()).is_some_and(|newest: u64| newest > seen.message);
            if is_new && newest.is_some_and(|newest| self.is_recent(newest)) {
                said.extend(self.catch_up(channel_id, Some(id), seen.message).await);
            }
        }
        said
    }

    pub(crate) async fn catch_up_direct(&self) -> Vec<Words> {
        let mut said = Vec::new();
        for (channel, seen) in self.memory.missed_directly(MOST_DIRECT) {
            said.extend(self.catch_up(&channel, None, seen.message).await);
        }
        said
    }

    fn is_recent(&self, id: &str) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let window = self.discord.config.timing.catch_up.as_millis();
        made_at_ms(id).is_some_and(|at| u128::from(at) + window >= now)
    }

    /// What is to be said at once to what was missed.
    async fn catch_up(&self, channel: &str, guild: Option<&str>, after: u64) -> Vec<Words> {
        let rest = &self.discord.rest;
        let path = format!("/channels/{channel}/messages?after={after}&limit={MOST}");
        let mut missed = match rest.patiently(Method::GET, &path, None, PATIENCE).await {
            Ok(Value::Array(missed)) => missed,
            Ok(_) => return Vec::new(),
            Err(problem) => {
                tracing::warn!(
                    account = self.discord.account,
                    channel,
                    ?problem,
                    "what was missed could not be looked up"
                );
                return Vec::new();
            }
        };
        missed.retain(|message| text(message, "id").is_some_and(|id| self.is_recent(id)));
        missed.sort_by_key(|message| text(message, "id").and_then(|id| id.parse::<u64>().ok()));
        if !missed.is_empty() {
            tracing::info!(account = self.discord.account, channel, count = missed.len(), "catches up what was missed");
        }
        let mut said = Vec::new();
        for mut message in missed {
            self.complete(&mut message, guild).await;
            said.extend(self.hear("MESSAGE_CREATE", &message).await);
        }
        said
    }

    /// A message that is looked up says less than its event would: neither the guild nor the sender's roles.
    async fn complete(&self, message: &mut Value, guild: Option<&str>) {
        let Some(guild) = guild else { return };
        message["guild_id"] = json!(guild);
        let cx = Context { account: "", me: self.discord.user(), our_role: None, parent: None };
        let names_roles = message["mention_roles"].as_array().is_some_and(|roles| !roles.is_empty());
        let heard = inbound::message(message, &cx).map(|message| message.heard);
        let Some(author) = text(&message["author"], "id").filter(|_| names_roles || heard == Some(Heard::Addressed))
        else {
            return;
        };
        let path = format!("/guilds/{guild}/members/{author}");
        if let Ok(member) = self.discord.rest.patiently(Method::GET, &path, None, PATIENCE).await {
            message["member"] = member;
        }
    }
}
