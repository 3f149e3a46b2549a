//! A tool that is a service: one request for each call, one answer read within bounds.
//!
//! Where arguments go: what `{param}` names goes into the address, percent-encoded as one part that cannot leave its
//! place, or into a header, where only what a header can hold is taken; the rest is renamed by `rename` (dots go into
//! objects, on both sides) and then goes to the query (GET, HEAD, DELETE) or into a body, unless `in` names its place. In
//! a query or form a list repeats its name, an object goes in with dots, null is left out. The `content-type` says how a
//! body is made: JSON, a form, `multipart/form-data`, or of any other type one argument as it is.
//!
//! A parameter that takes a file of the message is sent as the file: a part of its own, the whole body, or in base64.
//!
//! A header whose value is `{idempotency_key}` carries the call's key. `traceparent` always goes along, with the turn
//! as the trace.
//!
//! A credential is added last, for each attempt anew. When the service answers 401 and there is a newer secret or
//! token, the request is sent once more with that.
//!
//! Of an answer at most 4 MiB are read. JSON keeps every digit of its integers: one that no 64-bit type holds becomes
//! a string of its digits. What is not JSON is passed on as text, unless `returns` declares something else. A picture or
//! another file is sent to the chat, and named in its place.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use async_trait::async_trait;
use bytes::Bytes;
use contract::{Effect, Finding, Private, Problem};
use reqwest::{
    Client, Method, Request, Response, StatusCode, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderValue},
};
use serde_json::{Map, Value};
use tools::{Cx, Endpoint, Fault, Output, Permitted, Polled, Spec, ToolFailure, spec::HttpSpec};

mod answer;
pub(crate) mod attached;
mod headers;
mod jobs;
mod leaving;
mod multipart;
mod payload;
mod plan;
pub(crate) mod redact;
mod target;

