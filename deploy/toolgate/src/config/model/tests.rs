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
    assert_eq!(
        (model.base_url.as_str(), model.context_tokens, model.output_tokens),
        ("http://127.0.0.1:11434", 32_768, 8_192)
    );
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
    check(
        "model: { provider: openai }",
        expect![[r#"
        toolgate.yaml:1:8: 'model.name' is missing: which model is to be asked?
        toolgate.yaml:1:8: 'model.api_key' is missing: https://api.openai.com/v1 answers nobody without a key
    "#]],
    );
    check(
        "model: { provider: olama, nam: x }",
        expect![[r#"
        toolgate.yaml:1:20: 'model.provider' must be one of openai, ollama, anthropic, gemini, scripted, none: did you mean 'ollama'?
        toolgate.yaml:1:27: unknown key 'nam' in 'model': did you mean 'name'?
    "#]],
    );
    check(
        "model: { provider: scripted, name: x }\n",
        expect![[r#"
        toolgate.yaml:1:20: 'model.provider': the scripted model is no AI and answers in `toolgate demo` alone
    "#]],
    );
    check(
        "model: { provider: none }\n",
        expect![[r#"
        toolgate.yaml:1:20: 'model.provider': to have no language model, write model: none
    "#]],
    );
    check(
        "model: gpt\n",
        expect![[r#"
        toolgate.yaml:1:8: 'model' must be a map, not text
    "#]],
    );
    check(
        "model:\n  provider: ollama\n  name: x\n  temperature: 3\n  images: maybe\n  timeout: soon\n  context_tokens: 0\n  price: { inputs: 1, output: -1 }\n",
        expect![[r#"
            toolgate.yaml:4:16: 'model.temperature' must be a number from 0 to 2
            toolgate.yaml:5:11: 'model.images' must be true or false
            toolgate.yaml:6:12: 'model.timeout' must be a time such as 500ms, 30s, 5m, 24h or 7d
            toolgate.yaml:7:19: 'model.context_tokens' must be a whole number above 0
            toolgate.yaml:8:12: unknown key 'inputs' in 'model.price': did you mean 'input'?
            toolgate.yaml:8:31: 'model.price.output' must be a number of 0 or more
        "#]],
    );
    check(
        "model: { provider: ollama, name: x, context_tokens: 4096, max_output_tokens: 4096 }\n",
        expect![[r#"
        toolgate.yaml:1:8: 'model.max_output_tokens' must be less than 'context_tokens', which is 4096
    "#]],
    );
    check(
        "model:\n  provider: ollama\n  name: x\n  fallback:\n    - { provider: gemini, name: y, fallback: [] }\n",
        expect![[r#"
            toolgate.yaml:5:7: 'model.fallback[0].api_key' is missing: https://generativelanguage.googleapis.com answers nobody without a key
            toolgate.yaml:5:36: unknown key 'fallback' in 'model.fallback[0]': known here: provider, name, base_url, api_key, context_tokens, max_output_tokens, temperature, images, timeout, price
        "#]],
    );
    check(
        "model: { provider: openai, name: x, api_key: sk-very-secret }\n",
        expect![[r#"
        toolgate.yaml:1:46: 'model.api_key': a secret itself must not stand here; write where it is: env:NAME, file:PATH, exec:COMMAND ARGS or vault:PATH#KEY
    "#]],
    );
}

#[tokio::test]
async fn a_key_that_cannot_be_read_is_named() {
    let model = models("model: { provider: openai, name: x, api_key: 'file:/nowhere/key' }").first;
    assert_eq!(
        model.api_key.unwrap().read().await.unwrap_err().to_string(),
        "the secret 'model.api_key' cannot be read: /nowhere/key: entity not found"
    );
}
