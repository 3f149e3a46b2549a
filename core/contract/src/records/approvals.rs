//! Approvals: a person's yes or no to exactly one call, kept until the call has used it.

use std::{fmt, str::FromStr};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{
    digest::{Digest, short},
    ids::{CallPath, SessionKey, TurnId},
    place::{Address, Caller, Platform},
    seams::StoreDown,
};

/// Names an approval, and with it the partition in which it is kept. The same call of a turn always has the same one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ApprovalId {
    partition: u8,
    n: u64,
}

/// Digits and letters that nobody takes for one another.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Two for the partition, thirteen for the number.
const DIGITS: u32 = 15;

impl ApprovalId {
    pub fn of(session: &SessionKey, turn: TurnId, path: &CallPath) -> Self {
        let hash = short(format!("{turn}\0{path}").as_bytes());
        let n = u64::from_be_bytes([hash[0], hash[1], hash[2], hash[3], hash[4], hash[5], hash[6], hash[7]]);
        Self { partition: session.partition(), n }
    }

    pub fn partition(self) -> u8 {
        self.partition
    }

    /// The number of the message that shows it, `nth` of those of its turn's deliveries that do; nothing else of a turn
    /// has such a number.
    pub fn delivery(self, nth: u8) -> u32 {
        let hash = short(format!("{self}/{nth}").as_bytes());
        CARD | u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]) & (CARD - 1)
    }
}

/// The highest bit of a delivery that is set where it shows an approval.
const CARD: u32 = 1 << 30;

/// Whether a turn's delivery of that number shows an approval.
pub fn is_card(delivery: u32) -> bool {
    delivery >> 30 == 1
}

impl fmt::Display for ApprovalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = u128::from(self.partition) << 65 | u128::from(self.n);
        for place in (0..DIGITS).rev() {
            let digit = (all >> (5 * place)) as usize & 31;
            write!(f, "{}", char::from(ALPHABET[digit]))?;
        }
        Ok(())
    }
}

impl fmt::Debug for ApprovalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text names no approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an approval: its name has 15 letters and digits")]
pub struct NotAnApproval;

impl FromStr for ApprovalId {
    type Err = NotAnApproval;

    fn from_str(text: &str) -> Result<Self, NotAnApproval> {
        let text = text.trim();
        if text.len() != DIGITS as usize {
            return Err(NotAnApproval);
        }
        let mut all: u128 = 0;
        for byte in text.bytes() {
            let digit = ALPHABET.iter().position(|known| *known == byte.to_ascii_lowercase()).ok_or(NotAnApproval)?;
            all = all << 5 | digit as u128;
        }
        let partition = u8::try_from(all >> 65).map_err(|_| NotAnApproval)?;
        let n = u64::try_from(all & ((1 << 65) - 1)).map_err(|_| NotAnApproval)?;
        match partition < crate::ids::PARTITIONS {
            true => Ok(Self { partition, n }),
            false => Err(NotAnApproval),
        }
    }
}

impl From<ApprovalId> for String {
    fn from(id: ApprovalId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for ApprovalId {
    type Error = NotAnApproval;

    fn try_from(text: String) -> Result<Self, NotAnApproval> {
        text.parse()
    }
}

/// A call that waits, or waited, for people: exactly this tool, version, arguments, session and caller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    pub id: ApprovalId,
    pub turn: TurnId,
    pub path: CallPath,
    pub tool: String,
    pub spec: Digest,
    /// Of the arguments as they were converted.
    pub args: Digest,
    pub session: SessionKey,
    /// Who asked for the call.
    pub caller: Caller,
    /// Milliseconds since 1970.
    pub asked_ms: u64,
    pub until_ms: u64,
    pub by: By,
    /// How many have to say yes.
    pub need: u32,
    /// The arguments as people see them: redacted, and cut.
    pub shown: String,
    /// All of them, redacted, where something is cut from what people see.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub whole: String,
    /// What a model said beside the call; untrusted text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// The rule that asks, for operators.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rule: String,
    /// Where it was shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cards: Vec<Card>,
    #[serde(default)]
    pub state: ApprovalState,
}

impl Approval {
    pub fn exact(&self) -> Exact<'_> {
        let Self { tool, spec, args, session, caller, by, need, .. } = self;
        Exact { tool, spec: *spec, args: *args, session, caller, by: *by, need: *need }
    }

    /// The arguments with nothing left out but secrets, as far as they are kept.
    pub fn arguments(&self) -> &str {
        if self.whole.is_empty() { &self.shown } else { &self.whole }
    }
}

/// What a yes is bound to.
#[derive(Debug, Clone, Copy)]
pub struct Exact<'a> {
    pub tool: &'a str,
    pub spec: Digest,
    pub args: Digest,
    pub session: &'a SessionKey,
    pub caller: &'a Caller,
    /// Who had to say it, and how many: a rule that asks for more is asked anew.
    pub by: By,
    pub need: u32,
}

impl Exact<'_> {
    /// The same for the same call of the same person in the same session, under the same demand.
    pub fn digest(&self) -> Digest {
        let Caller { platform, account, space, sender, .. } = self.caller;
        let space = space.as_deref().unwrap_or_default();
        let Self { tool, spec, args, session, by, need, .. } = self;
        let by = by.as_str();
        let all =
            format!("{tool}\0{spec}\0{args}\0{session}\0{platform}\0{account}\0{space}\0{}\0{by}\0{need}", sender.id);
        Digest::of(all.as_bytes())
    }
}

