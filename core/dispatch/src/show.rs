//! For whose eyes an answer is: told to the adapter when a message is accepted, and put on the reply at its end.

use contract::{Address, Audience, Caller, Content, Reply};

use crate::{commands::Command, gateway::Inner, planner};

/// Whether a reply at this address can be shown to its sender alone. In a direct conversation it is so anyway, without
/// the platform's means for it: those take a message away again.
pub(crate) fn can_be_private(inner: &Inner, to: &Address) -> bool {
    !to.direct && !to.platform.is_pull() && inner.outlet(to).is_some_and(|c| c.outlet.can_be_private(to))
}

/// What is known of the answer's audience before anything ran: from the snapshot, in memory.
pub(crate) fn foreseen(inner: &Inner, to: &Address, caller: &Caller, commands: &[Command]) -> Audience {
    let [command] = commands else { return Audience::Everyone };
    if !can_be_private(inner, to) {
        return Audience::Everyone;
    }
    let private = match command {
        Command::Builtin(builtin) => builtin.is_private(),
        Command::Tool { .. } | Command::Filled { .. } => {
            private_errors(inner, caller) && is_refused(inner, caller, command)
        }
    };
    if private { Audience::Sender } else { Audience::Everyone }
}

fn private_errors(inner: &Inner, caller: &Caller) -> bool {
    inner.snapshot.load().policies.manner(caller).replies.private_errors
}

/// Whether the call ends before it starts, by what is known now.
fn is_refused(inner: &Inner, caller: &Caller, command: &Command) -> bool {
    let snapshot = inner.snapshot.load();
    let (Command::Tool { name, .. } | Command::Filled { name, .. }) = command else { return false };
    let Some(tool) = snapshot.resolve(caller, name) else { return true };
    let policies = &snapshot.policies;
    if policies::permit(policies, policies, caller, &tool.name, None).is_err() {
        return true;
    }
    planner::arguments(tool, command).and_then(|args| tool.prepare(args)).is_err()
}

/// Who sees a reply: its sender alone where that was meant, policy has it so and the platform can.
pub(crate) fn audience(reply: &Reply, private_errors: bool, can_be_private: bool) -> Audience {
    let is_error = reply.failed && reply.content.iter().all(|content| matches!(content, Content::Notice(_)));
    let is_meant = reply.audience == Audience::Sender || is_error;
    let is_wanted = !reply.failed || private_errors;
    if is_meant && is_wanted && can_be_private { Audience::Sender } else { Audience::Everyone }
}
