//! Reaches a server: starts its process or opens its address, and agrees on a version of the protocol.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use contract::Private;
use futures_util::{
    FutureExt,
    future::{Fuse, FusedFuture},
};
use rmcp::{
    RoleClient,
    model::ProtocolVersion,
    service::{
        ClientInitializeError, ClientLifecycleMode, ClientServiceExt, Peer, RunningService,
        RunningServiceCancellationToken,
    },
    transport::{
        StreamableHttpClientTransport,
        streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError},
    },
};
use tokio::{sync::Notify, time::timeout};
use tracing::debug;

use super::{
    client::Client,
    process::{self, Process},
    settings::{Server, Via, headers, variables},
};
use crate::http::redact;

/// Most requests to a server that are on their way at once, over HTTP.
const AT_ONCE: usize = 64;
/// How long a connection is given to close.
const CLOSING: Duration = Duration::from_secs(3);
/// Most characters of what went wrong.
const WHY: usize = 500;

/// A connection as calls use it.
pub struct Connection {
    pub peer: Peer<RoleClient>,
    pub client: Arc<Client>,
    /// What is masked in everything that operators read.
    pub secrets: Vec<String>,
    /// Told by a call that the server does not know this connection any more.
    pub refused: Notify,
}

/// A connection with what keeps it open.
pub struct Link {
    pub connection: Arc<Connection>,
    /// Whether the two agreed by a handshake.
    pub by_handshake: bool,
    /// Asked again after it ended, too.
    closed: Fuse<Pin<Box<dyn Future<Output = ()> + Send>>>,
    cancel: RunningServiceCancellationToken,
    process: Option<Process>,
}

/// How a version is agreed upon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Greeting {
    /// Ask what the server speaks, and shake hands when it does not understand the question.
    Ask,
    /// As servers before 2026 do: they may end when they are asked something before it.
    Handshake,
}

/// Opens a connection; what goes wrong is said for operators. `anew` reads secrets past any memory.
pub async fn open(server: &Server, http: &reqwest::Client, greeting: Greeting, anew: bool) -> Result<Link, String> {
    match &server.via {
        Via::Http { url, headers: of } => {
            let filled = headers(of, anew).await?;
            let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                .custom_headers(filled.values)
                .max_concurrent_requests(AT_ONCE);
            let transport = StreamableHttpClientTransport::with_client(http.clone(), config);
            let client = Arc::new(Client::default());
            let begun = client.clone().serve_with_lifecycle(transport, lifecycle(greeting)).await;
            let running = begun.map_err(|error| why(&error, &filled.secrets))?;
            Ok(Link::new(running, client, filled.secrets, None))
        }
        Via::Stdio { command, env, folder } => {
            let filled = variables(env, anew).await?;
            let (mut process, stdout, stdin) = process::start(&server.id, command, &filled.values, folder.as_deref())?;
            let client = Arc::new(Client::default());
            let begun = client.clone().serve_with_lifecycle((stdout, stdin), lifecycle(greeting)).await;
            match begun {
                Ok(running) => Ok(Link::new(running, client, filled.secrets, Some(process))),
                Err(error) => {
                    // It may have said why while it ended.
                    let ended = timeout(Duration::from_millis(300), process.ended()).await;
                    let ended = ended.unwrap_or_else(|_| process.last_words());
                    let why =
                        format!("{}: {}", why(&error, &filled.secrets), redact::text(&ended, &filled.secrets, WHY));
                    process.kill().await;
                    Err(redact::text(why.trim_end_matches(": "), &filled.secrets, 2 * WHY))
                }
            }
        }
    }
}

fn lifecycle(greeting: Greeting) -> ClientLifecycleMode {
    match greeting {
        Greeting::Ask => ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        },
        Greeting::Handshake => ClientLifecycleMode::Initialize,
    }
}

fn why(error: &ClientInitializeError, secrets: &[String]) -> String {
    let why = match error {
        ClientInitializeError::TransportError { error, .. } => on_the_way(&*error.error),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => return self::why(fallback, secrets),
        ClientInitializeError::JsonRpcError(error) => Private::new(format!("it answered: {}", error.message)),
        other => Private::chain(other),
    };
    redact::text(why.for_operator(), secrets, WHY)
}

/// What went wrong on the way, with its causes, and without the address, which may hold a key.
pub fn on_the_way(error: &(dyn std::error::Error + Send + Sync + 'static)) -> Private {
    let told = match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        // It does not name its cause as one.
        Some(StreamableHttpError::Client(error)) => Private::chain(error),
        Some(_) | None => Private::chain(error),
    };
    let told = told.for_operator();
    match told.split_once(" for url (").and_then(|(before, rest)| Some((before, rest.split_once(')')?.1))) {
        Some((before, after)) => Private::new(format!("{before}{after}")),
        None => Private::new(told),
    }
}

impl Link {
    fn new(
        running: RunningService<RoleClient, Arc<Client>>,
        client: Arc<Client>,
        secrets: Vec<String>,
        process: Option<Process>,
    ) -> Self {
        let peer = running.peer().clone();
        let by_handshake = peer.peer_info().is_some_and(|info| info.protocol_version.has_initialize());
        let cancel = running.cancellation_token();
        let closed = Box::pin(async move { drop(running.waiting().await) });
        let closed = (closed as Pin<Box<dyn Future<Output = ()> + Send>>).fuse();
        let connection = Arc::new(Connection { peer, client, secrets, refused: Notify::new() });
        Self { connection, by_handshake, closed, cancel, process }
    }

    /// Waits until the connection is of no use any more; why.
    pub async fn ended(&mut self) -> String {
        let refused = self.connection.refused.notified();
        match &mut self.process {
            Some(process) => tokio::select! {
                () = &mut self.closed => {
                    // A process that ends closes its streams first.
                    let ended = timeout(Duration::from_millis(300), process.ended()).await;
                    ended.unwrap_or_else(|_| "the process closed its output".into())
                }
                why = process.ended() => why,
                () = refused => "the server does not know the connection any more".into(),
            },
            None => tokio::select! {
                () = &mut self.closed => "the connection was closed".into(),
                () = refused => "the server does not know the connection any more".into(),
            },
        }
    }

    /// Waits until no call uses the connection, at most `most`: those that run may end well although others were refused.
    pub async fn unused(&mut self, most: Duration) {
        let unused = async {
            while Arc::strong_count(&self.connection) > 1 {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let _ = timeout(most, unused).await;
    }

    /// Closes it, and ends the process with all that it started.
    pub async fn close(self) {
        let Self { connection, closed, cancel, process, .. } = self;
        drop(connection);
        cancel.cancel();
        if !closed.is_terminated() && timeout(CLOSING, closed).await.is_err() {
            debug!("a connection to an MCP server did not close in time");
        }
        if let Some(process) = process {
            process.end().await;
        }
    }
}
