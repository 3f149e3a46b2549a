//! What the documents say of configuration and commands is what the binary reads.
// An unwrap here is a fact that does not hold.
#![allow(clippy::unwrap_used)]

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::{CommandFactory, Parser};
use dispatch::commands::{self, Command};
use endpoints::Endpoints;
use toolgate::{cli::Cli, config, sources::Origins};
use tools::Registry;

#[path = "../examples/embedded.rs"]
#[expect(dead_code, reason = "of the example everything but its main function is run")]
mod embedded;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two folders below the root").to_path_buf()
}

/// The documents, with their paths as seen from the root.
fn documents() -> Vec<(String, String)> {
    let mut paths = vec![root().join("README.md"), root().join("ARCHITECTURE.md"), root().join("CONTRIBUTING.md")];
    paths.extend(std::fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path()));
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    paths.sort();
    let shown = |path: &Path| path.strip_prefix(root()).unwrap().display().to_string();
    paths.iter().map(|path| (shown(path), std::fs::read_to_string(path).unwrap())).collect()
}

/// Fenced blocks marked `info`: where each stands, and its text.
fn fences(info: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (file, text) in documents() {
        let mut block: Option<(bool, String, String)> = None;
        for (n, line) in text.lines().enumerate() {
            match (&mut block, line.strip_prefix("```")) {
                (None, Some(marked)) => {
                    block = Some((marked.trim() == info, format!("{file}:{}", n + 1), String::new()));
                }
                (Some((is_ours, place, text)), Some(_)) => {
                    if *is_ours {
                        found.push((std::mem::take(place), std::mem::take(text)));
                    }
                    block = None;
                }
                (Some((_, _, text)), None) => {
                    text.push_str(line);
                    text.push('\n');
                }
                (None, None) => {}
            }
        }
    }
    assert!(!found.is_empty(), "no block is marked '{info}'");
    found
}

#[test]
fn every_configuration_in_the_documents_is_one() {
    for (place, text) in fences("yaml config") {
        let read = config::parse(Some(Path::new("toolgate.yaml")), &text, []);
        let errors: Vec<_> = read.err().unwrap_or_default().iter().map(ToString::to_string).collect();
        assert!(errors.is_empty(), "{place}:\n{}", errors.join("\n"));
    }
}

#[test]
fn every_key_of_the_configuration_is_documented() {
    let page = std::fs::read_to_string(root().join("docs/CONFIGURATION.md")).unwrap();
    let words: Vec<_> = page.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    for text in [
        "qqqqqqqqqq: 1",
        "limits: { qqqqqqqqqq: 1 }",
        "model: { qqqqqqqqqq: 1, provider: ollama, name: a }",
        "model: { provider: ollama, name: a, price: { qqqqqqqqqq: 1 } }",
        "platforms: { discord: { qqqqqqqqqq: 1, token: env:A } }",
        "platforms: { telegram: { qqqqqqqqqq: 1, token: env:A } }",
        "platforms: { slack: { qqqqqqqqqq: 1, bot_token: env:A, app_token: env:B } }",
    ] {
        let errors = config::parse(None, text, []).expect_err("the key is unknown");
        let known = errors.iter().find_map(|error| error.hint.as_deref()?.strip_prefix("known here: "));
        for key in known.expect("the known keys are said").split(", ") {
            assert!(words.contains(&key), "docs/CONFIGURATION.md does not speak of '{key}'");
        }
    }
}

#[test]
fn every_key_of_a_credential_is_documented() {
    let page = std::fs::read_to_string(root().join("docs/CREDENTIALS.md")).unwrap();
    let words: Vec<_> = page.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    let kinds = ["bearer", "api_key", "basic", "oauth2_client_credentials", "hmac"];
    let credential = |kind| format!("credential_store: {{ a: {{ type: {kind}, tenants: {{}}, qqqqqqqqqq: 1 }} }}");
    for text in kinds.map(credential).into_iter().chain(["vault: { qqqqqqqqqq: 1 }".to_owned()]) {
        let errors = config::parse(None, &text, []).expect_err("the key is unknown");
        let known = errors.iter().find_map(|error| error.hint.as_deref()?.strip_prefix("known here: "));
        for key in known.expect("the known keys are said").split(", ") {
            assert!(words.contains(&key), "docs/CREDENTIALS.md does not speak of '{key}'");
        }
    }
}

