//! WebSockets over the server's own connections: axum's feature for them would bring a second implementation.

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, UPGRADE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

/// A connection whose frames are in the caller's hand.
pub type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// Answers a request for a WebSocket and hands the connection to `serve`, which runs until it ends.
pub fn upgrade<F, R>(request: Request, serve: F) -> Response
where
    F: FnOnce(Socket) -> R + Send + 'static,
    R: Future<Output = ()> + Send + 'static,
{
    let (mut parts, _) = request.into_parts();
    let asks = parts.headers.get(UPGRADE).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"));
    let key = parts.headers.get(SEC_WEBSOCKET_KEY).map(|key| derive_accept_key(key.as_bytes()));
    let accept = key.and_then(|key| HeaderValue::from_str(&key).ok());
    let (Some(accept), Some(upgrade), true) = (accept, parts.extensions.remove::<hyper::upgrade::OnUpgrade>(), asks)
    else {
        return (StatusCode::UPGRADE_REQUIRED, "a WebSocket is spoken here").into_response();
    };
    // Ends with the connection, which the server cuts when it stops.
    tokio::spawn(async move {
        match upgrade.await {
            Ok(upgraded) => {
                serve(Socket::from_raw_socket(TokioIo::new(upgraded), Role::Server, None).await).await;
            }
            Err(cause) => tracing::debug!(%cause, "a WebSocket was not established"),
        }
    });
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    response
}
