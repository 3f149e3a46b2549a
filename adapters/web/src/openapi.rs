//! The OpenAPI document, written by hand; a test holds it against the routes.

use axum::{Json, response::IntoResponse};
use serde_json::{Value, json};

mod schedules;

pub async fn document() -> impl IntoResponse {
    Json(openapi())
}

fn openapi() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Toolgate",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Messages in, replies out; tools; call trees. A client's token reaches messages, its own traces and its own view of the tools; everything else needs the admin token. Without any token configured only this machine is answered, as an operator on platform 'api', tenant 'default'.",
        },
        "security": [{ "bearer": [] }],
        "paths": all_paths(),
        "components": {
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
            "schemas": all_schemas(),
        },
    })
}

fn all_paths() -> Value {
    merged(paths(), [schedules::paths(), crate::tools::described::paths()])
}

fn paths() -> Value {
    json!({
        "/healthz": { "get": open("The process lives") },
        "/readyz": { "get": open("Whether messages can be taken: 200 or 503, with a list of conditions") },
        "/v1/openapi.json": { "get": open("This document") },
        "/v1/messages": { "post": {
            "summary": "Say something; answered with the reply, or with 202 and the reference when the wait ends first. With 'Accept: text/event-stream' as events node, draft, end",
            "requestBody": json_body("Ask"),
            "responses": answers(&[("200", "The reply", "Answer"), ("202", "It goes on; fetch it by its reference", "Later")]),
        } },
        "/v1/messages/{reference}": { "get": {
            "summary": "The reply of a message of the last 24 hours; 202 while it is in the making",
            "parameters": [path("reference")],
            "responses": answers(&[("200", "The reply", "Answer"), ("202", "It goes on", "Later")]),
        } },
        "/v1/chat/completions": { "post": {
            "summary": "The same in the shape of OpenAI's API, streamed where the request says so; errors too have that API's shape",
            "parameters": [json!({ "name": "x-toolgate-session", "in": "header", "schema": { "type": "string" },
                "description": "the conversation whose memory is used; earlier messages of the request count for nothing then" })],
            "requestBody": json_body("ChatRequest"),
            "responses": answers(&[("200", "The answer", "ChatCompletion")]),
        } },
        "/v1/models": { "get": {
            "summary": "The one model: the gateway, as the token sees it",
            "responses": answers(&[("200", "The models", "Models")]),
        } },
        "/v1/traces": { "get": {
            "summary": "Ended turns, newest first",
            "parameters": [query("failed"), query("tool"), query("session"), query("schedule"), query("since"), query("limit")],
            "responses": answers(&[("200", "The turns", "Turns")]),
        } },
        "/v1/traces/{reference}": { "get": {
            "summary": "A turn with its call tree",
            "parameters": [path("reference")],
            "responses": answers(&[("200", "The turn", "Trace")]),
        } },
        "/v1/traces/{reference}/events": { "get": {
            "summary": "The turn as server-sent events node, draft, end: first what was, then what is",
            "parameters": [path("reference")],
            "responses": { "200": { "description": "Events", "content": { "text/event-stream": {} } }, "default": problem() },
        } },
        "/v1/stats": { "get": {
            "summary": "How each tool (or platform, tenant, code: 'by') fared, what stands out ('unusual'), and what language models took since the process began, by tenant and model; with 'schedule' how its turns and the tools in them fared (operators)",
            "parameters": [query("since"), query("schedule"), query("by"), query("unusual")],
            "responses": answers(&[("200", "Counts and durations", "Stats")]),
        } },
        "/metrics": { "get": {
            "summary": "What is counted since the process began, for Prometheus (operators)",
            "responses": { "200": { "description": "The figures", "content": { "text/plain": {} } }, "default": problem() },
        } },
        "/v1/audit": { "get": {
            "summary": "One event for each call, newest first (operators)",
            "parameters": [query("turn"), query("tool"), query("platform"), query("tenant"), query("failed"), query("since"), query("limit")],
            "responses": answers(&[("200", "The events", "Events")]),
        } },
        "/v1/policies": { "get": {
            "summary": "The rules in force, as written (operators)",
            "parameters": [query("platform")],
            "responses": answers(&[("200", "The rules", "Rules")]),
        } },
        "/v1/policies/explain": { "get": {
            "summary": "What every layer says of a call (operators)",
            "parameters": with(needed("tool"), ["platform", "tenant", "space", "conversation", "sender", "roles"].map(query).into()),
            "responses": answers(&[("200", "The layers in order; all must allow it", "Explained")]),
        } },
        "/v1/approvals": { "get": {
            "summary": "Calls that wait for people, the next to expire first; for a client those that its users have to confirm",
            "responses": answers(&[("200", "The approvals", "Approvals")]),
        } },
        "/v1/approvals/{id}": {
            "get": {
                "summary": "An approval as it stands, with all arguments; for a day after it was decided",
                "parameters": [path("id")],
                "responses": answers(&[("200", "The approval", "Approval")]),
            },
            "post": {
                "summary": "Let the call run or not, as an operator, or as a client whose user has to confirm it; 'said' tells what came of it",
                "parameters": [path("id")],
                "requestBody": json_body("Decision"),
                "responses": answers(&[("200", "The approval as it stands now", "Approval")]),
            },
        },
        "/v1/pairings": { "get": {
            "summary": "Who was let in where policy says 'pairing', and who asks (operators)",
            "responses": answers(&[("200", "People, and codes that wait", "Pairings")]),
        } },
        "/v1/pairings/{code}/approve": { "post": {
            "summary": "Let in the person who was shown the code (operators)",
            "parameters": [path("code")],
            "responses": answers(&[("200", "The person", "Paired")]),
        } },
        "/v1/sessions": { "get": {
            "summary": "Sessions, the last used first (operators)",
            "parameters": [query("platform"), query("place"), query("limit")],
            "responses": answers(&[("200", "The sessions", "Sessions")]),
        } },
        "/v1/sessions/{key}": {
            "get": {
                "summary": "A session by its id, or the current one by the key of its place, with what it remembers (operators)",
                "parameters": [path("key")],
                "responses": answers(&[("200", "The session", "Session")]),
            },
            "delete": {
                "summary": "Forget a session; the next message there begins anew (operators)",
                "parameters": [path("key")],
                "responses": { "204": { "description": "Forgotten" }, "default": problem() },
            },
        },
        "/v1/sessions/{key}/tools": {
            "put": {
                "summary": "Let a session use these tools and toolsets alone (operators)",
                "parameters": [path("key")],
                "requestBody": json_body("Mount"),
                "responses": answers(&[("200", "The session", "Session")]),
            },
            "delete": {
                "summary": "Let a session use all that policy shows again (operators)",
                "parameters": [path("key")],
                "responses": answers(&[("200", "The session", "Session")]),
            },
        },
        "/v1/forget": { "post": {
            "summary": "Erase what is stored of a person (operators)",
            "requestBody": json_body("Person"),
            "responses": answers(&[("200", "What was erased", "Erased")]),
        } },
        "/v1/pairings/{platform}/{account}/{sender}": { "delete": {
            "summary": "Let a person in no more (operators)",
            "parameters": [path("platform"), path("account"), path("sender")],
            "responses": { "204": { "description": "Removed" }, "default": problem() },
        } },
    })
}

