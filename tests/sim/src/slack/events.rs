//! Events as apps are told them: who sees what, and the wrapping.

use serde_json::{Value, json};

use super::cast::{Channel, ChannelKind, Message, now};
use super::outbox::What;
use super::scopes;
use super::world::World;

impl World {
    /// What surrounds an event; what it says of the receiver differs from app to app.
    fn wrapped(&mut self, app: usize, team: usize, event: Value) -> Value {
        let event_id = self.next_id("Ev");
        let (known, workspace) = (&self.apps[app], &self.teams[team]);
        let bot = known.install(team).map(|install| install.bot_user.clone());
        let org_wide = known.org_wide;
        let receiver = if org_wide { None } else { Some(&workspace.id) };
        let mut out = json!({
            "token": "verification", "team_id": workspace.id, "context_team_id": workspace.id, "context_enterprise_id": workspace.enterprise,
            "api_app_id": known.id, "event": event, "type": "event_callback", "event_id": event_id, "event_time": now(),
            "authorizations": [{"enterprise_id": workspace.enterprise, "team_id": receiver, "user_id": bot, "is_bot": true, "is_enterprise_install": org_wide}],
            "is_ext_shared_channel": false, "event_context": format!("4-{event_id}"),
        });
        if let Some(enterprise) = &workspace.enterprise {
            out["enterprise_id"] = json!(enterprise);
        }
        out
    }

    /// Tells one app an event of a workspace; returns the event's id.
    pub fn tell(&mut self, app: usize, team: usize, event: Value) -> Option<String> {
        let payload = self.wrapped(app, team, event);
        let hour = now() / 3_600;
        let limit = self.limits.events_per_hour;
        let counted = &mut self.apps[app].events;
        *counted = if counted.0 == hour { (hour, counted.1 + 1) } else { (hour, 1) };
        if limit > 0 && counted.1 > limit {
            if counted.1 == limit + 1 {
                let minute = now() / 60 * 60;
                let limited = json!({"token": "verification", "type": "app_rate_limited", "team_id": self.teams[team].id, "minute_rate_limited": minute, "api_app_id": self.apps[app].id});
                self.deliver(app, What::Event, limited, None);
            }
            return None;
        }
        let id = payload["event_id"].as_str().map(str::to_owned);
        self.deliver(app, What::Event, payload, None);
        id
    }

    /// The apps whose bots are in a conversation and may be told an event of it.
    fn listeners(&self, channel: &Channel, event: &Value) -> Vec<usize> {
        let scope = scopes::of_event(event, channel);
        (0..self.apps.len())
            .filter(|app| {
                let known = &self.apps[*app];
                known.install(channel.team).is_some_and(|install| channel.members.contains(&install.bot_user))
                    && known.may(&scope)
            })
            .collect()
    }

    /// Tells everybody in a conversation; returns the newest event's id.
    pub fn tell_all(&mut self, channel: &str, event: &Value) -> Option<String> {
        let place = self.channels.get(channel)?;
        let (listeners, team) = (self.listeners(place, event), place.team);
        let mut last = None;
        for app in listeners {
            last = self.tell(app, team, event.clone()).or(last);
        }
        last
    }

    /// A new message: to everybody there, and to the bots that it names once more as a mention.
    pub fn announce(&mut self, channel: &str, ts: &str) -> (Option<String>, Value) {
        let Some((place, message)) = self.found(channel, ts) else { return (None, Value::Null) };
        let mut event = self.message_json(&place, &message);
        event["channel"] = json!(channel);
        event["event_ts"] = json!(ts);
        let mut mention = event.clone();
        event["channel_type"] = json!(place.kind.event_word());
        let told = self.tell_all(channel, &event);
        if message.subtype.is_none_or(|subtype| matches!(subtype, "file_share" | "thread_broadcast" | "bot_message")) {
            self.mention(&place, &message, &mut mention);
        }
        (told, event)
    }

    /// Mentions reach the bot also where it does not read, but never in direct conversations.
    fn mention(&mut self, place: &Channel, message: &Message, event: &mut Value) {
        if place.kind == ChannelKind::Im {
            return;
        }
        event["type"] = json!("app_mention");
        if let Some(event) = event.as_object_mut() {
            event.shift_remove("subtype");
        }
        for app in 0..self.apps.len() {
            let known = &self.apps[app];
            let Some(install) = known.install(place.team) else { continue };
            let own = message.user == install.bot_user;
            let named = message.text.contains(&format!("<@{}>", install.bot_user))
                || message.text.contains(&format!("<@{}|", install.bot_user));
            if named && !own && place.members.contains(&install.bot_user) && known.may("app_mentions:read") {
                self.tell(app, place.team, event.clone());
            }
        }
    }

    /// A message is no longer what it was.
    pub fn announce_change(&mut self, channel: &str, ts: &str, previous: Value) -> (Option<String>, Value) {
        let Some((place, message)) = self.found(channel, ts) else { return (None, Value::Null) };
        let stamp = self.next_ts();
        let mut current = self.message_json(&place, &message);
        current["source_team"] = current["team"].clone();
        current["user_team"] = current["team"].clone();
        let event = json!({"type": "message", "subtype": "message_changed", "message": current, "previous_message": previous,
            "channel": channel, "hidden": true, "ts": stamp, "event_ts": stamp, "channel_type": place.kind.event_word()});
        let told = self.tell_all(channel, &event);
        let names = |value: &Value, bot: &str| value["text"].as_str().unwrap_or_default().contains(&format!("<@{bot}"));
        let bots: Vec<String> = self
            .apps
            .iter()
            .filter_map(|app| app.install(place.team))
            .map(|install| install.bot_user.clone())
            .collect();
        if bots.iter().any(|bot| names(&event["message"], bot) && !names(&event["previous_message"], bot)) {
            let mut mention = event["message"].clone();
            mention["channel"] = json!(channel);
            mention["event_ts"] = json!(stamp);
            self.mention(&place, &message, &mut mention);
        }
        (told, event)
    }

    pub fn announce_removal(&mut self, channel: &str, ts: &str, previous: Value) -> Value {
        let Some(kind) = self.channels.get(channel).map(|channel| channel.kind.event_word()) else {
            return Value::Null;
        };
        let stamp = self.next_ts();
        let event = json!({"type": "message", "subtype": "message_deleted", "previous_message": previous, "channel": channel,
            "hidden": true, "deleted_ts": ts, "event_ts": stamp, "ts": stamp, "channel_type": kind});
        self.tell_all(channel, &event);
        event
    }

    /// Place and message, to be looked at while the world changes.
    pub fn found(&self, channel: &str, ts: &str) -> Option<(Channel, Message)> {
        let place = self.channels.get(channel)?;
        let message = place.messages.get(ts)?.clone();
        Some((self.outline(place, &message), message))
    }

    /// A conversation without its messages, except for the root of one message's thread.
    fn outline(&self, place: &Channel, message: &Message) -> Channel {
        let root = message
            .thread
            .as_ref()
            .and_then(|root| place.messages.get(root))
            .map(|root| (root.ts.clone(), root.clone()));
        Channel {
            id: place.id.clone(),
            name: place.name.clone(),
            kind: place.kind,
            title: place.title.clone(),
            team: place.team,
            archived: place.archived,
            members: place.members.clone(),
            im: place.im.clone(),
            messages: root.into_iter().collect(),
            threads: place.threads.clone(),
        }
    }
}
