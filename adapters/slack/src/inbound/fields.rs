//! Reading of JSON in which anything may be missing or of another type.

use serde_json::Value;

/// A text that is there and not empty.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str().filter(|text| !text.is_empty())
}

/// The items of a list; none when there is no list.
pub(crate) fn array<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
