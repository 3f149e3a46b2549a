//! Commands without the slash: some platforms' clients send no text that begins with one.

use contract::{Caller, Heard, Kind, Message, records::ApprovalId};

use super::{Builtin, Command, command, of, read_by, split};
use crate::{planner::Planner, snapshot::Snapshot};

/// The commands that a message stands for, or nothing when it is free text. Where the planner reads no free text, a tool's
/// or a built-in's bare name is a command too.
pub(crate) fn asked(
    message: &Message,
    caller: &Caller,
    snapshot: &Snapshot,
    planner: &dyn Planner,
) -> Option<Vec<Command>> {
    let (Kind::Text { text } | Kind::Edit { text } | Kind::Retold { text, .. }) = &message.kind else {
        return of(&message.kind);
    };
    if planner.reads_free_text() || text.trim_start().starts_with('/') {
        return of(&message.kind);
    }
    // Among others such words are talk: "sleep well" is said to somebody else.
    if !message.address.direct && message.heard == Heard::Overheard {
        return None;
    }
    if let Some(builtin) = builtin(text) {
        return Some(vec![Command::Builtin(builtin)]);
    }
    bare(text, |name| snapshot.resolve(caller, name).is_some())
}

/// A built-in's name is the whole message: among other words it is a word like them.
fn builtin(text: &str) -> Option<Builtin> {
    let words: Vec<&str> = text.split_whitespace().take(3).collect();
    let (name, rest) = match words[..] {
        [name] => (name, ""),
        [name, word] => (name, word),
        _ => return None,
    };
    let Command::Builtin(builtin) = command(name.to_ascii_lowercase(), rest) else { return None };
    match builtin {
        Builtin::Tools(_) | Builtin::Mount(None) => Some(builtin),
        Builtin::Trace(ref reference) if !reference.is_empty() => Some(builtin),
        Builtin::Approve(ref id) | Builtin::Deny(ref id) if id.parse::<ApprovalId>().is_ok() => Some(builtin),
        Builtin::Approvals if rest.is_empty() => Some(builtin),
        Builtin::Help | Builtin::Stop | Builtin::New | Builtin::Status | Builtin::Sessions if rest.is_empty() => {
            Some(builtin)
        }
        _ => None,
    }
}

/// Lines that begin with a tool's name, each with those that follow it.
fn bare(text: &str, is_tool: impl Fn(&str) -> bool) -> Option<Vec<Command>> {
    read_by(text, |line| {
        let (name, rest) = split(line.strip_prefix('/').unwrap_or(line))?;
        is_tool(name).then(|| (name.to_owned(), rest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(text: &str) -> Option<Vec<(String, String)>> {
        let commands = bare(text, |name| matches!(name, "weather_query" | "sleep"))?;
        let pair = |command| match command {
            Command::Tool { name, rest } => (name, rest),
            other => panic!("{other:?}"),
        };
        Some(commands.into_iter().map(pair).collect())
    }

    fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> Option<Vec<(String, String)>> {
        Some(pairs.map(|(name, rest)| (name.to_owned(), rest.to_owned())).to_vec())
    }

    #[test]
    fn a_text_that_begins_with_a_tools_name_is_that_command() {
        assert_eq!(tools("weather_query Oslo days=3"), pairs([("weather_query", "Oslo days=3")]));
        assert_eq!(tools("  sleep"), pairs([("sleep", "")]));
        assert_eq!(tools("what is the weather_query"), None);
        assert_eq!(tools("Sleep well"), None);
        assert_eq!(tools("sleep, please"), None);
        assert_eq!(tools("weather query Oslo"), None);
    }

    #[test]
    fn several_lines_with_tools_names_are_one_batch() {
        let both = pairs([("sleep", "1"), ("weather_query", "Oslo")]);
        assert_eq!(tools("sleep 1\nweather_query Oslo"), both);
        assert_eq!(tools("sleep 1\n/weather_query Oslo"), both);
        assert_eq!(tools("weather_query \"Oslo\nsleep 1\""), pairs([("weather_query", "\"Oslo\nsleep 1\"")]));
        assert_eq!(tools("sleep 1\nand then"), pairs([("sleep", "1\nand then")]));
    }

    #[test]
    fn a_built_ins_name_is_a_command_only_when_nothing_else_is_said() {
        assert_eq!(builtin("help"), Some(Builtin::Help));
        assert_eq!(builtin(" Stop "), Some(Builtin::Stop));
        assert_eq!(builtin("tools"), Some(Builtin::Tools(String::new())));
        assert_eq!(builtin("tools weather"), Some(Builtin::Tools("weather".into())));
        assert_eq!(builtin("trace 7k2f"), Some(Builtin::Trace("7k2f".into())));
        for prose in ["trace", "new york", "stop it", "help me", "tools for the garden", "start", "/help", "", "hello"]
        {
            assert_eq!(builtin(prose), None, "{prose}");
        }
    }
}
