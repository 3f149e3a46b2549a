//! `toolgate trace …`

use clap::{Args, Subcommand};
use contract::{Platform, records::ScheduleId};

use super::{Remote, platform, texts, time};

#[derive(Debug, Subcommand)]
pub enum Trace {
    /// List recent turns, newest first
    #[command(after_help = texts::TRACE_LIST)]
    List {
        #[command(flatten)]
        filter: TraceFilter,
        #[command(flatten)]
        remote: Remote,
    },
    /// Show the call tree of a turn
    #[command(after_help = texts::TRACE_SHOW)]
    Show {
        /// The reference that a reply shows
        reference: String,
        /// With whole arguments and results of tools that say `full_payload_log`
        #[arg(long)]
        full: bool,
        #[command(flatten)]
        remote: Remote,
    },
    /// Print the last turns, then further ones as they end, until Ctrl+C
    #[command(after_help = texts::TRACE_TAIL)]
    Tail {
        #[command(flatten)]
        filter: TraceFilter,
        #[command(flatten)]
        remote: Remote,
    },
    /// Calls, success and times of each tool
    #[command(after_help = texts::TRACE_STATS)]
    Stats {
        #[command(flatten)]
        filter: StatsFilter,
        #[command(flatten)]
        remote: Remote,
    },
    /// One event for each call, newest first; with --json all that is known of it
    #[command(after_help = texts::TRACE_AUDIT)]
    Audit {
        #[command(flatten)]
        filter: AuditFilter,
        #[command(flatten)]
        remote: Remote,
    },
}

#[derive(Debug, Clone, Args)]
pub struct AuditFilter {
    /// Only of this turn, by its reference
    #[arg(long, value_name = "REFERENCE")]
    pub turn: Option<String>,
    /// Only calls of this tool
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
    /// Only from this platform
    #[arg(long, value_parser = platform)]
    pub platform: Option<Platform>,
    /// Only of this tenant
    #[arg(long, value_name = "NAME")]
    pub tenant: Option<String>,
    /// Only what failed
    #[arg(long)]
    pub failed: bool,
    /// Only what began within this time: 15m, 24h, 7d
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub since: Option<std::time::Duration>,
    /// At most so many
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub limit: u16,
}

#[derive(Debug, Clone, Default, Args)]
pub struct StatsFilter {
    /// Over how long: 15m, 24h, 7d [default: 24h; of schedules, all that is kept]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub since: Option<std::time::Duration>,
    /// Only in turns of this schedule, the slowest tool first; without an id, of all schedules
    #[arg(long, value_name = "ID", num_args = 0..=1)]
    pub schedule: Option<Option<ScheduleId>>,
    /// What calls are told apart by [default: tool]
    #[arg(long, value_parser = ["tool", "platform", "tenant", "code"], conflicts_with_all = ["schedule", "unusual"])]
    pub by: Option<String>,
    /// Only what stands out: a tool's sudden rise, rows of tools that nobody else calls together
    #[arg(long, conflicts_with = "schedule")]
    pub unusual: bool,
}

#[derive(Debug, Clone, Args)]
pub struct TraceFilter {
    /// Only what failed
    #[arg(long)]
    pub failed: bool,
    /// Only turns that called this tool
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
    /// Only this session
    #[arg(long, value_name = "KEY")]
    pub session: Option<String>,
    /// Only turns of this schedule; without an id, of all schedules
    #[arg(long, value_name = "ID", num_args = 0..=1, conflicts_with = "session")]
    pub schedule: Option<Option<ScheduleId>>,
    /// Only what began within this time: 15m, 24h, 7d
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub since: Option<std::time::Duration>,
    /// At most so many
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub limit: u16,
}
