//! What is acted on when a message is accepted, beside every lane: stopping, buttons, reactions.

use std::sync::Arc;

use contract::{
    Action, Address, CallId, Caller, Kind, Message, Platform, SessionKey, StoreDown, TurnId,
    records::{ApprovalId, Extent, TurnState},
};

use crate::{
    approval::{self, Answer},
    commands::{self, Builtin, Command},
    gateway::Inner,
    running::Asked,
};

/// What a message that is for us asks for.
pub(crate) enum Intent {
    /// It is done; the words are for the sender alone.
    Signal(String),
    /// `express`: answered beside the lane, so that it does not wait behind what it asks about.
    Turn {
        message: Box<Message>,
        /// Nothing where it is free text.
        commands: Vec<Command>,
        express: bool,
    },
}

fn signal(words: &str) -> Intent {
    Intent::Signal(words.to_owned())
}

/// Signals are recognised here, written to the record they concern, and wake its turn.
pub(crate) async fn classify(inner: &Arc<Inner>, message: Message, caller: &Caller) -> Result<Intent, StoreDown> {
    if let Kind::Press { data } = &message.kind {
        match data.parse() {
            Ok(Action::Cancel(turn)) => return Ok(signal(cancel(inner, caller, turn).await?)),
            Ok(Action::CancelCall(turn, call)) => return Ok(signal(cancel_call(inner, caller, turn, call).await?)),
            Ok(Action::TryAgain(turn)) => return try_again(inner, message, caller, turn).await,
            Ok(Action::Details(_)) => {}
            Ok(Action::Allow(id)) => {
                return answer(inner, &message, caller, id, Answer::Allow(Extent::Once)).await;
            }
            Ok(Action::AllowSession(id)) => {
                return answer(inner, &message, caller, id, Answer::Allow(Extent::Session)).await;
            }
            Ok(Action::DenyWhy(id)) => {
                return approval::reason_asked(inner, &message, caller, id).await.map(Intent::Signal);
            }
            Ok(Action::Deny(id)) => return answer(inner, &message, caller, id, Answer::Deny(String::new())).await,
            Err(_) => return Ok(signal("this button is not in use any more")),
        }
    }
    if let Some(words) = approval::reason_said(inner, &message, caller).await? {
        return Ok(Intent::Signal(words));
    }
    let commands = asked(inner, &message, caller);
    let express = match commands.as_slice() {
        [Command::Builtin(Builtin::Stop)] => {
            if stop(inner, &message, caller).await? > 0 {
                return Ok(signal("stopping"));
            }
            true
        }
        [Command::Builtin(command @ (Builtin::Approve(_) | Builtin::Deny(_)))] => {
            return approval::typed(inner, caller, &message.address, command).await.map(Intent::Signal);
        }
        [Command::Builtin(Builtin::Approvals)] => true,
        [Command::Builtin(Builtin::Status | Builtin::Trace(_) | Builtin::Details(_) | Builtin::Help)] => true,
        _ => false,
    };
    Ok(Intent::Turn { message: Box::new(message), commands, express })
}

/// A person's answer to a call that waits.
async fn answer(
    inner: &Arc<Inner>,
    message: &Message,
    caller: &Caller,
    id: ApprovalId,
    answer: Answer,
) -> Result<Intent, StoreDown> {
    approval::by_person(inner, caller, &message.address, id, answer).await.map(Intent::Signal)
}

fn asked(inner: &Inner, message: &Message, caller: &Caller) -> Vec<Command> {
    let snapshot = inner.snapshot.load();
    commands::asked(message, caller, &snapshot, &*inner.planner).unwrap_or_default()
}

/// Stops a turn on behalf of the one who asked for it; what to say.
pub(crate) async fn cancel(inner: &Arc<Inner>, caller: &Caller, turn: TurnId) -> Result<&'static str, StoreDown> {
    let Some(record) = inner.stores.turns.get(turn).await? else {
        return Ok("it has ended already");
    };
    if !same_person(&record.caller, caller) {
        return Ok("only the one who asked can stop it");
    }
    // What waits first: should it leave its lane meanwhile, it is among those that run by then.
    let waited = !inner.lanes.cancel_waiting(&record.session, |r| r.id == turn).is_empty();
    let ran = inner.running.cancel(turn);
    let was_open = inner.stores.turns.cancel(turn).await? || waited || ran;
    approval::stop(inner, &record).await;
    Ok(if was_open { "stopping it" } else { "it has ended already" })
}

