//! What a bot asks: path, query, body and files, read from JSON or multipart.

use std::collections::BTreeMap;

use axum::extract::{FromRequest, Multipart, Query, Request};
use axum::http::header::CONTENT_TYPE;
use bytes::Bytes;
use serde_json::{Map, Value};

use super::error::ApiError;
use crate::form::{Cut, whole};

/// A request may be as large as this in all.
pub const MAX_BODY: usize = 25 * 1024 * 1024;

/// A file that comes with a request, by the number in its field's name.
#[derive(Clone, Debug)]
pub struct Upload {
    pub number: String,
    pub name: String,
    pub mime: Option<String>,
    pub bytes: Bytes,
}

/// The readable part of a request.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// An object or a list; nothing for an empty body.
    pub json: Value,
    pub uploads: Vec<Upload>,
    pub query: BTreeMap<String, String>,
}

impl Body {
    pub async fn read(request: Request) -> Result<Self, ApiError> {
        let query: Query<BTreeMap<String, String>> =
            Query::try_from_uri(request.uri()).map_err(|_| ApiError::new(400, 0, "400: Bad Request"))?;
        let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let (multipart, is_json) = (kind.starts_with("multipart/form-data"), kind.starts_with("application/json"));
        if multipart {
            return Ok(Self { query: query.0, ..Self::parts(request).await? });
        }
        let bytes = whole(request.into_body(), MAX_BODY).await.map_err(|cut| match cut {
            Cut::TooLarge => too_large(),
            Cut::HungUp => ApiError::new(400, 0, "400: Bad Request"),
        })?;
        if bytes.is_empty() {
            return Ok(Self { query: query.0, ..Self::default() });
        }
        let json = serde_json::from_slice(&bytes);
        match json {
            Ok(json) if is_json => Ok(Self { json, uploads: Vec::new(), query: query.0 }),
            Ok(_) => {
                let mut error = ApiError::new(400, 50_035, "Invalid Form Body").as_rule("content_type");
                error.errors = Some(serde_json::json!({"_errors": [
                    {"code": "CONTENT_TYPE_INVALID", "message": "Expected \"Content-Type\" header to be one of {'application/json'}."},
                ]}));
                Err(error)
            }
            Err(_) => Err(ApiError::new(400, 50_109, "The request body contains invalid JSON.").as_rule("json")),
        }
    }

    async fn parts(request: Request) -> Result<Self, ApiError> {
        let broken = || ApiError::new(400, 50_035, "Invalid Form Body").as_rule("multipart");
        let mut parts = Multipart::from_request(request, &()).await.map_err(|_| broken())?;
        let (mut out, mut size) = (Self { json: Value::Object(Map::new()), ..Self::default() }, 0);
        while let Some(part) = parts.next_field().await.map_err(|_| too_large())? {
            let field = part.name().unwrap_or_default().to_owned();
            let (name, mime) = (part.file_name().map(str::to_owned), part.content_type().map(str::to_owned));
            let bytes = part.bytes().await.map_err(|_| too_large())?;
            size += bytes.len();
            if size > MAX_BODY {
                return Err(too_large());
            }
            if field == "payload_json" {
                out.json = serde_json::from_slice(&bytes).map_err(|_| {
                    ApiError::new(400, 50_109, "The request body contains invalid JSON.").as_rule("json")
                })?;
            } else if let Some(name) = name {
                let number = field.strip_prefix("files[").and_then(|rest| rest.strip_suffix(']')).unwrap_or(&field);
                out.uploads.push(Upload { number: number.to_owned(), name, mime, bytes });
            } else if let Value::Object(fields) = &mut out.json {
                fields.insert(field, Value::String(String::from_utf8_lossy(&bytes).into_owned()));
            }
        }
        Ok(out)
    }
}

fn too_large() -> ApiError {
    ApiError::new(413, 40_005, "Request entity too large").as_rule("request_size")
}

/// One request as its method sees it.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The bot that asks; zero where a token in the path says who it is.
    pub bot: u64,
    /// The method as it is counted, such as `POST channels/{channel}/messages`.
    pub method: &'static str,
    pub path: &'a [&'a str],
    pub body: &'a Body,
}

impl Asked<'_> {
    /// The part of the path that stands for an id.
    pub fn id(&self, at: usize) -> Result<u64, ApiError> {
        let part = self.path.get(at).copied().unwrap_or_default();
        part.parse().map_err(|_| {
            let mut error = ApiError::new(400, 50_035, "Invalid Form Body").as_rule("snowflake");
            error.errors = Some(serde_json::json!({"_errors": [
                {"code": "NUMBER_TYPE_COERCE", "message": format!("Value \"{part}\" is not snowflake.")},
            ]}));
            error
        })
    }

    pub fn word(&self, at: usize) -> &str {
        self.path.get(at).copied().unwrap_or_default()
    }

    pub fn field(&self, name: &str) -> &Value {
        self.body.json.get(name).unwrap_or(&Value::Null)
    }

    pub fn query(&self, name: &str) -> Option<&str> {
        self.body.query.get(name).map(String::as_str)
    }

    pub fn query_id(&self, name: &str) -> Option<u64> {
        self.query(name)?.parse().ok()
    }
}

/// An id in a body: a string of digits, or a number.
pub fn snowflake(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.as_u64(),
        _ => None,
    }
}
