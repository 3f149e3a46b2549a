//! Coercion: what validation refused is converted where the schema leaves no doubt, otherwise nothing is.
//!
//! Works in rounds: validate, convert what the errors name, validate again; a list that came as text shows the
//! errors of its items in the next round. Unions try their branches in order, all unions of a round at once, so
//! that the number of validations depends on the schema and not on the arguments.

use contract::{Problem, text};
use jsonschema::{
    JsonType, JsonTypeSet, ValidationError,
    error::{TypeKind, ValidationErrorKind as Kind},
};
use serde_json::{Number, Value};

use super::{Prepared, Schema, problems};
use crate::args::parse_exact;

/// Most validations for one set of arguments.
const MOST_CHECKS: usize = 48;
const MOST_ROUNDS: usize = 16;
/// Most rounds within one branch of a union.
const BRANCH_ROUNDS: usize = 4;

pub(super) fn settle(schema: &Schema, original: &Value) -> Result<Prepared, Vec<Problem>> {
    let mut run = Run { schema, current: original.clone(), changes: Vec::new(), checks: 0 };
    for _ in 0..MOST_ROUNDS {
        let errors = run.errors();
        if errors.is_empty() {
            return Ok(Prepared { args: run.current, changes: run.changes });
        }
        let plan = run.plan(&errors);
        let unions = unions(&errors);
        drop(errors);
        let before = run.changes.len();
        run.apply(plan);
        if run.changes.len() == before {
            run.settle_unions(unions);
        }
        if run.changes.len() == before || run.checks > MOST_CHECKS {
            break;
        }
    }
    let errors: Vec<ValidationError<'static>> = run.errors();
    if errors.is_empty() {
        return Ok(Prepared { args: run.current, changes: run.changes });
    }
    Err(problems::tell(schema, original, &run.current, &errors))
}

struct Run<'s> {
    schema: &'s Schema,
    current: Value,
    changes: Vec<String>,
    checks: usize,
}

/// One change of the arguments.
struct Edit {
    /// A JSON pointer.
    path: String,
    /// Nothing takes the field away.
    to: Option<Value>,
}

/// A union that no branch fits.
struct Union {
    path: String,
    schema_path: String,
    branches: usize,
}

