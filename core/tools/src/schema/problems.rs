//! What is wrong with arguments, all at once: where, what was expected, what stood there, what to write instead.

use std::io;

use contract::{Problem, failure::PROBLEMS_MAX, text};
use jsonschema::{
    JsonType, ValidationError,
    error::{TypeKind, ValidationErrorKind as Kind},
};
use serde_json::Value;

use super::{Schema, bounds::escape, shape};

/// Most faults that are looked at for them.
const LOOKED_AT: usize = PROBLEMS_MAX * 4;
/// Most characters of where it is, and of what stood there.
pub(super) const PATH: usize = 120;
const GOT: usize = 80;

pub(super) fn tell(schema: &Schema, original: &Value, current: &Value, errors: &[ValidationError<'_>]) -> Vec<Problem> {
    let teller = Teller { root: &schema.source, original, current };
    let mut out = Vec::new();
    errors.iter().for_each(|error| teller.tell(error, &mut out));
    merged(out)
}

pub(super) fn too_deep(levels: usize) -> Problem {
    Problem {
        path: String::new(),
        expected: format!("at most {levels} levels of nesting"),
        got: None,
        hint: Some("send a flatter structure".into()),
    }
}

/// One problem for each place: the one that says most.
fn merged(found: Vec<(u8, Problem)>) -> Vec<Problem> {
    let mut out: Vec<(u8, Problem)> = Vec::new();
    for (weight, problem) in found {
        match out.iter_mut().find(|(_, p)| p.path == problem.path) {
            Some(slot) if slot.0 < weight => *slot = (weight, problem),
            Some(_) => {}
            None => out.push((weight, problem)),
        }
    }
    out.truncate(PROBLEMS_MAX);
    // Names of fields are the sender's, and of any length.
    out.into_iter().map(|(_, p)| Problem { path: text::one_line(&p.path, PATH), ..p }).collect()
}

struct Teller<'a> {
    root: &'a Value,
    original: &'a Value,
    current: &'a Value,
}

