//! What a refused request is answered, and whether it broke a rule that the documentation states.

use serde_json::{Map, Value, json};

/// A refusal as the platform words it.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiError {
    pub status: u16,
    pub code: u32,
    pub message: String,
    pub errors: Option<Value>,
    /// Set when the bot broke a documented rule, rather than met a state that it could not know of.
    pub rule: Option<&'static str>,
    pub wait: Option<Wait>,
    /// A body in the place of JSON, as whatever stands before the platform gives it.
    pub raw: Option<String>,
}

/// How long a bot is told to wait, and for what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wait {
    pub seconds: f64,
    pub scope: Scope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    User,
    Shared,
    Global,
}

impl Scope {
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Shared => "shared",
            Self::Global => "global",
        }
    }
}

impl ApiError {
    pub fn new(status: u16, code: u32, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), errors: None, rule: None, wait: None, raw: None }
    }

    pub fn as_rule(self, rule: &'static str) -> Self {
        Self { rule: Some(rule), ..self }
    }

    pub fn unauthorized() -> Self {
        Self::new(401, 0, "401: Unauthorized").as_rule("token")
    }

    pub fn not_found() -> Self {
        Self::new(404, 0, "404: Not Found").as_rule("unknown_route")
    }

    /// `Unknown Channel` and its like.
    pub fn unknown(code: u32, what: &str) -> Self {
        Self::new(404, code, format!("Unknown {what}"))
    }

    pub fn channel() -> Self {
        Self::unknown(10_003, "Channel")
    }

    pub fn message() -> Self {
        Self::unknown(10_008, "Message")
    }

    pub fn interaction() -> Self {
        Self::unknown(10_062, "interaction")
    }

    pub fn too_many(seconds: f64, scope: Scope) -> Self {
        let message = "You are being rate limited.";
        Self { wait: Some(Wait { seconds, scope }), ..Self::new(429, 0, message) }
    }

    pub fn json(&self) -> Value {
        match self.wait {
            Some(wait) => {
                let global = wait.scope == Scope::Global;
                json!({"message": self.message, "retry_after": wait.seconds, "global": global, "code": self.code})
            }
            None => {
                let mut out = json!({"message": self.message, "code": self.code});
                if let Some(errors) = &self.errors {
                    out["errors"] = errors.clone();
                }
                out
            }
        }
    }
}

/// What is wrong with the fields of a body, collected before one answer names it all.
#[derive(Debug, Default)]
pub struct Form {
    errors: Map<String, Value>,
    rule: Option<&'static str>,
}

impl Form {
    /// A fault of the field at a path such as `embeds.0.title`; a path of nothing is the body itself.
    pub fn wrong(&mut self, rule: &'static str, path: &str, code: &str, message: impl Into<String>) {
        self.rule.get_or_insert(rule);
        let mut at = &mut self.errors;
        for step in path.split('.').filter(|step| !step.is_empty()) {
            let next = at.entry(step.to_owned()).or_insert_with(|| json!({}));
            let Value::Object(next) = next else { return };
            at = next;
        }
        let list = at.entry("_errors").or_insert_with(|| json!([]));
        if let Value::Array(list) = list {
            list.push(json!({"code": code, "message": message.into()}));
        }
    }

    pub fn required(&mut self, path: &str) {
        self.wrong("required_field", path, "BASE_TYPE_REQUIRED", "This field is required");
    }

    /// Checks a text's length in code points.
    pub fn length(&mut self, rule: &'static str, path: &str, text: &str, least: usize, most: usize) {
        let length = text.chars().count();
        if length > most {
            self.wrong(rule, path, "BASE_TYPE_MAX_LENGTH", format!("Must be {most} or fewer in length."));
        } else if length < least && length == 0 {
            self.required(path);
        } else if length < least {
            let say = format!("Must be between {least} and {most} in length.");
            self.wrong(rule, path, "BASE_TYPE_BAD_LENGTH", say);
        }
    }

    pub fn choice(&mut self, path: &str, allowed: &str) {
        let say = format!("Value must be one of {allowed}.");
        self.wrong("choice", path, "BASE_TYPE_CHOICES", say);
    }

    pub fn done(self) -> Result<(), ApiError> {
        let Some(rule) = self.rule else { return Ok(()) };
        let mut error = ApiError::new(400, 50_035, "Invalid Form Body").as_rule(rule);
        error.errors = Some(Value::Object(self.errors));
        Err(error)
    }
}

impl From<ApiError> for crate::refused::Refused {
    fn from(error: ApiError) -> Self {
        Self { status: error.status, why: error.message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_faults_of_a_form_are_nested_as_its_fields() {
        let mut form = Form::default();
        form.length("content_length", "content", &"x".repeat(2_001), 0, 2_000);
        form.required("embeds.0.fields.1.name");
        let error = form.done().expect_err("two faults");
        assert_eq!(error.rule, Some("content_length"));
        let expected = json!({"message": "Invalid Form Body", "code": 50035, "errors": {
            "content": {"_errors": [{"code": "BASE_TYPE_MAX_LENGTH", "message": "Must be 2000 or fewer in length."}]},
            "embeds": {"0": {"fields": {"1": {"name": {"_errors": [{"code": "BASE_TYPE_REQUIRED", "message": "This field is required"}]}}}}},
        }});
        assert_eq!(error.json(), expected);
    }
}
