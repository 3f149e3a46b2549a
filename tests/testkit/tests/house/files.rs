//! What no file of ours may be or hold.

use crate::{files, root};

const FOLDERS: &[&str] = &["core", "platform-policies", "adapters", "deploy", "tests"];
const SOURCES: &[&str] = &[".rs", ".js", ".css", ".html", ".lua", ".sql"];

/// More lines than a reader keeps in mind.
const MOST_LINES: usize = 450;

/// Longer files, each with the reason why it is better whole.
const LONGER: &[(&str, &str)] = &[
    ("core/tools/src/schema/tests.rs", "a table of cases"),
    ("core/tools/src/spec/tests.rs", "a table of cases"),
    ("platform-policies/tests/policies/errors.rs", "a table of cases"),
    ("platform-policies/tests/policies/semantics.rs", "a table of cases"),
];

pub fn sources() -> Vec<(String, String)> {
    FOLDERS.iter().flat_map(|folder| files(folder, SOURCES)).collect()
}

#[test]
fn a_file_is_short_or_has_a_reason() {
    let mut wrong = Vec::new();
    let sources = sources();
    for (file, text) in &sources {
        let lines = text.lines().count();
        let is_excused = LONGER.iter().any(|(path, _)| path == file);
        if lines > MOST_LINES && !is_excused {
            wrong.push(format!("{file} has {lines} lines, more than {MOST_LINES}: split it"));
        }
        if lines <= MOST_LINES && is_excused {
            wrong.push(format!("{file} is short now: take it out of the list of longer files"));
        }
    }
    for (path, _) in LONGER {
        if !sources.iter().any(|(file, _)| file == path) {
            wrong.push(format!("{path} is gone: take it out of the list of longer files"));
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn unsafe_is_nowhere() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(manifest.contains("unsafe_code = \"forbid\""));
    // The lint does not see what a test allows itself before it is compiled for another machine.
    let word = concat!("un", "safe");
    let mut wrong = Vec::new();
    for (file, text) in sources() {
        for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            if [" {", " fn", " impl", " extern", "_code)"].iter().any(|next| line.contains(&format!("{word}{next}"))) {
                wrong.push(format!("{file}:{}", n + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn nothing_is_skipped_and_nothing_is_left_to_do() {
    let marks = [concat!("#[ign", "ore"), concat!("todo", "!("), concat!("unimple", "mented!("), concat!("dbg", "!(")];
    let mut wrong = Vec::new();
    for (file, text) in sources() {
        for (n, line) in text.lines().enumerate() {
            if let Some(mark) = marks.iter().find(|mark| line.contains(**mark)) {
                wrong.push(format!("{file}:{}: {mark}", n + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn links_in_documents_lead_somewhere() {
    let mut wrong = Vec::new();
    for (file, text) in documents() {
        let folder = std::path::Path::new(&file).parent().unwrap_or(std::path::Path::new("")).to_path_buf();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = target.split('#').next().unwrap_or_default();
            let is_ours = !path.is_empty() && !path.contains("://");
            if is_ours && !root().join(&folder).join(path).exists() {
                wrong.push(format!("{file}: {target}"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn paths_named_in_documents_are_there() {
    let mut wrong = Vec::new();
    for (file, text) in documents() {
        for named in text.split('`').skip(1).step_by(2) {
            // What people put there themselves is not in the repository.
            let is_path = !named.contains("/secrets/")
                && FOLDERS.iter().chain(&["docs"]).any(|folder| named.starts_with(&format!("{folder}/")));
            if is_path && !named.contains(char::is_whitespace) && !root().join(named).exists() {
                wrong.push(format!("{file}: {named}"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn a_limit_has_its_number_where_the_page_says() {
    let page = std::fs::read_to_string(root().join("docs/LIMITS.md")).unwrap();
    let (mut seen, mut wrong) = (0, Vec::new());
    for row in page.lines().filter(|line| line.starts_with("| ")) {
        let place = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
        for place in place.split(';').filter(|place| place.contains(".rs`")) {
            let mut words = place.split('`').skip(1).step_by(2);
            let file = words.next().unwrap_or_default();
            let source = std::fs::read_to_string(root().join(file)).unwrap_or_default();
            let names: Vec<_> = source.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
            for word in words {
                seen += 1;
                if !names.contains(&word) {
                    wrong.push(format!("{file} has no '{word}': {row}"));
                }
            }
        }
    }
    assert!(seen > 40, "only {seen} names were found");
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// The documents of the root and of `docs/`.
pub fn documents() -> Vec<(String, String)> {
    let mut all = files("docs", &[".md"]);
    for name in ["README.md", "README.zh-CN.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        all.push((name.to_owned(), std::fs::read_to_string(root().join(name)).unwrap()));
    }
    all
}
