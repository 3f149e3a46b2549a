//! The HTTP interface over real connections: a gateway in a box on SQLite, clients with and without tokens.

mod calls;
mod doors;
mod messages;
mod traces;
mod world;
