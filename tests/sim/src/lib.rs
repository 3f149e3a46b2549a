//! Local chat platforms that speak the real wire protocols and enforce the real limits.
pub mod telegram;
