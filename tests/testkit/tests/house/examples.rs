//! Every example in the documents is read by the code that it is written for.
//!
//! A fence says what it holds: `yaml tool`, `yaml policy`, `yaml tenants`, `yaml labels`, `yaml config` (read by a
//! test of the binary's crate, which alone knows the configuration), `yaml slack` (read with what the adapters ask for).

use std::sync::Arc;

use endpoints::Endpoints;
use policies::{Policies, Source, ToolFacts};
use tools::Registry;

use crate::files::documents;

/// A fenced block of a document.
pub struct Example {
    /// `docs/TOOLS.md:12`.
    pub place: String,
    /// What stands after the fence: `yaml tool`.
    pub info: String,
    pub text: String,
}

fn examples() -> Vec<Example> {
    documents().iter().flat_map(|(file, text)| fences(file, text)).collect()
}

pub fn fences(file: &str, text: &str) -> Vec<Example> {
    let mut found = Vec::new();
    let mut open: Option<Example> = None;
    for (n, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(info)) => {
                open = Some(Example {
                    place: format!("{file}:{}", n + 1),
                    info: info.trim().to_owned(),
                    text: String::new(),
                });
            }
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(example), None) => {
                example.text.push_str(line);
                example.text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "{file}: a fence is not closed");
    found
}

fn of(info: &str) -> Vec<Example> {
    let found: Vec<_> = examples().into_iter().filter(|example| example.info == info).collect();
    assert!(!found.is_empty(), "no example is marked '{info}'");
    found
}

#[test]
fn every_yaml_example_says_what_it_is() {
    let known = ["yaml tool", "yaml policy", "yaml tenants", "yaml labels", "yaml config", "yaml slack"];
    for example in examples().iter().filter(|e| e.info.starts_with("yaml") || e.info.starts_with("yml")) {
        assert!(
            known.contains(&example.info.as_str()),
            "{}: '{}' is not one of {known:?}",
            example.place,
            example.info
        );
    }
}

#[test]
fn every_tool_in_the_documents_is_a_tool() {
    for example in of("yaml tool") {
        let registry = Registry::new(Arc::new(Endpoints::new().any_credential()));
        let loaded = registry.load_with(&[], &[(&example.place, &example.text)]);
        let errors: Vec<_> = loaded.errors.iter().map(ToString::to_string).collect();
        assert!(errors.is_empty(), "\n{}\n", errors.join("\n"));
        assert!(loaded.snapshot.quarantined().is_empty(), "{}", example.place);
        for tool in loaded.snapshot.tools() {
            for shown in &tool.spec.examples {
                let prepared = tool.prepare(shown.args.clone());
                assert!(prepared.is_ok(), "{}: '{}': {:?}", example.place, shown.say, prepared.err());
            }
        }
    }
}

/// The keys that a reader knows, as it says them of one that it does not know.
fn known_keys(spec: &str) -> Vec<String> {
    let parsed = tools::spec::parse("keys.yaml", spec);
    let hints = parsed.errors.into_iter().filter_map(|error| error.hint);
    let keys: Vec<_> = hints
        .filter_map(|hint| hint.strip_prefix("known are ").map(str::to_owned))
        .flat_map(|keys| keys.split(", ").map(str::to_owned).collect::<Vec<_>>())
        .collect();
    assert!(keys.len() > 1, "{spec}");
    keys
}

#[test]
fn every_key_of_a_tool_is_documented() {
    let page = std::fs::read_to_string(crate::root().join("docs/TOOLS.md")).unwrap();
    let words: Vec<_> = page.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    let endpoint = "endpoint: { url: \"http://a.example\" }";
    for spec in [
        format!("name: a\n{endpoint}\nqqqqqqqqqq: 1\n"),
        format!("name: a\n{endpoint}\nexecution: {{ qqqqqqqqqq: 1 }}\n"),
        "name: a\nendpoint: { url: \"http://a.example\", qqqqqqqqqq: 1 }\n".to_owned(),
        "name: a\nendpoint: { type: pipeline, steps: [{ tool: b, qqqqqqqqqq: 1 }] }\n".to_owned(),
    ] {
        for key in known_keys(&spec) {
            assert!(words.contains(&key.as_str()), "docs/TOOLS.md does not speak of '{key}'");
        }
    }
}

