use std::{
    net::SocketAddr,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use axum::{
    Router,
    body::Body,
    extract::{Request as Asked, State},
    http::Response as Answer,
};
use contract::{Effect, Failure, Finding};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use tools::{Build, spec::EndpointSpec};

use super::*;
use crate::{
    Endpoints,
    http::Http,
    secret::SecretSource,
    testing::{Bench, spec},
};

mod oauth;

/// A service and whoever gives out tokens for it, on one port.
#[derive(Default)]
struct World {
    /// What the service was asked: address and what proves whose request it is.
    asks: Mutex<Vec<String>>,
    /// What the service accepts; nothing means anything.
    accepts: Mutex<Option<String>>,
    /// Answers of the token endpoint; the last stays.
    tokens: Mutex<Vec<(u16, String)>>,
    token_asks: Mutex<Vec<String>>,
    /// How long the token endpoint takes.
    slow_ms: AtomicUsize,
}

struct Service {
    address: SocketAddr,
    world: Arc<World>,
}

impl Service {
    async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let world = Arc::new(World::default());
        let app = Router::new().fallback(answer).with_state(world.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { address, world }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn gives(&self, answers: &[(u16, &str)]) {
        *self.world.tokens.lock().unwrap() = answers.iter().rev().map(|(s, t)| (*s, (*t).to_owned())).collect();
    }

    fn accepts(&self, what: &str) {
        *self.world.accepts.lock().unwrap() = Some(what.to_owned());
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.world.asks.lock().unwrap())
    }

    fn token_asked(&self) -> Vec<String> {
        std::mem::take(&mut self.world.token_asks.lock().unwrap())
    }

    fn oauth(&self) -> OAuth {
        OAuth {
            token_url: self.url("/token").parse().unwrap(),
            client_id: literal("toolgate:1"),
            client_secret: literal("client-secret-77\n"),
            scopes: vec!["read".into(), "write".into()],
            audience: None,
            client_auth: ClientAuth::Basic,
            params: vec![],
            place: Place::bearer(),
        }
    }

    fn with_oauth(&self, oauth: OAuth) -> Http {
        self.tool(Kind::OAuth(Box::new(oauth)))
    }

    fn tool(&self, kind: Kind) -> Http {
        tool(&self.url("/orders"), settings(kind, &[])).unwrap()
    }
}

async fn answer(State(world): State<Arc<World>>, ask: Asked) -> Answer<Body> {
    let (parts, body) = ask.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let header = |name: &str| parts.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned();
    let text = String::from_utf8_lossy(&body).into_owned();
    if parts.uri.path() == "/token" {
        world.token_asks.lock().unwrap().push(format!("{} {text}", header("authorization")));
        tokio::time::sleep(Duration::from_millis(world.slow_ms.load(Ordering::SeqCst) as u64)).await;
        let mut tokens = world.tokens.lock().unwrap();
        let (status, body) = if tokens.len() > 1 { tokens.pop() } else { tokens.last().cloned() }.unwrap_or_default();
        return Answer::builder().status(status).body(body.into()).unwrap();
    }
    let proof = format!("{}{}", header("authorization"), header("x-key"));
    world.asks.lock().unwrap().push(format!("{} {proof}", parts.uri));
    if parts.uri.path() == "/moved" {
        return Answer::builder().status(302).header("location", header("x-to")).body(Body::empty()).unwrap();
    }
    if parts.uri.path() == "/signed" {
        let mut mac = Hmac::<Sha256>::new_from_slice(b"the-key-of-the-signature").unwrap();
        mac.update(format!("{}\n{}\n", parts.method, header("x-timestamp")).as_bytes());
        mac.update(&body);
        let wanted: String = mac.finalize().into_bytes().iter().map(|b| format!("{b:02x}")).collect();
        let status = if header("x-signature") == wanted { 200 } else { 401 };
        return Answer::builder().status(status).body("\"signed\"".into()).unwrap();
    }
    let accepted = world.accepts.lock().unwrap().clone();
    let status = if accepted.is_none_or(|accepted| proof == accepted) { 200 } else { 401 };
    let body = json!({ "you sent": proof, "to": parts.uri.to_string() }).to_string();
    Answer::builder().status(status).header("content-type", "application/json").body(body.into()).unwrap()
}

fn literal(text: &str) -> Source {
    Source::new(SecretString::from(text))
}

fn settings(kind: Kind, hosts: &[&str]) -> Settings {
    let hosts = hosts.iter().map(|host| host.parse().unwrap()).collect();
    Settings { base: Some(Variant { kind, hosts }), tenants: BTreeMap::new() }
}

fn bearer(token: &str) -> Kind {
    Kind::Secret { secret: literal(token), place: Place::bearer() }
}

fn tool(url: &str, settings: Settings) -> Result<Http, Finding> {
    built(url, Credentials::new(BTreeMap::from([("api".to_owned(), settings)])))
}

fn built(url: &str, credentials: Credentials) -> Result<Http, Finding> {
    let endpoints = Endpoints::new();
    let method = if url.ends_with("/signed") { "POST" } else { "GET" };
    let yaml = format!(
        "name: orders\ndescription: d\nparameters: {{}}\nendpoint:\n  url: '{url}'\n  method: {method}\n  credential: api\n"
    );
    let spec = spec(&yaml);
    match &spec.endpoint {
        EndpointSpec::Http(http) => Http::build(&spec, http, endpoints.client.unwrap(), Some(&credentials)),
        other => panic!("not http: {other:?}"),
    }
}

async fn send(http: &Http) -> Result<Value, Failure> {
    http.send(&json!({}), &Bench::new().cx()).await.map_err(Failure::from)
}

async fn send_as(http: &Http, tenant: &str) -> Result<Value, Failure> {
    let mut bench = Bench::new();
    bench.caller.tenant = tenant.into();
    http.send(&json!({}), &bench.cx()).await.map_err(Failure::from)
}

#[tokio::test]
async fn a_secret_stands_where_the_service_wants_it() {
    let service = Service::start().await;
    let key = |place| Kind::Secret { secret: literal("key-of-the-service\n"), place };
    let header = Place::Header { name: HeaderName::from_static("x-key"), prefix: "Token ".into() };
    for (kind, wanted) in [
        (bearer("token-of-the-service\n"), "/orders Bearer token-of-the-service"),
        (key(header), "/orders Token key-of-the-service"),
        (key(Place::Query { name: "api key".into() }), "/orders?api+key=key-of-the-service "),
        (
            Kind::Basic { username: literal("bot"), password: literal("pass:word\u{e4}") },
            "/orders Basic Ym90OnBhc3M6d29yZMOk",
        ),
    ] {
        send(&service.tool(kind)).await.unwrap();
        assert_eq!(service.asked(), [wanted]);
    }
    let broken = send(&service.tool(bearer("two\nlines"))).await.unwrap_err();
    assert_eq!(
        broken.cause.for_operator(),
        "the header 'authorization' cannot carry the secret: it has line ends in it"
    );
    assert!(service.asked().is_empty());
}

#[tokio::test]
async fn a_signature_is_over_exactly_what_is_sent() {
    let service = Service::start().await;
    let signature = Signature {
        secret: literal("the-key-of-the-signature\n"),
        key_form: signature::KeyForm::Text,
        algorithm: signature::Algorithm::Sha256,
        signed: ["method", "timestamp", "body"].map(|word| signature::Part::parse(word).unwrap()).to_vec(),
        separator: "\n".into(),
        encoding: signature::Encoding::Hex,
        header: HeaderName::from_static("x-signature"),
        value: "{signature}".into(),
        timestamp: signature::TimeForm::Seconds,
        timestamp_header: Some(HeaderName::from_static("x-timestamp")),
        nonce_header: None,
        digest_header: None,
        key_id: None,
        key_id_header: None,
    };
    let tool = tool(&service.url("/signed"), settings(Kind::Signature(Box::new(signature)), &[])).unwrap();
    let args = json!({ "text": "\u{4e0a}\u{6d77} \"x\"", "n": 1 });
    let answered = tool.send(&args, &Bench::new().cx()).await.map_err(Failure::from);
    assert_eq!(answered.unwrap(), json!("signed"));
}

/// A source that remembers what it read until somebody does not accept it.
struct Slow {
    now: Mutex<&'static str>,
    remembered: Mutex<&'static str>,
}

#[async_trait]
impl SecretSource for &'static Slow {
    async fn read(&self) -> Result<SecretString, SecretUnreadable> {
        Ok(SecretString::from(*self.remembered.lock().unwrap()))
    }

    async fn read_anew(&self) -> Result<SecretString, SecretUnreadable> {
        let now = *self.now.lock().unwrap();
        *self.remembered.lock().unwrap() = now;
        Ok(SecretString::from(now))
    }
}

