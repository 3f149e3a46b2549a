//! What `toolgate demo` serves beside the gateway: small web services, the tools that call them, and the playground.

pub mod page;
pub mod services;
pub mod tools;
