//! What people type about their sessions: `/new`, `/sessions`, `/resume`, `/tools only`, `/keep`, `/forget`.

use contract::{
    Code, Content, Failure, Notice, Private, StoreDown,
    records::{FACT_CHARS, FACTS_MAX, Kept, Session, SessionChange, SessionId, SessionQuery},
    text,
};
use words::{Line, OfSession, line, of_session, session_line};

use crate::{commands::Builtin, gateway::Inner, planner::TurnView, say};

/// Most lines of a list.
const LISTED: usize = 20;

/// Answers a built-in about sessions. What cannot be reached is said.
pub(crate) async fn answer(inner: &Inner, builtin: &Builtin, turn: &TurnView<'_>) -> Vec<Content> {
    let said = match builtin {
        Builtin::New => new(inner, turn).await,
        Builtin::Mount(names) => mount(inner, turn, names.as_deref()).await,
        Builtin::Sessions => sessions(inner, turn).await,
        Builtin::Resume(which) => resume(inner, turn, which).await,
        Builtin::Keep(fact) if fact.is_empty() => kept(inner, turn).await,
        Builtin::Keep(fact) => keep(inner, turn, fact).await,
        Builtin::Forget(n) => forget(inner, turn, n).await,
        Builtin::Start
        | Builtin::Help
        | Builtin::Tools(_)
        | Builtin::Trace(_)
        | Builtin::Stop
        | Builtin::Status
        | Builtin::Approve(_)
        | Builtin::Deny(_)
        | Builtin::Approvals
        | Builtin::Schedule(_)
        | Builtin::Details(_) => Ok(String::new()),
    };
    match said {
        Ok(markdown) => vec![Content::Text(markdown)],
        Err(down) => {
            let failure = Failure::new(Code::Store, "what is remembered cannot be reached just now")
                .cause(Private::new(down.to_string()));
            vec![Content::Notice(Notice::of(&failure, None, Some(turn.record.id)))]
        }
    }
}

type Said = Result<String, StoreDown>;

async fn new(inner: &Inner, turn: &TurnView<'_>) -> Said {
    let visit = &turn.cx.here.visit;
    inner.stores.sessions.begin(visit).await?;
    inner.mounts.know(&visit.place, None);
    Ok(line(Line::NewConversation, turn.locale))
}

/// Those that this person began here, newest use first; what nobody said anything in is not one to go back to.
async fn own(inner: &Inner, turn: &TurnView<'_>) -> Result<Vec<Session>, StoreDown> {
    let here = &turn.cx.here;
    let query = SessionQuery {
        place: Some(here.visit.place.clone()),
        owner: Some(here.visit.person.clone()),
        most: LISTED,
        ..SessionQuery::default()
    };
    let mut sessions = inner.stores.sessions.list(&query).await?;
    sessions.retain(|session| session.turns > 0 || here.session_id() == Some(session.id));
    Ok(sessions)
}

async fn sessions(inner: &Inner, turn: &TurnView<'_>) -> Said {
    let sessions = own(inner, turn).await?;
    if sessions.is_empty() {
        return Ok(of_session(OfSession::NoneListed, turn.locale));
    }
    let mut out = format!("{}\n\n", of_session(OfSession::Listed, turn.locale));
    for (session, n) in sessions.iter().zip(1..) {
        let is_current = turn.cx.here.session_id() == Some(session.id);
        let title = say::escape(&session.title);
        let line = session_line(&title, session.used_ms, session.turns, is_current, turn.locale);
        out.push_str(&format!("{n}. {line}\n"));
    }
    out.push_str(&format!("\n{}", of_session(OfSession::HowToResume, turn.locale)));
    Ok(out)
}

/// By its place in the list or by its id. Somebody else's does not exist.
async fn resume(inner: &Inner, turn: &TurnView<'_>, which: &str) -> Said {
    let unknown = || of_session(OfSession::NoSuchSession, turn.locale);
    let id = match (which.parse::<usize>(), which.parse::<SessionId>()) {
        (Ok(n), _) => own(inner, turn).await?.get(n.wrapping_sub(1)).map(|session| session.id),
        (_, Ok(id)) => Some(id),
        _ => None,
    };
    let Some(id) = id else { return Ok(unknown()) };
    let visit = &turn.cx.here.visit;
    let Some(session) = inner.stores.sessions.resume(visit, id).await? else { return Ok(unknown()) };
    inner.mounts.know(&visit.place, session.mounted.as_deref());
    let title = match session.title.as_str() {
        "" => session.id.to_string(),
        title => say::escape(title),
    };
    Ok(of_session(OfSession::Resumed { title: &title }, turn.locale))
}

