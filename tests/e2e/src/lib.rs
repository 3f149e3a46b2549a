//! The product as a user meets it: the real binary, killed, restarted, starved (`tests/product`), and looked at in a
//! real browser (`tests/browser`).
//!
//! Reading order: [`demo`] is the playground's process, [`browser`] a headless Chromium, [`pipe`] how it is spoken to.

pub mod browser;
pub mod demo;
pub mod pipe;
