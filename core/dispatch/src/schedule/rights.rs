//! By which rights a schedule runs: what its owner may in their own place, with the roles that they have by now, and what
//! the place allows where its answers go.

use std::time::Duration;

use contract::{
    Address, Caller, Code, DeliveryError, Failure, Opaque, Origin, Platform, Private, SessionKey, StoreDown,
    records::{Record, Schedule, ScheduleId, ScheduleQuery, SessionQuery},
};
use policies::Rights;
use tokio_util::sync::CancellationToken;

use crate::{
    gate,
    gateway::{Connected, Inner},
    session::address_of,
    snapshot::Snapshot,
};

/// How long a platform may take to say which roles somebody has, and how long it is left alone before it is asked again.
const ROLES_DEADLINE: Duration = Duration::from_secs(5);
const ROLES_PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];
/// Sessions that are looked through for a conversation that somebody names.
const KNOWN_MOST: usize = 1_000;

/// Where a run of a schedule stands.
pub(crate) struct Standing {
    pub id: ScheduleId,
    /// Nothing once it was removed: nobody says any more what its runs may do.
    pub schedule: Option<Schedule>,
    /// Where its owner is: they are asked there, not where the answer goes.
    pub from: Address,
    /// What policy sees where the answer goes, where that is another conversation.
    pub there: Option<Caller>,
    /// Why it does not run.
    pub lacks: Option<Failure>,
}

/// The owner of a turn's schedule as they are now, and where the run stands. Nothing for any other turn.
pub(crate) async fn standing(inner: &Inner, record: &Record, cancel: &CancellationToken) -> Option<(Caller, Standing)> {
    let id = ScheduleId::of_session(&record.session)?;
    let found = tokio::select! {
        found = found(inner, id) => found,
        () = cancel.cancelled() => None,
        () = inner.kill.cancelled() => None,
    };
    let from = found.as_ref().map_or_else(|| address_of(&record.caller), Schedule::from);
    let standing = Standing { id, schedule: found, from, there: None, lacks: None };
    let owner = record.caller.clone();
    if cancel.is_cancelled() {
        return Some((owner, standing));
    }
    let to = &record.message.address;
    Some(match checked(inner, &standing, &owner, to).await {
        Ok((owner, there)) => (owner, Standing { there, ..standing }),
        // Nothing is gained by what could not be looked up.
        Err(lacks) => {
            let there = is_elsewhere(&owner, to).then(|| beside(inner, &owner, to));
            (owner, Standing { there, lacks: Some(lacks), ..standing })
        }
    })
}

/// Waits while the store is away: what the run comes to could not be stored either.
async fn found(inner: &Inner, id: ScheduleId) -> Option<Schedule> {
    let mut wait = Duration::from_millis(50);
    loop {
        match inner.stores.schedules.schedule(id).await {
            Ok(schedule) => return schedule,
            Err(_) => tokio::time::sleep(wait).await,
        }
        wait = (wait * 2).min(Duration::from_secs(1));
    }
}

async fn checked(
    inner: &Inner,
    standing: &Standing,
    owner: &Caller,
    to: &Address,
) -> Result<(Caller, Option<Caller>), Failure> {
    let schedule = standing.schedule.as_ref().ok_or_else(|| denied("this schedule was removed before it ran"))?;
    let owner = present(inner, owner, &standing.from, schedule.member).await?;
    heard(inner, &owner, &standing.from).await?;
    let there = may_post(inner, &owner, to, schedule.by_operator).await?;
    Ok((owner, there))
}

/// The owner with the tenant that their place has now and the roles that the platform says they have; `member` where it
/// says who belongs to the place.
pub(super) async fn present(inner: &Inner, owner: &Caller, from: &Address, member: bool) -> Result<Caller, Failure> {
    let owner = Caller { tenant: tenant(inner, owner, from)?, ..owner.clone() };
    if owner.platform.is_pull() || (!member && owner.roles.is_empty()) {
        return Ok(owner);
    }
    let connected = inner.outlet(from).ok_or_else(|| not_told("the account is not connected"))?;
    let roles = told(&connected, &owner, Asked::There).await?.unwrap_or_default();
    if roles.is_empty() {
        return Err(denied("whoever made this schedule is not in that conversation any more"));
    }
    // A platform that sends no roles along with what people say has none that rules are about.
    let roles = if owner.roles.is_empty() { Vec::new() } else { roles };
    Ok(Caller { roles, ..owner })
}

/// The tenant by now: places go from one to another with the rules, and clients with the configuration, which they may
/// also be gone from.
pub(super) fn tenant(inner: &Inner, owner: &Caller, from: &Address) -> Result<String, Failure> {
    use contract::Catalog as _;
    match owner.platform {
        Platform::Console => Ok(owner.tenant.clone()),
        platform if platform.is_pull() => {
            let clients = inner.clients.load();
            let client = clients.iter().find(|client| (client.platform, &client.name) == (platform, &owner.account));
            client
                .map(|client| client.tenant.clone())
                .ok_or_else(|| denied("the client that made this schedule is not configured here"))
        }
        _ => Ok(inner.anyone(from).tenant),
    }
}

/// Whether runs ask the platform if the owner is in their place. All do but those of whom it says now, while something
/// is wished in their name, that they belong to no place: it would say so for ever.
pub(super) async fn is_member(inner: &Inner, owner: &Caller, from: &Address) -> bool {
    if owner.platform.is_pull() {
        return false;
    }
    let Some(connected) = inner.outlet(from) else { return true };
    let told = told(&connected, owner, Asked::There).await;
    !matches!(told, Ok(Some(roles)) if roles.is_empty())
}

