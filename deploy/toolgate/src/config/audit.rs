//! `audit`: where an event of each call goes.

use std::{path::PathBuf, time::Duration};

use contract::records::AUDIT_KEPT;

use super::{
    read::{Reader, Table},
    secret::Secret,
    yaml::{Tree, Value},
};

/// Places of the audit trail. Without the key: standard output under `up`, and the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit {
    pub stdout: bool,
    pub store: bool,
    pub file: Option<PathBuf>,
    pub http: Option<Posted>,
    /// Calls that would leave no event are refused.
    pub required: bool,
    /// How long the store keeps events.
    pub kept: Duration,
}

/// An address that events are posted to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    pub url: String,
    pub token: Option<Secret>,
}

impl Default for Audit {
    fn default() -> Self {
        Self { stdout: true, store: true, file: None, http: None, required: false, kept: AUDIT_KEPT }
    }
}

const MODES: [(&str, bool); 2] = [("best_effort", false), ("required", true)];

impl Audit {
    pub(super) fn read(reader: &mut Reader, tree: Tree) -> Self {
        let mut audit = Self::default();
        if !matches!(tree.value, Value::Map(_)) {
            audit.required = reader.choice("audit", &tree, &MODES).unwrap_or_default();
            return audit;
        }
        let Some(mut table) = reader.table("audit", tree) else { return audit };
        if let Some(tree) = table.take("to") {
            (audit.stdout, audit.store) = (false, false);
            for place in reader.list(tree) {
                audit.place(reader, place);
            }
        }
        if let Some(tree) = table.take("mode") {
            audit.required = reader.choice("audit.mode", &tree, &MODES).unwrap_or_default();
        }
        if let Some(tree) = table.take("kept") {
            audit.kept = reader.duration("audit.kept", &tree).unwrap_or(audit.kept);
        }
        reader.finish(table);
        audit
    }

    fn place(&mut self, reader: &mut Reader, tree: Tree) {
        let spot = tree.spot.clone();
        let taken = if matches!(tree.value, Value::Map(_)) {
            let Some(mut table) = reader.table("audit.to", tree) else { return };
            let taken = self.named(reader, &mut table);
            reader.finish(table);
            taken
        } else {
            let word = reader.choice("audit.to", &tree, &[("stdout", true), ("store", false)]);
            let place = word.map(|is_stdout| if is_stdout { &mut self.stdout } else { &mut self.store });
            place.is_some_and(|place| std::mem::replace(place, true))
        };
        if taken {
            reader.error(&spot, "'audit.to' names a place of this kind twice");
        }
    }

    /// Whether there was such a place before.
    fn named(&mut self, reader: &mut Reader, table: &mut Table) -> bool {
        if let Some(tree) = table.take("file") {
            let path = reader.path("audit.to.file", &tree);
            return self.file.replace(path.unwrap_or_default()).is_some();
        }
        let Some(tree) = table.take("http") else {
            reader.error(&table.spot, "'audit.to' needs stdout, store, '{ file: PATH }' or '{ http: URL }'");
            return false;
        };
        let url = reader.url("audit.to.http", &tree).unwrap_or_default();
        let token = table.take("token").and_then(|tree| reader.secret("audit.to.token", &tree));
        self.http.replace(Posted { url, token }).is_some()
    }
}
