//! `toolgate schedule …`.

use clap::{Args, Subcommand};
use contract::records::{Missed, ScheduleId};

use super::{Remote, Who, texts};

#[derive(Debug, Subcommand)]
pub enum Schedule {
    /// Ask something again and again on somebody's behalf
    #[command(after_help = texts::SCHEDULE_ADD)]
    Add {
        #[command(flatten)]
        wish: Box<Wish>,
        #[command(flatten)]
        remote: Remote,
    },
    /// List schedules
    #[command(after_help = texts::SCHEDULE_LIST)]
    List {
        /// Only of this tenant
        #[arg(long)]
        tenant: Option<String>,
        #[command(flatten)]
        remote: Remote,
    },
    /// Show one
    Show(Named),
    /// Let one rest
    #[command(after_help = texts::SCHEDULE_PAUSE)]
    Pause {
        #[command(flatten)]
        named: Named,
        /// A reason, for whoever asks why nothing comes
        #[arg(long, value_name = "REASON")]
        why: Option<String>,
    },
    /// Go on with one that rests
    Resume(Named),
    /// Remove one; a run that is under way goes on
    Remove(Named),
    /// Run one now; when it is due stays as it is
    #[command(after_help = texts::SCHEDULE_RUN)]
    Run(Named),
}

#[derive(Debug, Clone, Args)]
pub struct Named {
    /// As the list shows it
    #[arg(value_name = "ID")]
    pub id: ScheduleId,
    #[command(flatten)]
    pub remote: Remote,
}

/// A schedule that is wished.
#[derive(Debug, Clone, Args)]
pub struct Wish {
    /// A command, or words for a language model
    #[arg(long, value_name = "TEXT")]
    pub say: String,
    /// Five fields of cron, or words: every weekday at 8:00, every 15 minutes, at 2026-12-01 09:00
    #[arg(long, value_name = "WHEN")]
    pub when: String,
    /// The time zone that it is read in [default: UTC]
    #[arg(long, value_name = "ZONE")]
    pub zone: Option<String>,
    /// Where the answers go: PLATFORM:ACCOUNT/CONVERSATION [default: the owner's own place]
    #[arg(long, value_name = "PLACE")]
    pub to: Option<String>,
    /// What people call it
    #[arg(long, value_name = "NAME", default_value = "")]
    pub name: String,
    /// Runs that were due while the gateway was away: latest makes up for the latest, skip for none
    #[arg(long, value_name = "WHAT", default_value = "latest", value_parser = missed)]
    pub missed: Missed,
    /// The account of ours with which the owner speaks
    #[arg(long, value_name = "ACCOUNT", default_value = crate::config::platforms::MAIN)]
    pub account: String,
    /// What people call the owner
    #[arg(long, value_name = "NAME")]
    pub sender_name: Option<String>,
    /// The owner's place is a conversation with them alone
    #[arg(long)]
    pub direct: bool,
    #[command(flatten)]
    pub owner: Who,
}

fn missed(text: &str) -> Result<Missed, String> {
    text.parse().map_err(|error: contract::records::NotMissed| error.to_string())
}
