//! A reader of blocks for tests, independent of the drawing.