impl Run<'_> {
    fn errors(&mut self) -> Vec<ValidationError<'static>> {
        self.checks += 1;
        self.schema.validator.iter_errors(&self.current).map(ValidationError::to_owned).collect()
    }

    /// What the errors outside of unions ask for.
    fn plan(&mut self, errors: &[ValidationError<'_>]) -> Vec<Edit> {
        let mut plan: Vec<Edit> = Vec::new();
        for error in errors {
            let path = error.instance_path().as_str();
            if plan.iter().any(|e| e.path == path) {
                continue;
            }
            let edit = match is_null_field(error) {
                true if self.may_drop(path) => Some(Edit { path: path.to_owned(), to: None }),
                true => None,
                false => convert(error, true),
            };
            plan.extend(edit);
        }
        plan
    }

    /// Whether the field is optional: without it nothing is said to be missing there.
    fn may_drop(&mut self, path: &str) -> bool {
        let Some((parent, name)) = path.rsplit_once('/') else { return false };
        let name = unescape(name);
        if !self.current.pointer(parent).is_some_and(Value::is_object) {
            return false;
        }
        let saved = self.current.clone();
        set(&mut self.current, path, None);
        let errors = self.errors();
        self.current = saved;
        !errors.iter().any(|e| {
            e.instance_path().as_str() == parent
                && matches!(e.kind(), Kind::Required { property } if property.as_str() == Some(&name))
        })
    }

    fn apply(&mut self, plan: Vec<Edit>) {
        for edit in plan {
            let before = self.current.pointer(&edit.path).cloned();
            if set(&mut self.current, &edit.path, edit.to.clone()) {
                self.changes.push(described(&edit, before.as_ref()));
            }
        }
    }

    /// Tries branch after branch, first without and then with lists of one, until each union fits or none is left.
    fn settle_unions(&mut self, mut open: Vec<Union>) {
        let most = open.iter().map(|u| u.branches).max().unwrap_or(0);
        for wrap in [false, true] {
            for branch in 0..most {
                if open.is_empty() || self.checks > MOST_CHECKS {
                    return;
                }
                self.try_branch(&mut open, branch, wrap);
            }
        }
    }

    fn try_branch(&mut self, open: &mut Vec<Union>, branch: usize, wrap: bool) {
        let saved: Vec<Option<Value>> = open.iter().map(|u| self.current.pointer(&u.path).cloned()).collect();
        let mut edits: Vec<Vec<String>> = open.iter().map(|_| Vec::new()).collect();
        for _ in 0..BRANCH_ROUNDS {
            let errors = self.errors();
            let mut plan = Vec::new();
            for (n, union) in open.iter().enumerate() {
                if let Some(context) = find(&errors, union).and_then(|e| context(e)).and_then(|c| c.get(branch)) {
                    plan.extend(branch_edits(context, wrap).into_iter().map(|e| (n, e)));
                }
            }
            let mut changed = false;
            for (n, edit) in plan {
                let before = self.current.pointer(&edit.path).cloned();
                if set(&mut self.current, &edit.path, edit.to.clone()) {
                    edits[n].push(described(&edit, before.as_ref()));
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        let errors = self.errors();
        let mut left = Vec::new();
        for ((union, saved), edits) in std::mem::take(open).into_iter().zip(saved).zip(edits) {
            if find(&errors, &union).is_none() {
                self.changes.extend(edits);
            } else {
                set(&mut self.current, &union.path, saved);
                left.push(union);
            }
        }
        *open = left;
    }
}

fn is_null_field(error: &ValidationError<'_>) -> bool {
    error.instance().is_null()
        && matches!(
            error.kind(),
            Kind::Type { .. }
                | Kind::Enum { .. }
                | Kind::Constant { .. }
                | Kind::AnyOf { .. }
                | Kind::OneOfNotValid { .. }
                | Kind::FalseSchema
        )
}

fn unions(errors: &[ValidationError<'_>]) -> Vec<Union> {
    let union = |e: &ValidationError<'_>| {
        context(e).map(|branches| Union {
            path: e.instance_path().as_str().to_owned(),
            schema_path: e.schema_path().as_str().to_owned(),
            branches: branches.len(),
        })
    };
    errors.iter().filter_map(union).collect()
}

fn find<'e, 'a>(errors: &'e [ValidationError<'a>], union: &Union) -> Option<&'e ValidationError<'a>> {
    errors.iter().find(|e| {
        e.instance_path().as_str() == union.path
            && e.schema_path().as_str() == union.schema_path
            && matches!(e.kind(), Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } | Kind::OneOfMultipleValid { .. })
    })
}

pub(super) fn context<'e>(error: &'e ValidationError<'_>) -> Option<&'e [Vec<ValidationError<'static>>]> {
    match error.kind() {
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => Some(context),
        _ => None,
    }
}

/// What would make the value fit this branch. Inner unions take their first branch that asks for anything.
fn branch_edits(errors: &[ValidationError<'static>], wrap: bool) -> Vec<Edit> {
    let mut out: Vec<Edit> = Vec::new();
    for error in errors {
        let path = error.instance_path().as_str();
        if out.iter().any(|e| e.path == path) {
            continue;
        }
        if is_null_field(error) {
            out.push(Edit { path: path.to_owned(), to: None });
        } else if let Some(inner) = context(error) {
            out.extend(inner.iter().map(|b| branch_edits(b, wrap)).find(|edits| !edits.is_empty()).unwrap_or_default());
        } else {
            out.extend(convert(error, wrap));
        }
    }
    out
}

fn convert(error: &ValidationError<'_>, wrap: bool) -> Option<Edit> {
    let Kind::Type { kind } = error.kind() else { return None };
    let types = match kind {
        TypeKind::Single(one) => JsonTypeSet::from(*one),
        TypeKind::Multiple(set) => *set,
    };
    let to = converted(error.instance(), types, wrap)?;
    Some(Edit { path: error.instance_path().as_str().to_owned(), to: Some(to) })
}

/// The value as one of the declared types, when there is exactly one way to read it so.
pub(super) fn converted(value: &Value, types: JsonTypeSet, wrap: bool) -> Option<Value> {
    if let Value::String(text) = value
        && let Some(read) = from_text(text, types)
    {
        return Some(read);
    }
    let is_scalar = match value {
        Value::String(text) => !text.trim_start().starts_with('['),
        Value::Number(_) | Value::Bool(_) => true,
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    };
    (wrap && is_scalar && types.contains(JsonType::Array)).then(|| Value::Array(vec![value.clone()]))
}

fn from_text(text: &str, types: JsonTypeSet) -> Option<Value> {
    let has = |t| types.contains(t);
    if has(JsonType::Null) && text == "null" {
        return Some(Value::Null);
    }
    if has(JsonType::Boolean) {
        match text.to_ascii_lowercase().as_str() {
            "true" => return Some(Value::Bool(true)),
            "false" => return Some(Value::Bool(false)),
            _ => {}
        }
    }
    if (has(JsonType::Integer) || has(JsonType::Number))
        && let Some(number) = integer(text)
    {
        return Some(Value::Number(number));
    }
    if has(JsonType::Number)
        && let Some(number) = float(text)
    {
        return Some(Value::Number(number));
    }
    if has(JsonType::Array) || has(JsonType::Object) {
        let opens = text.trim_start().chars().next();
        if matches!(opens, Some('[') if has(JsonType::Array)) || matches!(opens, Some('{') if has(JsonType::Object)) {
            return parse_exact(text).ok();
        }
    }
    None
}

/// An integer as JSON writes it, exactly; never guessed.
fn integer(text: &str) -> Option<Number> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.is_empty();
    if !plain || (digits.len() > 1 && digits.starts_with('0')) || text == "-0" {
        return None;
    }
    text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from)).ok()
}

/// A number as JSON writes it, with a point or an exponent.
fn float(text: &str) -> Option<Number> {
    let is_json_number = text.starts_with(|c: char| c == '-' || c.is_ascii_digit())
        && text.ends_with(|c: char| c.is_ascii_digit())
        && text.contains(['.', 'e', 'E']);
    is_json_number
        .then(|| serde_json::from_str::<Number>(text).ok())?
        .filter(|n| n.as_f64().is_some_and(f64::is_finite))
}

/// Sets or takes away what the pointer names; tells whether it was there.
fn set(root: &mut Value, path: &str, to: Option<Value>) -> bool {
    match to {
        Some(value) => root.pointer_mut(path).map(|slot| *slot = value).is_some(),
        None => {
            let Some((parent, name)) = path.rsplit_once('/') else { return false };
            let map = root.pointer_mut(parent).and_then(Value::as_object_mut);
            map.is_some_and(|map| map.shift_remove(&unescape(name)).is_some())
        }
    }
}

pub(super) fn unescape(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

fn described(edit: &Edit, before: Option<&Value>) -> String {
    let path = match edit.path.trim_start_matches('/') {
        "" => "arguments",
        path => path,
    };
    let before = before.map_or_else(String::new, problems::preview);
    match &edit.to {
        Some(to) => text::cut(&format!("coerced {path}: {before} to {}", problems::preview(to)), 240),
        None => format!("dropped {path}: {before}"),
    }
}
