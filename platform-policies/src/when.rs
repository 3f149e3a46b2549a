//! Conditions over a call's arguments: `amount > 100 and not (currency in ["EUR", "USD"])`.
//!
//! What cannot be decided asks: an argument that is missing, or one of another kind than what it is compared with. Numbers
//! are compared digit for digit.

mod decimal;
mod parse;

use std::cmp::Ordering;

use serde_json::Value;

use decimal::Decimal;
pub(crate) use parse::Fault;

/// A condition, read.
#[derive(Debug)]
pub(crate) struct When {
    pub written: String,
    is: Expr,
}

#[derive(Debug)]
enum Expr {
    Or(Vec<Expr>),
    And(Vec<Expr>),
    Not(Box<Expr>),
    Compare(Box<Expr>, Op, Box<Expr>),
    Path(Vec<Step>),
    /// Items of a list or an object, characters of a text.
    Count(Vec<Step>),
    List(Vec<Expr>),
    Number(Decimal),
    Text(String),
    Bool(bool),
    Null,
}

#[derive(Debug)]
enum Step {
    Key(String),
    At(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Is,
    IsNot,
    Less,
    AtMost,
    More,
    AtLeast,
    In,
    NotIn,
}

/// A value of an argument or of the condition itself.
enum Operand<'a> {
    Missing,
    Null,
    Bool(bool),
    Number(Decimal),
    Text(&'a str),
    Items(Vec<Operand<'a>>),
    Object,
}

impl When {
    pub fn read(written: &str) -> Result<Self, Fault> {
        Ok(Self { written: written.to_owned(), is: parse::condition(written)? })
    }

    /// Whether a call with these arguments needs an approval; only a condition that certainly does not hold says no.
    pub fn asks(&self, args: &Value) -> bool {
        holds(&self.is, args) != Some(false)
    }
}

/// Nothing where it cannot be decided.
fn holds(expr: &Expr, args: &Value) -> Option<bool> {
    match expr {
        Expr::Or(parts) => any(parts.iter().map(|part| holds(part, args))),
        Expr::And(parts) => any(parts.iter().map(|part| holds(part, args).map(|is| !is))).map(|is| !is),
        Expr::Not(part) => holds(part, args).map(|is| !is),
        Expr::Compare(left, op, right) => compare(&operand(left, args), *op, &operand(right, args)),
        Expr::Path(_) | Expr::Bool(_) => match operand(expr, args) {
            Operand::Bool(is) => Some(is),
            _ => None,
        },
        Expr::Count(_) | Expr::List(_) | Expr::Number(_) | Expr::Text(_) | Expr::Null => None,
    }
}

/// True when one is, false when all are false.
fn any(parts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut all_known = true;
    for part in parts {
        match part {
            Some(true) => return Some(true),
            Some(false) => {}
            None => all_known = false,
        }
    }
    all_known.then_some(false)
}

fn operand<'a>(expr: &'a Expr, args: &'a Value) -> Operand<'a> {
    match expr {
        Expr::Path(steps) => find(steps, args).map_or(Operand::Missing, of_value),
        Expr::Count(steps) => match find(steps, args) {
            Some(Value::Array(items)) => Operand::Number(Decimal::count(items.len())),
            Some(Value::Object(map)) => Operand::Number(Decimal::count(map.len())),
            Some(Value::String(text)) => Operand::Number(Decimal::count(text.chars().count())),
            Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => Operand::Missing,
        },
        Expr::List(items) => Operand::Items(items.iter().map(|item| operand(item, args)).collect()),
        Expr::Number(number) => Operand::Number(number.clone()),
        Expr::Text(text) => Operand::Text(text),
        Expr::Bool(is) => Operand::Bool(*is),
        Expr::Null => Operand::Null,
        Expr::Or(_) | Expr::And(_) | Expr::Not(_) | Expr::Compare(..) => {
            holds(expr, args).map_or(Operand::Missing, Operand::Bool)
        }
    }
}

fn find<'a>(steps: &[Step], args: &'a Value) -> Option<&'a Value> {
    steps.iter().try_fold(args, |value, step| match step {
        Step::Key(name) => value.get(name),
        Step::At(n) => value.get(n),
    })
}

fn of_value(value: &Value) -> Operand<'_> {
    match value {
        Value::Null => Operand::Null,
        Value::Bool(is) => Operand::Bool(*is),
        Value::Number(number) => Decimal::read(&number.to_string()).map_or(Operand::Missing, Operand::Number),
        Value::String(text) => Operand::Text(text),
        Value::Array(items) => Operand::Items(items.iter().map(of_value).collect()),
        Value::Object(_) => Operand::Object,
    }
}