impl Teller<'_> {
    fn tell(&self, error: &ValidationError<'_>, out: &mut Vec<(u8, Problem)>) {
        if out.len() >= LOOKED_AT {
            return;
        }
        match error.kind() {
            Kind::Required { property } => self.missing(error, property, out),
            Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
                let told = unexpected.iter().take(LOOKED_AT);
                out.extend(told.map(|name| (5, self.unknown_field(error, name))));
            }
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => self.union(error, context, out),
            Kind::PropertyNames { error: inner } => {
                let (expected, _) = self.expected(inner);
                let name = format!("field names that are {expected}");
                out.push((3, self.problem(error, name, None)));
            }
            _ => {
                let (expected, hint) = self.expected(error);
                let weight = match error.kind() {
                    Kind::Enum { .. } | Kind::Constant { .. } => 5,
                    Kind::Type { .. } => 4,
                    _ => 3,
                };
                out.push((weight, self.problem(error, expected, hint)));
            }
        }
    }

    fn problem(&self, error: &ValidationError<'_>, expected: String, hint: Option<String>) -> Problem {
        let path = self.shown_path(error.instance_path().as_str());
        let got = self.original.pointer(path).unwrap_or_else(|| error.instance().as_ref());
        // What was read from a text as a number is wrong as a number: quotes around it would name the wrong fault.
        let read = self.current.pointer(path).filter(|read| got.is_string() && (read.is_number() || read.is_boolean()));
        let got = read.unwrap_or(got);
        Problem { path: path.trim_start_matches('/').to_owned(), expected, got: Some(preview(got)), hint }
    }

    /// The place as the sender knows it: what coercion wrapped into a list of one has no index there.
    fn shown_path<'p>(&self, path: &'p str) -> &'p str {
        let mut shown = path;
        while self.original.pointer(shown).is_none() {
            let Some((parent, _)) = shown.rsplit_once('/') else { return path };
            shown = parent;
        }
        let held_json = self
            .original
            .pointer(shown)
            .and_then(Value::as_str)
            .is_some_and(|t| t.trim_start().starts_with(['[', '{']));
        if held_json { path } else { shown }
    }

    /// The subschema whose keyword was violated.
    fn schema_of(&self, error: &ValidationError<'_>) -> &Value {
        let path = error.schema_path().as_str();
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        self.root.pointer(parent).unwrap_or(&Value::Null)
    }

    fn missing(&self, error: &ValidationError<'_>, property: &Value, out: &mut Vec<(u8, Problem)>) {
        let name = property.as_str().unwrap_or_default();
        let schema = self.schema_of(error).get("properties").and_then(|p| p.get(name)).unwrap_or(&Value::Null);
        let path = format!("{}/{}", error.instance_path().as_str(), escape(name));
        let problem = Problem {
            path: path.trim_start_matches('/').to_owned(),
            expected: self.wanted(schema),
            got: None,
            hint: self.advice(schema),
        };
        out.push((5, problem));
    }

    fn unknown_field(&self, error: &ValidationError<'_>, name: &str) -> Problem {
        let known: Vec<&str> = self
            .schema_of(error)
            .get("properties")
            .and_then(Value::as_object)
            .map(|map| map.keys().map(String::as_str).collect())
            .unwrap_or_default();
        let hint = match text::nearest(name, known.iter().copied()) {
            Some(near) => Some(format!("did you mean '{near}'?")),
            None if known.is_empty() => None,
            None => Some(format!("known: {}", listed(known.iter().map(|k| (*k).to_owned()), ", "))),
        };
        let at = format!("{}/{}", error.instance_path().as_str(), escape(name));
        let got = self.original.pointer(&at).or_else(|| self.current.pointer(&at)).map(preview);
        let path = at.trim_start_matches('/').to_owned();
        Problem { path, expected: "no such field".into(), got, hint }
    }

    /// Of a union that nothing fits: the kinds when the kind is wrong, else what the nearest branch lacks.
    fn union(
        &self,
        error: &ValidationError<'_>,
        context: &[Vec<ValidationError<'static>>],
        out: &mut Vec<(u8, Problem)>,
    ) {
        let at = error.instance_path().as_str();
        let nearest = context.iter().enumerate().min_by_key(|(_, errors)| distance(at, errors));
        let Some((n, errors)) = nearest else { return };
        if errors.iter().any(|e| is_other_kind(at, e)) {
            let mut wanted: Vec<String> = Vec::new();
            for (expected, _) in
                context.iter().flatten().filter(|e| e.instance_path().as_str() == at).map(|e| self.expected(e))
            {
                if !wanted.contains(&expected) {
                    wanted.push(expected);
                }
            }
            out.push((5, self.problem(error, listed(wanted.into_iter(), " or "), None)));
            return;
        }
        let mut inner = Vec::new();
        errors.iter().take(LOOKED_AT).for_each(|e| self.tell(e, &mut inner));
        let form = self.form(error, n);
        let others: Vec<String> = (0..context.len()).filter(|i| *i != n).map(|i| self.form(error, i)).collect();
        let note = format!("for the form {form}; other forms: {}", listed(others.into_iter(), ", "));
        for (weight, mut problem) in inner {
            problem.hint = Some(match problem.hint {
                Some(hint) => format!("{hint}; {note}"),
                None => note.clone(),
            });
            out.push((weight, problem));
        }
    }

    /// The name of a branch: its title, the constant that tells it apart, what it refers to, or its number.
    fn form(&self, error: &ValidationError<'_>, n: usize) -> String {
        let pointer = format!("{}/{n}", error.schema_path().as_str());
        let branch = self.root.pointer(&pointer).unwrap_or(&Value::Null);
        let schema = shape::resolve(self.root, branch);
        if let Some(title) = schema.get("title").and_then(Value::as_str) {
            return format!("'{}'", text::one_line(title, 40));
        }
        let constant = schema.get("properties").and_then(Value::as_object).and_then(|map| {
            map.iter().find_map(|(name, s)| Some(format!("{name}={}", text::cut(&shape::plain(constant(s)?), 40))))
        });
        let reference = branch.get("$ref").and_then(Value::as_str).and_then(|r| r.rsplit('/').next());
        constant.or_else(|| reference.map(|r| format!("'{r}'"))).unwrap_or_else(|| format!("{}", n + 1))
    }

    /// What the keyword asks for, and how to write it.
    fn expected(&self, error: &ValidationError<'_>) -> (String, Option<String>) {
        let schema = self.schema_of(error);
        let text = match error.kind() {
            Kind::Type { kind } => return (types(kind), self.type_hint(kind, error.instance(), schema)),
            Kind::Enum { options } => return choice(options, error.instance()),
            Kind::Constant { expected_value } => format!("exactly {}", preview(expected_value)),
            Kind::Minimum { limit } => format!("at least {limit}"),
            Kind::Maximum { limit } => format!("at most {limit}"),
            Kind::ExclusiveMinimum { limit } => format!("more than {limit}"),
            Kind::ExclusiveMaximum { limit } => format!("less than {limit}"),
            Kind::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
            Kind::MinLength { limit } => format!("at least {}", counted(*limit, "character")),
            Kind::MaxLength { limit } => format!("at most {}", counted(*limit, "character")),
            Kind::MinItems { limit } => format!("at least {}", counted(*limit, "item")),
            Kind::MaxItems { limit } => format!("at most {}", counted(*limit, "item")),
            Kind::AdditionalItems { limit } => format!("at most {limit} items"),
            Kind::MinProperties { limit } => format!("at least {}", counted(*limit, "field")),
            Kind::MaxProperties { limit } => format!("at most {}", counted(*limit, "field")),
            Kind::UniqueItems => "no item twice".into(),
            Kind::Contains => "a list with at least one item of the declared form".into(),
            Kind::Pattern { pattern } => format!("text of the form {}", text::cut(pattern, 80)),
            Kind::Format { format } => return (format_words(format), example(schema)),
            Kind::ContentEncoding { content_encoding } => format!("text encoded as {content_encoding}"),
            Kind::ContentMediaType { content_media_type } => format!("text that holds {content_media_type}"),
            Kind::FalseSchema => "nothing here".into(),
            Kind::OneOfMultipleValid { .. } => "exactly one of the allowed forms; this fits several".into(),
            Kind::Not { .. } => "something else: this form is excluded".into(),
            Kind::UnevaluatedItems { .. } => "no further items".into(),
            Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => "one of the allowed forms".into(),
            Kind::Required { property } => format!("a field '{}'", shape::plain(property)),
            Kind::AdditionalProperties { .. } | Kind::UnevaluatedProperties { .. } => "no further fields".into(),
            Kind::PropertyNames { .. } => "other field names".into(),
            Kind::FromUtf8 { .. } => "text in UTF-8".into(),
            Kind::Custom { message, .. } => text::one_line(message, 120),
            Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } | Kind::Referencing(_) => {
                "a value that can be checked".into()
            }
        };
        (text, example(schema))
    }

    fn wanted(&self, schema: &Value) -> String {
        let schema = shape::resolve(self.root, schema);
        if let Some(options) = schema.get("enum") {
            return choice(options, &Value::Null).0;
        }
        let kinds: Vec<String> = shape::kinds(self.root, schema, 4).iter().map(|k| k.as_str().to_owned()).collect();
        match (kinds.is_empty(), schema.get("format").and_then(Value::as_str)) {
            (_, Some(format)) => format_words(format),
            (true, None) => "a value".into(),
            (false, None) => listed(kinds.into_iter(), " or "),
        }
    }

    fn advice(&self, schema: &Value) -> Option<String> {
        let schema = shape::resolve(self.root, schema);
        example(schema).or_else(|| Some(text::one_line(schema.get("description")?.as_str()?, 120)))
    }

    fn type_hint(&self, kind: &TypeKind, got: &Value, schema: &Value) -> Option<String> {
        let wants = |t: JsonType| match kind {
            TypeKind::Single(one) => *one == t,
            TypeKind::Multiple(set) => set.contains(t),
        };
        let numeric = wants(JsonType::Integer) || wants(JsonType::Number);
        let hint = match got {
            Value::String(text) if wants(JsonType::Array) && text.trim_start().starts_with('[') => {
                "not readable as a JSON list: check its brackets and commas"
            }
            Value::String(text) if wants(JsonType::Object) && text.trim_start().starts_with('{') => {
                "not readable as a JSON object: check its braces and quotes"
            }
            Value::String(text) if numeric && is_long_integer(text) => "too many digits to be kept exactly",
            _ if example(schema).is_some() => return example(schema),
            Value::Number(_) | Value::Bool(_) if wants(JsonType::String) => "put it in quotes",
            _ if wants(JsonType::Integer) => "a whole number in digits, like 3",
            _ if wants(JsonType::Number) => "a number with a point, like 2.5",
            _ if wants(JsonType::Boolean) => "true or false",
            _ => return None,
        };
        Some(hint.into())
    }
}

