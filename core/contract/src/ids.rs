//! Identities: of a turn, of a call within it, of a session, of a delivery.

use std::{
    fmt,
    str::FromStr,
    sync::{Arc, Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};
use ulid::{Generator, Ulid};

use crate::place::Address;

/// One message's run. Shown to people as the reference, and used as the W3C trace id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TurnId(pub Ulid);

impl TurnId {
    /// A new id. Ids of one process sort in the order in which they were made, also within a millisecond: stores put
    /// answers in order by them.
    pub fn new() -> Self {
        static GENERATOR: Mutex<Generator> = Mutex::new(Generator::new());
        let mut generator = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
        Self(generator.generate().unwrap_or_else(|overflow| overflow.commit_overflow_increment()))
    }

    /// When the id was made, in milliseconds since 1970.
    pub fn at_ms(self) -> u64 {
        self.0.timestamp_ms()
    }
}

impl Default for TurnId {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for TurnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for TurnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for TurnId {
    type Err = NotAReference;

    fn from_str(text: &str) -> Result<Self, NotAReference> {
        text.trim().to_ascii_uppercase().parse().map(Self).map_err(|_| NotAReference)
    }
}

/// The text is not a reference (26 letters and digits).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a reference: a reference has 26 letters and digits")]
pub struct NotAReference;

/// Where a call stands in its turn: step, call, child, … (`2.1.3`). Its identity over restarts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CallPath(Arc<[u32]>);

impl CallPath {
    /// The place of step `step` (from 1) itself.
    pub fn step(step: u32) -> Self {
        Self(Arc::from([step]))
    }

    /// The path of call `call` (from 1) of step `step` (from 1).
    pub fn top(step: u32, call: u32) -> Self {
        Self(Arc::from([step, call]))
    }

    /// The path of this call's child `n` (from 1).
    pub fn child(&self, n: u32) -> Self {
        Self(self.0.iter().copied().chain([n]).collect())
    }

    /// The call that made this one; nothing when the turn did.
    pub fn parent(&self) -> Option<Self> {
        (self.0.len() > 2).then(|| Self(Arc::from(&self.0[..self.0.len() - 1])))
    }

    /// 1 for a call of the turn itself, 2 for its child, and so on.
    pub fn depth(&self) -> usize {
        self.0.len().saturating_sub(1)
    }

    /// The numbers of the path.
    pub fn parts(&self) -> &[u32] {
        &self.0
    }
}

impl fmt::Display for CallPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, part) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(".")?;
            }
            write!(f, "{part}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for CallPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<CallPath> for String {
    fn from(path: CallPath) -> Self {
        path.to_string()
    }
}

impl TryFrom<String> for CallPath {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.split('.').map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

/// Numbers the nodes of a turn in start order: 1,000 × life + n. For display; [`CallPath`] is the identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub u32);

/// A conversation, whose turns run one after the other. Encodes every part of the place injectively.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionKey(String);

impl SessionKey {
    /// The one function that makes session keys: for messages, commands and buttons alike.
    pub fn of(address: &Address) -> Self {
        let mut key = String::with_capacity(64);
        key.push_str(address.platform.as_str());
        push_part(&mut key, Some(&address.account));
        push_part(&mut key, address.space.as_deref());
        push_part(&mut key, Some(&address.conversation));
        push_part(&mut key, address.thread.as_deref());
        Self(key)
    }

    /// A key read back from where one was printed.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The place that the key stands for, as far as it names one.
    pub fn address(&self) -> Option<Address> {
        let parts: Vec<&str> = self.0.split('/').collect();
        let [platform, account, space, conversation, thread] = parts.as_slice() else { return None };
        let place = Address::new(platform.parse().ok()?, part_of(account)?, part_of(conversation)?);
        Some(Address { space: part_of(space), thread: part_of(thread), ..place })
    }

    /// Sixteen bytes that stand for the key where its text must not appear (a brace would move a cluster slot).
    pub fn hash(&self) -> [u8; 16] {
        crate::digest::short(self.0.as_bytes())
    }

