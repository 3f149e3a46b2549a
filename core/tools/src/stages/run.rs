//! The chain at work on one call.

use std::{fmt::Write as _, future::Future, sync::Arc, time::Duration};

use contract::{Code, Effect, Failure, Node, Private};
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::{Chain, Changed, Class, Link, Of, Stage, Stopped, contain::contained};
use crate::endpoint::Host;

/// Most names that a mark says were changed.
const NAMED: usize = 8;
/// Most characters of a stage's own word for what it did, and of its refusal.
const WORD: usize = 120;
const SENTENCE: usize = 400;

/// The chain and the call that it looks at.
#[derive(Clone, Copy)]
pub struct Stages<'a> {
    pub chain: &'a Chain,
    pub of: &'a Arc<Of>,
}

impl Stages<'_> {
    fn links(&self) -> impl Iterator<Item = &Link> {
        self.chain.links().iter().filter(|link| link.only.is_for(&self.of.tool, &self.of.caller))
    }

    /// Arguments as the stages before their check leave them; `marks` say what changed.
    pub async fn request(&self, mut args: Value, marks: &mut Vec<String>) -> (Value, Result<(), Failure>) {
        for link in self.links() {
            let Stage::Request(stage) = &link.stage else { continue };
            let stop = |stopped| refused(&self.of.tool.name, stopped);
            match asked(link, link.timeout, stage.request(self.of, &args), marks).await {
                Ok(Some(Some(changed))) if changed.value != args => {
                    marks.push(format!("hook '{}': {}", link.name, said(&args, &changed)));
                    args = changed.value;
                }
                Ok(_) => {}
                Err(stopped) => return (args, Err(stop(stopped))),
            }
        }
        (args, Ok(()))
    }

    /// Whether all that decide let it pass. Observers are not waited for: see [`Stages::observers`].
    pub async fn before(&self, args: &Value, marks: &mut Vec<String>) -> Result<(), Failure> {
        for link in self.links().filter(|link| link.class == Class::Policy) {
            let Stage::Before(stage) = &link.stage else { continue };
            match asked(link, link.timeout, stage.before(self.of, args), marks).await {
                Ok(_) => marks.push(format!("hook '{}': allowed", link.name)),
                Err(stopped) => return Err(refused(&self.of.tool.name, stopped)),
            }
        }
        Ok(())
    }

    /// Tells those that only watch that the call begins; nothing where there are none, or too many calls are being told.
    pub fn observers(&self, args: &Value) -> Option<impl Future<Output = ()> + Send + 'static> {
        let is_watched = |link: &Link| matches!(link.stage, Stage::Before(_)) && link.class == Class::Observer;
        let place = self.place(is_watched)?;
        let (chain, of, args) = (self.chain.clone(), self.of.clone(), args.clone());
        Some(async move {
            let _place = place;
            for link in (Stages { chain: &chain, of: &of }).links().filter(|link| is_watched(link)) {
                let Stage::Before(stage) = &link.stage else { continue };
                let _ = asked(link, link.timeout, stage.before(&of, &args), &mut Vec::new()).await;
            }
        })
    }

    /// An answer as the stages leave it. Ends by the turn's time and when the call is stopped.
    pub async fn transform(
        &self,
        mut answer: Value,
        host: &dyn Host,
        until: Duration,
        cancel: &CancellationToken,
        marks: &mut Vec<String>,
    ) -> Result<Value, Failure> {
        for link in self.links() {
            let Stage::Transform(stage) = &link.stage else { continue };
            let work = async {
                tokio::select! {
                    biased;
                    done = stage.transform(self.of, &answer, host) => done,
                    () = cancel.cancelled() => Err(Stopped::Failed(Private::new("the call was stopped"))),
                }
            };
            match asked(link, link.timeout.min(until), work, marks).await {
                Ok(Some(Some(Changed { value, what }))) => {
                    let what = if what.is_empty() { "changed the answer".to_owned() } else { word(&what) };
                    marks.push(format!("hook '{}': {what}", link.name));
                    answer = value;
                }
                Ok(_) => {}
                Err(stopped) => return Err(withheld(&self.of.tool.name, stopped)),
            }
        }
        Ok(answer)
    }

    /// Tells stages how the call ended; nothing where there are none, or too many calls are being told.
    pub fn after(&self, node: &Arc<Node>) -> Option<impl Future<Output = ()> + Send + 'static> {
        let place = self.place(|link| matches!(link.stage, Stage::After(_)))?;
        let (chain, of, node) = (self.chain.clone(), self.of.clone(), node.clone());
        Some(async move {
            let _place = place;
            for link in (Stages { chain: &chain, of: &of }).links() {
                let Stage::After(stage) = &link.stage else { continue };
                let work = async { stage.after(&of, &node).await.map_err(Stopped::Failed) };
                let _ = asked(link, link.timeout, work, &mut Vec::new()).await;
            }
        })
    }

    /// A place for what nobody waits for, where such links are for this call.
    fn place(&self, is_one: impl Fn(&Link) -> bool) -> Option<OwnedSemaphorePermit> {
        self.links().find(|link| is_one(link))?;
        let place = self.chain.after.clone().try_acquire_owned().ok();
        if place.is_none() {
            self.links().filter(|link| is_one(link)).for_each(|link| failed(link, &Private::new("too many at once")));
        }
        place
    }
}

