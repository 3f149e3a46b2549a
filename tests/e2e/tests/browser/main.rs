//! The playground in a real browser: used by keys and clicks, looked at on desk and phone, in light and dark.
//!
//! Reading order: [`ground`] is what a test is given; the other modules are the facts.

mod calls;
mod chat;
mod frame;
mod ground;
mod looks;
mod page;
mod platforms;
mod sample;
mod words;