fn open(summary: &str) -> Value {
    json!({ "summary": summary, "security": [], "responses": { "200": { "description": "Yes" } } })
}

pub fn answers(known: &[(&str, &str, &str)]) -> Value {
    let mut out = json!({ "default": problem() });
    for (status, description, schema) in known {
        out[*status] = json!({ "description": description, "content": content(schema) });
    }
    out
}

fn content(schema: &str) -> Value {
    json!({ "application/json": { "schema": { "$ref": format!("#/components/schemas/{schema}") } } })
}

pub fn json_body(schema: &str) -> Value {
    json!({ "required": true, "content": content(schema) })
}

fn problem() -> Value {
    let schema = json!({ "$ref": "#/components/schemas/Problem" });
    json!({ "description": "What went wrong", "content": { "application/problem+json": { "schema": schema } } })
}

pub fn path(name: &str) -> Value {
    json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } })
}

pub fn query(name: &str) -> Value {
    json!({ "name": name, "in": "query", "schema": { "type": "string" } })
}

fn needed(name: &str) -> Value {
    json!({ "name": name, "in": "query", "required": true, "schema": { "type": "string" } })
}

pub fn callers() -> Value {
    ["platform", "tenant", "account", "space", "conversation", "thread", "sender", "roles", "session"].map(query).into()
}

pub fn with(first: Value, rest: Value) -> Value {
    let Value::Array(mut all) = rest else { return rest };
    all.insert(0, first);
    all.into()
}

fn hearing() -> Value {
    json!({ "type": "string", "enum": ["always", "addressed", "paired", "never"] })
}

fn all_schemas() -> Value {
    merged(
        schemas(),
        [
            schemas_of_sessions(),
            schemas_of_chat(),
            schemas_of_approvals(),
            schedules::schemas(),
            crate::tools::described::schemas(),
        ],
    )
}

fn merged<const N: usize>(mut all: Value, more: [Value; N]) -> Value {
    for more in more {
        if let (Value::Object(all), Value::Object(more)) = (&mut all, more) {
            all.extend(more);
        }
    }
    all
}

