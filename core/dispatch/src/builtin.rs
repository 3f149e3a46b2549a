//! What the gateway answers itself: help, tools, traces, status, a new conversation.

use std::sync::Weak;

use contract::{Content, Locale, Node, TurnId, seams::Condition};
use words::{Line, line};

use crate::{
    approval,
    commands::{BUILTINS, Builtin, Typed},
    gateway::Inner,
    planner::TurnView,
    say, schedule, session,
    signals::same_person,
    tree,
};

/// Answers built-in commands.
pub(crate) struct Desk {
    pub inner: Weak<Inner>,
}

impl Desk {
    pub async fn answer(&self, builtin: &Builtin, turn: &TurnView<'_>) -> Vec<Content> {
        let Some(inner) = self.inner.upgrade() else { return Vec::new() };
        match builtin {
            Builtin::Start => text(self.typed(start(turn), turn)),
            Builtin::Help => text(self.typed(help(turn), turn)),
            Builtin::Tools(word) => text(self.typed(tools(turn, word), turn)),
            Builtin::Stop => text(line(Line::NothingOfYours, turn.locale)),
            Builtin::Status => text(status(&inner, turn)),
            Builtin::Trace(reference) => trace(&inner, turn, reference).await,
            Builtin::Details(of) => trace(&inner, turn, &of.to_string()).await,
            Builtin::Schedule(rest) => {
                let said = schedule::answer(&inner, rest, turn).await;
                said.into_iter().map(|content| self.typed_in(content, turn)).collect()
            }
            Builtin::Approvals => text(approvals(&inner, turn).await),
            // Alone they are answered when they are accepted; these are among others.
            Builtin::Approve(_) | Builtin::Deny(_) => {
                let (caller, at) = (turn.caller, &turn.record.message.address);
                let said = approval::typed(&inner, caller, at, builtin).await;
                let said = said.unwrap_or_else(|_| "I cannot take messages at present".to_owned());
                text(say::escape(&words::signal(&said, turn.locale)))
            }
            Builtin::New
            | Builtin::Mount(_)
            | Builtin::Sessions
            | Builtin::Resume(_)
            | Builtin::Keep(_)
            | Builtin::Forget(_) => session::answer(&inner, builtin, turn).await,
        }
    }

    fn typed_in(&self, content: Content, turn: &TurnView<'_>) -> Content {
        match content {
            Content::Text(words) => Content::Text(self.typed(words, turn)),
            other => other,
        }
    }

    /// Words of ours with their commands as they can be typed where they are read.
    pub fn typed(&self, words: String, turn: &TurnView<'_>) -> String {
        let inner = self.inner.upgrade();
        let to = &turn.record.message.address;
        match inner.and_then(|inner| Typed::at(&inner, to, turn.snapshot, turn.caller)) {
            Some(typed) => typed.text(&words),
            None => words,
        }
    }
}

/// Those that this person may answer here, or asked for.
async fn approvals(inner: &std::sync::Arc<Inner>, turn: &TurnView<'_>) -> String {
    let all = inner.stores.approvals.open_approvals(approval::OPEN_MAX).await.unwrap_or_default();
    let theirs = |approval: &contract::records::Approval| {
        approval::concerns(inner, approval, turn.caller, &turn.record.message.address)
    };
    approval::listed(&all.into_iter().filter(theirs).take(APPROVALS_SHOWN).collect::<Vec<_>>(), turn.locale)
}

/// Most lines of `/approvals`.
const APPROVALS_SHOWN: usize = 20;

fn text(markdown: String) -> Vec<Content> {
    vec![Content::Text(markdown)]
}

fn start(turn: &TurnView<'_>) -> String {
    format!("{}\n\n{}", line(Line::Hello, turn.locale), help(turn))
}

