//! Who asks, decided before anything else: the peer, the Host and the Origin against pages that are lured here (DNS
//! rebinding), then the bearer token.

use std::{
    net::{IpAddr, SocketAddr},
    str::FromStr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};
use contract::{Caller, Platform, SessionKey};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;

use crate::{
    config::{Client, Config, OPERATOR, Token},
    problem::Problem,
};

/// How long read tokens are used: a flood of requests does not read files or run commands for each.
const TOKENS_LAST: Duration = Duration::from_millis(250);
/// What proxies say of those for whom they ask.
const PASSED_ON: [&str; 8] = [
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
    "via",
    "true-client-ip",
    "cf-connecting-ip",
];
/// How long reading one token may take.
const TOKEN_TIME: Duration = Duration::from_secs(10);

/// The address at the other end of the connection.
#[derive(Clone, Copy)]
pub struct Peer(pub SocketAddr);

/// Who asks.
#[derive(Clone)]
pub enum Who {
    Operator,
    Client(Arc<Id>),
    Nobody,
}

/// A client as its token names it.
pub struct Id {
    pub name: String,
    pub platform: Platform,
    pub tenant: String,
}

impl Who {
    pub fn operator(&self) -> Result<(), Problem> {
        match self {
            Self::Operator => Ok(()),
            Self::Client(_) => Err(Problem::operators_only()),
            Self::Nobody => Err(Problem::stranger()),
        }
    }

    pub fn known(&self) -> Result<(), Problem> {
        match self {
            Self::Operator | Self::Client(_) => Ok(()),
            Self::Nobody => Err(Problem::stranger()),
        }
    }

    pub fn is_operator(&self) -> bool {
        matches!(self, Self::Operator)
    }

    /// Whether what this caller asked may be looked at.
    pub fn may_see(&self, caller: &Caller) -> bool {
        match self {
            Self::Operator => true,
            Self::Client(id) => {
                (caller.platform, &caller.account, &caller.tenant) == (id.platform, &id.name, &id.tenant)
            }
            Self::Nobody => false,
        }
    }

    /// The same for a line of the index, which names the session in place of the account.
    pub fn may_see_line(&self, platform: Platform, tenant: &str, session: &SessionKey) -> bool {
        match self {
            Self::Operator => true,
            Self::Client(id) => {
                // A client's name has no character that a session key encodes.
                let own = format!("{}/={}/", id.platform, id.name);
                platform == id.platform && tenant == id.tenant && session.as_str().starts_with(&own)
            }
            Self::Nobody => false,
        }
    }

    pub fn account(&self) -> &str {
        match self {
            Self::Client(id) => &id.name,
            Self::Operator | Self::Nobody => OPERATOR,
        }
    }

    pub fn platform(&self) -> Platform {
        match self {
            Self::Client(id) => id.platform,
            Self::Operator | Self::Nobody => Platform::Api,
        }
    }

    pub fn tenant(&self) -> &str {
        match self {
            Self::Client(id) => &id.tenant,
            Self::Operator | Self::Nobody => "default",
        }
    }
}

/// The guard of every route.
pub struct Gate {
    admin: Option<Token>,
    clients: Vec<(Token, Arc<Id>)>,
    listen: IpAddr,
    origins: Vec<String>,
    read: Mutex<Option<(Instant, Arc<Tokens>)>>,
    /// One reads; the others wait for what it reads.
    reading: Semaphore,
}

/// Digests of the tokens, so that they are compared in constant time whatever their lengths.
struct Tokens {
    admin: Option<[u8; 32]>,
    clients: Vec<Option<[u8; 32]>>,
}

impl Gate {
    pub fn new(config: &Config, addr: SocketAddr) -> Self {
        let id = |client: &Client| Id {
            name: client.name.clone(),
            platform: client.platform,
            tenant: client.tenant.clone().unwrap_or_else(|| "default".into()),
        };
        Self {
            admin: config.admin.clone(),
            clients: config.clients.iter().map(|c| (c.token.clone(), Arc::new(id(c)))).collect(),
            listen: addr.ip(),
            origins: config.allowed_origins.iter().map(|o| o.trim_end_matches('/').to_ascii_lowercase()).collect(),
            read: Mutex::default(),
            reading: Semaphore::new(1),
        }
    }

    fn has_tokens(&self) -> bool {
        self.admin.is_some() || !self.clients.is_empty()
    }

