//! What a server answered: a value, or a failure that says truly whose it is (pure).

use base64::{Engine, engine::general_purpose::STANDARD};
use contract::{Effect, Private, Problem, text};
use rmcp::{
    model::{CallToolResult, ErrorCode, ErrorData, ServerResult},
    service::ServiceError,
    transport::streamable_http_client::{HttpStatusError, StreamableHttpError},
};
use serde_json::{Map, Value, json};
use tools::{Fault, ToolFailure, args};

use super::{connect::on_the_way, supervise::NoConnection};
use crate::{http::redact, made::Made};

/// Most characters of a server's own words that are passed on.
const SAID: usize = 600;
/// Most characters of what went wrong, for operators.
const CAUSE: usize = 600;

/// How to understand the answers of one tool.
#[derive(Debug)]
pub struct Reader {
    pub tool: String,
    /// As the server calls it.
    pub theirs: String,
    /// The tool declares an answer that is not just text.
    pub wants_json: bool,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Trouble {
    /// The connection was closed before the request could be sent.
    NotSent,
    Cancelled,
    /// The server answered with an error of the protocol.
    Error(ErrorData),
    /// Nothing left us.
    Unreachable(Private),
    /// The server, or what stands before it, refused the request by its status.
    Status(u16, Private),
    /// The connection broke while the call ran.
    Broken(Private),
    /// An answer that is none.
    Unreadable,
}

impl Trouble {
    pub fn of(error: ServiceError) -> Self {
        match error {
            ServiceError::McpError(error) => Self::Error(error),
            ServiceError::TransportClosed => Self::Broken(Private::new("the connection was closed")),
            ServiceError::Cancelled { .. } => Self::Cancelled,
            ServiceError::TransportSend(error) => Self::of_transport(&*error.error),
            ServiceError::UnexpectedResponse => Self::Unreadable,
            other => Self::Broken(Private::chain(&other)),
        }
    }

    fn of_transport(error: &(dyn std::error::Error + Send + Sync + 'static)) -> Self {
        let cause = on_the_way(error);
        match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            Some(StreamableHttpError::Client(error)) if error.is_connect() || error.is_builder() => {
                Self::Unreachable(cause)
            }
            Some(StreamableHttpError::Client(error)) => match error.status() {
                Some(status) => Self::Status(status.as_u16(), cause),
                None => Self::Broken(cause),
            },
            Some(StreamableHttpError::HttpStatus(HttpStatusError { status, .. })) => Self::Status(*status, cause),
            Some(StreamableHttpError::AuthRequired(_)) => Self::Status(401, cause),
            Some(StreamableHttpError::InsufficientScope(_)) => Self::Status(403, cause),
            Some(StreamableHttpError::SessionExpired) => Self::Status(404, cause),
            Some(StreamableHttpError::UnexpectedServerResponse(said)) => match status_in(said) {
                Some(status) => Self::Status(status, cause),
                None => Self::Broken(cause),
            },
            Some(_) | None => Self::Broken(cause),
        }
    }

    /// Whether another connection may do better.
    pub fn connection_is_over(&self) -> bool {
        match self {
            Self::NotSent | Self::Unreachable(_) => true,
            Self::Status(status, _) => matches!(status, 400 | 401 | 403 | 404),
            Self::Cancelled | Self::Error(_) | Self::Broken(_) | Self::Unreadable => false,
        }
    }

    /// Whether the tool surely did not run: then it does no harm to send the call again.
    pub fn surely_not_carried_out(&self) -> bool {
        self.connection_is_over()
    }
}

/// The status in words such as "HTTP 404 Not Found: …", which is how a refusal without a kind of its own is told.
fn status_in(said: &str) -> Option<u16> {
    let digits = said.strip_prefix("HTTP ")?.get(..3)?;
    digits.parse().ok().filter(|status| (400..600).contains(status))
}

impl Reader {
    pub fn read(&self, result: ServerResult, secrets: &[String]) -> Result<Value, ToolFailure> {
        match result {
            ServerResult::CallToolResult(result) => self.complete(raw(&result), secrets),
            ServerResult::EmptyResult(_) | ServerResult::TaskAckResult(_) => Ok(Value::Null),
            // A part of it is not as the protocol says; what can be understood is passed on.
            ServerResult::CustomResult(custom) => self.complete(custom.0, secrets),
            ServerResult::InputRequiredResult(_) => {
                let say = format!("'{}' asks for something that cannot be given to it here", self.tool);
                Err(ToolFailure::new(Fault::Unusable, say))
            }
            _ => Err(self.failed(Trouble::Unreadable, secrets)),
        }
    }

