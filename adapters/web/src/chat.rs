//! `POST /v1/chat/completions` and `GET /v1/models`: the gateway for programs that speak OpenAI's API. `ask` reads what
//! they ask, `said` and `chunks` are the shapes in which they are answered.

mod ask;
mod chunks;
mod said;

use std::{sync::Arc, time::Duration};

use axum::{
    Extension, Json,
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use contract::{Accepted, Caller, Code, Failure, Heard, Kind, Message, Notice, Origin, Reply, TurnId};
use dispatch::say;
use serde_json::json;

use self::{
    ask::{Asked, Request},
    chunks::Chunks,
    said::{Head, MODEL},
};
use crate::{
    body, callers, follow,
    gate::Who,
    pictures::Held,
    problem::Problem,
    routes::App,
    turns::{self, HangUp, Standing},
};

/// Most bytes of a body: a few pictures.
const BODY_MAX: usize = 24 * 1024 * 1024;
/// Names the conversation, whose memory is used then.
const SESSION: &str = "x-toolgate-session";
/// Where requests are that bring their conversation along.
const CONVERSATION: &str = "chat";
/// Longest wait for an answer.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// The one model.
pub async fn models(Extension(who): Extension<Who>) -> Response {
    match who.known() {
        Ok(()) => {
            let model = json!({ "id": MODEL, "object": "model", "created": 0, "owned_by": MODEL });
            Json(json!({ "object": "list", "data": [model] })).into_response()
        }
        Err(problem) => problem.openai(),
    }
}

pub async fn complete(
    State(app): State<Arc<App>>,
    Extension(who): Extension<Who>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    answered(&app, &who, &headers, body).await.unwrap_or_else(Problem::openai)
}

async fn answered(app: &Arc<App>, who: &Who, headers: &HeaderMap, body: Body) -> Result<Response, Problem> {
    who.known()?;
    let request: Request = {
        let _place = large(app, headers)?;
        body::json_of(body, BODY_MAX).await?
    };
    let (streams, wants_usage) = (request.stream == Some(true), request.wants_usage());
    let session = session(headers)?;
    let (person, is_stateless) = (request.user.clone(), session.is_none());
    let (message, caller, pictures) = message(app, who, request.asked()?, session, person)?;
    let (accepted, hang_up) = accept(app, message, caller, pictures, is_stateless).await?;
    let turn = match accepted {
        Accepted::Turn { id, .. } => id,
        Accepted::Signal(text) => {
            let head = Head::of(TurnId::new());
            return Ok(Json(head.completion(&said::lines(&text), said::usage(&[]))).into_response());
        }
        Accepted::NotForUs => {
            return Err(Problem::of(Failure::new(Code::InputRefused, "this message is not answered here")));
        }
    };
    let head = Head::of(turn);
    if streams {
        return Ok(referred(turn, follow::stream(app, turn, Chunks::new(head, wants_usage), None, Some(hang_up))));
    }
    let settled = tokio::select! {
        biased;
        settled = tokio::time::timeout(LONGEST, turns::settled(&app.gateway, turn)) => settled.unwrap_or(Standing::Open),
        () = app.shutdown.cancelled() => return Err(leaving(turn)),
    };
    let reply = match settled {
        Standing::Replied(reply) => reply,
        Standing::Refused => return Err(not_taken(turn)),
        Standing::Open => {
            return Err(Problem::of(Failure::new(Code::Timeout, "there is no answer yet")).reference(turn));
        }
        Standing::Over(_) | Standing::Unknown => return Err(Problem::no_such_reference().reference(turn)),
    };
    hang_up.answered();
    if let Some(notice) = said::without_answer(&reply) {
        return Err(no_answer(turn, &reply, notice));
    }
    let usage = said::usage(&app.gateway.tree(turn).await.unwrap_or_default());
    Ok(referred(turn, Json(head.completion(&said::markdown(&reply), usage)).into_response()))
}

/// Few large bodies are read at once.
fn large(app: &App, headers: &HeaderMap) -> Result<Option<tokio::sync::OwnedSemaphorePermit>, Problem> {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length <= body::BODY_MAX) {
        return Ok(None);
    }
    let place = app.large_bodies.clone().try_acquire_owned();
    place.map(Some).map_err(|_| Problem::busy("too many large requests are under way already"))
}

