//! The Slack adapter.
