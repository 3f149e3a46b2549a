//! Takes a message in: whose rules, whether it is for us, signal or turn; stored before it is acknowledged.

use std::sync::Arc;

use contract::{
    Accepted, Action, Address, Audience, Caller, Catalog, Code, Failure, Heard, Kind, Message, Notice, Reply,
    SessionKey, State, StoreDown, TurnId,
    records::{Admitted, Record, TurnState},
};
use tracing::{debug, warn};

use crate::{
    commands::{self, Builtin, Command},
    delivery,
    gateway::Inner,
    lane::Lanes,
    running::Busy,
    turn,
};

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
    if !is_for_us(inner, &message, &caller) {
        return Ok(Accepted::NotForUs);
    }
    let address = message.address.clone();
    let accepted = match classify(inner, message, &caller).await {
        Ok(Intent::Answered(accepted)) => Ok(accepted),
        Ok(Intent::Turn { message, express }) => store(inner, *message, caller, express).await,
        Err(down) => Err(down),
    };
    if let Err(down) = &accepted {
        tell_store_down(inner, &address, down);
    }
    accepted
}

/// One gate for messages, commands and buttons.
fn is_for_us(inner: &Inner, message: &Message, caller: &Caller) -> bool {
    let gating = inner.snapshot.load().policies.manner(caller).gating;
    if message.from_bot && !gating.bots {
        return false;
    }
    if matches!(message.kind, Kind::Edit { .. }) && !gating.edits {
        return false;
    }
    let has_content = message.text().chars().any(is_visible)
        || !message.files.is_empty()
        || !matches!(message.kind, Kind::Text { .. } | Kind::Edit { .. });
    let addressed = message.heard != Heard::Overheard;
    has_content && gating.admits(message.address.direct || message.heard == Heard::Direct, addressed)
}

/// White space, control characters and those of no width say nothing.
fn is_visible(c: char) -> bool {
    !(c.is_whitespace() || c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}'))
}

enum Intent {
    Answered(Accepted),
    /// `express`: answered beside the lane, so that it does not wait behind what it asks about.
    Turn {
        message: Box<Message>,
        express: bool,
    },
}

/// Signals are recognised here, written to the record they concern, and wake its turn.
async fn classify(inner: &Arc<Inner>, message: Message, caller: &Caller) -> Result<Intent, StoreDown> {
    if let Kind::Press { data } = &message.kind {
        let Ok(action) = data.parse::<Action>() else {
            return Ok(signal("this button is not in use any more"));
        };
        return pressed(inner, message, caller, action).await;
    }
    let commands = commands::read(message.text()).unwrap_or_default();
    let express = match commands.as_slice() {
        [Command::Builtin(Builtin::Stop)] => {
            let stopped = stop(inner, &message, caller).await?;
            if stopped > 0 {
                return Ok(signal("stopping"));
            }
            true
        }
        [Command::Builtin(Builtin::Status | Builtin::Trace(_) | Builtin::Help)] => true,
        _ => false,
    };
    Ok(Intent::Turn { message: Box::new(message), express })
}

fn signal(text: &str) -> Intent {
    Intent::Answered(Accepted::Signal(text.to_owned()))
}

async fn pressed(inner: &Arc<Inner>, message: Message, caller: &Caller, action: Action) -> Result<Intent, StoreDown> {
    match action {
        Action::Cancel(turn) => cancel(inner, caller, turn).await,
        Action::Details(_) => Ok(Intent::Turn { message: Box::new(message), express: true }),
        Action::TryAgain(turn) => try_again(inner, message, caller, turn).await,
    }
}

async fn cancel(inner: &Inner, caller: &Caller, turn: TurnId) -> Result<Intent, StoreDown> {
    let Some(record) = inner.stores.turns.get(turn).await? else {
        return Ok(signal("it has ended already"));
    };
    if !same_person(&record.caller, caller) {
        return Ok(signal("only the one who asked can stop it"));
    }
    // What waits first: should it leave its lane meanwhile, it is among those that run by then.
    let waited = !inner.lanes.cancel_waiting(&record.session, |r| r.id == turn).is_empty();
    let ran = inner.running.cancel(turn);
    let was_open = inner.stores.turns.cancel(turn).await? || waited || ran;
    Ok(signal(if was_open { "stopping it" } else { "it has ended already" }))
}

