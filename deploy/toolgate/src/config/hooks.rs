//! What is added to the way of every call: the key `hooks`.

use std::time::Duration;

use contract::Platform;
use endpoints::hooks::{At, Via};
use reqwest::header::HeaderName;
use tools::stages::{
    Class, MOST, Name, Only,
    built_in::{Cost, Defaults, Kind, Mask, Summary},
};

use super::{
    mcp::values,
    read::{Reader, Table},
    yaml::{Key, Spot, Tree, Value},
};

/// A hook and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Hook {
    pub name: String,
    pub spot: Spot,
    pub does: Does,
    pub only: Only,
}

/// What a hook does.
#[derive(Debug, Clone, PartialEq)]
pub enum Does {
    /// It is asked, somewhere else.
    Asks {
        at: At,
        via: Via,
        class: Class,
        timeout: Duration,
    },
    Fills(Defaults),
    Masks(Mask),
    Shortens(Summary),
    Costs(Cost),
}

/// How long a hook may take, where nothing else is said, and at most.
pub const TIMEOUT: Duration = Duration::from_secs(5);
pub const TIMEOUT_MAX: Duration = Duration::from_secs(60);
/// Least characters above which an answer is told in short.
pub const SHORT_LEAST: u64 = 200;

const STAGES: [(&str, At); 5] = [
    ("request", At::Request),
    ("before", At::Before),
    ("execution", At::Execution),
    ("transform", At::Transform),
    ("after", At::After),
];
const CLASSES: [(&str, Class); 2] = [("policy", Class::Policy), ("observer", Class::Observer)];
const KINDS: [(&str, Kind); 3] = [("email", Kind::Email), ("phone", Kind::Phone), ("card", Kind::Card)];
/// What a hook is; one of them.
const WHAT: [&str; 6] = ["webhook", "command", "defaults", "mask", "summary", "cost"];
/// Headers that are set by us.
const TAKEN: [&str; 5] = ["content-type", "content-length", "host", "connection", "transfer-encoding"];

pub(super) fn read(reader: &mut Reader, tree: Tree) -> Vec<Hook> {
    let spot = tree.spot.clone();
    let Some(mut table) = reader.table("hooks", tree) else { return Vec::new() };
    let all: Vec<_> = table.take_all().into_iter().filter_map(|(name, tree)| hook(reader, name, tree)).collect();
    if all.len() > MOST {
        reader.error(&spot, format!("'hooks' must be at most {MOST}"));
    }
    all
}

fn hook(reader: &mut Reader, name: Key, tree: Tree) -> Option<Hook> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
    if name.text.is_empty() || name.text.len() > 32 || !name.text.chars().all(fits) {
        reader.error(&name.spot, "a hook's name must be at most 32 of a-z, 0-9, '_' and '-'");
        return None;
    }
    let mut table = reader.table(&format!("hooks.{}", name.text), tree)?;
    let only = only(reader, &mut table);
    let does = does(reader, &mut table);
    reader.finish(table);
    Some(Hook { name: name.text, spot: name.spot, does: does?, only })
}

fn does(reader: &mut Reader, table: &mut Table) -> Option<Does> {
    let given: Vec<_> = WHAT.into_iter().filter(|what| table.has(what)).collect();
    let [what] = given[..] else {
        let message = match given.is_empty() {
            true => format!("'{}' says nothing to do: it needs one of {}", table.path, WHAT.join(", ")),
            false => format!("'{}' is one of {}, not several", table.path, given.join(", ")),
        };
        // A key that is nearly one of them is said by itself.
        WHAT.iter().for_each(|what| drop(table.take(what)));
        if !given.is_empty() || !WHAT.iter().any(|what| table.is_misspelt(what)) {
            reader.error(&table.spot.clone(), message);
        }
        STAGE_KEYS.iter().for_each(|key| drop(table.take(key)));
        return None;
    };
    let tree = table.take(what)?;
    let path = table.name(what);
    match what {
        "webhook" | "command" => asks(reader, table, what, tree),
        "defaults" => fills(reader, &path, tree).map(Does::Fills),
        "mask" => masks(reader, &path, tree).map(|kinds| Does::Masks(Mask(kinds))),
        "summary" => {
            let above = reader.whole(&path, &tree)?;
            if above < SHORT_LEAST {
                reader.error(&tree.spot, format!("'{path}' must be at least {SHORT_LEAST} characters"));
            }
            Some(Does::Shortens(Summary { above: usize::try_from(above).unwrap_or(usize::MAX) }))
        }
        _ => cost(reader, &path, &tree).map(Does::Costs),
    }
}

