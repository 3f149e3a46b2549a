//! A local Discord.

use std::sync::Arc;

use axum::Router;
use tokio_util::sync::CancellationToken;

/// How the platform is set up.
#[derive(Clone, Debug, Default)]
pub struct Setup {}

/// The platform; its requests come over HTTP and a socket, its people are in the hand of a test or a page.
pub struct Discord {
    _stop: CancellationToken,
}

impl Discord {
    /// `url` is where the simulators are reached: `http://ADDRESS`, without a slash at the end.
    pub fn new(_setup: Setup, _url: &str, stop: CancellationToken) -> Self {
        Self { _stop: stop }
    }
}

/// What bots ask, below `/discord`.
pub fn routes(_platform: Arc<Discord>) -> Router {
    Router::new()
}

/// What people do, below `/control/discord`.
pub fn control(_platform: Arc<Discord>) -> Router {
    Router::new()
}
