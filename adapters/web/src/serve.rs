//! The socket and its connections: bounded in number, in the time a request's head may take, and ended at shutdown.

use std::{net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use axum::{Router, body::Body, extract::Request};
use contract::seams::Condition;
use dispatch::Gateway;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::{JoinHandle, JoinSet},
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;
use tower::Service;
use tracing::{debug, info, warn};

use crate::{
    config::{Config, Error},
    gate::{Gate, Peer},
    routes::{self, App},
};

/// Most connections at once; further ones wait to be accepted.
const CONNECTIONS: usize = 1_024;
/// How long a request's head may take, and how long a connection may be idle.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// How long requests under way have at shutdown.
const DRAIN: Duration = Duration::from_secs(30);

/// An interface that is being served.
pub struct Running {
    pub addr: SocketAddr,
    /// `http://127.0.0.1:8787`
    pub url: String,
    /// Ends after the shutdown, when the last request has been answered.
    pub join: JoinHandle<()>,
}

/// Serves the interface until `shutdown`. `conditions`: what `/readyz` shows beside the gateway's own parts.
pub async fn serve(
    config: Config,
    gateway: Gateway,
    conditions: impl Fn() -> Vec<(String, Condition)> + Send + Sync + 'static,
    shutdown: CancellationToken,
) -> Result<Running, Error> {
    config.check()?;
    let failed = |source| Error::Listen { listen: config.listen, source };
    let listener = TcpListener::bind(config.listen).await.map_err(failed)?;
    let addr = listener.local_addr().map_err(failed)?;
    gateway.clients_are(config.who_asks());
    let gate = Arc::new(Gate::new(&config, addr));
    let app = Arc::new(App::new(gateway, Arc::new(conditions), shutdown.clone()));
    let router = routes::router(app.clone(), gate, config.pages, config.hooks);
    let url = url(addr);
    info!(%url, "the HTTP interface listens");
    if config.admin.is_none() && config.clients.is_empty() && !addr.ip().is_loopback() {
        warn!("neither admin_token nor clients are configured: only this machine is answered");
    }
    let join = tokio::spawn(async move {
        let mut connections = accept(listener, router, &shutdown).await;
        let until = Instant::now() + DRAIN;
        let ended = timeout_at(until, async { while connections.join_next().await.is_some() {} }).await;
        if ended.is_err() {
            warn!(open = connections.len(), "connections are cut");
        }
        connections.shutdown().await;
        app.tasks.close();
        if timeout_at(until, app.tasks.wait()).await.is_err() {
            warn!("calls are still under way; their records tell the next start");
        }
    });
    Ok(Running { addr, url, join })
}

fn url(addr: SocketAddr) -> String {
    let mut reachable = addr;
    if addr.ip().is_unspecified() {
        reachable.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    format!("http://{reachable}")
}

/// Accepts until the shutdown; the connections that are open then.
async fn accept(listener: TcpListener, router: Router, shutdown: &CancellationToken) -> JoinSet<()> {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    while let Some((stream, peer, place)) = next(&listener, &places, shutdown).await {
        connections.spawn(connection(stream, peer, router.clone(), shutdown.clone(), place));
        while connections.try_join_next().is_some() {}
    }
    connections
}

/// The next connection; nothing at shutdown.
async fn next(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
    shutdown: &CancellationToken,
) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    loop {
        let place = tokio::select! {
            place = places.clone().acquire_owned() => place.ok()?,
            () = shutdown.cancelled() => return None,
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shutdown.cancelled() => return None,
        };
        match accepted {
            Ok((stream, peer)) => return Some((stream, peer, place)),
            Err(error) => {
                // Out of file descriptors, mostly: others have to end first.
                warn!(cause = %error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    shutdown: CancellationToken,
    _place: OwnedSemaphorePermit,
) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: Request<Incoming>| {
        let mut router = router.clone();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Peer(peer));
        async move { router.call(request).await }
    });
    let mut serving = http1::Builder::new();
    serving.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(64 * 1024);
    let mut serving = pin!(serving.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = shutdown.cancelled() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        debug!(cause = %error, "a connection ended early");
    }
}
