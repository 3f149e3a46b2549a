//! Asks people about calls: all of a step with one write, then the messages that show them.

use std::sync::Arc;

use contract::{
    Address, Call, CallId, Code, Digest, Failure, Node, NodeKind, Origin, Outcome, Platform, Private, State,
    records::{Approval, ApprovalId, ApprovalState, By, Card, Change, NotRead},
    text::one_line,
};
use policies::{Deliver, Need};
use serde_json::Value;
use tools::Tool;

use super::{
    Full, card, decide,
    shown::{shown, whole},
};
use crate::{
    call::{TurnCx, new_delivery},
    delivery,
    turn::{now_ms, now_us},
};

/// Most messages that show one approval.
const CARDS_MAX: usize = 8;
/// Most characters of what a model said that are kept.
const WHY_MAX: usize = 500;
/// A tool with it may show an old and a new text.
const WRITES: &str = "write_files";

/// A call that must not start before people have said yes.
pub(crate) struct Asks {
    pub call: Call,
    pub node: Node,
    pub need: Need,
    pub tool: Arc<Tool>,
    /// Coerced and valid.
    pub args: Value,
    /// What a model said beside it.
    pub said: String,
}

/// A call that people were asked about.
pub(crate) struct Asked {
    pub call: Call,
    pub node: Node,
    pub approval: Approval,
}

/// Asks about all calls of a step; those that nobody can be asked about end at once.
pub(crate) async fn ask(cx: &Arc<TurnCx>, asks: Vec<(usize, Box<Asks>)>) -> Vec<(usize, Result<Asked, Outcome>)> {
    let mut asked = Vec::with_capacity(asks.len());
    let mut new = Vec::new();
    for (n, asks) in asks {
        match prepared(cx, &asks, new.len()).await {
            Ok((approval, is_new)) => {
                if is_new {
                    new.push(approval.clone());
                }
                asked.push((n, Ok((asks, approval))));
            }
            Err(failure) => asked.push((n, Err(cx.refuse_asks(asks, failure)))),
        }
    }
    let written = if new.is_empty() { Ok(()) } else { write(cx, &new).await };
    let is_new = |approval: &Approval| new.iter().any(|new| new.id == approval.id);
    let shown = asked.into_iter().map(|(n, one)| {
        let one = one.and_then(|(asks, approval)| match &written {
            Err(failure) if is_new(&approval) => Err(cx.refuse_asks(asks, failure.clone())),
            _ => Ok(begun(cx, asks, approval)),
        });
        (n, one)
    });
    shown.collect()
}

/// The approval of the call: as an earlier life of the turn asked for it, or a new one. `beside` are new with it.
async fn prepared(cx: &Arc<TurnCx>, asks: &Asks, beside: usize) -> Result<(Approval, bool), Failure> {
    if cx.fence.is_none() {
        return Err(asks.need.unavailable(&asks.tool.name));
    }
    let id = ApprovalId::of(&cx.session, cx.id, &asks.call.path);
    let unwritten = |why: String| {
        Failure::new(Code::Store, "it was not asked for: we could not write down that it waits")
            .cause(Private::new(why))
    };
    match cx.inner.stores.approvals.approval(id).await {
        Ok(Some(known)) => return Ok((known, false)),
        Ok(None) => {}
        Err(NotRead::Unreadable(why)) => return Err(decide::unreadable(&asks.tool.name, why)),
        Err(NotRead::Down(down)) => return Err(unwritten(down.to_string())),
    }
    if !cx.waits.can_go_on(&asks.call.path) {
        let say = format!("'{}' needs an approval, and within this call nobody can be asked", asks.tool.name);
        return Err(Failure::new(Code::ApprovalUnavailable, say).hint("ask for it by itself"));
    }
    if let Err(full) = cx.inner.approvals.has_room(&cx.session, &cx.caller, beside) {
        return Err(crowded(full, &asks.tool.name));
    }
    let approval = new(cx, asks, id);
    match approval.cards.is_empty() && !is_confirmed_by_request(cx, asks.need.by) {
        true => Err(asks.need.unavailable(&asks.tool.name)),
        false => Ok((approval, true)),
    }
}

/// Why nobody is asked about one more.
fn crowded(full: Full, tool: &str) -> Failure {
    let (say, hint) = match full {
        Full::Person(n) => (
            format!("'{tool}' needs an approval, and {n} calls of yours wait for people already"),
            "wait until some of them are answered, or stop them",
        ),
        Full::Others => {
            (format!("'{tool}' needs an approval, and too many calls wait for people already"), "try again later")
        }
    };
    Failure::new(Code::ApprovalUnavailable, say).hint(hint)
}

