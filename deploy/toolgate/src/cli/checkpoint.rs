//! `toolgate checkpoint …`.

use std::path::PathBuf;

use clap::Subcommand;

use super::texts;

#[derive(Debug, Subcommand)]
pub enum Checkpoint {
    /// List how folders were before tools worked in them
    List {
        /// Only of this folder
        #[arg(long, value_name = "FOLDER")]
        folder: Option<PathBuf>,
    },
    /// Show what differs now from a checkpoint
    Show {
        /// As the list shows it; its beginning is enough while it is the only one
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Make a folder what it was; how it is now is kept before
    #[command(after_help = texts::CHECKPOINT_RESTORE)]
    Restore {
        /// As the list shows it; its beginning is enough while it is the only one
        #[arg(value_name = "ID")]
        id: String,
    },
}
