//! Work that a request began: which job it is, how it stands, that nobody wants it any more. Each is a request of its own,
//! over the same client and with the same credential.
//!
//! The addresses are made when the job begins, of its id and the call's arguments, and kept as the job's handle. Asked is only
//! the host that the spec names: a handle that names another one is not followed.

use contract::{Finding, Private};
use reqwest::{Method, Request, Url, header::HeaderMap};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tools::{
    Cx, Fault, Output, Polled, Spec, ToolFailure,
    spec::{self, Condition, HttpSpec},
};

use super::{
    Http,
    answer::{Read, retry_after},
    headers::Headers,
    payload::Rename,
    target::{Target, plain},
    traceparent,
};
use crate::{credentials::Credential, secret::Known};

/// Most bytes of a job's id.
const ID_MAX: usize = 1_024;
/// Most characters that people see of how far it is.
const SAID_MAX: usize = 200;

/// `execution.async`, compiled.
pub struct Jobs {
    id: String,
    poll: Asked,
    cancel: Option<Asked>,
    done: Condition,
    failed: Option<Condition>,
    result: String,
    progress: Option<String>,
}

struct Asked {
    method: Method,
    target: Target,
    headers: HeaderMap,
}

/// What a job is asked by; kept in the turn's journal.
#[derive(Serialize, Deserialize)]
struct Handle {
    poll: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cancel: Option<String>,
}

impl Jobs {
    pub fn build(spec: &Spec, jobs: &spec::Jobs, credential: Option<&Credential>) -> Result<Self, Finding> {
        Ok(Self {
            id: jobs.id.clone(),
            poll: Asked::build(spec, "poll", &jobs.poll, credential)?,
            cancel: jobs.cancel.as_ref().map(|of| Asked::build(spec, "cancel", of, credential)).transpose()?,
            done: jobs.done.clone(),
            failed: jobs.failed.clone(),
            result: jobs.result.clone(),
            progress: jobs.progress.clone(),
        })
    }

    /// How a job stands by what is answered of it; nothing while it is at work.
    fn ended(&self, tool: &str, answer: &Value) -> Option<Result<Value, ToolFailure>> {
        if self.failed.as_ref().is_some_and(|failed| failed.is_met(answer)) {
            let say = format!("'{tool}' did its work, and says that it came to nothing");
            let cause = contract::text::one_line(&answer.to_string(), 600);
            let cause = Private::new(super::redact::text(&cause, &[], 600));
            return Some(Err(ToolFailure::new(Fault::Reported, say).cause(cause)));
        }
        self.done.is_met(answer).then(|| match answer.pointer(&self.result) {
            Some(result) => Ok(result.clone()),
            None => {
                let say = format!("'{tool}' answered something that is not readable");
                let cause = Private::new(format!("the job is done, and there is no '{}' in the answer", self.result));
                Err(ToolFailure::new(Fault::Unusable, say).cause(cause))
            }
        })
    }
}

impl Asked {
    fn build(spec: &Spec, key: &str, of: &spec::Asked, credential: Option<&Credential>) -> Result<Self, Finding> {
        let at = |field: &str| format!("execution.async.{key}.{field}");
        let wrong = |field: &str, why: String| spec.error_at(&at(field), why);
        let method = of.method.parse().map_err(|_| wrong("method", format!("'{}' is no method", of.method)))?;
        let target = Target::parse(&of.url).map_err(|why| wrong("url", why))?;
        let known = spec.parameters.get("properties").and_then(Value::as_object);
        let is_known = |name: &str| name == "id" || known.is_some_and(|known| known.contains_key(name));
        if let Some(name) = target.params().find(|name| !is_known(name)) {
            return Err(wrong("url", format!("'{name}' is neither the job's 'id' nor among the parameters")));
        }
        let is_for = |credential: &Credential| target.example().is_some_and(|url| credential.is_for(&url));
        if credential.is_some_and(|credential| !is_for(credential)) {
            return Err(wrong("url", format!("the tool's credential is not for '{}'", target.host())));
        }
        let http = HttpSpec {
            method: of.method.clone(),
            url: of.url.clone(),
            headers: of.headers.clone(),
            rename: Vec::new(),
            places: Vec::new(),
            file_limit: 0,
            credential: None,
        };
        let none = Rename::new(&[]).map_err(|why| wrong("headers", why))?;
        let headers = Headers::new(spec, &http, &none)?.fixed;
        Ok(Self { method, target, headers })
    }

