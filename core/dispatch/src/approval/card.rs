//! What people see of a call that waits, and of what became of it.

use contract::{
    Action, Address, Audience, Button, Content, Locale, Reply,
    records::{Approval, ApprovalState, By, Decider},
    text::one_line,
};

use super::Inner;
use crate::{delivery, gateway::Inner as Gate, say::escape};

/// Most characters of what a model said, of a reason, of a name.
const WHY_MAX: usize = 300;
const NAME_MAX: usize = 48;
/// How long a card whose sending is under way is waited for, before it is changed.
const LOOKS: u32 = 40;
const LOOK_EVERY: std::time::Duration = std::time::Duration::from_millis(250);

/// Asks for an answer.
pub(super) fn card(approval: &Approval, elsewhere: bool, locale: Locale) -> Reply {
    let yes: Vec<String> = match &approval.state {
        ApprovalState::Asked { yes } => yes.iter().map(named).collect(),
        _ => Vec::new(),
    };
    let from = elsewhere.then(|| escape(&place(approval)));
    let (above, below) = words::card(
        &words::Card {
            tool: &approval.tool,
            who: &escape(&one_line(&approval.caller.sender.name, NAME_MAX)),
            by: approval.by,
            need: approval.need,
            until_ms: approval.until_ms,
            id: &approval.id.to_string(),
            yes: &yes,
            from: from.as_deref(),
        },
        locale,
    );
    let mut content = vec![Content::Text(above), arguments(approval)];
    if !approval.why.is_empty() {
        content.push(Content::Text(words::approval_why(locale)));
        content.push(Content::Plain(one_line(&approval.why, WHY_MAX)));
    }
    content.push(Content::Text(below));
    let id = approval.id;
    // What two have to agree to is agreed to once.
    let session = (approval.need == 1).then_some(Action::AllowSession(id));
    // Whoever asked needs no reason of their own.
    let why = (approval.by == By::Approver).then_some(Action::DenyWhy(id));
    let actions = [Some(Action::Allow(id)), session, Some(Action::Deny(id)), why];
    let button = |action| Button { label: words::button(action, locale), action };
    Reply {
        content,
        buttons: actions.into_iter().flatten().map(button).collect(),
        audience: Audience::Everyone,
        reference: Some(approval.turn),
        locale,
        most_messages: Some(1),
        ..Reply::default()
    }
}

/// In place of a card once there is nothing more to answer.
fn outcome(approval: &Approval, locale: Locale) -> Reply {
    let why = match &approval.state {
        ApprovalState::Refused { why, .. } => escape(&one_line(why, WHY_MAX)),
        _ => String::new(),
    };
    let text = words::approval_outcome(&approval.tool, &approval.state, named, &why, locale);
    Reply {
        content: vec![Content::Text(text), arguments(approval)],
        reference: Some(approval.turn),
        locale,
        most_messages: Some(1),
        ..Reply::default()
    }
}

fn arguments(approval: &Approval) -> Content {
    let is_difference = approval.shown.lines().any(|line| line.starts_with("@@ "));
    let language = if is_difference { "diff".to_owned() } else { String::new() };
    let text = if approval.shown.is_empty() { "{}".to_owned() } else { approval.shown.clone() };
    Content::Code { language, text }
}

fn named(who: &Decider) -> String {
    escape(&super::decide::name(who))
}

fn place(approval: &Approval) -> String {
    let caller = &approval.caller;
    let mut place = Address::new(caller.platform, &caller.account, &caller.conversation);
    place.thread.clone_from(&caller.thread);
    place.written()
}

/// A line for each that waits, for whoever asks.
pub(crate) fn listed(approvals: &[Approval], locale: Locale) -> String {
    if approvals.is_empty() {
        return words::approvals_none(locale);
    }
    let line = |approval: &Approval| {
        let who = escape(&one_line(&approval.caller.sender.name, NAME_MAX));
        format!("- {}", words::approval_open(&approval.tool, &who, approval.until_ms, &approval.id.to_string(), locale))
    };
    approvals.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Shows on every card what became of it. Behind: nobody waits for it, and what is not shown is told to whoever presses.
pub(super) fn redraw(inner: &Inner, approval: Approval) {
    let (inner, tasks) = (inner.clone(), inner.tasks.clone());
    tasks.spawn(async move {
        for look in 0..LOOKS {
            if redrawn(&inner, &approval).await {
                return;
            }
            let wait = if look == 0 { std::time::Duration::from_millis(50) } else { LOOK_EVERY };
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = inner.stop.cancelled() => return,
            }
        }
    });
}

/// False while a card is on its way.
async fn redrawn(inner: &Inner, approval: &Approval) -> bool {
    let Ok(Some(record)) = inner.stores.turns.get(approval.turn).await else { return false };
    let cards = |delivery: &&contract::records::Delivery| approval.cards.iter().any(|card| card.n == delivery.n);
    let deliveries: Vec<_> = record.deliveries.iter().filter(cards).collect();
    if deliveries.iter().any(|delivery| delivery.receipts.is_empty() && !delivery.state.is_settled()) {
        return false;
    }
    let locale = locale_of(inner, &record);
    for delivery in deliveries {
        let Some(receipt) = delivery.receipts.first() else { continue };
        let elsewhere = !same_place(&delivery.to, approval);
        let reply = match approval.state.is_open() {
            true => card(approval, elsewhere, locale),
            false => outcome(approval, locale),
        };
        delivery::change_once(inner, &delivery.to, receipt.clone(), reply);
    }
    true
}

fn locale_of(inner: &Gate, record: &contract::records::Record) -> Locale {
    inner.snapshot.load().locale(&record.message, &record.caller)
}

/// Whether the address is where the call was asked for.
pub(super) fn same_place(to: &Address, approval: &Approval) -> bool {
    let caller = &approval.caller;
    (to.platform, &to.account, &to.conversation) == (caller.platform, &caller.account, &caller.conversation)
}
