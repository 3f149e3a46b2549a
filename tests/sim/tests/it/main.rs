//! The simulators over real HTTP, as a bot and as a person meet them.

mod control;
mod discord_gateway;
mod discord_interactions;
mod discord_messages;
mod discord_models;
mod discord_people;
mod discord_rig;
mod faults;
mod hooks;
mod methods;
mod polling;
mod rig;
mod slack_apps;
mod slack_content;
mod slack_events;
mod slack_faults;
mod slack_hooks;
mod slack_methods;
mod slack_people;
mod slack_rig;
mod slack_rules;
mod telegram_rules;