#[test]
fn every_policy_in_the_documents_is_a_policy() {
    for example in of("yaml policy") {
        compiles(&example, &format!("{}.yaml", example.place));
    }
    for example in of("yaml tenants") {
        compiles(&example, "tenants.yaml");
    }
    for example in of("yaml labels") {
        compiles(&example, "labels.yaml");
    }
}

/// Who follows the README ends with its tool, its policy and no error.
#[test]
fn the_readme_goes_together() {
    for readme in ["README.md", "README.zh-CN.md"] {
        goes_together(readme);
    }
}

fn goes_together(readme: &str) {
    let of_readme = |info: &str| -> Vec<_> {
        let own = of(info).into_iter().filter(|example| example.place.starts_with(readme));
        own.map(|example| example.text).collect()
    };
    let registry = Registry::new(Arc::new(Endpoints::new()));
    let loaded = registry.load_with(&[], &[("tools/weather.yaml", &of_readme("yaml tool").join("---\n"))]);
    let source = Source { file: "telegram.yaml".to_owned(), text: of_readme("yaml policy").concat() };
    let policies = Policies::parse(&[source]).unwrap().policies;
    let (compiled, warnings) = policies.compile(&loaded.snapshot.facts()).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(compiled.tools().len(), 1);
}

/// The translation says the same: its examples are the original's, but for what stands behind a `#`, and so are its
/// headings by their order and its links by their targets.
#[test]
fn the_translated_readme_keeps_up() {
    let read = |name: &str| std::fs::read_to_string(crate::root().join(name)).unwrap();
    let (original, translated) = (read("README.md"), read("README.zh-CN.md"));
    let code = |text: &str| -> Vec<_> {
        let line = |line: &str| line.split(" #").next().unwrap_or_default().trim_end().to_owned();
        fences("", text).iter().map(|e| (e.info.clone(), e.text.lines().map(line).collect::<Vec<_>>())).collect()
    };
    assert_eq!(code(&translated), code(&original));
    assert_eq!(levels(&translated), levels(&original));
    assert_eq!(targets(&translated, "README.md"), targets(&original, "README.zh-CN.md"));
}

fn levels(text: &str) -> Vec<usize> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| line.bytes().take_while(|b| *b == b'#').count()).collect()
}

/// Where links and pictures lead to, but for the way to the other language.
fn targets<'t>(text: &'t str, other: &str) -> Vec<&'t str> {
    let mut found: Vec<_> = text.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    found.retain(|target| *target != other);
    found.sort_unstable();
    found
}

fn compiles(example: &Example, file: &str) {
    let source = Source { file: file.to_owned(), text: example.text.clone() };
    let loaded = Policies::parse(&[source]).unwrap_or_else(|errors| panic!("{}: {errors:#?}", example.place));
    let compiled = loaded.policies.compile(&tools());
    assert!(compiled.is_ok(), "{}: {:#?}", example.place, compiled.err());
}

/// The tools that the documents' policies speak of.
fn tools() -> Vec<ToolFacts> {
    let tool = |name: &str, toolset: &str, label: &str| ToolFacts {
        name: name.into(),
        toolset: toolset.into(),
        labels: vec![label.into()],
        platforms: None,
        published: true,
        available: true,
    };
    vec![
        tool("ping", "default", "read"),
        tool("weather_query", "weather", "read"),
        tool("order_query", "orders", "read"),
        tool("order_refund", "orders", "money"),
        tool("send_message", "messaging", "network"),
        tool("run_report", "reports", "read"),
        tool("read_file", "files", "read"),
    ]
}
