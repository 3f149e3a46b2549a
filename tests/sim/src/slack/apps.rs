//! Apps: how they are declared, and whose a token is.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::cast::{App, ChannelKind, Hooks, Install, User, id};
use super::error::ApiError;
use super::outbox::Outbox;
use super::scopes;
use super::world::World;

/// An app as a test declares it; one that exists already is changed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewApp {
    pub name: String,
    /// One token per workspace, in their order; a single one for an app that is installed for the whole organisation.
    pub bot_tokens: Vec<String>,
    pub app_token: Option<String>,
    pub signing_secret: Option<String>,
    /// Names of workspaces; without any, the first.
    pub teams: Vec<String>,
    /// The organisation's id; the app is installed for all of it.
    pub enterprise: Option<String>,
    /// What it may; without a list, what apps like ours usually may.
    pub scopes: Option<Vec<String>>,
    /// Slash commands that it registered; without a list, none.
    pub commands: Option<Vec<String>>,
}

/// What kind of token a request came with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    Bot,
    App,
}

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    pub app: usize,
    pub install: usize,
    pub kind: TokenKind,
}

impl World {
    pub fn add_app(&mut self, new: NewApp) -> usize {
        let at = self.apps.iter().position(|app| app.name == new.name).unwrap_or_else(|| {
            self.apps.push(App {
                id: id("A", &new.name),
                name: new.name.clone(),
                installs: Vec::new(),
                org_wide: false,
                app_token: None,
                signing_secret: id("s", &new.name).to_lowercase(),
                hooks: None,
                scopes: scopes::usual(),
                // The first app is the one that tests know nothing of.
                commands: (!self.apps.is_empty()).then(BTreeSet::new),
                outbox: Outbox::default(),
                sockets: Vec::new(),
                began: false,
                homes: BTreeMap::new(),
                events: (0, 0),
            });
            self.apps.len() - 1
        });
        let teams: Vec<usize> = new.teams.iter().map(|name| self.team(name, new.enterprise.clone())).collect();
        let teams = if teams.is_empty() && self.apps[at].installs.is_empty() { vec![0] } else { teams };
        for (number, team) in teams.into_iter().enumerate() {
            let token = new.bot_tokens.get(number).or(new.bot_tokens.last().filter(|_| new.enterprise.is_some()));
            self.install(at, team, token.cloned());
        }
        if let (Some(token), Some(install)) = (new.bot_tokens.first(), self.apps[at].installs.first_mut()) {
            install.token = Some(token.clone());
        }
        let app = &mut self.apps[at];
        app.org_wide |= new.enterprise.is_some();
        app.app_token = new.app_token.or(app.app_token.take());
        if let Some(secret) = new.signing_secret {
            app.signing_secret = secret;
        }
        if let Some(scopes) = new.scopes {
            app.scopes = BTreeSet::from_iter(scopes);
        }
        app.commands = new.commands.map(BTreeSet::from_iter).or(app.commands.take());
        at
    }

    /// Puts an app's bot into a workspace and into all its conversations.
    fn install(&mut self, at: usize, team: usize, token: Option<String>) {
        if let Some(install) = self.apps[at].installs.iter_mut().find(|install| install.team == team) {
            install.token = token.or(install.token.take());
            return;
        }
        let name = self.apps[at].name.clone();
        let first = self.apps[at].installs.is_empty();
        let person = if first { name.clone() } else { format!("{name}.{}", self.teams[team].name) };
        let (bot_user, bot) = (id("U", &format!("bot {person}")), id("B", &person));
        let user = User {
            id: bot_user.clone(),
            name: person.clone(),
            locale: None,
            bot: Some(bot.clone()),
            team: self.teams[team].id.clone(),
            deleted: false,
        };
        self.users.insert(person, user);
        for channel in
            self.channels.values_mut().filter(|channel| channel.team == team && channel.kind != ChannelKind::Im)
        {
            channel.members.insert(bot_user.clone());
        }
        self.apps[at].installs.push(Install { team, token, bot_user, bot });
    }

    /// Sets where an app's events, commands and presses are posted.
    pub fn set_hooks(&mut self, at: usize, hooks: Option<Hooks>, secret: Option<String>) {
        let app = &mut self.apps[at];
        app.began |= hooks.is_some();
        app.hooks = hooks;
        app.signing_secret = secret.unwrap_or(std::mem::take(&mut app.signing_secret));
    }

    /// Whose a token is. Every well-formed one that nobody declared belongs to the first app.
    pub fn caller(&self, token: Option<&str>) -> Result<Caller, ApiError> {
        let token = token.ok_or_else(|| ApiError::broken("not_authed"))?;
        let invalid = || ApiError::broken("invalid_auth");
        let kind = match token.split_once('-') {
            Some(("xoxb", _)) => TokenKind::Bot,
            Some(("xapp", _)) => TokenKind::App,
            Some(("xoxp" | "xoxe" | "xoxa", _)) => return Err(ApiError::broken("not_allowed_token_type")),
            _ => return Err(invalid()),
        };
        let shape =
            token.len() > 5 && token.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.'));
        if !shape || !(self.tokens.is_empty() || self.tokens.iter().any(|known| known == token)) {
            return Err(invalid());
        }
        for (at, app) in self.apps.iter().enumerate() {
            if kind == TokenKind::App && app.app_token.as_deref() == Some(token) {
                return Ok(Caller { app: at, install: 0, kind });
            }
            let install = app.installs.iter().position(|install| install.token.as_deref() == Some(token));
            if let Some(install) = install.filter(|_| kind == TokenKind::Bot) {
                return Ok(Caller { app: at, install, kind });
            }
        }
        let first = &self.apps[0];
        let taken = match kind {
            TokenKind::App => first.app_token.is_some(),
            TokenKind::Bot => first.installs[0].token.is_some(),
        };
        if taken { Err(invalid()) } else { Ok(Caller { app: 0, install: 0, kind }) }
    }

    /// The number of the app with this name; without a name, of the first.
    pub fn app_named(&self, name: Option<&str>) -> Option<usize> {
        name.map_or(Some(0), |name| self.apps.iter().position(|app| app.name == name || app.id == name))
    }
}