fn help(turn: &TurnView<'_>) -> String {
    let list = turn.list();
    let mut out = format!("{}\n\n", line(Line::HowToWrite, turn.locale));
    let shown = list.tools.iter().take(8);
    for tool in shown {
        out.push_str(&format!(
            "- `{}` — {}\n",
            tool.usage(),
            say::escape(&contract::text::one_line(tool.description(), 80))
        ));
    }
    match list.tools.len() {
        0 => out.push_str(&format!("{}\n", line(Line::NoTools, turn.locale))),
        n if n > 8 => out.push_str(&format!("- {}\n", words::more_tools(n - 8, turn.locale))),
        _ => {}
    }
    out.push_str(&format!("\n{}\n\n", line(Line::OfMyself, turn.locale)));
    for (name, help) in BUILTINS.iter().filter(|(name, _)| *name != "start") {
        out.push_str(&format!("- /{name} — {}\n", say::escape(&builtins_help(name, help, turn.locale))));
    }
    out
}

fn builtins_help(name: &str, english: &str, locale: Locale) -> String {
    words::builtin(name, locale).unwrap_or_else(|| english.to_owned())
}

fn tools(turn: &TurnView<'_>, word: &str) -> String {
    let list = turn.list();
    let word = word.to_lowercase();
    let fits = |tool: &&std::sync::Arc<tools::Tool>| {
        [&*tool.name, &*tool.spec.toolset, &tool.spec.description].iter().any(|t| t.to_lowercase().contains(&word))
    };
    let mut out = String::new();
    for tool in list.tools.iter().filter(fits) {
        out.push_str(&format!(
            "- `{}`\n  {}\n",
            tool.usage(),
            say::escape(&contract::text::one_line(tool.description(), 160))
        ));
    }
    match out.is_empty() {
        true if word.is_empty() => line(Line::NoTools, turn.locale),
        true => words::no_tool_matches(&contract::text::one_line(&word, 40).replace('`', "'"), turn.locale),
        false => out,
    }
}

fn status(inner: &Inner, turn: &TurnView<'_>) -> String {
    let session = contract::SessionKey::of(&turn.record.message.address);
    let running = inner.running.of_session(&session, turn.record.id);
    let mut out = match running.len() {
        0 => format!("{}\n", line(Line::NothingRuns, turn.locale)),
        _ => format!("{}\n\n", line(Line::Running, turn.locale)),
    };
    for (id, asked, seconds) in &running {
        let line = words::running(&say::escape(asked), *seconds, &id.to_string(), turn.locale);
        out.push_str(&format!("- {line}\n"));
    }
    for (id, tool) in inner.jobs.of_session(&session) {
        out.push_str(&format!("- {} `{id}`\n", words::job_waits(&tool, turn.locale)));
    }
    match inner.lanes.waiting(&session) {
        0 => {}
        n => out.push_str(&format!("\n{}\n", words::waiting(n, turn.locale))),
    }
    let troubled = inner.health.all().into_iter().filter(|(_, c)| *c != Condition::Ready).count();
    out.push('\n');
    out.push_str(&match troubled {
        0 => line(Line::AllWell, turn.locale),
        n => words::troubled(n, turn.locale),
    });
    out
}

/// The tree of a turn, for the one who asked and for operators; for anybody else the reference does not exist.
async fn trace(inner: &Inner, turn: &TurnView<'_>, reference: &str) -> Vec<Content> {
    let missing = || vec![say::no_such_reference(reference, turn.record.id)];
    let Ok(id) = reference.parse::<TurnId>() else { return missing() };
    let nodes = match inner.tree(id).await {
        Ok(nodes) => nodes,
        Err(_) => return text(line(Line::TreesUnreadable, turn.locale)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_and_menus_say_the_same_of_each_built_in() {
        for (name, help) in BUILTINS {
            assert_eq!(words::builtin(name, Locale::En).as_deref(), Some(help), "{name}");
            assert!(words::builtin(name, Locale::ZhHans).is_some(), "{name}");
        }
    }
}
