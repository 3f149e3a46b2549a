//! Arguments of a command as the client checks and sends them: typed, in the order of the options, with what ids stand for.

use serde_json::{Map, Value, json};

use super::people::{NewFile, Outcome, Refused, refused};
use super::places::word;
use super::request::snowflake;
use super::world::World;

/// The options of an invocation, what their ids stand for, and what a person sees of them.
#[derive(Debug, Default)]
pub struct Filled {
    pub options: Vec<Value>,
    pub resolved: Map<String, Value>,
    pub given: Vec<(String, String)>,
}

/// Fills the options of a command, or of the sub-command that `path` names. With `focused` one option is still being typed.
pub fn fill(
    world: &mut World,
    channel: u64,
    command: &Value,
    path: &[String],
    args: &Value,
    focused: Option<&str>,
) -> Outcome<Filled> {
    let mut at = command;
    let mut wraps = Vec::new();
    for name in path {
        let found = at["options"].as_array().into_iter().flatten().find(|option| option["name"] == json!(name));
        let Some(option) = found.filter(|option| matches!(option["type"].as_u64(), Some(1 | 2))) else {
            return refused(404, format!("name: there is no sub-command '{name}'"));
        };
        wraps.push((name.clone(), option["type"].clone()));
        at = option;
    }
    let known = at["options"].as_array().cloned().unwrap_or_default();
    if known.iter().any(|option| matches!(option["type"].as_u64(), Some(1 | 2))) {
        return refused(400, "name: a sub-command is needed");
    }
    let args = named(args, &known)?;
    if let Some(name) = args.keys().find(|name| !known.iter().any(|option| option["name"] == json!(name))) {
        return refused(400, format!("args: the command has no option '{name}'"));
    }
    let mut filled = Filled::default();
    for option in &known {
        let name = option["name"].as_str().unwrap_or_default();
        let typing = focused == Some(name);
        match args.get(name).filter(|value| !value.is_null()) {
            Some(value) if typing => {
                if option["autocomplete"] != json!(true) {
                    return refused(400, format!("field: '{name}' is not completed"));
                }
                filled
                    .options
                    .push(json!({"name": name, "type": option["type"], "value": word(value), "focused": true}));
            }
            Some(value) => {
                let sent = convert(world, channel, option, value, &mut filled.resolved)?;
                filled.given.push((name.to_owned(), word(value)));
                filled.options.push(json!({"name": name, "type": option["type"], "value": sent}));
            }
            None if option["required"] == json!(true) && focused.is_none() => {
                return refused(400, format!("args: '{name}' is required"));
            }
            None => {}
        }
    }
    for (name, kind) in wraps.into_iter().rev() {
        let inner = std::mem::take(&mut filled.options);
        filled.options = vec![json!({"name": name, "type": kind, "options": inner})];
    }
    Ok(filled)
}

/// Arguments by name; a bare value stands for the only option.
fn named(args: &Value, known: &[Value]) -> Outcome<Map<String, Value>> {
    match args {
        Value::Null => Ok(Map::new()),
        Value::Object(args) => Ok(args.clone()),
        Value::String(text) if text.is_empty() => Ok(Map::new()),
        one => match known {
            [option] => Ok(Map::from_iter([(option["name"].as_str().unwrap_or_default().to_owned(), one.clone())])),
            _ => refused(400, "args: the options are given by name"),
        },
    }
}

/// What a command looks like in the conversation.
pub fn typed(command: &Value, path: &[String], given: &[(String, String)]) -> String {
    let name = command["name"].as_str().unwrap_or_default().to_owned();
    let words = std::iter::once(format!("/{name}")).chain(path.iter().cloned());
    let values = given.iter().map(|(name, value)| format!("{name}:{value}"));
    words.chain(values).collect::<Vec<_>>().join(" ")
}

