//! Coercion: what validation refused is converted where the schema leaves no doubt, otherwise nothing is.
//!
//! Works in rounds: validate, convert what the errors name, validate again; a list that came as text shows the
//! errors of its items in the next round. Unions try their branches in order, all unions of a round at once, so
//! that the number of validations depends on the schema and not on the arguments.

use std::collections::{HashMap, HashSet};

use contract::{Problem, text};
use jsonschema::{
    JsonType, JsonTypeSet, ValidationError,
    error::{TypeKind, ValidationErrorKind as Kind},
};
use serde_json::{Number, Value};

use super::{Prepared, Schema, is_within, problems};
use crate::args::parse_exact;

/// Most validations for one set of arguments.
const MOST_CHECKS: usize = 48;
/// The same where recursive references make each one dear.
const MOST_CHECKS_DEAR: usize = 12;
const MOST_ROUNDS: usize = 16;
/// Most rounds within one branch of a union.
const BRANCH_ROUNDS: usize = 4;
/// Arguments with more faults than this are not coerced: nobody writes so many by mistake.
const MOST_FAULTS: usize = 5_000;
/// Most changes that are recorded one by one.
const MOST_RECORDED: usize = 50;

pub(super) fn settle(schema: &Schema, original: &Value) -> Result<Prepared, Vec<Problem>> {
    let mut run =
        Run { schema, current: original.clone(), changes: Vec::new(), changed: 0, checks: 0, too_deep: false };
    for _ in 0..MOST_ROUNDS {
        let errors = run.errors();
        if errors.is_empty() {
            return Ok(run.prepared());
        }
        if errors.len() > MOST_FAULTS {
            break;
        }
        let plan = run.plan(&errors);
        let unions = unions(&errors);
        drop(errors);
        let before = run.changed;
        run.apply(plan);
        if run.changed == before {
            run.settle_unions(unions);
        }
        if run.changed == before || run.checks > run.most_checks() {
            break;
        }
    }
    let errors = run.errors();
    if errors.is_empty() {
        return Ok(run.prepared());
    }
    match schema.deepest.filter(|_| run.too_deep) {
        Some(most) => Err(vec![problems::too_deep(most)]),
        None => Err(problems::tell(schema, original, &run.current, &errors)),
    }
}

struct Run<'s> {
    schema: &'s Schema,
    current: Value,
    changes: Vec<String>,
    changed: usize,
    checks: usize,
    /// A text held what is nested deeper than may be validated.
    too_deep: bool,
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
    /// A text that one of the branches takes as text: it is not read as anything else.
    is_text: bool,
}