    /// Which of the 64 partitions owns the session's lane.
    pub fn partition(&self) -> u8 {
        self.hash()[0] % PARTITIONS
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whose memory: a conversation's, or one person's in it. Lies where the lane of its conversation lies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct MemoryKey {
    lane: SessionKey,
    /// The lane's key, and behind it the person where each has a memory of their own.
    text: String,
}

impl MemoryKey {
    /// The one function that makes keys of memories. A session's key has five parts, so a sixth is a person.
    pub fn of(conversation: &SessionKey, person: Option<&str>) -> Self {
        let mut text = conversation.as_str().to_owned();
        if let Some(person) = person {
            push_part(&mut text, Some(person));
        }
        Self { lane: conversation.clone(), text }
    }

    /// A key read back from where one was printed.
    pub fn from_text(text: impl Into<String>) -> Self {
        const PARTS: usize = 5;
        let text = text.into();
        let lane = text.match_indices('/').nth(PARTS - 1).map_or(&*text, |(end, _)| &text[..end]);
        Self { lane: SessionKey::from_text(lane), text }
    }

    /// The conversation, whose turns run one after the other whoever's memory they have.
    pub fn lane(&self) -> &SessionKey {
        &self.lane
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Sixteen bytes that stand for the key where its text must not appear.
    pub fn hash(&self) -> [u8; 16] {
        crate::digest::short(self.text.as_bytes())
    }

    /// That of its lane, so that a turn's end and what is remembered of it are one write.
    pub fn partition(&self) -> u8 {
        self.lane.partition()
    }
}

impl fmt::Display for MemoryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<String> for MemoryKey {
    fn from(text: String) -> Self {
        Self::from_text(text)
    }
}

impl From<MemoryKey> for String {
    fn from(key: MemoryKey) -> Self {
        key.text
    }
}

/// Parts as one text, injectively.
pub(crate) fn parts<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    parts.into_iter().fold(String::new(), |mut text, part| {
        push_part(&mut text, Some(part));
        text
    })
}

/// Partitions of the working state; fixed when a store is made.
pub const PARTITIONS: u8 = 64;

/// Absent is `-`; present is `=` and the text with everything but letters, digits, `_` and `-` percent-encoded.
fn push_part(key: &mut String, part: Option<&str>) {
    key.push('/');
    let Some(part) = part else {
        key.push('-');
        return;
    };
    key.push('=');
    for byte in part.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-' {
            key.push(char::from(byte));
        } else {
            key.push_str(&format!("%{byte:02X}"));
        }
    }
}

/// What [`push_part`] wrote.
fn part_of(part: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = part.strip_prefix('=')?.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// Names one delivery of a turn (`turn.n`); 0 is the turn's own reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DeliveryKey {
    pub turn: TurnId,
    pub n: u32,
    pub part: u32,
}

impl DeliveryKey {
    /// The part of the message that shows that an answer is in the making: it has a key of its own, since whoever finds
    /// it has not found the answer.
    pub const DRAFT: u32 = 1 << 30;

    /// Whether it begins what is delivered: it refers to the message that is answered, and takes the place of a deferral.
    pub fn is_first_part(&self) -> bool {
        self.part == 0 || self.part == Self::DRAFT
    }
}

impl fmt::Display for DeliveryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.turn, self.n, self.part)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::place::Platform;

    fn address(space: Option<String>, conversation: String, thread: Option<String>) -> Address {
        Address { space, thread, ..Address::new(Platform::Telegram, "main", conversation) }
    }

    #[test]
    fn a_path_reads_as_it_is_written() {
        let path = CallPath::top(2, 1).child(3);
        assert_eq!(path.to_string(), "2.1.3");
        assert_eq!(CallPath::try_from("2.1.3".to_owned()), Ok(path.clone()));
        assert_eq!(path.parent(), Some(CallPath::top(2, 1)));
        assert_eq!(path.parent().and_then(|p| p.parent()), None);
        assert_eq!(path.depth(), 2);
    }

    #[test]
    fn ids_sort_as_they_were_made() {
        let ids: Vec<_> = (0..10_000).map(|_| TurnId::new()).collect();
        assert!(ids.is_sorted() && ids.windows(2).all(|w| w[0] != w[1]));
    }

    #[test]
    fn a_reference_is_read_in_any_case() {
        let id = TurnId::new();
        assert_eq!(id.to_string().to_lowercase().parse(), Ok(id));
        assert!("not one".parse::<TurnId>().is_err());
    }

    proptest! {
        #[test]
        fn session_keys_are_injective(
            a in (proptest::option::of(".{0,6}"), ".{0,6}", proptest::option::of(".{0,6}")),
            b in (proptest::option::of(".{0,6}"), ".{0,6}", proptest::option::of(".{0,6}")),
        ) {
            let ka = SessionKey::of(&address(a.0.clone(), a.1.clone(), a.2.clone()));
            let kb = SessionKey::of(&address(b.0.clone(), b.1.clone(), b.2.clone()));
            prop_assert_eq!(a == b, ka == kb);
            prop_assert_eq!(ka.address(), Some(address(a.0, a.1, a.2)));
        }
    }

    proptest! {
        #[test]
        fn keys_of_memories_are_injective_and_lie_with_their_lane(
            a in (".{0,6}", proptest::option::of(".{0,6}"), proptest::option::of(".{0,6}")),
            b in (".{0,6}", proptest::option::of(".{0,6}"), proptest::option::of(".{0,6}")),
        ) {
            let key = |(conversation, thread, person): &(String, Option<String>, Option<String>)| {
                MemoryKey::of(&SessionKey::of(&address(None, conversation.clone(), thread.clone())), person.as_deref())
            };
            prop_assert_eq!(a == b, key(&a) == key(&b));
            prop_assert_eq!(MemoryKey::from_text(key(&a).as_str()), key(&a));
            prop_assert_eq!(key(&a).partition(), key(&a).lane().partition());
        }
    }

    #[test]
    fn names_that_look_alike_have_sessions_of_their_own() {
        let key = |c: &str| SessionKey::of(&address(None, c.into(), None));
        assert_ne!(key("a.b"), key("a_b"));
        assert_ne!(key("a b"), key("a_b"));
        assert_ne!(
            SessionKey::of(&address(Some("-".into()), "c".into(), None)),
            SessionKey::of(&address(None, "c".into(), None))
        );
    }
}
