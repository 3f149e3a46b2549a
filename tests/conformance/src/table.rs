//! The cases as a table for people, made of the same list as the tests.

use std::fmt::Write as _;

use contract::Platform;

/// One case.
pub struct Case {
    pub name: &'static str,
    /// The kinds of fault that it is about.
    pub kinds: &'static str,
    /// Where it runs, when that is not everywhere.
    pub only: &'static [Platform],
    /// Why it does not run elsewhere.
    pub why: &'static str,
}

/// The cases of one module.
pub struct Module {
    pub name: &'static str,
    pub about: &'static str,
    pub cases: &'static [Case],
}

const PLATFORMS: [Platform; 3] = [Platform::Discord, Platform::Telegram, Platform::Slack];

impl Case {
    pub fn runs_on(&self, platform: Platform) -> bool {
        self.only.is_empty() || self.only.contains(&platform)
    }
}

impl Module {
    /// The names of its tests.
    pub fn tests(&self) -> impl Iterator<Item = String> + '_ {
        self.cases.iter().flat_map(move |case| {
            let on = PLATFORMS.into_iter().filter(|platform| case.runs_on(*platform));
            on.map(move |platform| format!("{}::{}::{platform}", self.name, case.name))
        })
    }

    /// Its part of the document.
    pub fn drawn(&self) -> String {
        let mut out =
            format!("## {}\n\n| fact | kinds | Discord | Telegram | Slack |\n|---|---|---|---|---|\n", self.about);
        for case in self.cases {
            let fact = case.name.replace('_', " ");
            let marks = PLATFORMS.map(|platform| if case.runs_on(platform) { "✓" } else { "–" });
            let _ = writeln!(out, "| {fact} | {} | {} |", case.kinds, marks.join(" | "));
        }
        out
    }

    /// What it leaves out, and why.
    pub fn exceptions(&self) -> impl Iterator<Item = String> + '_ {
        self.cases.iter().filter(|case| !case.only.is_empty()).map(|case| {
            let without = PLATFORMS.into_iter().filter(|platform| !case.runs_on(*platform));
            let names: Vec<String> = without.map(called).collect();
            format!("| {} | {} | {} |", case.name.replace('_', " "), names.join(", "), case.why)
        })
    }
}

fn called(platform: Platform) -> String {
    let name = platform.to_string();
    name.chars().take(1).flat_map(char::to_uppercase).chain(name.chars().skip(1)).collect()
}
