//! What `toolgate demo` serves beside the gateway: small web services, the tools that call them, a script in
//! a language model's place, and the playground.

pub mod page;
pub mod script;
pub mod services;
pub mod tools;
