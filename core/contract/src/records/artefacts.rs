//! Artefacts: what was too long to be told whole, kept for a while where it was asked for.

use std::{fmt, str::FromStr, time::Duration};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::Person;
use crate::{digest::short, ids::MemoryKey, seams::StoreDown};

/// How long an artefact is kept.
pub const ARTEFACT_KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// Most bytes of one artefact, and of all of a store; of more the oldest go.
pub const ARTEFACT_MAX: usize = 32 * 1024 * 1024;
pub const ARTEFACTS_MAX: u64 = 1024 * 1024 * 1024;

/// Names an artefact in its place. The same content kept for the same person always has the same one there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ArtefactId([u8; 5]);

impl ArtefactId {
    pub fn of(place: &MemoryKey, person: &Person, body: &str) -> Self {
        let mut all = format!("{place}\0").into_bytes();
        all.extend(person.hash());
        all.extend(body.as_bytes());
        let hash = short(&all);
        Self([hash[0], hash[1], hash[2], hash[3], hash[4]])
    }
}

impl fmt::Display for ArtefactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ArtefactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text names no artefact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a kept result: its name has 10 digits and letters from a to f")]
pub struct NotAnArtefact;

impl FromStr for ArtefactId {
    type Err = NotAnArtefact;

    fn from_str(text: &str) -> Result<Self, NotAnArtefact> {
        let text = text.trim();
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let digits: Option<Vec<u8>> = text.bytes().map(digit).collect();
        match digits.as_deref() {
            Some([a, b, c, d, e, f, g, h, i, j]) => {
                Ok(Self([a << 4 | b, c << 4 | d, e << 4 | f, g << 4 | h, i << 4 | j]))
            }
            _ => Err(NotAnArtefact),
        }
    }
}

impl From<ArtefactId> for String {
    fn from(id: ArtefactId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for ArtefactId {
    type Error = NotAnArtefact;

    fn try_from(text: String) -> Result<Self, NotAnArtefact> {
        text.parse()
    }
}

/// Whole results. They are read only in the place where they were kept, and erased with the person for whom that was.
#[async_trait]
pub trait Artefacts: Send + Sync {
    /// Kept for [`ARTEFACT_KEPT`] from now; nothing when it is larger than [`ARTEFACT_MAX`].
    async fn keep(&self, place: &MemoryKey, person: &Person, body: &str) -> Result<Option<ArtefactId>, StoreDown>;

    /// Nothing when it is not known there, or not any more.
    async fn artefact(&self, place: &MemoryKey, id: ArtefactId) -> Result<Option<String>, StoreDown>;

    /// Erases what was kept for a person; how many there were.
    async fn forget_artefacts(&self, person: &Person) -> Result<u64, StoreDown>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Address, Platform, SessionKey};

    #[test]
    fn a_name_is_of_the_place_and_the_content_and_survives_being_typed() {
        let place = |chat: &str| MemoryKey::of(&SessionKey::of(&Address::new(Platform::Api, "main", chat)), None);
        let person =
            |who: &str| Person { platform: Platform::Api, account: "main".into(), space: None, sender: who.into() };
        let of = |chat: &str, who: &str, body: &str| ArtefactId::of(&place(chat), &person(who), body);
        let id = of("a", "ada", "x");
        assert_eq!(id, of("a", "ada", "x"));
        assert!(id != of("b", "ada", "x") && id != of("a", "ada", "y") && id != of("a", "bob", "x"));
        assert_eq!(id.to_string().to_uppercase().parse(), Ok(id));
        for wrong in ["", "0123456789a", "012345678", "012345678g", "0123 56789"] {
            assert_eq!(wrong.parse::<ArtefactId>(), Err(NotAnArtefact), "{wrong}");
        }
    }
}
