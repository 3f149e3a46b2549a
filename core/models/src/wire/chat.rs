//! Chat-completions, as many servers speak them, each with slips of its own.

use contract::text::cut;
use dispatch::model::Prompt;
use serde_json::{Value, json};

use super::{Part, Spared, base64, count, failed, stopped};
use crate::{
    calls::Piece,
    gathered::{Gathered, carried},
    history::{self, Entry},
    settings::Settings,
    trouble::Trouble,
};

pub(super) fn body(prompt: &Prompt<'_>, settings: &Settings, spared: &Spared) -> Value {
    let mut body = json!({ "model": settings.name, "messages": messages(prompt, settings), "stream": true });
    let tools = history::tools(prompt);
    if !tools.is_empty() {
        body["tools"] = tools.iter().map(|tool| json!({ "type": "function", "function": tool })).collect();
    }
    let most = if spared.has(Part::MaxTokens) { "max_completion_tokens" } else { "max_tokens" };
    body[most] = settings.output_tokens.into();
    if !spared.has(Part::Usage) {
        body["stream_options"] = json!({ "include_usage": true });
    }
    if let Some(temperature) = settings.temperature.filter(|_| !spared.has(Part::Temperature)) {
        body["temperature"] = temperature.into();
    }
    body
}

fn messages(prompt: &Prompt<'_>, settings: &Settings) -> Vec<Value> {
    let entries = history::entries(prompt, settings.sees_images);
    // Thinking goes back only while its own turn goes on: servers that want it then refuse it later.
    let turn = entries.iter().rposition(|entry| matches!(entry, Entry::Person { .. })).unwrap_or(0);
    let mut out = Vec::with_capacity(entries.len() + 1);
    if !prompt.system.is_empty() {
        out.push(json!({ "role": "system", "content": prompt.system }));
    }
    for (n, entry) in entries.iter().enumerate() {
        let is_behind_results = n > 0 && matches!(entries[n - 1], Entry::Results(_));
        if is_behind_results && matches!(entry, Entry::Person { .. }) {
            // Some servers refuse a person's message right behind results.
            out.push(json!({ "role": "assistant", "content": "…" }));
        }
        match entry {
            Entry::Person { text, images } if images.is_empty() => {
                out.push(json!({ "role": "user", "content": text }));
            }
            Entry::Person { text, images } => {
                let mut parts: Vec<_> = images
                    .iter()
                    .map(|image| {
                        let url = format!("data:{};base64,{}", image.media_type, base64(image));
                        json!({ "type": "image_url", "image_url": { "url": url } })
                    })
                    .collect();
                if !text.is_empty() {
                    parts.insert(0, json!({ "type": "text", "text": text }));
                }
                out.push(json!({ "role": "user", "content": parts }));
            }
            Entry::Model { text, calls, carried } => {
                out.push(model(text, calls, carried.filter(|_| n > turn), settings));
            }
            Entry::Results(results) => out.extend(results.iter().map(|result| {
                json!({ "role": "tool", "tool_call_id": result.id, "name": result.tool, "content": result.content })
            })),
        }
    }
    out
}

fn model(text: &str, calls: &[history::Called<'_>], back: Option<&Value>, settings: &Settings) -> Value {
    let mut message = json!({ "role": "assistant", "content": text });
    if calls.is_empty() {
        return message;
    }
    let back = carried(back, settings);
    let call = |(n, called): (usize, &history::Called<'_>)| {
        let args = match called.args {
            Value::String(raw) => raw.clone(),
            other => super::object(other).to_string(),
        };
        let mut call = json!({
            "id": called.id,
            "type": "function",
            "function": { "name": called.tool, "arguments": readable(args) },
        });
        if let Some(extra) = back.map(|back| &back["calls"][n]).filter(|extra| !extra.is_null()) {
            call["extra_content"] = extra.clone();
        }
        call
    };
    message["tool_calls"] = calls.iter().enumerate().map(call).collect();
    if let Some(thought) = back.and_then(|back| back["thought"].as_str()).filter(|thought| !thought.is_empty()) {
        message["reasoning_content"] = thought.into();
    }
    message
}

/// Servers parse the arguments of earlier calls again, and some fail as a whole over one that is no JSON.
fn readable(args: String) -> String {
    match serde_json::from_str::<serde_json::Map<String, Value>>(&args) {
        Ok(_) => args,
        Err(_) => json!({ "unreadable": cut(&args, 2_000) }).to_string(),
    }
}

pub(super) fn read(event: &Value, into: &mut Gathered) -> Result<(), Trouble> {
    if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
        return Err(failed(error));
    }
    read_usage(&event["usage"], into);
    let Some(choice) = event["choices"].get(0) else { return Ok(()) };
    // A server that does not stream gives a message.
    let message = [&choice["delta"], &choice["message"]].into_iter().find(|part| part.is_object());
    into.is_over |= choice["message"].is_object();
    if let Some(message) = message {
        read_text(&message["content"], into);
        for key in ["reasoning_content", "reasoning"] {
            if let Some(thought) = message[key].as_str() {
                into.thought.push_str(thought);
                break;
            }
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            read_call(call, &call["function"], into);
        }
        if message["function_call"].is_object() {
            read_call(&Value::Null, &message["function_call"], into);
        }
        if message["refusal"].as_str().is_some_and(|refusal| !refusal.is_empty()) {
            read_text(&message["refusal"], into);
        }
    }
    if let Some(reason) = choice["finish_reason"].as_str().filter(|reason| !reason.is_empty()) {
        into.stopped = Some(stopped(reason));
    }
    Ok(())
}

/// A text, or a list of parts with texts.
fn read_text(content: &Value, into: &mut Gathered) {
    match content {
        Value::String(text) => into.text.push_str(text),
        Value::Array(parts) => {
            let texts = parts.iter().filter(|part| part["type"] != "thinking").filter_map(|part| part["text"].as_str());
            texts.for_each(|text| into.text.push_str(text));
        }
        _ => {}
    }
}

fn read_call(call: &Value, function: &Value, into: &mut Gathered) {
    into.calls.add(&Piece {
        index: call["index"].as_u64(),
        id: call["id"].as_str().unwrap_or_default(),
        // Some put them beside instead of inside.
        name: function["name"].as_str().or(call["name"].as_str()).unwrap_or_default(),
        args: function.get("arguments").or(call.get("arguments")),
        extra: call.get("extra_content").filter(|extra| !extra.is_null()),
    });
}

fn read_usage(usage: &Value, into: &mut Gathered) {
    let counted = &mut into.counted;
    counted.input = count(&usage["prompt_tokens"]).or(counted.input);
    counted.output = count(&usage["completion_tokens"]).or(counted.output);
    let cached = [&usage["prompt_tokens_details"]["cached_tokens"], &usage["prompt_cache_hit_tokens"]];
    counted.cached = cached.into_iter().find_map(count).or(counted.cached);
}