    fn complete(&self, result: Value, secrets: &[String]) -> Result<Value, ToolFailure> {
        let blocks = result["content"].as_array().cloned().unwrap_or_default();
        if result["isError"] == json!(true) {
            return Err(self.reported(&texts(&blocks), secrets));
        }
        if let Some(structured) = result.get("structuredContent") {
            let files: Vec<_> = blocks.iter().filter_map(described).collect();
            return Ok(with_files(structured.clone(), files));
        }
        Ok(self.of_blocks(&blocks))
    }

    /// A result that stands only in content: its text, read as JSON where the tool declares that.
    fn of_blocks(&self, blocks: &[Value]) -> Value {
        let text = texts(blocks);
        let files: Vec<_> = blocks.iter().filter_map(described).collect();
        let value = match text.is_empty() {
            true => Value::Null,
            false if self.wants_json => args::parse_keeping_digits(&text).unwrap_or(Value::String(text)),
            false => Value::String(text),
        };
        with_files(value, files)
    }

    /// The tool itself says that it failed; some say that its arguments are wrong.
    fn reported(&self, said: &str, secrets: &[String]) -> ToolFailure {
        let said = redact::text(said, secrets, SAID);
        let is_about_arguments = ["MCP error -32602", "Input validation error", "Invalid arguments"];
        if is_about_arguments.iter().any(|start| said.starts_with(start)) {
            return self.not_accepted(&said);
        }
        if said.is_empty() {
            return ToolFailure::new(Fault::Reported, format!("'{}' failed and does not say why", self.tool));
        }
        ToolFailure::new(Fault::Reported, format!("'{}' failed: {said}", self.tool)).cause(Private::new(said))
    }

    fn not_accepted(&self, said: &str) -> ToolFailure {
        let problem = Problem {
            path: String::new(),
            expected: "arguments as the server wants them".into(),
            got: None,
            hint: Some(text::cut(said, SAID)),
        };
        ToolFailure::input_refused(format!("'{}' does not accept these arguments", self.tool), vec![problem])
    }

    /// A call without an answer.
    pub fn failed(&self, trouble: Trouble, secrets: &[String]) -> ToolFailure {
        let tool = &self.tool;
        let masked = |cause: Private| Private::new(redact::text(cause.for_operator(), secrets, CAUSE));
        match trouble {
            Trouble::Error(error) => self.protocol_error(&error, secrets),
            Trouble::Cancelled => ToolFailure::new(Fault::Cancelled, "the call was stopped"),
            Trouble::NotSent => {
                ToolFailure::new(Fault::Unreachable, format!("'{tool}' could not be reached")).effect(Effect::None)
            }
            Trouble::Unreachable(cause) => {
                ToolFailure::new(Fault::Unreachable, format!("'{tool}' could not be reached"))
                    .effect(Effect::None)
                    .cause(masked(cause))
            }
            Trouble::Status(status, cause) => self.status(status).status(status).cause(masked(cause)),
            Trouble::Broken(cause) => {
                let say = format!("the connection to '{tool}' broke before its answer was complete");
                ToolFailure::new(Fault::Broken, say).cause(masked(cause))
            }
            Trouble::Unreadable => {
                ToolFailure::new(Fault::Unusable, format!("'{tool}' answered something that is not readable"))
            }
        }
    }

    fn status(&self, status: u16) -> ToolFailure {
        let tool = &self.tool;
        let refused = |why: &str| {
            let say = format!("'{tool}' refused the request: {why} ({status})");
            ToolFailure::new(Fault::Refused, say).effect(Effect::None).hint("an operator has to look at this")
        };
        match status {
            401 => refused("it does not accept the gateway's credentials"),
            403 => refused("the gateway may not do that there"),
            429 => ToolFailure::new(Fault::RateLimited, format!("'{tool}' is asked too often")).effect(Effect::None),
            400..=499 => refused("it says no"),
            _ => ToolFailure::new(Fault::Failed, format!("'{tool}' failed on its own side ({status})")),
        }
    }

    fn protocol_error(&self, error: &ErrorData, secrets: &[String]) -> ToolFailure {
        let said = redact::text(&error.message, secrets, SAID);
        let tool = &self.tool;
        match error.code {
            ErrorCode::INVALID_PARAMS | ErrorCode::METHOD_NOT_FOUND if says_unknown(&said, &self.theirs) => self.gone(),
            ErrorCode::INVALID_PARAMS => self.not_accepted(&said),
            ErrorCode(code) => {
                let cause = Private::new(format!("{code}: {said}"));
                ToolFailure::new(Fault::Failed, format!("'{tool}' failed: {said}")).cause(cause)
            }
        }
    }

    /// The server has no such tool (any more).
    pub fn gone(&self) -> ToolFailure {
        let say = format!("'{}' was removed: its server does not offer it any more", self.tool);
        ToolFailure::new(Fault::Unavailable, say).effect(Effect::None)
    }

