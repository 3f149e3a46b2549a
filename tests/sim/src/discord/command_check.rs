//! The rules for commands: names, descriptions, options and how much they may weigh in all.

use std::collections::BTreeSet;

use serde_json::Value;

use super::error::Form;

const SUB: u64 = 1;
const GROUP: u64 = 2;
/// The largest whole number that every client holds exactly.
const SAFE: f64 = 9_007_199_254_740_992.0;

/// Checks a command; `path` is where it stands in the body.
pub fn command(form: &mut Form, path: &str, command: &Value) {
    let at = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    if !command.is_object() {
        return form.wrong("command_type", path, "MODEL_TYPE_CONVERT", "Only dictionaries may be used in a ModelType");
    }
    let kind = command["type"].as_u64().unwrap_or(1);
    let text = command["name"].as_str().unwrap_or_default();
    if kind != 1 {
        form.length("command_name", &at("name"), text, 1, 32);
        if !matches!(kind, 2 | 3) {
            form.choice(&at("type"), "(1, 2, 3)");
        }
        if command["description"].as_str().is_some_and(|text| !text.is_empty()) {
            form.wrong(
                "command_description",
                &at("description"),
                "APPLICATION_COMMAND_DESCRIPTION_NOT_ALLOWED",
                "Context menu commands cannot have a description",
            );
        }
        return;
    }
    name(form, &at("name"), text);
    form.length("command_description", &at("description"), command["description"].as_str().unwrap_or_default(), 1, 100);
    options(form, &at("options"), &command["options"], 0);
    if weight(command) > 8_000 {
        form.wrong("command_size", path, "APPLICATION_COMMAND_TOO_LARGE", "Command exceeds maximum size (8000)");
    }
}

fn name(form: &mut Form, path: &str, text: &str) {
    form.length("command_name", path, text, 1, 32);
    let legal = |c: char| c == '-' || c == '_' || c == '\'' || is_letter(c) || c.is_numeric();
    if !text.is_empty() && (!text.chars().all(legal) || text.to_lowercase() != text) {
        form.wrong("command_name", path, "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid");
    }
}

/// Letters of any script, and the marks of Devanagari and Thai.
fn is_letter(c: char) -> bool {
    c.is_alphabetic() || matches!(c, '\u{900}'..='\u{97f}' | '\u{e00}'..='\u{e7f}')
}

/// The characters of a command that count: names, descriptions and the values of choices.
fn weight(part: &Value) -> usize {
    let length = |value: &Value| value.as_str().map_or(0, |text| text.chars().count());
    let own = length(&part["name"]) + length(&part["description"]) + length(&part["value"]);
    let inner = ["options", "choices"].into_iter().flat_map(|field| part[field].as_array().into_iter().flatten());
    own + inner.map(weight).sum::<usize>()
}

fn options(form: &mut Form, path: &str, options: &Value, depth: u8) {
    let list = options.as_array().map(Vec::as_slice).unwrap_or_default();
    if list.len() > 25 {
        form.wrong("command_options", path, "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.");
    }
    let (mut names, mut optional) = (BTreeSet::new(), false);
    let subs = list.iter().filter(|option| matches!(option["type"].as_u64(), Some(SUB | GROUP))).count();
    if subs > 0 && subs < list.len() {
        form.wrong(
            "command_mixed",
            path,
            "APPLICATION_COMMAND_OPTIONS_TYPE_INVALID",
            "Sub-command and sub-command group option types are mutually exclusive to all other types",
        );
    }
    for (at, option) in list.iter().enumerate() {
        let path = format!("{path}.{at}");
        let text = option["name"].as_str().unwrap_or_default();
        name(form, &format!("{path}.name"), text);
        form.length(
            "option_description",
            &format!("{path}.description"),
            option["description"].as_str().unwrap_or_default(),
            1,
            100,
        );
        if !names.insert(text) {
            form.wrong(
                "option_unique",
                &format!("{path}.name"),
                "APPLICATION_COMMAND_OPTIONS_NAME_ALREADY_EXISTS",
                "Option name already exists",
            );
        }
        let required = option["required"].as_bool().unwrap_or_default();
        if required && optional {
            form.wrong(
                "required_first",
                &path,
                "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID",
                "Required options must be placed before non-required options",
            );
        }
        optional |= !required;
        match option["type"].as_u64() {
            Some(SUB) if depth < 2 => self::options(form, &format!("{path}.options"), &option["options"], 2),
            Some(GROUP) if depth == 0 => self::options(form, &format!("{path}.options"), &option["options"], 1),
            Some(kind @ 3..=11) if depth != 1 => value(form, &path, option, kind),
            _ => form.choice(&format!("{path}.type"), "(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)"),
        }
    }
}