    async fn who(&self, peer: SocketAddr, uri: &Uri, headers: &HeaderMap) -> Result<Who, Problem> {
        // What a proxy on this machine passes on comes from anywhere.
        let passed_on = PASSED_ON.iter().any(|name| headers.contains_key(*name));
        if !self.has_tokens() && (passed_on || !peer.ip().to_canonical().is_loopback()) {
            return Err(Problem::foreign("without a token only this machine is answered"));
        }
        let host = host(uri, headers).ok_or_else(|| Problem::foreign("the Host header is missing or not readable"))?;
        if !self.is_our_host(&host) {
            return Err(Problem::foreign("this host name is not answered here"));
        }
        if let Some(origin) = headers.get(header::ORIGIN)
            && !self.is_our_origin(origin, &host)
        {
            return Err(Problem::foreign("pages of this origin are not answered here"));
        }
        if !self.has_tokens() {
            return Ok(Who::Operator);
        }
        let Some(shown) = bearer(headers) else { return Ok(Who::Nobody) };
        Ok(self.owner(Sha256::digest(shown.as_bytes()).into(), &*self.tokens().await))
    }

    /// Every token is compared, whichever fits first.
    fn owner(&self, shown: [u8; 32], tokens: &Tokens) -> Who {
        let admin = tokens.admin.as_ref().is_some_and(|token| same(token, &shown));
        let mut client = None;
        for (token, (_, id)) in tokens.clients.iter().zip(&self.clients) {
            if token.as_ref().is_some_and(|token| same(token, &shown)) {
                client = client.or(Some(id));
            }
        }
        match (admin, client) {
            (true, _) => Who::Operator,
            (false, Some(id)) => Who::Client(id.clone()),
            (false, None) => Who::Nobody,
        }
    }

    async fn tokens(&self) -> Arc<Tokens> {
        if let Some(tokens) = self.fresh_tokens() {
            return tokens;
        }
        let _reading = self.reading.acquire().await;
        if let Some(tokens) = self.fresh_tokens() {
            return tokens;
        }
        let admin = match &self.admin {
            Some(token) => read(token).await,
            None => None,
        };
        let clients = futures_util::future::join_all(self.clients.iter().map(|(token, _)| read(token))).await;
        let tokens = Arc::new(Tokens { admin, clients });
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), tokens.clone()));
        tokens
    }

    fn fresh_tokens(&self) -> Option<Arc<Tokens>> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, tokens) = read.as_ref().filter(|(at, _)| at.elapsed() < TOKENS_LAST)?;
        Some(tokens.clone())
    }

    /// A name that a stranger may point at us is no host of ours; addresses cannot be pointed.
    fn is_our_host(&self, host: &Authority) -> bool {
        let name = host.host().to_ascii_lowercase();
        let address = IpAddr::from_str(name.trim_start_matches('[').trim_end_matches(']')).ok();
        match address.map(|a| a.to_canonical()) {
            Some(address) => address.is_loopback() || self.has_tokens() || address == self.listen,
            None => name == "localhost" || self.origins.iter().any(|o| host_of_origin(o).is_some_and(|h| h == name)),
        }
    }

    fn is_our_origin(&self, origin: &HeaderValue, host: &Authority) -> bool {
        let Ok(origin) = origin.to_str().map(str::to_ascii_lowercase) else { return false };
        let own = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        own.is_some_and(|own| own == host.as_str().to_ascii_lowercase()) || self.origins.contains(&origin)
    }

    /// What a page of an allowed origin needs to read the answer.
    fn share(&self, origin: Option<&HeaderValue>, answer: &mut Response) {
        let Some(origin) = origin else { return };
        let allowed = origin.to_str().is_ok_and(|o| self.origins.contains(&o.to_ascii_lowercase()));
        if allowed {
            let headers = answer.headers_mut();
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.insert(header::VARY, HeaderValue::from_static("origin"));
        }
    }
}

async fn read(token: &Token) -> Option<[u8; 32]> {
    let secret: SecretString = tokio::time::timeout(TOKEN_TIME, token()).await.ok().flatten()?;
    let text = secret.expose_secret().trim();
    (!text.is_empty()).then(|| Sha256::digest(text.as_bytes()).into())
}

fn same(a: &[u8; 32], b: &[u8; 32]) -> bool {
    let difference = a.iter().zip(b).fold(0u8, |sum, (a, b)| sum | (a ^ b));
    std::hint::black_box(difference) == 0
}

/// The one host that the request names; a request line and a header that differ name none.
fn host(uri: &Uri, headers: &HeaderMap) -> Option<Authority> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let named = hosts.next()?;
    if hosts.next().is_some() {
        return None;
    }
    let named = Authority::from_str(named.to_str().ok()?).ok()?;
    let same = uri.authority().is_none_or(|a| a.as_str().eq_ignore_ascii_case(named.as_str()));
    (same && !named.as_str().contains('@')).then_some(named)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The host of `https://host:port`; nothing when it is no origin.
