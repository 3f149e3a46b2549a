//! A form that asks for what a command lacks, when that is too long to be typed into an option.

use contract::text;
use serde_json::{Map, Value};
use serenity::{
    all::InputTextStyle,
    builder::{CreateActionRow, CreateInputText, CreateModal},
};

use super::{
    options::{self, Kind, WHOLE},
    plain,
};

/// The field that takes all arguments; no parameter has such a name.
pub(super) const WHOLE_FIELD: &str = "{}";
const MOST_FIELDS: usize = 5;
const LONGEST_TITLE: usize = 45;
const LONGEST_LABEL: usize = 45;
const LONGEST_HINT: usize = 100;
const LONGEST_VALUE: u64 = 4_000;
const LONGEST_ID: usize = 100;
/// As much of a reason as is kept.
const LONGEST_REASON: u16 = 500;

/// What a form asks for.
#[derive(Debug)]
pub(crate) struct Form {
    fields: Vec<Field>,
    /// What was typed already and has no field.
    pub(crate) kept: Map<String, Value>,
}

#[derive(Debug)]
struct Field {
    name: String,
    /// In place of the name, where people are not to see that.
    label: Option<String>,
    hint: String,
    is_long: bool,
    is_required: bool,
    least: u16,
    most: u16,
    value: Option<String>,
}

impl Form {
    /// Nothing when all that must be there is, or when nothing of it is long.
    pub(super) fn of(parameters: &Value, filled: &Map<String, Value>, is_whole: bool) -> Option<Self> {
        let properties = parameters["properties"].as_object()?;
        let is_missing = |name: &String| options::is_required(parameters, name) && !filled.contains_key(name);
        let is_field = |schema: &Value| options::kind(schema) != Kind::File;
        let missing: Vec<_> = properties.iter().filter(|(name, schema)| is_missing(name) && is_field(schema)).collect();
        let is_long = is_whole || missing.iter().any(|(_, schema)| options::asks_for_form(schema));
        if missing.is_empty() || !is_long {
            return None;
        }
        let is_askable = |name: &str| name.chars().count() <= LONGEST_ID;
        if missing.len() > MOST_FIELDS || !missing.iter().all(|(name, _)| is_askable(name)) {
            return Some(Self { fields: vec![Field::whole()], kept: filled.clone() });
        }
        let mut fields: Vec<Field> = missing.into_iter().map(|(name, schema)| Field::new(name, schema, true)).collect();
        let mut kept = Map::new();
        for (name, value) in filled {
            let schema = properties.get(name).filter(|s| is_field(s) && is_askable(name) && fields.len() < MOST_FIELDS);
            match schema.and_then(|schema| Field::new(name, schema, false).holding(&plain(value))) {
                Some(field) => fields.push(field),
                None => drop(kept.insert(name.clone(), value.clone())),
            }
        }
        Some(Self { fields, kept })
    }

    /// One field, for why a call is refused; the rest of the command is known.
    pub(crate) fn of_reason(kept: Map<String, Value>, label: String) -> Self {
        let field = Field {
            name: "why".to_owned(),
            label: Some(label),
            hint: String::new(),
            is_long: true,
            is_required: true,
            least: 1,
            most: LONGEST_REASON,
            value: None,
        };
        Self { fields: vec![field], kept }
    }

    /// As it is shown.
    pub(crate) fn wire(&self, id: &str, title: &str) -> Value {
        let rows = self.fields.iter().map(|field| CreateActionRow::InputText(field.input())).collect();
        serde_json::to_value(CreateModal::new(id, text::one_line(title, LONGEST_TITLE)).components(rows))
            .expect("a form is plain JSON")
    }
}

impl Field {
    fn new(name: &str, schema: &Value, is_required: bool) -> Self {
        let kind = options::kind(schema);
        let bound = |key: &str| schema[key].as_u64().filter(|_| kind == Kind::Text);
        let most = bound("maxLength").unwrap_or(LONGEST_VALUE).clamp(1, LONGEST_VALUE);
        Self {
            name: name.to_owned(),
            label: None,
            hint: text::one_line(schema["description"].as_str().unwrap_or_default(), LONGEST_HINT),
            is_long: options::asks_for_form(schema),
            is_required,
            least: u16::try_from(bound("minLength").unwrap_or(0).min(most)).unwrap_or(0),
            most: u16::try_from(most).unwrap_or(u16::MAX),
            value: None,
        }
    }

    /// All arguments as JSON.
    fn whole() -> Self {
        let most = u16::try_from(LONGEST_VALUE).unwrap_or(u16::MAX);
        Self {
            name: WHOLE_FIELD.into(),
            label: None,
            hint: "{…}".into(),
            is_long: true,
            is_required: true,
            least: 2,
            most,
            value: None,
        }
    }

    /// With a value that was typed before; nothing when it does not fit.
    fn holding(self, value: &str) -> Option<Self> {
        let units = value.encode_utf16().count();
        let fits = !value.is_empty() && (usize::from(self.least)..=usize::from(self.most)).contains(&units);
        fits.then(|| Self { value: Some(value.to_owned()), ..self })
    }

    fn label(&self) -> String {
        let name = if self.name == WHOLE_FIELD { WHOLE } else { &self.name };
        text::one_line(self.label.as_deref().unwrap_or(name), LONGEST_LABEL)
    }

    fn input(&self) -> CreateInputText {
        let style = if self.is_long { InputTextStyle::Paragraph } else { InputTextStyle::Short };
        let mut input = CreateInputText::new(style, self.label(), &self.name)
            .required(self.is_required)
            .min_length(self.least)
            .max_length(self.most);
        if !self.hint.is_empty() {
            input = input.placeholder(&self.hint);
        }
        match &self.value {
            Some(value) => input.value(value),
            None => input,
        }
    }
}
