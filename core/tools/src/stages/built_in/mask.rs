//! Personal data in answers, put out of sight: addresses of mail, numbers of phones and cards.

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::{
    endpoint::Host,
    stages::{Changed, Of, Stopped, Transform},
};

/// What is masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Email,
    Phone,
    Card,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Email, Self::Phone, Self::Card];

    fn mask(self) -> &'static str {
        match self {
            Self::Email => "[email]",
            Self::Phone => "[phone]",
            Self::Card => "[card]",
        }
    }
}

/// Masks these kinds wherever they stand in an answer, names of fields and numbers included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mask(pub Vec<Kind>);

#[async_trait]
impl Transform for Mask {
    async fn transform(&self, _: &Of, answer: &Value, _: &dyn Host) -> Result<Option<Changed>, Stopped> {
        let mut count = 0;
        let value = self.value(answer, &mut count);
        Ok((count > 0).then(|| Changed { value, what: format!("masked {count}") }))
    }
}

impl Mask {
    fn value(&self, value: &Value, count: &mut usize) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text, count)),
            Value::Number(number) => {
                let text = number.to_string();
                let before = *count;
                let masked = self.text(&text, count);
                if *count > before { Value::String(masked) } else { value.clone() }
            }
            Value::Array(items) => items.iter().map(|item| self.value(item, count)).collect(),
            Value::Object(fields) => Value::Object(self.fields(fields, count)),
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }

    fn fields(&self, fields: &Map<String, Value>, count: &mut usize) -> Map<String, Value> {
        let mut masked = Map::new();
        for (name, value) in fields {
            let value = self.value(value, count);
            let short = self.text(name, count);
            // Two names may look the same by now: none replaces the other.
            let mut free = short.clone();
            for n in 2.. {
                if !masked.contains_key(&free) && (free == *name || !fields.contains_key(&free)) {
                    break;
                }
                free = format!("{short} {n}");
            }
            masked.insert(free, value);
        }
        masked
    }

    /// The text with each of its parts masked. Pure.
    fn text(&self, text: &str, count: &mut usize) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = 0;
        while let Some((from, to, kind)) = self.next(text, rest) {
            out.push_str(&text[rest..from]);
            out.push_str(kind.mask());
            *count += 1;
            rest = to;
        }
        out.push_str(&text[rest..]);
        out
    }

    /// The first part at or behind `from` that is masked.
    fn next(&self, text: &str, from: usize) -> Option<(usize, usize, Kind)> {
        let bytes = text.as_bytes();
        let has = |kind| self.0.contains(&kind);
        let mut at = from;
        while at < bytes.len() {
            match bytes[at] {
                b'@' if has(Kind::Email) => {
                    if let Some((begin, end)) = email(bytes, from, at) {
                        return Some((begin, end, Kind::Email));
                    }
                    at += 1;
                }
                b'+' | b'(' | b'0'..=b'9' => {
                    let run = Run::at(bytes, from, at);
                    // An address may begin with digits: it is found by its '@'.
                    let behind = bytes[run.end..].iter().take(LOCAL).find(|byte| !is_local(**byte));
                    let part_of_mail = behind == Some(&b'@');
                    if has(Kind::Card) && run.is_card() {
                        return Some((at, run.end, Kind::Card));
                    }
                    if has(Kind::Phone) && !part_of_mail && run.is_phone() {
                        return Some((at, run.end, Kind::Phone));
                    }
                    at = run.end.max(at + 1);
                }
                _ => at += 1,
            }
        }
        None
    }
}

/// Most bytes before an '@'.
const LOCAL: usize = 64;

fn is_local(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'%' | b'+' | b'-')
}

/// Where the address around an '@' begins and ends; it begins at `from` at the earliest. Letters beyond ASCII count.
fn email(bytes: &[u8], from: usize, at: usize) -> Option<(usize, usize)> {
    let wide = |byte: u8| byte >= 0x80;
    let begin = (from..at).rev().take_while(|n| is_local(bytes[*n]) || wide(bytes[*n])).last()?;
    let is_domain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-' || wide(byte);
    let mut end = (at + 1..bytes.len()).take_while(|n| is_domain(bytes[*n])).last()? + 1;
    while matches!(bytes[end - 1], b'.' | b'-') {
        end -= 1;
    }
    let domain = bytes.get(at + 1..end)?;
    let dot = domain.iter().rposition(|b| *b == b'.')?;
    (dot > 0 && domain.len() - dot > 2).then_some((begin, end))
}

/// Digits with what may stand between them.
struct Run {
    end: usize,
    digits: Vec<u8>,
    /// Lengths of the groups.
    groups: Vec<usize>,
    plus: bool,
    /// A separator that cards do not have, and whether all are dots.
    other: bool,
    dots: bool,
    /// A letter stands right before or behind it: a part of an identifier.
    within_word: bool,
}

/// Most digits of a run that is looked at whole.
const DIGITS: usize = 20;