impl Run<'_> {
    fn errors(&mut self) -> Vec<ValidationError<'static>> {
        self.checks += 1;
        let errors = self.schema.validator.iter_errors(&self.current);
        // A recursive schema may say the same many times.
        let mut seen = HashSet::new();
        let is_new = |e: &ValidationError<'_>| {
            seen.insert((e.instance_path().as_str().to_owned(), e.schema_path().as_str().to_owned()))
        };
        errors.filter(is_new).take(MOST_FAULTS + 1).map(ValidationError::to_owned).collect()
    }

    fn most_checks(&self) -> usize {
        if self.schema.deepest.is_some() { MOST_CHECKS_DEAR } else { MOST_CHECKS }
    }

    fn prepared(mut self) -> Prepared {
        if self.changed > self.changes.len() {
            self.changes.push(format!("and {} more", self.changed - self.changes.len()));
        }
        Prepared { args: self.current, changes: self.changes }
    }

    fn record(&mut self, changes: impl IntoIterator<Item = String>) {
        for change in changes {
            self.changed += 1;
            if self.changes.len() < MOST_RECORDED {
                self.changes.push(change);
            }
        }
    }

    /// What the errors outside of unions ask for.
    fn plan(&mut self, errors: &[ValidationError<'_>]) -> Vec<Edit> {
        let mut planned: HashSet<&str> = HashSet::new();
        let mut plan: Vec<Edit> = Vec::new();
        let (nulls, others): (Vec<_>, Vec<_>) = errors.iter().partition(|e| is_null_field(e));
        for error in others {
            if let Some(edit) = convert(error, true)
                && planned.insert(error.instance_path().as_str())
            {
                plan.push(edit);
            }
        }
        let nulls = nulls.into_iter().map(|e| e.instance_path().as_str());
        let nulls: Vec<&str> = nulls.filter(|path| planned.insert(path)).collect();
        plan.extend(self.optional(&nulls).into_iter().map(|path| Edit { path, to: None }));
        plan
    }

    /// Those of the fields that are optional: without them nothing is said to be missing there.
    fn optional(&mut self, fields: &[&str]) -> Vec<String> {
        let is_field = |path: &&&str| {
            let parent = path.rsplit_once('/').and_then(|(parent, _)| self.current.pointer(parent));
            parent.is_some_and(Value::is_object)
        };
        let fields: Vec<&str> = fields.iter().filter(is_field).copied().collect();
        if fields.is_empty() {
            return Vec::new();
        }
        let saved = self.current.clone();
        for path in &fields {
            set(&mut self.current, path, None);
        }
        let errors = self.errors();
        self.current = saved;
        let missing: HashSet<(&str, &str)> = errors
            .iter()
            .filter_map(|e| match e.kind() {
                Kind::Required { property } => Some((e.instance_path().as_str(), property.as_str()?)),
                _ => None,
            })
            .collect();
        let is_missing = |path: &str| {
            path.rsplit_once('/').is_some_and(|(parent, name)| missing.contains(&(parent, unescape(name).as_str())))
        };
        fields.into_iter().filter(|path| !is_missing(path)).map(str::to_owned).collect()
    }

    fn apply(&mut self, plan: Vec<Edit>) {
        for edit in plan {
            let made = self.put(&edit);
            self.record(made);
        }
    }

    /// Makes a change and describes it; nothing when there is no such place, or when what a text holds is too deep.
    fn put(&mut self, edit: &Edit) -> Option<String> {
        let room = self.schema.deepest.map(|most| most.saturating_sub(edit.path.matches('/').count()));
        if let (Some(room), Some(to)) = (room, &edit.to)
            && !is_within(to, room)
        {
            self.too_deep = true;
            return None;
        }
        let before = self.current.pointer(&edit.path).cloned();
        set(&mut self.current, &edit.path, edit.to.clone()).then(|| described(edit, before.as_ref()))
    }

    /// Tries branch after branch, first without and then with lists of one, until each union fits or none is left.
    fn settle_unions(&mut self, mut open: Vec<Union>) {
        let most = open.iter().map(|u| u.branches).max().unwrap_or(0);
        for wrap in [false, true] {
            for branch in 0..most {
                if open.is_empty() || self.checks > self.most_checks() {
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
            let failed = failed_unions(&errors);
            let mut plan = Vec::new();
            for (n, union) in open.iter().enumerate() {
                let error = failed.get(&(union.path.as_str(), union.schema_path.as_str()));
                if let Some(faults) = error.and_then(|e| context(e)).and_then(|c| c.get(branch)) {
                    let edits = branch_edits(&union.path, faults, wrap);
                    let may_be = |edit: &Edit| !(union.is_text && edit.path == union.path);
                    plan.extend(edits.into_iter().filter(may_be).map(|e| (n, e)));
                }
            }
            let mut changed = false;
            for (n, edit) in plan {
                if let Some(made) = self.put(&edit) {
                    edits[n].push(made);
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        let errors = self.errors();
        let failed = failed_unions(&errors);
        let mut left = Vec::new();
        for ((union, saved), edits) in std::mem::take(open).into_iter().zip(saved).zip(edits) {
            if !failed.contains_key(&(union.path.as_str(), union.schema_path.as_str())) {
                self.record(edits);
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
            is_text: takes_text(e),
        })
    };
    errors.iter().filter_map(union).collect()
}

/// Whether the value is a text and a branch of the union takes texts, although not this one. A closed set of words
/// is no such branch.
fn takes_text(error: &ValidationError<'_>) -> bool {
    let at = error.instance_path();
    let wants_text = |branch: &Vec<ValidationError<'static>>| {
        let here = || branch.iter().filter(|e| e.instance_path() == at);
        !here().any(|e| matches!(e.kind(), Kind::Type { .. })) && here().any(|e| is_of_text(e) || takes_text(e))
    };
    error.instance().is_string() && context(error).is_some_and(|branches| branches.iter().any(wants_text))
}

/// A fault that only a text can have.
fn is_of_text(error: &ValidationError<'_>) -> bool {
    matches!(
        error.kind(),
        Kind::Pattern { .. }
            | Kind::MinLength { .. }
            | Kind::MaxLength { .. }
            | Kind::Format { .. }
            | Kind::ContentEncoding { .. }
            | Kind::ContentMediaType { .. }
    )
}

/// The unions that do not fit, by their places in the arguments and in the schema.
fn failed_unions<'e, 'a>(errors: &'e [ValidationError<'a>]) -> HashMap<(&'e str, &'e str), &'e ValidationError<'a>> {
    let is_union = |e: &&ValidationError<'_>| {
        matches!(e.kind(), Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } | Kind::OneOfMultipleValid { .. })
    };
    errors.iter().filter(is_union).map(|e| ((e.instance_path().as_str(), e.schema_path().as_str()), e)).collect()
}

fn context<'e>(error: &'e ValidationError<'_>) -> Option<&'e [Vec<ValidationError<'static>>]> {
    match error.kind() {
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => Some(context),
        _ => None,
    }
}

/// What would make the value fit this branch. Inner unions take their first branch that asks for anything.
fn branch_edits(at: &str, errors: &[ValidationError<'static>], wrap: bool) -> Vec<Edit> {
    let mut out: Vec<Edit> = Vec::new();
    for error in errors {
        let path = error.instance_path().as_str();
        if out.iter().any(|e| e.path == path) {
            continue;
        }
        if is_null_field(error) {
            // The union's own field is for the round outside to drop, which knows whether it is required.
            out.extend((path != at).then(|| Edit { path: path.to_owned(), to: None }));
        } else if let Some(inner) = context(error) {
            out.extend(
                inner.iter().map(|b| branch_edits(at, b, wrap)).find(|edits| !edits.is_empty()).unwrap_or_default(),
            );
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
fn converted(value: &Value, types: JsonTypeSet, wrap: bool) -> Option<Value> {
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

fn unescape(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

fn described(edit: &Edit, before: Option<&Value>) -> String {
    let path = match edit.path.trim_start_matches('/') {
        "" => "arguments",
        path => path,
    };
    let before = before.map_or_else(String::new, problems::preview);
    let path = text::one_line(path, problems::PATH);
    match &edit.to {
        Some(to) => format!("coerced {path}: {before} to {}", problems::preview(to)),
        None => format!("dropped {path}: {before}"),
    }
}