    pub fn no_connection(&self, why: NoConnection) -> ToolFailure {
        let tool = &self.tool;
        match why {
            NoConnection::Down(why) => ToolFailure::new(Fault::Unreachable, format!("'{tool}' could not be reached"))
                .effect(Effect::None)
                .cause(Private::new(&*why)),
            NoConnection::Late => {
                ToolFailure::new(Fault::Timeout, format!("'{tool}' did not answer in time")).effect(Effect::None)
            }
            NoConnection::Stopped => ToolFailure::new(Fault::Cancelled, "the call was stopped").effect(Effect::None),
        }
    }
}

/// Whether words about wrong parameters mean the tool's name.
fn says_unknown(said: &str, theirs: &str) -> bool {
    let said = said.to_lowercase();
    said.contains(&theirs.to_lowercase())
        && said.contains("tool")
        && ["unknown", "not found", "no such", "does not exist"].iter().any(|words| said.contains(words))
}

fn raw(result: &CallToolResult) -> Value {
    let mut raw = serde_json::to_value(result).unwrap_or_default();
    // A null is an answer; without one there is none.
    if result.structured_content == Some(Value::Null) {
        raw["structuredContent"] = Value::Null;
    }
    raw
}

/// The text of a result, block by block.
fn texts(blocks: &[Value]) -> String {
    let text = |block: &Value| match block["type"].as_str() {
        Some("text") => block["text"].as_str().map(str::to_owned),
        Some("resource") => block["resource"]["text"].as_str().map(str::to_owned),
        _ => None,
    };
    blocks.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}

/// What a block holds that is no text: its kind and size, not its bytes.
fn described(block: &Value) -> Option<Value> {
    let kind = block["type"].as_str()?;
    let mut out = Map::from_iter([("type".to_owned(), json!(kind))]);
    let mut copy = |from: &Value, key: &str| {
        if let Some(text) = from[key].as_str() {
            out.insert(key.to_owned(), json!(text::one_line(text, 500)));
        }
    };
    let bytes = match kind {
        "image" | "audio" => {
            copy(block, "mimeType");
            block["data"].as_str()
        }
        "resource" if block["resource"]["text"].is_string() => return None,
        "resource" => {
            copy(&block["resource"], "uri");
            copy(&block["resource"], "mimeType");
            block["resource"]["blob"].as_str()
        }
        "resource_link" => {
            for key in ["uri", "name", "description", "mimeType"] {
                copy(block, key);
            }
            None
        }
        "text" => return None,
        _ => None,
    };
    if let Some(data) = bytes {
        out.insert("bytes".into(), json!(data.trim_end_matches('=').len() * 3 / 4));
    }
    Some(Value::Object(out))
}

/// Most files of one answer that are sent to the chat.
const SENT_MAX: usize = 4;

/// The files of an answer that came with their bytes, each with its place among those that are described.
pub fn files(result: &ServerResult, tool: &str) -> Vec<(usize, Made)> {
    let ServerResult::CallToolResult(result) = result else { return Vec::new() };
    let raw = raw(result);
    if raw["isError"] == json!(true) {
        return Vec::new();
    }
    let blocks = raw["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let described = blocks.iter().filter(|block| described(block).is_some()).enumerate();
    described.filter_map(|(n, block)| Some((n, made(block, tool)?))).take(SENT_MAX).collect()
}

fn made(block: &Value, tool: &str) -> Option<Made> {
    let (data, kind, name) = match block["type"].as_str()? {
        "image" | "audio" => (&block["data"], &block["mimeType"], None),
        "resource" => (&block["resource"]["blob"], &block["resource"]["mimeType"], block["resource"]["uri"].as_str()),
        _ => return None,
    };
    let bytes = STANDARD.decode(data.as_str()?).ok().filter(|bytes| !bytes.is_empty())?;
    Some(Made::new(tool, name, kind.as_str().unwrap_or_default(), bytes))
}

/// Says of a described file what became of it.
pub fn note_sent(value: &mut Value, n: usize, said: String) {
    if let Some(Value::Object(file)) = value.get_mut("files").and_then(|files| files.get_mut(n)) {
        file.insert("shown".into(), json!(said));
    }
}

/// A value with the files that came beside it.
fn with_files(value: Value, files: Vec<Value>) -> Value {
    match (value, files.is_empty()) {
        (value, true) => value,
        (Value::Null, false) => json!({ "files": files }),
        (Value::Object(mut fields), false) if !fields.contains_key("files") => {
            fields.insert("files".into(), Value::Array(files));
            Value::Object(fields)
        }
        (value @ Value::Object(_), false) => value,
        (value, false) => json!({ "text": value, "files": files }),
    }
}
