//! A command, a press, a form or a question for completions: what waits three seconds for an answer.

use contract::{Address, FileRef, Heard, Kind, Message};
use serde_json::{Map, Value};

use super::{Context, address, files, made_at_ms, person, roles, text, words::list};

/// What a person did with something of ours. It has no `Debug`: that would print the token.
#[derive(Clone)]
pub struct Interaction {
    pub id: String,
    pub application: String,
    /// Whoever has it answers in our name for a quarter of an hour.
    pub token: String,
    pub what: What,
    /// The files that its options name, each beside the id that stands as the option's value.
    pub files: Vec<(String, FileRef)>,
    /// The message on which a button stands.
    pub message: Option<String>,
}

/// What was done.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// A command; its sub-commands follow its name.
    Command {
        path: Vec<String>,
        options: Vec<Opt>,
    },
    /// The same, half typed: what could stand in the focused option?
    Complete {
        path: Vec<String>,
        options: Vec<Opt>,
    },
    Press {
        data: String,
    },
    Form {
        id: String,
        fields: Vec<(String, String)>,
    },
    /// Anything else; it is answered all the same.
    Other,
}

/// An option of a command, its value typed as the platform had it typed.
#[derive(Debug, Clone, PartialEq)]
pub struct Opt {
    pub name: String,
    pub value: Value,
    /// The platform's number of its type.
    pub kind: u64,
    /// It is being typed.
    pub focused: bool,
}

const COMMAND: u64 = 2;
const COMPONENT: u64 = 3;
const AUTOCOMPLETE: u64 = 4;
const MODAL: u64 = 5;
const SUB_COMMAND: u64 = 1;
const SUB_COMMAND_GROUP: u64 = 2;
const DEEPEST: u8 = 8;

/// The interaction in an `INTERACTION_CREATE`.
pub fn interaction(event: &Value) -> Option<Interaction> {
    let data = &event["data"];
    let what = match event["type"].as_u64() {
        Some(COMMAND) => called(data).map(|(path, options)| What::Command { path, options }),
        Some(AUTOCOMPLETE) => called(data).map(|(path, options)| What::Complete { path, options }),
        Some(COMPONENT) => text(data, "custom_id").map(|data| What::Press { data: data.to_owned() }),
        Some(MODAL) => text(data, "custom_id").map(|id| What::Form { id: id.to_owned(), fields: filled(data) }),
        _ => None,
    };
    let attachments = data["resolved"]["attachments"].as_object().into_iter().flatten();
    Some(Interaction {
        id: text(event, "id")?.to_owned(),
        application: text(event, "application_id").unwrap_or_default().to_owned(),
        token: text(event, "token").unwrap_or_default().to_owned(),
        what: what.unwrap_or(What::Other),
        files: attachments.filter_map(|(id, file)| Some((id.clone(), files::file(file)?))).collect(),
        message: text(&event["message"], "id").map(str::to_owned),
    })
}

/// The message that an interaction is to the core.
pub(crate) fn message(event: &Value, interaction: &Interaction, kind: Kind, cx: &Context<'_>) -> Option<Message> {
    let member = &event["member"];
    let user = if event["user"].is_object() { &event["user"] } else { &member["user"] };
    let address = Address { reply_to: interaction.message.clone(), ..address(event, cx)? };
    Some(Message {
        key: format!("i:{}", interaction.id),
        heard: if address.direct { Heard::Direct } else { Heard::Addressed },
        sender: person(user, member)?,
        roles: roles(event),
        kind,
        files: interaction.files.iter().map(|(_, file)| file.clone()).collect(),
        quote: None,
        from_bot: user["bot"] == true,
        locale: text(event, "locale").map(str::to_lowercase),
        at_ms: made_at_ms(&interaction.id).unwrap_or(0),
        address,
    })
}

/// Name, sub-commands and options.
fn called(data: &Value) -> Option<(Vec<String>, Vec<Opt>)> {
    let mut path = vec![text(data, "name")?.to_owned()];
    let mut level = data;
    let is_sub = |option: &&Value| matches!(option["type"].as_u64(), Some(SUB_COMMAND | SUB_COMMAND_GROUP));
    for _ in 0..DEEPEST {
        let Some(sub) = list(level, "options").find(is_sub) else { break };
        path.push(text(sub, "name").unwrap_or_default().to_owned());
        level = sub;
    }
    Some((path, list(level, "options").filter_map(opt).collect()))
}

fn opt(option: &Value) -> Option<Opt> {
    let value = option.get("value").filter(|value| !value.is_null())?.clone();
    let kind = option["type"].as_u64().unwrap_or(0);
    Some(Opt { name: text(option, "name")?.to_owned(), value, kind, focused: option["focused"] == true })
}

/// Fields of a form by their ids, in either layout of forms; those left empty are not there.
fn filled(data: &Value) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    list(data, "components").for_each(|component| collect(component, DEEPEST, &mut fields));
    fields
}

fn collect(component: &Value, depth: u8, fields: &mut Vec<(String, String)>) {
    let single = || Some(component["values"].as_array()?.first()?.as_str()?.to_owned());
    let value = text(component, "value").map(str::to_owned).or_else(single);
    if let (Some(id), Some(value)) = (text(component, "custom_id"), value.filter(|value| !value.is_empty())) {
        fields.push((id.to_owned(), value));
    }
    if depth > 0 {
        list(component, "components").for_each(|inner| collect(inner, depth - 1, fields));
        component.get("component").into_iter().for_each(|inner| collect(inner, depth - 1, fields));
    }
}

/// Options by the names that `named` gives them.
pub(crate) fn arguments(options: &[Opt], named: impl Fn(&str) -> String) -> Map<String, Value> {
    options.iter().map(|option| (named(&option.name), option.value.clone())).collect()
}
