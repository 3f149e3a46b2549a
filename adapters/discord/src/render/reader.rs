//! A reader of Discord Markdown for tests, independent of the drawing.
