//! A tool that is a service: one request for each call, one answer read within bounds.
//!
//! Where arguments go: what `{param}` names goes into the address, percent-encoded as one part that cannot leave its
//! place; the rest is renamed by `rename` (dots go into objects, on both sides) and then goes to the query (GET, HEAD,
//! DELETE) or into a JSON body; a `content-type` of `application/x-www-form-urlencoded` makes it a form. In a query or
//! form a list repeats its name, an object goes in with dots, null is left out.
//!
//! A header whose value is `{idempotency_key}` carries the call's key. `traceparent` always goes along, with the turn
//! as the trace.
//!
//! A credential is added last, for each attempt anew. When the service answers 401 and there is a newer secret or
//! token, the request is sent once more with that.
//!
//! Of an answer at most 4 MiB are read. JSON keeps every digit of its integers: one that no 64-bit type holds becomes
//! a string of its digits. What is not JSON is passed on as text, unless `returns` declares something else.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use async_trait::async_trait;
use bytes::Bytes;
use contract::{Effect, Finding, Private};
use reqwest::{
    Client, Method, Request, Response, StatusCode, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use serde_json::{Map, Value};
use tools::{
    Cx, Endpoint, Fault, Output, Permitted, Spec, ToolFailure,
    spec::{HttpSpec, KEY_MARK},
};

mod answer;
mod leaving;
mod payload;
pub(crate) mod redact;
mod target;

use crate::{
    credentials::{Applied, Credential, Credentials, Trouble},
    secret::Known,
};
use answer::Reader;
use leaving::Leaving;
use payload::Rename;
use target::Target;

/// Most characters of a request that operators see.
const SUMMARY: usize = 400;

/// A request, compiled: what a call fills in is its arguments.
pub(crate) struct Http {
    client: Client,
    method: Method,
    target: Target,
    /// As `host:port`.
    host: String,
    rename: Rename,
    headers: HeaderMap,
    /// Headers that carry the idempotency key.
    key_headers: Vec<HeaderName>,
    carrier: Carrier,
    reader: Reader,
    credential: Option<Arc<Credential>>,
}

/// What carries the arguments that the address does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Carrier {
    Query,
    Json,
    Form,
}

impl Http {
    pub fn build(spec: &Spec, http: &HttpSpec, client: Client, known: Option<&Credentials>) -> Result<Self, Finding> {
        let method: Method = http
            .method
            .parse()
            .map_err(|_| spec.error_at("endpoint.method", format!("'{}' is no method", http.method)))?;
        let target = Target::parse(&http.url).map_err(|why| spec.error_at("endpoint.url", why))?;
        let rename = Rename::new(&http.rename).map_err(|why| spec.error_at("endpoint.rename", why))?;
        check_names(spec, &target, &rename)?;
        let credential = http.credential.as_deref().map(|name| credential(spec, name, &target, known)).transpose()?;
        let (mut headers, key_headers) = headers(spec, http)?;
        let carrier = carrier(spec, &method, &headers)?;
        match carrier {
            Carrier::Json => drop(headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"))),
            Carrier::Form | Carrier::Query => {}
        }
        let reader = Reader {
            tool: spec.name.to_string(),
            wants_json: spec.returns.as_ref().is_some_and(is_structured),
            secrets: secrets(&target, &headers),
        };
        let host = target.host();
        Ok(Self { client, method, target, host, rename, headers, key_headers, carrier, reader, credential })
    }

    pub async fn send(&self, args: &Value, cx: &Cx<'_>) -> Result<Value, ToolFailure> {
        cx.notes.effect(Effect::None);
        let (request, shown) = self.request(args, cx)?;
        cx.notes.request(shown);
        let response = match &self.credential {
            None => self.execute(request, cx).await?,
            Some(credential) => self.send_with(credential, request, cx).await?,
        };
        cx.notes.status(response.status().as_u16());
        self.reader.read(response).await
    }

    async fn execute(&self, mut request: Request, cx: &Cx<'_>) -> Result<Response, ToolFailure> {
        // From here on something may have happened at the other end, unless the error says that it cannot.
        cx.notes.effect(Effect::Unknown);
        let leaving = Leaving::watch(&mut request, cx.notes);
        self.client.execute(request).await.map_err(|error| {
            let failure = self.reader.broken(error);
            let failure = if leaving.is_not_begun() { failure.effect(Effect::None) } else { failure };
            cx.notes.effect(failure.failure().effect);
            failure
        })
    }

    /// Sends the request with its credential; once more when the service does not accept it and there is a newer one.
    async fn send_with(&self, credential: &Credential, request: Request, cx: &Cx<'_>) -> Result<Response, ToolFailure> {
        let tenant = &*cx.caller.tenant;
        let again = request.try_clone();
        let (applied, response) = self.attempt(credential, request, cx).await?;
        let (Some(again), StatusCode::UNAUTHORIZED) = (again, response.status()) else { return Ok(response) };
        // Whoever answers 401 has done nothing.
        cx.notes.effect(Effect::None);
        if !credential.renew(applied, tenant, &self.client).await {
            return Ok(response);
        }
        cx.notes.mark("credential renewed");
        let (_, response) = self.attempt(credential, again, cx).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            credential.renewed_in_vain(tenant);
        }
        Ok(response)
    }