/// What a platform is asked of somebody.
#[derive(Debug, Clone, Copy)]
enum Asked {
    There,
    Writes,
}

/// Their roles, empty for somebody who is not there, or may not write; nothing where the platform refuses to say.
async fn told(connected: &Connected, who: &Caller, asked: Asked) -> Result<Option<Vec<String>>, Failure> {
    let mut pauses = ROLES_PAUSES.into_iter();
    loop {
        let asking = match asked {
            Asked::There => connected.source.roles(who),
            Asked::Writes => connected.source.roles_to_write(who),
        };
        let why = match tokio::time::timeout(ROLES_DEADLINE, asking).await {
            Ok(Ok(roles)) => return Ok(Some(roles)),
            Ok(Err(DeliveryError::Refused(_))) => return Ok(None),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer in time".to_owned(),
        };
        match pauses.next() {
            Some(pause) => tokio::time::sleep(pause).await,
            None => return Err(not_told(&why)),
        }
    }
}

/// Who is not heard in their own place any more is not heard through a schedule either.
async fn heard(inner: &Inner, owner: &Caller, from: &Address) -> Result<(), Failure> {
    match gate::hears(inner, owner, from).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(denied("whoever made this schedule is not heard in their conversation any more")),
        Err(StoreDown(why)) => Err(not_told(&why)),
    }
}

/// What policy sees where the answers go, if they may go there; nothing where that is the owner's own conversation and
/// thread.
pub(super) async fn may_post(
    inner: &Inner,
    owner: &Caller,
    to: &Address,
    by_operator: bool,
) -> Result<Option<Caller>, Failure> {
    if !is_elsewhere(owner, to) {
        return Ok(None);
    }
    let refused = || denied("answers of this schedule may not be sent to that conversation");
    let connected = inner.outlet(to).filter(|_| !to.platform.is_pull()).ok_or_else(refused)?;
    let there = beside(inner, owner, to);
    let policies = inner.snapshot.load().policies.clone();
    let is_named = by_operator || owner.platform == Platform::Console || policies.takes_schedules_of(&there, owner);
    if !is_same_account(owner, to) {
        return if is_named { Ok(Some(there)) } else { Err(refused()) };
    }
    // As a tool's message: where the platform says that the person may write. Also of whoever is named the roles count: a
    // rule may take something away from one.
    let roles = told(&connected, &there, Asked::Writes).await?.unwrap_or_default();
    if !is_named && roles.is_empty() {
        return Err(refused());
    }
    let roles = if owner.roles.is_empty() { Vec::new() } else { roles };
    Ok(Some(Caller { roles, ..there }))
}

/// The owner as policy sees them at the destination: on another account nobody in particular.
fn beside(inner: &Inner, owner: &Caller, to: &Address) -> Caller {
    use contract::Catalog as _;
    let there = Caller { origin: Origin::Schedule, ..inner.anyone(to) };
    match is_same_account(owner, to) {
        true => Caller { sender: owner.sender.clone(), ..there },
        false => there,
    }
}

fn is_same_account(owner: &Caller, to: &Address) -> bool {
    (owner.platform, &owner.account) == (to.platform, &to.account)
}

pub(super) fn is_elsewhere(owner: &Caller, to: &Address) -> bool {
    !is_same_account(owner, to) || (&owner.conversation, &owner.thread) != (&to.conversation, &to.thread)
}

/// What may be used at the destination, within what the session has mounted.
pub(crate) fn narrowed(snapshot: &Snapshot, there: &Caller, mounted: Option<&Rights>) -> Rights {
    let list = snapshot.list(there);
    let names = list.tools.iter().map(|tool| &*tool.name);
    Rights::to(names.filter(|name| mounted.is_none_or(|mounted| mounted.allows(name))))
}

/// The conversation that somebody names, and the thread in it, as they are known from what was said there: with their
/// space. A thread counts in its own conversation alone: on some platforms its id is an address by itself.
pub(super) async fn known(inner: &Inner, named: &Address) -> Result<Option<Address>, StoreDown> {
    let query = SessionQuery { platform: Some(named.platform), most: KNOWN_MOST, ..SessionQuery::default() };
    let sessions = inner.stores.sessions.list(&query).await?;
    let places = sessions.iter().filter_map(|session| SessionKey::address(session.place.lane()));
    let is_named = |place: &Address| {
        (&place.account, &place.conversation) == (&named.account, &named.conversation)
            && (named.thread.is_none() || named.thread == place.thread)
            && named.space.as_ref().is_none_or(|space| Some(space) == place.space.as_ref())
    };
    let space = places.into_iter().find(is_named).map(|place| place.space);
    let space = match space {
        Some(space) => Some(space),
        // Where operators have answers of schedules go already.
        None => {
            let schedules = inner.stores.schedules.schedules(&ScheduleQuery::default()).await?;
            let of_operators = schedules.into_iter().filter(|schedule| schedule.by_operator);
            let mut to = of_operators.map(|schedule| schedule.to).filter(|to| to.platform == named.platform);
            to.find(is_named).map(|to| to.space)
        }
    };
    Ok(space.map(|space| Address { space, reply_to: None, private: Opaque::default(), ..named.clone() }))
}

/// A right that is lost, or was never there.
pub(super) fn denied(say: &str) -> Failure {
    Failure::new(Code::ScheduleDenied, say.to_owned())
}

fn not_told(why: &str) -> Failure {
    Failure::new(Code::Unavailable, "what this schedule may do could not be looked up")
        .cause(Private::new(why.to_owned()))
}