#[test]
fn the_shipped_configurations_are_read_without_a_word() {
    for file in ["deploy/docker/toolgate.yaml", "deploy/compose/toolgate.yaml"] {
        let path = root().join(file);
        let read = config::parse(Some(&path), &std::fs::read_to_string(&path).unwrap(), []);
        let loaded = read.unwrap_or_else(|errors| panic!("{file}: {errors:?}"));
        assert!(loaded.warnings.is_empty(), "{file}: {:?}", loaded.warnings);
    }
}

/// What a person may type in the demo: read as a chat reads it, by the tools that the demo brings.
#[test]
fn every_line_of_chat_in_the_documents_is_understood() {
    let sources = Origins::demo("http://127.0.0.1:1").load(&Registry::new(Arc::new(Endpoints::new())));
    let read = |line: &str| {
        let [Command::Tool { name, rest }] = &commands::read(line).expect("it is a command")[..] else { return Ok(()) };
        let tool = sources.tools.get(name).unwrap_or_else(|| panic!("no tool of the demo: {line}"));
        let args = commands::arguments(name, rest, &tool.spec.parameters, &tool.usage())?;
        tool.prepare(args).map(drop)
    };
    for (place, text) in fences("chat") {
        text.lines().for_each(|line| assert_eq!(read(line), Ok(()), "{place}: {line}"));
    }
    for (place, text) in fences("chat wrong") {
        text.lines().for_each(|line| assert!(read(line).is_err(), "{place}: {line}"));
    }
}

#[test]
fn every_command_in_the_documents_can_be_typed() {
    let mut seen = 0;
    for (place, text) in fences("sh") {
        for words in text.lines().filter_map(command) {
            seen += 1;
            if let Err(error) = Cli::try_parse_from(&words) {
                panic!("{place}: {}\n{error}", words.join(" "));
            }
        }
    }
    assert!(seen > 20, "only {seen} commands were found");
}

#[test]
fn every_command_in_the_help_can_be_typed() {
    let mut seen = 0;
    let mut commands = vec![Cli::command()];
    while let Some(described) = commands.pop() {
        commands.extend(described.get_subcommands().cloned());
        let help = described.get_after_help().map(ToString::to_string).unwrap_or_default();
        // A line that ends with a backslash goes on, as a shell has it.
        let help = help.replace("\\\n    ", "");
        // What stands behind two spaces says what the command does.
        let typed = help.lines().filter_map(|line| line.trim_start().split("  ").next()).filter_map(command);
        for words in typed {
            seen += 1;
            if let Err(error) = Cli::try_parse_from(&words) {
                panic!("help of '{}': {}\n{error}", described.get_name(), words.join(" "));
            }
        }
    }
    assert!(seen > 20, "only {seen} commands were found");
}

/// The words of a line that runs the binary, behind whatever stands before it.
fn command(line: &str) -> Option<Vec<String>> {
    let line = line.split(" | ").last().unwrap_or(line);
    let line = match line.strip_prefix("cargo run --release -- ") {
        Some(rest) => format!("toolgate {rest}"),
        None => line.to_owned(),
    };
    let words = words(&line);
    let words: Vec<_> =
        words.into_iter().skip_while(|word| word.starts_with("TOOLGATE__")).take_while(|w| w != ">").collect();
    (words.first().map(String::as_str) == Some("toolgate")).then_some(words)
}

/// As a shell splits them: quotes keep together, a comment ends the line.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[test]
fn a_line_is_split_as_a_shell_splits_it() {
    assert_eq!(words(r#"a --b '{"c": 1}' ''  # d"#), ["a", "--b", r#"{"c": 1}"#, ""]);
}

#[tokio::test]
async fn a_program_with_a_gateway_inside_gets_its_answer() {
    // Whoever was first has installed one for all tests.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let shown = embedded::embedded().await.unwrap();
    assert!(shown.contains("words: 5") && shown.contains("count_words"), "{shown}");
}
