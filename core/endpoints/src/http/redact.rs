//! What operators may see of requests and answers: everything but secrets.

use contract::text;
use serde_json::{Map, Value};

use crate::secret::{Known, MASK};

/// Whether a name says that its value is secret.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['-', '_', '.'], "");
    let exact = ["key", "sig", "auth", "pin", "pwd", "pass", "code", "cookie", "setcookie"];
    let parts = [
        "apikey",
        "accesskey",
        "token",
        "secret",
        "password",
        "passwd",
        "signature",
        "credential",
        "authorization",
        "session",
    ];
    exact.contains(&name.as_str()) || parts.iter().any(|part| name.contains(part))
}

/// Whether a word looks like a key that somebody was given.
fn is_secret_word(word: &str) -> bool {
    let prefixes = [
        "sk_",
        "sk-",
        "pk_",
        "rk_",
        "ghp_",
        "gho_",
        "ghs_",
        "github_pat_",
        "xox",
        "xapp-",
        "AKIA",
        "AIza",
        "eyJ",
        "glpat-",
    ];
    let has = |f: fn(&char) -> bool| word.chars().any(|c| f(&c));
    let is_mixed = has(char::is_ascii_lowercase) && has(char::is_ascii_uppercase) && has(char::is_ascii_digit);
    let is_bot_token = word.split_once(':').is_some_and(|(id, rest)| {
        rest.len() >= 20 && id.trim_start_matches("bot").bytes().all(|b| b.is_ascii_digit()) && !id.is_empty()
    });
    (word.len() >= 8 && prefixes.iter().any(|p| word.starts_with(p))) || (word.len() >= 24 && is_mixed) || is_bot_token
}

/// Text of others, on one line, with the secrets that are in use, those of the tool and what looks like one masked.
pub fn text(raw: &str, known: &[String], most: usize) -> String {
    let mut masked = without_named(&Known::shared().mask(raw));
    for secret in known {
        masked = masked.replace(secret.as_str(), MASK);
    }
    let is_edge = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':' | '.' | '+' | '~'));
    let mut out = String::with_capacity(masked.len());
    let mut after_scheme = false;
    for piece in masked.split_inclusive(is_edge) {
        let word = piece.trim_end_matches(is_edge);
        // The word after "Bearer" is the secret itself, whatever it looks like.
        if is_secret_word(word) || (after_scheme && !word.is_empty()) {
            out.push_str(MASK);
            out.push_str(&piece[word.len()..]);
        } else {
            out.push_str(piece);
        }
        after_scheme =
            matches!(word.to_ascii_lowercase().as_str(), "bearer" | "basic") || (after_scheme && word.is_empty());
    }
    text::one_line(&out, most)
}

/// Text with the values of `password=…`, `"password": "…"` and `password: …` masked.
fn without_named(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['=', ':']) {
        let (before, after) = rest.split_at(at);
        let name = before.trim_end().trim_end_matches(['"', '\'']);
        let name = name.rsplit(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))).next();
        let value = after[1..].trim_start_matches(' ');
        out.push_str(before);
        out.push_str(&after[..after.len() - value.len()]);
        rest = value;
        // Behind a scheme stands the secret, which is masked with the words.
        let is_scheme =
            ["bearer ", "basic "].iter().any(|s| value.get(..s.len()).is_some_and(|v| v.eq_ignore_ascii_case(s)));
        if name.is_some_and(tells) && !is_scheme {
            let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
            let inner = value.strip_prefix(['"', '\'']).unwrap_or(value);
            let end = match quote {
                Some(quote) => inner.find(quote),
                None => inner.find(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '&' | '}' | ')' | '<')),
            };
            out.extend(quote);
            rest = &inner[end.unwrap_or(inner.len())..];
            out.push_str(if rest.len() == inner.len() { "" } else { MASK });
        }
    }
    out + rest
}

/// Names whose value is a secret in any prose; `code` and `session` say too much else there.
fn tells(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['-', '_', '.'], "");
    let parts = ["apikey", "accesskey", "token", "secret", "password", "passwd", "pwd", "signature", "credential"];
    parts.iter().any(|part| name.ends_with(part))
}