#[tokio::test]
async fn a_rotated_secret_is_used_by_the_call_that_finds_the_old_one_refused() {
    static SOURCE: Slow = Slow { now: Mutex::new("new-secret"), remembered: Mutex::new("old-secret") };
    let service = Service::start().await;
    service.accepts("Bearer new-secret");
    let tool = service.tool(Kind::Secret { secret: Source::new(&SOURCE), place: Place::bearer() });
    send(&tool).await.unwrap();
    assert_eq!(service.asked(), ["/orders Bearer old-secret", "/orders Bearer new-secret"]);
    service.accepts("Bearer something");
    send(&tool).await.unwrap_err();
    assert_eq!(service.asked(), ["/orders Bearer new-secret"]);
}

#[tokio::test]
async fn a_tenant_has_its_own_and_one_without_has_none() {
    let service = Service::start().await;
    let variant = |token| Variant { kind: bearer(token), hosts: vec![] };
    let tenants = BTreeMap::from([("acme".to_owned(), variant("token-of-acme"))]);
    let shared = Settings { base: Some(variant("token-of-all")), tenants: tenants.clone() };
    let tool = |settings| tool(&service.url("/orders"), settings).unwrap();
    let shared = tool(shared);
    send_as(&shared, "acme").await.unwrap();
    send_as(&shared, "other").await.unwrap();
    assert_eq!(service.asked(), ["/orders Bearer token-of-acme", "/orders Bearer token-of-all"]);
    let failure = send_as(&tool(Settings { base: None, tenants }), "other").await.unwrap_err();
    assert_eq!(failure.cause.for_operator(), "the credential 'api' has none for the tenant 'other'");
    assert!(service.asked().is_empty());
}

