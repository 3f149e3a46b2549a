//! Pairing: a stranger is shown a code, an operator lets in whose code it is, and the person is heard from then on.
//!
//! The code only says which request is meant; it lets nobody in by itself. People are stored; codes are in memory, so that
//! after a restart a stranger is shown a new one.

mod code;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use contract::{Address, Audience, Caller, Kind, Locale, Message, Platform, Reply, StoreDown};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use tracing::warn;

use crate::{delivery, gate::Admitted, gateway::Inner, show, turn::now_ms};
use code::Code;

/// How long a code is good for; a person is shown one in this time.
const CODE_LASTS: Duration = Duration::from_secs(3_600);
/// Most requests of an account that wait for an operator.
const WAITING_MAX: usize = 100;
/// Most people who are let in at an account.
const PEOPLE_MAX: usize = 1_000;
/// How often the list is read again when somebody speaks: another process may have let them in, or removed them.
const READ_EVERY: Duration = Duration::from_secs(10);
/// Wrong codes in [`TRIES_IN`] before none is looked at.
const TRIES_MAX: u32 = 10;
const TRIES_IN: Duration = Duration::from_secs(60);

type Account = (Platform, String);

/// Who was let in, and who asks.
#[derive(Default)]
pub(crate) struct Pairing {
    state: Mutex<State>,
    /// A stored list is changed, or read to be remembered, one at a time.
    changing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    people: HashMap<Account, Known>,
    waiting: HashMap<Account, Vec<Waiting>>,
    /// Wrong codes since.
    tries: (u32, Option<Instant>),
}

/// An account's list as it was last read.
#[derive(Default)]
struct Known {
    people: People,
    read: Option<Instant>,
}

/// By the platform's id of the person.
type People = BTreeMap<String, Person>;

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Person {
    name: String,
    since_ms: u64,
}

struct Waiting {
    code: Code,
    address: Address,
    sender: contract::Sender,
    locale: Locale,
    since: Instant,
}

/// The request that a code names.
struct Found {
    account: Account,
    address: Address,
    sender: contract::Sender,
    locale: Locale,
}

/// Everybody who was let in, and everybody who asks.
#[derive(Debug, Clone, Default)]
pub struct Pairings {
    pub people: Vec<Paired>,
    pub waiting: Vec<Asking>,
}

/// A person who is heard because an operator let them in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paired {
    pub platform: Platform,
    pub account: String,
    /// The platform's id; the name is what they call themselves.
    pub sender: String,
    pub name: String,
    /// Milliseconds since 1970.
    pub since_ms: u64,
}

/// A person who was shown a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asking {
    pub code: String,
    pub platform: Platform,
    pub account: String,
    pub sender: String,
    pub name: String,
    pub left: Duration,
}

/// Why nobody was let in.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NotPaired {
    #[error("no request that still holds has this code")]
    NoSuchCode,
    #[error("too many wrong codes; try again in a minute")]
    TooMany,
    #[error("{PEOPLE_MAX} people are let in there already; remove some first")]
    Full,
    #[error(transparent)]
    Down(#[from] StoreDown),
}

fn key(account: &Account) -> String {
    format!("pairing/{}/{}", account.0, account.1)
}

/// A message of somebody whom only pairing can let in.
pub(crate) async fn admit(inner: &Arc<Inner>, message: &Message, caller: &Caller) -> Result<Admitted, StoreDown> {
    // A bot reads no code to an operator.
    if message.from_bot {
        return Ok(Admitted::NotHeard);
    }
    if is_let_in(inner, caller).await? {
        return Ok(Admitted::Heard);
    }
    if matches!(message.kind, Kind::Reaction { .. } | Kind::Edit { .. }) {
        return Ok(Admitted::NotHeard);
    }
    let account = (caller.platform, caller.account.clone());
    let locale = inner.snapshot.load().locale(message, caller);
    Ok(inner.pairing.ask(account, message, locale).map_or(Admitted::NotHeard, |code| Admitted::Answered(words(&code))))
}

