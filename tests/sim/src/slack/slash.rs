//! Slash commands: whose they are, and what a client makes of a text that begins like one.

use super::cast::{App, Channel};
use super::people::Say;
use super::world::World;

/// The longest name, without its slash.
const LONGEST: usize = 32;

/// Whether a command can be registered under a name: no capitals, no blanks.
pub fn is_name(name: &str) -> bool {
    let name = name.strip_prefix('/').unwrap_or(name);
    (1..=LONGEST).contains(&name.chars().count())
        && !name.contains(|c: char| c.is_uppercase() || c.is_whitespace() || c == '/')
}

impl World {
    /// The apps that may have commands in a conversation.
    fn commanders(&self, channel: &Channel) -> impl Iterator<Item = usize> {
        let team = channel.team;
        (0..self.apps.len())
            .filter(move |app| self.apps[*app].install(team).is_some() && self.apps[*app].may("commands"))
    }

    /// The commands that are offered in a conversation, each with its app and with its slash.
    pub fn registered<'a>(&'a self, channel: &'a Channel) -> impl Iterator<Item = (&'a App, String)> {
        self.commanders(channel).map(|app| &self.apps[app]).flat_map(|app| {
            let names = app.commands.iter().flatten();
            names.map(move |name| (app, format!("/{}", name.trim_start_matches('/'))))
        })
    }

    /// The app whose command this is.
    pub fn commanded(&self, channel: &str, name: &str) -> Option<usize> {
        let channel = self.channels.get(channel)?;
        let app = self.registered(channel).find(|(_, known)| known == name).map(|(app, _)| app.name.clone());
        let any = || self.commanders(channel).find(|app| self.apps[*app].commands.is_none());
        app.and_then(|name| self.app_named(Some(&name))).or_else(any)
    }

    /// The client's words for a command that nobody registered, and those that somebody did.
    pub fn no_command(&self, channel: &str, name: &str) -> String {
        let known: Vec<String> = self
            .channels
            .get(channel)
            .into_iter()
            .flat_map(|channel| self.registered(channel))
            .map(|(_, name)| name)
            .collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        format!(
            "{name} is not a valid command. In Slack, all messages that start with the \"/\" character are interpreted as commands; registered: {known}"
        )
    }

    /// Why a client would not send a text as a message: it begins with a slash. A blank before it makes it one.
    pub fn commanding(&self, channel: &str, say: &Say) -> Option<String> {
        let named = say.mention && !self.names_bot(channel, &say.text);
        // Other bots write through the API, where a slash is a character like others.
        if say.bot || named || !say.text.starts_with('/') {
            return None;
        }
        let name = say.text.split_whitespace().next().unwrap_or("/");
        Some(match self.commanded(channel, name) {
            None => self.no_command(channel, name),
            Some(_) if say.thread.is_some() || say.reply_to.is_some() => {
                format!("{name} is a slash command, and not supported in threads")
            }
            Some(_) => format!("{name} is a slash command: a person sends it with 'command'"),
        })
    }
}
