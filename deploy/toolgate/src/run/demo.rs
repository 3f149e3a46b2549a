//! `toolgate demo`: simulators, services, gateway and the playground page in one process; no account, key or network.

use std::{net::SocketAddr, path::Path};

use contract::{
    Address, Caller, Origin, Platform, Sender,
    records::{Missed, Person, ScheduleQuery},
};
use dispatch::{Gateway, NewSchedule};
use serde::Serialize;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::{
    config::{self, Config, Store},
    demo::{page::Playground, script, script::Script, services::Services},
    run::{
        Ended,
        adapters::Account,
        gateway::{self, asked_to_stop, open_store},
    },
    sources::{Origins, endpoints},
};

/// The tokens that the demo's bots show the simulators; they open nothing else.
const TELEGRAM_TOKEN: &str = "123456789:demo-token-of-the-simulated-bot";
const DISCORD_TOKEN: &str = "MTIzNDU2Nzg5MDEyMzQ1Njc4.GdEmoX.demo-token-of-the-simulated-bot-0";
const SLACK_BOT_TOKEN: &str = "xoxb-100000000001-200000000001-demoTokenOfTheSimulatedBot";
const SLACK_APP_TOKEN: &str = "xapp-1-A0DEMO00001-300000000001-demotokenofthesimulatedapp";

/// What can be said on the command line.
#[derive(Debug, Clone)]
pub struct Options {
    pub listen: SocketAddr,
    pub sim_listen: SocketAddr,
    /// Nothing: SQLite in a temporary folder.
    pub store: Option<Store>,
    pub json: bool,
    pub open: bool,
}

/// Where everything is, as `--json` prints it.
#[derive(Debug, Clone, Serialize)]
pub struct Places {
    pub gateway: String,
    pub simulators: String,
    pub playground: String,
    pub chat: String,
    pub store: String,
}

/// Runs until it is told to stop.
pub async fn demo(options: &Options) -> Result<(), Ended> {
    let folder = tempfile::Builder::new().prefix("toolgate-demo-").tempdir().map_err(no_folder)?;
    let stopping = CancellationToken::new();
    let services =
        Services::start().await.map_err(|e| Ended::Failed(format!("the demo services cannot start: {e}")))?;
    let script = Script::start().await.map_err(|e| Ended::Failed(format!("the scripted model cannot start: {e}")))?;
    let model = gateway::chain(script.settings(), Vec::new())?;
    let sim = sim::serve(sim::Options { listen: options.sim_listen, ..sim::Options::default() }, stopping.clone())
        .await
        .map_err(|e| Ended::Failed(format!("the simulators cannot start: {e}")))?;
    everybody_is_in_the_group(&sim);
    let digest = daily_digest(&sim);
    let config = demo_config(options, &folder);
    let stores = open_store(&config).await?;
    let mut running = gateway::open(
        Origins::demo(&services.url()),
        stores,
        gateway::settings(&config),
        Some(model),
        endpoints(&config),
    )
    .await?;
    running.connect(accounts(&sim.url));
    let web = running
        .serve(web::Config {
            listen: options.listen,
            admin: None,
            clients: Vec::new(),
            pages: Some(Playground::new(sim.url.clone()).routes()),
            hooks: Some(running.hooks()),
            allowed_origins: Vec::new(),
        })
        .await?;
    running.start();
    if let Some(digest) = digest {
        made_once(&running.gateway, digest).await;
    }
    let places = Places {
        gateway: web.url.clone(),
        simulators: sim.url.clone(),
        playground: format!("{}/playground", web.url),
        chat: format!("{}/chat", web.url),
        store: config.store.to_string(),
    };
    say(options, &places);
    if options.open && !options.json {
        open_page(&places.playground);
    }
    asked_to_stop().await;
    running.stop(Some(web)).await;
    stopping.cancel();
    sim.join().await;
    services.stop().await;
    script.stop().await;
    Ok(())
}

/// One bot on each platform, at the simulators.
fn accounts(simulators: &str) -> Vec<Account> {
    let name = || crate::config::platforms::MAIN.to_owned();
    let at = |path: &str| Some(format!("{simulators}{path}"));
    let socket = slack::Mode::Socket { app_token: SLACK_APP_TOKEN.into() };
    vec![
        Account::Discord(discord::Config::new(name(), DISCORD_TOKEN.into(), at("/discord/api/v10"))),
        Account::Telegram(telegram::Config::new(name(), TELEGRAM_TOKEN.into(), at("/telegram"))),
        Account::Slack(slack::Config::new(name(), SLACK_BOT_TOKEN.into(), socket, at("/slack/api"))),
    ]
}

/// So that whoever one speaks as may have messages sent to the group, and every chat is there to be looked at.
fn everybody_is_in_the_group(sim: &sim::Running) {
    let people = Playground::new("").people;
    let names = || people.iter().map(|person| person.name.clone());
    let member = |name: String| (name, sim::telegram::Role::Member);
    let (telegram, discord, slack) = (&sim.sim.telegram, &sim.sim.discord, &sim.sim.slack);
    let group = || "general".to_owned();
    let everybody = names().map(|name| (name, sim::slack::Standing::Member)).collect();
    let (in_telegram, in_discord, in_slack) = (
        sim::telegram::Conversation { name: group(), roles: names().map(member).collect(), ..Default::default() },
        sim::discord::Conversation { name: group(), ..Default::default() },
        sim::slack::Conversation { name: group(), roles: everybody, ..Default::default() },
    );
    let made = [
        telegram.conversation(&in_telegram).map_err(|error| format!("{error:?}")).err(),
        discord.conversation(&in_discord).map_err(|error| format!("{error:?}")).err(),
        slack.conversation(&in_slack).map_err(|error| format!("{error:?}")).err(),
    ];
    for error in made.into_iter().flatten() {
        tracing::warn!(error, "nobody is in a group yet");
    }
}