fn new(cx: &TurnCx, asks: &Asks, id: ApprovalId) -> Approval {
    let how = cx.snapshot.policies.asks_how(&cx.caller);
    let asked_ms = now_ms();
    let places = places(cx, asks.need.by, &how.deliver);
    let cards = places.into_iter().take(CARDS_MAX).zip(0u8..).map(|(to, nth)| Card { n: id.delivery(nth), to });
    let writes = asks.tool.spec.permissions.iter().any(|label| **label == *WRITES);
    let shown = shown(&asks.args, writes);
    Approval {
        id,
        turn: cx.id,
        path: asks.call.path.clone(),
        tool: asks.tool.name.to_string(),
        spec: asks.tool.digest,
        args: Digest::of_json(&asks.args),
        session: cx.session.clone(),
        caller: cx.caller.clone(),
        asked_ms,
        until_ms: asked_ms.saturating_add(u64::try_from(how.expires.as_millis()).unwrap_or(u64::MAX / 2)),
        by: asks.need.by,
        need: people(cx, asks.need.by),
        whole: whole(&asks.args, writes, &shown),
        shown,
        why: one_line(&contract::text::clean_framing(&asks.said), WHY_MAX),
        rule: asks.need.rule.to_string(),
        cards: cards.collect(),
        state: ApprovalState::default(),
    }
}

/// How many have to say yes.
pub(crate) fn people(cx: &TurnCx, by: By) -> u32 {
    let is_two = by == By::Approver && cx.snapshot.policies.asks_how(&cx.caller).two;
    if is_two { 2 } else { 1 }
}

/// Where somebody can be asked who may answer; nowhere, if nobody can be.
fn places(cx: &TurnCx, by: By, deliver: &[Deliver]) -> Vec<Address> {
    let Some(asked_at) = &cx.asked_at else { return Vec::new() };
    let here = || {
        let to = Address { reply_to: None, private: contract::Opaque::default(), ..asked_at.clone() };
        (!to.platform.is_pull() && cx.inner.outlet(&to).is_some()).then_some(to)
    };
    let approvers = cx.snapshot.policies.approvers(&cx.caller);
    match by {
        By::Requester => return here().into_iter().collect(),
        By::Approver if approvers.are_none() => return Vec::new(),
        By::Approver => {}
    }
    let mut places: Vec<Address> = Vec::new();
    for deliver in deliver {
        let found = match deliver {
            // Nobody else reads there.
            Deliver::Conversation if asked_at.direct => Vec::new(),
            Deliver::Conversation => here().into_iter().collect(),
            Deliver::To(to) => cx.inner.outlet(to).map(|_| to.clone()).into_iter().collect(),
            Deliver::Private => approvers.people().into_iter().filter_map(|person| privately(cx, person)).collect(),
        };
        for to in found {
            let is_there = |other: &Address| {
                (other.platform, &other.account, &other.conversation, &other.thread)
                    == (to.platform, &to.account, &to.conversation, &to.thread)
            };
            if !places.iter().any(is_there) {
                places.push(to);
            }
        }
    }
    places
}

/// A direct conversation with an approver, through the account that was asked where it is of the same platform.
fn privately(cx: &TurnCx, (platform, space, person): (contract::Platform, Option<&str>, &str)) -> Option<Address> {
    let caller = &cx.caller;
    if platform == caller.platform && *person == *caller.sender.id {
        return None;
    }
    let mut accounts: Vec<_> = cx.inner.accounts().into_iter().filter(|(on, _)| *on == platform).collect();
    accounts.sort_by_key(|(on, account)| ((*on, account) != (caller.platform, &caller.account), account.clone()));
    accounts.into_iter().find_map(|(platform, account)| {
        let connected = cx.inner.outlet(&Address::new(platform, &account, person))?;
        let to = connected.outlet.to_person(&account, person)?;
        Some(Address { space: space.map(str::to_owned).or(to.space), direct: true, ..to })
    })
}

/// Whether whoever asked sees there that it waits, and answers it, without a card: a page and clients that say messages
/// fetch what waits for them. A program that wants one answer does not.
fn is_confirmed_by_request(cx: &TurnCx, by: By) -> bool {
    let Some(asked_at) = &cx.asked_at else { return false };
    let is_said = match cx.caller.origin {
        Origin::Said | Origin::Command | Origin::Button | Origin::Form => true,
        Origin::Api | Origin::Mcp | Origin::Schedule | Origin::Resume => false,
    };
    by == By::Requester && is_said && matches!(asked_at.platform, Platform::Api | Platform::Web)
}

