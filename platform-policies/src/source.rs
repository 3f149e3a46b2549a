//! Policy texts.

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