/// What *you* on Telegram would like to read in Slack every morning; so that there is a schedule to look at and to run.
fn daily_digest(sim: &sim::Running) -> Option<NewSchedule> {
    let you = sim::telegram::Conversation { name: "dm:you".into(), ..Default::default() };
    let group = sim::slack::Conversation { name: "general".into(), ..Default::default() };
    let you = sim.sim.telegram.conversation(&you).ok()?.to_string();
    let group = sim.sim.slack.conversation(&group).ok()?;
    let main = crate::config::platforms::MAIN;
    let owner = Caller {
        platform: Platform::Telegram,
        account: main.into(),
        tenant: "default".into(),
        space: None,
        conversation: you.clone(),
        thread: None,
        sender: Sender { id: you, name: "you".into() },
        roles: Vec::new(),
        origin: Origin::Schedule,
    };
    Some(NewSchedule {
        owner,
        direct: true,
        locale: Some("en".into()),
        name: "daily digest".into(),
        say: "/daily_digest Berlin".into(),
        when: "every weekday at 8:00".into(),
        zone: Some("Europe/Berlin".into()),
        missed: Missed::Skip,
        to: Some(Address::new(Platform::Slack, main, group)),
        by_operator: true,
    })
}

/// A store that outlives the demo has it already at the next start.
async fn made_once(gateway: &Gateway, wished: NewSchedule) {
    let query = ScheduleQuery { owner: Some(Person::of(&wished.owner)), ..ScheduleQuery::default() };
    match gateway.schedules(&query).await {
        Ok(there) if there.iter().any(|schedule| schedule.name == wished.name) => return,
        Ok(_) => {}
        Err(down) => return tracing::warn!(%down, "the demo's schedule is not made"),
    }
    if let Err(failure) = gateway.schedule_add(wished).await {
        tracing::warn!(say = failure.say.as_str(), "the demo's schedule is not made");
    }
}

/// The simulators alone, until they are told to stop.
#[expect(clippy::print_stdout, reason = "it tells where it is on standard output")]
pub async fn simulators(listen: SocketAddr, json: bool) -> Result<(), Ended> {
    let stopping = CancellationToken::new();
    let options = sim::Options { listen, ..sim::Options::default() };
    let sim = sim::serve(options, stopping.clone()).await.map_err(|e| Ended::Failed(e.to_string()))?;
    match json {
        true => println!("{}", serde_json::json!({ "simulators": sim.url })),
        false => {
            println!("  Discord   api_url {0}/discord/api/v10   people {0}/control/discord", sim.url);
            println!("  Telegram  api_url {0}/telegram          people {0}/control/telegram", sim.url);
            println!("  Slack     api_url {0}/slack/api         people {0}/control/slack", sim.url);
        }
    }
    asked_to_stop().await;
    stopping.cancel();
    sim.join().await;
    Ok(())
}

/// What counts where no file says anything.
pub fn defaults() -> Config {
    config::parse(None, "", []).expect("an empty configuration is a valid one").config
}

fn no_folder(error: std::io::Error) -> Ended {
    Ended::Failed(format!("no temporary folder can be made: {error}"))
}

fn demo_config(options: &Options, folder: &TempDir) -> Config {
    let store = options.store.clone().unwrap_or_else(|| Store::Sqlite(folder.path().join("toolgate.db")));
    let mut config = Config { listen: options.listen, store, ..defaults() };
    // Whoever ends a demo does not want to wait for a tool that hangs on purpose.
    config.limits.drain = std::time::Duration::from_secs(5);
    config
}

#[expect(clippy::print_stdout, reason = "the demo tells where it is on standard output")]
fn say(options: &Options, places: &Places) {
    if options.json {
        let line = serde_json::to_string(places).expect("plain fields serialize");
        println!("{line}");
        return;
    }
    println!("The playground is ready. Open it and talk to the bot:\n");
    println!("    {}\n", places.playground);
    println!("  chat page    {}", places.chat);
    println!("  gateway      {}", places.gateway);
    println!("  simulators   {}", places.simulators);
    println!("  store        {}", places.store);
    println!("  model        {}: it follows a few rules, so that no key is needed", script::NAME);
    println!("\nIn another terminal, what happened to a request (its reference stands under each answer):\n");
    // Without it the command asks at the default address.
    let gateway = match places.gateway == format!("http://{}", defaults().listen) {
        true => String::new(),
        false => format!(" --gateway {}", places.gateway),
    };
    println!("    toolgate trace list{gateway}");
    println!("    toolgate trace show REF{gateway}");
    println!("    toolgate schedule list{gateway}\n");
    println!("Ctrl+C ends it; nothing is left behind.");
}

/// Best effort: the address is printed anyway.
fn open_page(url: &str) {
    let opener = ["/usr/bin/xdg-open", "/usr/bin/open"].into_iter().find(|p| Path::new(p).exists());
    if let Some(opener) = opener {
        let quiet = std::process::Stdio::null;
        let mut command = tokio::process::Command::new(opener);
        let opened = command.arg(url).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
        if let Ok(mut opener) = opened {
            // Waited for by nobody else: it would stay as a zombie for as long as the demo runs.
            tokio::spawn(async move { opener.wait().await });
        }
    }
}
