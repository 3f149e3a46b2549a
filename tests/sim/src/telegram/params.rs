//! The parameters of a request, whichever of the four ways of sending them was used.

use axum::extract::{FromRequest, Multipart, Request};
use axum::http::header::CONTENT_TYPE;
use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::error::ApiError;
use crate::form::{Cut, pairs, whole};

/// The largest body that is read: an upload of 50 MB and what surrounds it.
pub const MAX_BODY: usize = 56 * 1024 * 1024;

/// A file that came inside a request.
#[derive(Clone, Debug)]
pub struct Upload {
    pub field: String,
    pub name: String,
    pub mime: String,
    pub bytes: Bytes,
}

/// Named values and files of one request; text forms carry numbers and objects as strings, and the getters read both.
#[derive(Clone, Debug, Default)]
pub struct Params {
    pub values: Map<String, Value>,
    pub uploads: Vec<Upload>,
}

impl Params {
    /// Reads query and body, whatever the body's type is.
    pub async fn read(request: Request) -> Result<Self, ApiError> {
        let mut params = Self::default();
        if let Some(query) = request.uri().query() {
            params.add_form(query.as_bytes());
        }
        let kind = request
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .to_ascii_lowercase();
        if kind.starts_with("multipart/form-data") {
            params.add_multipart(request).await?;
            return Ok(params);
        }
        let body = whole(request.into_body(), MAX_BODY).await.map_err(|cut| match cut {
            Cut::TooLarge => ApiError::new(413, "Request Entity Too Large").as_rule("body_size"),
            Cut::HungUp => ApiError::bad("the request ended early"),
        })?;
        if body.is_empty() {
        } else if kind.starts_with("application/json") {
            match serde_json::from_slice(&body) {
                Ok(Value::Object(values)) => params.values.extend(values),
                _ => return Err(ApiError::broken("json", "can't parse JSON object")),
            }
        } else if kind.starts_with("application/x-www-form-urlencoded") {
            params.add_form(&body);
        }
        Ok(params)
    }

    pub fn from_value(value: Value) -> Self {
        let Value::Object(values) = value else { return Self::default() };
        Self { values, uploads: Vec::new() }
    }

    fn add_form(&mut self, form: &[u8]) {
        for (name, value) in pairs(form) {
            self.values.insert(name, Value::String(value));
        }
    }

    async fn add_multipart(&mut self, request: Request) -> Result<(), ApiError> {
        let broken = |_| ApiError::broken("multipart", "can't parse multipart form");
        let mut form = Multipart::from_request(request, &())
            .await
            .map_err(|_| ApiError::broken("multipart", "can't find boundary"))?;
        while let Some(part) = form.next_field().await.map_err(broken)? {
            let field = part.name().unwrap_or_default().to_owned();
            let name = part.file_name().map(str::to_owned);
            let mime = part.content_type().unwrap_or("application/octet-stream").to_owned();
            let bytes =
                part.bytes().await.map_err(|_| ApiError::new(413, "Request Entity Too Large").as_rule("body_size"))?;
            match name {
                Some(name) => self.uploads.push(Upload { field, name, mime, bytes }),
                None => {
                    self.values.insert(field, Value::String(String::from_utf8_lossy(&bytes).into_owned()));
                }
            }
        }
        Ok(())
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name).filter(|value| !value.is_null())
    }

    /// The text of a parameter; a number is taken as its digits.
    pub fn text(&self, name: &str) -> Option<String> {
        match self.get(name)? {
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
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
            Some(Value::String(text)) => matches!(text.to_ascii_lowercase().as_str(), "true" | "yes" | "1"),
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
                .map_err(|_| ApiError::broken("json", format!("can't parse {} JSON object", name.replace('_', " ")))),
            other => Ok(other.cloned()),
        }
    }

    /// The request as it was received; files are named with their sizes.
    pub fn payload(&self) -> Value {
        let mut out = self.values.clone();
        for upload in &self.uploads {
            out.insert(
                upload.field.clone(),
                json!({"file": upload.name, "mime": upload.mime, "size": upload.bytes.len()}),
            );
        }
        Value::Object(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_and_an_object_read_alike() {
        let mut form = Params::default();
        form.add_form(b"chat_id=-5&text=a+b%26%C3%A9&reply_markup=%7B%22a%22%3A1%7D&silent=True&bad=%zz");
        let object = Params::from_value(
            json!({"chat_id": -5, "text": "a b&é", "reply_markup": {"a": 1}, "silent": true, "bad": "%zz"}),
        );
        for params in [form, object] {
            assert_eq!(params.int("chat_id"), Some(-5));
            assert_eq!(params.text("text").as_deref(), Some("a b&é"));
            assert_eq!(params.json("reply_markup"), Ok(Some(json!({"a": 1}))));
            assert!(params.flag("silent"));
            assert_eq!(params.text("bad").as_deref(), Some("%zz"));
        }
    }
}