/// Asks, and what shows it, in one write; then it is shown.
async fn write(cx: &Arc<TurnCx>, new: &[Approval]) -> Result<(), Failure> {
    let mut changes = vec![Change::Ask(new.to_vec())];
    let mut deliveries = Vec::new();
    for approval in new {
        for shown in &approval.cards {
            let elsewhere = !card::same_place(&shown.to, approval);
            let reply = card::card(approval, elsewhere, cx.locale);
            let delivery = new_delivery(shown.n, shown.to.clone(), Some(reply.clone()));
            changes.push(Change::Delivery(delivery.clone()));
            deliveries.push((delivery, reply));
        }
    }
    cx.change(&changes).await.map_err(|error| {
        Failure::new(Code::Store, "it was not asked for: we could not write down that it waits")
            .cause(Private::new(error.to_string()))
    })?;
    for (delivery, reply) in deliveries {
        delivery::show(cx, delivery, reply);
    }
    for approval in new {
        cx.inner.approvals.note(approval, cx.inner.running.asked(cx.id).unwrap_or_default());
        tracing::info!(turn = %cx.id, tool = approval.tool, approval = %approval.id, "a call waits for people");
    }
    Ok(())
}

fn begun(cx: &TurnCx, asks: Box<Asks>, approval: Approval) -> Asked {
    let Asks { call, mut node, args, tool, .. } = *asks;
    node.spec = Some(tool.digest);
    node.args_digest = Some(Digest::of_json(&args));
    node.args = crate::summary::summary(&args);
    node.state = State::Parked;
    cx.inner.tracer.start(&cx.live, &Arc::new(node.clone()));
    cx.inner.tracer.start(&cx.live, &Arc::new(approval_node(cx, &node, &approval)));
    Asked { call, node, approval }
}

/// As it stands: who decided, when, after how long.
pub(super) fn approval_node(cx: &TurnCx, call: &Node, approval: &Approval) -> Node {
    let known = cx.waits.approval_node(call.call).map(|node| node.call);
    let id = known.or_else(|| {
        let nodes = cx.live.nodes();
        nodes.iter().find(|n| n.kind == NodeKind::Approval && n.parent == Some(call.call)).map(|n| n.call)
    });
    let mut node =
        Node::new(cx.id, id.unwrap_or_else(|| cx.next_node()), NodeKind::Approval, approval.asked_ms * 1_000);
    node.parent = Some(call.call);
    node.tool.clone_from(&approval.tool);
    node.args.clone_from(&call.args);
    node.detail.clone_from(&approval.rule);
    node.marks.push(approval.id.to_string());
    let (state, code, at_ms) = match &approval.state {
        ApprovalState::Asked { .. } => (State::Parked, None, None),
        ApprovalState::Allowed { by, .. } | ApprovalState::Used { by, .. } => {
            (State::Ok, None, by.last().map(|last| last.at_ms))
        }
        ApprovalState::Refused { by, .. } => (State::Denied, Some(Code::ApprovalRefused), Some(by.at_ms)),
        ApprovalState::Expired { at_ms } => (State::Failed, Some(Code::ApprovalExpired), Some(*at_ms)),
        ApprovalState::Withdrawn { at_ms, .. } => (State::Cancelled, None, Some(*at_ms)),
    };
    (node.state, node.code) = (state, code);
    node.result = super::decide::summed_up(&approval.state);
    let by = super::decide::identified(&approval.state);
    if !by.is_empty() {
        node.detail.push_str(&format!("\nanswered by {by}"));
    }
    node.duration_us = at_ms.map(|at| (at * 1_000).saturating_sub(node.started_us));
    node
}

/// A call that nobody was asked about, or whose answer is no: its node ends.
impl TurnCx {
    pub(super) fn refuse_asks(&self, asks: Box<Asks>, failure: Failure) -> Outcome {
        let Asks { call, mut node, args, .. } = *asks;
        node.args = crate::summary::summary(&args);
        node.started_us = now_us();
        self.refuse(call, node, failure)
    }

    /// The number of the next node of this life.
    pub(crate) fn next_node(&self) -> CallId {
        let n = self.nodes.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        CallId(self.life * 1_000 + n)
    }
}
