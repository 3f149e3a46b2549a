//! What may become of a tool: added → published → deprecated → removed, and back. Pure: the wish in, the change out.

use contract::{
    Digest,
    records::{Mark, StoredSpec, StoredTool, ToolChange, ToolVerb},
};

/// What somebody wants of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    Add {
        spec: StoredSpec,
        /// It says `override: true`.
        overrides: bool,
    },
    Publish {
        /// The version that waits, with a description that it had not; nothing when it has one.
        described: Option<StoredSpec>,
        why: String,
    },
    Deprecate {
        why: String,
    },
    Remove {
        why: String,
    },
    Rollback {
        /// The number of the change to go back to; the offer before the present one when not said.
        to: Option<u64>,
    },
}

/// Another owner of the name than the store: a file, or the binary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    pub file: String,
    pub line: u32,
    /// The version that waits to be published (`publish: manual`), whether or not it was.
    pub manual: Option<Digest>,
}

/// What is known of a tool when something is wanted of it.
pub struct Known<'a> {
    pub name: &'a str,
    pub stored: Option<&'a StoredTool>,
    /// The newest first.
    pub changes: &'a [ToolChange],
    pub owner: Option<&'a Owner>,
}

/// What comes of a wish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judged {
    Change(Box<ToolChange>),
    /// It is so already.
    Already(&'static str),
}

/// Why nothing comes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// Nobody knows the name.
    Unknown,
    /// The name is another's.
    Owned(Owner),
    /// Not in the state in which the tool is.
    NotNow(String),
}

/// Who wants it, and when.
#[derive(Debug, Clone, Copy)]
pub struct By<'a> {
    pub name: &'a str,
    pub at_ms: u64,
}

pub fn judge(known: &Known<'_>, wish: &Wish, by: By<'_>) -> Result<Judged, Refused> {
    let mut after = known.stored.cloned().unwrap_or_default();
    after.name = known.name.to_owned();
    match (wish, known.owner) {
        (Wish::Add { spec, overrides }, owner) => match owner {
            Some(owner) if !overrides => Err(Refused::Owned(owner.clone())),
            Some(_) | None => Ok(add(after, spec, by)),
        },
        // What waits under another's name says `override: true`: it was taken for that alone.
        (Wish::Publish { why, .. }, Some(owner)) if after.waiting.is_none() => lift(after, owner, why, by),
        (Wish::Deprecate { why }, Some(_)) => Ok(deprecate(after, why, by)),
        (Wish::Remove { why }, Some(_)) => Ok(switch_off(after, why, by)),
        (Wish::Rollback { .. }, Some(owner)) => Err(Refused::Owned(owner.clone())),
        (Wish::Publish { described, why }, _) => publish(known, after, described.as_ref(), why, by),
        (Wish::Deprecate { why }, None) => {
            offered(known, "deprecated")?;
            Ok(deprecate(after, why, by))
        }
        (Wish::Remove { why }, None) => remove(known, after, why, by),
        (Wish::Rollback { to }, None) => rollback(known, after, *to, by),
    }
}

fn add(mut after: StoredTool, spec: &StoredSpec, by: By<'_>) -> Judged {
    let is_same = |there: &Option<StoredSpec>| there.as_ref().is_some_and(|there| there.digest == spec.digest);
    if is_same(&after.waiting) {
        return Judged::Already("this version was added already, and waits to be published");
    }
    if is_same(&after.live) && after.waiting.is_none() {
        return Judged::Already("this version is published already");
    }
    after.waiting = Some(spec.clone());
    made(ToolVerb::Added, after, "", None, by)
}

fn publish(
    known: &Known<'_>,
    mut after: StoredTool,
    described: Option<&StoredSpec>,
    why: &str,
    by: By<'_>,
) -> Result<Judged, Refused> {
    if let Some(waiting) = after.waiting.take() {
        after.live = Some(described.cloned().unwrap_or(waiting));
        after.deprecated = None;
        return Ok(made(ToolVerb::Published, after, why, None, by));
    }
    offered(known, "published")?;
    match after.deprecated.take() {
        Some(_) => Ok(made(ToolVerb::Published, after, why, None, by)),
        None => Ok(Judged::Already("it is published already")),
    }
}

/// Takes back what restricts another's tool.
fn lift(mut after: StoredTool, owner: &Owner, why: &str, by: By<'_>) -> Result<Judged, Refused> {
    let is_restricted = after.off.take().is_some() | after.deprecated.take().is_some();
    let is_released = owner.manual.is_none() || owner.manual == after.released;
    if !is_restricted && is_released {
        return Ok(Judged::Already("it is published already"));
    }
    after.released = owner.manual.or(after.released);
    Ok(made(ToolVerb::Published, after, why, None, by))
}

