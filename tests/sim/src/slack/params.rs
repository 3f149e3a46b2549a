//! The parameters of a request, whichever way they were sent, and the token that came with them.

use axum::extract::{FromRequest, Multipart, Request};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use serde_json::{Map, Value};

use super::error::ApiError;
use crate::form::{Cut, pairs, whole};

/// The largest body that is read by a method; files go to addresses of their own.
const MAX_BODY: usize = 4 * 1024 * 1024;

/// Named values of one request; text forms carry numbers and objects as strings, and the getters read both.
#[derive(Clone, Debug, Default)]
pub struct Params {
    pub values: Map<String, Value>,
    pub token: Option<String>,
    /// What the platform remarks about a request that it takes all the same.
    pub warning: Option<&'static str>,
}

impl Params {
    /// Reads query and body, whatever the body's type is.
    pub async fn read(request: Request) -> Result<Self, ApiError> {
        let mut params = Self::default();
        if let Some(query) = request.uri().query() {
            params.add_form(query.as_bytes());
        }
        let (bearer, kind) = {
            let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
            let bearer = header(AUTHORIZATION).strip_prefix("Bearer ").map(|token| token.trim().to_owned());
            (bearer, header(CONTENT_TYPE).to_ascii_lowercase())
        };
        let json = kind.starts_with("application/json");
        if kind.starts_with("multipart/form-data") {
            params.add_multipart(request).await?;
        } else {
            let body = whole(request.into_body(), MAX_BODY).await.map_err(|cut| match cut {
                Cut::TooLarge => ApiError::broken("request_too_large"),
                Cut::HungUp => ApiError::new("request_timeout"),
            })?;
            params.add_body(&kind, &body)?;
        }
        // A token inside a JSON body is not looked at.
        let inside = params.values.remove("token").and_then(|token| token.as_str().map(str::to_owned));
        params.token = bearer.or(inside.filter(|_| !json));
        Ok(params)
    }

    pub fn from_value(value: Value) -> Self {
        let Value::Object(values) = value else { return Self::default() };
        Self { values, ..Self::default() }
    }

    fn add_body(&mut self, kind: &str, body: &[u8]) -> Result<(), ApiError> {
        if body.is_empty() {
            return Ok(());
        }
        if kind.starts_with("application/json") {
            match serde_json::from_slice(body) {
                Ok(Value::Object(values)) => self.values.extend(values),
                Ok(_) => return Err(ApiError::broken("json_not_object")),
                Err(_) => return Err(ApiError::broken("invalid_json")),
            }
            self.warning = (!kind.contains("charset")).then_some("missing_charset");
        } else if kind.starts_with("application/x-www-form-urlencoded") {
            self.add_form(body);
        } else {
            return Err(ApiError::broken("invalid_post_type"));
        }
        Ok(())
    }

    pub fn add_form(&mut self, form: &[u8]) {
        for (name, value) in pairs(form) {
            self.values.insert(name, Value::String(value));
        }
    }

    async fn add_multipart(&mut self, request: Request) -> Result<(), ApiError> {
        let broken = |_| ApiError::broken("invalid_form_data");
        let mut form =
            Multipart::from_request(request, &()).await.map_err(|_| ApiError::broken("invalid_form_data"))?;
        while let Some(part) = form.next_field().await.map_err(broken)? {
            let field = part.name().unwrap_or_default().to_owned();
            let bytes = part.bytes().await.map_err(broken)?;
            self.values.insert(field, Value::String(String::from_utf8_lossy(&bytes).into_owned()));
        }
        Ok(())
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name).filter(|value| !value.is_null())
    }

    /// The text of a parameter, if there is any in it; a number is taken as its digits.
    pub fn text(&self, name: &str) -> Option<String> {
        let text = match self.get(name)? {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Some(text).filter(|text| !text.is_empty())
    }

    /// The same where the method cannot do without.
    pub fn need(&self, name: &str) -> Result<String, ApiError> {
        self.text(name).ok_or_else(|| ApiError::invalid_arguments(format!("missing required field: {name}")))
    }

    pub fn int(&self, name: &str) -> Option<i64> {
        match self.get(name)? {
            Value::Number(number) => number.as_i64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    pub fn flag(&self, name: &str) -> bool {
        match self.get(name) {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::String(text)) => matches!(text.to_ascii_lowercase().as_str(), "true" | "1"),
            Some(Value::Number(number)) => number.as_i64() == Some(1),
            _ => false,
        }
    }

    /// An object or a list, sent as such or as its JSON text.
    pub fn json(&self, name: &str) -> Result<Option<Value>, ApiError> {
        match self.get(name) {
            Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
            Some(Value::String(text)) => serde_json::from_str(text)
                .map(Some)
                .map_err(|_| ApiError::invalid_arguments(format!("{name}: expected JSON"))),
            other => Ok(other.cloned()),
        }
    }

    /// The request as it was received, objects in a form read as objects.
    pub fn payload(&self) -> Value {
        let read = |value: &Value| match value {
            Value::String(text) if text.starts_with(['{', '[']) => serde_json::from_str(text).unwrap_or(value.clone()),
            other => other.clone(),
        };
        Value::Object(self.values.iter().map(|(name, value)| (name.clone(), read(value))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::form;
    use serde_json::json;

    #[test]
    fn a_form_and_an_object_read_alike() {
        let blocks = json!([{"type": "divider"}]);
        let mut sent = Params::default();
        sent.add_form(
            form([("limit", "5"), ("text", "a b&é"), ("blocks", &blocks.to_string()), ("flag", "true")]).as_bytes(),
        );
        let object = Params::from_value(json!({"limit": 5, "text": "a b&é", "blocks": blocks, "flag": true}));
        for params in [sent, object] {
            assert_eq!(params.int("limit"), Some(5));
            assert_eq!(params.text("text").as_deref(), Some("a b&é"));
            assert_eq!(params.json("blocks"), Ok(Some(blocks.clone())));
            assert!(params.flag("flag"));
        }
    }
}
