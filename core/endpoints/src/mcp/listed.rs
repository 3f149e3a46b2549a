//! A server's tools: all pages of its list, each tool read with whatever it says.

use std::collections::HashSet;

use rmcp::{
    RoleClient,
    model::{ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerResult},
    service::{Peer, ServiceError},
};
use serde_json::Value;

/// Most pages of a list.
const PAGES: usize = 64;
/// Most tools of a server.
const TOOLS: usize = 2_000;

/// A tool as a server describes it. What it hints is its own word.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listed {
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    pub parameters: Value,
    pub returns: Option<Value>,
    pub reads_only: Option<bool>,
    pub destroys: Option<bool>,
    pub idempotent: Option<bool>,
    pub open_world: Option<bool>,
}

impl Listed {
    /// Reads a tool; nothing when it has no name.
    pub fn read(tool: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        let hints = &tool["annotations"];
        Some(Self {
            name: tool["name"].as_str().filter(|name| !name.is_empty())?.to_owned(),
            title: text(&tool["title"]).or_else(|| text(&hints["title"])),
            description: text(&tool["description"]).unwrap_or_default(),
            parameters: tool["inputSchema"].clone(),
            returns: tool.get("outputSchema").filter(|schema| !schema.is_null()).cloned(),
            reads_only: hints["readOnlyHint"].as_bool(),
            destroys: hints["destructiveHint"].as_bool(),
            idempotent: hints["idempotentHint"].as_bool(),
            open_world: hints["openWorldHint"].as_bool(),
        })
    }
}

/// All that a server offers, as of one reading.
#[derive(Debug, Default, PartialEq)]
pub struct Catalogue {
    pub tools: Vec<Listed>,
    names: HashSet<String>,
}

impl Catalogue {
    pub fn new(tools: Vec<Listed>) -> Self {
        let mut names = HashSet::new();
        let tools: Vec<_> = tools.into_iter().filter(|tool| names.insert(tool.name.clone())).collect();
        Self { tools, names }
    }

    pub fn offers(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

/// Reads all pages. They are asked for one by one, since a cursor may lead nowhere.
pub async fn list(peer: &Peer<RoleClient>) -> Result<Catalogue, ServiceError> {
    let (mut tools, mut cursor, mut seen) = (Vec::new(), None, HashSet::new());
    for _ in 0..PAGES {
        let params = cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
        let request = ListToolsRequest { params, ..ListToolsRequest::default() };
        let (page, next) = page(peer.send_request(ClientRequest::ListToolsRequest(request)).await?)?;
        tools.extend(page);
        // An empty cursor is one like any other; one that comes again leads in a circle.
        match next.filter(|next| tools.len() < TOOLS && seen.insert(next.clone())) {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    tools.truncate(TOOLS);
    Ok(Catalogue::new(tools))
}

/// A page, also when a part of it is not as the protocol says.
fn page(result: ServerResult) -> Result<(Vec<Listed>, Option<String>), ServiceError> {
    let raw = match result {
        ServerResult::ListToolsResult(result) => {
            serde_json::to_value(&result).map_err(|_| ServiceError::UnexpectedResponse)?
        }
        ServerResult::CustomResult(custom) if custom.0["tools"].is_array() => custom.0,
        ServerResult::EmptyResult(_) => Value::Null,
        _ => return Err(ServiceError::UnexpectedResponse),
    };
    let tools = raw["tools"].as_array().into_iter().flatten().filter_map(Listed::read).collect();
    Ok((tools, raw["nextCursor"].as_str().map(str::to_owned)))
}
