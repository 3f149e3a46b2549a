//! Anthropic's messages API. The prompt is marked for its cache in two places: behind the system's text, which is behind
//! the tools, and at the end.

use dispatch::model::Prompt;
use serde_json::{Value, json};

use super::{base64, count, failed, object, stopped};
use crate::{
    calls::Piece,
    gathered::{Gathered, carried},
    history::{self, Entry},
    settings::Settings,
    trouble::Trouble,
};

pub(super) fn body(prompt: &Prompt<'_>, settings: &Settings) -> Value {
    let mut body = json!({
        "model": settings.name,
        "max_tokens": settings.output_tokens,
        "messages": messages(prompt, settings),
        "stream": true,
    });
    if !prompt.system.is_empty() {
        body["system"] = json!([{ "type": "text", "text": prompt.system, "cache_control": { "type": "ephemeral" } }]);
    }
    let tools = history::tools(prompt);
    if !tools.is_empty() {
        let tool = |tool: &Value| json!({ "name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"] });
        body["tools"] = tools.iter().map(tool).collect();
    }
    if let Some(temperature) = settings.temperature {
        body["temperature"] = temperature.into();
    }
    body
}

fn messages(prompt: &Prompt<'_>, settings: &Settings) -> Vec<Value> {
    let mut out: Vec<(&'static str, Vec<Value>)> = Vec::new();
    for entry in history::entries(prompt, settings.sees_images) {
        let (role, blocks) = match entry {
            Entry::Person { text, images } => {
                let source =
                    |image| json!({ "type": "base64", "media_type": image_kind(image), "data": base64(image) });
                let pictures = images.into_iter().map(|image| json!({ "type": "image", "source": source(image) }));
                ("user", pictures.chain(text_block(&text)).collect())
            }
            Entry::Model { text, calls, carried: back } => {
                let back = carried(back, settings).and_then(|back| back["blocks"].as_array());
                let call = |called: &history::Called<'_>| json!({ "type": "tool_use", "id": called.id, "name": called.tool, "input": object(called.args) });
                let thinking = back.into_iter().flatten().cloned();
                ("assistant", thinking.chain(text_block(&text)).chain(calls.iter().map(call)).collect())
            }
            Entry::Results(results) => {
                let result = |result: &history::Returned<'_>| json!({ "type": "tool_result", "tool_use_id": result.id, "content": result.content, "is_error": result.failed });
                ("user", results.iter().map(result).collect::<Vec<_>>())
            }
        };
        match out.last_mut() {
            Some((last, all)) if *last == role => all.extend(blocks),
            _ => out.push((role, blocks)),
        }
    }
    if let Some(block) = out.last_mut().and_then(|(_, blocks)| blocks.last_mut()) {
        block["cache_control"] = json!({ "type": "ephemeral" });
    }
    out.into_iter().map(|(role, content)| json!({ "role": role, "content": content })).collect()
}

fn image_kind(image: &dispatch::model::Image) -> &str {
    &image.media_type
}

/// Empty blocks are refused.
fn text_block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({ "type": "text", "text": text }))
}

pub(super) fn read(event: &Value, into: &mut Gathered) -> Result<(), Trouble> {
    match event["type"].as_str().unwrap_or_default() {
        "error" => return Err(failed(&event["error"])),
        "message_start" => read_usage(&event["message"]["usage"], into),
        "content_block_start" => begin(event, into),
        "content_block_delta" => more(event, into),
        "message_delta" => {
            read_usage(&event["usage"], into);
            if let Some(reason) = event["delta"]["stop_reason"].as_str() {
                into.stopped = Some(stopped(reason));
            }
        }
        "message_stop" => into.is_over = true,
        // The whole message, where it was not streamed.
        "message" => {
            for (n, block) in event["content"].as_array().into_iter().flatten().enumerate() {
                begin(&json!({ "index": n, "content_block": block }), into);
            }
            read_usage(&event["usage"], into);
            into.stopped = Some(stopped(event["stop_reason"].as_str().unwrap_or_default()));
            into.is_over = true;
        }
        // Pings, ends of blocks, and what is yet to be invented.
        _ => {}
    }
    Ok(())
}

fn begin(event: &Value, into: &mut Gathered) {
    let block = &event["content_block"];
    match block["type"].as_str().unwrap_or_default() {
        "text" => into.text.push_str(block["text"].as_str().unwrap_or_default()),
        "tool_use" => into.calls.add(&Piece {
            index: event["index"].as_u64(),
            id: block["id"].as_str().unwrap_or_default(),
            name: block["name"].as_str().unwrap_or_default(),
            // Streamed arguments begin as an empty object.
            args: block.get("input").filter(|input| input.as_object().is_some_and(|input| !input.is_empty())),
            extra: None,
        }),
        "thinking" | "redacted_thinking" => into.blocks.push(block.clone()),
        _ => {}
    }
}

fn more(event: &Value, into: &mut Gathered) {
    let delta = &event["delta"];
    match delta["type"].as_str().unwrap_or_default() {
        "text_delta" => into.text.push_str(delta["text"].as_str().unwrap_or_default()),
        "input_json_delta" => into.calls.add(&Piece {
            index: event["index"].as_u64(),
            args: delta.get("partial_json"),
            ..Piece::default()
        }),
        "thinking_delta" => add_to_block(into, "thinking", &delta["thinking"]),
        "signature_delta" => add_to_block(into, "signature", &delta["signature"]),
        _ => {}
    }
}

/// Thinking goes back as it came, with its signature.
fn add_to_block(into: &mut Gathered, key: &str, more: &Value) {
    let (Some(block), Some(more)) = (into.blocks.last_mut(), more.as_str()) else { return };
    into.unseen += more.len();
    match &mut block[key] {
        Value::String(text) => text.push_str(more),
        other => *other = more.into(),
    }
}

fn read_usage(usage: &Value, into: &mut Gathered) {
    let counted = &mut into.counted;
    let (read, written) = (count(&usage["cache_read_input_tokens"]), count(&usage["cache_creation_input_tokens"]));
    if let Some(fresh) = count(&usage["input_tokens"]) {
        counted.input = Some(fresh + read.unwrap_or(0) + written.unwrap_or(0));
    }
    counted.cached = read.or(counted.cached);
    counted.output = count(&usage["output_tokens"]).or(counted.output);
}
