//! Reasons that people are about to write where a platform has no form to ask for them.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use contract::{Caller, Kind, Message, Platform, StoreDown, records::ApprovalId};

use super::{Answer, Inner, decide};

/// How long a reason is waited for, and for how many at once.
const LASTS: Duration = Duration::from_secs(5 * 60);
const MOST: usize = 1_000;

/// A person in a conversation, and in a thread of it.
type Where = (Platform, String, String, Option<String>, String);

/// Who presses "deny with a reason" says it in the next message there.
#[derive(Default)]
pub(crate) struct Reasons(Mutex<HashMap<Where, (ApprovalId, Instant)>>);

impl Reasons {
    fn wait_for(&self, who: Where, id: ApprovalId) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|_, (_, since)| since.elapsed() < LASTS);
        if waiting.len() >= MOST
            && let Some(oldest) = waiting.iter().min_by_key(|(_, (_, since))| *since).map(|(who, _)| who.clone())
        {
            waiting.remove(&oldest);
        }
        waiting.insert(who, (id, Instant::now()));
    }

    fn waited_for(&self, who: &Where) -> Option<ApprovalId> {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.get(who).filter(|(_, since)| since.elapsed() < LASTS).map(|(id, _)| *id)
    }

    fn over(&self, who: &Where) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(who);
    }
}

fn at(message: &Message, who: &Caller) -> Where {
    let to = &message.address;
    (to.platform, to.account.clone(), to.conversation.clone(), to.thread.clone(), who.sender.id.clone())
}

/// Somebody wants to say why not, where no form asked for it; what to say to them alone.
pub(crate) async fn asked(inner: &Inner, message: &Message, who: &Caller, id: ApprovalId) -> Result<String, StoreDown> {
    if let Some(why_not) = decide::in_the_way(inner, who, &message.address, id).await? {
        return Ok(why_not);
    }
    inner.reasons.wait_for(at(message, who), id);
    Ok("send the reason as a reply to the question, within 5 minutes".to_owned())
}

/// The reason that was waited for, if the message is one; anything else that the person says there ends the waiting.
pub(crate) async fn said(inner: &Inner, message: &Message, who: &Caller) -> Result<Option<String>, StoreDown> {
    if matches!(message.kind, Kind::Press { .. } | Kind::Reaction { .. }) {
        return Ok(None);
    }
    let place = at(message, who);
    let Some(id) = inner.reasons.waited_for(&place) else { return Ok(None) };
    let why = match &message.kind {
        Kind::Text { text } => text.trim(),
        _ => "",
    };
    if why.is_empty() || why.starts_with('/') {
        inner.reasons.over(&place);
        return Ok(None);
    }
    // Waited for until it is settled: a message that comes again because the store was away is the reason still.
    let told = decide::by_person(inner, who, &message.address, id, Answer::Deny(why.to_owned())).await?;
    inner.reasons.over(&place);
    Ok(Some(told))
}