fn schemas_of_sessions() -> Value {
    let text = || json!({ "type": "string" });
    let number = || json!({ "type": "integer" });
    json!({
        "Sessions": { "type": "object", "properties": {
            "sessions": { "type": "array", "items": { "$ref": "#/components/schemas/Session" } } } },
        "Session": { "type": "object", "properties": {
            "id": text(), "key": { "type": "string", "description": "of the place; stands for its current session" },
            "platform": text(), "account": text(), "space": { "type": ["string", "null"] }, "owner": text(),
            "tenant": text(), "title": text(), "began_ms": number(), "used_ms": number(), "turns": number(),
            "summary": { "type": ["string", "null"] }, "allowed": number(),
            "tools": { "type": ["array", "null"], "items": text(), "description": "tools and toolsets that it uses alone" },
            "items": { "type": "array", "items": { "type": "object" }, "description": "of one session: what it remembers" },
        } },
        "Mount": { "type": "object", "required": ["only"], "additionalProperties": false, "properties": {
            "only": { "type": "array", "minItems": 1, "maxItems": 200, "items": text() } } },
        "Person": { "type": "object", "required": ["platform", "account", "sender"], "additionalProperties": false,
            "properties": { "platform": text(), "account": text(), "sender": text() } },
        "Erased": { "type": "object", "properties": {
            "sessions": number(), "items": number(), "facts": number(), "records": number(), "trees": number(),
            "approvals": number(),
            "open": { "type": "integer", "description": "turns under way, which were left alone" },
            "pairing": { "type": "boolean", "description": "whether they had been let in" } } },
    })
}

fn schemas_of_approvals() -> Value {
    let text = || json!({ "type": "string" });
    let number = || json!({ "type": "integer" });
    json!({
        "Approvals": { "type": "object", "properties": {
            "approvals": { "type": "array", "items": { "$ref": "#/components/schemas/Approval" } } } },
        "Approval": { "type": "object", "properties": {
            "id": text(), "turn": text(), "path": text(), "tool": text(), "args": text(), "by": text(), "need": number(),
            "rule": text(), "platform": text(), "account": text(), "tenant": text(), "conversation": text(),
            "sender": text(), "name": text(), "asked_ms": number(), "until_ms": number(), "state": text(), "why": text(),
            "said": text(), "said_by_model": text(), "extent": text(), "at_ms": number(),
            "yes": { "type": "array", "items": { "type": "object" } },
            "decided_by": { "type": "array", "items": { "type": "object" } } } },
        "Decision": { "type": "object", "required": ["answer"], "additionalProperties": false, "properties": {
            "answer": { "enum": ["allow", "deny"] }, "session": { "type": "boolean" }, "why": text() } },
    })
}

fn schemas_of_chat() -> Value {
    let text = || json!({ "type": "string" });
    let object = || json!({ "type": "object" });
    json!({
        "Ask": { "type": "object", "additionalProperties": false, "properties": {
            "text": text(), "press": { "type": "string", "description": "in place of text: what a button of a reply carries" }, "conversation": text(), "thread": text(),
            "user": { "type": "string", "description": "a person behind the client" },
            "wait": { "type": "integer", "minimum": 0, "maximum": 300, "default": 60, "description": "seconds" },
            "id": { "type": "string", "description": "the client's own id: sent twice, it is answered as one; with another text, conversation or thread, 409" },
        } },
        "Answer": { "type": "object", "properties": {
            "reference": { "type": ["string", "null"] }, "text": text(), "failed": { "type": "boolean" },
            "parts": { "type": "array", "items": { "type": "object", "required": ["kind"], "properties": {
                "kind": { "enum": ["text", "plain", "code", "notice", "file"] } } } },
            "buttons": { "type": "array", "items": { "type": "object", "properties": { "label": text(), "press": text() } } },
        } },
        "ChatRequest": { "type": "object", "required": ["messages"], "properties": {
            "messages": { "type": "array", "minItems": 1, "maxItems": 1000, "items": object() },
            "stream": { "type": "boolean" }, "stream_options": object(),
            "user": { "type": "string", "description": "a person behind the client" } } },
        "ChatCompletion": { "type": "object", "properties": {
            "id": text(), "object": text(), "created": { "type": "integer" }, "model": text(),
            "choices": { "type": "array", "items": object() }, "usage": object(), "reference": text() } },
        "Models": { "type": "object", "properties": {
            "object": text(), "data": { "type": "array", "items": object() } } },
    })
}

