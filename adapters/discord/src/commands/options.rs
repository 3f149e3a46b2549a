//! The options of a command, from the schema of a tool's parameters.

use serde_json::{Map, Value, json};

use super::{describe, legal, marked};

/// The option that takes all arguments of a tool that has more parameters than a command has options.
pub(super) const WHOLE: &str = "json";
const MOST: usize = 25;
const MOST_CHOICES: usize = 25;
const LONGEST_CHOICE: usize = 100;
const LONGEST_TEXT: u64 = 6_000;
/// A text that may be longer is better written in a form.
const LONG: u64 = 1_000;
/// Integers that Discord carries exactly.
const LARGEST: i64 = 1 << 53;

const STRING: u8 = 3;
const INTEGER: u8 = 4;
const BOOLEAN: u8 = 5;
const NUMBER: u8 = 10;
const ATTACHMENT: u8 = 11;

/// Options as they are registered, and what each stands for.
#[derive(Debug)]
pub(crate) struct Options {
    pub(super) wire: Vec<Value>,
    /// Legal name and parameter, where they differ.
    renamed: Vec<(String, String)>,
    /// One option takes everything.
    pub(super) is_whole: bool,
}

impl Options {
    pub(super) fn of(parameters: &Value) -> Self {
        let nothing = Map::new();
        let properties = parameters["properties"].as_object().unwrap_or(&nothing);
        let takes_more = !properties.is_empty() || parameters["additionalProperties"].is_object();
        if properties.len() > MOST || (properties.is_empty() && takes_more) {
            let option = json!({"name": WHOLE, "type": STRING, "description": "{…}", "required": false});
            return Self { wire: vec![option], renamed: Vec::new(), is_whole: true };
        }
        let mut wire = Vec::with_capacity(properties.len());
        let mut renamed = Vec::new();
        for (parameter, schema) in properties {
            let mut name = legal(parameter);
            let is_taken = |name: &String| wire.iter().any(|option: &Value| option["name"] == *name);
            let is_anothers = name != *parameter && properties.contains_key(&name);
            if is_anothers || is_taken(&name) {
                name = marked(&name, parameter);
            }
            let is_asked_first = is_required(parameters, parameter) && !asks_for_form(schema);
            wire.push(option(&name, schema, is_asked_first));
            if name != *parameter {
                renamed.push((name, parameter.clone()));
            }
        }
        // Discord wants those that must be filled first.
        wire.sort_by_key(|option| option["required"] != true);
        Self { wire, renamed, is_whole: false }
    }

    /// The parameter that an option stands for.
    pub(super) fn original(&self, option: &str) -> String {
        let found = self.renamed.iter().find(|(name, _)| name == option);
        found.map_or(option, |(_, parameter)| parameter).to_owned()
    }
}

pub(super) fn is_required(parameters: &Value, name: &str) -> bool {
    parameters["required"].as_array().into_iter().flatten().any(|required| required == name)
}

/// Whether what it takes is no word or two: a long text, or an object or array that is written as JSON.
pub(super) fn asks_for_form(schema: &Value) -> bool {
    match kind(schema) {
        Kind::Text => schema["enum"].is_null() && schema["maxLength"].as_u64().is_some_and(|most| most > LONG),
        Kind::Json => true,
        Kind::Integer | Kind::Number | Kind::Boolean | Kind::File => false,
    }
}

/// What can be typed for a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Integer,
    Number,
    Boolean,
    /// A file that comes with the command.
    File,
    /// Anything else.
    Json,
}

pub(super) fn kind(schema: &Value) -> Kind {
    let named = match &schema["type"] {
        Value::String(name) => Some(name.as_str()),
        // What may be absent besides is that kind.
        Value::Array(names) => match names.iter().filter(|name| *name != "null").collect::<Vec<_>>().as_slice() {
            [only] => only.as_str(),
            _ => None,
        },
        _ => None,
    };
    let all = |is: fn(&Value) -> bool| schema["enum"].as_array().is_some_and(|values| values.iter().all(is));
    match named {
        Some("string") if schema["format"] == "file" || is_binary(schema) => Kind::File,
        Some("string") => Kind::Text,
        Some("integer") => Kind::Integer,
        Some("number") => Kind::Number,
        Some("boolean") => Kind::Boolean,
        None if all(Value::is_string) => Kind::Text,
        None if all(Value::is_i64) => Kind::Integer,
        Some(_) | None => Kind::Json,
    }
}

