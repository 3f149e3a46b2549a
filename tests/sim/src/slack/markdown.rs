//! Markdown blocks as a person reads them: standard Markdown, and the platform's own `<…>` references in it.

use super::text::{Names, Read};

pub fn markdown(source: &str, _names: Names<'_>) -> Read {
    Read { text: source.to_owned(), pings: Vec::new() }
}
