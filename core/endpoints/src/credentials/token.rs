//! Asking for an access token (OAuth 2.0, client credentials), and reading the answer as services write it.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use reqwest::{
    Client, Method, Request, Response, Url,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER},
};
use secrecy::SecretString;
use serde_json::Value;

use super::{Place, Trouble, header_value, trimmed};
use crate::secret::{Known, Source};

/// Most bytes that are read of an answer.
const MOST: usize = 64 << 10;
/// How long an answer may take.
const TIME: Duration = Duration::from_secs(10);
/// How long a token is used when the answer does not say it.
const USUAL_LIFE: Duration = Duration::from_secs(300);
/// Longer lives are not believed.
const LONGEST_LIFE: Duration = Duration::from_secs(24 * 3_600);
/// Most characters of what somebody says of a refusal.
const SUMMARY: usize = 300;

/// How access tokens are got.
#[derive(Debug, Clone, PartialEq)]
pub struct OAuth {
    pub token_url: Url,
    pub client_id: Source,
    pub client_secret: Source,
    pub scopes: Vec<String>,
    pub audience: Option<String>,
    pub client_auth: ClientAuth,
    /// What this service wants besides, such as `resource`.
    pub params: Vec<(String, String)>,
    /// Where the token stands in a request.
    pub place: Place,
}

/// How the gateway shows who it is when it asks for a token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ClientAuth {
    /// `Authorization: Basic`, which every service has to understand.
    #[default]
    Basic,
    /// `client_id` and `client_secret` in the form.
    Body,
}

/// An access token as it was given.
#[derive(Debug, Clone)]
pub struct Given {
    pub token: SecretString,
    /// From the moment in which it was asked for: clocks that differ do not matter.
    pub life: Duration,
}

impl OAuth {
    /// Asks for a token once. With `anew` the client's secret is read past any memory.
    pub async fn ask(&self, client: &Client, anew: bool) -> Result<Given, Refusal> {
        let request = self.request(anew).await?;
        let answered = async {
            let response = client.execute(request).await.map_err(broken)?;
            let (status, headers) = (response.status(), response.headers().clone());
            let body = body(response).await?;
            Ok::<_, Refusal>((status.as_u16(), headers, body))
        };
        let (status, headers, body) = tokio::time::timeout(TIME, answered)
            .await
            .unwrap_or_else(|_| Err(Refusal::passing(format!("no answer within {} s", TIME.as_secs()))))?;
        if (200..300).contains(&status) {
            return given(&body).map_err(Refusal::lasting);
        }
        let why = format!("{status}: {}", reason(&body));
        let wait = headers.get(RETRY_AFTER).and_then(|v| v.to_str().ok()?.trim().parse().ok()).map(Duration::from_secs);
        let is_passing = status >= 500 || matches!(status, 408 | 425 | 429);
        let refusal = if is_passing { Refusal::passing(why) } else { Refusal::lasting(why) };
        Err(Refusal { trouble: Trouble { retry_after: wait, ..refusal.trouble }, ..refusal })
    }

    async fn request(&self, anew: bool) -> Result<Request, Refusal> {
        let id = self.client_id.read_name().await.map_err(Trouble::from)?;
        let secret = if anew { self.client_secret.read_anew().await } else { self.client_secret.read().await };
        let secret = secret.map_err(Trouble::from)?;
        let (id, secret) = (trimmed(&id), trimmed(&secret));
        let mut form = vec![("grant_type", "client_credentials".to_owned())];
        if !self.scopes.is_empty() {
            form.push(("scope", self.scopes.join(" ")));
        }
        form.extend(self.audience.iter().map(|audience| ("audience", audience.clone())));
        form.extend(self.params.iter().map(|(name, value)| (name.as_str(), value.clone())));
        let mut headers = HeaderMap::new();
        match self.client_auth {
            ClientAuth::Basic => {
                let encoded = STANDARD.encode(format!("{}:{}", form_encoded(id), form_encoded(secret)));
                Known::shared().note(&SecretString::from(encoded.clone()));
                headers.insert(AUTHORIZATION, header_value(&AUTHORIZATION, &format!("Basic {encoded}"))?);
            }
            ClientAuth::Body => {
                form.extend([("client_id", id.to_owned()), ("client_secret", secret.to_owned())]);
            }
        }
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        let mut scratch = self.token_url.clone();
        scratch.set_query(None);
        let body = scratch.query_pairs_mut().extend_pairs(form).finish().query().unwrap_or_default().to_owned();
        let mut request = Request::new(Method::POST, self.token_url.clone());
        *request.headers_mut() = headers;
        *request.body_mut() = Some(body.into());
        Ok(request)
    }
}

/// No token was given.
#[derive(Debug, Clone)]
pub struct Refusal {
    pub trouble: Trouble,
    /// Whether the same may be answered otherwise in a moment.
    pub is_passing: bool,
}

impl Refusal {
    fn passing(why: impl Into<String>) -> Self {
        Self { trouble: Trouble::new(why), is_passing: true }
    }

    fn lasting(why: impl Into<String>) -> Self {
        Self { trouble: Trouble::new(why), is_passing: false }
    }
}

impl From<Trouble> for Refusal {
    fn from(trouble: Trouble) -> Self {
        Self { trouble, is_passing: false }
    }
}

fn broken(error: reqwest::Error) -> Refusal {
    let cause = contract::Private::chain(&error.without_url());
    Refusal::passing(contract::text::one_line(cause.for_operator(), SUMMARY))
}

