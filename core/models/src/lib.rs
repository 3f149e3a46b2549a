//! Language models behind dispatch's `Model`: servers that speak chat-completions, Ollama, Anthropic and Gemini.
//!
//! Reading order: [`Settings`] says what is asked; [`chain`] asks one model after the other; `provider` asks one, again
//! where that helps; `ask` is one request; `frames` cuts what streams in into events, `wire` is what each API calls
//! things (pure), `gathered` is the answer as it grows, with `calls`, `printed` and `text` for what models do otherwise
//! than their API says. `history` makes a conversation that every API takes.
//!
//! Knows nothing of tools, policy, chats or stores. Nothing is asked before a step is.

mod ask;
mod calls;
pub mod chain;
mod frames;
mod gathered;
mod history;
mod printed;
mod provider;
mod settings;
mod text;
mod trouble;
mod usage;
mod wire;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use chain::Chain;
pub use settings::{Api, Key, Price, Settings, key, output_tokens};
