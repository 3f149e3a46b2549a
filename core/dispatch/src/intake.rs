//! Takes a message in: whose rules, whether it is for us, signal or turn; stored before it is acknowledged.

use std::sync::Arc;

use contract::{
    Accepted, Address, Audience, Caller, Catalog, Code, Failure, Kind, Locale, Message, Notice, Reply, SessionKey,
    State, StoreDown, TurnId,
    records::{Admitted, Record, TurnState},
};
use tracing::{debug, warn};

use crate::{
    commands::{Builtin, Command},
    delivery,
    gate::{self, Admitted as Gated},
    gateway::Inner,
    lane::Lanes,
    running::Busy,
    show,
    signals::{self, Intent},
    turn,
};

/// Ends the key of a lane beside a session's own.
pub(crate) const EXPRESS: char = '!';

/// Who the message's sender is to policy. The tenant is found from the place.
pub(crate) fn caller_of(inner: &Inner, message: &Message) -> Caller {
    Caller {
        sender: message.sender.clone(),
        roles: message.roles.clone(),
        origin: message.origin(),
        ..inner.anyone(&message.address)
    }
}

pub(crate) async fn accept(inner: &Arc<Inner>, message: Message) -> Result<Accepted, StoreDown> {
    let caller = caller_of(inner, &message);
    accept_as(inner, message, caller).await
}

pub(crate) async fn accept_as(inner: &Arc<Inner>, message: Message, caller: Caller) -> Result<Accepted, StoreDown> {
    let address = message.address.clone();
    let locale = inner.snapshot.load().locale(&message, &caller);
    let accepted = taken_in(inner, message, caller).await;
    match accepted {
        Ok(Accepted::Signal(words)) if !words.is_empty() => Ok(Accepted::Signal(words::signal(&words, locale))),
        Ok(accepted) => Ok(accepted),
        Err(down) => {
            tell_store_down(inner, &address, &down, locale);
            Err(down)
        }
    }
}

async fn taken_in(inner: &Arc<Inner>, message: Message, caller: Caller) -> Result<Accepted, StoreDown> {
    let is_reaction = matches!(message.kind, Kind::Reaction { .. });
    // It says nothing by itself: it is for us when it is put on a turn that it stops.
    let reacted_to = signals::reacted_to(inner, &message, &caller);
    if is_reaction && reacted_to.is_none() {
        return Ok(Accepted::NotForUs);
    }
    match gate::admit(inner, &message, &caller, is_reaction).await? {
        Gated::Heard => {}
        Gated::NotHeard => return Ok(Accepted::NotForUs),
        Gated::Answered(words) => return Ok(Accepted::Signal(words)),
    }
    if let Some(turn) = reacted_to {
        // The turn's own answer says that it was stopped: a word beside it would be one too many.
        return signals::cancel(inner, &caller, turn).await.map(|_| Accepted::Signal(String::new()));
    }
    let bots_place = message.from_bot.then(|| message.address.clone());
    match signals::classify(inner, message, &caller).await? {
        Intent::Signal(words) => Ok(Accepted::Signal(words)),
        Intent::Turn { message, commands, express } => {
            let is_stop = matches!(commands.as_slice(), [Command::Builtin(Builtin::Stop)]);
            let counted = match (!is_stop).then(|| gate::count(inner, &caller)) {
                Some(Err(refused)) => return Ok(refused),
                Some(Ok(counted)) => Some(counted),
                None => None,
            };
            let show = show::foreseen(inner, &message, &caller, &commands);
            let accepted = store(inner, *message, caller, express, show).await;
            match (&accepted, counted) {
                (Ok(Accepted::Turn { known: false, .. }), _) => {
                    bots_place.iter().for_each(|place| inner.gate.bot_spoke(place));
                }
                (_, Some(counted)) => gate::uncount(inner, counted),
                (_, None) => {}
            }
            accepted
        }
    }
}