/// A message that shows an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// The number of the turn's delivery, which has its receipts.
    pub n: u32,
    pub to: Address,
}

/// Who may answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// The person who asked for the call confirms it.
    Requester,
    /// Somebody else whom policy names.
    Approver,
}

impl By {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requester => "requester",
            Self::Approver => "approver",
        }
    }
}

/// Where an approval stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalState {
    /// With those who said yes so far, where more than one has to.
    Asked {
        yes: Vec<Decider>,
    },
    Allowed {
        by: Vec<Decider>,
        extent: Extent,
    },
    Refused {
        by: Decider,
        why: String,
    },
    Expired {
        at_ms: u64,
    },
    /// By nobody's answer: the turn was stopped, or the tool is another one by now.
    Withdrawn {
        why: String,
        at_ms: u64,
    },
    /// The call has started.
    Used {
        by: Vec<Decider>,
        extent: Extent,
    },
}

impl Default for ApprovalState {
    fn default() -> Self {
        Self::Asked { yes: Vec::new() }
    }
}

impl ApprovalState {
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Asked { .. })
    }

    /// Whether the call may start, or may have started, by it.
    pub fn is_yes(&self) -> bool {
        matches!(self, Self::Allowed { .. } | Self::Used { .. })
    }

    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Asked { .. } => "asked",
            Self::Allowed { .. } => "allowed",
            Self::Refused { .. } => "refused",
            Self::Expired { .. } => "expired",
            Self::Withdrawn { .. } => "withdrawn",
            Self::Used { .. } => "used",
        }
    }

    /// Its number where it is stored, which never changes.
    pub const fn number(&self) -> u8 {
        match self {
            Self::Asked { .. } => 0,
            Self::Allowed { .. } => Self::ALLOWED,
            Self::Refused { .. } => 2,
            Self::Expired { .. } => 3,
            Self::Withdrawn { .. } => 4,
            Self::Used { .. } => Self::USED,
        }
    }

    pub const ALLOWED: u8 = 1;
    pub const USED: u8 = 5;
}

/// What a yes is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Extent {
    Once,
    /// The same call by the same person in the same session, as often as it is asked for.
    Session,
}

/// Who answered, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decider {
    pub platform: Platform,
    pub account: String,
    pub id: String,
    /// Untrusted text for display.
    #[serde(default)]
    pub name: String,
    pub at_ms: u64,
}

impl Decider {
    /// The same human, through whichever account.
    pub fn is_same_person(&self, other: &Self) -> bool {
        (self.platform, &self.id) == (other.platform, &other.id)
    }
}

/// What became of a wish to change an approval's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// `woke`: its turn, which was parked, is at the front of its lane.
    Made { woke: bool },
    /// Its state is another one by now, or it is not known any more.
    Late,
}

/// Why an approval is not told.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NotRead {
    #[error(transparent)]
    Down(#[from] StoreDown),
    /// The store answers; another version of the gateway wrote what it says.
    #[error("{0}")]
    Unreadable(String),
}

impl From<NotRead> for StoreDown {
    fn from(why: NotRead) -> Self {
        match why {
            NotRead::Down(down) => down,
            NotRead::Unreadable(why) => Self(why),
        }
    }
}

/// The approvals. They are asked for and used up by changes of their turn's record
/// ([`Change::Ask`](super::Change::Ask), [`Change::Use`](super::Change::Use)).
#[async_trait]
pub trait Approvals: Send + Sync {
    /// Compare-and-set from the state that `approval` has. In the same write, unless it is still open then: its turn goes
    /// back to the front of its lane if it is parked.
    async fn settle(&self, approval: &Approval, to: &ApprovalState) -> Result<Settled, StoreDown>;

    /// As [`Approvals::settle`] for one that cannot be read: whatever it says, if nobody has decided it. Its turn is named
    /// by who waits for it.
    async fn settle_unread(
        &self,
        id: ApprovalId,
        turn: TurnId,
        session: &SessionKey,
        to: &ApprovalState,
    ) -> Result<Settled, StoreDown>;

    async fn approval(&self, id: ApprovalId) -> Result<Option<Approval>, NotRead>;

    /// Those that wait for an answer, the next to expire first; at most so many.
    async fn open_approvals(&self, most: usize) -> Result<Vec<Approval>, StoreDown>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_short_survives_being_typed_and_names_its_partition() {
        for n in 0..200 {
            let session = SessionKey::from_text(format!("s{n}"));
            let id = ApprovalId::of(&session, TurnId::new(), &CallPath::top(1, 1));
            let text = id.to_string();
            assert_eq!((text.len(), text.to_uppercase().parse()), (15, Ok(id)));
            assert_eq!(id.partition(), session.partition());
            assert!(is_card(id.delivery(0)) && id.delivery(0) != id.delivery(1));
        }
        for wrong in ["", "zzzzzzzzzzzzzzz", "0000000000000u0", "01ARZ3NDEKTSV4RRFFQ69G5FAV"] {
            assert_eq!(wrong.parse::<ApprovalId>(), Err(NotAnApproval), "{wrong}");
        }
        assert!(!is_card(0) && !is_card(0x8000_0001));
    }
}
