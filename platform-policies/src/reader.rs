//! Reads the keys of a tree one by one and collects what is wrong with them.

use std::sync::Arc;

use contract::{Finding, text};
use serde_json::Value;

use crate::{
    Source,
    tree::{self, Key, Kind, Node, Place},
};

/// Where a file begins.
pub(crate) const START: Place = (1, 1);

/// The only document of a text, and what other readers would take for something else; nothing when it is empty.
pub(crate) fn parse(source: &Source, reader: &mut Reader) -> Option<Node> {
    let mut documents = tree::documents(&source.text).into_iter();
    let Some(document) = documents.next() else {
        // Somebody may be about to write it; taken at its word it would lift every rule that it held.
        reader.error(START, "the file is empty", Some("who wants none of it removes the file".to_owned()));
        return None;
    };
    for doubt in document.doubtful {
        reader.warn(doubt.at, doubt.message, None);
    }
    if let Some(second) = documents.next() {
        let at = second.root.map_or_else(|fault| fault.at, |root| root.at);
        reader.error(at, "a second document begins here", Some("one file holds one policy".to_owned()));
    }
    document.root.map_err(|fault| reader.error(fault.at, fault.message, None)).ok()
}

/// A value for a message.
fn kind(node: &Node) -> String {
    match &node.kind {
        Kind::Scalar(_) if node.is_nothing() => "nothing".to_owned(),
        Kind::Scalar(scalar) => format!("'{}'", text::one_line(&scalar.text, 40)),
        Kind::Seq(_) => "a list".to_owned(),
        Kind::Map(_) => "a mapping".to_owned(),
    }
}

/// Reads the trees of one file and collects what is wrong, so that all of it is told at once.
pub(crate) struct Reader {
    pub file: Arc<str>,
    pub errors: Vec<Finding>,
    pub warnings: Vec<Finding>,
}

impl Reader {
    pub fn new(file: &str) -> Self {
        Self { file: file.into(), errors: Vec::new(), warnings: Vec::new() }
    }

    pub fn error(&mut self, at: Place, message: impl Into<String>, hint: Option<String>) {
        self.errors.push(self.finding(at, message, hint));
    }

    pub fn warn(&mut self, at: Place, message: impl Into<String>, hint: Option<String>) {
        self.warnings.push(self.finding(at, message, hint));
    }

    pub fn finding(&self, at: Place, message: impl Into<String>, hint: Option<String>) -> Finding {
        let (line, column) = at;
        Finding { file: self.file.to_string(), line, column, message: message.into(), hint }
    }

    fn expected(&mut self, tree: &Node, what: &str, expected: &str) {
        self.error(tree.at, format!("'{what}' takes {expected}, not {}", kind(tree)), None);
    }

    /// The entries of a mapping whatever their keys; nothing is an empty one.
    pub fn entries<'t>(&mut self, tree: &'t Node, what: &str) -> &'t [(Key, Node)] {
        match &tree.kind {
            Kind::Map(entries) => entries,
            _ if tree.is_nothing() => &[],
            _ => {
                self.expected(tree, what, "a mapping");
                &[]
            }
        }
    }

    /// The entries of a mapping whose keys are `known`; the others are errors.
    pub fn fields<'t>(&mut self, tree: &'t Node, what: &str, known: &[&str]) -> Vec<&'t (Key, Node)> {
        let entries = self.entries(tree, what);
        for (key, _) in entries.iter().filter(|(key, _)| !known.contains(&key.name.as_str())) {
            let hint = did_you_mean(&key.name, known.iter().copied());
            let hint = hint.unwrap_or_else(|| format!("known here: {}", known.join(", ")));
            self.error(key.at, format!("unknown key '{}'", text::one_line(&key.name, 64)), Some(hint));
        }
        entries.iter().filter(|(key, _)| known.contains(&key.name.as_str())).collect()
    }

    /// The items of a list; nothing is an empty one.
    pub fn items<'t>(&mut self, tree: &'t Node, what: &str) -> &'t [Node] {
        match &tree.kind {
            Kind::Seq(items) => items,
            _ if tree.is_nothing() => &[],
            _ => {
                self.expected(tree, what, "a list");
                &[]
            }
        }
    }

    pub fn text<'t>(&mut self, tree: &'t Node, what: &str) -> Option<&'t str> {
        match written(tree) {
            Some(text) if !text.trim().is_empty() => Some(text),
            _ => {
                self.expected(tree, what, "a text");
                None
            }
        }
    }

    /// An id: a text, or a number that somebody wrote without quotes.
    pub fn id(&mut self, tree: &Node, what: &str) -> Option<String> {
        match (&tree.kind, tree.value()) {
            (Kind::Scalar(scalar), Value::Number(number)) if !number.is_f64() => Some(scalar.text.clone()),
            (_, Value::Number(_)) => {
                self.error(tree.at, format!("'{what}' would lose digits"), Some("write it in quotes".to_owned()));
                None
            }
            _ => self.text(tree, what).map(str::to_owned),
        }
    }

    pub fn boolean(&mut self, tree: &Node, what: &str) -> Option<bool> {
        match tree.value() {
            Value::Bool(value) => Some(value),
            _ => {
                self.expected(tree, what, "true or false");
                None
            }
        }
    }

    /// A whole number from 1.
    pub fn count(&mut self, tree: &Node, what: &str) -> Option<u32> {
        match tree.value().as_u64().and_then(|count| u32::try_from(count).ok()) {
            Some(count) if count > 0 => Some(count),
            _ => {
                self.expected(tree, what, "a whole number from 1");
                None
            }
        }
    }

    /// As [`Reader::count`], or none at all.
    pub fn number(&mut self, tree: &Node, what: &str) -> Option<u32> {
        if tree.value().as_u64() == Some(0) { Some(0) } else { self.count(tree, what) }
    }

    /// One of a closed list of words.
    pub fn word<T: Copy>(&mut self, tree: &Node, what: &str, words: &[(&str, T)]) -> Option<T> {
        if let Some(given) = written(tree) {
            if let Some((_, value)) = words.iter().find(|(word, _)| *word == given) {
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

/// The text of a scalar that is text.
pub(crate) fn written(tree: &Node) -> Option<&str> {
    match &tree.kind {
        Kind::Scalar(scalar) if scalar.value().is_string() => Some(&scalar.text),
        Kind::Scalar(_) | Kind::Seq(_) | Kind::Map(_) => None,
    }
}

pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    text::nearest(name, known).map(|near| format!("did you mean '{near}'?"))
}