async fn store(
    inner: &Arc<Inner>,
    message: Message,
    caller: Caller,
    express: bool,
    show: Audience,
) -> Result<Accepted, StoreDown> {
    let mut session = SessionKey::of(&message.address);
    if express {
        // No part of a session key has a '!' in it, so this lane is nobody else's.
        session = SessionKey::from_text(format!("{session}{EXPRESS}"));
    }
    let record = Record::new(TurnId::new(), session, message, caller);
    let epoch = inner.lanes.epoch();
    let _accepting = inner.lanes.accepting(record.id);
    let admitted = inner.stores.turns.accept(&record).await?;
    inner.told.store_is_back();
    match admitted {
        Admitted::Known { id } => {
            debug!(turn = %id, "the same event again");
            repair(inner, id).await?;
            Ok(Accepted::Turn { id, known: true, show })
        }
        Admitted::Full => {
            let reply = busy(inner, &record, 1);
            let show = reply.audience;
            turn::end_unrun(inner, &record, State::NotStarted, reply);
            tell_busy(inner, &record);
            Ok(Accepted::Turn { id: record.id, known: false, show })
        }
        Admitted::New { .. } => {
            let id = record.id;
            Lanes::accepted(inner, record, epoch);
            Ok(Accepted::Turn { id, known: false, show })
        }
    }
}

/// Has a turn accepted that no message of a person stands for, and takes it into its lane.
pub(crate) async fn store_record(inner: &Arc<Inner>, record: Record) -> Result<Admitted, StoreDown> {
    let epoch = inner.lanes.epoch();
    let _accepting = inner.lanes.accepting(record.id);
    let admitted = inner.stores.turns.accept(&record).await?;
    match &admitted {
        Admitted::Known { id } => repair(inner, *id).await?,
        Admitted::New { .. } => Lanes::accepted(inner, record, epoch),
        Admitted::Full => {}
    }
    Ok(admitted)
}

/// A known turn that is open goes into its lane, should the answer to its acceptance have been lost.
async fn repair(inner: &Arc<Inner>, turn: TurnId) -> Result<(), StoreDown> {
    let record = inner.stores.turns.get(turn).await?;
    if let Some(record) = record.filter(|r| r.state == TurnState::Queued) {
        Lanes::repair(inner, record);
    }
    Ok(())
}

/// The first that is not taken is told of at once, those that follow together.
fn tell_busy(inner: &Arc<Inner>, record: &Record) {
    match inner.told.busy(&record.session) {
        Busy::Now(count) => say_busy(inner, record, count),
        Busy::Counted => {}
        Busy::After(wait) => {
            let (inner, record, tasks) = (inner.clone(), record.clone(), inner.tasks.clone());
            tasks.spawn(async move {
                tokio::select! {
                    () = tokio::time::sleep(wait) => {}
                    () = inner.stop.cancelled() => {}
                }
                let count = inner.told.busy_since(&record.session);
                if count > 0 {
                    say_busy(&inner, &record, count);
                }
            });
        }
    }
}

fn say_busy(inner: &Arc<Inner>, record: &Record, count: u32) {
    delivery::say_once(inner, &record.message.address, busy(inner, record, count));
}

fn busy(inner: &Inner, record: &Record, count: u32) -> Reply {
    let say = match count {
        1 => "too many messages wait here already; this one was not taken".to_owned(),
        n => format!("too many messages wait here already; the last {n} were not taken"),
    };
    let failure = Failure::new(Code::Busy, say).hint("wait for the answers, then send it again");
    let locale = inner.snapshot.load().locale(&record.message, &record.caller);
    let audience = show::of_error(inner, &record.message.address, &record.caller);
    Reply { locale, audience, ..Reply::notice(Notice::of(&failure, None, Some(record.id))) }
}

/// Told once per conversation until the store is back; best effort.
fn tell_store_down(inner: &Arc<Inner>, address: &Address, down: &StoreDown, locale: Locale) {
    warn!(cause = %down, "a message cannot be stored; it is not acknowledged");
    let session = SessionKey::of(address);
    if !inner.told.store_down(&session) {
        return;
    }
    let failure =
        Failure::new(Code::Store, "I cannot take messages at present").hint("wait a moment: what you sent is not lost");
    delivery::say_once(inner, address, Reply { locale, ..Reply::notice(Notice::of(&failure, None, None)) });
}
