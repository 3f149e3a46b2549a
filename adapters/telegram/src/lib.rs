//! The Telegram adapter
pub mod inbound;
pub mod render;
