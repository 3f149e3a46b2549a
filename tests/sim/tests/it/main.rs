//! The simulators over real HTTP, as a bot and as a person meet them.

mod control;
mod faults;
mod hooks;
mod methods;
mod polling;
mod rig;