fn deprecate(mut after: StoredTool, why: &str, by: By<'_>) -> Judged {
    if after.deprecated.as_ref().is_some_and(|mark| mark.why == why) {
        return Judged::Already("it is deprecated already");
    }
    after.deprecated = Some(mark(why, by));
    made(ToolVerb::Deprecated, after, why, None, by)
}

fn switch_off(mut after: StoredTool, why: &str, by: By<'_>) -> Judged {
    if after.off.is_some() {
        return Judged::Already("it is switched off already");
    }
    after.off = Some(mark(why, by));
    made(ToolVerb::Removed, after, why, None, by)
}

fn remove(known: &Known<'_>, mut after: StoredTool, why: &str, by: By<'_>) -> Result<Judged, Refused> {
    if known.stored.is_none() {
        return Err(Refused::Unknown);
    }
    if after.live.take().is_none() & after.waiting.take().is_none() {
        return Ok(Judged::Already("it is removed already"));
    }
    after.deprecated = None;
    Ok(made(ToolVerb::Removed, after, why, None, by))
}

fn rollback(known: &Known<'_>, mut after: StoredTool, to: Option<u64>, by: By<'_>) -> Result<Judged, Refused> {
    let stored = known.stored.ok_or(Refused::Unknown)?;
    let target = match to {
        Some(number) => {
            let found = known.changes.iter().find(|change| change.after.version == number);
            found.ok_or_else(|| {
                let oldest = known.changes.last().map_or(0, |change| change.after.version);
                Refused::NotNow(format!(
                    "there is no version {number}: versions {oldest} to {} are kept",
                    stored.version
                ))
            })?
        }
        None => before(known.changes).ok_or_else(|| {
            Refused::NotNow("nothing else was offered before: there is nothing to go back to".to_owned())
        })?,
    };
    if target.after.live.is_none() {
        let what = target.what.as_str();
        let why =
            format!("nothing was offered in version {} ({what}): name one that was published", target.after.version);
        return Err(Refused::NotNow(why));
    }
    if is_same_offer(&target.after, stored) {
        return Ok(Judged::Already("it is what is offered already"));
    }
    after.live = target.after.live.clone();
    after.deprecated = target.after.deprecated.clone();
    let to = target.after.version;
    Ok(made(ToolVerb::RolledBack, after, "", Some(to), by))
}

/// The last offer before the present one. Who goes back twice comes to the one before that, not to and fro.
fn before(changes: &[ToolChange]) -> Option<&ToolChange> {
    let present = changes.first()?;
    let from = present.to.filter(|_| present.what == ToolVerb::RolledBack).unwrap_or(present.after.version);
    let present = &present.after;
    let mut older = changes
        .iter()
        .filter(|change| change.after.version < from)
        .skip_while(|change| change.after.live.is_none() || is_same_offer(&change.after, present));
    let newest = older.next()?;
    // The change that made it the offer, not one that left it so.
    Some(older.take_while(|change| is_same_offer(&change.after, &newest.after)).last().unwrap_or(newest))
}

fn is_same_offer(a: &StoredTool, b: &StoredTool) -> bool {
    let offer = |tool: &StoredTool| {
        (tool.live.as_ref().map(|live| live.digest), tool.deprecated.as_ref().map(|mark| mark.why.clone()))
    };
    offer(a) == offer(b)
}

/// What is not offered can be neither published again nor deprecated.
fn offered(known: &Known<'_>, what: &str) -> Result<(), Refused> {
    let stored = known.stored.ok_or(Refused::Unknown)?;
    if stored.live.is_some() {
        return Ok(());
    }
    Err(Refused::NotNow(match stored.waiting {
        Some(_) => format!("it waits to be published, so it cannot be {what}"),
        None => format!("it was removed, so it cannot be {what}: 'rollback' brings it back, or add it anew"),
    }))
}

fn mark(why: &str, by: By<'_>) -> Mark {
    Mark { by: by.name.to_owned(), at_ms: by.at_ms, why: why.to_owned() }
}

fn made(what: ToolVerb, mut after: StoredTool, why: &str, to: Option<u64>, by: By<'_>) -> Judged {
    after.version += 1;
    let by_name = by.name.to_owned();
    Judged::Change(Box::new(ToolChange { what, by: by_name, at_ms: by.at_ms, why: why.to_owned(), to, after }))
}

#[cfg(test)]
mod tests;
