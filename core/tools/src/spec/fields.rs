//! Reads the keys of a map one by one and says everything that is wrong with them, each at its place.

use std::{sync::Arc, time::Duration};

use contract::{Finding, text};
use policies::tree::{Key, Kind, Node, Place};
use serde_json::Value;

use super::types::Rate;

/// What was found in one document.
pub struct Diagnosis {
    pub file: Arc<str>,
    pub errors: Vec<Finding>,
    pub warnings: Vec<Finding>,
}

impl Diagnosis {
    pub fn new(file: &Arc<str>) -> Self {
        Self { file: file.clone(), errors: Vec::new(), warnings: Vec::new() }
    }

    pub fn error(&mut self, at: Place, message: impl Into<String>) {
        self.errors.push(self.at(at, message));
    }

    pub fn error_hint(&mut self, at: Place, message: impl Into<String>, hint: Option<String>) {
        self.errors.push(Finding { hint, ..self.at(at, message) });
    }

    pub fn warning(&mut self, at: Place, message: impl Into<String>) {
        self.warnings.push(self.at(at, message));
    }

    pub fn warning_hint(&mut self, at: Place, message: impl Into<String>, hint: String) {
        self.warnings.push(Finding { hint: Some(hint), ..self.at(at, message) });
    }

    fn at(&self, (line, column): Place, message: impl Into<String>) -> Finding {
        Finding { file: self.file.to_string(), line, column, message: message.into(), hint: None }
    }
}

