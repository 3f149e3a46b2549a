//! People, roles and channels in policy files: by id, or by an alias declared once under `names`.

use contract::{Platform, text};

use crate::{
    reader::{self, Reader, did_you_mean},
    rules::{Who, WhoKind},
    tree::{self, Node},
};

/// The aliases of a file, and the platform that an id without one belongs to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    pub platform: Option<Platform>,
    aliases: Vec<(String, Vec<Written>)>,
}

/// An id as written, possibly without its platform.
#[derive(Debug, Clone)]
struct Written {
    platform: Option<Platform>,
    space: Option<String>,
    kind: WhoKind,
    id: String,
}

/// Which kinds a list takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    People,
    Channels,
    Both,
}

impl Names {
    /// No alias yet; ids without a platform belong to `platform`.
    pub fn on(platform: Platform) -> Self {
        Self { platform: Some(platform), aliases: Vec::new() }
    }

    /// Adds what a `names` section declares.
    pub fn declare(&mut self, reader: &mut Reader, tree: &Node) {
        for (key, value) in reader.entries(tree, "names") {
            let name = key.name.as_str();
            if name.contains([':', '/']) || name.chars().any(char::is_whitespace) {
                let hint = "a name has no ':', '/' or space in it".to_owned();
                reader.error(key.at, format!("'{}' cannot be a name", text::one_line(name, 64)), Some(hint));
                continue;
            }
            if self.aliases.iter().any(|(known, _)| known == name) {
                reader.error(key.at, format!("the name '{name}' is declared already"), None);
                continue;
            }
            let ids = self.declared(reader, value, name);
            if ids.is_empty() {
                reader.warn(key.at, format!("the name '{name}' stands for nobody"), None);
            }
            self.aliases.push((name.to_owned(), ids));
        }
    }

    fn declared(&self, reader: &mut Reader, tree: &Node, name: &str) -> Vec<Written> {
        let items = match reader::written(tree) {
            Some(_) => std::slice::from_ref(tree),
            None => reader.items(tree, name),
        };
        let mut ids = Vec::new();
        for item in items {
            let Some(given) = reader.text(item, name) else { continue };
            match written(given) {
                Ok(id) => ids.push(id),
                Err(problem) => reader.error(item.at, problem.message, problem.hint),
            }
        }
        ids
    }

    /// Whom a list names.
    pub fn list(&self, reader: &mut Reader, tree: &Node, what: &str, takes: Takes) -> Vec<Who> {
        let mut who = Vec::new();
        for item in reader.items(tree, what) {
            if let Some(given) = reader.text(item, what) {
                who.extend(self.resolve(reader, item.at, given, what, takes));
            }
        }
        who
    }

    /// Whom one alias or id names.
    pub fn resolve(&self, reader: &mut Reader, at: tree::Place, given: &str, what: &str, takes: Takes) -> Vec<Who> {
        let single;
        let ids = match self.aliases.iter().find(|(name, _)| name == given) {
            Some((_, ids)) => ids,
            None => match written(given) {
                Ok(id) => {
                    single = vec![id];
                    &single
                }
                Err(problem) => {
                    let near = did_you_mean(given, self.aliases.iter().map(|(name, _)| name.as_str()));
                    reader.error(at, problem.message, near.or(problem.hint));
                    return Vec::new();
                }
            },
        };
        ids.iter().filter_map(|id| self.bind(reader, at, given, id, what, takes)).collect()
    }

    fn bind(
        &self,
        reader: &mut Reader,
        at: tree::Place,
        given: &str,
        id: &Written,
        what: &str,
        takes: Takes,
    ) -> Option<Who> {
        let Some(platform) = id.platform.or(self.platform) else {
            let hint = "write 'slack:id:…', or match one platform only".to_owned();
            reader.error(at, format!("'{given}' does not say on which platform"), Some(hint));
            return None;
        };
        let who = Who { platform, space: id.space.clone(), kind: id.kind.clone(), id: id.id.clone() };
        match (takes, who.is_channel()) {
            (Takes::People, true) => {
                reader.error(at, format!("'{given}' names a channel; '{what}' takes people and roles"), None);
                None
            }
            (Takes::Channels, false) => {
                reader.error(at, format!("'{given}' names people; '{what}' takes channels"), None);
                None
            }
            (Takes::Both, _) | (Takes::People, false) | (Takes::Channels, true) => Some(who),
        }
    }
}

struct Problem {
    message: String,
    hint: Option<String>,
}

/// `role:998`, `slack:id:U12` or `slack:T0FIN/id:U12`.
fn written(given: &str) -> Result<Written, Problem> {
    let shown = text::one_line(given, 64);
    let not_an_id = || Problem {
        message: format!("'{shown}' is neither declared under 'names' nor an id"),
        hint: Some("write id:…, role:… or channel:…, since display names can be taken by anybody".to_owned()),
    };
    let (head, rest) = given.split_once(':').ok_or_else(not_an_id)?;
    if is_kind(head) {
        return kind_and_id(given, None, None).ok_or_else(not_an_id);
    }
    let Ok(platform) = head.parse::<Platform>() else {
        let near = did_you_mean(head, Platform::ALL.iter().map(|p| p.as_str()).chain(KINDS));
        return Err(Problem { hint: near.or(not_an_id().hint), ..not_an_id() });
    };
    let starts_with_kind = rest.split_once(':').is_some_and(|(kind, _)| is_kind(kind));
    let (space, id) = match rest.split_once('/') {
        Some((space, id)) if !starts_with_kind => (Some(space.to_owned()), id),
        _ => (None, rest),
    };
    kind_and_id(id, Some(platform), space).ok_or_else(not_an_id)
}

const KINDS: [&str; 3] = ["id", "role", "channel"];

fn is_kind(word: &str) -> bool {
    KINDS.contains(&word)
}

fn kind_and_id(given: &str, platform: Option<Platform>, space: Option<String>) -> Option<Written> {
    let (kind, id) = given.split_once(':')?;
    if !is_id(id) || space.as_deref().is_some_and(|space| !is_id(space)) {
        return None;
    }
    let (kind, id) = match kind {
        "id" => (WhoKind::Person, id),
        "role" => (WhoKind::Role, id),
        "channel" => match id.split_once('/') {
            Some((id, thread)) if id.is_empty() || thread.is_empty() => return None,
            Some((id, thread)) => (WhoKind::Channel { thread: Some(thread.to_owned()) }, id),
            None => (WhoKind::Channel { thread: None }, id),
        },
        _ => return None,
    };
    Some(Written { platform, space, kind, id: id.to_owned() })
}

/// What a platform could have given as an id: not a handle, not a pattern.
fn is_id(id: &str) -> bool {
    !id.is_empty() && !id.starts_with(['@', '#']) && !id.contains('*') && !id.chars().any(char::is_whitespace)
}
