//! Schedules: what somebody wishes to be asked again and again, and where the answers go.

use std::{fmt, str::FromStr};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::Person;
use crate::{
    digest::short,
    ids::{SessionKey, TurnId},
    place::{Address, Caller},
    seams::StoreDown,
};

/// Most schedules of one person, in all their conversations with one account.
pub const SCHEDULES_PER_PERSON: usize = 20;
/// Most schedules of one tenant.
pub const SCHEDULES_PER_TENANT: usize = 1_000;
/// Most characters of what a schedule says, and of its name.
pub const SCHEDULE_SAYS_MAX: usize = 4_000;
pub const SCHEDULE_NAME_MAX: usize = 60;

/// Names a schedule. What one turn makes has the same id however often the turn is taken up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ScheduleId(u64);

/// Digits and letters that nobody takes for one another.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const DIGITS: u32 = 8;
/// What the key of a schedule's session begins with; no platform has that name.
const SESSION: &str = "schedule:";

impl ScheduleId {
    /// The `nth` that a turn makes.
    pub fn made_by(turn: TurnId, nth: u32) -> Self {
        let hash = short(format!("{turn}\0{nth}").as_bytes());
        let n = u64::from_be_bytes([hash[0], hash[1], hash[2], hash[3], hash[4], hash[5], hash[6], hash[7]]);
        Self(n >> (64 - 5 * DIGITS))
    }

    /// The session of its turns: a lane and a memory of its own, so that no chat waits for it.
    pub fn session(self) -> SessionKey {
        SessionKey::from_text(format!("{SESSION}{self}"))
    }

    /// The schedule whose session that is.
    pub fn of_session(session: &SessionKey) -> Option<Self> {
        session.as_str().strip_prefix(SESSION)?.parse().ok()
    }

    pub fn partition(self) -> u8 {
        self.session().partition()
    }
}

impl fmt::Display for ScheduleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for place in (0..DIGITS).rev() {
            write!(f, "{}", char::from(ALPHABET[(self.0 >> (5 * place)) as usize & 31]))?;
        }
        Ok(())
    }
}

impl fmt::Debug for ScheduleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text names no schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a schedule: its name has 8 letters and digits")]
pub struct NotASchedule;

impl FromStr for ScheduleId {
    type Err = NotASchedule;

    fn from_str(text: &str) -> Result<Self, NotASchedule> {
        let text = text.trim();
        if text.len() != DIGITS as usize {
            return Err(NotASchedule);
        }
        text.bytes().try_fold(Self(0), |Self(all), byte| {
            let digit = ALPHABET.iter().position(|known| *known == byte.to_ascii_lowercase()).ok_or(NotASchedule)?;
            Ok(Self(all << 5 | digit as u64))
        })
    }
}

impl From<ScheduleId> for String {
    fn from(id: ScheduleId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for ScheduleId {
    type Error = NotASchedule;

    fn try_from(text: String) -> Result<Self, NotASchedule> {
        text.parse()
    }
}

/// Something that is asked on somebody's behalf when it is time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    pub id: ScheduleId,
    /// Counted up by each change of it.
    #[serde(default)]
    pub version: u64,
    /// What people call it; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// On whose behalf, in the place where it was made. Roles are asked anew for each run.
    pub owner: Caller,
    /// Whether `owner`'s place is a conversation with them alone.
    #[serde(default)]
    pub direct: bool,
    /// Whether the platform is asked if the owner is in that place: then whoever left it has lost it.
    #[serde(default)]
    pub member: bool,
    /// An operator made it: the destination is one that the owner need not be able to write to.
    #[serde(default)]
    pub by_operator: bool,
    /// The owner's language as the platform said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// A command, or words for a model.
    pub say: String,
    pub when: When,
    /// The name of the time zone that `when` is read in.
    pub zone: String,
    #[serde(default)]
    pub missed: Missed,
    /// Where the answers go.
    pub to: Address,
    pub made_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<Paused>,
    /// When it is due; nothing while it is paused, and when it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Ran>,
    /// How many of its last runs, in a row, were refused for want of a right.
    #[serde(default)]
    pub refused: u32,
    /// How often it was due and not run: the gateway was away too long, or the run before was not over.
    #[serde(default)]
    pub left_out: u64,
}

impl Schedule {
    /// Whether that is its owner, wherever they are now.
    pub fn is_of(&self, caller: &Caller) -> bool {
        Person::of(&self.owner).hash() == Person::of(caller).hash()
    }

