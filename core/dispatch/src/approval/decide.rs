//! The one place where an answer is taken: by a button, a command, an operator, or the clock.

use contract::{
    Address, Caller, Code, Failure, Platform, Private, SessionKey, StoreDown, TurnId,
    notice::clock,
    records::{Approval, ApprovalId, ApprovalState, By, Decider, Extent, NotRead, SessionChange, Settled},
    text::one_line,
};

use super::{Inner, card};
use crate::{commands::Builtin, lane::Lanes, session, signals::same_person, turn::now_ms};

/// Most characters of a reason that are kept, and of a name that is shown.
const REASON_MAX: usize = 500;
const NAME_MAX: usize = 48;
/// How often an answer is tried that another one comes before.
const TRIES: u32 = 8;

/// What somebody says to a call that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Allow(Extent),
    Deny(String),
}

/// Takes a person's answer; what to say to them alone.
pub(crate) async fn by_person(
    inner: &Inner,
    who: &Caller,
    at: &Address,
    id: ApprovalId,
    answer: Answer,
) -> Result<String, StoreDown> {
    let decider = Decider {
        platform: who.platform,
        account: who.account.clone(),
        id: who.sender.id.clone(),
        name: who.sender.name.clone(),
        at_ms: now_ms(),
    };
    for _ in 0..TRIES {
        let approval = match to_answer(inner, who, at, id).await? {
            Ok(approval) => approval,
            Err(why_not) => return Ok(why_not),
        };
        if let Some(said) = answered(inner, &approval, &decider, &answer).await? {
            return Ok(said);
        }
    }
    Err(StoreDown("an approval changes faster than it can be answered".to_owned()))
}

/// Why this person's answer would not count there; nothing when it would.
pub(super) async fn in_the_way(
    inner: &Inner,
    who: &Caller,
    at: &Address,
    id: ApprovalId,
) -> Result<Option<String>, StoreDown> {
    Ok(to_answer(inner, who, at, id).await?.err())
}

/// The approval that the person may answer there, or why not.
async fn to_answer(
    inner: &Inner,
    who: &Caller,
    at: &Address,
    id: ApprovalId,
) -> Result<Result<Approval, String>, StoreDown> {
    let approval = match inner.stores.approvals.approval(id).await {
        Ok(Some(approval)) => approval,
        Ok(None) => return Ok(Err("this approval is not known here any more".to_owned())),
        Err(NotRead::Unreadable(why)) => {
            tracing::warn!(approval = %id, cause = why, "an approval cannot be read");
            return Ok(Err("this approval was written by another version, and cannot be answered here".to_owned()));
        }
        Err(NotRead::Down(down)) => return Err(down),
    };
    if !is_asked_at(&approval, who, at) {
        return Ok(Err("this can be answered only where it was asked".to_owned()));
    }
    if !approval.state.is_open() {
        return Ok(Err(late(&approval)));
    }
    Ok(match may_not(inner, &approval, who) {
        Some(why) => Err(why.to_owned()),
        None => Ok(approval),
    })
}

/// What somebody typed about a call that waits: its id, and perhaps a reason.
pub(crate) async fn typed(inner: &Inner, who: &Caller, at: &Address, command: &Builtin) -> Result<String, StoreDown> {
    let (Builtin::Approve(typed) | Builtin::Deny(typed)) = command else { return Ok(String::new()) };
    let (id, why) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    let answer = match command {
        Builtin::Deny(_) => Answer::Deny(why.trim().to_owned()),
        _ => Answer::Allow(Extent::Once),
    };
    match id.trim_matches('`').parse() {
        Ok(id) => by_person(inner, who, at, id, answer).await,
        Err(_) => Ok("say which: /approve ID or /deny ID, perhaps with a reason".to_owned()),
    }
}

