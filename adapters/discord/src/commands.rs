//! The menu as application commands, and what is typed into them as arguments. Pure; [`keep`] registers it.
//!
//! A command has a legal name that stands for one tool, and each option one that stands for one parameter: what comes in is
//! mapped back exactly. Bodies are JSON of our own: the builders know no negative bounds of integers.

use std::{collections::HashMap, sync::Arc};

use contract::{Digest, Menu, MenuItem, text};
use serde_json::{Map, Value, json};

pub(crate) use self::{form::Form, options::Options};
use crate::inbound::Opt;

mod form;
pub(crate) mod keep;
mod options;
#[cfg(test)]
mod tests;

/// Discord takes so many commands.
const MOST: usize = 100;
/// When there are more tools, so many are commands of their own; the others stand in groups.
const MOST_ALONE: usize = 60;
const MOST_IN_GROUP: usize = 25;
const LONGEST_NAME: usize = 32;
const LONGEST_DESCRIPTION: usize = 100;
/// Characters of names, descriptions and values in one command, a little below what is refused.
const LARGEST: usize = 7_500;
/// Runs a tool that has no command of its own.
const RUN: &str = "run";
const GROUP: &str = "tools-";
const CHAT_INPUT: u8 = 1;
const SUB_COMMAND: u8 = 1;
const STRING: u8 = 3;

/// The commands of a view.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    /// As they are registered.
    pub(crate) wire: Vec<Value>,
    tools: HashMap<String, Arc<Tool>>,
}

/// What a command stands for.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) parameters: Arc<Value>,
    options: Options,
}

/// What a person's command means.
#[derive(Debug, PartialEq)]
pub(crate) enum Called {
    Args {
        tool: String,
        args: Map<String, Value>,
    },
    /// Arguments that are JSON of which nothing can be made here: read as a command that was typed.
    Typed(String),
}

impl Commands {
    pub(crate) fn of(menu: &Menu) -> Self {
        let named = names(menu);
        let mut commands = Self::default();
        let mut described = Vec::with_capacity(named.len());
        for (legal, item) in named {
            let options = Options::of(&item.parameters);
            described.push(Described::new(&legal, item, &options));
            let tool = Tool { name: item.name.clone(), parameters: item.parameters.clone(), options };
            commands.tools.insert(legal, Arc::new(tool));
        }
        commands.wire = if described.len() <= MOST {
            described.into_iter().map(Described::alone).collect()
        } else {
            arranged(described)
        };
        commands
    }

    /// The tool behind a command's name and its sub-commands.
    pub(crate) fn find(&self, path: &[String]) -> Option<&Arc<Tool>> {
        self.tools.get(path.last()?)
    }

    /// The tool and the parameter that a half typed option is of.
    pub(crate) fn focused(&self, path: &[String], options: &[Opt]) -> Option<(String, String, String)> {
        let typed = options.iter().find(|option| option.focused)?;
        let tool = self.find(path)?;
        Some((tool.name.clone(), tool.options.original(&typed.name), plain(&typed.value)))
    }

    /// Names of tools that hold what was typed, for the command that runs any of them.
    pub(crate) fn like(&self, typed: &str) -> Vec<String> {
        let typed = typed.to_lowercase();
        let mut names: Vec<String> = self.tools.values().map(|tool| tool.name.clone()).collect();
        names.retain(|name| name.to_lowercase().contains(&typed) && name.chars().count() <= LONGEST_DESCRIPTION);
        names.sort();
        names
    }

    /// What a command that came in means.
    pub(crate) fn called(&self, path: &[String], options: &[Opt]) -> Called {
        if is_run(path) && !self.tools.contains_key(RUN) {
            let value =
                |name: &str| options.iter().find(|option| option.name == name).map(|option| plain(&option.value));
            let tool = value("name").unwrap_or_default();
            return whole(tool.trim_start_matches('/'), value("json").as_deref(), Map::new());
        }
        let Some(tool) = self.find(path) else {
            let args = crate::inbound::arguments(options, str::to_owned);
            return Called::Args { tool: path.join(" "), args };
        };
        let mut args = crate::inbound::arguments(options, |name| tool.options.original(name));
        match tool.options.is_whole.then(|| args.shift_remove(options::WHOLE)).flatten() {
            Some(json) => whole(&tool.name, Some(&plain(&json)), args),
            None => Called::Args { tool: tool.name.clone(), args },
        }
    }
}

pub(crate) fn is_run(path: &[String]) -> bool {
    matches!(path, [only] if only == RUN)
}

/// What was written into a form of ours for a tool.
pub(crate) fn filled(tool: &str, mut args: Map<String, Value>) -> Called {
    match args.shift_remove(form::WHOLE_FIELD) {
        Some(json) => whole(tool, Some(&plain(&json)), args),
        None => Called::Args { tool: tool.to_owned(), args },
    }
}

/// All arguments as one JSON text.
fn whole(tool: &str, json: Option<&str>, mut args: Map<String, Value>) -> Called {
    let Some(json) = json.map(str::trim).filter(|json| !json.is_empty()) else {
        return Called::Args { tool: tool.to_owned(), args };
    };
    match serde_json::from_str(json) {
        Ok(Value::Object(read)) => {
            args.extend(read);
            Called::Args { tool: tool.to_owned(), args }
        }
        _ => Called::Typed(format!("/{tool} {json}")),
    }
}