/// Keys of hooks that are asked somewhere else, so that they are known where nothing is to do.
const STAGE_KEYS: [&str; 5] = ["stage", "class", "timeout", "headers", "env"];

fn asks(reader: &mut Reader, table: &mut Table, what: &str, tree: Tree) -> Option<Does> {
    let via = match what {
        "webhook" => webhook(reader, table, &tree),
        _ => program(reader, table, tree),
    };
    let class = table.take("class").and_then(|tree| {
        let class = reader.choice(&table.name("class"), &tree, &CLASSES)?;
        Some((tree.spot, class))
    });
    let timeout = table.take("timeout").and_then(|tree| {
        let timeout = reader.duration(&table.name("timeout"), &tree)?;
        if timeout.is_zero() || timeout > TIMEOUT_MAX {
            let message =
                format!("'{}' must be above 0 and at most {} s", table.name("timeout"), TIMEOUT_MAX.as_secs());
            reader.error(&tree.spot, message);
        }
        Some(timeout)
    });
    let Some(stage) = table.take("stage") else {
        if !table.is_misspelt("stage") {
            let words: Vec<_> = STAGES.iter().map(|(word, _)| *word).collect();
            let message = format!("'{}' is missing: one of {}", table.name("stage"), words.join(", "));
            reader.error(&table.spot.clone(), message);
        }
        return None;
    };
    let at = reader.choice(&table.name("stage"), &stage, &STAGES)?;
    let class = match (at, class) {
        (At::After, Some((spot, Class::Policy))) => {
            reader.error(&spot, "a hook at the stage 'after' decides nothing: its class is 'observer'");
            Class::Observer
        }
        (At::After, _) => Class::Observer,
        (_, class) => class.map_or(Class::Policy, |(_, class)| class),
    };
    Some(Does::Asks { at, via: via?, class, timeout: timeout.unwrap_or(TIMEOUT) })
}

fn webhook(reader: &mut Reader, table: &mut Table, tree: &Tree) -> Option<Via> {
    let url = reader.url(&table.name("webhook"), tree);
    let path = table.name("headers");
    let written = table.take("headers").map(|tree| values(reader, &path, tree)).unwrap_or_default();
    let mut headers = Vec::new();
    for (key, parts) in written {
        match key.text.parse::<HeaderName>() {
            Ok(name) if !TAKEN.contains(&name.as_str()) => headers.push((name, parts)),
            Ok(name) => reader.error(&key.spot, format!("the header '{name}' is set by the gateway")),
            Err(_) => reader.error(&key.spot, format!("a key of '{path}' cannot be a header's name")),
        }
    }
    Some(Via::Webhook { url: url?, headers })
}

fn program(reader: &mut Reader, table: &mut Table, tree: Tree) -> Option<Via> {
    let path = table.name("command");
    let env = table.take("env").map(|tree| values(reader, &table.name("env"), tree)).unwrap_or_default();
    let Value::List(words) = &tree.value else {
        reader.error(&tree.spot, format!("'{path}' must be a list of words: there is no shell"));
        return None;
    };
    let argv: Option<Vec<_>> = words.iter().map(|word| reader.text(&path, word)).collect();
    let Some(argv) = argv.filter(|words| !words.is_empty()) else {
        if words.is_empty() {
            reader.error(&tree.spot, format!("'{path}' is empty: which program is to be asked?"));
        }
        return None;
    };
    let folder = Some(reader.base.clone()).filter(|base| !base.as_os_str().is_empty());
    let env = env.into_iter().map(|(key, parts)| (key.text, parts)).collect();
    Some(Via::Program { argv, env, folder })
}

