//! How the end of a call is told to a model.

use contract::{Outcome, State, text};
use serde_json::{Value, json};

/// In at most so many characters; JSON stays JSON.
pub(super) fn told(outcome: &Outcome, most: usize) -> String {
    match &outcome.result {
        Ok(Value::String(said)) => text::cut(&text::clean_framing(said), most),
        Ok(value) => tools::budget::fit(clean(value), most, &mut Vec::new()).to_string(),
        Err(failure) => {
            let mut error = failure.for_model(outcome.repeatable);
            if outcome.state == State::Unknown {
                error["error"]["outcome"] = json!("unknown: it may have happened all the same");
            }
            error.to_string()
        }
    }
}

/// The same without framing in its texts.
fn clean(value: &Value) -> Value {
    match value {
        Value::String(said) => Value::String(text::clean_framing(said)),
        Value::Array(items) => items.iter().map(clean).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (text::clean_framing(key), clean(value))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}
