//! What both stores keep of a session besides its hot fields.

use contract::{
    MemoryKey, Node, StoreDown, TurnId,
    records::{Item, Person, Remembered, Session, SessionId, TurnLine, Visit},
};
use serde::{Deserialize, Serialize};
use ulid::Ulid;

use crate::pack::{Unreadable, pack, unpack};

/// What stays as it was when the session began.
#[derive(Serialize, Deserialize)]
pub struct Head {
    pub place: MemoryKey,
    pub owner: Person,
    pub tenant: String,
}

impl Head {
    pub fn packed(visit: &Visit) -> Result<Vec<u8>, StoreDown> {
        pack(&Self { place: visit.place.clone(), owner: visit.person.clone(), tenant: visit.tenant.clone() })
    }

    pub fn unpack(bytes: &[u8]) -> Result<Self, Unreadable> {
        unpack("head of a session", bytes)
    }

    /// The session, with nothing of what changes.
    pub fn into_session(self, id: SessionId) -> Session {
        let visit = Visit { place: self.place, person: self.owner, tenant: self.tenant, turn: TurnId(id.0) };
        Session::new(&visit, id, 0)
    }
}

/// The head of a session whose owner is not known any more.
pub fn without_sender(session: &Session) -> Result<Vec<u8>, StoreDown> {
    let owner = Person { sender: String::new(), ..session.owner.clone() };
    pack(&Head { place: session.place.clone(), owner, tenant: session.tenant.clone() })
}

/// How far a session is noted from which something was taken out: older than every turn, and never the same, so that it is
/// known from what stood there before.
pub fn nothing_noted() -> TurnId {
    TurnId(Ulid::from_parts(0, TurnId::new().0.random()))
}

/// A fact as it is stored: found by whom it is of, told in the space where it was said.
#[derive(PartialEq, Serialize, Deserialize)]
pub struct KeptFact {
    pub space: Option<String>,
    pub text: String,
}

/// An item with all that is needed to put it into the session of its turn.
#[derive(Debug, Clone)]
pub struct Put {
    pub place: [u8; 16],
    pub turn: TurnId,
    pub platform: &'static str,
    pub owner: [u8; 16],
    pub tenant: String,
    pub head: Vec<u8>,
    pub title: String,
    pub item: Vec<u8>,
}

impl Put {
    pub fn of(what: &Remembered) -> Result<Self, StoreDown> {
        Ok(Self { title: what.title(), item: pack(&what.item)?, ..Self::visit(&what.visit)? })
    }

    /// A place without anything to be remembered there.
    pub fn visit(visit: &Visit) -> Result<Self, StoreDown> {
        Ok(Self {
            place: visit.place.hash(),
            turn: visit.turn,
            platform: visit.person.platform.as_str(),
            owner: visit.person.hash(),
            tenant: visit.tenant.clone(),
            head: Head::packed(visit)?,
            title: String::new(),
            item: Vec::new(),
        })
    }
}

pub fn read_items(packed: &[Vec<u8>]) -> Vec<Item> {
    packed.iter().filter_map(|item| crate::readable(unpack("item of a session", item))).collect()
}

/// The least number that no fact has.
pub fn free_number(facts: &[(u32, KeptFact)]) -> u32 {
    (1..).find(|n| facts.iter().all(|(taken, _)| taken != n)).unwrap_or(u32::MAX)
}

/// Whose a turn is, in whichever space.
pub trait Belongs {
    /// By the root of its tree, else by its line in the index, which does not say of which account.
    fn asked(&self, root: Option<&Node>, line: Option<&TurnLine>) -> bool;
}

impl Belongs for Person {
    fn asked(&self, root: Option<&Node>, line: Option<&TurnLine>) -> bool {
        match root.and_then(|root| root.place.as_ref()) {
            Some(place) => Self::of(&place.caller).hash() == self.hash(),
            None => line.is_some_and(|line| line.platform == self.platform && line.sender == self.sender),
        }
    }
}
