//! What went wrong, as problem details (RFC 9457) with our code and reference. The one place where a failure becomes
//! an HTTP status.

use std::time::Duration;

use axum::{
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use contract::{Code, Failure, Finding, Private, Problem as Wrong, StoreDown, TurnId};
use serde_json::{Value, json};
use tracing::warn;

/// An answer that says why there is no other.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    failure: Box<Failure>,
    repeatable: bool,
    reference: Option<TurnId>,
    allow: Option<&'static str>,
    /// Something was done before it went wrong.
    ran: bool,
    /// What is said of a text that was sent, each with its place: errors, warnings.
    findings: Option<Box<[Vec<Finding>; 2]>>,
}

impl Problem {
    /// With the status that stands for the failure's code.
    pub fn of(failure: Failure) -> Self {
        Self::new(status_of(failure.code), failure)
    }

    pub fn new(status: StatusCode, failure: Failure) -> Self {
        Self {
            status,
            failure: Box::new(failure),
            repeatable: false,
            reference: None,
            allow: None,
            ran: false,
            findings: None,
        }
    }

    /// The request itself is wrong: one thing at one place.
    pub fn invalid(path: &str, expected: &str, got: Option<&str>) -> Self {
        let wrong = Wrong {
            path: path.to_owned(),
            expected: expected.to_owned(),
            got: got.map(|got| contract::text::one_line(got, 80)),
            hint: None,
        };
        let say = format!("the request is not as it should be: '{path}'");
        Self::of(Failure { problems: vec![wrong], ..Failure::new(Code::ArgsInvalid, say) })
    }

    pub fn unreadable(say: impl Into<String>) -> Self {
        Self::of(Failure::new(Code::ArgsUnreadable, say.into()))
    }

    /// No valid token.
    pub fn stranger() -> Self {
        let failure = Failure::new(Code::ClientUnknown, "this needs a valid token")
            .hint("send the header 'Authorization: Bearer TOKEN'");
        Self::of(failure)
    }

    /// A valid token that does not reach this.
    pub fn operators_only() -> Self {
        let failure = Failure::new(Code::ClientUnknown, "this needs the admin token");
        Self::new(StatusCode::FORBIDDEN, failure)
    }

    /// Refused before anybody asked who it is.
    pub fn foreign(say: &'static str) -> Self {
        Self::new(StatusCode::FORBIDDEN, Failure::new(Code::ClientUnknown, say))
    }

    /// The same words whether it never was, is not kept any more or is somebody else's.
    pub fn no_such_reference() -> Self {
        let failure = Failure::new(Code::InputRefused, "there is no request of this reference that you can look at");
        Self::new(StatusCode::NOT_FOUND, failure)
    }

    /// The client's own id stands for another message already.
    pub fn used_id(first: TurnId) -> Self {
        let failure = Failure::new(Code::InputRefused, "this id was used for another message")
            .hint("give each message an id of its own; the reference is the first one's");
        Self::new(StatusCode::CONFLICT, failure).reference(first)
    }

    pub fn no_such_route() -> Self {
        let failure = Failure::new(Code::InputRefused, "there is nothing at this address")
            .hint("GET /v1/openapi.json lists what there is");
        Self::new(StatusCode::NOT_FOUND, failure)
    }

    pub fn wrong_method(allow: &'static str) -> Self {
        let failure = Failure::new(Code::InputRefused, "this address takes another method").hint(allow);
        Self { allow: Some(allow), ..Self::new(StatusCode::METHOD_NOT_ALLOWED, failure) }
    }

    pub fn busy(say: &'static str) -> Self {
        Self::of(Failure::new(Code::Busy, say).retry_after(Duration::from_secs(5)))
    }

    pub fn internal(cause: impl Into<String>) -> Self {
        let failure = Failure::fatal(Code::Internal, cause);
        warn!(cause = failure.cause.for_operator(), "a request failed");
        Self::of(failure)
    }

    #[must_use]
    pub fn reference(mut self, reference: TurnId) -> Self {
        self.reference = Some(reference);
        self
    }

    #[must_use]
    pub fn repeatable(mut self, repeatable: bool) -> Self {
        self.repeatable = repeatable;
        self
    }

    /// A text that was sent cannot be used.
    pub fn of_text(say: &'static str, errors: Vec<Finding>, warnings: Vec<Finding>) -> Self {
        let findings = Some(Box::new([errors, warnings]));
        Self { findings, ..Self::of(Failure::new(Code::ArgsInvalid, say)) }
    }

    /// Clients are not to ask again by themselves.
    #[must_use]
    pub fn ran(mut self) -> Self {
        self.ran = true;
        self
    }

    /// The same in the shape that clients of OpenAI's API read.
    pub fn openai(self) -> Response {
        let status = self.openai_status();
        let body = self.openai_body().to_string();
        let mut answer = self.with_headers((status, body).into_response());
        answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        answer
    }

    pub fn openai_body(&self) -> Value {
        let status = self.openai_status();
        let kind = match status.as_u16() {
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            429 => "rate_limit_error",
            400..500 => "invalid_request_error",
            _ => "server_error",
        };
        let mut say = self.failure.say.as_str().to_owned();
        let wrong = self.failure.problems.first();
        if let Some(wrong) = wrong {
            say.push_str(&format!(": expected {}", wrong.expected));
        }
        json!({ "error": {
            "message": say,
            "type": kind,
            "param": wrong.map(|wrong| &wrong.path),
            "code": self.failure.code,
            "reference": self.reference.map(|reference| reference.to_string()),
        } })
    }