#[tokio::test]
async fn a_credential_goes_to_its_hosts_and_follows_no_redirect() {
    let service = Service::start().await;
    let other = Service::start().await;
    let not_ours = tool(&service.url("/orders"), settings(bearer("t"), &["api.example.org", "*.example.net"]));
    let error = not_ours.map(drop).unwrap_err().to_string();
    assert_eq!(
        error,
        "test.yaml:7:3: the credential 'api' is not for '127.0.0.1': its 'hosts' are *.example.net, api.example.org"
    );
    // One tenant's may be sent there, another's may not.
    let here = Variant { kind: bearer("token-of-acme"), hosts: vec!["127.0.0.1".parse().unwrap()] };
    let away = Variant { kind: bearer("token-of-all"), hosts: vec!["api.example.org".parse().unwrap()] };
    let both = Settings { base: Some(away), tenants: BTreeMap::from([("acme".to_owned(), here)]) };
    let both = tool(&service.url("/orders"), both).unwrap();
    send_as(&both, "acme").await.unwrap();
    let failure = send_as(&both, "other").await.unwrap_err();
    assert_eq!(failure.cause.for_operator(), "the credential 'api' must not be sent to 127.0.0.1");
    assert_eq!(service.asked(), ["/orders Bearer token-of-acme"]);
    let moved = tool(&service.url("/moved"), settings(bearer("token-of-all"), &[])).unwrap();
    send(&moved).await.unwrap_err();
    assert!(other.asked().is_empty());
}

#[test]
fn a_credential_that_is_not_there_is_an_error_with_the_nearest_name() {
    let all = BTreeMap::from([("order_api".to_owned(), settings(bearer("t"), &[]))]);
    let endpoints = Endpoints::new().credentials(Credentials::new(all));
    let named = |name: &str| {
        let yaml = format!(
            "name: t\ndescription: d\nparameters: {{}}\nendpoint:\n  url: https://a.test\n  credential: {name}\n"
        );
        endpoints.build(&spec(&yaml)).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(named("order_api"), Ok(()));
    assert_eq!(
        named("order_pai"),
        Err("test.yaml:6:3: no credential is called 'order_pai' in 'credential_store': did you mean 'order_api'?"
            .into())
    );
    assert_eq!(named("zzz"), Err("test.yaml:6:3: no credential is called 'zzz' in 'credential_store'".into()));
}
