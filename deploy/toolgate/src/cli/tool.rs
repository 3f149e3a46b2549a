//! `toolgate tool …`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Remote, Who, texts};

#[derive(Debug, Subcommand)]
pub enum Tool {
    /// Check tool files; exit 0 when they can be used (warnings allowed), 78 when not
    #[command(after_help = texts::TOOL_VALIDATE)]
    Validate {
        /// A file or a folder of files; may be given several times
        #[arg(long, required = true, value_name = "FILE", num_args = 1..)]
        spec: Vec<PathBuf>,
    },
    /// Add tools, or further versions of them, to the store; they wait for `publish`
    #[command(after_help = texts::TOOL_ADD)]
    Add(Add),
    /// Offer the version that was added last, or what was deprecated or switched off
    #[command(after_help = texts::TOOL_PUBLISH)]
    Publish {
        #[command(flatten)]
        change: Change,
        /// What the tool is for and when to use it, where its spec does not say
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
    },
    /// Say that a tool is on its way out; it can still be called
    #[command(after_help = texts::TOOL_DEPRECATE)]
    Deprecate(Change),
    /// Remove a tool that was added, or switch off a file's until it is published again
    #[command(after_help = texts::TOOL_REMOVE)]
    Remove(Change),
    /// Offer again what was offered before
    #[command(after_help = texts::TOOL_ROLLBACK)]
    Rollback {
        #[command(flatten)]
        named: ToolName,
        /// The version to go back to, as `history` numbers them [default: the offer before the present one]
        #[arg(long, value_name = "VERSION")]
        to: Option<u64>,
    },
    /// List the changes of a tool: what, by whom, when
    #[command(after_help = texts::TOOL_HISTORY)]
    History {
        #[command(flatten)]
        named: ToolName,
        /// Print the text of this version
        #[arg(long, value_name = "VERSION")]
        text: Option<u64>,
    },
    /// Write an MCP server's tools as specs into a file, for somebody to read before they are offered
    #[command(after_help = texts::TOOL_IMPORT_MCP)]
    ImportMcp(ImportMcp),
    /// Throw away what is remembered of a tool, on every replica
    CacheInvalidate(ToolName),
    /// List the tools that somebody may use
    #[command(after_help = texts::TOOL_LIST)]
    List {
        /// Every tool there is, with its state, whoever may use it
        #[arg(long, conflicts_with_all = ["platform", "tenant", "space", "conversation", "sender", "role"])]
        all: bool,
        #[command(flatten)]
        who: Who,
        #[command(flatten)]
        remote: Remote,
    },
    /// Show one tool: what it is for and what it takes
    #[command(after_help = texts::TOOL_SHOW)]
    Show(ToolName),
    /// Run a tool through the same gate as in chat and print its result
    #[command(after_help = texts::TOOL_INVOKE)]
    Invoke(Invoke),
}

/// A tool, and who is asked.
#[derive(Debug, Clone, Args)]
pub struct ToolName {
    /// The tool
    #[arg(long)]
    pub name: String,
    #[command(flatten)]
    pub remote: Remote,
}

#[derive(Debug, Clone, Args)]
pub struct Add {
    /// A file with one or several tools; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub spec: PathBuf,
    /// Offer them at once
    #[arg(long)]
    pub publish: bool,
    /// The version that you have seen: refused when somebody else changed the tool since
    #[arg(long, value_name = "VERSION")]
    pub seen: Option<u64>,
    #[command(flatten)]
    pub remote: Remote,
}

/// A change of one tool.
#[derive(Debug, Clone, Args)]
pub struct Change {
    #[command(flatten)]
    pub named: ToolName,
    /// Why; of `deprecate` it is said with the tool
    #[arg(long, short, value_name = "TEXT", default_value = "")]
    pub message: String,
    /// The version that you have seen: refused when somebody else changed the tool since
    #[arg(long, value_name = "VERSION")]
    pub seen: Option<u64>,
}

#[derive(Debug, Clone, Args)]
pub struct Invoke {
    /// The tool
    #[arg(long)]
    pub name: String,
    /// The arguments as a JSON object
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub params: String,
    #[command(flatten)]
    pub who: Who,
    #[command(flatten)]
    pub remote: Remote,
}

/// An import from an MCP server.
#[derive(Debug, Clone, Args)]
pub struct ImportMcp {
    /// The server, by its id in `mcp_servers`
    #[arg(long, value_name = "ID")]
    pub server: String,
    /// Where the specs are written [default: mcp-ID.yaml in the first folder of tools]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Somebody has read what is imported: offer it
    #[arg(long)]
    pub reviewed: bool,
    /// Go on, and import again whenever the server's tools change, until Ctrl+C
    #[arg(long)]
    pub watch: bool,
}
