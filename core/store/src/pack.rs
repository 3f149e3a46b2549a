//! How records are written: MessagePack behind one version byte.

use contract::{Digest, StoreDown, records::NotRead};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Every packed value begins with it; a reader refuses what it does not know.
const VERSION: u8 = 1;

/// A stored value cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("a stored {what} cannot be read: {why}")]
pub struct Unreadable {
    pub what: &'static str,
    pub why: String,
}

impl From<Unreadable> for StoreDown {
    fn from(error: Unreadable) -> Self {
        Self(error.to_string())
    }
}

impl From<Unreadable> for NotRead {
    fn from(error: Unreadable) -> Self {
        Self::Unreadable(error.to_string())
    }
}

/// With names of fields, so that fields may be added.
pub fn pack<T: Serialize>(value: &T) -> Result<Vec<u8>, StoreDown> {
    let mut out = vec![VERSION];
    value.serialize(&mut rmp_serde::Serializer::new(&mut out).with_struct_map()).map_err(unwritable)?;
    Ok(out)
}

/// Without names, for what is written per call; fields are only ever added at the end.
pub fn pack_row<T: Serialize>(value: &T) -> Result<Vec<u8>, StoreDown> {
    let mut out = Vec::with_capacity(160);
    out.push(VERSION);
    value.serialize(&mut rmp_serde::Serializer::new(&mut out)).map_err(unwritable)?;
    Ok(out)
}

/// Reads what [`pack`] or [`pack_row`] wrote.
pub fn unpack<T: DeserializeOwned>(what: &'static str, bytes: &[u8]) -> Result<T, Unreadable> {
    match bytes.split_first() {
        Some((&VERSION, rest)) => {
            rmp_serde::from_slice(rest).map_err(|error| Unreadable { what, why: error.to_string() })
        }
        Some((version, _)) => Err(Unreadable { what, why: format!("it has version {version}") }),
        None => Err(Unreadable { what, why: "it is empty".to_owned() }),
    }
}

fn unwritable(error: rmp_serde::encode::Error) -> StoreDown {
    StoreDown(format!("a record cannot be written: {error}"))
}

/// A digest as sixteen bytes; as an array of numbers it takes twice as many.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sixteen(pub Digest);

impl Serialize for Sixteen {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0.0)
    }
}

impl<'de> Deserialize<'de> for Sixteen {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl serde::de::Visitor<'_> for Bytes {
            type Value = Sixteen;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("sixteen bytes")
            }
            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Sixteen, E> {
                let bytes = bytes.try_into().map_err(|_| E::invalid_length(bytes.len(), &self))?;
                Ok(Sixteen(Digest(bytes)))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn json_survives_packing() {
        for value in [
            json!({"big": u64::MAX, "low": i64::MIN, "half": 0.5, "nothing": null, "list": [1, "\u{0}", {}]}),
            json!(null),
            json!("\u{202e}\u{10ffff}"),
        ] {
            let packed = pack(&Some(&value)).unwrap();
            assert_eq!(unpack::<Value>("value", &packed).unwrap(), value);
        }
    }

    #[test]
    fn json_as_deep_as_a_parser_takes_it_survives_packing() {
        let deep = (0..128).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(unpack::<Value>("value", &pack(&deep).unwrap()).unwrap(), deep);
    }

    #[test]
    fn a_version_that_is_not_known_is_said() {
        let error = unpack::<Value>("reply", &[9, 1]).unwrap_err();
        assert_eq!(error.to_string(), "a stored reply cannot be read: it has version 9");
    }
}