fn is_long_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.len() > 18 && digits.bytes().all(|b| b.is_ascii_digit())
}

fn constant(schema: &Value) -> Option<&Value> {
    let single = schema.get("enum").and_then(Value::as_array).filter(|v| v.len() == 1).and_then(|v| v.first());
    schema.get("const").or(single)
}

/// Whether the branch wants another kind of value altogether.
fn is_other_kind(at: &str, error: &ValidationError<'_>) -> bool {
    error.instance_path().as_str() == at
        && matches!(error.kind(), Kind::Type { .. } | Kind::Enum { .. } | Kind::Constant { .. } | Kind::FalseSchema)
}

/// How far a branch is from fitting: another kind counts most, then a discriminating constant, then each fault.
fn distance(at: &str, errors: &[ValidationError<'_>]) -> usize {
    let weigh = |error: &ValidationError<'_>| match error.kind() {
        _ if is_other_kind(at, error) => 1_000,
        Kind::Constant { .. } => 100,
        Kind::Enum { options } if options.as_array().is_some_and(|o| o.len() == 1) => 100,
        Kind::AdditionalProperties { unexpected } => unexpected.len() * 2,
        _ => 1,
    };
    errors.iter().map(weigh).sum()
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => one.to_string(),
        TypeKind::Multiple(set) => listed(set.iter().map(|t| t.to_string()), " or "),
    }
}

