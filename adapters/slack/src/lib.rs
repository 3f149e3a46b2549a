//! The Slack adapter.

pub mod render;
