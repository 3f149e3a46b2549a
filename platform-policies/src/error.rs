//! Policy texts and what is wrong with them.

use std::fmt;

/// A policy file's text and the name that messages give it.
#[derive(Debug, Clone)]
pub struct Source {
    /// As shown in messages, for example `platform-policies/telegram.yaml`.
    pub file: String,
    pub text: String,
}

impl Source {
    pub fn new(file: impl Into<String>, text: impl Into<String>) -> Self {
        Self { file: file.into(), text: text.into() }
    }
}

/// Something wrong in a policy file, or worth a warning, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    pub file: String,
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
    pub message: String,
    /// What to write instead.
    pub hint: Option<String>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, message, .. } = self;
        write!(f, "{file}:{line}:{column}: {message}")?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, ": {hint}"))
    }
}

impl std::error::Error for ConfigError {}
