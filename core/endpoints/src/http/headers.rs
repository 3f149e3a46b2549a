//! The headers of a tool's requests: as written, with the call's key, or filled in from arguments.

use contract::{Finding, Problem, text};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};
use tools::{
    Spec,
    spec::{HttpSpec, KEY_MARK, Placed},
};

use super::{payload::Rename, redact, target::plain};

/// Most bytes of a header that is filled in.
const LONGEST: usize = 4_096;
/// What the gateway sets by itself.
const OURS: [&str; 5] = ["host", "content-length", "transfer-encoding", "connection", "traceparent"];

#[derive(Debug, Default)]
pub struct Headers {
    /// The same in each request.
    pub fixed: HeaderMap,
    /// Carry the idempotency key.
    keys: Vec<HeaderName>,
    filled: Vec<(HeaderName, Vec<Piece>)>,
}

#[derive(Debug, PartialEq)]
enum Piece {
    Text(String),
    /// The name of an argument.
    Param(String),
}

impl Headers {
    pub fn new(spec: &Spec, http: &HttpSpec, rename: &Rename) -> Result<Self, Finding> {
        let mut headers = Self::default();
        for (name, value) in &http.headers {
            let at = format!("endpoint.headers.{name}");
            headers.add(spec, &at, name, value)?;
        }
        for (param, _) in http.places.iter().filter(|(_, placed)| *placed == Placed::Header) {
            let at = format!("endpoint.in.{param}");
            let name = rename.exact(param).map_or_else(|| param.clone(), |to| to.join("."));
            let name = legal(spec, &at, &name)?;
            if headers.fixed.contains_key(&name) || headers.filled.iter().any(|(other, _)| *other == name) {
                return Err(spec.error_at(&at, format!("the header '{name}' is set twice")));
            }
            headers.filled.push((not_the_type(spec, &at, name)?, vec![Piece::Param(param.clone())]));
        }
        Ok(headers)
    }

    fn add(&mut self, spec: &Spec, at: &str, name: &str, value: &str) -> Result<(), Finding> {
        let parsed = legal(spec, at, name)?;
        if value == KEY_MARK {
            self.keys.push(parsed);
            return Ok(());
        }
        nothing_to_look_up(spec, at, value)?;
        let pieces = pieces(spec, at, value.trim())?;
        if pieces.iter().any(|piece| matches!(piece, Piece::Param(_))) {
            self.filled.push((not_the_type(spec, at, parsed)?, pieces));
            return Ok(());
        }
        let mut value: HeaderValue = value
            .trim()
            .parse()
            .map_err(|_| spec.error_at(at, format!("the value of the header '{name}' is not fit to be sent")))?;
        value.set_sensitive(redact::is_secret_name(name));
        self.fixed.append(parsed, value);
        Ok(())
    }

