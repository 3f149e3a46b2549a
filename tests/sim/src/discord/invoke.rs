//! What people do with commands, buttons and forms; whatever a client would not send is refused here.

use serde_json::{Map, Value, json};

use super::interactions::{AUTOCOMPLETE, COMMAND, COMPONENT, MODAL, Raised};
use super::options::{self, Filled};
use super::people::{Command, Outcome, Press, Refused, Said, Submit, Typed, refused};
use super::places::word;
use super::request::snowflake;
use super::transcript::{By, Entry, Kind};
use super::world::World;

impl World {
    fn spot(
        &mut self,
        conversation: &str,
        user: &str,
        thread: Option<&Value>,
        language: Option<&str>,
    ) -> Outcome<(u64, super::cast::User)> {
        let top = self.place(conversation)?;
        let user = self.person(user, language)?;
        self.admit(top, &user)?;
        let channel = match thread {
            Some(wanted) => self.thread(top, wanted, user.id)?,
            None => top,
        };
        Ok((channel, user))
    }

    /// Finds a command with its sub-commands by the words of its name.
    fn find_command(&self, channel: u64, name: &str) -> Outcome<(u64, Value, Vec<String>)> {
        let words: Vec<String> = name.trim_start_matches('/').split_whitespace().map(str::to_owned).collect();
        let Some((first, path)) = words.split_first() else { return refused(400, "name: a command is needed") };
        let found = self.offered(channel).into_iter().find(|(_, command)| command["name"] == json!(first));
        match found {
            Some((bot, command)) => Ok((bot, command, path.to_vec())),
            None => refused(404, format!("name: no bot has registered /{first} here")),
        }
    }

    pub fn command(&mut self, wanted: &Command) -> Outcome<Said> {
        let (channel, user) =
            self.spot(&wanted.conversation, &wanted.user, wanted.thread.as_ref(), wanted.language_code.as_deref())?;
        let (bot, command, path) = self.find_command(channel, &wanted.name)?;
        let filled = options::fill(self, channel, &command, &path, &wanted.args, None)?;
        let text = options::typed(&command, &path, &filled.given);
        let (id, event) = self.raise_command(COMMAND, bot, channel, user.id, &command, filled);
        let said = self.log_act(channel, &user.name, Kind::Message, text, id, event, None);
        Ok(said)
    }

    fn raise_command(
        &mut self,
        kind: u8,
        bot: u64,
        channel: u64,
        user: u64,
        command: &Value,
        filled: Filled,
    ) -> (u64, Value) {
        let name = command["name"].as_str().unwrap_or_default().to_owned();
        let mut data = json!({"id": command["id"], "name": name, "type": 1});
        if !filled.options.is_empty() {
            data["options"] = json!(filled.options);
        }
        if !filled.resolved.is_empty() {
            data["resolved"] = Value::Object(filled.resolved);
        }
        if let Some(guild) = command.get("guild_id") {
            data["guild_id"] = guild.clone();
        }
        self.raise(Raised { kind, bot, channel, user, name, data, source: None, opener: None })
    }

    /// Starts a completion; gives its interaction.
    pub fn complete(&mut self, typed: &Typed) -> Outcome<u64> {
        let (channel, user) = self.spot(&typed.conversation, &typed.user, typed.thread.as_ref(), None)?;
        let (bot, command, path) = self.find_command(channel, &typed.name)?;
        let mut args = typed.args.as_object().cloned().unwrap_or_default();
        args.insert(typed.field.clone(), typed.typed.clone());
        let filled = options::fill(self, channel, &command, &path, &Value::Object(args), Some(&typed.field))?;
        Ok(self.raise_command(AUTOCOMPLETE, bot, channel, user.id, &command, filled).0)
    }

    /// Writes down what a person did.
    #[allow(clippy::too_many_arguments)] // each is another part of the entry
    fn log_act(
        &mut self,
        channel: u64,
        user: &str,
        kind: Kind,
        text: String,
        id: u64,
        event: Value,
        message: Option<u64>,
    ) -> Said {
        let conversation = self.channels.get(&channel).map(|channel| channel.conversation.clone()).unwrap_or_default();
        let mut entry = Entry::new(&conversation, channel.to_string(), By::User, kind);
        entry.user = Some(user.to_owned());
        entry.thread = self.thread_name(channel);
        entry.text = text;
        entry.message = message.map(|id| id.to_string());
        entry.interaction = Some(id.to_string());
        entry.payload = event;
        self.log(entry);
        Said { message: None, chat: channel.to_string(), interaction: Some(id.to_string()) }
    }

    pub fn press(&mut self, press: &Press) -> Outcome<Said> {
        let (top, user) = self.spot(&press.conversation, &press.user, None, press.language_code.as_deref())?;
        let (channel, id) = self.locate(top, &press.message)?;
        let Some(message) = self.channels.get(&channel).and_then(|channel| channel.messages.get(&id)) else {
            return refused(404, "message: no such message");
        };
        if message.to.is_some_and(|to| to != user.id) {
            return refused(404, "message: somebody else alone sees it");
        }
        let Some(bot) = message.bot else { return refused(400, "message: not one of a bot") };
        let all = super::show::buttons(message.body.get("components").unwrap_or(&Value::Null));
        let by_id = all.iter().find(|button| button.id == press.button && !button.id.is_empty());
        let Some(button) = by_id.or_else(|| all.iter().find(|button| button.text == press.button)).cloned() else {
            return refused(404, format!("button: the message has no button '{}'", press.button));
        };
        if button.url.is_some() {
            return refused(400, "button: it opens a link, nobody is told");
        }
        if button.disabled {
            return refused(400, "button: it is disabled");
        }
        let part = find_part(message.body.get("components").unwrap_or(&Value::Null), &button.id).unwrap_or_default();
        let mut data = json!({"custom_id": button.id, "component_type": part["type"], "id": part["id"]});
        if button.style == "select" {
            if let Some(unknown) = press
                .values
                .iter()
                .find(|value| !button.options.is_empty() && !button.options.iter().any(|one| one.value == **value))
            {
                return refused(400, format!("values: the menu does not offer '{unknown}'"));
            }
            data["values"] = json!(press.values);
        }
        let raised = Raised {
            kind: COMPONENT,
            bot,
            channel,
            user: user.id,
            name: button.id,
            data,
            source: Some(id),
            opener: None,
        };
        let (interaction, event) = self.raise(raised);
        Ok(self.log_act(channel, &user.name, Kind::Private, button.text, interaction, event, Some(id)))
    }

