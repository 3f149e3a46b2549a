//! A tool's JSON Schema, compiled once: validates, coerces what people and models write, says what is wrong and how
//! the tool is called.

use std::fmt;

use contract::Problem;
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

mod bounds;
mod coerce;
mod contradict;
mod lint;
mod problems;
mod shape;

pub use contradict::{Contradiction, contradictions};
pub use shape::{Kind, Property};

/// Arguments that fit the schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    pub args: Value,
    /// What coercion changed, for the call's node: `coerced days: "3" to 3`.
    pub changes: Vec<String>,
}

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaError {
    /// Where: a JSON pointer into the schema; empty for the whole.
    pub path: String,
    pub message: String,
}

impl SchemaError {
    fn new(path: &str, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), message: message.into() }
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => write!(f, "the schema is not usable: {}", self.message),
            path => write!(f, "the schema is not usable at '{path}': {}", self.message),
        }
    }
}

impl std::error::Error for SchemaError {}

/// A compiled schema.
pub struct Schema {
    source: Value,
    validator: Validator,
    /// Deepest instance that may be validated; set when recursive references multiply the work.
    deepest: Option<usize>,
    properties: Vec<Property>,
    lints: Vec<String>,
}

impl Schema {
    /// Compiles a schema of draft 2020-12 (or the draft that `$schema` names), with formats asserted, patterns in
    /// linear time, and no reference to the outside.
    pub fn compile(source: &Value) -> Result<Self, SchemaError> {
        let deepest = bounds::check(source)?;
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .with_pattern_options(PatternOptions::regex().size_limit(1 << 20))
            .build(source)
            .map_err(|error| SchemaError::new(error.instance_path().as_str(), build_message(&error)))?;
        Ok(Self {
            properties: shape::properties(source),
            lints: lint::lints(source),
            source: source.clone(),
            validator,
            deepest,
        })
    }

    /// The schema as it was written.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// What is allowed but probably not meant.
    pub fn lints(&self) -> Vec<String> {
        self.lints.clone()
    }

    pub fn is_valid(&self, value: &Value) -> bool {
        self.fits_depth(value) && self.validator.is_valid(value)
    }

    /// Makes the arguments fit where the schema says how, or says everything that is wrong with them.
    pub fn coerce_and_validate(&self, args: Value) -> Result<Prepared, Vec<Problem>> {
        match self.coerce(&args)? {
            None => Ok(Prepared { args, changes: Vec::new() }),
            Some(prepared) => Ok(prepared),
        }
    }

    /// The same without touching the input; nothing when it is valid as it is.
    pub fn coerce(&self, args: &Value) -> Result<Option<Prepared>, Vec<Problem>> {
        if let Some(inner) = self.wrapped(args) {
            let unwrapped = self.coerce_here(&inner);
            if unwrapped.is_err() && self.is_valid(args) {
                return Ok(None);
            }
            let mut prepared = unwrapped?.unwrap_or(Prepared { args: inner, changes: Vec::new() });
            prepared.changes.insert(0, "unwrapped 'arguments'".into());
            return Ok(Some(prepared));
        }
        self.coerce_here(args)
    }

    fn coerce_here(&self, args: &Value) -> Result<Option<Prepared>, Vec<Problem>> {
        if self.is_valid(args) {
            return Ok(None);
        }
        if !self.fits_depth(args) {
            return Err(vec![problems::too_deep(self.deepest.unwrap_or(crate::args::MAX_DEPTH))]);
        }
        coerce::settle(self, args).map(Some)
    }

    /// What `{"arguments": …}` holds, when the tool has no parameter of that name.
    fn wrapped(&self, args: &Value) -> Option<Value> {
        let map = args.as_object().filter(|map| map.len() == 1)?;
        let inner = map.get("arguments").filter(|_| !self.properties.iter().any(|p| p.name == "arguments"))?;
        match inner {
            Value::Object(_) => Some(inner.clone()),
            Value::String(text) => crate::args::parse_exact(text).ok().filter(Value::is_object),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
        }
    }

    fn fits_depth(&self, value: &Value) -> bool {
        self.deepest.is_none_or(|most| is_within(value, most))
    }

    /// The parameters: the required ones in their listed order, then the others as written.
    pub fn properties(&self) -> &[Property] {
        &self.properties
    }

    /// Names of required parameters, in their listed order.
    pub fn required_in_order(&self) -> Vec<&str> {
        self.properties.iter().filter(|p| p.required).map(|p| p.name.as_str()).collect()
    }

    /// Whether a value of this parameter is text whatever it looks like: declared so, or not declared at all.
    pub fn string_only(&self, name: &str) -> bool {
        self.properties.iter().find(|p| p.name == name).is_none_or(|p| p.kinds.iter().all(|k| *k == Kind::String))
    }

    /// How the tool is called: `/order_query order_id [status=pending|paid] [date_range={start,end}]`.
    pub fn usage(&self, name: &str) -> String {
        shape::usage(name, &self.properties)
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").field("source", &self.source).finish_non_exhaustive()
    }
}

fn is_within(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|v| is_within(v, levels - 1)),
        Value::Object(map) => levels > 0 && map.values().all(|v| is_within(v, levels - 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

fn build_message(error: &jsonschema::ValidationError<'_>) -> String {
    let text = error.to_string();
    if text.contains("Unknown meta-schema") || text.contains("nknown specification") {
        return "'$schema' names a draft that is not known: leave it out for 2020-12".into();
    }
    contract::text::one_line(&text, 300)
}

#[cfg(test)]
mod tests;
