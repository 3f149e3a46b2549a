//! The address of a request: a template whose `{param}`s are filled in, each as one part that cannot leave its place.

use contract::Problem;
use reqwest::Url;
use serde_json::{Map, Value};

/// A URL with parameters.
#[derive(Debug)]
pub struct Target {
    pieces: Vec<Piece>,
    /// In the path, whatever is filled in.
    slashes: usize,
}

#[derive(Debug, PartialEq)]
enum Piece {
    Text(String),
    /// An argument's name, and whether it stands behind the `?`.
    Param {
        name: String,
        in_query: bool,
    },
}

impl Target {
    /// A parameter may stand in the path or the query; scheme, host and port are the operator's alone.
    pub fn parse(template: &str) -> Result<Self, String> {
        if template.contains('#') {
            return Err("'url' has a fragment, which is never sent".into());
        }
        let start = template.find("://").map(|at| at + 3).ok_or("'url' has to begin with http:// or https://")?;
        let path_at = template[start..].find(['/', '?']).map_or(template.len(), |at| start + at);
        if template[..path_at].contains(['{', '}']) {
            return Err("the host of 'url' cannot come from an argument".into());
        }
        if template[start..path_at].contains('\\') {
            return Err("'url' has a backslash in its host".into());
        }
        let mut pieces = Vec::new();
        let mut rest = template;
        let mut in_query = false;
        while let Some(open) = rest.find('{') {
            let (text, tail) = rest.split_at(open);
            let Some((name, after)) = tail[1..].split_once('}') else {
                return Err("'url' has a brace without its partner".into());
            };
            if name.is_empty() || name.contains('{') {
                return Err("'url' has a parameter without a name".into());
            }
            in_query |= text.contains('?');
            pieces.push(Piece::Text(text.to_owned()));
            pieces.push(Piece::Param { name: name.to_owned(), in_query });
            rest = after;
        }
        pieces.push(Piece::Text(rest.to_owned()));
        let mut target = Self { pieces, slashes: 0 };
        target.slashes = slashes(target.check()?.path());
        Ok(target)
    }

    /// With a harmless word in each parameter's place it has to be a URL that means what it says.
    fn check(&self) -> Result<Url, String> {
        let raw = self.with(|_, _| "x".to_owned());
        let url = Url::parse(&raw).map_err(|error| format!("'url' is not readable: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err("'url' has to begin with http:// or https://".into());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("'url' has a user name in it: secrets do not belong there".into());
        }
        Ok(url)
    }

    /// An address of the template's host, whatever is filled in.
    pub fn example(&self) -> Option<Url> {
        Url::parse(&self.with(|_, _| "x".to_owned())).ok()
    }

    /// `host:port`.
    pub fn host(&self) -> String {
        let url = self.check().ok();
        let of = |url: &Url| Some(format!("{}:{}", url.host_str()?, url.port_or_known_default()?));
        url.as_ref().and_then(of).unwrap_or_default()
    }

    pub fn params(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Param { name, .. } => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }

    /// The operator's own query parameters.
    pub fn fixed_query(&self) -> Vec<(String, String)> {
        let raw = self.with(|_, _| "{}".to_owned());
        let query = raw.split_once('?').map_or("", |(_, query)| query);
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(_, v)| *v != "{}").map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
    }

    /// Takes the parameters out of the arguments and fills them in.
    pub fn fill(&self, args: &mut Map<String, Value>) -> Result<Url, Vec<Problem>> {
        let mut problems = Vec::new();
        for piece in &self.pieces {
            if let Piece::Param { name, in_query } = piece
                && let Err(problem) = fit(name, args.get(name), *in_query)
            {
                problems.push(problem);
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let raw = self.with(|name, _| encoded(&plain(args.get(name)).unwrap_or_default()));
        for name in self.params() {
            args.shift_remove(name);
        }
        match Url::parse(&raw) {
            // Belt and braces: a parser that resolved a dot segment would have fewer segments than were filled in.
            Ok(url) if slashes(url.path()) == self.slashes => Ok(url),
            Ok(_) | Err(_) => Err(vec![Problem {
                path: self.params().next().unwrap_or_default().to_owned(),
                expected: "a plain name or number".into(),
                got: None,
                hint: None,
            }]),
        }
    }

    fn with(&self, fill: impl Fn(&str, bool) -> String) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Param { name, in_query } => fill(name, *in_query),
        };
        self.pieces.iter().map(piece).collect()
    }
}

fn slashes(path: &str) -> usize {
    path.matches('/').count()
}

