//! Names of arguments that a tool does not have and that probably mean one that it has. Pure.

use contract::{Failure, Problem, failure::PROBLEMS_MAX, text};
use serde_json::Value;

pub(super) const NO_SUCH_FIELD: &str = "no such field";

pub(super) fn did_you_mean(near: &str) -> String {
    format!("did you mean '{near}'?")
}

/// The argument that a name which is none probably means; nothing where the schema says itself that any may be given. In
/// one or two letters there is nothing to mistype.
pub(super) fn meant<'a>(parameters: &'a Value, name: &str) -> Option<&'a str> {
    let is_open = parameters.get("additionalProperties") == Some(&Value::Bool(true));
    let properties = parameters.get("properties").and_then(Value::as_object).filter(|_| !is_open)?;
    if name.chars().count() < 3 || properties.contains_key(name) {
        return None;
    }
    text::nearest(name, properties.keys().map(String::as_str))
}

/// Arguments that came as an object, unless a name in it is a slip: it would be passed on, and the one that was meant
/// would be missing.
pub(crate) fn named_well(tool: &str, args: Value, parameters: &Value, usage: &str) -> Result<Value, Failure> {
    let slips = args.as_object().into_iter().flatten().filter_map(|(name, value)| {
        let near = meant(parameters, name)?;
        let got = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Some(Problem {
            path: name.clone(),
            expected: NO_SUCH_FIELD.to_owned(),
            got: Some(format!("'{}'", text::one_line(&got, 80))),
            hint: Some(did_you_mean(near)),
        })
    });
    let problems: Vec<Problem> = slips.take(PROBLEMS_MAX).collect();
    if problems.is_empty() { Ok(args) } else { Err(Failure::invalid_args(tool, problems, usage.to_owned())) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_slip_in_an_object_is_told_with_the_name_that_was_meant() {
        let parameters = json!({"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}});
        let slip = named_well("t", json!({"citty": "Oslo", "days": 3, "dayz": 4}), &parameters, "/t").unwrap_err();
        let told: Vec<_> = slip.problems.iter().map(|p| (p.path.as_str(), p.hint.as_deref())).collect();
        assert_eq!(told, [("citty", Some("did you mean 'city'?")), ("dayz", Some("did you mean 'days'?"))]);
        assert_eq!((slip.problems[1].got.as_deref(), slip.usage.as_deref()), (Some("'4'"), Some("/t")));
    }

    #[test]
    fn other_names_pass_and_so_do_all_where_any_is_taken() {
        let parameters = json!({"properties": {"city": {"type": "string"}}});
        for args in [json!({"zone": 1, "city": "x"}), json!({"ci": 1}), json!([1]), json!({})] {
            assert_eq!(named_well("t", args.clone(), &parameters, "/t"), Ok(args));
        }
        let open = json!({"additionalProperties": true, "properties": {"city": {}}});
        assert!(named_well("t", json!({"citty": 1}), &open, "/t").is_ok());
    }
}
