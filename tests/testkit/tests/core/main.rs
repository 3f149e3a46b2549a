//! The core through few doors: a message goes in, reply and tree come out.

mod turns;