    /// Sends off the form that an interaction was answered with.
    pub fn submit(&mut self, submit: &Submit) -> Outcome<Said> {
        let (top, user) = self.spot(&submit.conversation, &submit.user, None, None)?;
        let wanted = submit.interaction.as_ref().and_then(snowflake);
        let within = |channel: u64| self.channels.get(&channel).is_some_and(|channel| channel.root() == top);
        let open = self
            .interactions
            .values()
            .rev()
            .filter(|one| one.modal.is_some() && one.user == user.id && within(one.channel));
        let mut open = open.filter(|one| wanted.is_none_or(|id| one.id == id));
        let Some(one) = open.next().cloned() else { return refused(404, "interaction: no form is open for it") };
        let modal = one.modal.clone().unwrap_or_default();
        let components = fill_form(&modal, &submit.values)?;
        if let Some(known) = self.interactions.get_mut(&one.id) {
            known.modal = None;
        }
        let data = json!({"custom_id": modal["custom_id"], "components": components});
        let title = modal["title"].as_str().unwrap_or_default();
        let values = submit.values.iter().map(|(field, value)| format!("{field}: {}", word(value)));
        let text = std::iter::once(title.to_owned()).chain(values).collect::<Vec<_>>().join("\n");
        let raised = Raised {
            kind: MODAL,
            bot: one.bot,
            channel: one.channel,
            user: user.id,
            name: one.name,
            data,
            source: one.source,
            opener: Some(one.id),
        };
        let (interaction, event) = self.raise(raised);
        Ok(self.log_act(one.channel, &user.name, Kind::Modal, text, interaction, event, None))
    }
}

/// A component by its id.
fn find_part(components: &Value, id: &str) -> Option<Value> {
    for one in components.as_array().into_iter().flatten() {
        if one["custom_id"] == json!(id) {
            return Some(one.clone());
        }
        if one["accessory"]["custom_id"] == json!(id) {
            return Some(one["accessory"].clone());
        }
        if let Some(found) = find_part(&one["components"], id) {
            return Some(found);
        }
    }
    None
}

/// The fields of a form with what was filled in, as the client sends them; what it would not let pass is refused.
fn fill_form(modal: &Value, values: &std::collections::BTreeMap<String, Value>) -> Outcome<Vec<Value>> {
    let (mut out, mut used) = (Vec::new(), 0);
    for part in modal["components"].as_array().into_iter().flatten() {
        let (label, field) = match part["type"].as_u64() {
            Some(1) => (&part["components"][0]["label"], &part["components"][0]),
            Some(18) => (&part["label"], &part["component"]),
            _ => continue,
        };
        let given = [&field["custom_id"], label].into_iter().find_map(|name| values.get(name.as_str()?));
        used += usize::from(given.is_some());
        let filled = fill_field(field, label, given)?;
        let number = part["id"].clone();
        out.push(match part["type"].as_u64() {
            Some(1) => json!({"type": 1, "id": number, "components": [filled]}),
            _ => json!({"type": 18, "id": number, "component": filled}),
        });
    }
    if used < values.len() {
        return refused(400, "values: the form has no such field");
    }
    Ok(out)
}

fn fill_field(field: &Value, label: &Value, given: Option<&Value>) -> Outcome<Value> {
    let name = label.as_str().or_else(|| field["custom_id"].as_str()).unwrap_or_default();
    let bad = |why: String| Refused { status: 400, why: format!("values: '{name}' {why}") };
    let mut out = Map::new();
    out.insert("type".into(), field["type"].clone());
    out.insert("id".into(), field["id"].clone());
    out.insert("custom_id".into(), field["custom_id"].clone());
    let required = field["required"].as_bool().unwrap_or(true);
    if field["type"] != 4 {
        let chosen: Vec<String> = match given {
            Some(Value::Array(list)) => list.iter().map(word).collect(),
            Some(one) => vec![word(one)],
            None => Vec::new(),
        };
        if required && chosen.is_empty() {
            return Err(bad("is required".into()));
        }
        let offered: Vec<&Value> = field["options"].as_array().into_iter().flatten().map(|one| &one["value"]).collect();
        if let Some(unknown) = chosen.iter().find(|one| !offered.is_empty() && !offered.contains(&&json!(one))) {
            return Err(bad(format!("does not offer '{unknown}'")));
        }
        out.insert("values".into(), json!(chosen));
        return Ok(Value::Object(out));
    }
    let text = given.map(word).unwrap_or_else(|| field["value"].as_str().unwrap_or_default().to_owned());
    let length = text.chars().count() as u64;
    if required && length == 0 {
        return Err(bad("is required".into()));
    }
    let (least, most) = (field["min_length"].as_u64().unwrap_or(0), field["max_length"].as_u64().unwrap_or(4_000));
    if length > most || (length > 0 && length < least) {
        return Err(bad(format!("has {length} characters, allowed are {least} to {most}")));
    }
    out.insert("value".into(), json!(text));
    Ok(Value::Object(out))
}
