//! What is typed: the commands, their options and help texts. No work is done here.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand};
use contract::Platform;

pub use approvals::Approvals;
pub use checkpoint::Checkpoint;
pub use schedule::{Named, Schedule, Wish};
pub use tool::{Add, Change, ImportMcp, Invoke, Tool, ToolName};
pub use trace::{AuditFilter, StatsFilter, Trace, TraceFilter};

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    Ok = 0,
    /// What was asked for did not succeed.
    Failed = 1,
    /// The command line is wrong; clap ends with it too.
    Usage = 2,
    /// Start me again: what stopped me may be gone by then.
    Restart = 75,
    /// The configuration is wrong; starting again does not help.
    BadConfig = 78,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The whole command line.
#[derive(Debug, Parser)]
#[command(name = "toolgate", version, about = "A chat bot gateway: tools written once, in every chat", after_help = texts::TOP)]
#[command(subcommand_required = true, arg_required_else_help = true, term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
pub struct Common {
    /// The configuration file [default: ./toolgate.yaml if it is there, else built-in defaults]
    #[arg(long, short, global = true, value_name = "FILE", env = "TOOLGATE_CONFIG")]
    pub config: Option<PathBuf>,
    /// Print JSON for programs in place of tables for people
    #[arg(long, global = true)]
    pub json: bool,
}

