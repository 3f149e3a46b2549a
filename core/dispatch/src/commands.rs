//! The command language of chats: `/name key=value "quoted" {json}`. Pure.
//!
//! Positional words fill the required arguments in order; what is left over joins the last one when that is text.
//! Several commands on lines of their own are one batch. Allowed precedes well-formed: arguments are read only
//! once the tool is known to be in the caller's view, so reading is a step apart from splitting.

mod bare;
mod builtins;
mod slips;
mod typed;

pub(crate) use bare::asked;
pub(crate) use builtins::parameters as parameters_of_builtin;
pub use builtins::{BUILTINS, Builtin};
pub(crate) use slips::named_well;
pub(crate) use typed::Typed;

use contract::{Action, Failure, Kind, Locale, Problem, failure::PROBLEMS_MAX};
use serde_json::{Map, Value};
use words::{Line, line};

/// One command of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    Builtin(Builtin),
    /// A tool's name as typed (lower case), and the text behind it.
    Tool {
        name: String,
        rest: String,
    },
    /// A tool's name, with arguments that the platform collected one by one: values keep their types.
    Filled {
        name: String,
        args: Map<String, Value>,
    },
}

/// The commands that something a person did stands for, or nothing when it is free text.
pub fn of(kind: &Kind) -> Option<Vec<Command>> {
    match kind {
        Kind::Text { text } | Kind::Edit { text } | Kind::Retold { text, .. } => read(text),
        Kind::Command { name, args } | Kind::Form { name, args } => Some(vec![filled(name, args)]),
        Kind::Press { data } => match data.parse() {
            Ok(Action::Details(of)) => Some(vec![Command::Builtin(Builtin::Details(of))]),
            Ok(
                Action::Cancel(_)
                | Action::CancelCall(..)
                | Action::TryAgain(_)
                | Action::Allow(_)
                | Action::AllowSession(_)
                | Action::Deny(_)
                | Action::DenyWhy(_),
            )
            | Err(_) => None,
        },
        Kind::Reaction { .. } => None,
    }
}

fn filled(name: &str, args: &Map<String, Value>) -> Command {
    let name = name.to_ascii_lowercase();
    builtins::filled(&name, args).unwrap_or_else(|| Command::Filled { name, args: args.clone() })
}

/// Arguments by name as an object: `range.start` is the field `start` of `range`, unless the tool has a parameter of
/// that very name.
pub fn nested(args: &Map<String, Value>, parameters: &Value) -> Map<String, Value> {
    let properties = parameters.get("properties").and_then(Value::as_object);
    let known = |key: &str| properties.is_some_and(|p| p.contains_key(key));
    let mut object = Map::new();
    for (key, value) in args {
        match key.split_once('.').filter(|(outer, _)| !known(key) && known(outer)) {
            Some((outer, inner)) => match object.entry(outer).or_insert_with(|| Value::Object(Map::new())) {
                Value::Object(fields) => {
                    fields.insert(inner.to_owned(), value.clone());
                }
                _ => {
                    object.insert(key.clone(), value.clone());
                }
            },
            None => {
                object.insert(key.clone(), value.clone());
            }
        }
    }
    object
}

/// The commands of a message, or nothing when it is free text.
pub fn read(text: &str) -> Option<Vec<Command>> {
    read_by(text, command_head)
}

/// The commands of a text, `head` telling what begins one: a name, and the rest of its line.
fn read_by<'t>(text: &'t str, head: impl Fn(&'t str) -> Option<(String, &'t str)>) -> Option<Vec<Command>> {
    let text = text.trim();
    head(text)?;
    let mut commands: Vec<(String, String)> = Vec::new();
    // Follows the last command from line to line, so that reading takes no longer than the text is long.
    let mut scan = Scan::default();
    for line in text.lines() {
        match head(line.trim_start()).filter(|_| !scan.is_open()) {
            Some((name, rest)) => {
                scan = Scan::default();
                scan.feed_all(rest);
                commands.push((name, rest.to_owned()));
            }
            None => {
                if let Some((_, rest)) = commands.last_mut() {
                    rest.push('\n');
                    rest.push_str(line);
                    scan.feed('\n');
                    scan.feed_all(line);
                }
            }
        }
    }
    Some(commands.into_iter().map(|(name, rest)| command(name, rest.trim())).collect())
}

fn command(name: String, rest: &str) -> Command {
    match Builtin::named(&name, rest) {
        Some(builtin) => Command::Builtin(builtin),
        None => Command::Tool { name, rest: rest.to_owned() },
    }
}

