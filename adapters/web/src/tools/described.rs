//! What the OpenAPI document says of tools.

use serde_json::{Value, json};

use crate::openapi::{answers, callers, json_body, path, query, with};

pub fn paths() -> Value {
    let changed = |summary: &str, body: &str| {
        json!({
            "summary": summary,
            "parameters": [path("name"), author(), seen()],
            "requestBody": { "required": false, "content": { "application/json": { "schema": { "$ref": format!("#/components/schemas/{body}") } } } },
            "responses": answers(&[("200", "What became of it", "ToolKept")]),
        })
    };
    json!({
        "/v1/tools": {
            "get": {
                "summary": "Exactly the list of tools that a model would be sent; an operator may ask as anybody, a client as itself. With 'all=true' alone every tool there is, with its state (operators)",
                "parameters": with(query("all"), callers()),
                "responses": answers(&[("200", "The tools", "Tools")]),
            },
            "post": {
                "summary": "Add tools, or further versions of them; they wait for 'publish' (operators). 422 with errors and warnings, each with its line, when a spec is wrong",
                "parameters": [author(), seen(), query("file"), query("publish")],
                "requestBody": { "required": true, "content": { "application/yaml": { "schema": { "type": "string" } } } },
                "responses": answers(&[("201", "Added", "ToolsKept"), ("200", "It was so already", "ToolsKept")]),
            },
        },
        "/v1/tools/{name}": {
            "get": {
                "summary": "A tool with all that its owner wants to know (operators)",
                "parameters": [path("name")],
                "responses": answers(&[("200", "The tool", "Tool")]),
            },
            "delete": changed("Remove a tool of the store, or switch off a file's (operators)", "ToolMessage"),
        },
        "/v1/tools/{name}/invoke": { "post": {
            "summary": "Run one call (operators); the body is its arguments",
            "parameters": with(path("name"), callers()),
            "requestBody": json_body("Arguments"),
            "responses": answers(&[("200", "The result", "Invoked")]),
        } },
        "/v1/tools/{name}/publish": { "post": changed("Offer the version that waits, or what was deprecated or switched off (operators)", "ToolPublish") },
        "/v1/tools/{name}/deprecate": { "post": changed("Say that a tool is on its way out; it can still be called (operators)", "ToolMessage") },
        "/v1/tools/{name}/rollback": { "post": changed("Offer what was offered before, or in the version that is named (operators)", "ToolRollback") },
        "/v1/tools/{name}/cache-invalidate": { "post": changed("Throw away what is remembered of a tool, everywhere (operators)", "ToolMessage") },
        "/v1/tools/{name}/history": { "get": {
            "summary": "The newest changes of a tool, each with its author and its text (operators)",
            "parameters": [path("name")],
            "responses": answers(&[("200", "The changes, the newest first", "ToolHistory")]),
        } },
    })
}

fn author() -> Value {
    json!({ "name": "author", "in": "query", "schema": { "type": "string" }, "description": "who did it; the token's name when not said" })
}

fn seen() -> Value {
    json!({ "name": "seen", "in": "query", "schema": { "type": "integer" }, "description": "the version that the author has seen: 409 when it is another one by now" })
}

pub fn schemas() -> Value {
    let text = || json!({ "type": "string" });
    let number = || json!({ "type": "integer" });
    let maybe = || json!({ "type": ["string", "null"] });
    let findings = || json!({ "type": "array", "items": { "$ref": "#/components/schemas/Finding" } });
    let message = || json!({ "type": "string", "maxLength": 500 });
    let mark =
        || json!({ "type": ["object", "null"], "properties": { "by": text(), "at_ms": number(), "why": text() } });
    json!({
        "Finding": { "type": "object", "properties": {
            "file": text(), "line": number(), "column": number(), "message": text(), "hint": text() } },
        "ToolMessage": { "type": "object", "additionalProperties": false, "properties": { "message": message() } },
        "ToolPublish": { "type": "object", "additionalProperties": false, "properties": {
            "message": message(), "description": { "type": "string", "maxLength": 500, "description": "where the spec has none" } } },
        "ToolRollback": { "type": "object", "additionalProperties": false, "properties": { "to": number() } },
        "ToolKept": { "type": "object", "properties": {
            "name": text(), "version": number(), "digest": maybe(), "said": text(), "already": { "type": "boolean" },
            "warnings": findings() } },
        "ToolsKept": { "type": "object", "properties": {
            "tools": { "type": "array", "items": { "$ref": "#/components/schemas/ToolKept" } } } },
        "Tool": { "type": "object", "properties": {
            "name": text(), "description": text(), "parameters": { "type": "object" },
            "state": { "enum": ["added", "published", "deprecated", "switched off"] }, "file": text(), "line": number(),
            "version": { "type": "string", "description": "a digest of its content" },
            "change": { "type": "integer", "description": "the number of its last change in the store" },
            "waiting": maybe(), "deprecated": mark(), "off": mark(), "toolset": text(),
            "labels": { "type": "array", "items": text() }, "repeatable": { "type": "boolean" }, "timeout_ms": number(),
            "unavailable": maybe(), "returns": { "type": ["object", "null"] } } },
        "ToolHistory": { "type": "object", "properties": {
            "name": text(), "version": number(), "owner": { "type": ["object", "null"] },
            "changes": { "type": "array", "items": { "type": "object", "properties": {
                "version": number(), "what": text(), "by": text(), "at_ms": number(), "message": text(),
                "to": { "type": ["integer", "null"] }, "digest": maybe(), "spec": maybe(), "offered": maybe() } } } } },
    })
}