fn choice(options: &Value, got: &Value) -> (String, Option<String>) {
    let words: Vec<String> = options.as_array().into_iter().flatten().map(shape::plain).collect();
    let near = got.as_str().and_then(|got| near_choice(got, &words));
    let hint = near.map(|near| match got.as_str() == Some(near) {
        // The text of a number: without a declared type nothing is converted.
        true => format!("write {near} without quotes"),
        false => format!("did you mean '{near}'?"),
    });
    (format!("one of {}", listed(words.iter().map(|w| text::cut(w, 40)), ", ")), hint)
}

/// The nearest of a closed set: more lenient than for names, since nothing else can be meant.
fn near_choice<'w>(got: &str, words: &'w [String]) -> Option<&'w str> {
    let got = got.trim().to_lowercase();
    let limit = (got.chars().count() / 2).clamp(1, 4);
    let measured = words.iter().map(|w| (text::distance(&got, &w.to_lowercase()), w.as_str()));
    measured.filter(|(d, _)| *d <= limit).min_by_key(|(d, _)| *d).map(|(_, w)| w)
}

fn listed(words: impl Iterator<Item = String>, separator: &str) -> String {
    let words: Vec<String> = words.take(13).collect();
    let mut out = words.iter().take(12).map(String::as_str).collect::<Vec<_>>().join(separator);
    if words.len() > 12 {
        out.push_str(separator);
        out.push('…');
    }
    out
}

fn counted(n: u64, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

fn format_words(format: &str) -> String {
    match format {
        "date" => "a date like 2026-01-31".into(),
        "date-time" => "a time like 2026-01-31T09:30:00Z".into(),
        "time" => "a time of day like 09:30:00Z".into(),
        "duration" => "a duration like PT1H30M".into(),
        "email" => "an e-mail address".into(),
        "uri" => "a full address like https://example.org/page".into(),
        "uuid" => "a UUID like 123e4567-e89b-12d3-a456-426614174000".into(),
        "ipv4" => "an address like 192.0.2.1".into(),
        "ipv6" => "an address like 2001:db8::1".into(),
        other => format!("text of the format '{other}'"),
    }
}

/// The schema's own example or default.
fn example(schema: &Value) -> Option<String> {
    let given = schema.get("examples").and_then(Value::as_array).and_then(|e| e.first());
    let value = given.or_else(|| schema.get("example")).or_else(|| schema.get("default"))?;
    Some(format!("for example {}", preview(value)))
}

/// A value as JSON, at most 80 characters, whatever its size.
pub(super) fn preview(value: &Value) -> String {
    let mut head = Head(Vec::new());
    let _ = serde_json::to_writer(&mut head, value);
    text::one_line(&String::from_utf8_lossy(&head.0), GOT)
}

/// Takes the first bytes and then refuses, so that a large value is not written in full.
struct Head(Vec<u8>);

impl io::Write for Head {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        const MOST_BYTES: usize = 512;
        if self.0.len() >= MOST_BYTES {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let taken = bytes.len().min(MOST_BYTES - self.0.len());
        self.0.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
