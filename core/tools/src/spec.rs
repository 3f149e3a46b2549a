//! The Tool Spec: what a tool's owner writes, as plain data.
//!
//! Every key is known from the first version on; one whose feature is not built yet is said to be so. A document that
//! is wrong loses itself only.

mod fields;
mod jobs;
mod keys;
mod lint;
mod quotes;
mod read;
mod types;
mod vague;

use std::sync::Arc;

use contract::Finding;
pub use jobs::{Asked, Condition, Jobs};
use serde_json::Value;
pub use types::*;

use crate::schema::{self, Contradiction, Schema, SchemaError};
use fields::Diagnosis;

/// What one file held.
#[derive(Debug, Default)]
pub struct Parsed {
    pub specs: Vec<Spec>,
    /// What each of them was read from.
    pub texts: Vec<String>,
    pub errors: Vec<Finding>,
    pub warnings: Vec<Finding>,
    /// The documents that are no tool.
    pub refused: Vec<Refused>,
}

/// A document that is no tool: its name where that can be read, and the first thing that is wrong.
#[derive(Debug, Clone)]
pub struct Refused {
    pub name: Option<String>,
    pub error: Finding,
}

/// Most bytes of a file.
pub const FILE_MAX: usize = 4 << 20;

/// Reads every document of a file; `file` is what messages show.
pub fn parse(file: &str, text: &str) -> Parsed {
    let file: Arc<str> = file.into();
    let mut parsed = Parsed::default();
    if text.len() > FILE_MAX {
        let mut found = Diagnosis::new(&file);
        found.error((1, 1), "the file is larger than 4 MiB");
        parsed.refuse(None, found);
        return parsed;
    }
    for document in policies::tree::documents(text) {
        let mut found = Diagnosis::new(&file);
        for doubt in document.doubtful {
            found.warning(doubt.at, doubt.message);
        }
        let (name, spec) = match document.root {
            Err(fault) => {
                found.error(fault.at, fault.message);
                (name_in(&document.text), None)
            }
            Ok(root) => (read::name_of(&root), read::spec(&root, &mut found)),
        };
        if let Some(spec) = &spec {
            found.errors.extend(spec.contradictions());
        }
        match spec {
            Some(spec) if found.errors.is_empty() => {
                lint::spec(&spec, &mut found);
                parsed.warnings.append(&mut found.warnings);
                parsed.specs.push(spec);
                parsed.texts.push(document.text);
            }
            Some(spec) => {
                // Its schemas are compiled for their errors alone, so that all are said at once.
                found.errors.extend(spec.wrong_schemas());
                parsed.refuse(name, found);
            }
            None => parsed.refuse(name, found),
        }
    }
    parsed.errors.sort_by_key(|e| (e.line, e.column));
    parsed.warnings.sort_by_key(|e| (e.line, e.column));
    parsed
}

impl Spec {
    /// The schema that stands at a key, or where it is wrong.
    pub(crate) fn compile(&self, key: &str, source: &Value) -> Result<Schema, Finding> {
        Schema::compile(source).map_err(|SchemaError { path, message }| {
            let at = match path.trim_start_matches('/') {
                "" => key.to_owned(),
                path => format!("{key}.{}", path.replace('/', ".")),
            };
            self.error_at(&at, format!("'{at}': {message}"))
        })
    }

    /// What nothing can fulfil, in both schemas.
    fn contradictions(&self) -> Vec<Finding> {
        let schemas = [("parameters", Some(&self.parameters)), ("returns", self.returns.as_ref())];
        let said = schemas.into_iter().flat_map(|(key, source)| {
            source.into_iter().flat_map(schema::contradictions).map(move |found| (key, found))
        });
        said.map(|(key, Contradiction { path, message, hint })| {
            let at = format!("{key}.{}", path.replace('/', "."));
            let within = at.rsplit_once('.').map_or("", |(within, _)| within);
            Finding { hint, ..self.error_at(&at, format!("'{within}': {message}")) }
        })
        .collect()
    }

    fn wrong_schemas(&self) -> impl Iterator<Item = Finding> {
        let schemas = [("parameters", Some(&self.parameters)), ("returns", self.returns.as_ref())];
        schemas.into_iter().filter_map(|(key, source)| self.compile(key, source?).err())
    }
}

impl Parsed {
    fn refuse(&mut self, name: Option<String>, mut found: Diagnosis) {
        found.errors.sort_by_key(|e| (e.line, e.column));
        if let Some(error) = found.errors.first().cloned() {
            self.refused.push(Refused { name, error });
        }
        self.errors.append(&mut found.errors);
        self.warnings.append(&mut found.warnings);
    }
}

/// The name in a text that is no YAML: what its first `name:` line says.
fn name_in(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("name:"))?;
    let name = line.split('#').next().unwrap_or_default().trim().trim_matches(['"', '\'']);
    is_name(name).then(|| name.to_owned())
}

/// Whether a tool may be called so: 1 to 64 of `a-z`, `0-9`, `_`, `-`.
pub fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-')
}

#[cfg(test)]
mod tests;
