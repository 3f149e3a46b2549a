//! What runs: the gateway put together from a configuration, and the commands that keep it running.
//!
//! Reading order: [`loader`] turns files into snapshots; [`keeper`] changes the tools of the store; [`adapters`] are the chat accounts;
//! [`gateway`] puts stores, snapshot and adapters together;
//! [`up`], [`demo`] and [`chat`] are the commands.

pub mod adapters;
mod audit;
#[cfg(test)]
mod canary;
pub mod chat;
#[cfg(feature = "demo")]
pub mod demo;
pub mod gateway;
pub mod hooks;
pub mod keeper;
pub mod loader;
pub mod up;

use std::fmt;

/// Why a command ended, with the exit code that says so.
#[derive(Debug)]
pub enum Ended {
    /// Exit 1.
    Failed(String),
    /// Exit 2.
    Usage(String),
    /// Exit 75: the same may work in a moment.
    Again(String),
    /// Exit 78.
    BadConfiguration(String),
}

impl Ended {
    pub fn code(&self) -> u8 {
        match self {
            Self::Failed(_) => 1,
            Self::Usage(_) => 2,
            Self::Again(_) => 75,
            Self::BadConfiguration(_) => 78,
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(why) | Self::Usage(why) | Self::Again(why) | Self::BadConfiguration(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Ended {}