/// Stops one call of a turn on behalf of the one who asked for it; what to say. Only what runs can be stopped by itself,
/// and only where it runs: nothing of it is kept.
async fn cancel_call(
    inner: &Arc<Inner>,
    caller: &Caller,
    turn: TurnId,
    call: CallId,
) -> Result<&'static str, StoreDown> {
    let Some(record) = inner.stores.turns.get(turn).await? else {
        return Ok("it has ended already");
    };
    if !same_person(&record.caller, caller) {
        return Ok("only the one who asked can stop it");
    }
    let is_open = matches!(record.state, TurnState::Running | TurnState::Queued | TurnState::Parked);
    let is_elsewhere = is_open && !inner.running.holds(turn);
    Ok(match inner.running.stop_call(turn, call) {
        true => "stopping it",
        false if is_elsewhere => "it can only be stopped with all the rest; send /stop for that",
        false => "it has ended already",
    })
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
    let asks_something = match &record.message.kind {
        Kind::Text { text } | Kind::Edit { text } | Kind::Retold { text, .. } => !text.is_empty(),
        Kind::Command { .. } | Kind::Form { .. } => true,
        Kind::Press { .. } | Kind::Reaction { .. } => false,
    };
    if !asks_something {
        return Ok(signal("it cannot be tried again; please send it anew"));
    }
    let mut message = record.message;
    message.key = format!("again:{turn}");
    message.at_ms = press.at_ms;
    message.address = answered_at(message.address, press.address);
    let commands = asked(inner, &message, caller);
    Ok(Intent::Turn { message: Box::new(message), commands, express: false })
}

/// A retry answers what was asked, through the press: what the adapter knew of the first request may be used up.
fn answered_at(asked: Address, pressed: Address) -> Address {
    if SessionKey::of(&asked) != SessionKey::of(&pressed) {
        return asked;
    }
    Address { reply_to: asked.reply_to.or(pressed.reply_to), ..pressed }
}

/// Stops what runs and waits for this person in this conversation; how many turns that were.
async fn stop(inner: &Arc<Inner>, message: &Message, caller: &Caller) -> Result<usize, StoreDown> {
    let session = SessionKey::of(&message.address);
    // What waits first: what leaves its lane meanwhile is among those that run by then.
    let mut turns = inner.lanes.cancel_waiting(&session, |record| same_person(&record.caller, caller));
    turns.extend(inner.running.of_person(&session, caller));
    turns.extend(inner.approvals.of_person(&session, caller));
    turns.sort_unstable();
    turns.dedup();
    // Felt at once, also while the store is away.
    for turn in &turns {
        inner.running.cancel(*turn);
    }
    // Whatever the store says: they may have ended of it by now.
    for turn in &turns {
        inner.stores.turns.cancel(*turn).await?;
        if let Some(record) = inner.stores.turns.get(*turn).await? {
            approval::stop(inner, &record).await;
        }
    }
    Ok(turns.len())
}

/// What people put on a message to have it stopped: emoji, and the names that platforms use for them.
const STOPPING: [&str; 6] = ["❌", "🛑", "⏹", "x", "octagonal_sign", "stop_button"];

/// Telegram has none of them among its reactions.
const STOPPING_ON_TELEGRAM: &str = "👎";

fn asks_to_stop(emoji: &str, platform: Platform) -> bool {
    STOPPING.contains(&emoji) || platform == Platform::Telegram && emoji == STOPPING_ON_TELEGRAM
}

/// The sender's own turn that a reaction stops: put on the message that asked for it, or on what shows its progress.
pub(crate) fn reacted_to(inner: &Inner, message: &Message, caller: &Caller) -> Option<TurnId> {
    let Kind::Reaction { emoji, message: on } = &message.kind else { return None };
    // A variation selector says how it is drawn, not what it is.
    let plain = emoji.trim_matches(':').trim_end_matches(['\u{fe0e}', '\u{fe0f}']);
    if !asks_to_stop(plain, message.address.platform) {
        return None;
    }
    let place = Address { thread: None, ..message.address.clone() };
    let waits =
        |record: &contract::records::Record| same_person(&record.caller, caller) && Asked::of(&record.message).is(on);
    let running = || inner.running.asked_by(&place, caller, on);
    // A turn that leaves its lane between the two looks is among those that run by the second.
    inner.lanes.find_waiting(&place, waits).or_else(running)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thumb_down_stops_only_where_nothing_else_can() {
        assert!(asks_to_stop("👎", Platform::Telegram) && asks_to_stop("❌", Platform::Discord));
        assert!(!asks_to_stop("👎", Platform::Discord) && !asks_to_stop("👍", Platform::Telegram));
    }

    #[test]
    fn a_retry_is_answered_through_the_press_under_what_was_asked() {
        let mut asked = Address::new(Platform::Discord, "main", "1");
        asked.reply_to = Some("7".into());
        let mut pressed = asked.clone();
        (pressed.reply_to, pressed.private) = (Some("9".into()), contract::Opaque::new("live").unwrap_or_default());
        let both = answered_at(asked.clone(), pressed.clone());
        assert_eq!((both.reply_to.as_deref(), both.private.reveal()), (Some("7"), "live"));
        pressed.conversation = "2".into();
        assert_eq!(answered_at(asked.clone(), pressed), asked);
    }
}
