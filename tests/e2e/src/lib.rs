//! The product as a user meets it: the real binary, killed, restarted, starved. All of it is in `tests/product`.