/// `/name` and the rest of the line; `/path/like/this` is not a command.
fn command_head(line: &str) -> Option<(String, &str)> {
    split(line.strip_prefix('/')?).map(|(name, rest)| (name.to_ascii_lowercase(), rest))
}

/// The word that a line begins with, when it can be a name, and the rest of the line.
fn split(after: &str) -> Option<(&str, &str)> {
    let end = after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-')).unwrap_or(after.len());
    let (name, rest) = after.split_at(end);
    let ends_well = rest.is_empty() || rest.starts_with(char::is_whitespace);
    (!name.is_empty() && name.len() <= 64 && ends_well).then_some((name, rest))
}

/// Follows quotes and brackets through a text.
#[derive(Default)]
struct Scan {
    quoted: bool,
    escaped: bool,
    depth: u32,
}

impl Scan {
    /// Whether a quote, brace or bracket is still open, so that what follows belongs to it.
    fn is_open(&self) -> bool {
        self.quoted || self.depth > 0
    }

    fn feed_all(&mut self, text: &str) {
        text.chars().for_each(|c| self.feed(c));
    }

    fn feed(&mut self, c: char) {
        if self.escaped {
            self.escaped = false;
            return;
        }
        match c {
            '\\' if self.quoted => self.escaped = true,
            '"' => self.quoted = !self.quoted,
            '{' | '[' if !self.quoted => self.depth += 1,
            '}' | ']' if !self.quoted => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

/// Reads the text behind a command's name by the tool's `parameters` (JSON Schema). Values stay text where they
/// were written as text; coercion by schema comes later.
pub fn arguments(tool: &str, rest: &str, parameters: &Value, usage: &str) -> Result<Value, Failure> {
    let rest = rest.trim();
    if rest.is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    if rest.starts_with('{') {
        let args =
            tools::args::parse_json(rest).map_err(|failure| Failure { usage: Some(usage.to_owned()), ..failure })?;
        return named_well(tool, args, parameters, usage);
    }
    Filling::new(tool, parameters, usage).fill(&words(rest))
}

/// A word of the text behind a command.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Word {
    key: Option<String>,
    value: String,
    quoted: bool,
}

fn words(rest: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut chars = rest.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        if chars.peek().is_none() {
            return words;
        }
        let mut raw = String::new();
        let mut scan = Scan::default();
        while let Some(c) = chars.next_if(|c| scan.is_open() || !c.is_whitespace()) {
            scan.feed(c);
            raw.push(c);
        }
        words.push(word(&raw));
    }
}

fn word(raw: &str) -> Word {
    let key = raw.split_once('=').filter(|(key, _)| is_key(key));
    let (key, value) = match key {
        Some((key, value)) => (Some(key.to_owned()), value),
        None => (None, raw),
    };
    match value.strip_prefix('"').and_then(|v| v.strip_suffix('"')).filter(|_| value.len() > 1) {
        Some(inner) => Word { key, value: unescape(inner), quoted: true },
        None => Word { key, value: value.to_owned(), quoted: false },
    }
}

fn is_key(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// `\"` and `\\` only: what stands in quotes is otherwise as it is.
fn unescape(inner: &str) -> String {
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(next @ ('"' | '\\')) => out.push(next),
                Some(next) => out.extend(['\\', next]),
                None => out.push('\\'),
            },
            _ => out.push(c),
        }
    }
    out
}

struct Filling<'a> {
    tool: &'a str,
    usage: &'a str,
    properties: Option<&'a Map<String, Value>>,
    parameters: &'a Value,
    required: Vec<&'a str>,
    args: Map<String, Value>,
    problems: Vec<Problem>,
    last: Option<&'a str>,
}

impl<'a> Filling<'a> {
    fn new(tool: &'a str, parameters: &'a Value, usage: &'a str) -> Self {
        let required = parameters.get("required").and_then(Value::as_array);
        Self {
            tool,
            usage,
            properties: parameters.get("properties").and_then(Value::as_object),
            parameters,
            // A file comes with the message, or is named.
            required: required
                .map(|r| {
                    r.iter()
                        .filter_map(Value::as_str)
                        .filter(|name| !tools::files::is_file(&parameters["properties"][*name]))
                        .collect()
                })
                .unwrap_or_default(),
            args: Map::new(),
            problems: Vec::new(),
            last: None,
        }
    }

