//! One call: sent over the server's connection, heard while it runs, and taken back when nobody waits for it any more.

use std::sync::Arc;

use contract::{Effect, Private};
use futures_util::FutureExt;
use rmcp::{
    RoleClient,
    model::{
        CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam, ClientRequest,
        RequestId, RequestMetaObject, ServerResult,
    },
    service::{Peer, PeerRequestOptions, ServiceError},
};
use serde_json::{Map, Value};
use tools::{Cx, ToolFailure};
use tracing::debug;

use super::{
    connect::Connection,
    result::{Reader, Trouble, files, note_sent},
    supervise::Supervisor,
};
use crate::{
    http::{redact, traceparent},
    made,
};

/// Most characters of a request that operators see.
const SUMMARY: usize = 400;

/// Makes the call. What surely did not arrive is sent once more over a new connection: a server may have been restarted
/// since the last call.
pub async fn call(
    server: &Arc<Supervisor>,
    reader: &Reader,
    args: Map<String, Value>,
    cx: &Cx<'_>,
) -> Result<Value, ToolFailure> {
    cx.notes.effect(Effect::None);
    let mut again = true;
    loop {
        let connection = server.connection(cx.deadline).await.map_err(|why| reader.no_connection(why))?;
        if server.catalogue().is_some_and(|catalogue| !catalogue.offers(&reader.theirs)) {
            return Err(reader.gone());
        }
        let id = &server.server.id;
        let shown = format!("mcp {id} {} {}", reader.theirs, redact::body(&args, &connection.secrets, SUMMARY));
        cx.notes.request(Private::new(contract::text::cut(&shown, 2 * SUMMARY)));
        let trouble = match send(&connection, &reader.theirs, args.clone(), cx).await {
            Ok(result) => return answered(reader, result, &connection.secrets, cx).await,
            Err(trouble) => trouble,
        };
        if trouble.connection_is_over() {
            connection.refused.notify_one();
        }
        if !(trouble.surely_not_carried_out() && std::mem::take(&mut again)) {
            return Err(reader.failed(trouble, &connection.secrets));
        }
        debug!(server = id, cause = ?trouble, "a call is sent again over a new connection");
        server.renewed(&connection, cx.deadline).await;
        cx.notes.effect(Effect::None);
    }
}

/// What was answered; its pictures and other files go to the chat.
async fn answered(
    reader: &Reader,
    result: ServerResult,
    secrets: &[String],
    cx: &Cx<'_>,
) -> Result<Value, ToolFailure> {
    let files = if cx.host.here().is_some() { files(&result, &reader.tool) } else { Vec::new() };
    let mut value = reader.read(result, secrets)?;
    for (n, file) in files {
        let said = made::sent(file, cx).await;
        note_sent(&mut value, n, said);
    }
    Ok(value)
}

/// Sends the request and waits for its answer.
async fn send(
    connection: &Connection,
    theirs: &str,
    args: Map<String, Value>,
    cx: &Cx<'_>,
) -> Result<ServerResult, Trouble> {
    let params = CallToolRequestParams::new(theirs.to_owned()).with_arguments(args);
    let request = CallToolRequest::new(params);
    let mut meta = RequestMetaObject::new();
    meta.set_traceparent(traceparent(cx));
    let options = PeerRequestOptions::no_options().with_meta(meta);
    let sent = connection.peer.send_request_with_option(ClientRequest::CallToolRequest(request), options).await;
    let mut handle = sent.map_err(|_| Trouble::NotSent)?;
    cx.notes.effect(Effect::Unknown);
    let mut heard = connection.client.hear(handle.progress_token.clone());
    let mut waited_for = WaitedFor { peer: &connection.peer, id: Some(handle.id.clone()) };
    let answer = loop {
        tokio::select! {
            biased;
            answer = &mut handle.rx => break answer,
            text = heard.next() => cx.host.progress(&text),
            () = cx.cancel.cancelled() => return Err(Trouble::Cancelled),
        }
    };
    waited_for.id = None;
    answer.unwrap_or(Err(ServiceError::TransportClosed)).map_err(Trouble::of)
}

/// A request whose answer somebody waits for: dropped before it is there, the server is told to stop.
struct WaitedFor<'a> {
    peer: &'a Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for WaitedFor<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let why = "nobody waits for the answer any more".to_owned();
        let cancelled = CancelledNotification::new(CancelledNotificationParam::new(Some(id), Some(why)));
        // The first poll puts it into the connection's queue, which is all that is waited for; when that is full, the
        // server has other troubles.
        let _ = self.peer.send_notification(cancelled.into()).now_or_never();
    }
}
