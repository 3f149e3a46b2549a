//! Gemini's `streamGenerateContent`: calls as a whole, without ids; signatures of its thinking go back with them.

use dispatch::model::Prompt;
use serde_json::{Value, json};

use super::{base64, count, failed, object, stopped};
use crate::{
    calls::Piece,
    gathered::{Gathered, carried},
    history::{self, Entry},
    settings::Settings,
    trouble::{Kind, Trouble},
};

pub(super) fn body(prompt: &Prompt<'_>, settings: &Settings) -> Value {
    let mut generation = json!({ "maxOutputTokens": settings.output_tokens });
    if let Some(temperature) = settings.temperature {
        generation["temperature"] = temperature.into();
    }
    let mut body = json!({ "contents": contents(prompt, settings), "generationConfig": generation });
    if !prompt.system.is_empty() {
        body["systemInstruction"] = json!({ "parts": [{ "text": prompt.system }] });
    }
    let tools = history::tools(prompt);
    if !tools.is_empty() {
        let declared = tools.iter().map(|tool| {
            json!({
                "name": tool["name"],
                "description": tool["description"],
                "parametersJsonSchema": tool["parameters"],
            })
        });
        body["tools"] = json!([{ "functionDeclarations": declared.collect::<Vec<_>>() }]);
    }
    body
}

fn contents(prompt: &Prompt<'_>, settings: &Settings) -> Vec<Value> {
    let content = |entry: Entry<'_>| match entry {
        Entry::Person { text, images } => {
            let picture = |image: &dispatch::model::Image| json!({ "inlineData": { "mimeType": image.media_type, "data": base64(image) } });
            let pictures = images.into_iter().map(picture);
            let text = (!text.is_empty()).then(|| json!({ "text": text }));
            json!({ "role": "user", "parts": text.into_iter().chain(pictures).collect::<Vec<_>>() })
        }
        Entry::Model { text, calls, carried: back } => {
            let back = carried(back, settings);
            let call = |(n, called): (usize, &history::Called<'_>)| {
                let mut part = json!({ "functionCall": { "name": called.tool, "args": object(called.args) } });
                if let Some(signature) = back.map(|back| &back["calls"][n]).filter(|signature| signature.is_string()) {
                    part["thoughtSignature"] = signature.clone();
                }
                part
            };
            let text = (!text.trim().is_empty()).then(|| json!({ "text": text }));
            let parts: Vec<_> = text.into_iter().chain(calls.iter().enumerate().map(call)).collect();
            json!({ "role": "model", "parts": parts })
        }
        Entry::Results(results) => {
            let part = |result: &history::Returned<'_>| {
                let key = if result.failed { "error" } else { "output" };
                json!({ "functionResponse": { "name": result.tool, "response": { key: result.content } } })
            };
            json!({ "role": "user", "parts": results.iter().map(part).collect::<Vec<_>>() })
        }
    };
    history::entries(prompt, settings.sees_images).into_iter().map(content).collect()
}

pub(super) fn read(event: &Value, into: &mut Gathered) -> Result<(), Trouble> {
    if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
        return Err(failed(error));
    }
    read_usage(&event["usageMetadata"], into);
    if event["promptFeedback"]["blockReason"].is_string() {
        into.stopped = Some(dispatch::model::Stopped::Filtered);
    }
    let candidate = &event["candidates"][0];
    for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
        let text = part["text"].as_str().unwrap_or_default();
        if part["thought"] == true {
            into.unseen += text.len();
            continue;
        }
        into.text.push_str(text);
        let call = &part["functionCall"];
        if call.is_object() {
            // Each is whole: what stands at the next number is the next one.
            let n = into.calls.len() as u64;
            into.calls.add(&Piece {
                index: Some(n),
                id: call["id"].as_str().unwrap_or_default(),
                name: call["name"].as_str().unwrap_or_default(),
                args: call.get("args"),
                extra: part.get("thoughtSignature"),
            });
        }
    }
    match candidate["finishReason"].as_str() {
        // It wrote a call that nobody can read: another try mostly succeeds.
        Some(reason @ ("MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL")) => {
            return Err(Trouble::new(Kind::Empty, format!("the model ended with {reason}")));
        }
        Some(reason) if reason != "FINISH_REASON_UNSPECIFIED" => into.stopped = Some(stopped(reason)),
        _ => {}
    }
    Ok(())
}

fn read_usage(usage: &Value, into: &mut Gathered) {
    let counted = &mut into.counted;
    counted.input = count(&usage["promptTokenCount"]).or(counted.input);
    counted.cached = count(&usage["cachedContentTokenCount"]).or(counted.cached);
    if let Some(output) = count(&usage["candidatesTokenCount"]) {
        counted.output = Some(output + count(&usage["thoughtsTokenCount"]).unwrap_or(0));
    }
}