    /// Its name, or the first words of what it says.
    pub fn title(&self) -> String {
        let title = if self.name.is_empty() { &self.say } else { &self.name };
        crate::text::one_line(title, SCHEDULE_NAME_MAX)
    }

    /// Where its owner is.
    pub fn from(&self) -> Address {
        let Caller { platform, account, space, conversation, thread, .. } = &self.owner;
        let from = Address::new(*platform, account, conversation);
        Address { space: space.clone(), thread: thread.clone(), direct: self.direct, ..from }
    }

    /// Whether its answers go to another conversation, or another thread of it, than the owner's.
    pub fn goes_elsewhere(&self) -> bool {
        let Caller { platform, account, conversation, thread, .. } = &self.owner;
        (platform, account) != (&self.to.platform, &self.to.account)
            || (conversation, thread) != (&self.to.conversation, &self.to.thread)
    }
}

/// When a schedule is due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// Minute, hour, day of the month, month, day of the week.
    Cron(String),
    /// Every so many minutes, counted from a time.
    Every { minutes: u32, from_ms: u64 },
    /// Once.
    At { ms: u64 },
}

/// What becomes of runs that were due while the gateway was away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Missed {
    /// They are left out.
    Skip,
    /// The latest of them is made up for, unless it was due too long ago.
    #[default]
    Latest,
}

impl Missed {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Latest => "latest",
        }
    }
}

impl FromStr for Missed {
    type Err = NotMissed;

    fn from_str(text: &str) -> Result<Self, NotMissed> {
        [Self::Skip, Self::Latest].into_iter().find(|missed| missed.as_str() == text).ok_or(NotMissed)
    }
}

/// Neither of the two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("what was missed is left out ('skip'), or its latest is made up for ('latest')")]
pub struct NotMissed;

/// That a schedule rests, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    pub why: String,
    pub at_ms: u64,
    /// By the gateway, not by a person.
    #[serde(default)]
    pub by_itself: bool,
}

/// A run of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    pub due_ms: u64,
    pub turn: TurnId,
}

/// Which schedules are asked for.
#[derive(Debug, Clone, Default)]
pub struct ScheduleQuery {
    pub owner: Option<Person>,
    pub tenant: Option<String>,
    /// At most this many; 0 means as many as a tenant may have.
    pub most: usize,
}

/// What became of a wish to write a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    Made,
    /// Another version of it is stored, or none.
    Late,
    /// Its owner, or its tenant, has as many as may be.
    TooMany {
        of_tenant: bool,
    },
}

/// The schedules. Few, and changed seldom.
#[async_trait]
pub trait Schedules: Send + Sync {
    /// Compare-and-set: stored when the version that is there is one less than this one's; 1 is for one that is new. A
    /// repeat of the same write is [`Put::Made`].
    async fn put(&self, schedule: &Schedule) -> Result<Put, StoreDown>;

    /// Whether it was there.
    async fn remove(&self, id: ScheduleId) -> Result<bool, StoreDown>;

    async fn schedule(&self, id: ScheduleId) -> Result<Option<Schedule>, StoreDown>;

    /// Oldest first.
    async fn schedules(&self, query: &ScheduleQuery) -> Result<Vec<Schedule>, StoreDown>;

    /// Those that are due next, soonest first, whether or not it is time.
    async fn due(&self, most: usize) -> Result<Vec<Schedule>, StoreDown>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_short_survives_being_typed_and_names_its_session() {
        for n in 0..200 {
            let id = ScheduleId::made_by(TurnId::new(), n);
            let text = id.to_string();
            assert_eq!((text.len(), text.to_uppercase().parse()), (8, Ok(id)));
            assert_eq!(ScheduleId::of_session(&id.session()), Some(id));
            assert_eq!(id.partition(), id.session().partition());
        }
        for wrong in ["", "1234567", "123456789", "1234567u", "l2345678"] {
            assert_eq!(wrong.parse::<ScheduleId>(), Err(NotASchedule), "{wrong}");
        }
        assert_eq!(ScheduleId::of_session(&SessionKey::from_text("telegram/=main/-/=1/-")), None);
    }

    #[test]
    fn what_one_turn_makes_has_the_same_id_each_time() {
        let turn = TurnId::new();
        assert_eq!(ScheduleId::made_by(turn, 1), ScheduleId::made_by(turn, 1));
        assert_ne!(ScheduleId::made_by(turn, 1), ScheduleId::made_by(turn, 2));
    }
}
