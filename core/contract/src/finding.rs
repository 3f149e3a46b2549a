//! What is to be said of a file that somebody wrote: a policy, a tool's spec, the configuration.

use std::fmt;

use serde::Serialize;

/// An error or a warning with its place. Reads `tools/a.yaml:4:3: unknown key 'tolset': did you mean 'toolset'?`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Finding {
    /// As messages name the file.
    pub file: String,
    /// From 1; 0 where there are no lines (an environment variable).
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
    pub message: String,
    /// What to write instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Finding {
    /// At a line and a column.
    pub fn new(file: impl Into<String>, (line, column): (u32, u32), message: impl Into<String>) -> Self {
        Self { file: file.into(), line, column, message: message.into(), hint: None }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        write!(f, ": {}", self.message)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, ": {hint}"))
    }
}

impl std::error::Error for Finding {}
