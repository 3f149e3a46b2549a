//! `toolgate approvals …`.

use clap::Subcommand;

use super::{Remote, texts};

#[derive(Debug, Subcommand)]
pub enum Approvals {
    /// List calls that wait for an answer
    #[command(after_help = texts::APPROVALS_LIST)]
    List(Remote),
    /// Show one, also after it was decided
    Show {
        /// As it stands on the question
        id: String,
        #[command(flatten)]
        remote: Remote,
    },
    /// Let the call run
    #[command(after_help = texts::APPROVALS_APPROVE)]
    Approve {
        /// As it stands on the question
        id: String,
        /// Also the very same call again in its session
        #[arg(long)]
        session: bool,
        #[command(flatten)]
        remote: Remote,
    },
    /// Do not let it run
    #[command(after_help = texts::APPROVALS_DENY)]
    Deny {
        /// As it stands on the question
        id: String,
        /// A reason for whoever asked
        #[arg(long, value_name = "REASON", default_value = "")]
        why: String,
        #[command(flatten)]
        remote: Remote,
    },
}