    /// Arguments that headers name: they go nowhere else.
    pub fn params(&self) -> impl Iterator<Item = &str> {
        self.filled.iter().flat_map(|(_, pieces)| pieces).filter_map(|piece| match piece {
            Piece::Param(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }

    /// The headers of one request. One whose argument was not given is left out.
    pub fn of(&self, args: &Map<String, Value>, key: &str) -> Result<HeaderMap, Vec<Problem>> {
        let mut headers = self.fixed.clone();
        for name in &self.keys {
            if let Ok(key) = HeaderValue::from_str(key) {
                headers.insert(name.clone(), key);
            }
        }
        let mut problems = Vec::new();
        for (name, pieces) in &self.filled {
            match written(pieces, args) {
                Ok(Some(mut value)) => {
                    value.set_sensitive(redact::is_secret_name(name.as_str()));
                    headers.append(name.clone(), value);
                }
                Ok(None) => {}
                Err(problem) => problems.push(problem),
            }
        }
        if problems.is_empty() { Ok(headers) } else { Err(problems) }
    }
}

fn legal(spec: &Spec, at: &str, name: &str) -> Result<HeaderName, Finding> {
    let parsed: HeaderName =
        name.parse().map_err(|_| spec.error_at(at, format!("'{name}' cannot be a header's name")))?;
    if OURS.contains(&parsed.as_str()) {
        return Err(spec.error_at(at, format!("the header '{name}' is the gateway's to set")));
    }
    Ok(parsed)
}

/// What a body is made of is decided when the tool is loaded.
fn not_the_type(spec: &Spec, at: &str, name: HeaderName) -> Result<HeaderName, Finding> {
    if name == CONTENT_TYPE {
        return Err(spec.error_at(at, "'content-type' cannot come from an argument: it says how the body is made"));
    }
    Ok(name)
}

/// A header is sent as it is written, so what asks to be looked up is refused rather than sent.
fn nothing_to_look_up(spec: &Spec, at: &str, value: &str) -> Result<(), Finding> {
    let is_reference = |word: &str| ["env:", "file:", "exec:", "vault:"].iter().any(|scheme| word.starts_with(scheme));
    if value.split_whitespace().any(is_reference) {
        let error = spec.error_at(at, "a header is sent as it is written, and nothing is looked up for it");
        return Err(error.hint("secrets are for 'credential'"));
    }
    Ok(())
}

/// Text and `{param}`s. Braces around anything but a name are text, as in a header that holds JSON.
fn pieces(spec: &Spec, at: &str, value: &str) -> Result<Vec<Piece>, Finding> {
    let known = spec.parameters.get("properties").and_then(Value::as_object);
    let mut out = Vec::new();
    let (mut text, mut rest) = (String::new(), value);
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let name = after.split_once('}').filter(|(name, _)| is_name(name));
        let Some((name, behind)) = name else {
            text.push('{');
            rest = after;
            continue;
        };
        if let Some(known) = known.filter(|known| !known.contains_key(name)) {
            let error = spec.error_at(at, format!("'{name}' is not among the parameters"));
            return Err(match text::nearest(name, known.keys().map(String::as_str)) {
                Some(near) => error.hint(format!("did you mean '{near}'?")),
                None => error,
            });
        }
        out.push(Piece::Text(std::mem::take(&mut text)));
        out.push(Piece::Param(name.to_owned()));
        rest = behind;
    }
    text.push_str(rest);
    out.push(Piece::Text(text));
    out.retain(|piece| *piece != Piece::Text(String::new()));
    for piece in &out {
        if let Piece::Text(text) = piece
            && HeaderValue::from_str(text).is_err()
        {
            return Err(spec.error_at(at, "the value of the header is not fit to be sent"));
        }
    }
    Ok(out)
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
}

/// The value of a header; nothing where an argument of it was not given.
fn written(pieces: &[Piece], args: &Map<String, Value>) -> Result<Option<HeaderValue>, Problem> {
    let mut out = String::new();
    let mut last = "";
    for piece in pieces {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Param(name) => {
                last = name;
                match args.get(name) {
                    None | Some(Value::Null) => return Ok(None),
                    Some(value) => out.push_str(&fit(value).map_err(|expected| problem(name, value, expected))?),
                }
            }
        }
    }
    match HeaderValue::from_str(&out) {
        Ok(value) if out.len() <= LONGEST => Ok(Some(value)),
        Ok(_) | Err(_) => Err(problem(last, &Value::Null, "a shorter text: it goes into a header")),
    }
}

/// An argument as it stands in a header. What a header cannot hold is refused: encoded, it would be another text.
fn fit(value: &Value) -> Result<String, &'static str> {
    let text = plain(Some(value)).ok_or("a text or a number")?;
    if !text.bytes().all(|b| matches!(b, b' '..=b'~')) {
        return Err("letters, digits and signs of ASCII on one line: it goes into a header");
    }
    if text.trim() != text {
        return Err("a text without spaces at its ends: it goes into a header");
    }
    Ok(text)
}

fn problem(name: &str, value: &Value, expected: &str) -> Problem {
    let got = (!value.is_null()).then(|| text::one_line(&value.to_string(), 80));
    Problem { path: name.to_owned(), expected: expected.to_owned(), got, hint: None }
}
