//! How a command is named to people: as they can type it where they are.

use std::sync::Arc;

use contract::{Address, Caller, Content, Notice, Reply};

use super::BUILTINS;
use crate::{
    gateway::Inner,
    snapshot::{Snapshot, ToolList},
};

/// How commands begin at a place, and which there are.
pub(crate) struct Typed {
    prefix: String,
    list: Arc<ToolList>,
}

impl Typed {
    /// Nothing where they begin with `/`, as they are written here.
    pub fn at(inner: &Inner, to: &Address, snapshot: &Snapshot, caller: &Caller) -> Option<Self> {
        let connected = inner.outlet(to)?;
        let prefix = connected.outlet.command_prefix();
        (prefix != "/").then(|| Self { prefix: prefix.to_owned(), list: snapshot.list(caller) })
    }

    /// The failures of a reply; what tools answered stays as it is.
    pub fn notices(&self, reply: &mut Reply) {
        for content in &mut reply.content {
            if let Content::Notice(notice) = content {
                self.notice(notice);
            }
        }
    }

    fn notice(&self, notice: &mut Notice) {
        notice.hint = self.text(&notice.hint);
        notice.usage = notice.usage.as_deref().map(|usage| self.text(usage));
        // What a tool says of itself is none of ours.
        if notice.tool.is_none() {
            notice.say = self.text(&notice.say);
        }
    }

    /// `/name` is written as it is typed there wherever it is the name of a command.
    pub fn text(&self, text: &str) -> String {
        let is_command = |name: &str| {
            BUILTINS.iter().any(|(builtin, _)| *builtin == name) || self.list.tools.iter().any(|t| &*t.name == name)
        };
        written(text, &self.prefix, is_command)
    }
}

fn written(text: &str, prefix: &str, is_command: impl Fn(&str) -> bool) -> String {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('/') {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        let end = after.find(|c| !is_name(c)).unwrap_or(after.len());
        let follows_word =
            before.chars().next_back().or(out.chars().next_back()).is_some_and(|c| is_name(c) || c == '/');
        let is_path = after[end..].starts_with('/');
        out.push_str(before);
        out.push_str(if !follows_word && !is_path && is_command(&after[..end]) { prefix } else { "/" });
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_named_as_they_are_typed_there() {
        let there = |text| written(text, "/toolgate ", |name| matches!(name, "tools" | "help" | "order-query"));
        assert_eq!(there("send /tools to see"), "send /toolgate tools to see");
        assert_eq!(there("- /help — `/order-query id`"), "- /toolgate help — `/toolgate order-query id`");
        assert_eq!(there("发送 /tools 可以；还有：/help"), "发送 /toolgate tools 可以；还有：/toolgate help");
        for same in ["/etc/help", "/help/me", "and/or", "https://x.org/tools", "/others", "1/2", "/", "a/tools"] {
            assert_eq!(there(same), same);
        }
    }
}
