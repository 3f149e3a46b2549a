//! A local Telegram.
pub mod detect;
pub mod html;
pub mod text;