/// Whether the approval is this person's to see here: they may answer it, or asked for it.
pub(crate) fn concerns(inner: &Inner, approval: &Approval, who: &Caller, at: &Address) -> bool {
    is_asked_at(approval, who, at) && (same_person(&approval.caller, who) || may_not(inner, approval, who).is_none())
}

/// Takes an operator's answer, from wherever it comes; what to say.
pub(crate) async fn by_operator(
    inner: &Inner,
    id: ApprovalId,
    answer: Answer,
) -> Result<Option<(String, Approval)>, StoreDown> {
    let decider = Decider {
        platform: Platform::Console,
        account: String::new(),
        id: "operator".to_owned(),
        name: "an operator".to_owned(),
        at_ms: now_ms(),
    };
    for _ in 0..TRIES {
        let Some(approval) = inner.stores.approvals.approval(id).await? else { return Ok(None) };
        let said = match approval.state.is_open() {
            true => answered(inner, &approval, &decider, &answer).await?,
            false => Some(late(&approval)),
        };
        if let Some(said) = said {
            let now = inner.stores.approvals.approval(id).await?.unwrap_or(approval);
            return Ok(Some((said, now)));
        }
    }
    Err(StoreDown("an approval changes faster than it can be answered".to_owned()))
}

/// Nothing when another answer came before: it is looked at anew.
async fn answered(
    inner: &Inner,
    approval: &Approval,
    decider: &Decider,
    answer: &Answer,
) -> Result<Option<String>, StoreDown> {
    let tool = &approval.tool;
    if approval.until_ms <= now_ms() {
        expire(inner, approval).await;
        return Ok(None);
    }
    if !is_same_still(inner, approval) {
        let why = "it is another one by now, or not permitted any more".to_owned();
        let withdrawn = ApprovalState::Withdrawn { why, at_ms: now_ms() };
        let said = format!("'{tool}' is another one by now, or not permitted any more: it is not run");
        return Ok(made(settle(inner, approval, &withdrawn).await?).then_some(said));
    }
    let (to, said) = match answer {
        Answer::Deny(why) => {
            let to = ApprovalState::Refused { by: decider.clone(), why: one_line(why, REASON_MAX) };
            (to, format!("refused: '{tool}' is not run"))
        }
        Answer::Allow(extent) => match agreed(approval, decider, *extent) {
            Ok(to) => {
                let said = match &to {
                    ApprovalState::Allowed { extent: Extent::Session, .. } => {
                        format!("allowed in this session: '{tool}' goes on")
                    }
                    ApprovalState::Allowed { .. } => format!("allowed: '{tool}' goes on"),
                    _ => "noted; somebody else has to agree too".to_owned(),
                };
                (to, said)
            }
            Err(said) => return Ok(Some(said.to_owned())),
        },
    };
    if !made(settle(inner, approval, &to).await?) {
        return Ok(None);
    }
    // Behind the answer: one that came too late allows nothing. Whoever dies in between costs one more question.
    if let ApprovalState::Allowed { extent: Extent::Session, .. } = &to
        && let Err(down) = allow_in_session(inner, approval).await
    {
        tracing::warn!(approval = %approval.id, cause = %down, "allowed once: the session could not be told");
    }
    Ok(Some(said))
}

fn made(settled: Settled) -> bool {
    settled != Settled::Late
}

/// One more yes: enough, or noted.
fn agreed(approval: &Approval, decider: &Decider, extent: Extent) -> Result<ApprovalState, &'static str> {
    let ApprovalState::Asked { yes } = &approval.state else { return Err("it has ended already") };
    if yes.iter().any(|other| other.is_same_person(decider)) {
        return Err("you have said yes already; somebody else has to agree too");
    }
    let mut by = yes.clone();
    by.push(decider.clone());
    let is_enough = by.len() >= approval.need as usize;
    // What two have to agree to is agreed to once.
    let extent = if approval.need > 1 { Extent::Once } else { extent };
    Ok(if is_enough { ApprovalState::Allowed { by, extent } } else { ApprovalState::Asked { yes: by } })
}

