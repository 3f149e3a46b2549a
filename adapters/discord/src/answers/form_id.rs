//! What a form's id says when it comes back: the command, and what had been typed of it before. Pure.

use std::fmt;

use serde_json::{Map, Value};

/// Discord takes so many characters.
const LONGEST: usize = 100;
const WHOLE: &str = "form:";
const KEPT: &str = "kept:";

/// The id of a form of ours.
#[derive(Debug, PartialEq)]
pub(super) enum FormId<'a> {
    /// It says all itself, over restarts too.
    Whole { name: &'a str, args: Map<String, Value> },
    /// What had been typed is too long for it: this life remembers it by the interaction that asked.
    Kept { asked: &'a str, name: &'a str },
}

impl<'a> FormId<'a> {
    /// Nothing when not even the names fit.
    pub(super) fn of(asked: &'a str, name: &'a str, kept: &Map<String, Value>) -> Option<Self> {
        let fits = |id: &Self| id.to_string().encode_utf16().count() <= LONGEST;
        let whole = Self::Whole { name, args: kept.clone() };
        Some(whole).filter(fits).or_else(|| Some(Self::Kept { asked, name }).filter(fits))
    }

    pub(super) fn read(id: &'a str) -> Option<Self> {
        if let Some((asked, name)) = id.strip_prefix(KEPT).and_then(|rest| rest.split_once(':')) {
            return Some(Self::Kept { asked, name });
        }
        let (name, args) = id.strip_prefix(WHOLE)?.split_once(':')?;
        let args = if args.is_empty() { Map::new() } else { serde_json::from_str(args).ok()? };
        Some(Self::Whole { name, args })
    }
}

impl fmt::Display for FormId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole { name, args } if args.is_empty() => write!(f, "{WHOLE}{name}:"),
            Self::Whole { name, args } => {
                write!(f, "{WHOLE}{name}:{}", serde_json::to_string(args).map_err(|_| fmt::Error)?)
            }
            Self::Kept { asked, name } => write!(f, "{KEPT}{asked}:{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_typed_stands_in_the_id_when_it_is_short() {
        let kept = |value: Value| value.as_object().expect("an object").clone();
        for (args, is_whole) in [
            (json!({}), true),
            (json!({"to": "C1", "n": 3, "汉": "字\"}"}), true),
            (json!({"text": "long ".repeat(30)}), false),
        ] {
            let args = kept(args);
            let id = FormId::of("1234567890123456789", "send_message", &args).expect("the names fit");
            assert_eq!(matches!(id, FormId::Whole { .. }), is_whole);
            let written = id.to_string();
            assert!(written.encode_utf16().count() <= LONGEST);
            assert_eq!(FormId::read(&written), Some(id));
        }
        assert_eq!(FormId::of("1", &"n".repeat(100), &Map::new()), None);
    }

    #[test]
    fn what_is_no_form_of_ours_is_none() {
        for id in ["", "form", "form:", "form:a", "form:a:[1]", "form:a:{", "kept:1", "cancel:1", "form:12345:gone"] {
            assert_eq!(FormId::read(id), None, "{id}");
        }
    }
}
