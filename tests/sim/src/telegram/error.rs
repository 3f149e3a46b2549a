//! What a refused request is answered, and whether it broke a rule that the documentation states.

use serde_json::{Value, json};

/// A refusal as the platform words it.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiError {
    pub code: u16,
    pub description: String,
    pub parameters: Option<Value>,
    /// Set when the bot broke a documented rule, rather than met a state that it could not know of.
    pub rule: Option<&'static str>,
}

impl ApiError {
    pub fn new(code: u16, description: impl Into<String>) -> Self {
        Self { code, description: description.into(), parameters: None, rule: None }
    }

    /// A 400 that the state of the world explains.
    pub fn bad(what: impl std::fmt::Display) -> Self {
        Self::new(400, format!("Bad Request: {what}"))
    }

    /// A 400 for a request that can never be right.
    pub fn broken(rule: &'static str, what: impl std::fmt::Display) -> Self {
        Self { rule: Some(rule), ..Self::bad(what) }
    }

    pub fn forbidden(what: impl std::fmt::Display) -> Self {
        Self::new(403, format!("Forbidden: {what}"))
    }

    pub fn conflict(what: impl std::fmt::Display) -> Self {
        Self::new(409, format!("Conflict: {what}"))
    }

    pub fn too_many(seconds: u64) -> Self {
        let mut error = Self::new(429, format!("Too Many Requests: retry after {seconds}"));
        error.parameters = Some(json!({"retry_after": seconds}));
        error
    }

    pub fn as_rule(self, rule: &'static str) -> Self {
        Self { rule: Some(rule), ..self }
    }

    pub fn json(&self) -> Value {
        let mut out = json!({"ok": false, "error_code": self.code, "description": self.description});
        if let Some(parameters) = &self.parameters {
            out["parameters"] = parameters.clone();
        }
        out
    }
}