/// Whether its text is said to be a picture or the like, which nobody types.
fn is_binary(schema: &Value) -> bool {
    let kind = schema["contentMediaType"].as_str().unwrap_or_default();
    let is_binary = ["image/", "audio/", "video/"].iter().any(|start| kind.starts_with(start))
        || ["application/octet-stream", "application/pdf", "application/zip"].contains(&kind);
    is_binary && schema["contentEncoding"].is_null()
}

fn option(name: &str, schema: &Value, required: bool) -> Value {
    let described = schema["description"].as_str().or_else(|| schema["title"].as_str()).unwrap_or_default();
    let mut option =
        json!({"name": name, "type": STRING, "description": describe(described, name), "required": required});
    match kind(schema) {
        Kind::Text => {
            let least = schema["minLength"].as_u64().filter(|least| *least > 0 && *least <= LONGEST_TEXT);
            let most = schema["maxLength"].as_u64().filter(|most| *most > 0 && *most <= LONGEST_TEXT);
            put(&mut option, "min_length", least.map(Value::from));
            put(&mut option, "max_length", most.map(Value::from));
        }
        Kind::Integer => {
            option["type"] = json!(INTEGER);
            let (least, most) = bounds(schema);
            put(&mut option, "min_value", least.map(Value::from));
            put(&mut option, "max_value", most.map(Value::from));
        }
        Kind::Number => {
            option["type"] = json!(NUMBER);
            let bound = |key: &str| schema[key].as_f64().filter(|bound| bound.abs() <= LARGEST as f64);
            put(&mut option, "min_value", bound("minimum").map(Value::from));
            put(&mut option, "max_value", bound("maximum").map(Value::from));
        }
        Kind::Boolean => option["type"] = json!(BOOLEAN),
        Kind::File => option["type"] = json!(ATTACHMENT),
        Kind::Json => {}
    }
    choose(&mut option, schema);
    option
}

/// The least and the largest integer, within what Discord takes.
fn bounds(schema: &Value) -> (Option<i64>, Option<i64>) {
    let whole = |key: &str| schema[key].as_i64().or_else(|| schema[key].as_f64().map(|bound| bound as i64));
    let least = whole("minimum").or_else(|| whole("exclusiveMinimum").map(|bound| bound.saturating_add(1)));
    let most = whole("maximum").or_else(|| whole("exclusiveMaximum").map(|bound| bound.saturating_sub(1)));
    (least.map(|bound| bound.clamp(-LARGEST, LARGEST)), most.map(|bound| bound.clamp(-LARGEST, LARGEST)))
}

/// Few values are choices, many are looked up while they are typed.
fn choose(option: &mut Value, schema: &Value) {
    let Some(values) = schema["enum"].as_array() else { return };
    let is_whole = option["type"] == STRING && values.iter().all(|value| value.as_str().is_some_and(fits))
        || option["type"] == INTEGER && values.iter().all(Value::is_i64)
        || option["type"] == NUMBER && values.iter().all(Value::is_number);
    if option["type"] == BOOLEAN || option["type"] == ATTACHMENT || values.is_empty() {
        return;
    }
    if !is_whole || values.len() > MOST_CHOICES {
        option["autocomplete"] = json!(true);
        return;
    }
    // Choices bound by themselves; both together are refused.
    let fields = option.as_object_mut().expect("an option is an object");
    ["min_value", "max_value", "min_length", "max_length"]
        .into_iter()
        .for_each(|bound| drop(fields.shift_remove(bound)));
    let choices: Vec<Value> = values.iter().map(|value| json!({"name": super::plain(value), "value": value})).collect();
    option["choices"] = json!(choices);
}

fn fits(text: &str) -> bool {
    (1..=LONGEST_CHOICE).contains(&text.chars().count())
}

/// Choices that would make a command too large are looked up while they are typed.
pub(super) fn complete_instead(option: &mut Value) {
    let fields = option.as_object_mut().expect("an option is an object");
    if fields.shift_remove("choices").is_some() {
        fields.insert("autocomplete".into(), json!(true));
    }
}

fn put(option: &mut Value, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        option[key] = value;
    }
}