    async fn attempt(
        &self,
        credential: &Credential,
        mut request: Request,
        cx: &Cx<'_>,
    ) -> Result<(Applied, Response), ToolFailure> {
        let applied = credential.apply(&mut request, &cx.caller.tenant, &self.client).await;
        let applied = applied.map_err(|trouble| self.no_credential(trouble))?;
        Ok((applied, self.execute(request, cx).await?))
    }

    /// Ours to put right, and nobody else's: the service was not asked.
    fn no_credential(&self, trouble: Trouble) -> ToolFailure {
        let say = format!("'{}' cannot be asked: the gateway cannot prove who it is there", self.reader.tool);
        let cause = Private::new(trouble.why);
        let failure = ToolFailure::new(Fault::Unavailable, say).hint("an operator has to look at this").cause(cause);
        match trouble.retry_after {
            Some(wait) => failure.retry_after(wait),
            None => failure,
        }
    }

    fn request(&self, args: &Value, cx: &Cx<'_>) -> Result<(Request, Private), ToolFailure> {
        let mut args = args.as_object().cloned().unwrap_or_default();
        let refused = |problems| {
            ToolFailure::input_refused(format!("'{}' cannot be called with these values", self.reader.tool), problems)
        };
        let mut url = self.target.fill(&mut args).map_err(refused)?;
        self.rename.apply(&mut args);
        let body = match self.carrier {
            Carrier::Query => payload::to_query(&mut url, &args).map(|()| None),
            Carrier::Json => Ok(Some(serde_json::to_vec(&args).map(Bytes::from).unwrap_or_default())),
            Carrier::Form => payload::to_form(&args).map(|form| Some(Bytes::from(form))),
        };
        let body = body.map_err(refused)?;
        let shown = self.shown(&url, &args);
        let mut request = Request::new(self.method.clone(), url);
        *request.headers_mut() = self.headers.clone();
        for name in &self.key_headers {
            if let Ok(key) = HeaderValue::from_str(cx.idempotency_key) {
                request.headers_mut().insert(name.clone(), key);
            }
        }
        if let Ok(parent) = HeaderValue::from_str(&traceparent(cx)) {
            request.headers_mut().insert("traceparent", parent);
        }
        *request.body_mut() = body.map(Into::into);
        Ok((request, shown))
    }

    /// The request as operators see it.
    fn shown(&self, url: &Url, args: &Map<String, Value>) -> Private {
        let mut out = format!("{} {}", self.method, redact::url(url, &self.reader.secrets));
        if self.carrier != Carrier::Query && !args.is_empty() {
            out.push(' ');
            out.push_str(&redact::body(args, &self.reader.secrets, SUMMARY));
        }
        Private::new(contract::text::cut(&out, 2 * SUMMARY))
    }
}

#[async_trait]
impl Endpoint for Http {
    async fn call(&self, call: &Permitted, cx: &Cx<'_>) -> Result<Output, ToolFailure> {
        let mut value = self.send(call.args(), cx).await?;
        // A service that repeats what it was sent tells nobody a secret.
        Known::shared().mask_value(&mut value);
        Ok(Output::Done(value))
    }

    fn host(&self) -> Option<&str> {
        Some(&self.host)
    }
}

/// The turn is the trace; the span is made of the call's own key, so that each attempt has one.
pub(crate) fn traceparent(cx: &Cx<'_>) -> String {
    let mut hasher = DefaultHasher::new();
    (cx.idempotency_key, cx.attempt).hash(&mut hasher);
    format!("00-{:032x}-{:016x}-01", cx.turn.0.0, hasher.finish().max(1))
}

/// The credential of a name, when it is there and may be sent to the tool's host.
fn credential(
    spec: &Spec,
    name: &str,
    target: &Target,
    known: Option<&Credentials>,
) -> Result<Arc<Credential>, Finding> {
    let Some(known) = known else { return Ok(Arc::new(Credential::unknown(name))) };
    let shown = contract::text::one_line(name, 64);
    let place = "endpoint.credential";
    let Some(credential) = known.get(name) else {
        let error = spec.error_at(place, format!("no credential is called '{shown}' in 'credential_store'"));
        return Err(match contract::text::nearest(name, known.names()) {
            Some(near) => error.hint(format!("did you mean '{near}'?")),
            None => error,
        });
    };
    let url = target.example();
    if url.as_ref().is_some_and(|url| credential.is_for(url)) {
        return Ok(credential);
    }
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default().to_owned();
    let error = spec.error_at(place, format!("the credential '{shown}' is not for '{host}'"));
    Err(error.hint(format!("its 'hosts' are {}", credential.hosts())))
}

