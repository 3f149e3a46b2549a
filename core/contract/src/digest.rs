//! Digests: of arguments (independent of key order), of specs, of rendered parts.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The first 16 bytes of a SHA-256; printed as hex.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Digest(pub [u8; 16]);

impl Digest {
    /// Of bytes as they are.
    pub fn of(bytes: &[u8]) -> Self {
        Self(short(bytes))
    }

    /// Of a JSON value; the order of keys does not matter.
    pub fn of_json(value: &Value) -> Self {
        let mut canonical = Vec::with_capacity(128);
        write_canonical(value, &mut canonical);
        Self::of(&canonical)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

pub(crate) fn short(bytes: &[u8]) -> [u8; 16] {
    let full = Sha256::digest(bytes);
    let mut out = [0; 16];
    out.copy_from_slice(&full[..16]);
    out
}

fn write_canonical(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<_> = map.iter().collect();
            keys.sort_unstable_by(|a, b| a.0.cmp(b.0));
            out.push(b'{');
            for (key, value) in keys {
                serde_json::to_writer(&mut *out, key).expect("a text serializes into memory");
                out.push(b':');
                write_canonical(value, out);
                out.push(b',');
            }
            out.push(b'}');
        }
        Value::Array(items) => {
            out.push(b'[');
            for item in items {
                write_canonical(item, out);
                out.push(b',');
            }
            out.push(b']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => write_scalar(value, out),
    }
}

fn write_scalar(value: &Value, out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("a scalar serializes into memory");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_order_of_keys_does_not_change_a_digest() {
        let a: Value = serde_json::from_str(r#"{"a":1,"b":{"c":[1,2],"d":null}}"#).unwrap();
        let b: Value = serde_json::from_str(r#"{"b":{"d":null,"c":[1,2]},"a":1}"#).unwrap();
        assert_eq!(Digest::of_json(&a), Digest::of_json(&b));
        assert_ne!(Digest::of_json(&a), Digest::of_json(&json!({"a":1,"b":{"c":[2,1],"d":null}})));
    }

    #[test]
    fn structure_is_part_of_a_digest() {
        assert_ne!(Digest::of_json(&json!([[1], 2])), Digest::of_json(&json!([1, [2]])));
        assert_ne!(Digest::of_json(&json!("1")), Digest::of_json(&json!(1)));
    }
}
