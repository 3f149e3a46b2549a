//! Who decides which calls a turn makes: the commands that a person typed, or a language model.

use async_trait::async_trait;
use contract::{Call, CallPath, Caller, Content, Failure, Outcome, Reply, records::Record, text};
use serde_json::Value;

use crate::{
    builtin::Desk,
    commands::{self, Command},
    say,
    snapshot::Snapshot,
};

/// What a planner sees of a turn.
pub struct TurnView<'a> {
    pub record: &'a Record,
    pub caller: &'a Caller,
    pub snapshot: &'a Snapshot,
    /// The steps so far: what was asked and how each call ended, in the order of the calls.
    pub steps: &'a [Vec<Outcome>],
}

/// A call as planned; one that cannot be read is refused with `unreadable`, after it was permitted.
#[derive(Debug, Clone)]
pub struct Planned {
    pub call: Call,
    pub unreadable: Option<Failure>,
}

/// What a turn does next.
pub enum Step {
    Calls(Vec<Planned>),
    Answer(Reply),
}

/// Shows an answer in the making.
pub trait Draft: Send + Sync {
    fn show(&self, text: &str);
}

/// Plans a turn step by step.
#[async_trait]
pub trait Planner: Send + Sync {
    async fn next(&self, turn: &TurnView<'_>, draft: &dyn Draft) -> Result<Step, Failure>;
}

/// Plans what a person typed: one batch, then the answer.
pub(crate) struct Commands {
    pub desk: Desk,
}

#[async_trait]
impl Planner for Commands {
    async fn next(&self, turn: &TurnView<'_>, _draft: &dyn Draft) -> Result<Step, Failure> {
        let Some(commands) = self.commands(turn) else {
            return Ok(Step::Answer(free_text(turn)));
        };
        match turn.steps.first() {
            None if commands.iter().any(|c| matches!(c, Command::Tool { .. })) => {
                Ok(Step::Calls(planned(turn, &commands)))
            }
            done => Ok(Step::Answer(self.answer(turn, &commands, done.map_or(&[], |o| o)).await)),
        }
    }
}

impl Commands {
    fn commands(&self, turn: &TurnView<'_>) -> Option<Vec<Command>> {
        match &turn.record.message.kind {
            contract::Kind::Press { data } => {
                let action = data.parse().ok()?;
                let contract::Action::Details(of) = action else { return None };
                Some(vec![Command::Builtin(commands::Builtin::Details(of))])
            }
            contract::Kind::Text { text } | contract::Kind::Edit { text } => commands::read(text),
            contract::Kind::Command { name, args } | contract::Kind::Form { name, args } => {
                let rest = serde_json::Value::Object(args.clone()).to_string();
                Some(vec![Command::Tool { name: name.clone(), rest }])
            }
            contract::Kind::Reaction { .. } => None,
        }
    }

    async fn answer(&self, turn: &TurnView<'_>, commands: &[Command], outcomes: &[Outcome]) -> Reply {
        let mut outcomes = outcomes.iter();
        let mut saying = say::Saying::new(turn, commands.len());
        for command in commands {
            match command {
                Command::Builtin(builtin) => saying.builtin(self.desk.answer(builtin, turn).await),
                Command::Tool { .. } => {
                    if let Some(outcome) = outcomes.next() {
                        saying.outcome(outcome);
                    }
                }
            }
        }
        let mut reply = saying.reply();
        reply.content.extend(files_not_used(turn));
        reply
    }
}

/// A caption is a command, but its file goes nowhere: no command takes one, and silence would look as if it did.
fn files_not_used(turn: &TurnView<'_>) -> Option<Content> {
    let files = &turn.record.message.files;
    let line = match files.as_slice() {
        [] => return None,
        [file] => format!("The file '{}' was not used: ", text::one_line(&file.name, 64)),
        files => format!("The {} files were not used: ", files.len()),
    };
    Some(Content::Plain(line + NO_FILES + "."))
}

const NO_FILES: &str = "commands cannot use files in this version";

/// The calls of the first step, in the order of the commands. Arguments are read only of tools in view.
fn planned(turn: &TurnView<'_>, commands: &[Command]) -> Vec<Planned> {
    let tools = commands.iter().filter_map(|c| match c {
        Command::Tool { name, rest } => Some((name, rest)),
        Command::Builtin(_) => None,
    });
    tools
        .enumerate()
        .map(|(n, (name, rest))| {
            let path = CallPath::top(1, u32::try_from(n + 1).unwrap_or(u32::MAX));
            let Some(tool) = turn.snapshot.resolve(turn.caller, name) else {
                let call = Call { path, tool: name.clone(), args: Value::Null };
                return Planned { call, unreadable: None };
            };
            let (args, unreadable) = match commands::arguments(&tool.name, rest, &tool.spec.parameters, &tool.usage()) {
                Ok(args) => (args, None),
                Err(failure) => (Value::Null, Some(failure)),
            };
            Planned { call: Call { path, tool: tool.name.to_string(), args }, unreadable }
        })
        .collect()
}

fn free_text(turn: &TurnView<'_>) -> Reply {
    let message = &turn.record.message;
    let list = turn.snapshot.list(turn.caller);
    let near = say::nearest_tools(&list, message.text(), 3);
    let mut reply = Reply::text(commands::nothing_to_run(&near));
    if !message.files.is_empty() {
        let thanks = format!("Thank you, but I can do nothing with files here: {NO_FILES}.");
        reply.content.insert(0, Content::Text(thanks));
    }
    reply
}
