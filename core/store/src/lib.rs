//! The records of the gateway in SQLite and in Redis
