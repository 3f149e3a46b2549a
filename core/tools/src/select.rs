//! What of an answer is passed on: an expression in JMESPath, in which `{id, status}` is short for `{id: id, status: status}`.

use std::{fmt, sync::Arc};

use jmespath::Expression;
use serde_json::Value;

/// A compiled `select`.
#[derive(Clone)]
pub struct Select {
    written: Arc<str>,
    compiled: Arc<Expression<'static>>,
}

impl Select {
    /// The error says what is wrong with the expression, and where.
    pub fn parse(text: &str) -> Result<Self, String> {
        let written = spelled_out(text);
        match jmespath::compile(&written) {
            Ok(expression) => Ok(Self { written: text.into(), compiled: Arc::new(expression) }),
            Err(error) => Err(format!("{}, at character {} of '{written}'", error.reason, error.offset + 1)),
        }
    }

    /// An error says that the answer is not of the shape that the expression is for.
    pub fn of(&self, value: Value) -> Result<Value, String> {
        let found = self.compiled.search(value).map_err(|error| error.reason.to_string())?;
        serde_json::to_value(&*found).map_err(|error| error.to_string())
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.written
    }
}

impl PartialEq for Select {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl fmt::Debug for Select {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// Fields of an object that are named alone get their own names.
fn spelled_out(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    // What is open, and the end of the quote in which we are.
    let (mut open, mut quote) = (Vec::new(), None);
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        if let Some(end) = quote {
            out.push(c);
            if c == '\\' {
                out.extend(chars.get(at + 1));
                at += 1;
            } else if c == end {
                quote = None;
            }
            at += 1;
            continue;
        }
        let begins_field = matches!(out.trim_end().chars().next_back(), Some('{' | ',')) && open.last() == Some(&'{');
        if begins_field && (c.is_ascii_alphabetic() || c == '_') {
            let name: String = chars[at..].iter().take_while(|c| c.is_ascii_alphanumeric() || **c == '_').collect();
            at += name.len();
            let next = chars[at..].iter().find(|c| !c.is_whitespace());
            out.push_str(&name);
            if matches!(next, Some(',' | '}')) {
                out.push_str(": ");
                out.push_str(&name);
            }
            continue;
        }
        match c {
            '\'' | '"' | '`' => quote = Some(c),
            '{' | '[' | '(' => open.push(c),
            '}' | ']' | ')' => drop(open.pop()),
            _ => {}
        }
        out.push(c);
        at += 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn selected(select: &str, value: Value) -> String {
        match Select::parse(select).and_then(|select| select.of(value)) {
            Ok(value) => value.to_string(),
            Err(why) => format!("error: {why}"),
        }
    }

    #[test]
    fn fields_of_a_list_are_taken_by_their_names() {
        let answer = json!({"items": [{"id": "A-1", "status": "paid", "more": [1]}, {"id": "A-2"}], "next": null});
        assert_eq!(
            selected("items[].{id, status}", answer.clone()),
            r#"[{"id":"A-1","status":"paid"},{"id":"A-2","status":null}]"#
        );
        assert_eq!(selected("items[0].{id: id, first: more[0]}", answer.clone()), r#"{"first":1,"id":"A-1"}"#);
        assert_eq!(selected("items[?status=='paid'].id | [0]", answer), r#""A-1""#);
    }

    #[test]
    fn integers_stay_exact() {
        let answer = json!({"id": u64::MAX, "least": i64::MIN, "odd": 9_007_199_254_740_993u64});
        assert_eq!(
            selected("{id, least, odd}", answer),
            r#"{"id":18446744073709551615,"least":-9223372036854775808,"odd":9007199254740993}"#
        );
    }

    #[test]
    fn names_are_spelled_out_only_where_a_field_begins() {
        assert_eq!(spelled_out("a.{b, c: d.{e}, f}"), "a.{b: b, c: d.{e: e}, f: f}");
        assert_eq!(spelled_out("a[?b=='{x, y}'].{c}"), "a[?b=='{x, y}'].{c: c}");
        assert_eq!(spelled_out("{a: join(', ', [b, c]), d}"), "{a: join(', ', [b, c]), d: d}");
        assert_eq!(spelled_out("`{\"a\": 1}`"), "`{\"a\": 1}`");
    }

    #[test]
    fn a_wrong_expression_says_where() {
        assert!(selected("items[", json!({})).starts_with("error: "));
        assert!(Select::parse("items[].{id status}").unwrap_err().contains("at character"));
        assert_eq!(selected("missing.field", json!({"a": 1})), "null");
        assert!(selected("length(a)", json!({"a": 1})).starts_with("error: "));
    }
}