    fn fill(mut self, words: &[Word]) -> Result<Value, Failure> {
        // Named arguments first: a positional word never takes a place that a name claims further on.
        for word in words {
            if let Some(key) = &word.key {
                self.named(key, word);
            }
        }
        for word in words.iter().filter(|w| w.key.is_none()) {
            self.positional(word);
        }
        if self.problems.is_empty() {
            return Ok(Value::Object(self.args));
        }
        Err(Failure::invalid_args(self.tool, self.problems, self.usage.to_owned()))
    }

    fn named(&mut self, key: &str, word: &Word) {
        let value = self.value(key, word);
        let known = self.properties.is_some_and(|p| p.contains_key(key));
        match key.split_once('.').filter(|_| !known) {
            Some((outer, inner)) => {
                let nested = self.args.entry(outer).or_insert_with(|| Value::Object(Map::new()));
                if let Some(object) = nested.as_object_mut() {
                    object.insert(inner.to_owned(), value);
                }
            }
            None if let Some(near) = slips::meant(self.parameters, key) => {
                self.problem(key, slips::NO_SUCH_FIELD, &word.value, Some(slips::did_you_mean(near)));
            }
            None if self.args.contains_key(key) => self.problem(key, "the argument once", &word.value, None),
            None => {
                self.args.insert(key.to_owned(), value);
            }
        }
    }

    fn positional(&mut self, word: &Word) {
        if let Some(next) = self.required.iter().copied().find(|name| !self.args.contains_key(*name)) {
            let value = self.value(next, word);
            self.args.insert(next.to_owned(), value);
            self.last = Some(next);
            return;
        }
        let last = self.last.filter(|name| self.is_text(name));
        if last.is_some()
            && let Some(other) = self.could_mean(word)
        {
            let hint = format!("write {other}={}, or put the whole text in quotes", word.value);
            let expected = format!("a word that can only belong to '{}'", last.unwrap_or_default());
            return self.problem(last.unwrap_or_default(), &expected, &word.value, Some(hint));
        }
        match last.and_then(|name| self.args.get_mut(name)) {
            Some(Value::String(text)) => {
                text.push(' ');
                text.push_str(&word.value);
            }
            _ => {
                let hint = self.could_mean(word).map(|name| format!("for example {name}={}", word.value));
                self.problem("", "arguments as key=value here", &word.value, hint);
            }
        }
    }

    /// An argument that is not given, is not text, and that the word fits: joining it to a text would be a guess.
    fn could_mean(&self, word: &Word) -> Option<&'a str> {
        let fits = |schema: &Value| match schema.get("type").and_then(Value::as_str) {
            Some("integer" | "number") => word.value.parse::<f64>().is_ok_and(f64::is_finite),
            Some("boolean") => matches!(word.value.as_str(), "true" | "false"),
            _ => {
                schema.get("enum").and_then(Value::as_array).is_some_and(|e| e.iter().any(|v| v == word.value.as_str()))
            }
        };
        let open = self.properties?.iter().filter(|(name, _)| !self.args.contains_key(*name));
        let mut fitting = open.filter(|(_, schema)| !word.quoted && fits(schema));
        fitting.next().map(|(name, _)| name.as_str())
    }

    fn is_text(&self, name: &str) -> bool {
        let declared = self.properties.and_then(|p| p.get(name)).and_then(|p| p.get("type"));
        declared.and_then(Value::as_str) == Some("string")
    }

    /// JSON stays JSON unless the place is text; everything else is text.
    fn value(&mut self, name: &str, word: &Word) -> Value {
        let looks_json = !word.quoted && word.value.starts_with(['{', '[']) && !self.is_text(name);
        if looks_json && let Ok(value) = tools::args::parse_exact(&word.value) {
            return value;
        }
        Value::String(word.value.clone())
    }

    fn problem(&mut self, path: &str, expected: &str, got: &str, hint: Option<String>) {
        if self.problems.len() >= PROBLEMS_MAX {
            return;
        }
        let got = Some(format!("'{}'", contract::text::one_line(got, 80)));
        self.problems.push(Problem { path: path.to_owned(), expected: expected.to_owned(), got, hint });
    }
}

/// What is said to free text where no model plans: the nearest tools and how to call them.
pub fn nothing_to_run(nearest: &[(&str, String)], locale: Locale) -> String {
    if nearest.is_empty() {
        return line(Line::NothingToRun, locale);
    }
    let usages: Vec<_> = nearest.iter().map(|(_, usage)| format!("- `{usage}`")).collect();
    format!("{}\n\n{}\n\n{}", line(Line::NearTools, locale), usages.join("\n"), line(Line::AllTools, locale))
}

#[cfg(test)]
mod tests;