fn schemas() -> Value {
    let text = || json!({ "type": "string" });
    let number = || json!({ "type": "integer" });
    json!({
        "Later": { "type": "object", "properties": { "reference": text(),
            "waits": { "type": "array", "items": { "$ref": "#/components/schemas/Approval" },
                "description": "what the user has to confirm before it goes on" } } },
        "Tools": { "type": "array", "items": { "type": "object" } },
        "Arguments": { "type": "object" },
        "Invoked": { "type": "object", "properties": {
            "reference": text(), "result": true, "state": text(), "took_us": number() } },
        "Turns": { "type": "object", "properties": { "traces": { "type": "array", "items": { "type": "object" } } } },
        "Trace": { "type": "object", "properties": {
            "turn": text(), "platform": text(), "account": text(), "tenant": text(), "space": { "type": ["string", "null"] },
            "conversation": text(), "thread": { "type": ["string", "null"] }, "session": text(), "asked": text(),
            "sender": { "type": "object", "properties": { "id": text(), "name": text() } },
            "nodes": { "type": "array", "items": { "$ref": "#/components/schemas/Node" } },
        } },
        "Node": { "type": "object", "properties": {
            "call": number(), "path": { "type": ["string", "null"] }, "parent": { "type": ["integer", "null"] },
            "kind": text(), "tool": text(), "state": text(), "layer": { "type": ["string", "null"] },
            "code": { "type": ["string", "null"] }, "started_us": number(), "duration_us": { "type": ["integer", "null"] },
            "queued_us": number(), "attempts": number(), "args": text(), "result": text(),
            "marks": { "type": "array", "items": text() },
            "told": { "type": "string", "description": "what a language model was told of a call that failed or whose result was cut" },
            "usage": { "type": "object", "description": "what a step of a language model took; on the turn, of all its steps",
                "properties": { "input": number(), "cached": number(), "output": number(),
                    "cost_micros": { "type": "integer", "description": "millionths of the operator's currency; for operators only" } } },
            "detail": { "type": "string", "description": "for operators only" },
        } },
        "Stats": { "type": "object" },
        "Events": { "type": "object" },
        "Rules": { "type": "object", "properties": { "rules": { "type": "array", "items": { "type": "object", "properties": {
            "layer": text(), "rule": text(), "file": text(), "line": number() } } } } },
        "Explained": { "type": "object", "properties": {
            "tool": text(), "allowed": { "type": "boolean" }, "platform": text(), "tenant": text(),
            "layers": { "type": "array", "items": { "type": "object", "properties": {
                "layer": text(), "allowed": { "type": "boolean" }, "rule": text(), "file": text(),
                "line": { "type": "integer", "description": "0 where no file says it" } } } },
            "nearest": { "type": ["string", "null"], "description": "the tool that was perhaps meant" },
            "heard": { "type": ["object", "null"], "description": "when messages of this sender are heard; on chat platforms",
                "properties": { "groups": hearing(), "direct": hearing(), "bots": { "type": "boolean" } } },
        } },
        "Pairings": { "type": "object", "properties": {
            "people": { "type": "array", "items": { "$ref": "#/components/schemas/Paired" } },
            "waiting": { "type": "array", "items": { "type": "object", "properties": {
                "code": text(), "platform": text(), "account": text(), "sender": text(), "name": text(),
                "left_s": number() } } },
        } },
        "Paired": { "type": "object", "properties": {
            "platform": text(), "account": text(), "sender": text(), "name": text(), "since_ms": number() } },
        "Problem": { "type": "object", "required": ["type", "title", "status", "detail", "code"], "properties": {
            "type": text(), "title": text(), "status": number(), "detail": text(), "code": text(), "reference": text(),
            "error": { "type": "object", "properties": {
                "layer": { "enum": ["validation", "permission", "execution", "fatal"] }, "code": text(), "message": text(),
                "retryable": { "type": "boolean" }, "retry_after_ms": number(), "hint": text(), "usage": text(),
                "problems": { "type": "array", "items": { "type": "object" } },
            } },
        } },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::ROUTES;

    #[test]
    fn every_route_stands_in_the_document_and_nothing_else() {
        let document = openapi();
        let paths = document["paths"].as_object().unwrap();
        let written: usize = paths.values().map(|p| p.as_object().unwrap().len()).sum();
        for (method, path) in ROUTES {
            assert!(paths.get(*path).is_some_and(|p| p.get(*method).is_some()), "{method} {path}");
        }
        assert_eq!(written, ROUTES.len());
    }

    #[test]
    fn every_reference_to_a_schema_leads_somewhere() {
        let document = openapi();
        let text = document.to_string();
        for reference in text.split("\"$ref\":\"#").skip(1) {
            let pointer = reference.split('"').next().unwrap();
            assert!(document.pointer(pointer).is_some(), "{pointer}");
        }
    }
}
