//! Changes of tools for good: looked at as a load would, judged by the state in which the tool is, put into the store.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;
use contract::{
    StoreDown,
    records::{self, CHANGES_MAX, PutTool, StoredSpec, StoredTool, ToolChange, ToolVerb},
};
use dispatch::{
    Gateway,
    keeper::{Asked, Kept, NotKept, ToolWish},
};
use tools::{
    lifecycle::{By, Judged, Known, Owner, Refused, Wish, judge},
    registry::{Examined, ExaminedSpec, label},
    spec::Publish,
};
use tracing::{info, warn};

use crate::run::loader::Loader;

/// Most bytes of a tool's text in the store.
const TEXT_MAX: usize = 256 * 1024;
/// How often a change is judged anew when somebody else was faster.
const TRIES: usize = 8;

/// The tools of one store, beside those of files.
pub struct Keeper {
    loader: Arc<Loader>,
    stored: Arc<dyn records::Registry>,
}

impl Keeper {
    pub fn new(loader: Arc<Loader>, stored: Arc<dyn records::Registry>) -> Self {
        Self { loader, stored }
    }

    /// Brings the gateway up to each change of whatever process, and of what is fetched, until it is dropped.
    pub async fn follow(self: Arc<Self>, gateway: Gateway) {
        let mut seen = self.loader.shelf().generation;
        let mut fetched = self.loader.registry().changes();
        loop {
            let changed = tokio::select! {
                changed = self.stored.tools_changed(seen) => changed,
                Ok(()) = fetched.changed() => {
                    dispatch::keeper::Keeper::reload(&*self, &gateway).await;
                    continue;
                }
            };
            match changed {
                Ok(now) => {
                    seen = now;
                    if self.loader.shelf().generation != now {
                        dispatch::keeper::Keeper::reload(&*self, &gateway).await;
                    }
                }
                // That the store is away is said where it matters.
                Err(_) => tokio::time::sleep(std::time::Duration::from_secs(1)).await,
            }
        }
    }

    async fn add(&self, asked: &Asked, label: &str, text: &str, publish: bool) -> Result<Vec<Kept>, NotKept> {
        let Examined { specs, errors, warnings } = self.examine(label, text).await?;
        if !errors.is_empty() {
            return Err(NotKept::Wrong { errors, warnings });
        }
        if specs.is_empty() {
            return refused("there is no tool in this text", Some("write at least 'name' and 'endpoint'"));
        }
        if let Some(long) = specs.iter().find(|spec| spec.text.len() > TEXT_MAX) {
            return refused(format!("'{}' is longer than 256 KiB", long.spec.name), None);
        }
        // Before any of them is kept: all or, as far as can be seen, none.
        for examined in &specs {
            self.may_be_added(examined, publish)?;
        }
        let mut kept = Vec::new();
        for examined in &specs {
            let spec = StoredSpec {
                text: examined.text.clone(),
                digest: examined.spec.digest(),
                by: asked.by.clone(),
                at_ms: now_ms(),
            };
            let name = &examined.spec.name;
            let wish = Wish::Add { spec, overrides: examined.spec.overrides };
            let mut one = self.put(asked, asked.seen, name, &wish).await?;
            if publish || says_auto(examined) {
                let published = self.publish(asked, None, name, "", None).await?;
                one = Kept { already: one.already && published.already, ..published };
            }
            one.warnings = warnings.iter().filter(|w| belongs(w, examined, &specs)).cloned().collect();
            kept.push(one);
        }
        Ok(kept)
    }

    fn may_be_added(&self, examined: &ExaminedSpec, publish: bool) -> Result<(), NotKept> {
        let spec = &examined.spec;
        if let Some(owner) = self.owner(&spec.name).filter(|_| !spec.overrides) {
            return Err(self.refusal(&spec.name, Refused::Owned(owner)));
        }
        match publish || says_auto(examined) {
            true if spec.description.is_empty() => no_description(&spec.name),
            true | false => Ok(()),
        }
    }