async fn mount(inner: &Inner, turn: &TurnView<'_>, names: Option<&[String]>) -> Said {
    let names = match names {
        Some([]) => return Ok(of_session(OfSession::MountWhat, turn.locale)),
        Some(names) => match known_names(turn, names) {
            Ok(names) => Some(names),
            Err(unknown) => {
                let names = unknown.join(", ");
                return Ok(of_session(OfSession::MountUnknown { names: &names }, turn.locale));
            }
        },
        None => None,
    };
    let visit = &turn.cx.here.visit;
    let session = match (&turn.cx.here.session, &names) {
        // Nothing is there that has anything mounted.
        (None, None) => return Ok(of_session(OfSession::MountedAll, turn.locale)),
        (Some(session), _) => session.clone(),
        (None, Some(_)) => inner.stores.sessions.open(visit).await?,
    };
    inner.stores.sessions.change(&session, &SessionChange::Mount(names.clone())).await?;
    inner.mounts.know(&visit.place, names.as_deref());
    let Some(names) = names else { return Ok(of_session(OfSession::MountedAll, turn.locale)) };
    let mut out = format!("{}\n\n", of_session(OfSession::MountedOnly, turn.locale));
    names.iter().for_each(|name| out.push_str(&format!("- `{name}`\n")));
    Ok(out)
}

/// The names as they are registered, or those that are none in this person's view.
fn known_names(turn: &TurnView<'_>, typed: &[String]) -> Result<Vec<String>, Vec<String>> {
    let all = turn.snapshot.list(turn.caller);
    let toolset = |name: &str| all.tools.iter().map(|tool| &*tool.spec.toolset).find(|toolset| *toolset == name);
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for name in typed {
        let tool = turn.snapshot.resolve(turn.caller, name).map(|tool| &*tool.name);
        match tool.or_else(|| toolset(name)) {
            Some(name) => known.push(name.to_owned()),
            None => unknown.push(quoted(name)),
        }
    }
    if !unknown.is_empty() {
        return Err(unknown);
    }
    known.sort();
    known.dedup();
    Ok(known)
}

fn quoted(name: &str) -> String {
    format!("`{}`", text::one_line(name, 40).replace('`', "'"))
}

async fn kept(inner: &Inner, turn: &TurnView<'_>) -> Said {
    let facts = inner.stores.people.facts(&turn.cx.here.visit.person).await?;
    if facts.is_empty() {
        return Ok(of_session(OfSession::KeptNothing, turn.locale));
    }
    let mut out = format!("{}\n\n", of_session(OfSession::KeptList, turn.locale));
    facts.iter().for_each(|fact| out.push_str(&format!("- {}: {}\n", fact.n, say::escape(&fact.text))));
    Ok(out)
}

async fn keep(inner: &Inner, turn: &TurnView<'_>, fact: &str) -> Said {
    let fact = text::one_line(fact, usize::MAX);
    if fact.chars().count() > FACT_CHARS {
        return Ok(of_session(OfSession::KeptTooLong { most: FACT_CHARS }, turn.locale));
    }
    let said = match inner.stores.people.keep(&turn.cx.here.visit.person, &fact).await? {
        Kept::As(n) => OfSession::Kept { n },
        Kept::Full => OfSession::KeptFull { most: FACTS_MAX },
    };
    Ok(of_session(said, turn.locale))
}

async fn forget(inner: &Inner, turn: &TurnView<'_>, n: &str) -> Said {
    let forgotten = match n.parse() {
        Ok(n) => inner.stores.people.drop_fact(&turn.cx.here.visit.person, n).await?.then_some(n),
        Err(_) => None,
    };
    let said = forgotten.map_or(OfSession::NothingForgotten, |n| OfSession::Forgotten { n });
    Ok(of_session(said, turn.locale))
}
