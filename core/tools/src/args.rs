//! Reading a call's arguments from text: exact integers, bounds, and the ways in which models wrap them.

use contract::{Code, Failure, Private, Problem, text};
use serde_json::{Map, Value};

/// Most bytes of arguments as text.
pub const MAX_BYTES: usize = 1 << 20;
/// Most levels of nesting; serde_json's own recursion limit, which keeps the stack safe.
pub const MAX_DEPTH: usize = 127;

/// Reads the arguments of a call: an object, nothing at all (`{}`), or a string that holds an object.
///
/// What is not readable to its end is refused and never run. `{"arguments": {…}}` is unwrapped by
/// [`crate::schema::Schema`], which knows whether the tool has a parameter of that name.
pub fn parse_json(raw: &str) -> Result<Value, Failure> {
    if raw.len() > MAX_BYTES {
        return Err(unreadable(format!("the arguments are longer than {} KiB", MAX_BYTES / 1024), "send less at once"));
    }
    if raw.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    match parse_exact(raw).map_err(Unreadable::into_failure)? {
        Value::String(inner) if inner.trim().is_empty() => Ok(Value::Object(Map::new())),
        Value::String(inner) => object(parse_exact(&inner).map_err(Unreadable::into_failure)?),
        other => object(other),
    }
}

fn object(value: Value) -> Result<Value, Failure> {
    if value.is_object() {
        return Ok(value);
    }
    let hint = "write the arguments as {\"name\": value}";
    Err(unreadable(format!("the arguments are {}, not an object", kind_of(&value)), hint))
}

/// Why a text is not JSON that we can hold without loss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreadable {
    /// An integer literal that neither 64-bit type holds: where, and its digits.
    TooLong {
        path: String,
        literal: String,
    },
    TooDeep,
    /// The text ends before the JSON does.
    Truncated,
    Syntax {
        line: usize,
        column: usize,
        message: String,
    },
}

impl Unreadable {
    fn into_failure(self) -> Failure {
        match self {
            Self::TooLong { path, literal } => {
                let mut failure = unreadable(
                    "a number in the arguments has too many digits to be kept exactly",
                    "send it as a string",
                );
                failure.problems = vec![Problem {
                    path,
                    expected: "an integer from -9223372036854775808 to 18446744073709551615".into(),
                    got: Some(text::cut(&literal, 80)),
                    hint: Some("send it as a string".into()),
                }];
                failure
            }
            Self::TooDeep => unreadable(
                format!("the arguments are nested deeper than {MAX_DEPTH} levels"),
                "send a flatter structure",
            ),
            Self::Truncated => unreadable("the arguments end in the middle", "send them again in full"),
            Self::Syntax { line, column, message } => {
                let place =
                    if line == 1 { format!("character {column}") } else { format!("line {line}, character {column}") };
                unreadable(
                    format!("the arguments are not readable JSON at {place}"),
                    "check quotes, commas and brackets",
                )
                .cause(Private::new(message))
            }
        }
    }
}

fn unreadable(say: impl Into<String>, hint: &str) -> Failure {
    Failure::new(Code::ArgsUnreadable, say.into()).hint(hint)
}

/// Parses JSON without losing a digit of any integer: one that does not fit 64 bits is refused, where serde_json
/// would make a float of it. A lone surrogate, which no Rust string can hold, becomes U+FFFD.
pub fn parse_exact(raw: &str) -> Result<Value, Unreadable> {
    if let Some(found) = too_long_integer(raw) {
        return Err(found);
    }
    serde_json::from_str(raw).or_else(|error| {
        let mended = without_lone_surrogates(raw);
        match mended {
            Some(mended) => serde_json::from_str(&mended).map_err(|e| explain(&e)),
            None => Err(explain(&error)),
        }
    })
}

/// Parses what a service answered: an integer that does not fit becomes a string of its digits, so that none is lost.
pub fn parse_keeping_digits(raw: &str) -> Result<Value, Unreadable> {
    match parse_exact(raw) {
        Err(Unreadable::TooLong { .. }) => parse_exact(&quoted_where_too_long(raw)),
        other => other,
    }
}

