//! The Discord adapter.

pub mod render;