/// What the address and `rename` name has to be a parameter of the tool.
fn check_names(spec: &Spec, target: &Target, rename: &Rename) -> Result<(), Finding> {
    let Some(known) = spec.parameters.get("properties").and_then(Value::as_object) else { return Ok(()) };
    let places = target.params().map(|name| ("endpoint.url", name));
    for (place, name) in places.chain(rename.sources().map(|name| ("endpoint.rename", name))) {
        if known.contains_key(name) {
            continue;
        }
        let error = spec.error_at(place, format!("'{name}' is not among the parameters"));
        return Err(match contract::text::nearest(name, known.keys().map(String::as_str)) {
            Some(near) => error.hint(format!("did you mean '{near}'?")),
            None => error,
        });
    }
    Ok(())
}

fn headers(spec: &Spec, http: &HttpSpec) -> Result<(HeaderMap, Vec<HeaderName>), Finding> {
    let (mut headers, mut keys) = (HeaderMap::new(), Vec::new());
    for (name, value) in &http.headers {
        let at = format!("endpoint.headers.{name}");
        let parsed: HeaderName =
            name.parse().map_err(|_| spec.error_at(&at, format!("'{name}' cannot be a header's name")))?;
        if ["host", "content-length", "transfer-encoding", "connection", "traceparent"].contains(&parsed.as_str()) {
            return Err(spec.error_at(&at, format!("the header '{name}' is the gateway's to set")));
        }
        if value == KEY_MARK {
            keys.push(parsed);
            continue;
        }
        sent_as_written(spec, &at, value)?;
        let mut value: HeaderValue = value
            .trim()
            .parse()
            .map_err(|_| spec.error_at(&at, format!("the value of the header '{name}' is not fit to be sent")))?;
        value.set_sensitive(redact::is_secret_name(name));
        headers.append(parsed, value);
    }
    Ok((headers, keys))
}

/// A header is sent as it is written, so what asks to be filled in or looked up is refused rather than sent.
fn sent_as_written(spec: &Spec, at: &str, value: &str) -> Result<(), Finding> {
    let is_reference = |word: &str| ["env:", "file:", "exec:", "vault:"].iter().any(|scheme| word.starts_with(scheme));
    if value.split_whitespace().any(is_reference) {
        let error = spec.error_at(at, "a header is sent as it is written, and nothing is looked up for it");
        return Err(error.hint("secrets are for 'credential'"));
    }
    let parameters = spec.parameters.get("properties").and_then(Value::as_object);
    match parameters.into_iter().flat_map(Map::keys).find(|name| value.contains(&format!("{{{name}}}"))) {
        Some(name) => Err(spec.error_at(at, format!("'{{{name}}}' is filled in only in 'url', not in a header"))),
        None => Ok(()),
    }
}

fn carrier(spec: &Spec, method: &Method, headers: &HeaderMap) -> Result<Carrier, Finding> {
    if matches!(*method, Method::GET | Method::HEAD | Method::DELETE) {
        return Ok(Carrier::Query);
    }
    let kind =
        headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("application/json").to_ascii_lowercase();
    match kind.split(';').next().unwrap_or_default().trim() {
        "application/x-www-form-urlencoded" => Ok(Carrier::Form),
        json if json == "application/json" || json.ends_with("+json") => Ok(Carrier::Json),
        other => {
            let message = format!("bodies of the type '{other}' cannot be made");
            Err(spec
                .error_at("endpoint.headers", message)
                .hint("use application/json or application/x-www-form-urlencoded"))
        }
    }
}

/// The operator's own secrets in address and headers, to be masked wherever a service echoes them.
fn secrets(target: &Target, headers: &HeaderMap) -> Vec<String> {
    let query =
        target.fixed_query().into_iter().filter(|(name, _)| redact::is_secret_name(name)).map(|(_, value)| value);
    let header = headers.iter().filter(|(name, _)| redact::is_secret_name(name.as_str()));
    let header = header.filter_map(|(_, value)| value.to_str().ok()).flat_map(|value| {
        // "Bearer abc": the service may echo either.
        let last = value.rsplit(' ').next().unwrap_or(value).to_owned();
        [value.to_owned(), last]
    });
    query.chain(header).filter(|secret| secret.len() >= 4).collect()
}

/// Whether the schema leaves no room for plain text.
pub(crate) fn is_structured(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind != "string",
        Some(Value::Array(kinds)) => !kinds.iter().any(|kind| kind == "string"),
        _ => schema.get("properties").is_some() || schema.get("items").is_some(),
    }
}

#[cfg(test)]
mod tests;