impl Run {
    fn at(bytes: &[u8], from: usize, begin: usize) -> Self {
        let is_word = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
        let before = begin.checked_sub(1).filter(|before| *before >= from).and_then(|before| bytes.get(before));
        let mut run = Self {
            end: begin,
            digits: Vec::new(),
            groups: Vec::new(),
            plus: bytes[begin] == b'+',
            other: false,
            dots: true,
            within_word: is_word(before),
        };
        let (mut n, mut separators, mut in_group) = (begin, 0, false);
        while let Some(byte) = bytes.get(n).filter(|_| run.digits.len() <= DIGITS) {
            match byte {
                b'0'..=b'9' => {
                    if in_group {
                        *run.groups.last_mut().expect("a group has begun") += 1;
                    } else {
                        run.groups.push(1);
                    }
                    run.digits.push(byte - b'0');
                    (in_group, separators, run.end) = (true, 0, n + 1);
                }
                b'+' | b'(' if n == begin => run.other = true,
                b' ' | b'-' | b'.' | b'(' | b')' | b'/' if separators < 2 => {
                    run.other |= !matches!(byte, b' ' | b'-');
                    // What stands behind the last digit is not between digits.
                    if bytes.get(n + 1).is_some_and(u8::is_ascii_digit) {
                        run.dots &= *byte == b'.';
                    }
                    (in_group, separators) = (false, separators + 1);
                }
                _ => break,
            }
            n += 1;
        }
        run.within_word |= is_word(bytes.get(run.end));
        run
    }

    fn is_card(&self) -> bool {
        let fits = (13..=19).contains(&self.digits.len()) && matches!(self.digits[0], 2..=6);
        fits && !self.plus && !self.within_word && self.passes_luhn()
    }

    fn passes_luhn(&self) -> bool {
        let doubled = |n: u8| if n > 4 { 2 * n - 9 } else { 2 * n };
        let weighed = self.digits.iter().rev().enumerate().map(|(at, n)| if at % 2 == 1 { doubled(*n) } else { *n });
        weighed.map(u32::from).sum::<u32>() % 10 == 0
    }

    fn is_phone(&self) -> bool {
        let (count, groups) = (self.digits.len(), self.groups.len());
        if self.within_word || !(8..=15).contains(&count) {
            return false;
        }
        let is_date = matches!(self.groups[..], [4, 2, 2, ..] | [2, 2, 4, ..]);
        let is_decimal = self.dots && groups != 1 && groups != 3;
        let is_mobile = count == 11 && groups == 1 && self.digits[0] == 1 && self.digits[1] >= 3;
        self.plus || is_mobile || (count >= 10 && groups >= 3 && !is_date && !is_decimal)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn masked(text: &str) -> String {
        Mask(Kind::ALL.into()).text(text, &mut 0)
    }

    #[test]
    fn what_is_personal_is_masked_in_the_ways_it_is_written() {
        for (text, shown) in [
            ("mail ada.l+x@example.co.uk, or", "mail [email], or"),
            ("<7ada@example.org>", "<[email]>"),
            ("张三@例子.公司网", "[email]"),
            ("call +49 30 1234 5678.", "call [phone]."),
            ("+4915112345678", "[phone]"),
            ("(555) 123-4567", "[phone]"),
            ("555-123-4567", "[phone]"),
            ("555.123.4567", "[phone]"),
            ("手机13800138000", "手机[phone]"),
            ("card 4111 1111 1111 1111!", "card [card]!"),
            ("4111-1111-1111-1111", "[card]"),
            ("378282246310005", "[card]"),
            ("a@b.de b@c.de", "[email] [email]"),
        ] {
            assert_eq!(masked(text), shown, "{text}");
        }
    }

    #[test]
    fn what_only_looks_like_it_stays() {
        for text in [
            "2026-12-01 10:22:33",
            "01.12.2026 10:22",
            "192.168.100.200",
            "A-17-4411",
            "order 4111111111111112",
            "1764550000000",
            "3.14159265358979",
            "user@localhost",
            "@channel",
            "id_4111111111111111",
            "100 200 300",
            "日本語",
        ] {
            assert_eq!(masked(text), text);
        }
    }

    #[test]
    fn fields_and_numbers_are_looked_at_too() {
        let mask = Mask(vec![Kind::Email, Kind::Card]);
        let answer =
            json!({"a@b.de": 1, "c@d.de": {"card": 4111111111111111_u64, "phone": "+49 30 1234 5678"}, "n": 12.5});
        let mut count = 0;
        let masked = mask.value(&answer, &mut count);
        assert_eq!(count, 3);
        let shown = json!({"[email]": 1, "[email] 2": {"card": "[card]", "phone": "+49 30 1234 5678"}, "n": 12.5});
        assert_eq!(masked, shown);
    }

    proptest! {
        #[test]
        fn any_text_is_masked_without_harm(text in "[0-9a-z@.+() \\-é日_]{0,80}") {
            let once = masked(&text);
            prop_assert_eq!(masked(&once), once.clone());
        }
    }
}
