//! What a service answered: read within bounds, understood, or turned into a failure with a sentence for people.

use std::time::Duration;

use contract::{Effect, Private};
use reqwest::{
    Response, StatusCode,
    header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderMap, RETRY_AFTER},
};
use serde_json::Value;
use tools::{Fault, ToolFailure, args};

use super::redact;
use crate::made::Made;

/// Most bytes of an answer, after decompression.
pub const MOST: usize = 4 << 20;
/// Most bytes that are read of an error's body, for operators.
const MOST_OF_ERROR: usize = 16 << 10;
/// Most characters of it that are kept.
const SUMMARY: usize = 300;
/// Longer waits than this are not believed.
const LONGEST_WAIT: Duration = Duration::from_secs(7 * 24 * 3_600);

/// What HTTP/2 calls a request that the service has not looked at.
const NOT_BEGUN: &str = "refused stream before processing";

/// How to understand the answers of one tool.
#[derive(Debug)]
pub struct Reader {
    pub tool: String,
    /// The tool declares an answer that is not just text.
    pub wants_json: bool,
    /// Nothing forbids that it answers with a file.
    pub takes_files: bool,
    /// What is masked in everything that operators read.
    pub secrets: Vec<String>,
}

/// An answer that was understood.
#[derive(Debug)]
pub enum Read {
    Value(Value),
    File(Made),
}

impl Reader {
    pub async fn read(&self, response: Response) -> Result<Read, ToolFailure> {
        let status = response.status();
        if !status.is_success() {
            return Err(self.refused(response).await);
        }
        let headers = response.headers().clone();
        let body = self.body(response).await.map_err(|failure| failure.status(status.as_u16()))?;
        let kind = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default().to_ascii_lowercase();
        if is_file(&kind, &body) && self.takes_files {
            let said = headers.get(CONTENT_DISPOSITION).and_then(|v| v.to_str().ok());
            return Ok(Read::File(Made::new(&self.tool, said.and_then(file_name), &kind, body)));
        }
        let understood = self.understood(&kind, &body).map(Read::Value);
        understood.map_err(|failure| failure.status(status.as_u16()))
    }

    async fn body(&self, mut response: Response) -> Result<Vec<u8>, ToolFailure> {
        if response.content_length().is_some_and(|length| length > MOST as u64) {
            return Err(self.too_long());
        }
        let mut body = Vec::with_capacity(response.content_length().map_or(0, |n| usize::try_from(n).unwrap_or(0)));
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() > MOST => return Err(self.too_long()),
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => return Ok(body),
                Err(error) => return Err(self.broken(error)),
            }
        }
    }

    fn understood(&self, kind: &str, body: &[u8]) -> Result<Value, ToolFailure> {
        if is_no_text(kind, body) {
            return Err(self.no_text(kind, body.len()));
        }
        let text = String::from_utf8_lossy(body);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        if text.trim().is_empty() {
            return Ok(Value::Null);
        }
        let may_be_json = kind.contains("json") || kind.is_empty() || text.trim_start().starts_with(['{', '[']);
        let parsed = if may_be_json || self.wants_json { args::parse_keeping_digits(text).ok() } else { None };
        match parsed {
            Some(value) => Ok(value),
            None if self.wants_json => {
                let cause = format!("not JSON ({}): {}", contract::text::one_line(kind, 60), self.summary(text));
                Err(ToolFailure::new(
                    Fault::Unusable,
                    format!("'{}' answered something that is not readable", self.tool),
                )
                .cause(Private::new(cause)))
            }
            None => Ok(Value::String(text.to_owned())),
        }
    }

    async fn refused(&self, response: Response) -> ToolFailure {
        let status = response.status();
        let wait = retry_after(response.headers());
        let failure = match wait {
            Some(wait) => self.sentence(status, Some(wait)).retry_after(wait),
            None => self.sentence(status, None),
        };
        let cause = format!("{}: {}", status.as_u16(), self.summary(&start_of(response).await));
        failure.status(status.as_u16()).cause(Private::new(cause))
    }

    fn sentence(&self, status: StatusCode, wait: Option<Duration>) -> ToolFailure {
        let tool = &self.tool;
        let code = status.as_u16();
        let refused =
            |why: &str| ToolFailure::new(Fault::Refused, format!("'{tool}' refused the request: {why} ({code})"));
        match code {
            429 => {
                let when =
                    wait.map(|w| format!("; it can be asked again in {}", contract::text::wait(w))).unwrap_or_default();
                ToolFailure::new(Fault::RateLimited, format!("'{tool}' is asked too often{when}"))
            }
            300..=399 => ToolFailure::new(
                Fault::Unusable,
                format!("'{tool}' answered with a redirect, which is not followed ({code})"),
            ),
            400 | 422 => refused("it does not accept these values"),
            401 | 407 => {
                refused("it does not accept the gateway's credentials").hint("an operator has to look at this")
            }
            403 => refused("the gateway may not do that there").hint("an operator has to look at this"),
            404 | 410 => refused("there is no such thing"),
            408 | 425 => refused("it asks to try again"),
            409 => refused("it contradicts what is there now"),
            413 => refused("it is too large"),
            400..=499 => refused("it says no"),
            503 => {
                let when = wait.map(|w| format!("; try again in {}", contract::text::wait(w))).unwrap_or_default();
                ToolFailure::new(Fault::Failed, format!("'{tool}' is not available at the moment ({code}){when}"))
            }
            500..=599 => ToolFailure::new(Fault::Failed, format!("'{tool}' failed on its own side ({code})")),
            _ => {
                ToolFailure::new(Fault::Unusable, format!("'{tool}' answered in a way that is not understood ({code})"))
            }
        }
    }

    fn summary(&self, text: &str) -> String {
        redact::text(text, &self.secrets, SUMMARY)
    }

    fn no_text(&self, kind: &str, size: usize) -> ToolFailure {
        let cause = format!("{size} bytes of {} are no text", contract::text::one_line(kind, 60));
        ToolFailure::new(Fault::Unusable, format!("'{}' answered with a file or an image, not with text", self.tool))
            .hint("its 'returns' declares something else: an operator can look at the reference")
            .cause(Private::new(cause))
    }

    fn too_long(&self) -> ToolFailure {
        let say = format!("'{}' answered more than {} MiB", self.tool, MOST >> 20);
        ToolFailure::new(Fault::Unusable, say).hint("ask for less at once")
    }

    /// A request that did not come to its end.
    pub fn broken(&self, error: reqwest::Error) -> ToolFailure {
        let error = error.without_url();
        let cause = Private::new(redact::text(Private::chain(&error).for_operator(), &self.secrets, 600));
        let tool = &self.tool;
        if error.is_connect() || error.is_builder() {
            return ToolFailure::new(Fault::Unreachable, format!("'{tool}' could not be reached"))
                .effect(Effect::None)
                .cause(cause);
        }
        if error.is_timeout() {
            return ToolFailure::new(Fault::Timeout, format!("'{tool}' did not answer in time")).cause(cause);
        }
        let is_refused = cause.for_operator().contains(NOT_BEGUN);
        let failure =
            ToolFailure::new(Fault::Broken, format!("the connection to '{tool}' broke before its answer was complete"));
        if is_refused { failure.effect(Effect::None).cause(cause) } else { failure.cause(cause) }
    }
}

