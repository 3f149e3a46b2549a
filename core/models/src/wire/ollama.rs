//! Ollama's own API: a JSON value per line, calls as a whole. Unlike its chat-completions it takes the size of the window.

use dispatch::model::Prompt;
use serde_json::{Value, json};

use super::{base64, count, failed, object, stopped};
use crate::{
    calls::Piece,
    gathered::Gathered,
    history::{self, Entry},
    settings::Settings,
    trouble::Trouble,
};

pub(super) fn body(prompt: &Prompt<'_>, settings: &Settings) -> Value {
    let mut options = json!({ "num_ctx": settings.context_tokens, "num_predict": settings.output_tokens });
    if let Some(temperature) = settings.temperature {
        options["temperature"] = temperature.into();
    }
    let mut body = json!({
        "model": settings.name,
        "messages": messages(prompt, settings),
        "stream": true,
        "options": options,
        // Otherwise it takes away the beginning of what is too long, and says nothing.
        "truncate": false,
    });
    let tools = history::tools(prompt);
    if !tools.is_empty() {
        body["tools"] = tools.iter().map(|tool| json!({ "type": "function", "function": tool })).collect();
    }
    body
}

fn messages(prompt: &Prompt<'_>, settings: &Settings) -> Vec<Value> {
    let mut out = Vec::new();
    if !prompt.system.is_empty() {
        out.push(json!({ "role": "system", "content": prompt.system }));
    }
    for entry in history::entries(prompt, settings.sees_images) {
        match entry {
            Entry::Person { text, images } => {
                let mut message = json!({ "role": "user", "content": text });
                if !images.is_empty() {
                    message["images"] = images.into_iter().map(base64).collect();
                }
                out.push(message);
            }
            Entry::Model { text, calls, .. } => {
                let mut message = json!({ "role": "assistant", "content": text });
                if !calls.is_empty() {
                    let call = |called: &history::Called<'_>| json!({ "function": { "name": called.tool, "arguments": object(called.args) } });
                    message["tool_calls"] = calls.iter().map(call).collect();
                }
                out.push(message);
            }
            // They have no ids: their order tells which is whose.
            Entry::Results(results) => out.extend(
                results
                    .iter()
                    .map(|result| json!({ "role": "tool", "tool_name": result.tool, "content": result.content })),
            ),
        }
    }
    out
}

pub(super) fn read(event: &Value, into: &mut Gathered) -> Result<(), Trouble> {
    if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
        return Err(failed(error));
    }
    let message = &event["message"];
    into.text.push_str(message["content"].as_str().unwrap_or_default());
    into.thought.push_str(message["thinking"].as_str().unwrap_or_default());
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let function = &call["function"];
        into.calls.add(&Piece {
            index: function["index"].as_u64(),
            id: call["id"].as_str().unwrap_or_default(),
            name: function["name"].as_str().unwrap_or_default(),
            args: function.get("arguments"),
            extra: None,
        });
    }
    if event["done"] == true {
        into.stopped = Some(stopped(event["done_reason"].as_str().unwrap_or_default()));
        into.is_over = true;
        into.counted.input = count(&event["prompt_eval_count"]);
        into.counted.output = count(&event["eval_count"]);
    }
    Ok(())
}
