//! `POST /v1/messages` and `GET /v1/messages/{reference}`: text in, reply out.

use std::{sync::Arc, time::Duration};

use axum::{
    Extension, Json,
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use contract::{
    Accepted, Address, Caller, Code, Digest, Failure, Heard, Kind, Message, Opaque, Reply, TurnId,
    records::{Approval, By},
};
use dispatch::Gateway;
use serde::Deserialize;
use serde_json::json;

use crate::{
    approvals, body, callers, follow,
    gate::Who,
    problem::Problem,
    routes::App,
    turns::{self, Standing},
    view::{self, Eyes},
};

/// Seconds that an answer is waited for unless the request says otherwise, and at most.
const WAIT: u64 = 60;
const WAIT_MAX: u64 = 300;
/// How often it is looked whether a turn waits for the one who asked.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often a message that was refused may be sent again under one id.
const TRIES: u32 = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ask {
    text: Option<String>,
    /// What a button of a reply carries, in place of a text.
    press: Option<String>,
    conversation: Option<String>,
    thread: Option<String>,
    /// A person behind the client.
    user: Option<String>,
    /// Seconds; 0 answers with the reference at once.
    wait: Option<u64>,
    /// The client's own id of the message: sent twice, it is answered as one.
    id: Option<String>,
}

pub async fn post(
    State(app): State<Arc<App>>,
    Extension(who): Extension<Who>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    who.known()?;
    let ask: Ask = body::json(body).await?;
    let wait = ask.wait;
    if let Some(wait) = wait.filter(|wait| *wait > WAIT_MAX) {
        return Err(Problem::invalid("wait", "seconds from 0 to 300", Some(&wait.to_string())));
    }
    let (message, caller) = message(&who, ask)?;
    let gateway = app.gateway.clone();
    let accepted = app.see_through(async move { accept(&gateway, message, caller).await }).await??;
    let turn = match accepted {
        Accepted::Turn { id, .. } => id,
        Accepted::Signal(text) => return Ok(Json(view::answer(None, &Reply::text(text))).into_response()),
        Accepted::NotForUs => {
            return Err(Problem::of(Failure::new(Code::InputRefused, "this message is not answered here")));
        }
    };
    if wants_events(&headers) {
        let longest = wait.map(Duration::from_secs);
        let told = follow::Told::new(turn, eyes(&who));
        return Ok(located(turn, follow::stream(&app, turn, told, longest, None)));
    }
    let settled = tokio::select! {
        settled = turns::settled(&app.gateway, turn) => settled,
        // It waits for the one who asked: they are told so at once.
        () = waits_for(&app, &who, turn) => Standing::Open,
        () = tokio::time::sleep(Duration::from_secs(wait.unwrap_or(WAIT))) => Standing::Open,
        () = app.shutdown.cancelled() => Standing::Open,
    };
    answered(&app, &who, turn, &settled).await
}

/// Returns once nothing is left of the turn but that the one who asks confirms something.
async fn waits_for(app: &App, who: &Who, turn: TurnId) {
    loop {
        if app.gateway.is_parked(turn) && !asked(app, who, turn).await.is_empty() {
            return;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// What the one who asks has to confirm before the turn goes on.
async fn asked(app: &App, who: &Who, turn: TurnId) -> Vec<serde_json::Value> {
    let mut waits = Vec::new();
    for id in app.gateway.waits_for(turn).await.unwrap_or_default() {
        let approval = app.gateway.approval(id).await.ok().flatten();
        let theirs = |approval: &Approval| {
            approval.state.is_open() && approval.by == By::Requester && approvals::concerns(who, approval)
        };
        waits.extend(approval.filter(theirs).map(|approval| approvals::shown(who, &approval)));
    }
    waits
}

/// Accepts the message. What was refused because too many waited may be sent again under its id: it is not known then.
async fn accept(gateway: &Gateway, message: Message, caller: Caller) -> Result<Accepted, Problem> {
    let mut tries = 0;
    loop {
        let key = format!("{}:{tries}", message.key);
        let accepted = gateway.accept_as(Message { key, ..message.clone() }, caller.clone()).await?;
        tries += 1;
        match accepted {
            Accepted::Turn { id, known: true, .. } if tries < TRIES => {
                if !matches!(turns::standing(gateway, id).await?, Standing::Refused) {
                    let first = gateway.record(id).await?;
                    let is_same = first.is_none_or(|first| first.message.address.private == message.address.private);
                    return if is_same { Ok(accepted) } else { Err(Problem::used_id(id)) };
                }
            }
            accepted => return Ok(accepted),
        }
    }
}

pub async fn get(
    State(app): State<Arc<App>>,
    Extension(who): Extension<Who>,
    body::Segment(reference): body::Segment,
) -> Result<Response, Problem> {
    let turn = turns::seen(&app.gateway, &who, &reference).await?;
    answered(&app, &who, turn, &turns::standing(&app.gateway, turn).await?).await
}

async fn answered(app: &App, who: &Who, turn: TurnId, standing: &Standing) -> Result<Response, Problem> {
    match standing {
        Standing::Replied(reply) => Ok(Json(view::answer(Some(turn), reply)).into_response()),
        Standing::Open => {
            let mut later = json!({ "reference": turn.to_string() });
            let waits = asked(app, who, turn).await;
            if !waits.is_empty() {
                later["waits"] = waits.into();
            }
            Ok(located(turn, (StatusCode::ACCEPTED, Json(later)).into_response()))
        }
        Standing::Refused => {
            Err(Problem::busy("too many messages wait in this conversation already; this one was not taken")
                .reference(turn))
        }
        Standing::Over(_) | Standing::Unknown => Err(Problem::no_such_reference()),
    }
}

fn located(turn: TurnId, mut answer: Response) -> Response {
    let place = HeaderValue::from_str(&format!("/v1/messages/{turn}"));
    answer.headers_mut().insert(header::LOCATION, place.expect("a reference is letters and digits"));
    answer
}

fn message(who: &Who, ask: Ask) -> Result<(Message, Caller), Problem> {
    let kind = match (ask.text, ask.press) {
        (Some(text), None) if !text.trim().is_empty() => Kind::Text { text },
        (None, Some(data)) => Kind::Press { data: body::word("press", Some(data))?.unwrap_or_default() },
        _ => return Err(Problem::invalid("text", "what is to be said, or 'press' in its place", None)),
    };
    let id = body::word("id", ask.id)?;
    let own = callers::Own { conversation: ask.conversation, thread: ask.thread, user: ask.user };
    let (address, caller) = callers::own(who, own, contract::Origin::Said)?;
    let address = Address { private: said(&address, &kind), ..address };
    let message = Message {
        key: key(&caller, id),
        sender: caller.sender.clone(),
        address,
        roles: Vec::new(),
        kind,
        heard: Heard::Direct,
        files: Vec::new(),
        quote: None,
        from_bot: false,
        locale: None,
        at_ms: body::now_ms(),
    };
    let caller = Caller { origin: message.origin(), ..caller };
    Ok((message, caller))
}

/// Stays with the turn when its text does not: whoever sends the id again shows that it is the same message.
fn said(address: &Address, kind: &Kind) -> Opaque {
    let said = match kind {
        Kind::Text { text } => json!([address.conversation, address.thread, text]),
        other => json!([address.conversation, address.thread, other]),
    };
    Opaque::new(Digest::of_json(&said).to_string()).expect("a digest is short")
}

/// Two people behind one client do not share their ids; a message without an id is always new.
fn key(caller: &Caller, id: Option<String>) -> String {
    match id {
        Some(id) => format!("id:{}:{}:{id}", caller.sender.id.len(), caller.sender.id),
        None => format!("new:{}", TurnId::new()),
    }
}

fn wants_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut kinds = accepted.flat_map(|value| value.split(',')).map(|kind| kind.split(';').next().unwrap_or_default());
    kinds.any(|kind| kind.trim().eq_ignore_ascii_case("text/event-stream"))
}

pub fn eyes(who: &Who) -> Eyes {
    if who.is_operator() { Eyes::Operator } else { Eyes::Client }
}
