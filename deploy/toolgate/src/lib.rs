//! The parts of the `toolgate` binary, as a library so that tests and other programs can use them.
//!
//! Reading order: [`config`] says how the gateway is set up; [`demo`] what `toolgate demo` serves; [`cli`] what
//! is typed; [`tree`] and [`table`] how it is shown.

pub mod cli;
pub mod commands;
pub mod config;
pub mod demo;
pub mod ink;
pub mod log;
pub mod run;
pub mod sources;
pub mod table;
pub mod tree;
