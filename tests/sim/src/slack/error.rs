//! What a refused request is answered, and whether it broke a rule that the documentation states.

use serde_json::{Map, Value, json};

/// A refusal as the platform words it: a name, and what else the answer says.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiError {
    pub status: u16,
    pub error: String,
    pub fields: Map<String, Value>,
    pub retry_after: Option<u64>,
    /// Set when the bot broke a documented rule, rather than met a state that it could not know of.
    pub rule: Option<&'static str>,
}

impl ApiError {
    pub fn new(error: impl Into<String>) -> Self {
        Self { status: 200, error: error.into(), fields: Map::new(), retry_after: None, rule: None }
    }

    /// For a request that can never be right.
    pub fn broken(error: &'static str) -> Self {
        Self { rule: Some(error), ..Self::new(error) }
    }

    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(field.to_owned(), value.into());
        self
    }

    /// The reasons, one a line, as answers to bad blocks and arguments carry them.
    pub fn reasons(self, reasons: &[String]) -> Self {
        let lines: Vec<String> = reasons.iter().map(|line| format!("[ERROR] {line}")).collect();
        self.with("response_metadata", json!({"messages": lines}))
    }

    pub fn invalid_arguments(why: impl Into<String>) -> Self {
        Self::broken("invalid_arguments").reasons(&[why.into()])
    }

    pub fn limited(seconds: u64) -> Self {
        Self { status: 429, retry_after: Some(seconds), ..Self::new("ratelimited") }
    }

    pub fn as_rule(self, rule: &'static str) -> Self {
        Self { rule: Some(rule), ..self }
    }

    pub fn json(&self) -> Value {
        let mut out = json!({"ok": false, "error": self.error});
        for (field, value) in &self.fields {
            out[field] = value.clone();
        }
        out
    }

    /// Name and reasons on one line, for a list of violations.
    pub fn detail(&self) -> String {
        let reasons: Vec<&str> = self
            .fields
            .get("response_metadata")
            .and_then(|data| data["messages"].as_array())
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        [vec![self.error.as_str()], reasons].concat().join(" ")
    }
}