fn compare(left: &Operand<'_>, op: Op, right: &Operand<'_>) -> Option<bool> {
    match op {
        Op::Is => equal(left, right),
        Op::IsNot => equal(left, right).map(|is| !is),
        Op::Less => order(left, right).map(Ordering::is_lt),
        Op::AtMost => order(left, right).map(Ordering::is_le),
        Op::More => order(left, right).map(Ordering::is_gt),
        Op::AtLeast => order(left, right).map(Ordering::is_ge),
        Op::In => is_in(left, right),
        Op::NotIn => is_in(left, right).map(|is| !is),
    }
}

fn equal(left: &Operand<'_>, right: &Operand<'_>) -> Option<bool> {
    match (left, right) {
        (Operand::Missing, _) | (_, Operand::Missing) => None,
        (Operand::Null, Operand::Null) => Some(true),
        (Operand::Null, _) | (_, Operand::Null) => Some(false),
        (Operand::Bool(left), Operand::Bool(right)) => Some(left == right),
        (Operand::Number(left), Operand::Number(right)) => Some(left == right),
        (Operand::Text(left), Operand::Text(right)) => Some(left == right),
        _ => None,
    }
}

fn order(left: &Operand<'_>, right: &Operand<'_>) -> Option<Ordering> {
    match (left, right) {
        (Operand::Number(left), Operand::Number(right)) => Some(left.cmp(right)),
        (Operand::Text(left), Operand::Text(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

fn is_in(left: &Operand<'_>, right: &Operand<'_>) -> Option<bool> {
    match (left, right) {
        (Operand::Text(part), Operand::Text(whole)) => Some(whole.contains(part)),
        (Operand::Missing, _) => None,
        (_, Operand::Items(items)) => any(items.iter().map(|item| equal(left, item))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asks(written: &str, args: Value) -> bool {
        When::read(written).unwrap_or_else(|fault| panic!("{written}: {fault:?}")).asks(&args)
    }

    #[test]
    fn numbers_are_exact() {
        for (amount, more) in [
            (json!(100), false),
            (json!(100.0), false),
            (json!(100.00000000000001), true),
            (json!(101), true),
            (json!(-500), false),
            (json!(u64::MAX), true),
            (json!(1e300), true),
            (json!(1e-300), false),
        ] {
            assert_eq!(asks("amount > 100", json!({ "amount": amount })), more, "{amount}");
        }
        assert!(!asks("amount != 0.1", json!({"amount": 0.1})) && !asks("amount != 1e2", json!({"amount": 100})));
        assert!(asks("n == 18446744073709551615", json!({"n": u64::MAX})));
        assert!(!asks("n == 18446744073709551614", json!({"n": u64::MAX})));
    }

    #[test]
    fn what_cannot_be_decided_asks() {
        for args in [json!({}), json!({"amount": "5"}), json!({"amount": [5]}), json!(null), json!({"amount": {}})] {
            assert!(asks("amount > 100", args.clone()), "{args}");
            assert!(asks("not (amount > 100)", args.clone()), "{args}");
            assert!(!asks("amount > 100 and false", args.clone()), "{args}");
        }
        // What is empty is known to be so.
        assert!(asks("note == null", json!({"note": null})) && !asks("note == 'x'", json!({"note": null})));
    }

    #[test]
    fn conditions_read_as_they_are_meant() {
        let args = || json!({"to": {"mail": "a@x.test"}, "ids": [1, 2, 3], "urgent": true, "kind": "gift card"});
        for yes in [
            "urgent",
            "not urgent or kind == \"gift card\"",
            "to.mail == 'a@x.test' && ids[1] == 2",
            "count(ids) >= 3 and count(kind) == 9",
            "2 in ids",
            "kind in ['cash', 'gift card']",
            "'card' in kind",
            "kind not in ['cash']",
            "!(ids[0] > 1) || false",
            "true",
        ] {
            assert!(asks(yes, args()), "{yes}");
        }
        for no in
            ["not urgent", "count(ids) > 3", "kind in []", "4 in ids", "false or (1 > 2)", "urgent and kind == 'x'"]
        {
            assert!(!asks(no, args()), "{no}");
        }
    }

    #[test]
    fn what_is_no_condition_is_said_with_its_place() {
        for (written, at) in [
            ("", 1),
            ("amount >", 9),
            ("amount = 5", 8),
            ("amount > 5 5", 12),
            ("(a", 3),
            ("a == 'x", 6),
            ("a + 1 > 2", 3),
            ("5", 1),
            ("[1]", 1),
            ("a < b < c", 7),
            ("amount > 1.2.3", 10),
        ] {
            let fault = When::read(written).map(|_| ()).unwrap_err();
            assert_eq!(fault.at, at, "{written}: {}", fault.expected);
        }
        assert!(When::read(&"(".repeat(400)).is_err() && When::read(&"a and ".repeat(400)).is_err());
    }
}
