//! Who decides which calls a turn makes: the commands that a person typed, or a language model.

use std::sync::Arc;

use async_trait::async_trait;
use contract::{
    Audience, Call, CallId, CallPath, Caller, Content, Failure, Locale, Outcome, Reply,
    records::{ModelStep, Record},
    text,
};
use serde_json::Value;
use tools::Tool;

use crate::{
    builtin::Desk,
    call::TurnCx,
    commands::{self, Command},
    delegate::Under,
    reason::Thread,
    say, show,
    snapshot::{Snapshot, ToolList},
};

/// What a planner sees of a turn.
pub(crate) struct TurnView<'a> {
    pub cx: &'a Arc<TurnCx>,
    pub record: &'a Record,
    pub caller: &'a Caller,
    pub snapshot: &'a Snapshot,
    /// The language of the answer.
    pub locale: Locale,
    /// What a model said in each step so far; empty where no model plans.
    pub plan: &'a [ModelStep],
    /// How each call of each step ended, in the order of the calls.
    pub steps: &'a [Vec<Outcome>],
    /// The call whose steps these are, where a task was handed on.
    pub under: Option<&'a Under>,
}

impl TurnView<'_> {
    /// The tools of the one who asks, in this session.
    pub fn list(&self) -> Arc<ToolList> {
        let within = self.under.map(|under| &under.rights).or(self.cx.here.mounted.as_ref());
        self.snapshot.list_in(self.caller, within)
    }

    /// The place of the step that comes next.
    pub fn place(&self) -> CallPath {
        place(self.under, self.plan.len() + 1)
    }
}

/// The place of a step: of the turn, or of a call that has steps of its own.
pub(crate) fn place(under: Option<&Under>, step: usize) -> CallPath {
    let step = u32::try_from(step).unwrap_or(u32::MAX);
    under.map_or_else(|| CallPath::step(step), |under| under.path.child(step))
}

/// A call as planned; one that cannot be read is refused with `unreadable`, after it was permitted.
#[derive(Debug, Clone)]
pub(crate) struct Planned {
    pub call: Call,
    pub unreadable: Option<Failure>,
}

/// What a turn does next.
pub(crate) enum Step {
    Calls(Vec<Planned>),
    /// Calls that a model chose: they are durable before they start, so that a turn that is taken up again goes on with
    /// them. They hang under the node of the step in which it chose them.
    Wishes(ModelStep, CallId),
    Answer(Reply),
}

/// Plans a turn step by step.
#[async_trait]
pub(crate) trait Planner: Send + Sync {
    /// `thread` is the planner's own from step to step of a turn.
    async fn next(&self, turn: &TurnView<'_>, thread: &mut Thread) -> Result<Step, Failure>;

    /// Whether what people say in their own words is read; otherwise a bare name at its beginning is a command.
    fn reads_free_text(&self) -> bool {
        true
    }
}

/// Plans what a person typed: one batch, then the answer.
pub(crate) struct Commands {
    pub desk: Desk,
}

#[async_trait]
impl Planner for Commands {
    async fn next(&self, turn: &TurnView<'_>, _thread: &mut Thread) -> Result<Step, Failure> {
        let Some(commands) = commands::asked(&turn.record.message, turn.caller, turn.snapshot, self) else {
            return Ok(Step::Answer(self.free_text(turn)));
        };
        match turn.steps.first() {
            None if commands.iter().any(|c| !matches!(c, Command::Builtin(_))) => {
                Ok(Step::Calls(planned(turn, &commands)))
            }
            done => Ok(Step::Answer(self.answer(turn, &commands, done.map_or(&[], |o| o)).await)),
        }
    }

