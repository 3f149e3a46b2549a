//! The Telegram adapter
pub mod render;
