//! Sessions as operators see and change them.

use std::sync::Arc;

use contract::{
    Caller, MemoryKey, Platform, StoreDown, TurnId,
    records::{Erased, ITEMS_MAX, Item, Person, Session, SessionChange, SessionId, SessionQuery, Visit},
    text,
};

use super::here::{address_of, mounted_rights, visit};
use crate::{gateway::Gateway, pairing, snapshot::ToolList};

/// Why nothing was mounted.
#[derive(Debug, thiserror::Error)]
pub enum NotMounted {
    /// A name that no tool and no toolset has, and the nearest that one has.
    #[error("no tool or toolset is called '{0}'")]
    Unknown(String, Option<String>),
    #[error("there is no such session")]
    NoSession,
    #[error(transparent)]
    Down(#[from] StoreDown),
}

/// The session of that id, or the current one of the place with that key.
pub async fn session_of(sessions: &dyn contract::records::Sessions, which: &str) -> Result<Option<Session>, StoreDown> {
    if let Ok(id) = which.parse::<SessionId>() {
        return sessions.get(id).await;
    }
    let nobody = Person { platform: Platform::Console, account: String::new(), space: None, sender: String::new() };
    let place = MemoryKey::from_text(which);
    sessions.current(&Visit { place, person: nobody, tenant: String::new(), turn: TurnId::new() }).await
}

impl Gateway {
    pub async fn sessions(&self, query: &SessionQuery) -> Result<Vec<Session>, StoreDown> {
        self.inner.stores.sessions.list(query).await
    }

    /// A session by its id, or the current one by the key of its place.
    pub async fn session(&self, which: &str) -> Result<Option<Session>, StoreDown> {
        session_of(&*self.inner.stores.sessions, which).await
    }

    /// What it remembers, oldest first.
    pub async fn items(&self, session: &Session) -> Result<Vec<Item>, StoreDown> {
        self.inner.stores.sessions.items(session, None, ITEMS_MAX).await
    }

    /// Exactly the list that a model would be sent in the session that is current where the caller is.
    pub async fn tools_here(&self, caller: &Caller) -> Result<Arc<ToolList>, StoreDown> {
        let snapshot = self.snapshot();
        let visit = visit(&snapshot.policies, caller, &address_of(caller), TurnId::new());
        let session = self.inner.stores.sessions.current(&visit).await?;
        let names = session.and_then(|session| session.mounted);
        let mounted = names.map(|names| mounted_rights(&snapshot.tools, &names));
        Ok(snapshot.list_in(caller, mounted.as_ref()))
    }

    /// Lets a session use these tools and toolsets alone; all that policy shows, where there are none.
    pub async fn mount(&self, which: &str, names: Option<Vec<String>>) -> Result<Session, NotMounted> {
        self.are_known(names.as_deref().unwrap_or_default())?;
        let session = self.session(which).await?.ok_or(NotMounted::NoSession)?;
        let change = SessionChange::Mount(names.clone());
        if !self.inner.stores.sessions.change(&session, &change).await? {
            return Err(NotMounted::NoSession);
        }
        let current = session_of(&*self.inner.stores.sessions, session.place.as_str()).await?;
        if current.is_some_and(|current| current.id == session.id) {
            self.inner.mounts.know(&session.place, names.as_deref());
        }
        Ok(Session { mounted: names, ..session })
    }

    fn are_known(&self, names: &[String]) -> Result<(), NotMounted> {
        let snapshot = self.snapshot();
        let known = || snapshot.tools.tools().iter().flat_map(|tool| [&*tool.name, &*tool.spec.toolset]);
        match names.iter().find(|name| !known().any(|known| known == **name)) {
            Some(unknown) => {
                let nearest = text::nearest(unknown, known()).map(str::to_owned);
                Err(NotMounted::Unknown(unknown.clone(), nearest))
            }
            None => Ok(()),
        }
    }

    /// Forgets a session; the next message there begins anew. Nothing when there is none.
    pub async fn reset_session(&self, which: &str) -> Result<Option<Session>, StoreDown> {
        let Some(session) = self.session(which).await? else { return Ok(None) };
        self.inner.stores.sessions.erase(&session).await?;
        self.inner.mounts.know(&session.place, None);
        Ok(Some(session))
    }

    /// Erases what is stored of a person, and lets them in no more where they had been let in.
    pub async fn forget(&self, person: &Person) -> Result<(Erased, bool), StoreDown> {
        let account = (person.platform, person.account.clone());
        let was_let_in = pairing::remove(&self.inner, account, &person.sender).await?;
        Ok((self.inner.stores.people.forget(person).await?, was_let_in))
    }
}
