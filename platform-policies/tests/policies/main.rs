//! What policies mean, through few doors: `check` for verdicts, `wrong` for what is wrong in a file.

mod approvals;
mod elsewhere;
mod errors;
mod manner;
mod properties;
mod semantics;
mod shipped;

use std::sync::Arc;

use contract::{Caller, Finding, Origin, Platform, Sender};
use policies::{Compiled, Policies, Source, ToolFacts};

/// The tools of most tests, as `name toolset label…`.
const TOOLS: [&str; 7] = [
    "weather_query weather read",
    "order_query orders read",
    "order_refund orders money",
    "send_message messaging write",
    "run shell shell",
    "note default write_files",
    "draft default",
];

fn tool(line: &str) -> ToolFacts {
    let mut words = line.split(' ');
    let mut word = || words.next().expect("a tool has a name and a toolset").into();
    ToolFacts {
        name: word(),
        toolset: word(),
        labels: words.map(Arc::from).collect(),
        platforms: None,
        published: true,
        available: true,
    }
}

fn tools() -> Vec<ToolFacts> {
    TOOLS.iter().map(|line| tool(line)).collect()
}

/// `slack id:U1 role:R1 channel:C1 space:T1 thread:5 tenant:finance`, all but the platform optional.
fn caller(line: &str) -> Caller {
    let mut words = line.split(' ');
    let platform: Platform = words.next().and_then(|word| word.parse().ok()).expect("a caller has a platform");
    let mut caller = Caller {
        platform,
        account: "main".into(),
        tenant: "default".into(),
        space: None,
        conversation: "C0".into(),
        thread: None,
        sender: Sender { id: "U0".into(), name: "ops".into() },
        roles: Vec::new(),
        origin: Origin::Command,
    };
    for word in words {
        match word.split_once(':').expect("words of a caller are key:value") {
            ("id", id) => caller.sender.id = id.into(),
            ("role", id) => caller.roles.push(id.into()),
            ("channel", id) => caller.conversation = id.into(),
            ("thread", id) => caller.thread = Some(id.into()),
            ("space", id) => caller.space = Some(id.into()),
            ("tenant", id) => caller.tenant = id.into(),
            (key, _) => panic!("unknown word {key}"),
        }
    }
    caller
}

/// Files in one text, each after a line `# name.yaml`; line numbers are those within the file, that line included.
fn sources(text: &str) -> Vec<Source> {
    let mut files: Vec<Source> = Vec::new();
    for line in text.trim_start_matches('\n').lines() {
        match line.strip_prefix("# ").filter(|name| name.ends_with(".yaml")) {
            Some(name) => files.push(Source::new(name, format!("{line}\n"))),
            None => {
                let file = files.last_mut().expect("a file begins with its name");
                file.text.push_str(line);
                file.text.push('\n');
            }
        }
    }
    files
}

fn try_compile(text: &str, tools: &[ToolFacts]) -> Result<(Compiled, Vec<Finding>), Vec<Finding>> {
    let loaded = Policies::parse(&sources(text))?;
    let (compiled, warnings) = loaded.policies.compile(tools)?;
    Ok((compiled, [loaded.warnings, warnings].concat()))
}

fn lines(errors: &[Finding]) -> String {
    errors.iter().map(|error| format!("{error}\n")).collect()
}

fn compile(text: &str) -> Compiled {
    match try_compile(text, &tools()) {
        Ok((compiled, _)) => compiled,
        Err(errors) => panic!("{}", lines(&errors)),
    }
}

fn view(policies: &Compiled, who: &str) -> String {
    let names: Vec<_> = policies.view(&caller(who)).iter().map(|ix| policies.name(ix).to_owned()).collect();
    names.join(" ")
}
