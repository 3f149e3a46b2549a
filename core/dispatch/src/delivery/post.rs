//! What a running tool asks of the chat: a message to another conversation, a file of the message.

use std::sync::Arc;

use contract::{
    Address, DeliveryError, FileRef, Platform, Reply,
    records::{Change, Delivery},
    seams::ByteStream,
};
use tools::{Fault, ToolFailure};

use super::{Job, enqueue};
use crate::{
    call::{TurnCx, new_delivery},
    turn::persist_of,
};

/// A tool's message to another conversation: durable, then on its way.
pub(crate) async fn post(cx: &Arc<TurnCx>, tool: &str, to: Address, reply: Reply, n: u32) -> Result<(), ToolFailure> {
    // An earlier life stored it, and it goes out or has gone out already.
    if cx.posted.contains(&n) {
        return Ok(());
    }
    may_write(cx, tool, &to).await?;
    let mut delivery = new_delivery(n, to, Some(reply.clone()));
    delivery.to.reply_to = None;
    cx.settling.add();
    // To its end, also when the call is stopped meanwhile: what is stored goes out before the record is done.
    let storing = cx.inner.tasks.spawn(store(cx.clone(), delivery, reply));
    let stored = storing.await.unwrap_or_else(|error| Err(error.to_string()));
    stored.map_err(|why| {
        ToolFailure::new(Fault::Unavailable, "the message could not be stored, so it was not sent")
            .cause(contract::Private::new(why))
    })
}

async fn store(cx: Arc<TurnCx>, delivery: Delivery, reply: Reply) -> Result<(), String> {
    let of = (cx.id, &cx.session);
    if let Err(error) = cx.change(&[Change::Delivery(delivery.clone())]).await {
        if let (Some(done), Some(fence)) = (cx.settling.settle(), cx.fence) {
            // When it is not ours any more, the new owner ends it.
            let _ = persist_of(&cx.inner, fence, cx.id, &cx.session, &[done]).await;
        }
        return Err(error.to_string());
    }
    enqueue(&cx.inner, Job::new(of, delivery, Arc::new(reply), cx.settling.clone(), cx.fence));
    Ok(())
}

/// A person may have us write where that person may write: in the same conversation and thread, or where the platform says
/// that the person may write and the destination's policy shows the tool.
async fn may_write(cx: &TurnCx, tool: &str, to: &Address) -> Result<(), ToolFailure> {
    let refused =
        || ToolFailure::input_refused("that conversation does not exist, or you cannot write there", Vec::new());
    let Some(connected) = cx.inner.outlet(to) else { return Err(refused()) };
    let caller = &cx.caller;
    if caller.platform == Platform::Console {
        return Ok(());
    }
    if (caller.platform, &caller.account) != (to.platform, &to.account) {
        return Err(refused());
    }
    // Another thread may have rules of its own, or be somewhere else altogether.
    if (&caller.conversation, &caller.thread) == (&to.conversation, &to.thread) {
        return Ok(());
    }
    let policies = &cx.inner.snapshot.load().policies.clone();
    let there = contract::Caller {
        tenant: policies.tenant(to.platform, to.space.as_deref(), &to.conversation).to_owned(),
        conversation: to.conversation.clone(),
        thread: to.thread.clone(),
        space: to.space.clone(),
        roles: Vec::new(),
        ..caller.clone()
    };
    match connected.source.roles_to_write(&there).await {
        Ok(roles) if !roles.is_empty() => {
            let there = contract::Caller { roles, ..there };
            policies::permit(policies, policies, &there, tool, None).map(drop).map_err(|_| refused())
        }
        Ok(_) | Err(DeliveryError::Refused(_)) => Err(refused()),
        Err(error) => Err(ToolFailure::new(Fault::Unavailable, "the platform did not say whether you may write there")
            .cause(contract::Private::new(error.to_string()))),
    }
}

/// A file that the turn's message names.
pub(crate) async fn open(cx: &TurnCx, file: &FileRef) -> Result<ByteStream, ToolFailure> {
    let unavailable = || ToolFailure::new(Fault::Unavailable, "the file cannot be fetched from the chat any more");
    let to = cx.address.as_ref().ok_or_else(unavailable)?;
    let source = cx.inner.source(to).ok_or_else(unavailable)?;
    source.open(file).await.map_err(|e| unavailable().cause(contract::Private::new(e.to_string())))
}