/// The address with the values of secret parameters, user names and key-like segments masked.
pub fn url(url: &reqwest::Url, known: &[String]) -> String {
    let mut out = format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default());
    if let Some(port) = url.port() {
        out.push_str(&format!(":{port}"));
    }
    for segment in url.path().split('/').skip(1) {
        out.push('/');
        out.push_str(if is_secret_word(segment) || is_known(segment, known) { MASK } else { segment });
    }
    for (n, pair) in url.query().into_iter().flat_map(|q| q.split('&')).enumerate() {
        out.push(if n == 0 { '?' } else { '&' });
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let is_secret = is_secret_name(name) || is_secret_word(value) || is_known(value, known);
        out.push_str(name);
        out.push('=');
        out.push_str(if is_secret { MASK } else { value });
    }
    Known::shared().mask(&out).into_owned()
}

fn is_known(value: &str, known: &[String]) -> bool {
    known.iter().any(|secret| value.contains(secret.as_str()))
}

/// A body as JSON with the values of secret names masked, cut to a summary.
pub fn body(fields: &Map<String, Value>, known: &[String], most: usize) -> String {
    text(&Value::Object(masked_fields(fields, 0)).to_string(), known, most)
}

/// A summary is a few hundred characters: what lies far behind is not looked at.
fn masked_fields(fields: &Map<String, Value>, depth: usize) -> Map<String, Value> {
    let mask = |(name, value): (&String, &Value)| {
        (name.clone(), if is_secret_name(name) { MASK.into() } else { masked(value, depth + 1) })
    };
    fields.iter().take(32).map(mask).collect()
}

fn masked(value: &Value, depth: usize) -> Value {
    match value {
        Value::Object(fields) if depth < 8 => Value::Object(masked_fields(fields, depth)),
        Value::Array(items) if depth < 8 => items.iter().take(32).map(|v| masked(v, depth + 1)).collect(),
        Value::String(text) => Value::String(contract::text::cut(text, 300)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::Object(_) | Value::Array(_) => Value::String("…".into()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_masked_wherever_they_stand() {
        let known = ["hunter2".to_owned()];
        for (raw, wanted) in [
            ("invalid key sk_live_12345678 given", "invalid key *** given"),
            ("Authorization: Bearer abc", "Authorization: Bearer ***"),
            ("{\"token\":\"eyJhbGciOi.x.y\"}", "{\"token\":\"***\"}"),
            ("password hunter2!", "password ***!"),
            ("login failed: password=hunter3, user=bob", "login failed: password=***, user=bob"),
            ("{\"user\": \"bob\", \"password\": \"open sesame\"}", "{\"user\": \"bob\", \"password\": \"***\"}"),
            ("{'api_key':'abc'} db_password: x, next", "{'api_key':'***'} db_password: ***, next"),
            ("token: Bearer abc", "token: Bearer ***"),
            ("password=", "password="),
            ("Unexpected token < in JSON; bad token 'x'", "Unexpected token < in JSON; bad token 'x'"),
            ("/bot123456:AAF-abcdefghijklmnopqrst/sendMessage", "/***/sendMessage"),
            (
                "order A-17 of 2026-01-31 is 123e4567-e89b-12d3-a456-426614174000",
                "order A-17 of 2026-01-31 is 123e4567-e89b-12d3-a456-426614174000",
            ),
        ] {
            assert_eq!(text(raw, &known, 200), wanted);
        }
        let address =
            "https://u:p@host.test:8443/v2/bot1:aaaaaaaaaaaaaaaaaaaaaaa/x?key=abc&q=tea&t=hunter2#f".parse().unwrap();
        assert_eq!(url(&address, &known), "https://host.test:8443/v2/***/x?key=***&q=tea&t=***");
        let sent = json!({"api_key": "abc", "q": "tea", "deep": [{"Password": 1}], "long": "x".repeat(9_000)});
        assert!(
            body(sent.as_object().unwrap(), &known, 90)
                .starts_with(r#"{"api_key":"***","q":"tea","deep":[{"Password":"***"}],"long":"xxx"#)
        );
    }
}