    async fn publish(
        &self,
        asked: &Asked,
        seen: Option<u64>,
        name: &str,
        why: &str,
        description: Option<&str>,
    ) -> Result<Kept, NotKept> {
        let stored = self.stored.stored_tool(name).await?;
        let waiting = stored.and_then(|stored| stored.waiting);
        let mut described = None;
        let mut warnings = Vec::new();
        if let Some(waiting) = waiting {
            let text = match description {
                Some(words) => with_description(&waiting.text, words),
                None => waiting.text.clone(),
            };
            let examined = self.examine(&label(name), &text).await?;
            let spec = good(examined, &mut warnings)?;
            if spec.spec.description.is_empty() {
                return no_description(name);
            }
            if description.is_some() {
                described = Some(StoredSpec { text, digest: spec.spec.digest(), by: asked.by.clone(), ..waiting });
            }
        }
        let wish = Wish::Publish { described, why: why.to_owned() };
        self.put(asked, seen, name, &wish).await
    }

    async fn rollback(&self, asked: &Asked, name: &str, to: Option<u64>) -> Result<Kept, NotKept> {
        let (_, changes) = dispatch::keeper::Keeper::history(self, name).await?.ok_or_else(|| self.unknown(name))?;
        let known = self.stored.stored_tool(name).await?;
        let owner = self.owner(name);
        let wish = Wish::Rollback { to };
        let by = By { name: &asked.by, at_ms: now_ms() };
        let judged =
            judge(&Known { name, stored: known.as_ref(), changes: &changes, owner: owner.as_ref() }, &wish, by);
        let mut warnings = Vec::new();
        if let Ok(Judged::Change(change)) = &judged
            && let Some(live) = &change.after.live
        {
            // What was good once need not be good for this release.
            let examined = self.examine(&label(name), &live.text).await?;
            good(examined, &mut warnings)?;
        }
        self.put(asked, asked.seen, name, &wish).await
    }

    async fn refresh(&self, name: &str) -> Result<Kept, NotKept> {
        let snapshot = self.loader.registry().current();
        let stored = self.stored.stored_tool(name).await?;
        if snapshot.get(name).is_none() && stored.is_none() {
            return Err(self.unknown(name));
        }
        self.stored.refresh_tool(name).await?;
        Ok(Kept {
            name: name.to_owned(),
            version: stored.map_or(0, |stored| stored.version),
            digest: snapshot.get(name).map(|tool| tool.digest),
            said: format!("what was remembered of '{name}' is thrown away"),
            already: false,
            warnings: Vec::new(),
        })
    }

    /// Judges a wish by what is stored, and puts what comes of it; anew when somebody was faster.
    async fn put(&self, asked: &Asked, seen: Option<u64>, name: &str, wish: &Wish) -> Result<Kept, NotKept> {
        let owner = self.owner(name);
        for _ in 0..TRIES {
            let changes = self.stored.tool_changes(name, CHANGES_MAX).await?;
            let stored = self.stored.stored_tool(name).await?;
            let version = stored.as_ref().map_or(0, |stored| stored.version);
            if changes.first().map_or(0, |change| change.after.version) != version {
                continue;
            }
            if let Some(seen) = seen.filter(|seen| *seen != version) {
                return Err(outdated(name, seen, version, changes.first()));
            }
            let known = Known { name, stored: stored.as_ref(), changes: &changes, owner: owner.as_ref() };
            let by = By { name: &asked.by, at_ms: now_ms() };
            let change = match judge(&known, wish, by) {
                Ok(Judged::Change(change)) => change,
                Ok(Judged::Already(said)) => return Ok(self.kept(stored.as_ref(), name, said.to_owned(), true)),
                Err(refusal) => return Err(self.refusal(name, refusal)),
            };
            match self.stored.put_tool(&change).await? {
                PutTool::Made => {
                    let (what, by) = (change.what.as_str(), &change.by);
                    info!(tool = name, version = change.after.version, what, by, "a tool was changed");
                    return Ok(self.kept(Some(&change.after), name, said(name, &change, owner.as_ref()), false));
                }
                PutTool::Late => {}
                PutTool::Full => return Err(NotKept::Full),
            }
        }
        refused(format!("'{name}' is changed by others all the time; nothing was done"), Some("try it again"))
    }

