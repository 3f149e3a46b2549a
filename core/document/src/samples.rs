//! Replies that every platform renders into files side by side.