fn fills(reader: &mut Reader, path: &str, tree: Tree) -> Option<Defaults> {
    let spot = tree.spot.clone();
    let mut table = reader.table(path, tree)?;
    let all: serde_json::Map<_, _> = table.take_all().into_iter().map(|(name, tree)| (name.text, json(tree))).collect();
    if all.is_empty() {
        reader.error(&spot, format!("'{path}' names no argument"));
    }
    Some(Defaults(all))
}

fn masks(reader: &mut Reader, path: &str, tree: Tree) -> Option<Vec<Kind>> {
    if matches!(tree.scalar().as_deref(), Some("all")) {
        return Some(Kind::ALL.into());
    }
    if matches!(&tree.value, Value::List(items) if items.is_empty()) {
        reader.error(&tree.spot, format!("'{path}' must be 'all', or a list of email, phone and card"));
    }
    Some(reader.list(tree).iter().filter_map(|item| reader.choice(path, item, &KINDS)).collect())
}

fn cost(reader: &mut Reader, path: &str, tree: &Tree) -> Option<Cost> {
    let cost = match tree.value {
        Value::Int(whole) => Some(whole as f64),
        Value::Float(cost) => Some(cost),
        _ => None,
    };
    let micros = cost.filter(|cost| (0.000_001..=1_000_000.0).contains(cost)).map(|cost| (cost * 1e6).round() as u64);
    if micros.is_none() {
        reader.error(&tree.spot, format!("'{path}' must be what an attempt costs: a number from 0.000001 to 1000000"));
    }
    micros.map(|micros| Cost { micros })
}

fn only(reader: &mut Reader, table: &mut Table) -> Only {
    let mut only = Only::default();
    for (key, names) in [
        ("tools", &mut only.tools),
        ("toolsets", &mut only.toolsets),
        ("labels", &mut only.labels),
        ("tenants", &mut only.tenants),
    ] {
        let Some(tree) = table.take(key) else { continue };
        let path = table.name(key);
        *names = listed(reader, &path, tree, |reader, item| reader.text(&path, item).map(|name| Name::new(&name)));
    }
    if let Some(tree) = table.take("platforms") {
        let path = table.name("platforms");
        let words = Platform::ALL.map(|platform| (platform.as_str(), platform));
        only.platforms = listed(reader, &path, tree, |reader, item| reader.choice(&path, item, &words));
    }
    only
}

/// An empty list would be for everything, which nobody means.
fn listed<T>(
    reader: &mut Reader,
    path: &str,
    tree: Tree,
    mut read: impl FnMut(&mut Reader, &Tree) -> Option<T>,
) -> Vec<T> {
    if matches!(&tree.value, Value::List(items) if items.is_empty()) {
        reader.error(&tree.spot, format!("'{path}' is empty: leave it out where all are meant"));
    }
    reader.list(tree).iter().filter_map(|item| read(reader, item)).collect()
}

fn json(tree: Tree) -> serde_json::Value {
    match tree.value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(yes) => yes.into(),
        Value::Int(number) => number.into(),
        Value::Float(number) => number.into(),
        Value::Text(text) => text.into(),
        Value::List(items) => items.into_iter().map(json).collect(),
        Value::Map(pairs) => {
            pairs.into_iter().map(|(key, tree)| (key.text, json(tree))).collect::<serde_json::Map<_, _>>().into()
        }
    }
}

#[cfg(test)]
mod tests;
