//! Registers the menu as application commands: for all, and for guilds whose menu is another; only what changed.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use contract::{Address, Core, Digest, Menu, Platform};
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Commands;
use crate::{Discord, gateway, lock};

/// Several changes in a row are registered once.
const SETTLE: Duration = Duration::from_millis(300);
const RETRY: Duration = Duration::from_secs(30);
const PATIENCE: Duration = Duration::from_secs(60);
/// Guilds with a menu of their own; Discord takes 200 new commands a day in each.
const MOST_GUILDS: usize = 100;

/// The commands by place, as they are known to people.
#[derive(Default)]
pub(crate) struct Menus {
    everywhere: Mutex<Arc<Commands>>,
    guilds: Mutex<HashMap<String, Arc<Commands>>>,
}

impl Menus {
    /// The commands among which one was chosen.
    pub(crate) fn of(&self, guild: Option<&str>, path: &[String]) -> Arc<Commands> {
        let own = guild.and_then(|guild| lock(&self.guilds).get(guild).cloned());
        own.filter(|own| own.find(path).is_some()).unwrap_or_else(|| lock(&self.everywhere).clone())
    }
}

/// What is registered: digests by guild, and of the commands for all under no name.
type Registered = BTreeMap<String, String>;

/// The same with whose commands they are: those of another application mean nothing.
#[derive(Serialize, Deserialize)]
struct Note {
    application: String,
    registered: Registered,
}

/// Registers the menu and each change of it, for ever.
pub(crate) async fn keep(discord: &Discord, core: &Core) -> Infallible {
    let mut seen = 0;
    let mut guilds = discord.places.changes();
    loop {
        guilds.mark_unchanged();
        while let Err(wait) = register(discord, core).await {
            tokio::time::sleep(wait).await;
        }
        tokio::select! {
            now = core.catalog.changed(seen) => seen = now,
            // The sender lives as long as the adapter.
            _ = guilds.changed() => {}
        }
        tokio::time::sleep(SETTLE).await;
    }
}

/// Fails with how long to wait.
async fn register(discord: &Discord, core: &Core) -> Result<(), Duration> {
    let menu = menu(discord, core, None);
    let everywhere = Arc::new(Commands::of(&menu));
    *lock(&discord.menus.everywhere) = everywhere.clone();
    let cursor = discord.cursor("commands");
    let stored = core.cursors.load(&cursor).await.map_err(|_| RETRY)?;
    let application = discord.me.get().map_or("", |me| &me.application).to_owned();
    let note = stored.and_then(|stored| serde_json::from_slice::<Note>(&stored).ok());
    let mut note = note
        .filter(|note| note.application == application)
        .unwrap_or(Note { application, registered: Registered::new() });
    let own = differing(discord, core, &menu, &note.registered);
    *lock(&discord.menus.guilds) = own.clone();
    let mut wanted: Vec<(String, Vec<Value>)> = vec![(String::new(), everywhere.wire.clone())];
    wanted.extend(own.iter().map(|(guild, commands)| (guild.clone(), commands.wire.clone())));
    let gone = note.registered.keys().filter(|guild| !guild.is_empty() && !own.contains_key(*guild));
    wanted.extend(gone.map(|guild| (guild.clone(), Vec::new())).collect::<Vec<_>>());
    for (guild, wire) in wanted {
        let digest = Digest::of(json!(wire).to_string().as_bytes()).to_string();
        if note.registered.get(&guild) == Some(&digest) {
            continue;
        }
        put(discord, &guild, wire.clone()).await?;
        match wire.is_empty() && !guild.is_empty() {
            true => drop(note.registered.remove(&guild)),
            false => drop(note.registered.insert(guild, digest)),
        }
        // Not remembered, it is registered once more after a restart.
        let _ = core.cursors.save(&cursor, &serde_json::to_vec(&note).unwrap_or_default()).await;
    }
    Ok(())
}

fn menu(discord: &Discord, core: &Core, guild: Option<&str>) -> Arc<Menu> {
    let place = Address { space: guild.map(str::to_owned), ..Address::new(Platform::Discord, &discord.account, "") };
    core.catalog.menu(&core.catalog.anyone(&place))
}

/// The commands of guilds in which others than everywhere can be used. A session that was resumed does not tell the guilds:
/// those with commands of their own are known all the same.
fn differing(
    discord: &Discord,
    core: &Core,
    everywhere: &Menu,
    registered: &Registered,
) -> HashMap<String, Arc<Commands>> {
    let known = registered.keys().filter(|guild| !guild.is_empty()).cloned();
    let guilds: BTreeSet<String> = known.chain(discord.places.guilds()).collect();
    let menus = guilds.into_iter().map(|guild| (menu(discord, core, Some(&guild)), guild));
    let differing = menus.filter(|(menu, _)| menu.digest != everywhere.digest);
    differing.take(MOST_GUILDS).map(|(menu, guild)| (guild, Arc::new(Commands::of(&menu)))).collect()
}

async fn put(discord: &Discord, guild: &str, wire: Vec<Value>) -> Result<(), Duration> {
    let application = discord.me.get().map_or("", |me| &me.application);
    let path = match guild {
        "" => format!("/applications/{application}/commands"),
        guild => format!("/applications/{application}/guilds/{guild}/commands"),
    };
    match discord.rest.patiently(Method::PUT, &path, Some(&Value::Array(wire)), PATIENCE).await {
        Ok(_) => {
            tracing::info!(account = discord.account, guild, "the commands were registered");
            Ok(())
        }
        // A guild that does not let us: its people have the commands for all.
        Err(crate::rest::Problem::Refused { status: 403 | 404, words, .. }) if !guild.is_empty() => {
            tracing::warn!(account = discord.account, guild, words, "a guild takes no commands");
            Ok(())
        }
        Err(crate::rest::Problem::Wait { wait, .. }) => Err(wait),
        Err(problem) => {
            let cause = gateway::words(&problem);
            tracing::warn!(account = discord.account, guild, cause, "the commands were not registered");
            Err(RETRY)
        }
    }
}