/// Checks what an option that takes a value says about it.
fn value(form: &mut Form, path: &str, option: &Value, kind: u64) {
    let choices = option["choices"].as_array().map(Vec::as_slice).unwrap_or_default();
    if choices.len() > 25 {
        form.wrong(
            "option_choices",
            &format!("{path}.choices"),
            "BASE_TYPE_MAX_LENGTH",
            "Must be 25 or fewer in length.",
        );
    }
    if !choices.is_empty() && option["autocomplete"] == true {
        form.wrong(
            "option_autocomplete",
            path,
            "APPLICATION_COMMAND_OPTIONS_CHOICES_AND_AUTOCOMPLETE",
            "Choices and autocomplete are mutually exclusive",
        );
    }
    let takes = |allowed: &[u64]| allowed.contains(&kind);
    if (!choices.is_empty() || option["autocomplete"] == true) && !takes(&[3, 4, 10]) {
        form.wrong(
            "option_choices",
            &format!("{path}.choices"),
            "APPLICATION_COMMAND_OPTIONS_CHOICES_INVALID",
            "This type of option takes no choices",
        );
    }
    let mut names = BTreeSet::new();
    for (at, choice) in choices.iter().enumerate() {
        let path = format!("{path}.choices.{at}");
        let text = choice["name"].as_str().unwrap_or_default();
        form.length("choice_name", &format!("{path}.name"), text, 1, 100);
        if !names.insert(text) {
            form.wrong(
                "choice_unique",
                &path,
                "APPLICATION_COMMAND_OPTIONS_CHOICE_NAME_ALREADY_EXISTS",
                "Choice name already exists",
            );
        }
        match (kind, &choice["value"]) {
            (3, Value::String(text)) => form.length("choice_value", &format!("{path}.value"), text, 0, 100),
            (4, Value::Number(number)) if number.is_i64() || number.is_u64() => {}
            (10, Value::Number(_)) => {}
            _ => form.wrong(
                "choice_value",
                &format!("{path}.value"),
                "BASE_TYPE_COERCE",
                "The value is not of the option's type",
            ),
        }
    }
    bounds(form, path, option, kind);
}

fn bounds(form: &mut Form, path: &str, option: &Value, kind: u64) {
    let (least, most) = (&option["min_value"], &option["max_value"]);
    for (name, bound) in [("min_value", least), ("max_value", most)] {
        let Some(number) = bound.as_f64() else { continue };
        let whole = bound.is_i64() || bound.is_u64();
        if !matches!(kind, 4 | 10) || (kind == 4 && !whole) || number.abs() > SAFE {
            form.wrong(
                "option_range",
                &format!("{path}.{name}"),
                "NUMBER_TYPE_COERCE",
                "The bound does not fit the option's type",
            );
        }
    }
    if let (Some(least), Some(most)) = (least.as_f64(), most.as_f64())
        && least > most
    {
        form.wrong(
            "option_range",
            &format!("{path}.min_value"),
            "APPLICATION_COMMAND_OPTIONS_MIN_MAX_INVALID",
            "The minimum is above the maximum",
        );
    }
    let (short, long) = (option["min_length"].as_u64(), option["max_length"].as_u64());
    let given = short.is_some() || long.is_some();
    let bad = short.is_some_and(|short| short > 6_000)
        || long.is_some_and(|long| !(1..=6_000).contains(&long))
        || short > long.or(Some(6_000));
    if given && (kind != 3 || bad) {
        form.wrong(
            "option_length",
            &format!("{path}.max_length"),
            "NUMBER_TYPE_MAX",
            "int value should be between 0 and 6000.",
        );
    }
}
