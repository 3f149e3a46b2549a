//! Who owns a name, and what stays when an owner's file went bad. Pure.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    sync::Arc,
};

use contract::{Finding, records::Shelf};

use super::{
    files::Source,
    snapshot::{Quarantine, Snapshot},
    standing::{is_live, label},
};
use crate::{
    spec::{self, Refused, Spec},
    tool::Tool,
};

/// The specs that own their names, and what was refused on the way.
#[derive(Default)]
pub struct Offer {
    pub chosen: Vec<Spec>,
    pub refused: Vec<Refusal>,
    pub errors: Vec<Finding>,
    pub warnings: Vec<Finding>,
}

/// A document that is not offered.
pub struct Refusal {
    pub name: Option<String>,
    pub error: Finding,
    pub loses: Loses,
}

/// Which tools lose their newest version by a refusal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Loses {
    Nothing,
    /// The one of its name.
    Tool,
    /// Whatever the file (or a file of the folder) held before and does not hold now: of what is half written not even
    /// the name can be trusted.
    File,
}

pub fn merge(sources: Vec<Source>, shelf: &Shelf, last: &Snapshot) -> Offer {
    let mut offer = Offer::default();
    let mut specs = Vec::new();
    for source in sources {
        match source.text {
            Err(why) => offer.refuse_file(&source.label, why),
            Ok(text) => {
                let mut parsed = spec::parse(&source.label, &text);
                let was_used = last.tools().iter().any(|tool| tool.spec.source().0 == source.label);
                if parsed.specs.is_empty() && parsed.refused.is_empty() && was_used {
                    // Somebody may be about to write it; who means it removes the file.
                    offer.refuse_file(&source.label, "the file is empty".to_owned());
                }
                offer.errors.append(&mut parsed.errors);
                offer.warnings.append(&mut parsed.warnings);
                let refusal = |r: Refused| Refusal { name: r.name, error: r.error, loses: Loses::File };
                offer.refused.extend(parsed.refused.into_iter().map(refusal));
                specs.append(&mut parsed.specs);
            }
        }
    }
    offer.choose(specs, shelf, last);
    offer
}

impl Offer {
    fn refuse_file(&mut self, label: &str, message: String) {
        let error = Finding { file: label.to_owned(), line: 1, column: 1, message, hint: None };
        self.errors.push(error.clone());
        self.refused.push(Refusal { name: None, error, loses: Loses::File });
    }

    /// The first owner of a name stays, also over reloads, unless a newcomer says `override: true`. The store is the
    /// first: it takes no name that a file has.
    fn choose(&mut self, specs: Vec<Spec>, shelf: &Shelf, last: &Snapshot) {
        let mut order: Vec<Arc<str>> = Vec::new();
        let mut by_name: HashMap<Arc<str>, Vec<Spec>> = HashMap::new();
        for spec in specs {
            let same = by_name.entry(spec.name.clone()).or_default();
            if same.is_empty() {
                order.push(spec.name.clone());
            }
            same.push(spec);
        }
        for name in order {
            let Some(mut same) = by_name.remove(&name) else { continue };
            let owner = last.get(&name).map(|tool| tool.spec.source().0.to_owned());
            let label = label(&name);
            if same.len() > 1 && !is_live(shelf, &name) {
                // It is to replace the owner when it is published, and not before.
                same.retain(|spec| spec.source().0 != label || !spec.overrides);
            }
            same.sort_by_key(|spec| {
                let file = spec.source().0;
                (spec.overrides, file != label, owner.as_deref() != Some(file))
            });
            let mut same = same.into_iter();
            let Some(first) = same.next() else { continue };
            let chosen = same.fold(first, |owner, newcomer| self.settle(owner, newcomer));
            self.chosen.push(chosen);
        }
    }

    fn settle(&mut self, owner: Spec, newcomer: Spec) -> Spec {
        let (file, line) = owner.source();
        // Of two that want to replace each other neither would stay.
        if newcomer.overrides && !owner.overrides {
            let (by, by_line) = newcomer.source();
            let message = format!("'{}' is replaced by {by}:{by_line}, which says 'override: true'", owner.name);
            self.warnings.push(owner.error_at("name", message));
            return newcomer;
        }
        let message = format!("'{}' has an owner already: {file}:{line}", owner.name);
        let hint = match newcomer.overrides {
            true => "both say 'override: true'; only one of them can",
            false => "choose another name, or say 'override: true'",
        };
        let error = newcomer.error_at("name", message).hint(hint);
        self.errors.push(error.clone());
        self.refused.push(Refusal { name: Some(owner.name.to_string()), error, loses: Loses::Nothing });
        owner
    }
}

/// Keeps the last good version of what was lost by a refusal, and makes the list that operators see.
pub fn keep(
    refused: Vec<Refusal>,
    last: &Snapshot,
    tools: &mut BTreeMap<Arc<str>, Arc<Tool>>,
    errors: &mut [Finding],
    warnings: &mut [Finding],
) -> Vec<Quarantine> {
    let mut kept: Vec<Vec<Arc<Tool>>> = vec![Vec::new(); refused.len()];
    // What bears the name of a lost tool answers for it before the rest of its file does.
    for by_name in [true, false] {
        for (refusal, kept) in refused.iter().zip(&mut kept) {
            for tool in last.tools().iter().filter(|tool| refusal.is_loss_of(tool, by_name)) {
                tools.entry(tool.name.clone()).or_insert_with(|| {
                    kept.push(tool.clone());
                    tool.clone()
                });
            }
        }
    }
    let mut quarantined = Vec::new();
    for (Refusal { name, error, .. }, kept) in refused.into_iter().zip(kept) {
        if kept.is_empty() {
            quarantined.push(quarantine(name.unwrap_or_else(|| error.file.clone()), &error, false));
            continue;
        }
        let names: Vec<_> = kept.iter().map(|tool| format!("'{}'", tool.name)).collect();
        if let Some(told) = errors.iter_mut().chain(&mut *warnings).find(|e| **e == error) {
            let stays = format!("the last good version of {} stays in use", names.join(", "));
            told.hint = Some(told.hint.take().map_or(stays.clone(), |hint| format!("{hint}; {stays}")));
        }
        quarantined.extend(kept.iter().map(|tool| quarantine(tool.name.to_string(), &error, true)));
    }
    quarantined.sort_by(|a, b| (&a.name, &a.file, a.line).cmp(&(&b.name, &b.file, b.line)));
    quarantined
}

impl Refusal {
    fn is_loss_of(&self, tool: &Tool, by_name: bool) -> bool {
        let is_named = self.name.as_deref() == Some(&*tool.name);
        let is_of_file = Path::new(tool.spec.source().0).starts_with(&self.error.file);
        match (self.loses, by_name) {
            (Loses::Nothing, _) | (Loses::Tool, false) => false,
            (Loses::Tool, true) => is_named,
            (Loses::File, true) => is_named && is_of_file,
            (Loses::File, false) => is_of_file,
        }
    }
}

fn quarantine(name: String, error: &Finding, kept: bool) -> Quarantine {
    let reason = match &error.hint {
        Some(hint) => format!("{}: {hint}", error.message),
        None => error.message.clone(),
    };
    Quarantine { name, reason, file: error.file.clone(), line: error.line, kept }
}
