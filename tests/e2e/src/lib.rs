//! The product as a user meets it: the real binary, killed, restarted, clicked
