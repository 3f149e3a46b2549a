//! What the interface is given, and why it cannot start.

use std::{future::Future, net::SocketAddr, sync::Arc};

use contract::Platform;
use dispatch::HttpClient;
use futures_util::future::{BoxFuture, FutureExt};
use secrecy::SecretString;

/// Reads a token anew; nothing while it cannot be read.
pub type Token = Arc<dyn Fn() -> BoxFuture<'static, Option<SecretString>> + Send + Sync>;

/// A [`Token`] of an async function.
pub fn token<F, R>(read: F) -> Token
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Future<Output = Option<SecretString>> + Send + 'static,
{
    Arc::new(move || read().boxed())
}

/// How the interface is served and who may use it.
pub struct Config {
    /// Port 0 picks a free one.
    pub listen: SocketAddr,
    /// The operators' token. With neither this nor a client only loopback peers with a loopback Host are answered, and
    /// they act as operators on platform `api`, tenant `default`.
    pub admin: Option<Token>,
    pub clients: Vec<Client>,
    /// Pages beside the API, with their own paths; they are guarded against foreign Host and Origin headers only.
    pub pages: Option<axum::Router>,
    /// Where platforms send events, below `/hooks`. Each proves by itself who asks: no token, Host or Origin of ours counts.
    pub hooks: Option<axum::Router>,
    /// Origins (`https://chat.example.org`) beside the own one whose pages may ask; their hosts are answered too.
    pub allowed_origins: Vec<String>,
}

/// A program that may use the interface. Its platform and tenant come from here, never from a request.
#[derive(Clone)]
pub struct Client {
    /// Letters, digits, `_` and `-`; it is the account of the client's messages.
    pub name: String,
    pub token: Token,
    pub platform: Platform,
    /// `default` when there is none.
    pub tenant: Option<String>,
}

/// The account under which operators ask.
pub(crate) const OPERATOR: &str = "operator";

/// Why the interface cannot start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot listen on {listen}")]
    Listen { listen: SocketAddr, source: std::io::Error },
    #[error("the client name '{0}' is not usable: letters, digits, '_' and '-', at most 64, and not 'operator'")]
    ClientName(String),
    #[error("two clients are called '{0}'")]
    ClientTwice(String),
    #[error("the client '{name}' cannot be on platform '{platform}': api, web or mcp")]
    ClientPlatform { name: String, platform: Platform },
    #[error("'{0}' is not an origin: write it as https://host or https://host:port")]
    Origin(String),
}

impl Config {
    /// The clients, and the operators where those are let in.
    pub(crate) fn who_asks(&self) -> Vec<HttpClient> {
        let tenant = |named: &Option<String>| named.clone().unwrap_or_else(|| "default".to_owned());
        let clients = self.clients.iter().map(|client| HttpClient {
            platform: client.platform,
            name: client.name.clone(),
            tenant: tenant(&client.tenant),
        });
        let operator = HttpClient { platform: Platform::Api, name: OPERATOR.to_owned(), tenant: tenant(&None) };
        let lets_operators_in = self.admin.is_some() || self.clients.is_empty();
        clients.chain(lets_operators_in.then_some(operator)).collect()
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        for (n, client) in self.clients.iter().enumerate() {
            check_client(client)?;
            if self.clients[..n].iter().any(|other| other.name == client.name) {
                return Err(Error::ClientTwice(client.name.clone()));
            }
        }
        let wrong = self.allowed_origins.iter().find(|origin| crate::gate::host_of_origin(origin).is_none());
        wrong.map_or(Ok(()), |origin| Err(Error::Origin(origin.clone())))
    }
}

fn check_client(client: &Client) -> Result<(), Error> {
    let name = &client.name;
    let fits = (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        && name != OPERATOR;
    if !fits {
        return Err(Error::ClientName(contract::text::one_line(name, 64)));
    }
    // A client of a chat platform would share accounts with a bot; one of the console would be an operator.
    match client.platform {
        Platform::Api | Platform::Web | Platform::Mcp => Ok(()),
        platform @ (Platform::Discord | Platform::Telegram | Platform::Slack | Platform::Console) => {
            Err(Error::ClientPlatform { name: name.clone(), platform })
        }
    }
}
