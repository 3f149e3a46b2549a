//! For whose eyes an answer is: told to the adapter when a message is accepted, and put on the reply at its end.

use contract::{
    Action, Address, Audience, Caller, Content, FileRef, Message, Node, NodeKind, Origin, Pings, Reply, State,
    records::Record,
};
use policies::{Detail, Mentions, Replies};

use crate::{
    call::TurnCx,
    commands::{Command, Typed},
    gateway::Inner,
    planner, schedule, tree,
    turn::now_us,
};

/// Whether a reply at this address can be shown to its sender alone. In a direct conversation it is so anyway, without
/// the platform's means for it: those take a message away again.
pub(crate) fn can_be_private(inner: &Inner, to: &Address) -> bool {
    !to.direct && !to.platform.is_pull() && inner.outlet(to).is_some_and(|c| c.outlet.can_be_private(to))
}

/// What is known of the answer's audience before anything ran: from the snapshot, in memory.
pub(crate) fn foreseen(inner: &Inner, message: &Message, caller: &Caller, commands: &[Command]) -> Audience {
    let to = &message.address;
    if !can_be_private(inner, to) {
        return Audience::Everyone;
    }
    let private = match commands {
        [] => !inner.planner.reads_free_text() && is_unread(caller),
        [Command::Builtin(builtin)] => builtin.is_private(),
        [command @ (Command::Tool { .. } | Command::Filled { .. })] => {
            private_errors(inner, caller) && is_refused(inner, caller, command, &message.files)
        }
        [_, _, ..] => false,
    };
    if private { Audience::Sender } else { Audience::Everyone }
}

/// Whether words that nobody plans with were given as a command: nobody else saw them, so nobody else sees that they mean
/// nothing here.
pub(crate) fn is_unread(caller: &Caller) -> bool {
    caller.origin == Origin::Command
}

/// Who sees that something failed which has no turn to be answered in.
pub(crate) fn of_error(inner: &Inner, to: &Address, caller: &Caller) -> Audience {
    match private_errors(inner, caller) && can_be_private(inner, to) {
        true => Audience::Sender,
        false => Audience::Everyone,
    }
}

fn private_errors(inner: &Inner, caller: &Caller) -> bool {
    inner.snapshot.load().policies.manner(caller).replies.private_errors
}

/// Whether the call ends before it starts, by what is known now.
fn is_refused(inner: &Inner, caller: &Caller, command: &Command, files: &[FileRef]) -> bool {
    let snapshot = inner.snapshot.load();
    let (Command::Tool { name, .. } | Command::Filled { name, .. }) = command else { return false };
    let Some(tool) = snapshot.resolve(caller, name) else { return true };
    let policies = &snapshot.policies;
    if policies::permit(policies, policies, caller, &tool.name, None).is_err() {
        return true;
    }
    let args = planner::arguments(tool, command).and_then(|args| tool.with_files(args, files));
    args.and_then(|args| tool.prepare(args)).is_err()
}

/// What policy says of how a reply looks and who sees it.
pub(crate) fn dressed(cx: &TurnCx, record: &Record, mut reply: Reply) -> Reply {
    // As it is done where it is read.
    let reader = cx.standing.as_ref().and_then(|standing| standing.there.as_ref()).unwrap_or(&cx.caller);
    let Replies { detail, reference, private_errors, mentions, .. } = cx.snapshot.policies.manner(reader).replies;
    let shown = reply.failed || reference;
    if let Some(typed) = Typed::at(&cx.inner, &record.message.address, &cx.snapshot, &cx.caller) {
        typed.notices(&mut reply);
    }
    let audience = audience(&reply, private_errors, can_be_private(&cx.inner, &record.message.address));
    let Mentions { users, roles, everyone } = mentions;
    if reply.failed
        && detail == Detail::Full
        && let Some(unfolded) = details(cx.live.nodes())
    {
        reply.content.push(unfolded);
        reply.buttons.retain(|button| !matches!(button.action, Action::Details(_)));
    }
    schedule::dressed(cx, &mut reply);
    Reply {
        reference: reply.reference.or(shown.then_some(cx.id)),
        audience,
        pings: Pings { users, roles, everyone },
        most_messages: Some(cx.limits.messages_per_reply),
        locale: cx.locale,
        ..reply
    }
}

/// The tree of a turn that is about to end, when it made calls.
fn details(mut nodes: Vec<Node>) -> Option<Content> {
    nodes.iter().find(|node| node.kind == NodeKind::Call)?;
    for root in nodes.iter_mut().filter(|node| node.kind == NodeKind::Turn) {
        root.state = State::Failed;
        root.duration_us = Some(now_us().saturating_sub(root.started_us));
    }
    nodes.sort_by_key(|node| node.call);
    Some(Content::Code { language: String::new(), text: tree::draw_text(&nodes, false) })
}

/// Who sees a reply: its sender alone where that was meant, policy has it so and the platform can.
pub(crate) fn audience(reply: &Reply, private_errors: bool, can_be_private: bool) -> Audience {
    let is_error = reply.failed && reply.content.iter().all(|content| matches!(content, Content::Notice(_)));
    let is_meant = reply.audience == Audience::Sender || is_error;
    let is_wanted = !reply.failed || private_errors;
    if is_meant && is_wanted && can_be_private { Audience::Sender } else { Audience::Everyone }
}