/// A map whose keys are all known.
pub struct Fields<'a> {
    entries: &'a [(Key, Node)],
    pub at: Place,
    /// What keys that are not known probably meant.
    meant: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// Reports what is no map and keys that are not `known`.
    pub fn of(node: &'a Node, what: &str, known: &[&'static str], found: &mut Diagnosis) -> Option<Self> {
        let Kind::Map(entries) = &node.kind else {
            found.error(node.at, format!("{what} has to be a map, not {}", node.is_a()));
            return None;
        };
        let mut meant = Vec::new();
        for (key, _) in entries.iter().filter(|(key, _)| !known.contains(&&*key.name)) {
            let hint = match known
                .iter()
                .copied()
                .filter(|near| text::nearest(&key.name, [*near]).is_some())
                .min_by_key(|near| text::distance(&key.name, near))
            {
                Some(near) => {
                    meant.push(near);
                    format!("did you mean '{near}'?")
                }
                None => format!("known are {}", known.join(", ")),
            };
            let name = text::one_line(&key.name, 64);
            found.error_hint(key.at, format!("unknown key '{name}' in {what}"), Some(hint));
        }
        Some(Self { entries, at: node.at, meant })
    }

    /// Where a key stands that is written, with or without a value.
    pub fn place(&self, key: &str) -> Option<Place> {
        self.entries.iter().find(|(k, _)| k.name == key).map(|(k, _)| k.at)
    }

    /// The value of a key, unless it is absent or empty.
    pub fn node(&self, key: &str) -> Option<&'a Node> {
        self.entries.iter().find(|(k, _)| k.name == key).map(|(_, node)| node).filter(|n| !n.is_nothing())
    }

    pub fn required(&self, key: &str, what: &str, found: &mut Diagnosis) -> Option<&'a Node> {
        let node = self.node(key);
        // A slip is told already, with what was meant.
        if node.is_none() && !self.meant.contains(&key) {
            found.error(self.place(key).unwrap_or(self.at), format!("{what} needs '{key}'"));
        }
        node
    }

    pub fn text(&self, key: &str, found: &mut Diagnosis) -> Option<String> {
        self.node(key).and_then(|node| text_of(node, key, found))
    }

    pub fn texts(&self, key: &str, found: &mut Diagnosis) -> Option<Vec<String>> {
        let node = self.node(key)?;
        let Kind::Seq(items) = &node.kind else {
            found.error(node.at, format!("'{key}' has to be a list, not {}", node.is_a()));
            return None;
        };
        Some(items.iter().filter_map(|item| text_of(item, key, found)).collect())
    }

    /// A map of texts, in the order in which it is written.
    pub fn pairs(&self, key: &str, found: &mut Diagnosis) -> Vec<(String, String)> {
        self.map(key, found)
            .iter()
            .filter_map(|(k, node)| Some((k.name.clone(), text_of(node, &k.name, found)?)))
            .collect()
    }

    pub fn map(&self, key: &str, found: &mut Diagnosis) -> &'a [(Key, Node)] {
        match self.node(key) {
            None => &[],
            Some(Node { kind: Kind::Map(entries), .. }) => entries,
            Some(node) => {
                found.error(node.at, format!("'{key}' has to be a map, not {}", node.is_a()));
                &[]
            }
        }
    }

    pub fn list(&self, key: &str, found: &mut Diagnosis) -> &'a [Node] {
        match self.node(key) {
            None => &[],
            Some(Node { kind: Kind::Seq(items), .. }) => items,
            Some(node) => {
                found.error(node.at, format!("'{key}' has to be a list, not {}", node.is_a()));
                &[]
            }
        }
    }

    pub fn flag(&self, key: &str, found: &mut Diagnosis) -> Option<bool> {
        let node = self.node(key)?;
        match node.value() {
            Value::Bool(flag) => Some(flag),
            _ => {
                found.error(node.at, format!("'{key}' has to be true or false{}", got(node)));
                None
            }
        }
    }

    /// A whole number of at least `least`.
    pub fn count<N: TryFrom<u64>>(&self, key: &str, least: u64, found: &mut Diagnosis) -> Option<N> {
        let node = self.node(key)?;
        let count = node.value().as_u64().filter(|n| *n >= least).and_then(|n| N::try_from(n).ok());
        if count.is_none() {
            found.error(node.at, format!("'{key}' has to be a whole number of at least {least}{}", got(node)));
        }
        count
    }

    pub fn factor(&self, key: &str, found: &mut Diagnosis) -> Option<f64> {
        let node = self.node(key)?;
        let factor = node.value().as_f64().filter(|f| f.is_finite() && *f >= 1.0);
        if factor.is_none() {
            found.error(node.at, format!("'{key}' has to be a number of at least 1{}", got(node)));
        }
        factor
    }

    /// A share of a whole: `50%`, or `0.5`.
    pub fn percent(&self, key: &str, found: &mut Diagnosis) -> Option<u8> {
        let node = self.node(key)?;
        let text = scalar(node);
        let share = match text.strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().ok(),
            None => text.parse::<f64>().ok().map(|share| share * 100.0),
        };
        let percent = (1..=100_u8).find(|n| share.is_some_and(|share| (share - f64::from(*n)).abs() < 1e-6));
        if percent.is_none() {
            found.error_hint(
                node.at,
                format!("'{key}' has to be a share from 1% to 100%{}", got(node)),
                Some("write it like 50% or 0.5".to_owned()),
            );
        }
        percent
    }

    /// A time of more than nothing.
    pub fn duration(&self, key: &str, found: &mut Diagnosis) -> Option<Duration> {
        let node = self.node(key)?;
        let parsed = text::duration(&scalar(node));
        if parsed.is_none() {
            found.error_hint(
                node.at,
                format!("'{key}' has to be a time{}", got(node)),
                Some("write it like 500ms, 30s, 2m or 1h".to_owned()),
            );
        }
        parsed
    }

    pub fn rate(&self, key: &str, found: &mut Diagnosis) -> Option<Rate> {
        let node = self.node(key)?;
        let parsed = parse_rate(&scalar(node));
        if parsed.is_none() {
            found.error_hint(
                node.at,
                format!("'{key}' has to be a rate{}", got(node)),
                Some("write it like 20/s, 100/m or 5/10s".to_owned()),
            );
        }
        parsed
    }

    /// One of some words.
    pub fn choice<T: Copy>(&self, key: &str, words: &[(&'static str, T)], found: &mut Diagnosis) -> Option<T> {
        let node = self.node(key)?;
        choice_of(node, key, words, found)
    }
}

/// One of some words.
pub fn choice_of<T: Copy>(node: &Node, what: &str, words: &[(&'static str, T)], found: &mut Diagnosis) -> Option<T> {
    let word = scalar(node);
    let chosen = words.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
    if chosen.is_none() {
        let names: Vec<_> = words.iter().map(|(name, _)| *name).collect();
        let hint = text::nearest(&word, names.iter().copied()).map(|near| format!("did you mean '{near}'?"));
        found.error_hint(node.at, format!("'{what}' has to be one of {}{}", names.join(", "), got(node)), hint);
    }
    chosen
}

/// Text; what YAML takes for something else is refused rather than guessed.
pub fn text_of(node: &Node, key: &str, found: &mut Diagnosis) -> Option<String> {
    match node.value() {
        Value::String(text) => Some(text),
        Value::Number(_) | Value::Bool(_) => {
            found.error(node.at, format!("'{key}' has to be text{}: put it in quotes", got(node)));
            None
        }
        Value::Null | Value::Array(_) | Value::Object(_) => {
            found.error(node.at, format!("'{key}' has to be text, not {}", node.is_a()));
            None
        }
    }
}

fn scalar(node: &Node) -> String {
    match &node.kind {
        Kind::Scalar(scalar) => scalar.text.clone(),
        Kind::Seq(_) | Kind::Map(_) => String::new(),
    }
}

fn got(node: &Node) -> String {
    match &node.kind {
        // `"8"` where a number belongs: without its quotes it would read as if an 8 were refused.
        Kind::Scalar(scalar) if !scalar.is_plain => format!(", not the text \"{}\"", text::one_line(&scalar.text, 40)),
        Kind::Scalar(scalar) => format!(", not '{}'", text::one_line(&scalar.text, 40)),
        Kind::Seq(_) | Kind::Map(_) => format!(", not {}", node.is_a()),
    }
}

/// `20/s`, `100/m`, `5/10s`.
pub fn parse_rate(rate: &str) -> Option<Rate> {
    let (count, per) = rate.split_once('/')?;
    let count: u32 = count.parse().ok().filter(|n| *n > 0)?;
    let per = match per.starts_with(|c: char| c.is_ascii_digit()) {
        true => text::duration(per),
        false => text::duration(&format!("1{per}")),
    };
    per.map(|per| Rate { count, per })
}