use crate::made;
use crate::{
    credentials::{Applied, Credential, Credentials, Trouble},
    secret::Known,
};
use answer::{Read, Reader};
use attached::Attached;
use headers::Headers;
use jobs::Jobs;
use leaving::Leaving;
use multipart::Multipart;
use payload::Rename;
use plan::{Kind, Plan};
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
    headers: Headers,
    plan: Plan,
    reader: Reader,
    credential: Option<Arc<Credential>>,
    jobs: Option<Jobs>,
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
        let mut headers = Headers::new(spec, http, &rename)?;
        let plan = Plan::new(spec, http, &method, &target, &headers, rename)?;
        if plan.kind == Some(Kind::Json) {
            let json = HeaderValue::from_static("application/json");
            headers.fixed.entry(CONTENT_TYPE).or_insert(json);
        }
        let reader = Reader {
            tool: spec.name.to_string(),
            wants_json: spec.execution.r#async.is_some() || spec.returns.as_ref().is_some_and(is_structured),
            takes_files: spec.execution.r#async.is_none() && spec.returns.as_ref().is_none_or(tools::files::is_file),
            secrets: secrets(&target, &headers.fixed),
        };
        let host = target.host();
        let jobs = spec.execution.r#async.as_ref();
        let jobs = jobs.map(|jobs| Jobs::build(spec, jobs, credential.as_deref())).transpose()?;
        Ok(Self { client, method, target, host, headers, plan, reader, credential, jobs })
    }

    pub async fn send(&self, args: &Value, cx: &Cx<'_>) -> Result<Value, ToolFailure> {
        cx.notes.effect(Effect::None);
        let (request, shown) = self.request(args, cx).await?;
        cx.notes.request(shown);
        let response = self.answered(request, cx).await?;
        match self.reader.read(response).await? {
            Read::Value(value) => Ok(value),
            Read::File(file) => Ok(made::sent(file, cx).await.into()),
        }
    }

    /// The answer to a request of ours, with the credential.
    async fn answered(&self, request: Request, cx: &Cx<'_>) -> Result<Response, ToolFailure> {
        let response = match &self.credential {
            None => self.execute(request, cx).await?,
            Some(credential) => self.send_with(credential, request, cx).await?,
        };
        cx.notes.status(response.status().as_u16());
        Ok(response)
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

    async fn request(&self, args: &Value, cx: &Cx<'_>) -> Result<(Request, Private), ToolFailure> {
        let mut args = args.as_object().cloned().unwrap_or_default();
        let refused = |problems| {
            ToolFailure::input_refused(format!("'{}' cannot be called with these values", self.reader.tool), problems)
        };
        let mut headers = self.headers.of(&args, cx.idempotency_key).map_err(refused)?;
        let mut url = self.target.fill(&mut args).map_err(refused)?;
        for name in self.headers.params() {
            args.shift_remove(name);
        }
        let files = attached::fetch(&self.plan, &mut args, &self.reader.tool, cx).await?;
        let (query, mut body) = self.plan.split(args);
        payload::to_query(&mut url, &query).map_err(refused)?;
        let shown = self.shown(&url, &body, &files);
        let body = self.body(&mut body, &files, &mut headers).map_err(refused)?;
        if let Ok(parent) = HeaderValue::from_str(&traceparent(cx)) {
            headers.insert("traceparent", parent);
        }
        let mut request = Request::new(self.method.clone(), url);
        *request.headers_mut() = headers;
        *request.body_mut() = body.map(Into::into);
        Ok((request, shown))
    }

    /// The body, of what is left for it.
    fn body(
        &self,
        values: &mut Map<String, Value>,
        files: &[Attached],
        headers: &mut HeaderMap,
    ) -> Result<Option<Bytes>, Vec<Problem>> {
        let Some(kind) = &self.plan.kind else { return Ok(None) };
        Ok(Some(match kind {
            Kind::Json => {
                attached::put_all(files, values, attached::base64);
                serde_json::to_vec(values).map(Bytes::from).unwrap_or_default()
            }
            Kind::Form => {
                attached::put_all(files, values, attached::base64);
                payload::to_form(values)?.into()
            }
            Kind::Multipart => {
                let made = Multipart::of(values, files);
                if let Ok(kind) = HeaderValue::from_str(&made.content_type()) {
                    headers.insert(CONTENT_TYPE, kind);
                }
                made.body.into()
            }
            Kind::Raw(name) => match files.first() {
                Some(file) => file.bytes.clone().into(),
                None => plan::raw(values, name).into(),
            },
        }))
    }

    /// The request as operators see it.
    fn shown(&self, url: &Url, body: &Map<String, Value>, files: &[Attached]) -> Private {
        let mut out = format!("{} {}", self.method, redact::url(url, &self.reader.secrets));
        if !body.is_empty() || !files.is_empty() {
            let mut body = body.clone();
            attached::put_all(files, &mut body, attached::shown);
            out.push(' ');
            out.push_str(&redact::body(&body, &self.reader.secrets, SUMMARY));
        }
        Private::new(contract::text::cut(&out, 2 * SUMMARY))
    }
}

#[async_trait]
impl Endpoint for Http {
    async fn call(&self, call: &Permitted, cx: &Cx<'_>) -> Result<Output, ToolFailure> {
        let mut value = self.send(call.args(), cx).await?;
        if let Some(jobs) = &self.jobs {
            return self.begun(jobs, call.args(), value);
        }
        // A service that repeats what it was sent tells nobody a secret.
        Known::shared().mask_value(&mut value);
        Ok(Output::Done(value))
    }

    async fn poll(&self, job: &str, cx: &Cx<'_>) -> Result<Polled, ToolFailure> {
        self.ask_about(job, cx).await
    }

    async fn give_up(&self, job: &str, cx: &Cx<'_>) -> Result<(), ToolFailure> {
        self.call_off(job, cx).await
    }

    fn host(&self) -> Option<&str> {
        Some(&self.host)
    }

    fn for_operator(&self, answer: &str, most: usize) -> String {
        redact::text(answer, &self.reader.secrets, most)
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
