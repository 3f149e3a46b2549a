//! Who may import whom. A crate that is not in the table, or that imports more than its line allows, fails.

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

use crate::{files, root};

/// What may be imported of ours in a crate's own code; what its tests import is free.
const TABLE: &[(&str, &[&str])] = &[
    ("contract", &[]),
    ("policies", &["contract"]),
    ("store", &["contract"]),
    ("words", &["contract"]),
    ("document", &["contract", "words"]),
    ("telegram", &["contract", "document", "words"]),
    ("discord", &["contract", "document", "words"]),
    ("slack", &["contract", "document", "words"]),
    ("tools", &["contract", "policies"]),
    ("endpoints", &["contract", "policies", "tools"]),
    ("dispatch", &["contract", "policies", "tools", "words"]),
    ("models", &["contract", "dispatch"]),
    // Of `dispatch` only the facade: see `the_http_interface_knows_the_gateway_alone`.
    ("web", &["contract", "dispatch"]),
    (
        "toolgate",
        // `sim` for the demo and `toolgate sim`.
        &[
            "contract",
            "policies",
            "tools",
            "endpoints",
            "dispatch",
            "models",
            "store",
            "words",
            "telegram",
            "discord",
            "slack",
            "web",
            "sim",
        ],
    ),
    // Independent of what it tests: it shares no parsing and no rendering with the adapters.
    ("sim", &[]),
    ("fake", &["contract"]),
    ("testkit", &["contract", "policies", "tools", "endpoints", "dispatch", "store"]),
    (
        "conformance",
        &["contract", "dispatch", "endpoints", "store", "telegram", "discord", "slack", "sim", "testkit", "tools"],
    ),
    ("e2e", &[]),
    (
        "bench",
        &[
            "contract",
            "policies",
            "tools",
            "endpoints",
            "dispatch",
            "store",
            "telegram",
            "discord",
            "slack",
            "web",
            "sim",
            "conformance",
            "fake",
            "testkit",
            "words",
        ],
    ),
];

fn metadata() -> Metadata {
    MetadataCommand::new().manifest_path(root().join("Cargo.toml")).no_deps().exec().unwrap()
}

/// What a crate imports of ours outside of its tests.
fn imports(package: &Package) -> Vec<&str> {
    let ours = package.dependencies.iter().filter(|d| d.path.is_some() && d.kind != DependencyKind::Development);
    let mut names: Vec<_> = ours.map(|d| d.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[test]
fn nobody_imports_more_than_the_table_allows() {
    let metadata = metadata();
    let mut wrong = Vec::new();
    for package in &metadata.packages {
        let name = package.name.as_str();
        let Some((_, allowed)) = TABLE.iter().find(|(of, _)| *of == name) else {
            wrong.push(format!("'{name}' is not in the table of imports: decide what it may import"));
            continue;
        };
        for import in imports(package).into_iter().filter(|import| !allowed.contains(import)) {
            let allowed = if allowed.is_empty() { "nothing of ours".to_owned() } else { allowed.join(", ") };
            wrong.push(format!("'{name}' imports '{import}'; allowed: {allowed}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn the_table_names_no_crate_that_is_gone() {
    let metadata = metadata();
    let gone = |name: &&str| !metadata.packages.iter().any(|p| p.name.as_str() == *name);
    let named = TABLE.iter().flat_map(|(name, allowed)| std::iter::once(name).chain(allowed.iter()));
    let gone: Vec<_> = named.copied().filter(|name| gone(name)).collect();
    assert!(gone.is_empty(), "{gone:?}");
}

#[test]
fn every_crate_stays_at_home_and_keeps_the_lints() {
    for package in &metadata().packages {
        assert_eq!(package.publish.as_deref(), Some(&[][..]), "'{}' could be published", package.name);
        let manifest = std::fs::read_to_string(&package.manifest_path).unwrap();
        assert!(
            manifest.contains("[lints]\nworkspace = true"),
            "'{}' does not take the workspace's lints",
            package.name
        );
    }
}

#[test]
fn the_http_interface_knows_the_gateway_alone() {
    // The facade, what it takes and gives, and pure functions that say a reply, a schedule and its times in plain text.
    const FACADE: &[&str] = &[
        "Gateway",
        "Invoked",
        "Asking",
        "NotPaired",
        "Paired",
        "NotMounted",
        "keeper",
        "say",
        "Fared",
        "FaredIn",
        "NewSchedule",
        "ScheduleSet",
        "HttpClient",
        "AuditHealth",
        "BOUNDS_US",
        "Counted",
        "CountedCalls",
        "CountedTool",
        "Guarded",
        "Spent",
        "TraceHealth",
        "Unusual",
        "in_words",
        "written",
    ];
    let mut wrong = Vec::new();
    for (file, text) in files("adapters/web/src", &[".rs"]) {
        // Its own tests open a gateway.
        for (n, line) in text.lines().take_while(|line| !line.contains("#[cfg(test)]")).enumerate() {
            for used in line.split("dispatch::").skip(1).flat_map(names_of) {
                if !FACADE.contains(&used.as_str()) {
                    wrong.push(format!("{file}:{}: dispatch::{used}", n + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\nallowed: {}\n", wrong.join("\n"), FACADE.join(", "));
}

/// The first names of what follows `dispatch::`: `Gateway`, or all of `{Gateway, Invoked}`.
fn names_of(rest: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let list = match rest.strip_prefix('{') {
        Some(list) => list.split('}').next().unwrap_or_default(),
        None => rest.split(|c: char| !is_part(c)).next().unwrap_or_default(),
    };
    let first = |item: &str| item.trim().split(|c: char| !is_part(c)).next().unwrap_or_default().to_owned();
    list.split(',').map(first).filter(|name| !name.is_empty()).collect()
}