    fn kept(&self, stored: Option<&StoredTool>, name: &str, said: String, already: bool) -> Kept {
        let spec = stored.and_then(|stored| stored.live.as_ref().or(stored.waiting.as_ref()));
        let digest = spec.map(|spec| spec.digest);
        let digest = digest.or_else(|| self.loader.registry().current().get(name).map(|tool| tool.digest));
        let version = stored.map_or(0, |stored| stored.version);
        Kept { name: name.to_owned(), version, digest, said, already, warnings: Vec::new() }
    }

    /// Who else has the name: what is offered under it, or a file that is out of order.
    fn owner(&self, name: &str) -> Option<Owner> {
        let (snapshot, own) = (self.loader.registry().current(), label(name));
        if let Some(tool) = snapshot.get(name) {
            let (file, line) = tool.spec.source();
            let manual = (tool.spec.publish == Publish::Manual).then_some(tool.digest);
            return (file != own).then(|| Owner { file: file.to_owned(), line, manual });
        }
        let out = snapshot.quarantined().iter().find(|out| out.name == name && out.file != own)?;
        Some(Owner { file: out.file.clone(), line: out.line, manual: None })
    }

    fn unknown(&self, name: &str) -> NotKept {
        let (snapshot, shelf) = (self.loader.registry().current(), self.loader.shelf());
        let names = snapshot.tools().iter().map(|tool| &*tool.name);
        let near = contract::text::nearest(name, names.chain(shelf.tools.iter().map(|tool| &*tool.name)));
        NotKept::Unknown { name: name.to_owned(), near: near.map(str::to_owned) }
    }

    fn refusal(&self, name: &str, refusal: Refused) -> NotKept {
        let (say, hint) = match refusal {
            Refused::Unknown => return self.unknown(name),
            Refused::NotNow(why) => (format!("'{name}': {why}"), None),
            Refused::Owned(Owner { file, line, .. }) => (
                format!("'{name}' belongs to {file}:{line}"),
                Some("change it there; 'deprecate', 'remove' and 'publish' restrict it and take that back".to_owned()),
            ),
        };
        NotKept::Refused { say, hint }
    }

    /// Compiles schemas and builds endpoints: not on a runtime's thread.
    async fn examine(&self, label: &str, text: &str) -> Result<Examined, NotKept> {
        let (loader, label, text) = (self.loader.clone(), label.to_owned(), text.to_owned());
        let looked = tokio::task::spawn_blocking(move || loader.registry().examine(&label, &text)).await;
        looked.or_else(|error| refused(format!("the text could not be looked at: {error}"), None))
    }
}

#[async_trait]
impl dispatch::keeper::Keeper for Keeper {
    async fn change(&self, asked: &Asked) -> Result<Vec<Kept>, NotKept> {
        let one = |kept: Result<Kept, NotKept>| kept.map(|kept| vec![kept]);
        match &asked.wish {
            ToolWish::Add { label, text, publish } => self.add(asked, label, text, *publish).await,
            ToolWish::Publish { name, why, description } => {
                one(self.publish(asked, asked.seen, name, why, description.as_deref()).await)
            }
            ToolWish::Deprecate { name, why } => {
                one(self.put(asked, asked.seen, name, &Wish::Deprecate { why: why.clone() }).await)
            }
            ToolWish::Remove { name, why } => {
                one(self.put(asked, asked.seen, name, &Wish::Remove { why: why.clone() }).await)
            }
            ToolWish::Rollback { name, to } => one(self.rollback(asked, name, *to).await),
            ToolWish::Refresh { name } => one(self.refresh(name).await),
        }
    }

