//! The Telegram adapter