    /// The address of a job.
    fn of(&self, id: &str, args: &Value) -> Option<String> {
        let mut args = args.as_object().cloned().unwrap_or_else(Map::new);
        args.insert("id".to_owned(), Value::String(id.to_owned()));
        self.target.fill(&mut args).ok().map(String::from)
    }

    fn request(&self, url: &str, cx: &Cx<'_>) -> Option<Request> {
        let url: Url = url.parse().ok()?;
        let ours = self.target.example()?;
        let place =
            |url: &Url| (url.scheme().to_owned(), url.host_str().map(str::to_owned), url.port_or_known_default());
        if place(&url) != place(&ours) {
            return None;
        }
        let mut request = Request::new(self.method.clone(), url);
        *request.headers_mut() = self.headers.clone();
        if let Ok(parent) = traceparent(cx).parse() {
            request.headers_mut().insert("traceparent", parent);
        }
        Some(request)
    }
}

impl Http {
    /// What the answer to a call says of the job: it may have ended at once.
    pub(super) fn begun(&self, jobs: &Jobs, args: &Value, answer: Value) -> Result<Output, ToolFailure> {
        if let Some(ended) = jobs.ended(&self.reader.tool, &answer) {
            return ended.map(masked).map(Output::Done);
        }
        let unreadable = |why: Private| {
            let say = format!("'{}' began its work without saying under which name", self.reader.tool);
            ToolFailure::new(Fault::Unusable, say).cause(why)
        };
        let id = plain(answer.pointer(&jobs.id)).filter(|id| !id.is_empty() && id.len() <= ID_MAX);
        let id = id.ok_or_else(|| unreadable(Private::new(format!("there is no id of a job at '{}'", jobs.id))))?;
        let no_address = || unreadable(Private::new("the job's id cannot stand in an address"));
        let cancel = jobs.cancel.as_ref().map(|asked| asked.of(&id, args).ok_or_else(no_address)).transpose()?;
        let handle = Handle { poll: jobs.poll.of(&id, args).ok_or_else(no_address)?, cancel };
        Ok(Output::Job(serde_json::to_string(&handle).unwrap_or_default()))
    }

    pub(super) async fn ask_about(&self, job: &str, cx: &Cx<'_>) -> Result<Polled, ToolFailure> {
        let (jobs, handle) = self.known(job)?;
        let request = jobs.poll.request(&handle.poll, cx).ok_or_else(|| self.gone())?;
        let response = self.answered(request, cx).await?;
        let after = retry_after(response.headers());
        let answer = match self.reader.read(response).await? {
            Read::Value(answer) => answer,
            Read::File(_) => return Err(self.gone()),
        };
        Ok(match jobs.ended(&self.reader.tool, &answer) {
            Some(Ok(result)) => Polled::Done(masked(result)),
            Some(Err(failure)) => Polled::Failed(failure),
            None => {
                let said = jobs.progress.as_ref().and_then(|at| plain(answer.pointer(at)));
                let said = said.map(|said| contract::text::one_line(&Known::shared().mask(&said), SAID_MAX));
                Polled::Waits { said, after }
            }
        })
    }

    pub(super) async fn call_off(&self, job: &str, cx: &Cx<'_>) -> Result<(), ToolFailure> {
        let (jobs, handle) = self.known(job)?;
        let (Some(asked), Some(url)) = (&jobs.cancel, handle.cancel) else { return Ok(()) };
        let request = asked.request(&url, cx).ok_or_else(|| self.gone())?;
        let response = self.answered(request, cx).await?;
        self.reader.read(response).await.map(drop)
    }

    fn known(&self, job: &str) -> Result<(&Jobs, Handle), ToolFailure> {
        let handle = serde_json::from_str(job).map_err(|_| self.gone())?;
        Ok((self.jobs.as_ref().ok_or_else(|| self.gone())?, handle))
    }

    /// The tool is another one than when the job began.
    fn gone(&self) -> ToolFailure {
        ToolFailure::new(Fault::Unusable, format!("'{}' has no such jobs any more", self.reader.tool))
    }
}

fn masked(mut value: Value) -> Value {
    Known::shared().mask_value(&mut value);
    value
}
