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
    /// Nothing once it was removed: what is under way goes on.
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
    let (member, by_operator) = standing.schedule.as_ref().map_or((false, false), |s| (s.member, s.by_operator));
    let owner = present(inner, owner, &standing.from, member).await?;
    heard(inner, &owner, &standing.from).await?;
    let there = may_post(inner, &owner, to, by_operator).await?;
    Ok((owner, there))
}

/// The owner with the roles that the platform says they have now; `member` where it says who belongs to the place.
pub(super) async fn present(inner: &Inner, owner: &Caller, from: &Address, member: bool) -> Result<Caller, Failure> {
    if owner.platform.is_pull() || (!member && owner.roles.is_empty()) {
        return Ok(owner.clone());
    }
    let connected = inner.outlet(from).ok_or_else(|| not_told("the account is not connected"))?;
    let roles = roles(&connected, owner).await?;
    if roles.is_empty() {
        return Err(denied("whoever made this schedule is not in that conversation any more"));
    }
    // A platform that sends no roles along with what people say has none that rules are about.
    let roles = if owner.roles.is_empty() { Vec::new() } else { roles };
    Ok(Caller { roles, ..owner.clone() })
}

/// Whether the platform says who belongs to the owner's place.
pub(super) async fn is_member(inner: &Inner, owner: &Caller, from: &Address) -> bool {
    let connected = (!owner.platform.is_pull()).then(|| inner.outlet(from)).flatten();
    match connected {
        Some(connected) => roles(&connected, owner).await.is_ok_and(|roles| !roles.is_empty()),
        None => false,
    }
}

/// Empty for somebody who does not belong there.
async fn roles(connected: &Connected, who: &Caller) -> Result<Vec<String>, Failure> {
    let mut pauses = ROLES_PAUSES.into_iter();
    loop {
        let why = match tokio::time::timeout(ROLES_DEADLINE, connected.source.roles(who)).await {
            Ok(Ok(roles)) => return Ok(roles),
            Ok(Err(DeliveryError::Refused(_))) => return Ok(Vec::new()),
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

/// What policy sees where the answers go, if they may go there; nothing where that is the owner's own conversation.
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
    // As a tool's message: where the platform says that the person is a member.
    match roles(&connected, &there).await {
        Ok(roles) if is_named || !roles.is_empty() => {
            let roles = if owner.roles.is_empty() { Vec::new() } else { roles };
            Ok(Some(Caller { roles, ..there }))
        }
        Ok(_) => Err(refused()),
        Err(_) if is_named => Ok(Some(there)),
        Err(failure) => Err(failure),
    }
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
    !is_same_account(owner, to) || owner.conversation != to.conversation
}

/// What may be used at the destination, within what the session has mounted.
pub(crate) fn narrowed(snapshot: &Snapshot, there: &Caller, mounted: Option<&Rights>) -> Rights {
    let list = snapshot.list(there);
    let names = list.tools.iter().map(|tool| &*tool.name);
    Rights::to(names.filter(|name| mounted.is_none_or(|mounted| mounted.allows(name))))
}

/// The conversation that somebody names, as it is known from what was said in it: with its space.
pub(super) async fn known(inner: &Inner, named: &Address) -> Result<Option<Address>, StoreDown> {
    let query = SessionQuery { platform: Some(named.platform), most: KNOWN_MOST, ..SessionQuery::default() };
    let sessions = inner.stores.sessions.list(&query).await?;
    let places = sessions.iter().filter_map(|session| SessionKey::address(session.place.lane()));
    let is_named = |place: &Address| {
        (&place.account, &place.conversation) == (&named.account, &named.conversation)
            && named.space.as_ref().is_none_or(|space| Some(space) == place.space.as_ref())
    };
    let space = places.into_iter().find(is_named).map(|place| place.space);
    let space = match space {
        Some(space) => Some(space),
        // Where answers of schedules go already.
        None => {
            let schedules = inner.stores.schedules.schedules(&ScheduleQuery::default()).await?;
            let mut to = schedules.into_iter().map(|schedule| schedule.to).filter(|to| to.platform == named.platform);
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
