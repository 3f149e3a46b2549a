//! The simulators over real HTTP, as a bot and as a person meet them.

mod control;
mod discord_gateway;
mod discord_rig;
mod faults;
mod hooks;
mod methods;
mod polling;
mod rig;
mod slack_events;
mod slack_rig;
