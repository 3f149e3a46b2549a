//! The `toolgate` command.

use std::{io::IsTerminal, process::ExitCode};

use clap::{CommandFactory, Parser};
use toolgate::{
    cli::{
        Approvals, Chat, Checkpoint, Cli, Command, Common, Exit, Pairing, Policy, Schedule, Session, Sim, Tool, Trace,
        Up,
    },
    commands::{self, Said, Whose},
    config::{self, Config, Loaded, Store},
    ink::{Ink, Tone},
    log::Masked,
    run::{self, Ended},
    sources::Origins,
};
use tracing_subscriber::EnvFilter;

/// The path of a call is many small allocations on several threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if let Some(code) = confine() {
        return code;
    }
    let cli = Cli::parse();
    // Once, before the first client is built; a second provider would be a second TLS stack.
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        eprintln!("another TLS provider is installed already");
        return Exit::Failed.into();
    }
    // The guard says which tool crashed; the place is all that is missing there.
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "a task panicked");
    }));
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: the runtime cannot start: {error}");
            return Exit::Failed.into();
        }
    };
    let for_program = cli.common.json && !cli.command.keeps_running();
    match runtime.block_on(run(cli)) {
        Ok(exit) => exit.into(),
        Err(ended) => {
            tell(&ended, for_program);
            ExitCode::from(ended.code())
        }
    }
}

/// `toolgate confine PLAN -- PROGRAM ARGS`: what the gateway starts between itself and a tool that is a program. Nobody
/// types it, so that it is in no help; it begins before there are threads.
#[cfg(target_os = "linux")]
fn confine() -> Option<ExitCode> {
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    match args.as_slice() {
        [word, plan, dashes, argv @ ..] if word == "confine" && dashes == "--" => {
            Some(endpoints::command::launch::run(&plan.to_string_lossy(), argv).into())
        }
        _ => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn confine() -> Option<ExitCode> {
    None
}

#[expect(clippy::print_stdout, reason = "a program reads one place, whatever happened")]
fn tell(ended: &Ended, for_program: bool) {
    match ended {
        _ if for_program => println!("{}", Said::failed(Exit::Failed, ended.to_string()).json),
        // Every finding is an error of its own.
        Ended::BadConfiguration(findings) => findings.lines().for_each(|finding| eprintln!("error: {finding}")),
        Ended::Failed(_) | Ended::Usage(_) | Ended::Again(_) => eprintln!("error: {ended}"),
    }
}

async fn run(cli: Cli) -> Result<Exit, Ended> {
    let common = cli.common;
    match cli.command {
        #[cfg(feature = "demo")]
        Command::Demo(options) => demo(&common, &options).await,
        #[cfg(not(feature = "demo"))]
        Command::Demo(_) => Err(Ended::Usage("this binary was built without the demo".into())),
        Command::Up(options) => up(&common, options).await,
        Command::Chat(options) => chat(&common, options).await,
        Command::Sim(options) => sim(&common, &options).await,
        Command::Check { offline } => {
            Ok(say(&common, commands::check(config::load(common.config.as_deref()), offline).await))
        }
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "toolgate", &mut std::io::stdout());
            Ok(Exit::Ok)
        }
        Command::Tool(Tool::Validate { spec }) => Ok(say(&common, commands::validate(&spec, near(&common).as_ref()))),
        Command::Policy(command) => policy(&common, command).await,
        Command::Tool(command) => tool(&common, command).await,
        Command::Trace(command) => trace(&common, command).await,
        Command::Approvals(command) => approvals(&common, command).await,
        Command::Schedule(command) => schedule(&common, command).await,
        Command::Pairing(command) => pairing(&common, command).await,
        Command::Checkpoint(command) => checkpoint(&common, &command).await,
        Command::Session(command) => session(&common, command).await,
        Command::Health(remote) => Ok(say(&common, commands::health(&configuration(&common)?, &remote).await)),
    }
}

/// The configuration, or what is wrong with it; warnings go to stderr.
fn configuration(common: &Common) -> Result<Config, Ended> {
    let Loaded { config, warnings } = config::load(common.config.as_deref()).map_err(|findings| {
        let lines: Vec<_> = findings.iter().map(ToString::to_string).collect();
        Ended::BadConfiguration(lines.join("\n"))
    })?;
    for warning in warnings {
        eprintln!("warning: {warning}");
    }
    Ok(config)
}