/// Whether an operator has let the sender in, as of some seconds ago. While the store is away, who was known is.
pub(crate) async fn is_let_in(inner: &Inner, caller: &Caller) -> Result<bool, StoreDown> {
    let (pairing, account) = (&inner.pairing, (caller.platform, caller.account.clone()));
    let was_known = pairing.knows(&account, &caller.sender.id);
    if !pairing.is_stale(&account) {
        return Ok(was_known);
    }
    // Together with changes, lest an older list takes the place of a newer; who waited finds it read.
    let _changing = pairing.changing.lock().await;
    if pairing.is_stale(&account) {
        match read(inner, &account).await {
            Ok(people) => pairing.keep(&account, people),
            Err(_) if was_known => pairing.postpone(&account),
            Err(down) => return Err(down),
        }
    }
    Ok(pairing.knows(&account, &caller.sender.id))
}

fn words(code: &Code) -> String {
    format!(
        "I answer only people whom my operator has let in. Give the operator this code: {code} (it holds for 1 hour)"
    )
}

/// The stored list.
async fn read(inner: &Inner, account: &Account) -> Result<People, StoreDown> {
    let Some(stored) = inner.stores.cursors.load(&key(account)).await? else { return Ok(People::new()) };
    serde_json::from_slice(&stored).map_err(|error| {
        warn!(account = account.1, %error, "the stored list of paired people cannot be read");
        StoreDown(format!("the list '{}' cannot be read", key(account)))
    })
}

impl Pairing {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn knows(&self, account: &Account, sender: &str) -> bool {
        self.lock().people.get(account).is_some_and(|known| known.people.contains_key(sender))
    }

    fn is_stale(&self, account: &Account) -> bool {
        let state = self.lock();
        let read = state.people.get(account).and_then(|known| known.read);
        read.is_none_or(|at| at.elapsed() >= READ_EVERY)
    }

    fn keep(&self, account: &Account, people: People) {
        self.lock().people.insert(account.clone(), Known { people, read: Some(Instant::now()) });
    }

    /// The list could not be read, and is read again later.
    fn postpone(&self, account: &Account) {
        if let Some(known) = self.lock().people.get_mut(account) {
            known.read = Some(Instant::now());
        }
    }

    /// A new request's code; nothing when the person has one, or too many wait.
    fn ask(&self, account: Account, message: &Message, locale: Locale) -> Option<Code> {
        let mut state = self.lock();
        let waiting = state.waiting.entry(account).or_default();
        waiting.retain(|asking| asking.since.elapsed() < CODE_LASTS);
        let has_one = waiting.iter().any(|asking| asking.sender.id == message.sender.id);
        if has_one || waiting.len() >= WAITING_MAX {
            return None;
        }
        let code = Code::new();
        let (address, sender, since) = (message.address.clone(), message.sender.clone(), Instant::now());
        waiting.push(Waiting { code: code.clone(), address, sender, locale, since });
        Some(code)
    }

    /// The request that a code names. Every code is compared to its end, whichever fits.
    fn find(&self, given: &str) -> Result<Found, NotPaired> {
        let mut state = self.lock();
        let (wrong, since) = &mut state.tries;
        if since.is_none_or(|at| at.elapsed() >= TRIES_IN) {
            (*wrong, *since) = (0, Some(Instant::now()));
        }
        if *wrong >= TRIES_MAX {
            return Err(NotPaired::TooMany);
        }
        *wrong += 1;
        let given = Code::read(given);
        let mut found = None;
        for (account, waiting) in &state.waiting {
            for asking in waiting.iter().filter(|asking| asking.since.elapsed() < CODE_LASTS) {
                if asking.code.is(&given) {
                    found = Some(Found {
                        account: account.clone(),
                        address: asking.address.clone(),
                        sender: asking.sender.clone(),
                        locale: asking.locale,
                    });
                }
            }
        }
        let found = found.ok_or(NotPaired::NoSuchCode)?;
        // A right code is no try.
        state.tries.0 -= 1;
        Ok(found)
    }

