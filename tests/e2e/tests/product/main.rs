//! The real binary between simulated platforms and a service that counts, both of which outlive it.
//!
//! Reading order: [`world`] is what a test is given; [`gateway`] the process under test, [`chat`] the people,
//! [`service`] and [`database`] what it leans on. The other modules are the cases.

mod chat;
mod database;
mod gateway;
mod service;
mod world;

mod batch;
mod commands;
mod hooks;
mod jobs;
mod kill;
mod leave;
mod lifecycle;
mod manual;
mod needs;
mod places;
mod platforms;
mod pollers;
mod reload;
mod schedules;
mod starve;
mod sweep;