/// The configuration where there is one that can be read: files are checked without it too.
fn near(common: &Common) -> Option<Config> {
    config::load(common.config.as_deref()).ok().map(|loaded| loaded.config)
}

#[expect(clippy::print_stdout, reason = "this is the place where commands speak")]
fn say(common: &Common, said: Said) -> Exit {
    if common.json {
        println!("{}", said.json);
        return said.exit;
    }
    match said.text.trim_end() {
        "" => {}
        text if said.refused => eprintln!("{text}"),
        text => println!("{text}"),
    }
    if let Some(note) = &said.note {
        eprintln!("{}", Ink::for_stderr().paint(Tone::Quiet, note));
    }
    said.exit
}

fn log(config: &Config) {
    let filter = EnvFilter::try_from_default_env().or_else(|_| EnvFilter::try_new(&config.log.level));
    let filter = filter.unwrap_or_else(|_| EnvFilter::new("info"));
    // It tells of every message; what matters of them is said by us.
    let filter = match filter.to_string().contains("rmcp") {
        true => filter,
        false => filter.add_directive("rmcp=off".parse().expect("a directive is readable")),
    };
    // A log in a file is read by others than terminals.
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| Masked(std::io::stderr()))
        .with_ansi(wanted && std::io::stderr().is_terminal());
    // Set once per process; a second time would be a test that runs commands in one process.
    let _ = if config.log.json { subscriber.json().try_init() } else { subscriber.with_target(false).try_init() };
}

fn store(text: &str) -> Result<Store, Ended> {
    Store::parse(text, std::path::Path::new("")).map_err(|e| Ended::Usage(format!("--store: {e}")))
}

async fn up(common: &Common, options: Up) -> Result<Exit, Ended> {
    let mut config = configuration(common)?;
    if let Some(listen) = options.listen {
        config.listen = listen;
    }
    if let Some(text) = &options.store {
        config.store = store(text)?;
    }
    log(&config);
    run::up::up(&config, common.json).await.map(|()| Exit::Ok)
}

async fn chat(common: &Common, options: Chat) -> Result<Exit, Ended> {
    let mut config = configuration(common)?;
    if let Some(text) = &options.store {
        config.store = store(text)?;
    }
    // In a conversation only what goes wrong is worth a line of log.
    config.log.level = "error".into();
    log(&config);
    let origins = Origins::of(&config);
    let show = run::chat::Show { tree: !options.no_tree, json: common.json };
    run::chat::chat(&config, origins, options.sender, show).await.map(|()| Exit::Ok)
}

#[cfg(feature = "demo")]
async fn demo(common: &Common, options: &toolgate::cli::Demo) -> Result<Exit, Ended> {
    let mut config = run::demo::defaults();
    config.log.level = "warn".into();
    log(&config);
    let options = run::demo::Options {
        listen: options.listen,
        sim_listen: options.sim_listen,
        store: options.store.as_deref().map(store).transpose()?,
        json: common.json,
        open: !options.no_open,
    };
    run::demo::demo(&options).await.map(|()| Exit::Ok)
}

#[cfg(feature = "demo")]
async fn sim(common: &Common, options: &Sim) -> Result<Exit, Ended> {
    log(&run::demo::defaults());
    run::demo::simulators(options.listen, common.json).await.map(|()| Exit::Ok)
}

#[cfg(not(feature = "demo"))]
async fn sim(_common: &Common, _options: &Sim) -> Result<Exit, Ended> {
    Err(Ended::Usage("this binary was built without the simulators".into()))
}

