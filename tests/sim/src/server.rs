//! One process, one port on loopback, all platforms.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::control;
use crate::discord::{self, Discord};
use crate::slack::{self, Slack};
use crate::telegram::{self, Telegram};

/// Further connections wait until one of these ends.
const MOST_CONNECTIONS: usize = 1_000;

/// Where to listen, and how the platforms are set up.
#[derive(Clone, Debug)]
pub struct Options {
    /// An address on loopback; port 0 picks a free one.
    pub listen: SocketAddr,
    pub telegram: telegram::Setup,
    pub discord: discord::Setup,
    pub slack: slack::Setup,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            telegram: telegram::Setup::default(),
            discord: discord::Setup::default(),
            slack: slack::Setup::default(),
        }
    }
}

/// Why the simulators did not start.
#[derive(Debug)]
pub enum Error {
    /// They believe whoever reaches them, so they listen on loopback alone.
    NotLoopback(SocketAddr),
    Listen(SocketAddr, io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLoopback(at) => write!(f, "simulators listen on loopback only, not on {at}"),
            Self::Listen(at, _) => write!(f, "cannot listen on {at}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NotLoopback(_) => None,
            Self::Listen(_, cause) => Some(cause),
        }
    }
}

/// The platforms in the hand of whoever shares their process; the control side over HTTP calls the same methods.
#[derive(Clone)]
pub struct Sim {
    pub telegram: Arc<Telegram>,
    pub discord: Arc<Discord>,
    pub slack: Arc<Slack>,
}

/// Simulators that run.
pub struct Running {
    /// `http://ADDRESS`, without a slash at the end.
    pub url: String,
    pub addr: SocketAddr,
    pub sim: Sim,
    server: JoinHandle<io::Result<()>>,
}

impl Running {
    /// Waits until they have stopped.
    pub async fn join(self) {
        match self.server.await {
            Ok(Ok(())) => {}
            Ok(Err(cause)) => tracing::warn!(%cause, "simulators stopped"),
            Err(cause) => tracing::warn!(%cause, "simulators stopped"),
        }
    }
}

/// Starts the simulators; they stop with the token.
pub async fn serve(options: Options, shutdown: CancellationToken) -> Result<Running, Error> {
    if !options.listen.ip().is_loopback() {
        return Err(Error::NotLoopback(options.listen));
    }
    let listener = TcpListener::bind(options.listen).await.map_err(|cause| Error::Listen(options.listen, cause))?;
    let addr = listener.local_addr().map_err(|cause| Error::Listen(options.listen, cause))?;
    let url = format!("http://{addr}");
    let sim = Sim {
        telegram: Arc::new(Telegram::new(options.telegram, shutdown.clone())),
        discord: Arc::new(Discord::new(options.discord, &url, shutdown.clone())),
        slack: Arc::new(Slack::new(options.slack, &url, shutdown.clone())),
    };
    let app = router(&sim).into_make_service_with_connect_info::<Line>();
    let lines = Lines { listener, free: Arc::new(Semaphore::new(MOST_CONNECTIONS)) };
    // The handle is kept in `Running`, whose `join` awaits it.
    let server =
        tokio::spawn(async move { axum::serve(lines, app).with_graceful_shutdown(shutdown.cancelled_owned()).await });
    Ok(Running { url, addr, sim, server })
}

fn router(sim: &Sim) -> Router {
    Router::new()
        .nest("/telegram", telegram::routes(sim.telegram.clone()))
        .nest("/discord", discord::routes(sim.discord.clone()))
        .nest("/slack", slack::routes(sim.slack.clone()))
        .nest("/control", control::routes(sim))
}

/// A handle that ends a connection without an answer, as a network does.
#[derive(Clone, Debug)]
pub struct Line(CancellationToken);

impl Line {
    /// Ends the connection; the request that asks for it is never answered.
    pub async fn cut<T>(&self) -> T {
        self.0.cancel();
        std::future::pending().await
    }
}

impl Connected<IncomingStream<'_, Lines>> for Line {
    fn connect_info(stream: IncomingStream<'_, Lines>) -> Self {
        stream.remote_addr().clone()
    }
}

/// Accepts connections that can be cut.
pub struct Lines {
    listener: TcpListener,
    free: Arc<Semaphore>,
}

impl Listener for Lines {
    type Io = Wire;
    type Addr = Line;

    async fn accept(&mut self) -> (Wire, Line) {
        // The semaphore is never closed; a connection without a permit would merely not be counted.
        let permit = self.free.clone().acquire_owned().await.ok();
        let (stream, _) = Listener::accept(&mut self.listener).await;
        // Small answers would wait for the client's acknowledgement otherwise.
        if let Err(cause) = stream.set_nodelay(true) {
            tracing::debug!(%cause, "no TCP_NODELAY");
        }
        let token = CancellationToken::new();
        (
            Wire { stream, cut: Box::pin(token.clone().cancelled_owned()), token: token.clone(), _permit: permit },
            Line(token),
        )
    }

    fn local_addr(&self) -> io::Result<Line> {
        Ok(Line(CancellationToken::new()))
    }
}

/// A connection that breaks when its line is cut.
pub struct Wire {
    stream: TcpStream,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
    token: CancellationToken,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Wire {
    fn broken(&self) -> io::Result<()> {
        if self.token.is_cancelled() { Err(io::ErrorKind::ConnectionReset.into()) } else { Ok(()) }
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.cut.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.broken()?;
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