/// A value as the client sends it for an option.
fn convert(
    world: &mut World,
    channel: u64,
    option: &Value,
    value: &Value,
    resolved: &mut Map<String, Value>,
) -> Outcome<Value> {
    let name = option["name"].as_str().unwrap_or_default().to_owned();
    let bad = |why: &str| Refused { status: 400, why: format!("args: '{name}' {why}") };
    let sent = match option["type"].as_u64() {
        Some(3) => json!(word(value)),
        Some(4) => {
            let number =
                value.as_i64().or_else(|| word(value).parse().ok()).ok_or_else(|| bad("is no whole number"))?;
            if number.unsigned_abs() > 1 << 53 {
                return Err(bad("is too large"));
            }
            json!(number)
        }
        Some(10) => {
            let number = value.as_f64().or_else(|| word(value).parse().ok()).ok_or_else(|| bad("is no number"))?;
            match value {
                Value::Number(number) => json!(number),
                _ => json!(number),
            }
        }
        Some(5) => {
            json!(value.as_bool().or_else(|| word(value).parse().ok()).ok_or_else(|| bad("is neither true nor false"))?)
        }
        Some(11) => return attachment(world, channel, value, resolved),
        _ => return mentioned(world, channel, option, value, resolved),
    };
    let choices = option["choices"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !choices.is_empty() {
        let chosen = choices.iter().find(|choice| choice["value"] == sent || choice["name"] == *value);
        return chosen.map(|choice| choice["value"].clone()).ok_or_else(|| bad("is none of the choices"));
    }
    within(option, &sent).map_err(|why| bad(&why))?;
    Ok(sent)
}

/// Whether a value is inside the bounds of its option.
fn within(option: &Value, value: &Value) -> Result<(), String> {
    if let Some(number) = value.as_f64() {
        let low = option["min_value"].as_f64().filter(|least| number < *least);
        let high = option["max_value"].as_f64().filter(|most| number > *most);
        match (low, high) {
            (Some(least), _) => return Err(format!("is below {least}")),
            (_, Some(most)) => return Err(format!("is above {most}")),
            (None, None) => {}
        }
    }
    if let Some(text) = value.as_str() {
        let length = text.chars().count() as u64;
        let (least, most) =
            (option["min_length"].as_u64().unwrap_or(0), option["max_length"].as_u64().unwrap_or(6_000));
        if length < least || length > most {
            return Err(format!("has {length} characters, allowed are {least} to {most}"));
        }
    }
    Ok(())
}

fn put(resolved: &mut Map<String, Value>, kind: &str, id: u64, value: Value) {
    let known = resolved.entry(kind).or_insert_with(|| json!({}));
    known[id.to_string()] = value;
}

fn attachment(world: &mut World, channel: u64, value: &Value, resolved: &mut Map<String, Value>) -> Outcome<Value> {
    let file: NewFile = serde_json::from_value(value.clone())
        .map_err(|_| Refused { status: 400, why: "args: a file is {name, mime?, text? or base64?}".into() })?;
    let mut shown = world.store(channel, &file)?;
    shown["ephemeral"] = json!(true);
    let id = snowflake(&shown["id"]).unwrap_or_default();
    put(resolved, "attachments", id, shown);
    Ok(json!(id.to_string()))
}

/// People, channels and roles are named; the client sends their ids and what they are.
fn mentioned(
    world: &mut World,
    channel: u64,
    option: &Value,
    value: &Value,
    resolved: &mut Map<String, Value>,
) -> Outcome<Value> {
    let text = word(value);
    let bare = text.trim_start_matches(['@', '#', '<', '&', '!']).trim_end_matches('>').to_owned();
    let kind = option["type"].as_u64().unwrap_or_default();
    let guild = world.channels.get(&channel).and_then(|channel| channel.guild);
    if matches!(kind, 8 | 9) {
        let role = guild.and_then(|id| world.guilds.get(&id)).and_then(|guild| {
            let at = guild.roles.iter().position(|role| role.name == bare || role.id.to_string() == bare)?;
            Some((guild.roles[at].id, guild.role_json(at, &guild.roles[at])))
        });
        if let Some((id, role)) = role {
            put(resolved, "roles", id, role);
            return Ok(json!(id.to_string()));
        }
    }
    if kind == 7 {
        let found = world.channels.values().find(|one| {
            one.guild == guild
                && guild.is_some()
                && (one.name == bare || one.conversation == bare || one.id.to_string() == bare)
        });
        let Some(found) = found else { return refused(400, format!("args: there is no channel '{text}'")) };
        let mut shown = json!({"id": found.id.to_string(), "name": found.name, "type": found.kind, "permissions": super::cast::EVERYBODY.to_string()});
        if let Some(parent) = found.parent {
            shown["parent_id"] = json!(parent.to_string());
            shown["thread_metadata"] = found.json()["thread_metadata"].take();
        }
        let id = found.id;
        put(resolved, "channels", id, shown);
        return Ok(json!(id.to_string()));
    }
    let by_id = bare.parse().ok().filter(|id| world.called(*id).is_some());
    let bot = world.bots.values().find(|bot| bot.name == bare).map(|bot| bot.id);
    let id = by_id.or(bot).or_else(|| world.people.get(&bare).copied()).filter(|_| kind != 8);
    let Some(id) = id else { return refused(400, format!("args: nobody is called '{text}'")) };
    put(resolved, "users", id, world.author_json(id));
    if let Some(guild) = guild.and_then(|id| world.guilds.get(&id)).filter(|guild| guild.members.contains_key(&id)) {
        let mut member = guild.member_json(id);
        member["permissions"] = json!(guild.permissions(id).to_string());
        put(resolved, "members", id, member);
    }
    Ok(json!(id.to_string()))
}
