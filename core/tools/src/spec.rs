//! The Tool Spec: what a tool's owner writes, as plain data.

mod types;

pub use types::*;

/// What one file held: a bad document loses itself only.
#[derive(Debug, Default)]
pub struct Parsed {
    pub specs: Vec<Spec>,
    pub errors: Vec<SpecError>,
    pub warnings: Vec<SpecError>,
    /// Tools that are refused, by name where it could be read.
    pub refused: Vec<Refused>,
}

/// A document that is no tool.
#[derive(Debug, Clone)]
pub struct Refused {
    pub name: Option<String>,
    pub error: SpecError,
}

/// Reads every document of a file; `file` is what messages show.
pub fn parse(_file: &str, _text: &str) -> Parsed {
    Parsed::default()
}
