//! docs/CONFORMANCE.md says what is tested, and nothing else.

use std::{collections::BTreeSet, fmt::Write as _, path::Path, process::Command};

use conformance::Module;
use expect_test::expect_file;

use crate::MODULES;

const HEAD: &str = "# Conformance

One list of cases, in `tests/conformance`. Every adapter runs each of them against its platform's simulator, over real sockets, with
the real core behind it, as a test named `MODULE::CASE::PLATFORM`. Each ends with the simulator's verdict: no rule of the
platform was broken, and nobody was pinged.

`cargo nextest run -p conformance` runs them; `UPDATE_EXPECT=1 cargo test -p conformance` writes this page from the same
list that the tests are made of. The kinds group the cases: T arguments, E execution, P permission, I what comes in, R rendering,
D delivery and restarts, L reload, X what people and models are told.
";

fn drawn() -> String {
    let mut out = HEAD.to_owned();
    for module in MODULES {
        let _ = write!(out, "\n{}", module.drawn());
    }
    out.push_str("\n## Where a case does not run\n\n| fact | not on | because |\n|---|---|---|\n");
    for line in MODULES.iter().flat_map(Module::exceptions) {
        let _ = writeln!(out, "{line}");
    }
    out
}

#[test]
fn the_document_is_the_list_of_cases() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/CONFORMANCE.md");
    expect_file![file].assert_eq(&drawn());
}

#[test]
fn the_list_of_cases_is_what_this_binary_runs() {
    let me = std::env::current_exe().expect("it runs");
    let listed = Command::new(me).args(["--list", "--format", "terse"]).output().expect("it lists its tests");
    let listed = String::from_utf8(listed.stdout).expect("names are text");
    let own = ["table::"];
    let run: BTreeSet<String> = listed
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .filter(|name| own.iter().all(|own| !name.starts_with(own)))
        .map(str::to_owned)
        .collect();
    let cases: BTreeSet<String> = MODULES.iter().flat_map(Module::tests).collect();
    assert_eq!(run, cases);
}
