//! A batch of updates of which one that no reader takes spoils no other.

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

#[derive(Deserialize)]
struct Batch<'a> {
    ok: bool,
    #[serde(borrow)]
    result: Vec<&'a RawValue>,
}

/// The only thing of an unreadable update that is needed: what confirms it.
#[derive(Deserialize)]
struct Id {
    update_id: i64,
}

/// The updates of an answer; nothing when it is no batch.
pub(crate) fn updates(body: &[u8]) -> Option<Vec<Value>> {
    let body = String::from_utf8_lossy(body);
    let batch: Batch<'_> = serde_json::from_str(&body).ok()?;
    batch.ok.then(|| batch.result.into_iter().map(|raw| update(raw.get())).collect())
}

/// One that is too deep, or holds what is no number or no text, keeps its id and is passed over.
pub(crate) fn update(raw: &str) -> Value {
    serde_json::from_str(raw).or_else(|_| serde_json::from_str(&mend(raw))).unwrap_or_else(|_| {
        let id = serde_json::from_str::<Id>(raw).ok().map(|id| id.update_id);
        json!({"update_id": id, "unreadable": true})
    })
}

/// Halves of a character, which JSON can write and no text can hold, become the sign for what is not known.
fn mend(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match (unit(rest), rest.get(6..).and_then(unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                out.push('\u{FFFD}');
                rest = &rest[6..];
                continue;
            }
            (Some(_), _) => 6,
            // Another escape: what follows its backslash begins none.
            (None, _) => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out.push_str(rest);
    out
}

/// The code unit of an escape at the beginning.
fn unit(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_character_costs_itself_alone() {
        let body = br#"{"ok":true,"result":[{"update_id":1,"t":"a\ud83dz \\ud83d \ud83d\ude00 \udc00\""}]}"#;
        assert_eq!(updates(body), Some(vec![json!({"update_id": 1, "t": "a\u{FFFD}z \\ud83d 😀 \u{FFFD}\""})]));
        let spoilt = updates(b"{\"ok\":true,\"result\":[{\"update_id\":1,\"t\":\"a\xFFb\"}]}");
        assert_eq!(spoilt, Some(vec![json!({"update_id": 1, "t": "a\u{FFFD}b"})]));
    }

    #[test]
    fn what_nobody_can_read_keeps_its_id_and_the_others_live() {
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        let body = format!(
            r#"{{"ok":true,"result":[{{"update_id":1,"d":{deep}}},{{"update_id":2,"n":1e999}},{{"update_id":3}}]}}"#
        );
        let found = updates(body.as_bytes()).expect("a batch");
        assert_eq!(
            found.iter().map(|update| update["update_id"].as_i64()).collect::<Vec<_>>(),
            [Some(1), Some(2), Some(3)]
        );
        assert!(found[0]["unreadable"] == true && found[1]["unreadable"] == true);
    }

    #[test]
    fn what_is_no_batch_is_none() {
        for body in ["<html>", r#"{"ok":false,"description":"no"}"#, r#"{"ok":true,"result":{}}"#] {
            assert_eq!(updates(body.as_bytes()), None, "{body}");
        }
    }
}
