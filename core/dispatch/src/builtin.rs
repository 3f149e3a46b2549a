//! What the gateway answers itself: help, tools, traces, status, a new conversation.

use std::sync::Weak;

use contract::{Content, Node, TurnId, seams::Condition};

use crate::{
    commands::{BUILTINS, Builtin},
    gateway::Inner,
    intake::same_person,
    planner::TurnView,
    say, tree,
};

/// Answers built-in commands.
pub(crate) struct Desk {
    pub inner: Weak<Inner>,
}

impl Desk {
    pub async fn answer(&self, builtin: &Builtin, turn: &TurnView<'_>) -> Vec<Content> {
        let Some(inner) = self.inner.upgrade() else { return Vec::new() };
        match builtin {
            Builtin::Start => text(start(turn)),
            Builtin::Help => text(help(turn)),
            Builtin::Tools(word) => text(tools(turn, word)),
            Builtin::Stop => text("Nothing of yours is running here.".into()),
            Builtin::New => new(&inner, turn).await,
            Builtin::Status => text(status(&inner, turn)),
            Builtin::Trace(reference) => trace(&inner, turn, reference).await,
            Builtin::Details(of) => trace(&inner, turn, &of.to_string()).await,
        }
    }
}

fn text(markdown: String) -> Vec<Content> {
    vec![Content::Text(markdown)]
}

fn start(turn: &TurnView<'_>) -> String {
    format!("Hello. I run tools for you and tell you what became of them.\n\n{}", help(turn))
}

fn help(turn: &TurnView<'_>) -> String {
    let list = turn.snapshot.list(turn.caller);
    let mut out = String::from(
        "Write a command: `/name value` or `/name key=value`. Several commands on lines of their own run at once.\n\n",
    );
    let shown = list.tools.iter().take(8);
    for tool in shown {
        out.push_str(&format!(
            "- `{}` — {}\n",
            tool.usage(),
            say::escape(&contract::text::one_line(&tool.spec.description, 80))
        ));
    }
    match list.tools.len() {
        0 => out.push_str("No tool can be used here at present.\n"),
        n if n > 8 => out.push_str(&format!("- and {} more: /tools\n", n - 8)),
        _ => {}
    }
    out.push_str("\nAnd of myself:\n\n");
    for (name, help) in BUILTINS.iter().take(6) {
        out.push_str(&format!("- /{name} — {}\n", say::escape(help)));
    }
    out
}

fn tools(turn: &TurnView<'_>, word: &str) -> String {
    let list = turn.snapshot.list(turn.caller);
    let word = word.to_lowercase();
    let fits = |tool: &&std::sync::Arc<tools::Tool>| {
        [&*tool.name, &*tool.spec.toolset, &tool.spec.description].iter().any(|t| t.to_lowercase().contains(&word))
    };
    let mut out = String::new();
    for tool in list.tools.iter().filter(fits) {
        out.push_str(&format!(
            "- `{}`\n  {}\n",
            tool.usage(),
            say::escape(&contract::text::one_line(&tool.spec.description, 160))
        ));
    }
    match out.is_empty() {
        true if word.is_empty() => "No tool can be used here at present.".into(),
        true => format!(
            "No tool here has to do with `{}`. Send /tools for all.",
            contract::text::one_line(&word, 40).replace('`', "'")
        ),
        false => out,
    }
}

async fn new(inner: &Inner, turn: &TurnView<'_>) -> Vec<Content> {
    match inner.stores.sessions.reset(&turn.record.session).await {
        Ok(()) => text("A new conversation. What was said before is not used any more.".into()),
        Err(error) => {
            let failure = contract::Failure::new(contract::Code::Store, "the conversation could not be reset just now")
                .cause(contract::Private::new(error.to_string()));
            vec![Content::Notice(contract::Notice::of(&failure, None, Some(turn.record.id)))]
        }
    }
}

fn status(inner: &Inner, turn: &TurnView<'_>) -> String {
    let session = contract::SessionKey::of(&turn.record.message.address);
    let running = inner.running.of_session(&session, turn.record.id);
    let mut out = match running.len() {
        0 => "Nothing runs in this conversation.\n".to_owned(),
        _ => "Running in this conversation:\n\n".to_owned(),
    };
    for (id, asked, seconds) in &running {
        out.push_str(&format!("- {} ({seconds} s, `{id}`)\n", say::escape(asked)));
    }
    match inner.lanes.waiting(&session) {
        0 => {}
        1 => out.push_str("\n1 message waits behind it.\n"),
        n => out.push_str(&format!("\n{n} messages wait behind it.\n")),
    }
    let troubled = inner.health.all().into_iter().filter(|(_, c)| *c != Condition::Ready).count();
    match troubled {
        0 => out.push_str("\nThe gateway is well."),
        n => out.push_str(&format!("\n{n} parts of the gateway need attention; an operator sees which.")),
    }
    out
}

/// The tree of a turn, for the one who asked and for operators; for anybody else the reference does not exist.
async fn trace(inner: &Inner, turn: &TurnView<'_>, reference: &str) -> Vec<Content> {
    let missing = || vec![say::no_such_reference(reference, turn.record.id)];
    let Ok(id) = reference.parse::<TurnId>() else { return missing() };
    let nodes = match inner.tree(id).await {
        Ok(nodes) => nodes,
        Err(_) => return text("The call trees cannot be read just now; try again in a moment.".into()),
    };
    let Some(root) = nodes.iter().find(|n| n.place.is_some()) else { return missing() };
    let operator = turn.caller.platform == contract::Platform::Console;
    if !operator && !asked_by(root, turn) {
        return missing();
    }
    let heading = format!("`{id}` · {}", say::escape(&contract::text::one_line(&root.args, 120)));
    let drawing = tree::draw_text(&nodes, operator);
    vec![Content::Text(heading), Content::Code { language: String::new(), text: drawing }]
}

fn asked_by(root: &Node, turn: &TurnView<'_>) -> bool {
    root.place.as_ref().is_some_and(|place| same_person(&place.caller, turn.caller))
}
