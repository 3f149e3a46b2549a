//! The Discord adapter.