fn quoted_where_too_long(raw: &str) -> String {
    let bytes = raw.as_bytes();
    let mut out = String::with_capacity(raw.len() + 16);
    let (mut at, mut copied) = (0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = after_string(bytes, at),
            b'-' | b'0'..=b'9' => {
                let end = after_number(bytes, at);
                if !fits(&raw[at..end]) {
                    out.push_str(&raw[copied..at]);
                    out.push_str(&format!("\"{}\"", &raw[at..end]));
                    copied = end;
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    out.push_str(&raw[copied..]);
    out
}

fn explain(error: &serde_json::Error) -> Unreadable {
    if error.is_eof() {
        return Unreadable::Truncated;
    }
    let message = error.to_string();
    if message.starts_with("recursion limit") {
        return Unreadable::TooDeep;
    }
    Unreadable::Syntax { line: error.line(), column: error.column(), message }
}

/// The kind of a value, in words with an article.
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The first integer literal that does not fit. One pass over the bytes; where it stands is worked out only when found.
fn too_long_integer(raw: &str) -> Option<Unreadable> {
    let bytes = raw.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = after_string(bytes, at),
            b'-' | b'0'..=b'9' => {
                let end = after_number(bytes, at);
                if !fits(&raw[at..end]) {
                    return Some(Unreadable::TooLong { path: path_at(raw, at), literal: raw[at..end].to_owned() });
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    None
}

fn after_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn after_number(bytes: &[u8], start: usize) -> usize {
    let rest = &bytes[start..];
    let len = rest.iter().position(|b| !matches!(b, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9'));
    start + len.unwrap_or(rest.len())
}

/// Whether the literal is a float, or an integer that `i64` or `u64` holds.
fn fits(literal: &str) -> bool {
    literal.len() < 19
        || literal.contains(['.', 'e', 'E'])
        || literal.parse::<i64>().is_ok()
        || literal.parse::<u64>().is_ok()
}

/// The path (`a/0/b`) of the value that begins at byte `target`.
fn path_at(raw: &str, target: usize) -> String {
    enum Frame {
        List(usize),
        Object(String),
    }
    let bytes = raw.as_bytes();
    let mut frames = Vec::new();
    let (mut at, mut last) = (0, (0, 0));
    while at < target {
        match bytes[at] {
            b'"' => {
                let end = after_string(bytes, at);
                last = (at, end);
                at = end;
                continue;
            }
            b':' => {
                if let Some(Frame::Object(key)) = frames.last_mut() {
                    *key = serde_json::from_str(&raw[last.0..last.1]).unwrap_or_default();
                }
            }
            b',' => {
                if let Some(Frame::List(n)) = frames.last_mut() {
                    *n += 1;
                }
            }
            b'[' => frames.push(Frame::List(0)),
            b'{' => frames.push(Frame::Object(String::new())),
            b']' | b'}' => {
                frames.pop();
            }
            _ => {}
        }
        at += 1;
    }
    let parts: Vec<String> = frames
        .into_iter()
        .map(|frame| match frame {
            Frame::List(n) => n.to_string(),
            Frame::Object(key) => key.replace('~', "~0").replace('/', "~1"),
        })
        .collect();
    parts.join("/")
}

/// The text with every `\uD800`-`\uDFFF` escape that has no partner replaced; nothing when there is none.
fn without_lone_surrogates(raw: &str) -> Option<String> {
    let mut out = String::with_capacity(raw.len());
    let (mut rest, mut found) = (raw, false);
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let len = match escape_unit(rest) {
            Some(unit) if (0xD800..0xDC00).contains(&unit) => match rest.get(6..).and_then(escape_unit) {
                Some(low) if (0xDC00..0xE000).contains(&low) => 12,
                _ => 0,
            },
            Some(unit) if (0xDC00..0xE000).contains(&unit) => 0,
            Some(_) => 6,
            None => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
        };
        if len == 0 {
            found = true;
            out.push_str("\\ufffd");
            rest = &rest[6..];
        } else {
            out.push_str(&rest[..len]);
            rest = &rest[len..];
        }
    }
    out.push_str(rest);
    found.then_some(out)
}

/// The UTF-16 unit of a `\uXXXX` escape that `text` begins with.
fn escape_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use contract::Digest;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn code(raw: &str) -> Option<Code> {
        parse_json(raw).err().map(|f| f.code)
    }

    #[test]
    fn integers_are_kept_digit_for_digit() {
        for digits in [
            "1234567890123456789",
            "9007199254740993",
            "9223372036854775807",
            "-9223372036854775808",
            "18446744073709551615",
        ] {
            let args = parse_json(&format!("{{\"n\": {digits}}}")).unwrap();
            assert_eq!(args["n"].to_string(), digits);
        }
    }

    #[test]
    fn an_integer_that_does_not_fit_is_refused_with_its_place() {
        for digits in ["18446744073709551616", "-9223372036854775809", "123456789012345678901234567890"] {
            let failure = parse_json(&format!(r#"{{"a": [1, {{"x/y": "1,[", "n": {digits}}}]}}"#)).unwrap_err();
            assert_eq!(failure.code, Code::ArgsUnreadable);
            assert_eq!(failure.problems[0].path, "a/1/n");
            assert_eq!(failure.problems[0].got.as_deref(), Some(digits));
            assert_eq!(failure.problems[0].hint.as_deref(), Some("send it as a string"));
        }
        let as_text = r#"{"n": "123456789012345678901234567890", "f": 1e300, "g": 0.12345678901234567890123}"#;
        assert_eq!(parse_json(as_text).unwrap()["n"], "123456789012345678901234567890");
    }

    #[test]
    fn a_service_s_long_integers_keep_their_digits_as_text() {
        let answer = parse_keeping_digits(
            r#"{"a": [18446744073709551616, 18446744073709551615], "b": "1 123456789012345678901"}"#,
        );
        let wanted = json!({"a": ["18446744073709551616", 18446744073709551615_u64], "b": "1 123456789012345678901"});
        assert_eq!(answer.unwrap(), wanted);
    }

    #[test]
    fn nothing_is_an_empty_object_and_a_string_may_hold_the_whole() {
        for raw in ["", "  \n", "{}", "\"\"", "\"{}\""] {
            assert_eq!(parse_json(raw).unwrap(), json!({}), "{raw:?}");
        }
        assert_eq!(
            parse_json(r#""{\"city\": \"Oslo\", \"n\": 1234567890123456789}""#).unwrap()["n"].to_string(),
            "1234567890123456789"
        );
        for raw in ["[1]", "3", "null", "true", r#""Oslo""#, r#""\"{}\"""#] {
            assert_eq!(code(raw), Some(Code::ArgsUnreadable), "{raw}");
        }
    }

    #[test]
    fn what_ends_in_the_middle_is_never_run() {
        let whole = r#"{"city": "Os\nlo", "days": [1, {"a": true}]}"#;
        for end in 1..whole.len() {
            assert_eq!(code(&whole[..end]), Some(Code::ArgsUnreadable), "{}", &whole[..end]);
        }
        assert_eq!(parse_json(r#"{"a": "b"#).unwrap_err().to_string(), "the arguments end in the middle");
    }

    #[test]
    fn depth_and_length_have_bounds() {
        let nested = |n: usize| format!("{{\"a\": {}{}}}", "[".repeat(n - 1), "]".repeat(n - 1));
        assert_eq!(code(&nested(MAX_DEPTH)), None);
        assert_eq!(code(&nested(MAX_DEPTH + 1)), Some(Code::ArgsUnreadable));
        assert_eq!(code(&nested(5_000)), Some(Code::ArgsUnreadable));
        assert_eq!(code(&"[".repeat(500_000)), Some(Code::ArgsUnreadable));
        assert_eq!(code(&format!("{{\"a\": \"{}\"}}", "x".repeat(MAX_BYTES))), Some(Code::ArgsUnreadable));
    }

    #[test]
    fn lone_surrogates_nul_and_long_strings_do_no_harm() {
        let args =
            parse_json(r#"{"a": "x\ud83dy", "b": "\udc00", "c": "\ud83d\ude00", "d": "\u0000", "e\ud800": "\\ud800"}"#)
                .unwrap();
        assert_eq!(args, json!({"a": "x\u{fffd}y", "b": "\u{fffd}", "c": "😀", "d": "\u{0}", "e\u{fffd}": "\\ud800"}));
        let long = parse_json(&format!("{{\"a\": \"{}\\ud800\"}}", "é".repeat(400_000))).unwrap();
        assert_ne!(Digest::of_json(&args), Digest::of_json(&long));
    }

    #[test]
    fn the_digest_of_arguments_does_not_depend_on_key_order() {
        let digest = |raw: &str| Digest::of_json(&parse_json(raw).unwrap());
        assert_eq!(digest(r#"{"a": 1, "b": {"c": 2, "d": 3}}"#), digest(r#"{"b": {"d": 3, "c": 2}, "a": 1}"#));
    }

    #[test]
    fn the_sentence_names_a_place_and_no_library() {
        let failure = parse_json("{\"a\": 1,\n \"b\": oops}").unwrap_err();
        assert_eq!(failure.to_string(), "the arguments are not readable JSON at line 2, character 7");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(raw in r#"[\[\]{}":,\\ud8c0-9e.+-]{0,40}"#) {
            let _ = parse_json(&raw);
        }

        #[test]
        fn every_64_bit_integer_survives(n in any::<i64>(), m in any::<u64>()) {
            let args = parse_json(&format!("{{\"n\":{n},\"m\":{m}}}")).unwrap();
            prop_assert_eq!(args, json!({"n": n, "m": m}));
        }
    }
}