pub(crate) fn same_person(a: &Caller, b: &Caller) -> bool {
    (a.platform, &a.account, &a.space, &a.sender.id) == (b.platform, &b.account, &b.space, &b.sender.id)
}

/// The message of the earlier turn, asked again under a key of that turn: a second press finds the first one's turn.
async fn try_again(inner: &Arc<Inner>, press: Message, caller: &Caller, turn: TurnId) -> Result<Intent, StoreDown> {
    let Some(record) = inner.stores.turns.get(turn).await? else {
        return Ok(signal("it is too long ago to be tried again; please send it anew"));
    };
    if !same_person(&record.caller, caller) {
        return Ok(signal("only the one who asked can have it tried again"));
    }
    if record.message.text().is_empty() {
        return Ok(signal("it cannot be tried again; please send it anew"));
    }
    let mut message = record.message;
    message.key = format!("again:{turn}");
    message.at_ms = press.at_ms;
    Ok(Intent::Turn { message: Box::new(message), express: false })
}

/// Stops what runs and waits for this person in this conversation; how many turns that were.
async fn stop(inner: &Inner, message: &Message, caller: &Caller) -> Result<usize, StoreDown> {
    let session = SessionKey::of(&message.address);
    // What waits first: what leaves its lane meanwhile is among those that run by then.
    let mut turns = inner.lanes.cancel_waiting(&session, |record| same_person(&record.caller, caller));
    turns.extend(inner.running.of_person(&session, caller));
    turns.dedup();
    // Felt at once, also while the store is away.
    for turn in &turns {
        inner.running.cancel(*turn);
    }
    // Whatever the store says: they may have ended of it by now.
    for turn in &turns {
        inner.stores.turns.cancel(*turn).await?;
    }
    Ok(turns.len())
}

async fn store(inner: &Arc<Inner>, message: Message, caller: Caller, express: bool) -> Result<Accepted, StoreDown> {
    let mut session = SessionKey::of(&message.address);
    if express {
        // No part of a session key has a '!' in it, so this lane is nobody else's.
        session = SessionKey::from_text(format!("{session}!"));
    }
    let record = Record::new(TurnId::new(), session, message, caller);
    let epoch = inner.lanes.epoch();
    let _accepting = inner.lanes.accepting(record.id);
    let admitted = inner.stores.turns.accept(&record).await?;
    inner.told.store_is_back();
    // Answers are for everyone; so are those that turn out to be errors, until the platforms that can be private are here.
    let show = Audience::Everyone;
    match admitted {
        Admitted::Known { id } => {
            debug!(turn = %id, "the same event again");
            repair(inner, id).await?;
            Ok(Accepted::Turn { id, known: true, show })
        }
        Admitted::Full => {
            turn::end_unrun(inner, &record, State::NotStarted, busy(&record, 1));
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
    delivery::say_once(inner, &record.message.address, busy(record, count));
}

fn busy(record: &Record, count: u32) -> Reply {
    let say = match count {
        1 => "too many messages wait here already; this one was not taken".to_owned(),
        n => format!("too many messages wait here already; the last {n} were not taken"),
    };
    let failure = Failure::new(Code::Busy, say).hint("wait for the answers, then send it again");
    Reply::notice(Notice::of(&failure, None, Some(record.id)))
}

/// Told once per conversation until the store is back; best effort.
fn tell_store_down(inner: &Arc<Inner>, address: &Address, down: &StoreDown) {
    warn!(cause = %down, "a message cannot be stored; it is not acknowledged");
    let session = SessionKey::of(address);
    if !inner.told.store_down(&session) {
        return;
    }
    let failure =
        Failure::new(Code::Store, "I cannot take messages at present").hint("wait a moment: what you sent is not lost");
    delivery::say_once(inner, address, Reply::notice(Notice::of(&failure, None, None)));
}