pub fn host_of_origin(origin: &str) -> Option<String> {
    let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"))?;
    let authority = Authority::from_str(rest.trim_end_matches('/')).ok()?;
    (!authority.as_str().contains('@')).then(|| authority.host().to_ascii_lowercase())
}

/// The layer around every route: refuses, or tells the route who asks.
pub async fn guard(State(gate): State<Arc<Gate>>, mut request: Request, next: Next) -> Response {
    let Some(Peer(peer)) = request.extensions().get::<Peer>().copied() else {
        return Problem::internal("a request without a peer").into_response();
    };
    let origin = request.headers().get(header::ORIGIN).cloned();
    let who = match gate.who(peer, request.uri(), request.headers()).await {
        Ok(who) => who,
        Err(problem) => return problem.into_response(),
    };
    let asks_first = request.method() == Method::OPTIONS
        && origin.is_some()
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let is_api = request.uri().path().starts_with("/v1/");
    let mut answer = if asks_first {
        let allowed = [
            (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
            (header::ACCESS_CONTROL_ALLOW_HEADERS, "authorization, content-type, accept"),
        ];
        (StatusCode::NO_CONTENT, allowed).into_response()
    } else {
        request.extensions_mut().insert(who);
        next.run(request).await
    };
    gate.share(origin.as_ref(), &mut answer);
    if is_api {
        answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    answer.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(origins: &[&str], with_token: bool) -> Gate {
        let config = Config {
            listen: ([127, 0, 0, 1], 0).into(),
            admin: with_token.then(|| crate::token(|| async { Some(SecretString::from("t\n")) })),
            clients: Vec::new(),
            pages: None,
            hooks: None,
            allowed_origins: origins.iter().map(|o| (*o).to_owned()).collect(),
        };
        Gate::new(&config, config.listen)
    }

    fn admits(gate: &Gate, host: &str, origin: Option<&str>) -> bool {
        let host = Authority::from_str(host).unwrap();
        gate.is_our_host(&host) && origin.is_none_or(|o| gate.is_our_origin(&HeaderValue::from_str(o).unwrap(), &host))
    }

    #[test]
    fn a_name_that_was_pointed_at_us_is_refused_and_an_address_is_not() {
        let open = gate(&[], false);
        for host in ["localhost:8787", "127.0.0.1", "127.0.0.2:1", "[::1]:8787", "LOCALHOST"] {
            assert!(admits(&open, host, None), "{host}");
        }
        for host in ["evil.test", "localhost.evil.test", "127.0.0.1.evil.test:8787", "10.0.0.1"] {
            assert!(!admits(&open, host, None), "{host}");
        }
        assert!(admits(&gate(&[], true), "10.0.0.1:8787", None));
        assert!(!admits(&gate(&[], true), "evil.test", None));
        assert!(admits(&gate(&["https://bot.example.org"], true), "bot.example.org", None));
    }

    #[test]
    fn a_page_of_another_origin_is_refused_unless_it_was_allowed() {
        let own = gate(&["http://127.0.0.1:9999"], false);
        assert!(admits(&own, "127.0.0.1:8787", Some("http://127.0.0.1:8787")));
        assert!(admits(&own, "127.0.0.1:8787", Some("http://127.0.0.1:9999")));
        for origin in ["http://127.0.0.1:8788", "http://evil.test", "null", "http://127.0.0.1:8787.evil.test"] {
            assert!(!admits(&own, "127.0.0.1:8787", Some(origin)), "{origin}");
        }
    }

    #[tokio::test]
    async fn a_token_with_a_trailing_newline_works_and_another_does_not() {
        let gate = gate(&[], true);
        let tokens = gate.tokens().await;
        assert!(gate.owner(Sha256::digest(b"t").into(), &tokens).is_operator());
        assert!(matches!(gate.owner(Sha256::digest(b"T").into(), &tokens), Who::Nobody));
        assert!(matches!(gate.owner(Sha256::digest(b"").into(), &tokens), Who::Nobody));
    }

    #[test]
    fn two_hosts_are_no_host() {
        let mut headers = HeaderMap::new();
        headers.append(header::HOST, HeaderValue::from_static("localhost"));
        assert!(host(&Uri::from_static("/"), &headers).is_some());
        assert!(host(&Uri::from_static("http://evil.test/"), &headers).is_none());
        headers.append(header::HOST, HeaderValue::from_static("evil.test"));
        assert!(host(&Uri::from_static("/"), &headers).is_none());
    }
}
