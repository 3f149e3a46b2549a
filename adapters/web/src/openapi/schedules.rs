//! What the document says of schedules.

use serde_json::{Value, json};

use super::{answers, content, json_body, path, problem, query};

pub fn paths() -> Value {
    json!({
        "/v1/schedules": {
            "get": {
                "summary": "Schedules, the oldest first; a client's own",
                "parameters": [query("tenant")],
                "responses": answers(&[("200", "The schedules", "Schedules")]),
            },
            "post": {
                "summary": "Make a schedule, on one's own behalf or, as an operator, on anybody's",
                "requestBody": json_body("NewSchedule"),
                "responses": answers(&[("201", "The schedule", "Schedule")]),
            },
        },
        "/v1/schedules/{id}": {
            "get": {
                "summary": "A schedule",
                "parameters": [path("id")],
                "responses": answers(&[("200", "The schedule", "Schedule")]),
            },
            "delete": {
                "summary": "Remove a schedule; a run that is under way goes on",
                "parameters": [path("id")],
                "responses": { "204": { "description": "Removed" }, "default": problem() },
            },
        },
        "/v1/schedules/{id}/pause": { "post": {
            "summary": "Let a schedule rest, with a reason",
            "parameters": [path("id")],
            "requestBody": { "required": false, "content": content("Rest") },
            "responses": answers(&[("200", "The schedule", "Schedule")]),
        } },
        "/v1/schedules/{id}/resume": { "post": {
            "summary": "Go on with a schedule that rests",
            "parameters": [path("id")],
            "responses": answers(&[("200", "The schedule", "Schedule")]),
        } },
        "/v1/schedules/{id}/run": { "post": {
            "summary": "Run a schedule now; when it is due stays as it is",
            "parameters": [path("id")],
            "responses": answers(&[("202", "The turn that it makes", "ScheduleRun")]),
        } },
    })
}

pub fn schemas() -> Value {
    let text = || json!({ "type": "string" });
    let number = || json!({ "type": "integer" });
    let missed = || json!({ "enum": ["skip", "latest"], "description": "what becomes of runs that were due while the gateway was away" });
    let place =
        || json!({ "type": "string", "description": "PLATFORM:ACCOUNT/CONVERSATION, or with /THREAD behind it" });
    json!({
        "Schedules": { "type": "object", "properties": {
            "schedules": { "type": "array", "items": { "$ref": "#/components/schemas/Schedule" } } } },
        "Schedule": { "type": "object", "properties": {
            "id": text(), "title": text(), "name": text(), "say": text(), "when": text(), "zone": text(),
            "missed": missed(), "to": place(), "owner": { "type": "object" }, "made_ms": number(),
            "paused": { "type": ["object", "null"], "properties": { "why": text(), "at_ms": number(), "by_itself": { "type": "boolean" } } },
            "next_ms": { "type": ["integer", "null"] },
            "next": { "type": ["string", "null"], "description": "in words, in the schedule's zone" },
            "last": { "type": ["object", "null"], "properties": { "due_ms": number(), "due": text(), "turn": text() } },
            "refused": { "type": "integer", "description": "of its last runs, in a row, for want of a right" },
            "left_out": { "type": "integer", "description": "how often it was due and not run" } } },
        "NewSchedule": { "type": "object", "required": ["say", "when"], "additionalProperties": false, "properties": {
            "say": { "type": "string", "description": "a command, or words for a model" },
            "when": { "type": "string", "description": "five fields of cron, or words such as 'every weekday at 8:00'" },
            "zone": { "type": "string", "description": "Europe/Berlin; UTC unless given" },
            "name": text(), "missed": missed(), "to": place(),
            "owner": { "type": "object", "description": "for operators: on whose behalf, named as in queries" },
            "owner_name": text(), "direct": { "type": "boolean" }, "locale": text() } },
        "Rest": { "type": "object", "additionalProperties": false, "properties": { "why": text() } },
        "ScheduleRun": { "type": "object", "properties": { "id": text(), "turn": text() } },
    })
}