fn session(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(named) = headers.get(SESSION) else { return Ok(None) };
    let named = named.to_str().map_err(|_| Problem::invalid(SESSION, "letters of ASCII", None))?;
    body::word(SESSION, Some(named.to_owned()))
}

fn message(
    app: &App,
    who: &Who,
    asked: Asked,
    session: Option<String>,
    user: Option<String>,
) -> Result<(Message, Caller, Option<Held>), Problem> {
    let Asked { text, pictures, before } = asked;
    let (files, held) = match pictures.is_empty() {
        true => (Vec::new(), None),
        false => app.pictures.hold(pictures).map(|(files, held)| (files, Some(held)))?,
    };
    let own = match &session {
        Some(session) => callers::Own { conversation: Some(session.clone()), thread: None, user },
        // Each on its own: none waits for another, and none is remembered.
        None => callers::Own { conversation: Some(CONVERSATION.into()), thread: Some(TurnId::new().to_string()), user },
    };
    let (address, caller) = callers::own(who, own, Origin::Said)?;
    let message = Message {
        key: format!("new:{}", TurnId::new()),
        sender: caller.sender.clone(),
        address,
        roles: Vec::new(),
        kind: if session.is_some() { Kind::Text { text } } else { Kind::Retold { text, before } },
        heard: Heard::Direct,
        files,
        quote: None,
        from_bot: false,
        locale: None,
        at_ms: body::now_ms(),
    };
    // Nobody is there to be asked back: one answer is what is wanted.
    let caller = Caller { origin: Origin::Api, ..caller };
    Ok((message, caller, held))
}

/// Accepted, with what happens when nobody waits for it any more.
async fn accept(
    app: &Arc<App>,
    message: Message,
    caller: Caller,
    pictures: Option<Held>,
    is_stateless: bool,
) -> Result<(Accepted, HangUp), Problem> {
    let task = app.clone();
    let accepting = async move {
        let accepted = task.gateway.accept_as(message, caller).await?;
        let turn = match &accepted {
            Accepted::Turn { id, .. } if is_stateless => Some(*id),
            _ => None,
        };
        Ok::<_, Problem>((accepted, HangUp::new(&task, turn, pictures)))
    };
    app.see_through(accepting).await?
}

fn not_taken(turn: TurnId) -> Problem {
    Problem::busy("too many messages wait in this conversation already; this one was not taken").reference(turn)
}

/// Nothing is waited for at shutdown. The turn of a session goes on, and its answer is fetched by the reference; one
/// that brought its conversation along is stopped as when its client hangs up. Either may have done something already:
/// it is not to be asked again by itself.
fn leaving(turn: TurnId) -> Problem {
    let failure = Failure::new(Code::Unavailable, "the gateway is being shut down; there is no answer yet");
    Problem::of(failure).reference(turn).ran()
}

/// The turn ended without an answer; asking again by oneself might do again what its tools did.
fn no_answer(turn: TurnId, reply: &Reply, notice: &Notice) -> Problem {
    let mut failure = Failure::new(notice.code, say::plain(reply));
    failure.retry_after = notice.retry_after;
    Problem::of(failure).reference(turn).ran()
}

fn referred(turn: TurnId, mut answer: Response) -> Response {
    let reference = HeaderValue::from_str(&turn.to_string()).expect("a reference is letters and digits");
    answer.headers_mut().insert(HeaderName::from_static("x-toolgate-reference"), reference);
    debug_assert_eq!(answer.status(), StatusCode::OK);
    answer
}
