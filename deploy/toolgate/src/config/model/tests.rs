use std::path::Path;

use expect_test::{Expect, expect};

use super::*;
use crate::config::{Finding, Loaded, parse};

fn read(text: &str) -> Result<Loaded, Vec<Finding>> {
    parse(Some(Path::new("toolgate.yaml")), text, [])
}

fn models(text: &str) -> Models {
    read(text).unwrap_or_else(|errors| panic!("{errors:#?}")).config.model.expect("a model is named")
}

fn check(text: &str, expected: Expect) {
    let errors = read(text).expect_err("it is wrong");
    expected.assert_eq(&errors.iter().map(|error| format!("{error}\n")).collect::<String>());
}

#[test]
fn a_model_is_read_with_what_is_usual_for_it() {
    let model = models("model: { provider: ollama, name: 'qwen3:8b' }").first;
    assert_eq!((model.base_url.as_str(), model.context_tokens, model.output_tokens), ("http://127.0.0.1:11434", 32_768, 8_192));
    assert_eq!((model.timeout, model.sees_images, model.api_key), (Duration::from_secs(120), false, None));
    let text = "model:\n  provider: openai\n  name: big\n  api_key: env:KEY\n  context_tokens: 200000\n  max_output_tokens: 4000\n  \
                temperature: 0\n  images: true\n  timeout: 30s\n  price: { input: 2.5, output: 10 }\n  \
                fallback:\n    - { provider: anthropic, name: other, api_key: env:OTHER }\n    - { provider: ollama, name: small }\n";
    let all = models(text);
    assert_eq!(all.all().map(|model| model.name.as_str()).collect::<Vec<_>>(), ["big", "other", "small"]);
    let first = all.first;
    assert_eq!((first.temperature, first.sees_images, first.timeout.as_secs()), (Some(0.0), true, 30));
    assert_eq!(first.price, Price { input: 2.5, output: 10.0, cached: 2.5 });
    assert_eq!(first.settings().output_tokens, 4_000);
}

#[test]
fn no_model_is_a_word() {
    assert_eq!(read("model: none").unwrap().config.model, None);
    assert_eq!(read("").unwrap().config.model, None);
}

#[test]
fn what_is_missing_or_wrong_is_said_at_its_place() {
    check("model: { provider: openai }", expect![[""]]);
    check("model: { provider: olama, nam: x }", expect![[""]]);
    check("model: { provider: scripted, name: x }\n", expect![[""]]);
    check("model: { provider: none }\n", expect![[""]]);
    check("model: gpt\n", expect![[""]]);
    check(
        "model:\n  provider: ollama\n  name: x\n  temperature: 3\n  images: maybe\n  timeout: soon\n  context_tokens: 0\n  price: { inputs: 1, output: -1 }\n",
        expect![[""]],
    );
    check("model: { provider: ollama, name: x, context_tokens: 4096, max_output_tokens: 4096 }\n", expect![[""]]);
    check("model:\n  provider: ollama\n  name: x\n  fallback:\n    - { provider: gemini, name: y, fallback: [] }\n", expect![[""]]);
    check("model: { provider: openai, name: x, api_key: sk-very-secret }\n", expect![[""]]);
}

#[tokio::test]
async fn a_key_that_cannot_be_read_is_named() {
    let model = models("model: { provider: openai, name: x, api_key: 'file:/nowhere/key' }").first;
    assert_eq!(model.api_key.unwrap().read().await.unwrap_err().to_string(), "the secret 'model.api_key' cannot be read: /nowhere/key: entity not found");
}
