//! What each API is asked, and what is read of its answers.

use dispatch::model::{Answered, Image, Wish};
use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crate::Api;

/// A conversation with everything in it.
fn conversation(carried: Value) -> Vec<Said> {
    let image = Image { media_type: "image/png".into(), bytes: bytes::Bytes::from_static(b"PNG") };
    let wish =
        |n: u32, city: &str| Wish { id: format!("call_1_{n}"), tool: "weather".into(), args: json!({ "city": city }) };
    let result = |n: u32, content: &str, failed| Said::Result {
        call: format!("call_1_{n}"),
        tool: "weather".into(),
        content: content.into(),
        failed,
    };
    vec![
        Said::Person { text: "Weather here?".into(), images: vec![image] },
        Said::Model(Answered {
            text: "I look.".into(),
            calls: vec![wish(1, "Oslo"), wish(2, "Atlantis")],
            carried: Some(carried),
        }),
        result(1, "sunny", false),
        result(2, "no such place", true),
    ]
}

pub(super) async fn asked(api: Api, reply: &str, carried: Value, body: Expect, answer: Expect) {
    let server = Server::new(vec![vec![stream(reply)]]).await;
    let settings = Settings { sees_images: true, temperature: Some(0.5), ..server.settings(api) };
    let said = step(settings, &json!([tools()[1]]), &conversation(carried)).await;
    let asked = &server.asked()[0];
    body.assert_eq(&format!("{}\n{:#}\n", asked.path, asked.body));
    answer.assert_eq(&said);
}

#[tokio::test]
async fn chat_completions() {
    let reply = events(&[
        delta(json!({ "reasoning_content": "Two cities.", "content": null })),
        delta(json!({ "content": "Sunny in Oslo" })),
        delta(json!({ "content": "." })),
        finish("stop"),
    ]) + "data: [DONE]\n\n";
    let carried = json!({ "of": "small", "calls": [null, { "google": { "thought_signature": "s" } }], "blocks": [], "thought": "hm" });
    asked(
        Api::Chat,
        &reply,
        carried,
        expect![[r#"
        /v1/chat/completions
        {
          "model": "small",
          "messages": [
            {
              "role": "system",
              "content": "Be kind."
            },
            {
              "role": "user",
              "content": [
                {
                  "type": "text",
                  "text": "Weather here?"
                },
                {
                  "type": "image_url",
                  "image_url": {
                    "url": "data:image/png;base64,UE5H"
                  }
                }
              ]
            },
            {
              "role": "assistant",
              "content": "I look.",
              "tool_calls": [
                {
                  "id": "call00001",
                  "type": "function",
                  "function": {
                    "name": "weather",
                    "arguments": "{\"city\":\"Oslo\"}"
                  }
                },
                {
                  "id": "call00002",
                  "type": "function",
                  "function": {
                    "name": "weather",
                    "arguments": "{\"city\":\"Atlantis\"}"
                  },
                  "extra_content": {
                    "google": {
                      "thought_signature": "s"
                    }
                  }
                }
              ],
              "reasoning_content": "hm"
            },
            {
              "role": "tool",
              "tool_call_id": "call00001",
              "name": "weather",
              "content": "sunny"
            },
            {
              "role": "tool",
              "tool_call_id": "call00002",
              "name": "weather",
              "content": "no such place"
            }
          ],
          "stream": true,
          "tools": [
            {
              "type": "function",
              "function": {
                "name": "weather",
                "description": "It tells.",
                "parameters": {
                  "type": "object",
                  "properties": {
                    "city": {
                      "type": "string"
                    }
                  }
                }
              }
            }
          ],
          "max_tokens": 8192,
          "stream_options": {
            "include_usage": true
          },
          "temperature": 0.5
        }
    "#]],
        expect![[r#"
        "Sunny in Oslo." Done
    "#]],
    )
    .await;
}

#[tokio::test]
async fn ollama() {
    let reply = r#"{"model":"small","message":{"role":"assistant","content":"","thinking":"hm"},"done":false}
{"model":"small","message":{"role":"assistant","content":"I look.","tool_calls":[{"function":{"name":"weather","arguments":{"city":"Oslo"}}}]},"done":false}
{"model":"small","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"weather","arguments":{"city":"Rome"}}}]},"done":false}
{"model":"small","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":40,"eval_count":9}
"#;
    asked(
        Api::Ollama,
        reply,
        Value::Null,
        expect![[r#"
        /api/chat
        {
          "model": "small",
          "messages": [
            {
              "role": "system",
              "content": "Be kind."
            },
            {
              "role": "user",
              "content": "Weather here?",
              "images": [
                "UE5H"
              ]
            },
            {
              "role": "assistant",
              "content": "I look.",
              "tool_calls": [
                {
                  "function": {
                    "name": "weather",
                    "arguments": {
                      "city": "Oslo"
                    }
                  }
                },
                {
                  "function": {
                    "name": "weather",
                    "arguments": {
                      "city": "Atlantis"
                    }
                  }
                }
              ]
            },
            {
              "role": "tool",
              "tool_name": "weather",
              "content": "sunny"
            },
            {
              "role": "tool",
              "tool_name": "weather",
              "content": "no such place"
            }
          ],
          "stream": true,
          "options": {
            "num_ctx": 32768,
            "num_predict": 8192,
            "temperature": 0.5
          },
          "truncate": false,
          "tools": [
            {
              "type": "function",
              "function": {
                "name": "weather",
                "description": "It tells.",
                "parameters": {
                  "type": "object",
                  "properties": {
                    "city": {
                      "type": "string"
                    }
                  }
                }
              }
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
async fn what_a_provider_wants_back_is_carried_for_it_alone() {
    let reply = events(&[json!({ "candidates": [{ "content": { "parts": [
        { "functionCall": { "name": "time", "args": {} }, "thoughtSignature": "s1" },
    ] }, "finishReason": "STOP" }] })]);
    let server = Server::new(vec![vec![stream(reply)]]).await;
    let chain = Chain::new(server.settings(Api::Gemini), Vec::new()).unwrap();
    let answer = chain.step(&prompt(&tools(), &[person("hi")]), &Drafts::default()).await.unwrap();
    let carried = answer.carried.unwrap();
    assert_eq!((&carried["of"], &carried["calls"]), (&json!("small"), &json!(["s1"])));
    let other = Settings { name: "large".into(), ..server.settings(Api::Gemini) };
    let back = Said::Model(Answered {
        calls: vec![Wish { id: "call_1_1".into(), tool: "time".into(), args: json!({}) }],
        carried: Some(carried),
        ..Answered::default()
    });
    step(other, &tools(), &[person("hi"), back]).await;
    assert!(!server.asked()[1].body.to_string().contains("s1"));
}

#[test]
fn the_address_is_what_was_said_and_a_version_where_only_a_host_was() {
    let check = |api: Api, base: &str, url: &str| {
        let settings = Settings { base_url: base.into(), ..Settings::new(api, "m") };
        assert_eq!(settings.url(), url);
    };
    check(Api::Chat, "http://h:8000", "http://h:8000/v1/chat/completions");
    check(Api::Chat, "http://h/openai/v1", "http://h/openai/v1/chat/completions");
    check(Api::Ollama, "http://h:11434", "http://h:11434/api/chat");
    check(Api::Ollama, "http://h:11434/v1", "http://h:11434/v1/chat/completions");
    check(Api::Anthropic, "https://h", "https://h/v1/messages");
    check(Api::Gemini, "https://h", "https://h/v1beta/models/m:streamGenerateContent?alt=sse");
}