    /// Where that API has a status of its own.
    fn openai_status(&self) -> StatusCode {
        if self.status == StatusCode::UNPROCESSABLE_ENTITY { StatusCode::BAD_REQUEST } else { self.status }
    }

    /// The members of the body, in the order in which they are written.
    fn body(&self) -> Value {
        let mut told = self.failure.for_model(self.repeatable);
        let error = told["error"].take();
        let mut body = json!({
            "type": "about:blank",
            "title": self.status.canonical_reason().unwrap_or("Error"),
            "status": self.status.as_u16(),
            "detail": error["message"],
            "code": error["code"],
        });
        if let Some(reference) = self.reference {
            body["reference"] = json!(reference.to_string());
        }
        body["error"] = error;
        if let Some(findings) = &self.findings {
            let [errors, warnings] = &**findings;
            (body["errors"], body["warnings"]) = (json!(errors), json!(warnings));
        }
        body
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let answer = (self.status, self.body().to_string()).into_response();
        let mut answer = self.with_headers(answer);
        answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        answer
    }
}

impl Problem {
    fn with_headers(&self, mut answer: Response) -> Response {
        let headers = answer.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(wait) = self.failure.retry_after {
            let seconds = u64::try_from(wait.as_millis().div_ceil(1_000)).unwrap_or(u64::MAX);
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(allow) = self.allow {
            headers.insert(header::ALLOW, HeaderValue::from_static(allow));
        }
        if self.ran {
            headers.insert(HeaderName::from_static("x-should-retry"), HeaderValue::from_static("false"));
        }
        answer
    }
}

impl From<StoreDown> for Problem {
    fn from(down: StoreDown) -> Self {
        warn!(cause = %down, "the store did not answer a request");
        let failure = Failure::new(Code::Store, "the store does not answer at present; try again in a moment")
            .retry_after(Duration::from_secs(1))
            .cause(Private::new(down.to_string()));
        Self::of(failure)
    }
}

/// The status of each code.
pub fn status_of(code: Code) -> StatusCode {
    match code {
        Code::ArgsInvalid | Code::ArgsUnreadable | Code::InputRefused => StatusCode::UNPROCESSABLE_ENTITY,
        // A denied tool looks like one that does not exist.
        Code::ToolUnknown | Code::ToolRemoved | Code::Denied => StatusCode::NOT_FOUND,
        Code::ApprovalRefused
        | Code::ApprovalExpired
        | Code::ApprovalUnavailable
        | Code::HookRefused
        | Code::LimitReached
        | Code::ScheduleDenied => StatusCode::FORBIDDEN,
        Code::ClientUnknown => StatusCode::UNAUTHORIZED,
        Code::Cancelled => StatusCode::CONFLICT,
        Code::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        Code::Timeout | Code::OutcomeUnknown => StatusCode::GATEWAY_TIMEOUT,
        Code::Upstream4xx
        | Code::Upstream5xx
        | Code::UpstreamUnreachable
        | Code::UpstreamBroken
        | Code::ReturnsInvalid
        | Code::HookWithheld
        | Code::StepFailed
        | Code::ModelOverflow
        | Code::DeliveryRefused => StatusCode::BAD_GATEWAY,
        Code::BreakerOpen
        | Code::Busy
        | Code::NotStarted
        | Code::Unavailable
        | Code::ModelUnavailable
        | Code::ModelStuck
        | Code::Store => StatusCode::SERVICE_UNAVAILABLE,
        Code::Panic | Code::Crashed | Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_says_code_reference_and_what_is_wrong() {
        let reference: TurnId = "01KBA7Q3ZJ8M4W0N5RX2VCT008".parse().unwrap();
        let problem = Problem::invalid("wait", "seconds from 0 to 300", Some("301")).reference(reference);
        expect_test::expect![[r#"
            {
              "type": "about:blank",
              "title": "Unprocessable Entity",
              "status": 422,
              "detail": "the request is not as it should be: 'wait'",
              "code": "args.invalid",
              "reference": "01KBA7Q3ZJ8M4W0N5RX2VCT008",
              "error": {
                "layer": "validation",
                "code": "args.invalid",
                "message": "the request is not as it should be: 'wait'",
                "retryable": false,
                "problems": [
                  {
                    "path": "wait",
                    "expected": "seconds from 0 to 300",
                    "got": "301"
                  }
                ]
              }
            }"#]]
        .assert_eq(&serde_json::to_string_pretty(&problem.body()).unwrap());
    }

    #[test]
    fn every_wait_is_told_in_whole_seconds() {
        let failure = Failure::new(Code::RateLimited, "wait").retry_after(Duration::from_millis(2_001));
        let answer = Problem::of(failure).into_response();
        assert_eq!((answer.status().as_u16(), answer.headers()["retry-after"].to_str().unwrap()), (429, "3"));
    }

    #[test]
    fn a_problem_never_shows_what_operators_are_told() {
        let text = Problem::internal("secret-host").body().to_string();
        assert!(!text.contains("secret-host"));
    }
}
