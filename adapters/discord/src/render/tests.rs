//! Renderings, and what must hold for any input.