    fn settled(&self, account: &Account, sender: &str) {
        if let Some(waiting) = self.lock().waiting.get_mut(account) {
            waiting.retain(|asking| asking.sender.id != sender);
        }
    }

    fn waiting(&self) -> Vec<Asking> {
        let state = self.lock();
        let all = state.waiting.iter().flat_map(|(account, waiting)| waiting.iter().map(move |w| (account, w)));
        let live = all.filter_map(|(account, w)| {
            let left = CODE_LASTS.checked_sub(w.since.elapsed()).filter(|left| !left.is_zero())?;
            Some((account, w, left))
        });
        let mut asking: Vec<_> = live
            .map(|((platform, account), w, left)| Asking {
                code: w.code.to_string(),
                platform: *platform,
                account: account.clone(),
                sender: w.sender.id.clone(),
                name: contract::text::one_line(&w.sender.name, 64),
                left,
            })
            .collect();
        asking.sort_by_key(|asking| std::cmp::Reverse(asking.left));
        asking
    }
}

/// Everybody at the connected accounts.
pub(crate) async fn all(inner: &Inner) -> Result<Pairings, StoreDown> {
    let mut accounts = inner.accounts();
    accounts.sort();
    let mut people = Vec::new();
    let _changing = inner.pairing.changing.lock().await;
    for account in accounts.into_iter().filter(|(platform, _)| !platform.is_pull()) {
        let read = read(inner, &account).await?;
        people.extend(read.iter().map(|(sender, person)| paired(&account, sender, person)));
        inner.pairing.keep(&account, read);
    }
    Ok(Pairings { people, waiting: inner.pairing.waiting() })
}

fn paired((platform, account): &Account, sender: &str, person: &Person) -> Paired {
    Paired {
        platform: *platform,
        account: account.clone(),
        sender: sender.to_owned(),
        name: person.name.clone(),
        since_ms: person.since_ms,
    }
}

/// Lets in whose code it is; the person is told.
pub(crate) async fn approve(inner: &Arc<Inner>, given: &str) -> Result<Paired, NotPaired> {
    let Found { account, address, sender, locale } = inner.pairing.find(given)?;
    let person = Person { name: contract::text::one_line(&sender.name, 64), since_ms: now_ms() };
    let _changing = inner.pairing.changing.lock().await;
    let mut people = read(inner, &account).await?;
    if people.len() >= PEOPLE_MAX && !people.contains_key(&sender.id) {
        return Err(NotPaired::Full);
    }
    people.insert(sender.id.clone(), person.clone());
    write(inner, &account, people).await?;
    inner.pairing.settled(&account, &sender.id);
    let words = words::signal("The operator has let you in: I answer you from now on.", locale);
    let audience = if show::can_be_private(inner, &address) { Audience::Sender } else { Audience::Everyone };
    delivery::say_once(inner, &address, Reply { locale, audience, ..Reply::text(words) });
    Ok(paired(&account, &sender.id, &person))
}

/// Whether the person had been let in.
pub(crate) async fn remove(inner: &Inner, account: Account, sender: &str) -> Result<bool, StoreDown> {
    let _changing = inner.pairing.changing.lock().await;
    let mut people = read(inner, &account).await?;
    let was = people.remove(sender).is_some();
    write(inner, &account, people).await?;
    Ok(was)
}

async fn write(inner: &Inner, account: &Account, people: People) -> Result<(), StoreDown> {
    let stored = serde_json::to_vec(&people).map_err(|error| StoreDown(error.to_string()))?;
    inner.stores.cursors.save(&key(account), &stored).await?;
    inner.pairing.keep(account, people);
    Ok(())
}

#[cfg(test)]
mod tests;