/// Where a running gateway is, for commands that ask it.
#[derive(Debug, Clone, Args)]
pub struct Remote {
    /// The running gateway [default: where the configuration listens]
    #[arg(long, value_name = "URL", env = "TOOLGATE_URL", value_parser = url)]
    pub gateway: Option<String>,
    /// Its token as a reference: env:NAME, file:PATH or exec:COMMAND [default: the configuration's admin_token]
    #[arg(long, value_name = "REFERENCE")]
    pub token: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Try it: three local chat platforms, tools, the gateway and a page to play with; no account, no key, no network
    #[command(after_help = texts::DEMO)]
    Demo(Demo),
    /// Run the gateway as the configuration says
    #[command(after_help = texts::UP)]
    Up(Up),
    /// Check configuration, tools, policies and the set-up at the chat platforms, without starting anything
    #[command(after_help = texts::CHECK)]
    Check {
        /// Ask no chat platform about scopes, intents and privacy
        #[arg(long)]
        offline: bool,
    },
    /// Talk to the tools in this terminal
    #[command(after_help = texts::CHAT)]
    Chat(Chat),
    /// Run the simulated chat platforms alone, to test a bot against them
    #[command(after_help = texts::SIM)]
    Sim(Sim),
    /// Look at tools, check their files, run one
    #[command(subcommand)]
    Tool(Tool),
    /// Look at policies, and why a call is allowed or not
    #[command(subcommand)]
    Policy(Policy),
    /// Look at what was asked and which calls it caused
    #[command(subcommand)]
    Trace(Trace),
    /// Answer calls that wait for people
    #[command(subcommand)]
    Approvals(Approvals),
    /// Ask things on somebody's behalf when it is time
    #[command(subcommand)]
    Schedule(Schedule),
    /// Let people in who were shown a code, where policy says `pairing`
    #[command(subcommand)]
    Pairing(Pairing),
    /// See what tools changed in folders, and bring back how they were
    #[command(subcommand)]
    Checkpoint(Checkpoint),
    /// See what is remembered, and forget it
    #[command(subcommand)]
    Session(Session),
    /// Ask the running gateway whether it is ready; exit 0 when it is, for health checks
    Health(Remote),
    /// Print completions for a shell
    #[command(after_help = texts::COMPLETIONS)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

impl Command {
    /// Whether it goes on until it is told to stop: then standard output is for what it does.
    pub fn keeps_running(&self) -> bool {
        match self {
            Self::Demo(_) | Self::Up(_) | Self::Chat(_) | Self::Sim(_) | Self::Trace(Trace::Tail { .. }) => true,
            Self::Tool(Tool::ImportMcp(import)) => import.watch,
            Self::Check { .. }
            | Self::Tool(_)
            | Self::Policy(_)
            | Self::Trace(_)
            | Self::Approvals(_)
            | Self::Schedule(_)
            | Self::Pairing(_)
            | Self::Checkpoint(_)
            | Self::Session(_)
            | Self::Health(_)
            | Self::Completions { .. } => false,
        }
    }
}

#[derive(Debug, Clone, Args)]
pub struct Demo {
    /// Where the gateway listens; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8787")]
    pub listen: SocketAddr,
    /// Where the simulated platforms listen; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub sim_listen: SocketAddr,
    /// Where state is kept: sqlite:FILE or redis://HOST:PORT/DB [default: SQLite in a temporary folder]
    #[arg(long, value_name = "STORE")]
    pub store: Option<String>,
    /// Do not open the page in a browser
    #[arg(long)]
    pub no_open: bool,
}

#[derive(Debug, Clone, Args)]
pub struct Up {
    /// Where the HTTP API listens, in place of the configuration's `listen`
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// Where state is kept, in place of the configuration's `store`
    #[arg(long, value_name = "STORE")]
    pub store: Option<String>,
}

#[derive(Debug, Clone, Args)]
pub struct Chat {
    /// Where state is kept, in place of the configuration's `store`
    #[arg(long, value_name = "STORE")]
    pub store: Option<String>,
    /// Speak as this person [default: the user of this machine]
    #[arg(long, value_name = "NAME")]
    pub sender: Option<String>,
    /// Do not draw the call tree after each answer
    #[arg(long)]
    pub no_tree: bool,
}

#[derive(Debug, Clone, Args)]
pub struct Sim {
    /// Where they listen; only loopback is possible, port 0 picks a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8081")]
    pub listen: SocketAddr,
}

/// Somebody as policy sees them.
#[derive(Debug, Clone, Default, Args)]
pub struct Who {
    /// Where they are [default: console]
    #[arg(long, value_name = "PLATFORM", value_parser = platform)]
    pub platform: Option<Platform>,
    /// Whose rules apply [default: found from platform and space]
    #[arg(long)]
    pub tenant: Option<String>,
    /// Guild or workspace id
    #[arg(long, value_name = "ID")]
    pub space: Option<String>,
    /// Channel or chat id
    #[arg(long, value_name = "ID", allow_negative_numbers = true)]
    pub conversation: Option<String>,
    /// The person's id
    #[arg(long, value_name = "ID")]
    pub sender: Option<String>,
    /// A role that they have; may be given several times
    #[arg(long, value_name = "ID")]
    pub role: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub enum Policy {
    /// Show the rules, each with its file and line
    #[command(after_help = texts::POLICY_SHOW)]
    Show {
        /// Only of this platform
        #[arg(long, value_name = "PLATFORM", value_parser = platform)]
        platform: Option<Platform>,
        #[command(flatten)]
        remote: Remote,
    },
    /// Tell layer by layer why a call is allowed or not
    #[command(after_help = texts::POLICY_EXPLAIN)]
    Explain {
        /// The tool that is called
        #[arg(long, value_name = "NAME")]
        tool: String,
        #[command(flatten)]
        who: Who,
        #[command(flatten)]
        remote: Remote,
    },
}

#[derive(Debug, Subcommand)]
pub enum Pairing {
    /// List who asks, with their codes, and who was let in
    #[command(after_help = texts::PAIRING_LIST)]
    List(Remote),
    /// Let in the person who was shown this code
    #[command(after_help = texts::PAIRING_APPROVE)]
    Approve {
        /// The code, as the person tells it
        code: String,
        #[command(flatten)]
        remote: Remote,
    },
    /// Let a person in no more
    #[command(after_help = texts::PAIRING_REMOVE)]
    Remove {
        /// The person: PLATFORM:ACCOUNT/ID, as the list shows them
        #[arg(value_name = "PERSON", value_parser = person)]
        person: Person,
        #[command(flatten)]
        remote: Remote,
    },
}

#[derive(Debug, Subcommand)]
pub enum Session {
    /// List sessions, the last used first
    #[command(after_help = texts::SESSION_LIST)]
    List {
        #[command(flatten)]
        filter: SessionFilter,
        #[command(flatten)]
        remote: Remote,
    },
    /// Show what a session remembers
    Show {
        /// Its id, or the key of its place for the session that is current there
        #[arg(value_name = "ID|KEY")]
        which: String,
        #[command(flatten)]
        remote: Remote,
    },
    /// Forget a session; the next message there begins anew
    Reset {
        /// Its id, or the key of its place for the session that is current there
        #[arg(value_name = "ID|KEY")]
        which: String,
        #[command(flatten)]
        remote: Remote,
    },
    /// Erase what is stored of a person
    #[command(after_help = texts::SESSION_FORGET)]
    Forget {
        #[command(flatten)]
        whom: Whom,
        #[command(flatten)]
        remote: Remote,
    },
}

#[derive(Debug, Clone, Default, Args)]
pub struct SessionFilter {
    /// Of this platform alone
    #[arg(long, value_name = "PLATFORM", value_parser = platform)]
    pub platform: Option<Platform>,
}

/// A person by the ids of a platform.
#[derive(Debug, Clone, Args)]
pub struct Whom {
    #[arg(long, value_name = "PLATFORM", value_parser = platform)]
    pub platform: Platform,
    /// The account of ours with which they spoke
    #[arg(long, value_name = "ACCOUNT", default_value = crate::config::platforms::MAIN)]
    pub account: String,
    /// Their id, as the platform gives it
    #[arg(long, value_name = "ID")]
    pub sender: String,
}

/// A person at an account, as `telegram:main/123456789`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    pub platform: Platform,
    pub account: String,
    pub sender: String,
}

fn person(text: &str) -> Result<Person, String> {
    let written = || "write PLATFORM:ACCOUNT/ID, such as telegram:main/123456789".to_owned();
    let (named, rest) = text.split_once(':').ok_or_else(written)?;
    let (account, sender) = rest.split_once('/').ok_or_else(written)?;
    if account.is_empty() || sender.is_empty() {
        return Err(written());
    }
    Ok(Person { platform: platform(named)?, account: account.to_owned(), sender: sender.to_owned() })
}

fn platform(text: &str) -> Result<Platform, String> {
    text.parse().map_err(|error: contract::place::UnknownPlatform| error.to_string())
}

fn url(text: &str) -> Result<String, String> {
    let host = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://")).unwrap_or_default();
    match reqwest::Url::parse(text) {
        Ok(url) if !host.is_empty() && url.has_host() => Ok(text.to_owned()),
        _ => Err("this is no URL: write one such as http://127.0.0.1:8787".into()),
    }
}

fn time(text: &str) -> Result<std::time::Duration, String> {
    crate::config::parse_duration(text).ok_or_else(|| "write a time such as 15m, 24h or 7d".into())
}

mod approvals;
mod checkpoint;
mod schedule;
mod texts;
mod tool;
mod trace;

#[cfg(test)]
mod tests;