/// A value as it was typed.
pub(crate) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Each item with a name that Discord takes and no other item has. Whoever has a legal name keeps it.
fn names(menu: &Menu) -> Vec<(String, &MenuItem)> {
    let mut taken: HashMap<String, usize> = HashMap::new();
    let mut items: Vec<&MenuItem> = Vec::new();
    for item in &menu.items {
        if !items.iter().any(|other| other.name == item.name) {
            items.push(item);
        }
    }
    for (n, item) in items.iter().enumerate().filter(|(_, item)| legal(&item.name) == item.name) {
        taken.insert(item.name.clone(), n);
    }
    let mut named = Vec::with_capacity(items.len());
    for (n, item) in items.into_iter().enumerate() {
        let name = legal(&item.name);
        let owner = *taken.entry(name.clone()).or_insert(n);
        named.push((if owner == n { name } else { marked(&name, &item.name) }, item));
    }
    named
}

/// The name in the letters that Discord takes, and short enough.
pub(crate) fn legal(name: &str) -> String {
    let is_legal = |c: char| c.is_alphanumeric() || c == '-' || c == '_' || c == '\'';
    let lower: String = name.to_lowercase().chars().map(|c| if is_legal(c) { c } else { '-' }).collect();
    if lower.is_empty() || lower.chars().count() > LONGEST_NAME { marked(&lower, name) } else { lower }
}

/// The beginning of a name, and a mark that is the whole name's alone.
fn marked(legal: &str, name: &str) -> String {
    let mark = &Digest::of(name.as_bytes()).to_string()[..6];
    let beginning: String = legal.chars().take(LONGEST_NAME - 7).collect();
    format!("{beginning}-{mark}")
}

/// One line within the limit; never nothing, which is refused.
fn describe(description: &str, otherwise: &str) -> String {
    let line = text::one_line(description, LONGEST_DESCRIPTION);
    if line.is_empty() { text::cut(otherwise, LONGEST_DESCRIPTION) } else { line }
}

/// A command before it has its place.
struct Described {
    name: String,
    description: String,
    options: Vec<Value>,
    size: usize,
    toolset: Arc<str>,
}

impl Described {
    fn new(name: &str, item: &MenuItem, options: &Options) -> Self {
        let description = describe(&item.description, name);
        let mut wire = options.wire.clone();
        let own = name.chars().count() + description.chars().count();
        let mut size = own + size(&wire);
        if size > LARGEST {
            // Choices are what makes a command large; they are looked up while it is typed instead.
            wire.iter_mut().for_each(options::complete_instead);
            size = own + self::size(&wire);
        }
        Self { name: name.to_owned(), description, options: wire, size, toolset: item.toolset.clone() }
    }

    fn alone(self) -> Value {
        json!({"name": self.name, "type": CHAT_INPUT, "description": self.description, "options": self.options})
    }

    fn within(self) -> Value {
        json!({"name": self.name, "type": SUB_COMMAND, "description": self.description, "options": self.options})
    }

    /// What tools of one kind share: their toolset, else what their names begin with.
    fn kind(&self) -> String {
        let beginning = self.name.split(['_', '-', '.']).next().unwrap_or_default();
        let kind = if self.toolset.is_empty() { beginning.to_owned() } else { legal(&self.toolset) };
        kind.chars().take(LONGEST_NAME - GROUP.len() - 3).collect()
    }
}

/// Names, descriptions and values of choices, counted as Discord counts them.
fn size(options: &[Value]) -> usize {
    let chars = |value: &Value| value.as_str().map_or(0, |text| text.chars().count());
    let choices = |option: &Value| -> usize {
        let choices = option["choices"].as_array().into_iter().flatten();
        choices.map(|choice| chars(&choice["name"]) + chars(&choice["value"]).max(8)).sum()
    };
    options.iter().map(|option| chars(&option["name"]) + chars(&option["description"]) + choices(option)).sum()
}

/// More commands than Discord takes: the first stand alone, the others in groups, the rest is reachable by name.
fn arranged(described: Vec<Described>) -> Vec<Value> {
    let mut described = described.into_iter();
    let mut wire: Vec<Value> = described.by_ref().take(MOST_ALONE).map(Described::alone).collect();
    wire.push(run());
    for (name, members) in grouped(described).into_iter().take(MOST - MOST_ALONE - 1) {
        let options: Vec<Value> = members.into_iter().map(Described::within).collect();
        wire.push(json!({"name": name, "type": CHAT_INPUT, "description": name, "options": options}));
    }
    wire
}

/// By what they share; a group that is full is gone on with in another.
fn grouped(described: impl Iterator<Item = Described>) -> Vec<(String, Vec<Described>)> {
    let mut groups: Vec<(String, Vec<Described>)> = Vec::new();
    for one in described {
        let kind = one.kind();
        let name = |n: usize| if n == 0 { format!("{GROUP}{kind}") } else { format!("{GROUP}{kind}-{}", n + 1) };
        let fits = |members: &[Described]| {
            members.len() < MOST_IN_GROUP && members.iter().map(|m| m.size).sum::<usize>() + one.size <= LARGEST
        };
        let place = (0..=groups.len()).map(name).find_map(|name| match groups.iter().position(|(n, _)| *n == name) {
            Some(at) if fits(&groups[at].1) => Some(at),
            Some(_) => None,
            None => {
                groups.push((name, Vec::new()));
                Some(groups.len() - 1)
            }
        });
        if let Some(at) = place {
            groups[at].1.push(one);
        }
    }
    groups
}

fn run() -> Value {
    let option = |name: &str, required: bool, completes: bool| json!({"name": name, "type": STRING, "description": name, "required": required, "autocomplete": completes});
    json!({"name": RUN, "type": CHAT_INPUT, "description": "run any tool by its name", "options": [
        option("name", true, true), option("json", false, false)]})
}

impl Tool {
    /// The form that asks for what the command lacks, when what it lacks is long.
    pub(crate) fn form(&self, filled: &Map<String, Value>) -> Option<Form> {
        Form::of(&self.parameters, filled, self.options.is_whole)
    }
}
