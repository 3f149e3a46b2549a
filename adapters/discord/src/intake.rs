//! Events into the inbox: in order within each channel, each durable before it counts as taken in, what is unreadable recorded
//! and passed over.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use contract::{Accepted, Audience, Core, DeliveryKey, Message, Op, Outlet, Part, TurnId, text};
use futures_util::future::join_all;
use serde_json::Value;
use tokio::{sync::mpsc, task::JoinSet, time::sleep};

use crate::{
    Discord,
    gateway::{Event, Memory, Report},
    inbound::{self, Context},
};

/// Events that are taken together: channels do not wait for each other.
const BATCH: usize = 64;
/// Words that are being said at once, beside answers.
const MOST_WORDS: usize = 64;
const LONGEST_WORDS: usize = 1_000;
/// How often an absent store is tried again.
const RETRY: Duration = Duration::from_millis(100);
const LONGEST_RETRY: Duration = Duration::from_secs(1);

/// Takes the events of one shard in.
pub(crate) struct Intake<'a> {
    pub(crate) discord: &'a Arc<Discord>,
    pub(crate) core: &'a Core,
    pub(crate) memory: &'a Memory,
    report: &'a Report,
}

impl<'a> Intake<'a> {
    pub(crate) fn new(discord: &'a Arc<Discord>, core: &'a Core, memory: &'a Memory, report: &'a Report) -> Self {
        Self { discord, core, memory, report }
    }

    /// Until no more come.
    pub(crate) async fn run(self, mut events: mpsc::Receiver<Event>) {
        let mut batch = Vec::with_capacity(BATCH);
        let mut said = JoinSet::new();
        while events.recv_many(&mut batch, BATCH).await > 0 {
            for words in self.take(std::mem::take(&mut batch)).await {
                while said.try_join_next().is_some() {}
                if said.len() >= MOST_WORDS {
                    said.join_next().await;
                }
                said.spawn(say(self.discord.clone(), words));
            }
        }
        while said.join_next().await.is_some() {}
    }

    /// Takes a batch; what is to be said in answer at once.
    async fn take(&self, batch: Vec<Event>) -> Vec<Words> {
        let mut lanes: Vec<Vec<Event>> = Vec::new();
        let mut lane_of: HashMap<String, usize> = HashMap::new();
        let mut said = Vec::new();
        for event in batch {
            if !event.name.starts_with("MESSAGE_") {
                said.extend(self.learn(&event).await);
                self.memory.done(&event);
                continue;
            }
            let channel = inbound::text(&event.data, "channel_id").unwrap_or_default().to_owned();
            let lane = *lane_of.entry(channel).or_insert_with(|| {
                lanes.push(Vec::new());
                lanes.len() - 1
            });
            lanes[lane].push(event);
        }
        let heard = lanes.into_iter().map(|lane| async move {
            let mut said = Vec::new();
            for event in lane {
                said.extend(self.hear(&event.name, &event.data).await);
                self.memory.done(&event);
            }
            said
        });
        said.extend(join_all(heard).await.into_iter().flatten());
        said
    }

    /// What an event tells of places; where something was missed there, it is caught up before what follows.
    async fn learn(&self, event: &Event) -> Vec<Words> {
        let places = &self.discord.places;
        places.learn(&event.name, &event.data, self.discord.user());
        match event.name.as_str() {
            "GUILD_CREATE" => self.catch_up_guild(&event.data).await,
            "READY" => {
                let guilds = event.data["guilds"].as_array().into_iter().flatten();
                guilds.filter_map(|guild| inbound::text(guild, "id")).for_each(|id| places.name_guild(id));
                self.catch_up_direct().await
            }
            _ => Vec::new(),
        }
    }

    /// One event about a message, to its end.
    pub(crate) async fn hear(&self, name: &str, data: &Value) -> Option<Words> {
        let (parent, our_role) = (self.discord.parent_of(data).await, self.discord.our_role_in(data).await);
        let cx = Context {
            account: &self.discord.account,
            me: self.discord.user(),
            our_role: our_role.as_deref(),
            parent: parent.as_deref(),
        };
        let said = match self.read(name, data, &cx) {
            Some(message) => self.accept(message).await,
            None => None,
        };
        if name == "MESSAGE_CREATE"
            && let (Some(channel), Some(id)) = (inbound::text(data, "channel_id"), inbound::text(data, "id"))
        {
            self.memory.see(channel, id, inbound::text(data, "guild_id").is_none());
        }
        said
    }

    /// An event that cannot be read is recorded and passed over: the others must not wait for it.
    fn read(&self, name: &str, data: &Value, cx: &Context<'_>) -> Option<Message> {
        let reading = || match name {
            "MESSAGE_CREATE" => inbound::message(data, cx),
            "MESSAGE_UPDATE" => inbound::edit(data, cx),
            "MESSAGE_REACTION_ADD" => inbound::reaction(data, cx),
            _ => None,
        };
        let id = inbound::text(data, "id");
        match catch_unwind(AssertUnwindSafe(reading)) {
            Ok(Some(message)) => return Some(message),
            Ok(None) => tracing::debug!(cx.account, name, id, "an event carries nothing to answer"),
            Err(_) => tracing::error!(cx.account, name, id, "an event could not be read and is passed over"),
        }
        None
    }

    /// Tries until it is durable.
    async fn accept(&self, message: Message) -> Option<Words> {
        let address = message.address.clone();
        let mut wait = RETRY;
        loop {
            match self.core.inbox.accept(message.clone()).await {
                Ok(accepted) => {
                    self.report.intake(None);
                    return match accepted {
                        Accepted::Signal(words) if !words.is_empty() => Some(Words { to: address, words }),
                        Accepted::Signal(_) | Accepted::Turn { .. } | Accepted::NotForUs => None,
                    };
                }
                Err(cause) => self.report.intake(Some(format!("nothing is taken in: {cause}"))),
            }
            sleep(wait).await;
            wait = (wait * 2).min(LONGEST_RETRY);
        }
    }
}

/// What is said at once, and to whom.
pub(crate) struct Words {
    to: contract::Address,
    words: String,
}

/// Best effort: what must arrive goes through the delivery.
async fn say(discord: Arc<Discord>, Words { to, words }: Words) {
    let part = Part {
        body: String::new(),
        plain: text::cut(&words, LONGEST_WORDS),
        buttons: Vec::new(),
        files: Vec::new(),
        audience: Audience::Everyone,
    };
    let key = DeliveryKey { turn: TurnId::new(), n: 0, part: 0 };
    if let Err(cause) = discord.send(&to, Op::Post(&part), &key).await {
        tracing::debug!(account = discord.account, %cause, "a word was not said");
    }
}