async fn allow_in_session(inner: &Inner, approval: &Approval) -> Result<(), StoreDown> {
    let Some(record) = inner.stores.turns.get(approval.turn).await? else { return Ok(()) };
    let policies = inner.snapshot.load().policies.clone();
    let visit = session::visit_of(&policies, &record);
    let session = inner.stores.sessions.open(&visit).await?;
    let allow = SessionChange::Allow(approval.exact().digest());
    inner.stores.sessions.change(&session, &allow).await.map(drop)
}

/// Where a card was shown, or the call was asked for.
fn is_asked_at(approval: &Approval, who: &Caller, at: &Address) -> bool {
    let is_card = |to: &Address| {
        let is_here = (to.platform, &to.account) == (at.platform, &at.account);
        // A direct conversation may be addressed by the person in it.
        is_here && (to.conversation == at.conversation || to.direct && at.direct && to.conversation == who.sender.id)
    };
    approval.cards.iter().any(|shown| is_card(&shown.to)) || card::same_place(at, approval)
}

/// Why this person's answer does not count.
fn may_not(inner: &Inner, approval: &Approval, who: &Caller) -> Option<&'static str> {
    match approval.by {
        By::Requester => (!same_person(&approval.caller, who)).then_some("only the one who asked can confirm this"),
        By::Approver => {
            // The same human, through whichever account and in whichever space.
            let asked = &approval.caller;
            let is_requester = (asked.platform, &asked.sender.id) == (who.platform, &who.sender.id);
            let policies = inner.snapshot.load().policies.clone();
            match policies.approvers(&approval.caller).include(who) {
                false => Some("you are not an approver of this"),
                true => is_requester.then_some("you asked for it yourself: somebody else has to approve it"),
            }
        }
    }
}

/// Whether the tool is what it was when it was asked for, and still permitted.
fn is_same_still(inner: &Inner, approval: &Approval) -> bool {
    let snapshot = inner.snapshot.load();
    let tool = snapshot.tools.get(&approval.tool);
    let policies = &snapshot.policies;
    tool.is_some_and(|tool| tool.digest == approval.spec)
        && policies::permit(policies, policies, &approval.caller, &approval.tool, None).is_ok()
}

/// What somebody who comes too late is told: who decided, and when.
fn late(approval: &Approval) -> String {
    let tool = &approval.tool;
    match &approval.state {
        ApprovalState::Asked { .. } => "it has ended already".to_owned(),
        ApprovalState::Allowed { by, .. } | ApprovalState::Used { by, .. } => {
            let at = clock(by.last().map_or(0, |last| last.at_ms));
            format!("'{tool}' was allowed already, by {} at {at}", names(by))
        }
        ApprovalState::Refused { by, .. } => {
            format!("'{tool}' was refused already, by {} at {}", name(by), clock(by.at_ms))
        }
        ApprovalState::Expired { at_ms } => format!("it is too late: nobody answered until {}", clock(*at_ms)),
        ApprovalState::Withdrawn { at_ms, .. } => format!("'{tool}' is not asked for any more since {}", clock(*at_ms)),
    }
}

/// Changes the state, wherever it comes from: what waits for it hears of it, its cards show it.
pub(super) async fn settle(inner: &Inner, approval: &Approval, to: &ApprovalState) -> Result<Settled, StoreDown> {
    let settled = inner.stores.approvals.settle(approval, to).await?;
    let Settled::Made { woke } = settled else { return Ok(settled) };
    if !to.is_open() {
        inner.approvals.strike(approval.id);
        let state = to.as_str();
        tracing::info!(turn = %approval.turn, approval = %approval.id, tool = approval.tool, state, "approval decided");
    }
    card::redraw(inner, Approval { state: to.clone(), ..approval.clone() });
    if woke {
        Lanes::unparked(inner, approval.turn).await;
    }
    Ok(settled)
}