    async fn history(&self, name: &str) -> Result<Option<(StoredTool, Vec<ToolChange>)>, StoreDown> {
        let Some(stored) = self.stored.stored_tool(name).await? else {
            let is_known = self.loader.registry().current().get(name).is_some();
            return Ok(is_known.then(|| (StoredTool { name: name.to_owned(), ..StoredTool::default() }, Vec::new())));
        };
        let changes = self.stored.tool_changes(name, CHANGES_MAX).await?;
        Ok(Some((stored, changes)))
    }

    async fn reload(&self, gateway: &Gateway) {
        if let Err(error) = self.loader.read_shelf(&*self.stored).await {
            warn!(%error, "the tools of the store cannot be read; what it had counts");
        }
        let (loader, gateway) = (self.loader.clone(), gateway.clone());
        if let Err(error) = tokio::task::spawn_blocking(move || loader.reload(&gateway)).await {
            warn!(%error, "tools and policies could not be read again");
        }
    }
}

fn refused<T>(say: impl Into<String>, hint: Option<&str>) -> Result<T, NotKept> {
    Err(NotKept::Refused { say: say.into(), hint: hint.map(str::to_owned) })
}

fn no_description<T>(name: &str) -> Result<T, NotKept> {
    let hint =
        "write 'description' into the spec and add it again, or say it when you publish it: --description 'TEXT'";
    refused(format!("'{name}' has no description: no model can choose it"), Some(hint))
}

fn outdated(name: &str, seen: u64, version: u64, last: Option<&ToolChange>) -> NotKept {
    let by = last.map(|last| format!(", {} by {}", last.what.as_str(), last.by)).unwrap_or_default();
    NotKept::Refused {
        say: format!("'{name}' is not at version {seen} any more: it is at {version}{by}"),
        hint: Some("look at its history, and decide anew".to_owned()),
    }
}

/// The one spec of a text that was good when it was added.
fn good(examined: Examined, warnings: &mut Vec<contract::Finding>) -> Result<ExaminedSpec, NotKept> {
    let Examined { mut specs, errors, warnings: told } = examined;
    match specs.pop() {
        Some(spec) if errors.is_empty() => {
            *warnings = told;
            Ok(spec)
        }
        Some(_) | None => Err(NotKept::Wrong { errors, warnings: told }),
    }
}

/// Whether the spec itself says that to be added is to be published.
fn says_auto(examined: &ExaminedSpec) -> bool {
    examined.spec.publish == Publish::Auto && examined.spec.says("publish")
}

/// Whether a finding stands in this document: from its first line on, and before the next one's.
fn belongs(finding: &contract::Finding, examined: &ExaminedSpec, all: &[ExaminedSpec]) -> bool {
    let line = |spec: &ExaminedSpec| spec.spec.source().1;
    let next = all.iter().map(line).filter(|other| *other > line(examined)).min().unwrap_or(u32::MAX);
    (line(examined)..next).contains(&finding.line)
}

/// A text without a description, with one. JSON's strings are YAML's.
fn with_description(text: &str, words: &str) -> String {
    let words = serde_json::Value::String(words.trim().to_owned());
    format!("description: {words}\n{text}")
}

fn said(name: &str, change: &ToolChange, owner: Option<&Owner>) -> String {
    let version = change.after.version;
    match (change.what, owner) {
        (ToolVerb::Added, _) => format!("'{name}' was added as version {version}; it waits for 'publish'"),
        (ToolVerb::Published, _) => format!("'{name}' is published, version {version}"),
        (ToolVerb::Deprecated, _) => format!("'{name}' is deprecated: it can still be called, and says so"),
        (ToolVerb::Removed, Some(owner)) => {
            format!("'{name}' of {}:{} is switched off until it is published again", owner.file, owner.line)
        }
        (ToolVerb::Removed, None) => format!("'{name}' is removed; 'rollback' brings it back"),
        (ToolVerb::RolledBack, _) => {
            format!("'{name}' is as it was in version {}, now version {version}", change.to.unwrap_or_default())
        }
    }
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