/// Whether an answer is a file by what it says of itself and by its bytes.
fn is_file(kind: &str, body: &[u8]) -> bool {
    let is_named_so = ["image/", "audio/", "video/", "font/"].iter().any(|start| kind.starts_with(start))
        || (kind.starts_with("application/")
            && !["json", "xml", "text", "javascript", "yaml"].iter().any(|text| kind.contains(text)));
    (is_named_so && is_no_text(kind, body)) || (kind.starts_with("application/pdf") && body.starts_with(b"%PDF"))
}

/// The name in `attachment; filename="a.pdf"`.
fn file_name(disposition: &str) -> Option<&str> {
    let (_, after) = disposition.split_once("filename=")?;
    match after.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => after.split(';').next().map(str::trim),
    }
}

/// Whether bytes are something else than text with a slip: they say so, or every tenth is no character.
fn is_no_text(kind: &str, body: &[u8]) -> bool {
    let Err(_) = std::str::from_utf8(body) else { return false };
    let binary =
        ["image/", "audio/", "video/", "font/", "application/octet-stream", "application/pdf", "application/zip"];
    if binary.iter().any(|start| kind.starts_with(start)) {
        return true;
    }
    let broken: usize = body.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    broken > 16 && broken > body.len() / 10 && !kind.starts_with("text/")
}

/// The beginning of an error's body; whatever comes within a second.
async fn start_of(mut response: Response) -> String {
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk[..chunk.len().min(MOST_OF_ERROR - body.len())]);
            if body.len() >= MOST_OF_ERROR {
                break;
            }
        }
    };
    // The status is what counts: a body that drips must not turn it into a timeout.
    let _ = tokio::time::timeout(Duration::from_secs(1), read).await;
    String::from_utf8_lossy(&body).into_owned()
}

/// Seconds, or a date.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = match text.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds >= 0.0 => {
            Duration::from_secs_f64(seconds.min(LONGEST_WAIT.as_secs_f64()))
        }
        Ok(_) => return None,
        Err(_) => {
            let dates = jiff::fmt::rfc2822::DateTimeParser::new().relaxed_weekday(true);
            let at = dates.parse_timestamp(text).ok()?;
            Duration::try_from(at.duration_since(jiff::Timestamp::now())).unwrap_or(Duration::ZERO)
        }
    };
    Some(wait.min(LONGEST_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_not_shown_as_text() {
        let all: Vec<u8> = (0..=255).collect();
        assert!(
            is_no_text("image/png", b"\x89PNG\r\n") && is_no_text("", &all) && is_no_text("application/json", &all)
        );
        assert!(!is_no_text("image/svg+xml", b"<svg/>") && !is_no_text("application/octet-stream", b"plain"));
        assert!(!is_no_text("", b"caf\xe9, one slip in a text") && !is_no_text("text/plain", &all));
    }

    #[test]
    fn a_wait_is_seconds_or_a_date() {
        let wait = |text: &str| retry_after(&HeaderMap::from_iter([(RETRY_AFTER, text.parse().unwrap())]));
        assert_eq!(wait("3"), Some(Duration::from_secs(3)));
        assert_eq!(wait("0.5"), Some(Duration::from_millis(500)));
        assert_eq!(wait("99999999999"), Some(LONGEST_WAIT));
        assert_eq!(wait("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
        assert!(wait("Fri, 31 Dec 9998 23:59:59 GMT").is_some_and(|w| w == LONGEST_WAIT));
        for bad in ["-1", "soon", "NaN", "inf", ""] {
            assert_eq!(wait(bad), None, "{bad}");
        }
    }
}