/// An argument as it is written into an address; nothing for lists, objects and null.
pub fn plain(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn fit(name: &str, value: Option<&Value>, in_query: bool) -> Result<(), Problem> {
    let problem = |expected: &str| Problem {
        path: name.to_owned(),
        expected: expected.to_owned(),
        got: value.map(|v| contract::text::one_line(&v.to_string(), 80)),
        hint: None,
    };
    let text = plain(value).ok_or_else(|| problem("a text or a number"))?;
    if in_query {
        return Ok(());
    }
    if text.is_empty() {
        return Err(problem("a text that is not empty"));
    }
    if climbs(&text) {
        return Err(problem("a name without '.' or '..' as a part of it"));
    }
    Ok(())
}

/// Whether a part of the text is `.` or `..`, also for a server that decodes once or twice too often.
fn climbs(text: &str) -> bool {
    let mut text = text.to_owned();
    for _ in 0..4 {
        if text.split(['/', '\\']).any(|part| matches!(part.trim(), "." | "..")) {
            return true;
        }
        let decoded = decoded(&text);
        if decoded == text {
            return false;
        }
        text = decoded;
    }
    // Encoded so often that nobody means it.
    true
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = bytes
            .get(at + 1..at + 3)
            .and_then(|d| std::str::from_utf8(d).ok())
            .and_then(|d| u8::from_str_radix(d, 16).ok());
        match code {
            Some(code) if bytes[at] == b'%' => {
                out.push(code);
                at += 3;
            }
            _ => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Everything but letters, digits, `-`, `_`, `.` and `~` percent-encoded, so that nothing has a meaning in a URL.
pub fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn filled(template: &str, args: Value) -> Result<String, String> {
        let mut args = args.as_object().cloned().unwrap();
        let target = Target::parse(template).unwrap();
        target.fill(&mut args).map(String::from).map_err(|p| format!("{}: {}", p[0].path, p[0].expected))
    }

    #[test]
    fn a_parameter_is_one_segment_whatever_is_in_it() {
        let id = |id: &str| filled("http://h.test/orders/{id}/items", json!({"id": id}));
        for (given, sent) in [
            ("A-17", "A-17"),
            ("a/b", "a%2Fb"),
            ("a?x=1", "a%3Fx%3D1"),
            ("a#f", "a%23f"),
            ("a\\b", "a%5Cb"),
            ("50%", "50%25"),
            ("日本", "%E6%97%A5%E6%9C%AC"),
            ("a b+c", "a%20b%2Bc"),
            ("...", "..."),
            ("v1..2", "v1..2"),
            ("\u{0}\r\nHost: x", "%00%0D%0AHost%3A%20x"),
            ("//evil.test/", "%2F%2Fevil.test%2F"),
            ("@evil.test", "%40evil.test"),
        ] {
            assert_eq!(id(given), Ok(format!("http://h.test/orders/{sent}/items")), "{given}");
        }
        for refused in [
            "",
            ".",
            "..",
            "a/../b",
            "..\\b",
            "%2e%2e",
            "%2E",
            "%252e%252e",
            "a%2f..%2fb",
            "x/./y",
            " .. ",
            "%25252525252e",
        ] {
            assert!(id(refused).is_err(), "{refused}");
        }
        for refused in [json!({}), json!({"id": null}), json!({"id": ["a"]}), json!({"id": {"a": 1}})] {
            assert!(filled("http://h.test/{id}", refused).is_err());
        }
        assert_eq!(
            filled("http://h.test/{id}", json!({"id": 18446744073709551615_u64})),
            Ok("http://h.test/18446744073709551615".into())
        );
    }

    #[test]
    fn a_parameter_of_the_query_stays_one_value() {
        assert_eq!(
            filled("http://h.test/s?q={q}&n=1", json!({"q": "a&n=2#x"})),
            Ok("http://h.test/s?q=a%26n%3D2%23x&n=1".into())
        );
        assert_eq!(filled("http://h.test/s?q={q}", json!({"q": ".."})), Ok("http://h.test/s?q=..".into()));
    }

    #[test]
    fn host_port_and_scheme_cannot_come_from_an_argument() {
        for template in [
            "http://{host}/x",
            "{scheme}://h.test/x",
            "http://h.test:{port}/x",
            "http://h.test{x}",
            "http://a@{x}",
            "ftp://h.test/",
            "http://h.test/#{x}",
            "http://user:pw@h.test/",
            "http://h.test\\{x}",
            "http://h.test/{",
            "http://h.test/{}",
            "//h.test/x",
        ] {
            assert!(Target::parse(template).is_err(), "{template}");
        }
    }

    proptest! {
        #[test]
        fn no_argument_reaches_another_endpoint(id in "[a-z./\\\\%2eE5cfF?#@: \\x00é]{0,12}") {
            let template = "http://h.test:8080/orders/{id}/items";
            let mut args = json!({"id": id}).as_object().cloned().unwrap();
            if let Ok(url) = Target::parse(template).unwrap().fill(&mut args) {
                prop_assert_eq!(url.host_str(), Some("h.test"));
                let segments: Vec<_> = url.path_segments().unwrap().collect();
                prop_assert_eq!(segments.len(), 3);
                prop_assert_eq!((segments[0], segments[2]), ("orders", "items"));
                prop_assert!(url.query().is_none() && url.fragment().is_none());
            }
        }
    }
}
