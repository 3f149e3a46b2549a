//! YAML as a small tree in which every key and value keeps its place, and a reader that collects what is wrong.

use std::{fmt, sync::Arc};

use contract::text;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

use crate::{ConfigError, Source};

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct At {
    pub line: u32,
    pub column: u32,
}

impl At {
    pub const START: Self = Self { line: 1, column: 1 };
}

impl From<Location> for At {
    fn from(place: Location) -> Self {
        let narrow = |n: u64| u32::try_from(n).unwrap_or(u32::MAX).max(1);
        Self { line: narrow(place.line()), column: narrow(place.column()) }
    }
}

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    pub at: At,
    pub node: Node,
}

#[derive(Debug, Clone)]
pub(crate) enum Node {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    List(Vec<Tree>),
    Map(Vec<(Key, Tree)>),
}

#[derive(Debug, Clone)]
pub(crate) struct Key {
    pub at: At,
    pub name: String,
}

/// The only document of a text.
pub(crate) fn parse(source: &Source) -> Result<Tree, ConfigError> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        with_snippet: false,
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 10_000, max_replay_stack_depth: 16 },
    };
    serde_saphyr::from_str_with_options(&source.text, options).map_err(|error| {
        let at = error.location().map_or(At::START, At::from);
        let (message, hint) = in_our_words(&error.to_string());
        ConfigError { file: source.file.clone(), line: at.line, column: at.column, message, hint }
    })
}

/// The parser's sentence without the place, which stands before it, and without advice to programmers.
fn in_our_words(theirs: &str) -> (String, Option<String>) {
    let theirs = theirs.split(" at line ").next().unwrap_or(theirs);
    if let Some(key) = theirs.strip_prefix("duplicate mapping key: ") {
        let key = key.split(", set ").next().unwrap_or(key);
        return (format!("key '{key}' stands twice"), None);
    }
    if theirs.contains("tabs disallowed") {
        return ("a tab indents this line".to_owned(), Some("indent with spaces".to_owned()));
    }
    if theirs.contains("budget") || theirs.contains("alias") {
        return (text::one_line(theirs, 200), Some("write it out instead of nesting aliases".to_owned()));
    }
    if theirs.contains("multiple YAML documents") {
        return ("a second document begins here".to_owned(), Some("one file holds one policy".to_owned()));
    }
    (text::one_line(theirs, 200), None)
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned { value, referenced, .. } = Spanned::<Node>::deserialize(deserializer)?;
        Ok(Self { at: referenced.into(), node: value })
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned { value, referenced, .. } = Spanned::<String>::deserialize(deserializer)?;
        Ok(Self { at: referenced.into(), name: value })
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyNode)
    }
}

struct AnyNode;

impl<'de> Visitor<'de> for AnyNode {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        Node::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Integer(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Node::Map(map))
    }
}

impl Node {
    fn kind(&self) -> String {
        match self {
            Self::Null => "nothing".to_owned(),
            Self::Bool(value) => format!("'{value}'"),
            Self::Integer(value) => format!("'{value}'"),
            Self::Float(value) => format!("'{value}'"),
            Self::Text(value) => format!("'{}'", text::one_line(value, 40)),
            Self::List(_) => "a list".to_owned(),
            Self::Map(_) => "a mapping".to_owned(),
        }
    }
}

/// Reads the trees of one file and collects what is wrong, so that all of it is told at once.
pub(crate) struct Reader {
    pub file: Arc<str>,
    pub errors: Vec<ConfigError>,
    pub warnings: Vec<ConfigError>,
}

impl Reader {
    pub fn new(file: &str) -> Self {
        Self { file: file.into(), errors: Vec::new(), warnings: Vec::new() }
    }

    pub fn error(&mut self, at: At, message: impl Into<String>, hint: Option<String>) {
        self.errors.push(self.finding(at, message, hint));
    }

    pub fn warn(&mut self, at: At, message: impl Into<String>, hint: Option<String>) {
        self.warnings.push(self.finding(at, message, hint));
    }