async fn body(mut response: Response) -> Result<String, Refusal> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        if body.len() + chunk.len() > MOST {
            return Err(Refusal::lasting("its answer is longer than 64 KiB"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(String::from_utf8_lossy(&body).into_owned())
}

/// The fields of an answer: JSON, or a form as a few services write it whatever they are asked for.
fn fields(body: &str) -> Option<Value> {
    let body = body.trim_start_matches('\u{feff}').trim();
    if let Ok(value @ Value::Object(_)) = serde_json::from_str(body) {
        return Some(value);
    }
    if !body.contains('=') || body.contains(['<', '{', ' ', '\n']) {
        return None;
    }
    let scratch = Url::parse(&format!("http://form.invalid/?{body}")).ok()?;
    Some(scratch.query_pairs().map(|(name, value)| (name.into_owned(), Value::from(value.into_owned()))).collect())
}

fn given(body: &str) -> Result<Given, String> {
    let fields = fields(body).ok_or_else(|| format!("its answer is not readable: {}", summary(body)))?;
    // Some answer 200 and say in the body that they refuse.
    if fields.get("error").is_some_and(|error| !error.is_null()) {
        return Err(reason(body));
    }
    let token = fields.get("access_token").and_then(Value::as_str).map(str::trim).filter(|token| !token.is_empty());
    let token = token.ok_or("its answer has no access token")?;
    let kind = fields.get("token_type").and_then(Value::as_str).unwrap_or("bearer");
    if !kind.eq_ignore_ascii_case("bearer") {
        return Err(format!("it gives tokens of the type '{}', not bearer tokens", contract::text::one_line(kind, 40)));
    }
    let token = SecretString::from(token.to_owned());
    Known::shared().note(&token);
    Ok(Given { token, life: life(fields.get("expires_in")) })
}

/// How long a token may be used: a number, a number in quotes, or nothing that can be believed.
fn life(expires_in: Option<&Value>) -> Duration {
    let seconds = match expires_in {
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.trim().parse().ok(),
        _ => None,
    };
    match seconds.filter(|seconds: &f64| seconds.is_finite() && *seconds > 0.0) {
        Some(seconds) => Duration::from_secs_f64(seconds.min(LONGEST_LIFE.as_secs_f64())),
        None => USUAL_LIFE,
    }
}

/// What a refusal says of itself.
fn reason(body: &str) -> String {
    let Some(fields) = fields(body) else { return summary(body) };
    let text = |name: &str| match fields.get(name) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Object(inner)) => inner.get("message").and_then(Value::as_str).map(str::to_owned),
        _ => None,
    };
    let said: Vec<_> = ["error", "error_description", "message"].into_iter().filter_map(text).collect();
    match said.is_empty() {
        true => summary(body),
        false => summary(&said.join(": ")),
    }
}

fn summary(text: &str) -> String {
    crate::http::redact::text(text, &[], SUMMARY)
}

/// As RFC 6749 wants names and secrets before they are joined: most services do not notice, some insist.
fn form_encoded(text: &str) -> String {
    let mut scratch = Url::parse("http://form.invalid/").expect("a fixed address is readable");
    let query = scratch.query_pairs_mut().append_key_only(text).finish().query().unwrap_or_default();
    query.to_owned()
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn answers_are_read_as_services_write_them() {
        for (body, wanted) in [
            (r#"{"access_token":"tok-1","token_type":"Bearer","expires_in":3600}"#, Ok(("tok-1", 3_600))),
            (r#"{"access_token":"tok-1","expires_in":"120"}"#, Ok(("tok-1", 120))),
            (r#"{"access_token":" tok-1\n","token_type":"bearer"}"#, Ok(("tok-1", 300))),
            (r#"{"access_token":"tok-1","expires_in":0}"#, Ok(("tok-1", 300))),
            (r#"{"access_token":"tok-1","expires_in":-5}"#, Ok(("tok-1", 300))),
            (r#"{"access_token":"tok-1","expires_in":1e300}"#, Ok(("tok-1", 86_400))),
            ("\u{feff}{\"access_token\":\"tok-1\",\"error\":null}", Ok(("tok-1", 300))),
            ("access_token=tok%2D1&token_type=bearer&expires_in=60", Ok(("tok-1", 60))),
            (r#"{"token_type":"bearer"}"#, Err("its answer has no access token")),
            (r#"{"access_token":""}"#, Err("its answer has no access token")),
            (
                r#"{"access_token":"tok-1","token_type":"mac"}"#,
                Err("it gives tokens of the type 'mac', not bearer tokens"),
            ),
            (r#"{"error":"invalid_scope","error_description":"no such"}"#, Err("invalid_scope: no such")),
            (r#"{"error":{"message":"broken"}}"#, Err("broken")),
            ("<html>Login</html>", Err("its answer is not readable: <html>Login</html>")),
            ("[1]", Err("its answer is not readable: [1]")),
        ] {
            let got = given(body).map(|given| (given.token.expose_secret().to_owned(), given.life.as_secs()));
            assert_eq!(got, wanted.map(|(token, life)| (token.to_owned(), life)).map_err(str::to_owned), "{body}");
        }
    }

    #[test]
    fn what_is_joined_is_encoded_first() {
        assert_eq!(form_encoded("a b:c+d/e%"), "a+b%3Ac%2Bd%2Fe%25");
        assert_eq!(form_encoded("plain-id_1.2"), "plain-id_1.2");
    }
}