/// Nobody answered in time. What cannot be written is tried again by whoever keeps the time.
pub(super) async fn expire(inner: &Inner, approval: &Approval) {
    let _ = settle(inner, approval, &ApprovalState::Expired { at_ms: now_ms() }).await;
}

/// One that cannot be read is not asked for any more, whatever it says: its turn goes on and is told so.
pub(super) async fn end_unread(
    inner: &Inner,
    id: ApprovalId,
    (turn, session): (TurnId, &SessionKey),
    why: &str,
) -> Result<(), StoreDown> {
    tracing::warn!(%turn, approval = %id, cause = why, "an approval cannot be read: it is not asked for any more");
    let withdrawn = ApprovalState::Withdrawn { why: "another version wrote it".to_owned(), at_ms: now_ms() };
    let settled = inner.stores.approvals.settle_unread(id, turn, session, &withdrawn).await?;
    inner.approvals.strike(id);
    if settled == (Settled::Made { woke: true }) {
        Lanes::unparked(inner, turn).await;
    }
    Ok(())
}

/// Why a call is not run whose approval cannot be read.
pub(super) fn unreadable(tool: &str, why: String) -> Failure {
    let say = format!("'{tool}' was not run: what was said of it was written by another version");
    Failure::new(Code::ApprovalUnavailable, say).hint("ask for it again").cause(Private::new(why))
}

/// Not asked for any more. Best effort: what stays open expires.
pub(crate) async fn withdraw(inner: &Inner, id: ApprovalId, why: &str) {
    for _ in 0..TRIES {
        let Ok(Some(approval)) = inner.stores.approvals.approval(id).await else { return };
        if !matches!(approval.state, ApprovalState::Asked { .. } | ApprovalState::Allowed { .. }) {
            return;
        }
        let withdrawn = ApprovalState::Withdrawn { why: why.to_owned(), at_ms: now_ms() };
        if settle(inner, &approval, &withdrawn).await.is_ok_and(made) {
            return;
        }
    }
}

/// A person's name for others, or their id where there is none.
pub(super) fn name(who: &Decider) -> String {
    let name = one_line(&who.name, NAME_MAX);
    if name.trim().is_empty() { one_line(&who.id, NAME_MAX) } else { name }
}

fn names(all: &[Decider]) -> String {
    all.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// Who answered, by the platforms' ids; for operators.
pub(super) fn identified(state: &ApprovalState) -> String {
    let who = |who: &Decider| format!("{}:{}", who.platform, one_line(&who.id, 64));
    match state {
        ApprovalState::Asked { yes: by } | ApprovalState::Allowed { by, .. } | ApprovalState::Used { by, .. } => {
            by.iter().map(who).collect::<Vec<_>>().join(", ")
        }
        ApprovalState::Refused { by, .. } => who(by),
        ApprovalState::Expired { .. } | ApprovalState::Withdrawn { .. } => String::new(),
    }
}

/// For trees, which also people see who asked for the turn.
pub(super) fn summed_up(state: &ApprovalState) -> String {
    let (who, all) = (name, names);
    match state {
        ApprovalState::Asked { yes } if yes.is_empty() => "asked".to_owned(),
        ApprovalState::Asked { yes } => format!("asked; agreed so far: {}", all(yes)),
        ApprovalState::Allowed { by, extent } | ApprovalState::Used { by, extent } => match extent {
            Extent::Once => format!("allowed by {}", all(by)),
            Extent::Session => format!("allowed in this session by {}", all(by)),
        },
        ApprovalState::Refused { by, why } if why.is_empty() => format!("refused by {}", who(by)),
        ApprovalState::Refused { by, why } => format!("refused by {}: {}", who(by), one_line(why, 100)),
        ApprovalState::Expired { .. } => "nobody answered in time".to_owned(),
        ApprovalState::Withdrawn { why, .. } => format!("withdrawn: {why}"),
    }
}