    fn finding(&self, at: At, message: impl Into<String>, hint: Option<String>) -> ConfigError {
        let (line, column) = (at.line, at.column);
        ConfigError { file: self.file.to_string(), line, column, message: message.into(), hint }
    }

    fn expected(&mut self, tree: &Tree, what: &str, expected: &str) {
        self.error(tree.at, format!("'{what}' takes {expected}, not {}", tree.node.kind()), None);
    }

    /// The entries of a mapping whatever their keys; nothing is an empty one.
    pub fn entries<'t>(&mut self, tree: &'t Tree, what: &str) -> &'t [(Key, Tree)] {
        match &tree.node {
            Node::Map(entries) => entries,
            Node::Null => &[],
            _ => {
                self.expected(tree, what, "a mapping");
                &[]
            }
        }
    }

    /// The entries of a mapping whose keys are `known`; the others are errors.
    pub fn fields<'t>(&mut self, tree: &'t Tree, what: &str, known: &[&str]) -> Vec<&'t (Key, Tree)> {
        let entries = self.entries(tree, what);
        for (key, _) in entries.iter().filter(|(key, _)| !known.contains(&key.name.as_str())) {
            let hint = did_you_mean(&key.name, known.iter().copied());
            let hint = hint.unwrap_or_else(|| format!("known here: {}", known.join(", ")));
            self.error(key.at, format!("unknown key '{}'", text::one_line(&key.name, 64)), Some(hint));
        }
        entries.iter().filter(|(key, _)| known.contains(&key.name.as_str())).collect()
    }

    /// The items of a list; nothing is an empty one.
    pub fn items<'t>(&mut self, tree: &'t Tree, what: &str) -> &'t [Tree] {
        match &tree.node {
            Node::List(items) => items,
            Node::Null => &[],
            _ => {
                self.expected(tree, what, "a list");
                &[]
            }
        }
    }

    pub fn text<'t>(&mut self, tree: &'t Tree, what: &str) -> Option<&'t str> {
        match &tree.node {
            Node::Text(value) if !value.trim().is_empty() => Some(value),
            _ => {
                self.expected(tree, what, "a text");
                None
            }
        }
    }

    /// An id: a text, or an integer that somebody wrote without quotes.
    pub fn id(&mut self, tree: &Tree, what: &str) -> Option<String> {
        match &tree.node {
            Node::Integer(value) => Some(value.to_string()),
            Node::Float(_) => {
                self.error(tree.at, format!("'{what}' would lose digits"), Some("write it in quotes".to_owned()));
                None
            }
            _ => self.text(tree, what).map(str::to_owned),
        }
    }

    pub fn boolean(&mut self, tree: &Tree, what: &str) -> Option<bool> {
        match tree.node {
            Node::Bool(value) => Some(value),
            _ => {
                self.expected(tree, what, "true or false");
                None
            }
        }
    }

    /// A whole number from 1.
    pub fn count(&mut self, tree: &Tree, what: &str) -> Option<u32> {
        match tree.node {
            Node::Integer(value) if (1..=i128::from(u32::MAX)).contains(&value) => u32::try_from(value).ok(),
            _ => {
                self.expected(tree, what, "a whole number from 1");
                None
            }
        }
    }

    /// One of a closed list of words.
    pub fn word<T: Copy>(&mut self, tree: &Tree, what: &str, words: &[(&str, T)]) -> Option<T> {
        if let Node::Text(given) = &tree.node {
            if let Some((_, value)) = words.iter().find(|(word, _)| word == given) {
                return Some(*value);
            }
            let known = words.iter().map(|(word, _)| *word);
            let hint = did_you_mean(given, known.clone())
                .unwrap_or_else(|| format!("one of {}", known.collect::<Vec<_>>().join(", ")));
            self.error(tree.at, format!("'{what}' does not know '{}'", text::one_line(given, 64)), Some(hint));
            return None;
        }
        let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        self.expected(tree, what, &known.join(", "));
        None
    }
}

pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    text::nearest(name, known).map(|near| format!("did you mean '{near}'?"))
}
