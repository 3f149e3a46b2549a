//! What a request says: its body within bounds, its query, its words.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::{
    body::Body,
    extract::{FromRequestParts, Path, Query},
    http::{StatusCode, Uri, request::Parts},
};
use contract::{Code, Failure};
use serde::de::DeserializeOwned;

use crate::problem::Problem;

/// Most bytes of a request's body.
pub const BODY_MAX: usize = 1024 * 1024;
/// How long a body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);
/// Most characters of an id or a name in a request.
const WORD_MAX: usize = 200;

/// The body as text.
pub async fn text(body: Body) -> Result<String, Problem> {
    text_of(body, BODY_MAX).await
}

async fn text_of(body: Body, most: usize) -> Result<String, Problem> {
    let bytes = match tokio::time::timeout(BODY_TIME, axum::body::to_bytes(body, most)).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => {
            let most = most >> 20;
            let say = format!("the body did not arrive whole, or is longer than {most} MiB");
            let failure = Failure::new(Code::InputRefused, say);
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, failure));
        }
        Err(_) => {
            let failure = Failure::new(Code::InputRefused, "the body took too long to arrive");
            return Err(Problem::new(StatusCode::REQUEST_TIMEOUT, failure));
        }
    };
    String::from_utf8(bytes.into()).map_err(|_| Problem::unreadable("the body is not UTF-8"))
}

/// The body as JSON of a known shape.
pub async fn json<T: DeserializeOwned>(body: Body) -> Result<T, Problem> {
    json_of(body, BODY_MAX).await
}

/// The same for a body of another size.
pub async fn json_of<T: DeserializeOwned>(body: Body, most: usize) -> Result<T, Problem> {
    let text = text_of(body, most).await?;
    // A list would be taken for the members in the order of a type, and a refusal would name it.
    if !text.trim_start().starts_with('{') {
        return Err(Problem::unreadable("the body is not a JSON object"));
    }
    serde_json::from_str(&text).map_err(|error| Problem::unreadable(format!("the body is not as expected: {error}")))
}

/// The part of the path that names something.
pub struct Segment(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Segment {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        path.map(|Path(segment)| Self(segment)).map_err(|_| Problem::no_such_route())
    }
}

/// The query as a known shape.
pub fn query<T: DeserializeOwned>(uri: &Uri) -> Result<T, Problem> {
    let read = Query::<T>::try_from_uri(uri).map(|Query(query)| query);
    read.map_err(|error| {
        let why = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        Problem::unreadable(format!("the query is not as expected: {why}"))
    })
}

/// An id or a name: not empty, without control characters, not too long.
pub fn word(path: &str, text: Option<String>) -> Result<Option<String>, Problem> {
    let Some(text) = text else { return Ok(None) };
    let fits = !text.is_empty() && text.chars().count() <= WORD_MAX && !text.chars().any(char::is_control);
    if !fits {
        return Err(Problem::invalid(path, "1 to 200 characters without control characters", Some(&text)));
    }
    Ok(Some(text))
}

pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A time in milliseconds since 1970, or how long ago it was: `90s`, `15m`, `2h`, `7d`.
pub fn since(path: &str, text: Option<&str>, now_ms: u64) -> Result<Option<u64>, Problem> {
    let Some(text) = text else { return Ok(None) };
    let wrong = || Problem::invalid(path, "milliseconds since 1970, or a duration like 15m", Some(text));
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let unit_ms = match &text[digits.len()..] {
        "" => return Ok(Some(number)),
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(wrong()),
    };
    Ok(Some(now_ms.saturating_sub(number.saturating_mul(unit_ms))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_moment_or_a_while_ago() {
        let read = |text| since("since", Some(text), 10_000_000).ok().flatten();
        assert_eq!(
            [read("1234"), read("90s"), read("2h"), read("7d")],
            [Some(1_234), Some(9_910_000), Some(2_800_000), Some(0)]
        );
        assert_eq!([read("soon"), read("1w"), read(""), read("-1s"), read("1é")], [None; 5]);
    }
}