/// What a link came to. Of one that only observes, a failure or a refusal is as good as nothing.
async fn asked<T>(
    link: &Link,
    within: Duration,
    work: impl Future<Output = Result<T, Stopped>>,
    marks: &mut Vec<String>,
) -> Result<Option<T>, (Arc<str>, Stopped)> {
    link.counts.called();
    let done = contained(within, work).await.unwrap_or_else(|why| Err(Stopped::Failed(why)));
    counted(link, done.as_ref().map(drop));
    let stopped = match done {
        Ok(done) => return Ok(Some(done)),
        Err(stopped) => stopped,
    };
    let what = match &stopped {
        Stopped::Refused(_) => "refused",
        Stopped::Failed(_) => "no decision",
    };
    match link.class {
        Class::Policy => {
            marks.push(format!("hook '{}': {what}", link.name));
            Err((link.name.clone(), stopped))
        }
        Class::Observer => {
            marks.push(format!("hook '{}': {what}, which does not count", link.name));
            Ok(None)
        }
    }
}

/// Counts what a link came to.
pub(super) fn counted(link: &Link, decision: Result<(), &Stopped>) {
    if let Err(Stopped::Failed(why)) = decision {
        return failed(link, why);
    }
    if decision.is_err() {
        link.counts.refused();
    }
    if link.counts.is_well() {
        tracing::info!(hook = &*link.name, "a hook answers again");
    }
}

/// Said once until it is well again; how often is counted.
fn failed(link: &Link, why: &Private) {
    if link.counts.failed() {
        tracing::warn!(hook = &*link.name, stage = link.stage.word(), cause = why.for_operator(), "a hook failed");
    }
}

fn refused(tool: &str, (hook, stopped): (Arc<str>, Stopped)) -> Failure {
    match stopped {
        Stopped::Refused(say) => {
            let say = sentence(say.as_str());
            let say = if say.is_empty() { format!("'{tool}' may not be run like this") } else { say };
            Failure::new(Code::HookRefused, say).cause(Private::new(format!("the hook '{hook}' refused it")))
        }
        Stopped::Failed(why) => {
            Failure::new(Code::HookRefused, format!("'{tool}' was not run: it could not be checked"))
                .hint("try again a little later")
                .cause(Private::new(format!("the hook '{hook}' came to no decision: {}", why.for_operator())))
        }
    }
}

/// The tool has done its work; what it answered is not told.
fn withheld(tool: &str, (hook, stopped): (Arc<str>, Stopped)) -> Failure {
    let (say, why) = match stopped {
        Stopped::Refused(say) => (sentence(say.as_str()), "refused its answer".to_owned()),
        Stopped::Failed(why) => (String::new(), format!("came to no decision on its answer: {}", why.for_operator())),
    };
    let say = match say.is_empty() {
        true => format!("'{tool}' answered, and its answer could not be checked"),
        false => say,
    };
    Failure::new(Code::HookWithheld, say)
        .effect(Effect::Unknown)
        .cause(Private::new(format!("the hook '{hook}' {why}")))
}

/// What a stage says to people: one line without what could pass for a model's framing.
fn sentence(say: &str) -> String {
    contract::text::one_line(&contract::text::clean_framing(say), SENTENCE)
}

fn word(what: &str) -> String {
    contract::text::one_line(what, WORD)
}

/// What a change is, by the names of arguments and never by their values.
fn said(before: &Value, changed: &Changed) -> String {
    if !changed.what.is_empty() {
        return word(&changed.what);
    }
    let (Some(old), Some(new)) = (before.as_object(), changed.value.as_object()) else {
        return "changed the arguments".to_owned();
    };
    let set = new.keys().filter(|key| !old.contains_key(*key));
    let other = new.iter().filter(|(key, value)| old.get(*key).is_some_and(|was| was != *value)).map(|(key, _)| key);
    let gone = old.keys().filter(|key| !new.contains_key(*key));
    let mut words = Vec::new();
    for (verb, names) in [
        ("set", set.collect::<Vec<_>>()),
        ("changed", other.collect::<Vec<_>>()),
        ("removed", gone.collect::<Vec<_>>()),
    ] {
        if names.is_empty() {
            continue;
        }
        let named: Vec<_> = names.iter().take(NAMED).map(|name| contract::text::one_line(name, 40)).collect();
        let mut phrase = format!("{verb} {}", named.join(", "));
        if names.len() > NAMED {
            let _ = write!(phrase, " and {} more", names.len() - NAMED);
        }
        words.push(phrase);
    }
    words.join("; ")
}
