//! The parameters of a schema as a command line sees them: names, kinds, choices, and the usage line.

use serde_json::Value;

/// What a value may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl Kind {
    pub const ALL: [Self; 7] =
        [Self::Null, Self::Boolean, Self::Integer, Self::Number, Self::String, Self::Array, Self::Object];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(n) if n.is_f64() => Self::Number,
            Value::Number(_) => Self::Integer,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }
}

/// One parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Property {
    pub name: String,
    /// What it may be; empty when the schema does not say.
    pub kinds: Vec<Kind>,
    /// The values of its `enum`, as text.
    pub choices: Vec<String>,
    pub required: bool,
    pub description: Option<String>,
    pub default: Option<Value>,
    /// Names of its own properties, when it is an object.
    pub fields: Vec<String>,
}

/// References and `allOf` are followed this far.
const HOPS: usize = 8;

/// The schema itself, or what its reference leads to.
pub(super) fn resolve<'a>(root: &'a Value, mut schema: &'a Value) -> &'a Value {
    for _ in 0..HOPS {
        let target = match schema.get("$ref").and_then(Value::as_str) {
            Some("#") => Some(root),
            Some(text) => text.strip_prefix('#').and_then(|pointer| root.pointer(pointer)),
            None => None,
        };
        let Some(target) = target else { break };
        schema = target;
    }
    schema
}

/// Schemas that all hold for one value: itself and the parts of its `allOf`.
fn parts<'a>(root: &'a Value, schema: &'a Value, hops: usize) -> Vec<&'a Value> {
    let mut out = vec![schema];
    if hops == 0 {
        return out;
    }
    let resolved = resolve(root, schema);
    if !std::ptr::eq(resolved, schema) {
        out.extend(parts(root, resolved, hops - 1));
    }
    for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        out.extend(parts(root, part, hops - 1));
    }
    out
}

pub(super) fn properties(root: &Value) -> Vec<Property> {
    let parts = parts(root, root, HOPS);
    let required: Vec<&str> =
        parts.iter().filter_map(|p| p.get("required")?.as_array()).flatten().filter_map(Value::as_str).collect();
    let mut all: Vec<Property> = Vec::new();
    for (name, schema) in parts.iter().filter_map(|p| p.get("properties")?.as_object()).flatten() {
        if !all.iter().any(|p| p.name == *name) {
            all.push(property(root, name, schema, required.contains(&name.as_str())));
        }
    }
    for name in &required {
        if !all.iter().any(|p| p.name == *name) {
            all.push(property(root, name, &Value::Null, true));
        }
    }
    all.sort_by_key(|p| required.iter().position(|r| *r == p.name).unwrap_or(usize::MAX));
    all
}

fn property(root: &Value, name: &str, schema: &Value, required: bool) -> Property {
    let parts = parts(root, schema, HOPS);
    let find = |key: &str| parts.iter().find_map(|p| p.get(key));
    let choices = find("enum").and_then(Value::as_array).map(|v| v.iter().map(plain).collect()).unwrap_or_default();
    let fields = find("properties").and_then(Value::as_object).map(|m| m.keys().cloned().collect());
    Property {
        name: name.to_owned(),
        kinds: kinds(root, schema, HOPS),
        choices,
        required,
        description: find("description").and_then(Value::as_str).map(str::to_owned),
        default: find("default").cloned(),
        fields: fields.unwrap_or_default(),
    }
}

/// What a value may be by `type`, `const`, `enum`, or the branches of a union; empty when nothing says.
pub(super) fn kinds(root: &Value, schema: &Value, hops: usize) -> Vec<Kind> {
    let mut out: Vec<Kind> = Vec::new();
    for part in parts(root, schema, hops) {
        let named = match part.get("type") {
            Some(Value::String(name)) => vec![name.as_str()],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        out.extend(Kind::ALL.into_iter().filter(|k| named.contains(&k.as_str())));
        if named.is_empty() {
            out.extend(part.get("const").map(Kind::of));
            out.extend(part.get("enum").and_then(Value::as_array).into_iter().flatten().map(Kind::of));
        }
        if hops > 0 {
            for branch in ["anyOf", "oneOf"].iter().filter_map(|k| part.get(k)?.as_array()).flatten() {
                out.extend(kinds(root, branch, hops - 1));
            }
        }
    }
    out.sort_by_key(|k| *k as u8);
    out.dedup();
    out
}

/// A value as somebody would type it.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Most choices and fields that a usage line lists.
const LISTED: usize = 6;

pub(super) fn usage(name: &str, properties: &[Property]) -> String {
    let mut out = format!("/{name}");
    for property in properties {
        let text = match (property.required, written(property)) {
            (true, None) => property.name.clone(),
            (true, Some(value)) => format!("{}={value}", property.name),
            (false, value) => format!("[{}={}]", property.name, value.unwrap_or_else(|| kind_word(property))),
        };
        out.push(' ');
        out.push_str(&text);
    }
    contract::text::one_line(&out, 500)
}

/// The values or the form, where there is more to say than a kind.
fn written(property: &Property) -> Option<String> {
    if !property.choices.is_empty() {
        return Some(listed(&property.choices, "|"));
    }
    (!property.fields.is_empty()).then(|| format!("{{{}}}", listed(&property.fields, ",")))
}

fn kind_word(property: &Property) -> String {
    match property.kinds.iter().find(|k| **k != Kind::Null) {
        Some(Kind::Boolean) => "true|false".into(),
        Some(Kind::Integer) => "integer".into(),
        Some(Kind::Number) => "number".into(),
        Some(Kind::Array) => "[…]".into(),
        Some(Kind::Object) => "{…}".into(),
        Some(Kind::String | Kind::Null) | None => "text".into(),
    }
}

fn listed(words: &[String], separator: &str) -> String {
    let mut out = words.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join(separator);
    if words.len() > LISTED {
        out.push_str(separator);
        out.push('…');
    }
    out
}
