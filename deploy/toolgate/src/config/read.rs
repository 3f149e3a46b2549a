//! Reading a tree into plain structs: collects every error, names the nearest key.

use std::{path::PathBuf, sync::Arc, time::Duration};

use contract::text::nearest;

use super::{
    finding::{Finding, finding_at},
    secret::{Secret, vault::Vault},
    yaml::{Key, Spot, Tree, Value},
};

/// What was found while reading; `base` is the folder that relative paths start from.
pub struct Reader {
    pub file: String,
    pub base: PathBuf,
    /// Where `vault:` leads.
    pub vault: Arc<Vault>,
    pub errors: Vec<Finding>,
    pub warnings: Vec<Finding>,
}

/// A map that is being read: each key is taken once, what is left is unknown.
pub struct Table {
    /// Where it stands in the file, for messages: `platforms.telegram`.
    pub path: String,
    pub spot: Spot,
    pairs: Vec<(Key, Tree)>,
    known: Vec<&'static str>,
}

impl Reader {
    pub fn error(&mut self, spot: &Spot, message: impl Into<String>) {
        self.errors.push(finding_at(&self.file, spot, message));
    }

    pub fn warn(&mut self, spot: &Spot, message: impl Into<String>) {
        self.warnings.push(finding_at(&self.file, spot, message));
    }

    fn expected(&mut self, tree: &Tree, path: &str, what: &str) {
        self.error(&tree.spot, format!("'{path}' must be {what}, not {}", tree.kind()));
    }

    /// The tree as a map; an error and nothing when it is something else.
    pub fn table(&mut self, path: &str, tree: Tree) -> Option<Table> {
        match tree.value {
            Value::Map(pairs) => Some(Table { path: path.to_owned(), spot: tree.spot, pairs, known: Vec::new() }),
            _ => {
                self.expected(&tree, path, "a map");
                None
            }
        }
    }

    /// Names every key that nobody took.
    pub fn finish(&mut self, table: Table) {
        for (key, _) in &table.pairs {
            let place = if table.path.is_empty() { String::new() } else { format!(" in '{}'", table.path) };
            let finding = finding_at(&self.file, &key.spot, format!("unknown key '{}'{place}", short(&key.text)));
            self.errors.push(match nearest(&key.text, table.known.iter().copied()) {
                Some(near) => finding.hint(format!("did you mean '{near}'?")),
                None => finding.hint(format!("known here: {}", table.known.join(", "))),
            });
        }
    }

    pub fn text(&mut self, path: &str, tree: &Tree) -> Option<String> {
        let text = tree.scalar().filter(|text| !text.is_empty());
        if text.is_none() {
            self.expected(tree, path, "text");
        }
        text
    }

    /// One of a few words.
    pub fn choice<T: Copy>(&mut self, path: &str, tree: &Tree, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(path, tree)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            let names: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            let message = format!("'{path}' must be one of {}", names.join(", "));
            let finding = finding_at(&self.file, &tree.spot, message);
            self.errors.push(match nearest(&text, names) {
                Some(near) => finding.hint(format!("did you mean '{near}'?")),
                None => finding,
            });
        }
        found
    }

    pub fn whole(&mut self, path: &str, tree: &Tree) -> Option<u64> {
        match tree.value {
            Value::Int(number) if number > 0 => u64::try_from(number).ok(),
            _ => {
                self.error(&tree.spot, format!("'{path}' must be a whole number above 0"));
                None
            }
        }
    }

    pub fn duration(&mut self, path: &str, tree: &Tree) -> Option<Duration> {
        let duration = tree.scalar().as_deref().and_then(parse_duration);
        if duration.is_none() {
            self.error(&tree.spot, format!("'{path}' must be a time such as 500ms, 30s, 5m, 24h or 7d"));
        }
        duration
    }

    pub fn path(&mut self, path: &str, tree: &Tree) -> Option<PathBuf> {
        self.text(path, tree).map(|text| self.base.join(text))
    }

    /// A reference to a secret; the error never repeats what stands there.
    pub fn secret(&mut self, path: &str, tree: &Tree) -> Option<Secret> {
        let text = match &tree.value {
            Value::Text(text) => text.clone(),
            Value::Null => {
                self.expected(tree, path, "a reference to a secret");
                return None;
            }
            _ => String::new(),
        };
        match Secret::parse_with(path, &text, &self.base, &self.vault) {
            Ok(secret) => Some(secret),
            Err(why) => {
                self.error(&tree.spot, format!("'{path}': {why}"));
                None
            }
        }
    }

    pub fn url(&mut self, path: &str, tree: &Tree) -> Option<String> {
        let text = self.text(path, tree)?;
        let text = text.trim_end_matches('/').to_owned();
        let host = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
        if host.is_some_and(|host| !host.is_empty() && !host.contains('@')) {
            return Some(text);
        }
        self.error(&tree.spot, format!("'{path}' must be a URL such as http://127.0.0.1:8080, without a user in it"));
        None
    }

    /// A list, or one value that stands for a list of one.
    pub fn list(&mut self, tree: Tree) -> Vec<Tree> {
        match tree.value {
            Value::List(items) => items,
            _ => vec![tree],
        }
    }
}

impl Table {
    /// The value of a key, once.
    pub fn take(&mut self, key: &'static str) -> Option<Tree> {
        self.known.push(key);
        let at = self.pairs.iter().position(|(k, _)| k.text == key)?;
        Some(self.pairs.remove(at).1)
    }

    /// Whether a key that nobody took yet is there.
    pub fn has(&self, key: &str) -> bool {
        self.pairs.iter().any(|(other, _)| other.text == key)
    }

    /// Whether `key`, which is not there, is what a key meant that nobody took: the error about that one says enough. To
    /// be asked once all keys that are like it are taken.
    pub fn is_misspelt(&self, key: &str) -> bool {
        self.pairs.iter().any(|(other, _)| nearest(&other.text, self.known.iter().copied()) == Some(key))
    }

    /// Whatever names the user chose.
    pub fn take_all(&mut self) -> Vec<(Key, Tree)> {
        std::mem::take(&mut self.pairs)
    }

    pub fn name(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

/// `500ms`, `30s`, `5m`, `24h`, `7d`.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text[..digits].parse().ok()?;
    let seconds = |each: u64| number.checked_mul(each).map(Duration::from_secs);
    match text[digits..].trim() {
        "ms" => Some(Duration::from_millis(number)),
        "s" => seconds(1),
        "m" => seconds(60),
        "h" => seconds(3_600),
        "d" => seconds(86_400),
        _ => None,
    }
}

/// A key as it may be shown: a secret that was pasted at the wrong place is not repeated in full.
fn short(key: &str) -> String {
    contract::text::one_line(key, 40)
}