async fn tool(common: &Common, command: Tool) -> Result<Exit, Ended> {
    let config = configuration(common)?;
    let said = match command {
        Tool::Validate { spec } => commands::validate(&spec, Some(&config)),
        Tool::Add(add) => commands::add_tools(&config, &add).await,
        Tool::Publish { change, description } => commands::publish_tool(&config, &change, description).await,
        Tool::Deprecate(change) => commands::deprecate_tool(&config, &change).await,
        Tool::Remove(change) => commands::remove_tool(&config, &change).await,
        Tool::Rollback { named, to } => commands::rollback_tool(&config, &named, to).await,
        Tool::History { named, text } => commands::tool_history(&config, &named, text).await,
        Tool::ImportMcp(import) => return Ok(commands::import_mcp(&config, &import, |said| say(common, said)).await),
        Tool::CacheInvalidate(named) => commands::refresh_tool(&config, &named).await,
        Tool::List { all: true, remote, .. } => commands::all_tools(&config, &remote).await,
        Tool::List { who, remote, .. } => commands::list(&config, &who, &remote).await,
        Tool::Show(named) => commands::show(&config, &named.name, &named.remote).await,
        Tool::Invoke(invoke) => commands::invoke(&config, &invoke).await,
    };
    Ok(say(common, said))
}

async fn policy(common: &Common, command: Policy) -> Result<Exit, Ended> {
    let config = configuration(common)?;
    let whose = |remote| Whose::of(common.config.is_some(), remote);
    let said = match command {
        Policy::Show { platform, remote } => commands::policies(&config, platform, &remote, whose(&remote)).await,
        Policy::Explain { tool, who, remote } => commands::explain(&config, &tool, &who, &remote, whose(&remote)).await,
    };
    Ok(say(common, said))
}

async fn approvals(common: &Common, command: Approvals) -> Result<Exit, Ended> {
    let config = configuration(common)?;
    let said = match command {
        Approvals::List(remote) => commands::approvals(&config, &remote).await,
        Approvals::Show { id, remote } => commands::approval(&config, &id, &remote).await,
        Approvals::Approve { id, session, remote } => commands::allow(&config, &id, session, &remote).await,
        Approvals::Deny { id, why, remote } => commands::deny(&config, &id, &why, &remote).await,
    };
    Ok(say(common, said))
}

async fn schedule(common: &Common, command: Schedule) -> Result<Exit, Ended> {
    let config = configuration(common)?;
    let said = match command {
        Schedule::Add { wish, remote } => commands::schedule_add(&config, &wish, &remote).await,
        Schedule::List { tenant, remote } => commands::schedules(&config, tenant.as_deref(), &remote).await,
        Schedule::Show(named) => commands::schedule(&config, &named).await,
        Schedule::Pause { named, why } => commands::schedule_pause(&config, &named, why.as_deref()).await,
        Schedule::Resume(named) => commands::schedule_resume(&config, &named).await,
        Schedule::Remove(named) => commands::schedule_remove(&config, &named).await,
        Schedule::Run(named) => commands::schedule_run(&config, &named).await,
    };
    Ok(say(common, said))
}

async fn pairing(common: &Common, command: Pairing) -> Result<Exit, Ended> {
    let config = configuration(common)?;
    let said = match command {
        Pairing::List(remote) => commands::pairings(&config, &remote).await,
        Pairing::Approve { code, remote } => commands::approve(&config, &code, &remote).await,
        Pairing::Remove { person, remote } => commands::remove(&config, &person, &remote).await,
    };
    Ok(say(common, said))
}

async fn checkpoint(common: &Common, command: &Checkpoint) -> Result<Exit, Ended> {
    Ok(say(common, commands::checkpoint(&configuration(common)?, command).await))
}

async fn session(common: &Common, command: Session) -> Result<Exit, Ended> {
    let config = configuration(common)?;
    let said = match command {
        Session::List { filter, remote } => commands::sessions(&config, &filter, &remote).await,
        Session::Show { which, remote } => commands::session(&config, &which, &remote).await,
        Session::Reset { which, remote } => commands::reset(&config, &which, &remote).await,
        Session::Forget { whom, remote } => commands::forget(&config, &whom, &remote).await,
    };
    Ok(say(common, said))
}

async fn trace(common: &Common, command: Trace) -> Result<Exit, Ended> {
    let config = configuration(common)?;
    let said = match command {
        Trace::Tail { filter, remote } => return commands::tail(&config, &filter, &remote, common.json).await,
        Trace::List { filter, remote } => commands::turns(&config, &filter, &remote).await,
        Trace::Show { reference, full, remote } => commands::turn(&config, &reference, full, &remote).await,
        Trace::Audit { filter, remote } => commands::audit(&config, &filter, &remote).await,
        Trace::Stats { filter, remote } => commands::stats(&config, &filter, &remote).await,
    };
    Ok(say(common, said))
}