    fn reads_free_text(&self) -> bool {
        false
    }
}

impl Planned {
    /// A call as a model wished it; arguments that stand as text are read.
    pub fn wished(call: &Call) -> Self {
        match &call.args {
            Value::String(raw) => match tools::args::parse_json(raw) {
                Ok(args) => Self { call: Call { args, ..call.clone() }, unreadable: None },
                Err(failure) => Self { call: call.clone(), unreadable: Some(failure) },
            },
            _ => Self { call: call.clone(), unreadable: None },
        }
    }
}

impl Commands {
    fn free_text(&self, turn: &TurnView<'_>) -> Reply {
        let message = &turn.record.message;
        let list = turn.list();
        let near = say::nearest_tools(&list, message.text(), 3);
        let mut reply = Reply::text(self.desk.typed(commands::nothing_to_run(&near, turn.locale), turn));
        if show::is_unread(turn.caller) {
            reply.audience = Audience::Sender;
        }
        if !message.files.is_empty() {
            reply.content.insert(0, Content::Text(words::files_thanked(turn.locale)));
        }
        reply
    }

    async fn answer(&self, turn: &TurnView<'_>, commands: &[Command], outcomes: &[Outcome]) -> Reply {
        let mut outcomes = outcomes.iter();
        let mut saying = say::Saying::new(turn, commands.len());
        // Answers that concern nobody but the one who asked, and failures.
        let mut all_private = true;
        for command in commands {
            match command {
                Command::Builtin(builtin) => {
                    all_private &= builtin.is_private();
                    saying.builtin(self.desk.answer(builtin, turn).await);
                }
                Command::Tool { .. } | Command::Filled { .. } => {
                    if let Some(outcome) = outcomes.next() {
                        all_private &= outcome.result.is_err();
                        saying.outcome(outcome);
                    }
                }
            }
        }
        let mut reply = saying.reply();
        if all_private {
            reply.audience = Audience::Sender;
        }
        reply.content.extend(files_not_used(turn, commands));
        reply
    }
}

/// A caption is a command, but its file goes nowhere where none of its tools takes one, and silence would look as if it
/// did.
fn files_not_used(turn: &TurnView<'_>, commands: &[Command]) -> Option<Content> {
    let takes_files = |command: &Command| match command {
        Command::Tool { name, .. } | Command::Filled { name, .. } => turn
            .snapshot
            .resolve(turn.caller, name)
            .is_some_and(|tool| !tools::files::parameters(&tool.spec.parameters).is_empty()),
        Command::Builtin(_) => false,
    };
    if commands.iter().any(takes_files) {
        return None;
    }
    let files = &turn.record.message.files;
    let first = files.first()?;
    Some(Content::Plain(words::files_not_used(files.len(), &text::one_line(&first.name, 64), turn.locale)))
}

/// The calls of the first step, in the order of the commands. Arguments are read only of tools in view.
fn planned(turn: &TurnView<'_>, commands: &[Command]) -> Vec<Planned> {
    let tools = commands.iter().filter_map(|command| match command {
        Command::Tool { name, .. } | Command::Filled { name, .. } => Some((name, command)),
        Command::Builtin(_) => None,
    });
    tools
        .enumerate()
        .map(|(n, (name, command))| {
            let path = CallPath::top(1, u32::try_from(n + 1).unwrap_or(u32::MAX));
            let Some(tool) = turn.snapshot.resolve_in(turn.caller, turn.cx.here.mounted.as_ref(), name) else {
                let call = Call { path, tool: name.clone(), args: Value::Null };
                return Planned { call, unreadable: None };
            };
            let (args, unreadable) = match arguments(tool, command) {
                Ok(args) => (args, None),
                Err(failure) => (Value::Null, Some(failure)),
            };
            Planned { call: Call { path, tool: tool.name.to_string(), args }, unreadable }
        })
        .collect()
}

/// The arguments as they were given, not yet converted.
pub(crate) fn arguments(tool: &Tool, command: &Command) -> Result<Value, Failure> {
    let parameters = &tool.spec.parameters;
    match command {
        Command::Tool { rest, .. } => commands::arguments(&tool.name, rest, parameters, &tool.usage()),
        Command::Filled { args, .. } => {
            let args = Value::Object(commands::nested(args, parameters));
            commands::named_well(&tool.name, args, parameters, &tool.usage())
        }
        Command::Builtin(_) => Ok(Value::Null),
    }
}
