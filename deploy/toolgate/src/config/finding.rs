//! One thing to say of a file: where, what, and what was probably meant.

use std::fmt;

use super::yaml::Spot;

/// An error or a warning with its place. Reads `toolgate.yaml:4:3: unknown key 'lisen': did you mean 'listen'?`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// The file as the user named it, or the environment variable.
    pub file: String,
    pub line: u32,
    pub column: u32,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Finding {
    pub fn new(file: &str, spot: &Spot, message: impl Into<String>) -> Self {
        let file = spot.variable.as_deref().unwrap_or(file).to_owned();
        Self { file, line: spot.line, column: spot.column, message: message.into(), hint: None }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<tools::SpecError> for Finding {
    fn from(error: tools::SpecError) -> Self {
        let tools::SpecError { file, line, column, message, hint } = error;
        Self { file, line, column, message, hint }
    }
}

impl From<policies::ConfigError> for Finding {
    fn from(error: policies::ConfigError) -> Self {
        let policies::ConfigError { file, line, column, message, hint } = error;
        Self { file, line, column, message, hint }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        write!(f, ": {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, ": {hint}"),
            None => Ok(()),
        }
    }
}
