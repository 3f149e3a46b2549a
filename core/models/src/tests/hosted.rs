//! What Anthropic and Gemini are asked, and what is read of their answers.

use expect_test::expect;
use serde_json::json;

use super::{apis::asked, *};
use crate::Api;

#[tokio::test]
async fn anthropic() {
    let all = [
        json!({ "type": "message_start", "message": { "usage": { "input_tokens": 5, "cache_read_input_tokens": 20, "output_tokens": 1 } } }),
        json!({ "type": "ping" }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "thinking", "thinking": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "thinking_delta", "thinking": "hm" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "signature_delta", "signature": "sig" } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "text_delta", "text": "I look." } }),
        json!({ "type": "content_block_start", "index": 2, "content_block": { "type": "tool_use", "id": "toolu_1", "name": "weather", "input": {} } }),
        json!({ "type": "content_block_delta", "index": 2, "delta": { "type": "input_json_delta", "partial_json": "{\"city\":" } }),
        json!({ "type": "content_block_delta", "index": 2, "delta": { "type": "input_json_delta", "partial_json": "\"Oslo\"}" } }),
        json!({ "type": "content_block_start", "index": 3, "content_block": { "type": "tool_use", "id": "toolu_2", "name": "time", "input": {} } }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 30 } }),
        json!({ "type": "message_stop" }),
    ];
    let reply: String =
        all.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect();
    let carried = json!({ "of": "small", "calls": [], "blocks": [{ "type": "thinking", "thinking": "hm", "signature": "sig" }], "thought": "" });
    asked(
        Api::Anthropic,
        &reply,
        carried,
        expect![[r#"
        /v1/messages
        {
          "model": "small",
          "max_tokens": 8192,
          "messages": [
            {
              "role": "user",
              "content": [
                {
                  "type": "image",
                  "source": {
                    "type": "base64",
                    "media_type": "image/png",
                    "data": "UE5H"
                  }
                },
                {
                  "type": "text",
                  "text": "Weather here?"
                }
              ]
            },
            {
              "role": "assistant",
              "content": [
                {
                  "type": "thinking",
                  "thinking": "hm",
                  "signature": "sig"
                },
                {
                  "type": "text",
                  "text": "I look."
                },
                {
                  "type": "tool_use",
                  "id": "call00001",
                  "name": "weather",
                  "input": {
                    "city": "Oslo"
                  }
                },
                {
                  "type": "tool_use",
                  "id": "call00002",
                  "name": "weather",
                  "input": {
                    "city": "Atlantis"
                  }
                }
              ]
            },
            {
              "role": "user",
              "content": [
                {
                  "type": "tool_result",
                  "tool_use_id": "call00001",
                  "content": "sunny",
                  "is_error": false
                },
                {
                  "type": "tool_result",
                  "tool_use_id": "call00002",
                  "content": "no such place",
                  "is_error": true,
                  "cache_control": {
                    "type": "ephemeral"
                  }
                }
              ]
            }
          ],
          "stream": true,
          "system": [
            {
              "type": "text",
              "text": "Be kind.",
              "cache_control": {
                "type": "ephemeral"
              }
            }
          ],
          "tools": [
            {
              "name": "weather",
              "description": "It tells.",
              "input_schema": {
                "type": "object",
                "properties": {
                  "city": {
                    "type": "string"
                  }
                }
              }
            }
          ],
          "temperature": 0.5
        }
    "#]],
        expect![[r#"
        "I look." Done
        weather {"city":"Oslo"}
        time 
    "#]],
    )
    .await;
}

#[tokio::test]
async fn gemini() {
    let part = |parts: Value, reason: Value| json!({ "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": reason }], "usageMetadata": { "promptTokenCount": 7, "candidatesTokenCount": 3 } });
    let reply = events(&[
        part(json!([{ "text": "Thinking hard", "thought": true }]), Value::Null),
        part(json!([{ "text": "I look." }]), Value::Null),
        part(
            json!([
                { "functionCall": { "name": "weather", "args": { "city": "Oslo" } }, "thoughtSignature": "s1" },
                { "functionCall": { "name": "weather", "args": { "city": "Rome" } } },
            ]),
            json!("STOP"),
        ),
    ]);
    let carried = json!({ "of": "small", "calls": ["s1", null], "blocks": [], "thought": "" });
    asked(
        Api::Gemini,
        &reply,
        carried,
        expect![[r#"
        /v1beta/models/small:streamgeneratecontent?alt=sse
        {
          "contents": [
            {
              "role": "user",
              "parts": [
                {
                  "text": "Weather here?"
                },
                {
                  "inlineData": {
                    "mimeType": "image/png",
                    "data": "UE5H"
                  }
                }
              ]
            },
            {
              "role": "model",
              "parts": [
                {
                  "text": "I look."
                },
                {
                  "functionCall": {
                    "name": "weather",
                    "args": {
                      "city": "Oslo"
                    }
                  },
                  "thoughtSignature": "s1"
                },
                {
                  "functionCall": {
                    "name": "weather",
                    "args": {
                      "city": "Atlantis"
                    }
                  }
                }
              ]
            },
            {
              "role": "user",
              "parts": [
                {
                  "functionResponse": {
                    "name": "weather",
                    "response": {
                      "output": "sunny"
                    }
                  }
                },
                {
                  "functionResponse": {
                    "name": "weather",
                    "response": {
                      "error": "no such place"
                    }
                  }
                }
              ]
            }
          ],
          "generationConfig": {
            "maxOutputTokens": 8192,
            "temperature": 0.5
          },
          "systemInstruction": {
            "parts": [
              {
                "text": "Be kind."
              }
            ]
          },
          "tools": [
            {
              "functionDeclarations": [
                {
                  "name": "weather",
                  "description": "It tells.",
                  "parametersJsonSchema": {
                    "type": "object",
                    "properties": {
                      "city": {
                        "type": "string"
                      }
                    }
                  }
                }
              ]
            }
          ]
        }
    "#]],
        expect![[r#"
        "I look." Done
        weather {"city":"Oslo"}
        weather {"city":"Rome"}
    "#]],
    )
    .await;
}

#[tokio::test]
async fn what_looks_like_a_call_in_the_text_of_a_hosted_model_is_text() {
    let text = r#"<tool_call>{"name":"time","arguments":{}}</tool_call>"#;
    let anthropic = [
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": text } }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }),
        json!({ "type": "message_stop" }),
    ];
    let gemini = [json!({ "candidates": [{ "content": { "parts": [{ "text": text }] }, "finishReason": "STOP" }] })];
    for (api, all) in [(Api::Anthropic, &anthropic[..]), (Api::Gemini, &gemini[..])] {
        let server = Server::new(vec![vec![stream(events(all))]]).await;
        let drafts = Drafts::default();
        let chain = Chain::new(server.settings(api), Vec::new()).unwrap();
        let answer = chain.step(&prompt(&tools(), &[person("hi")]), &drafts).await.unwrap();
        assert_eq!(shown(&answer), format!("{text:?} Done\n"), "{api:?}");
        assert_eq!(drafts.all(), [text], "{api:?}");
    }
}
