//! Credentials: what a request has to carry so that a service answers it, added after the request is made.
//!
//! Reading order: [`Settings`] is what the configuration says; [`Credentials`] is the store of all; a [`Credential`]
//! chooses the variant of the caller's tenant, checks that the request goes to a host that the secret is for, and adds
//! it. `oauth` gets access tokens, `signature` signs. Knows nothing of tools: it is given a request and a tenant.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use reqwest::{
    Client, Request, Url,
    header::{AUTHORIZATION, HeaderName, HeaderValue},
};
use secrecy::{ExposeSecret, SecretString};

mod hosts;
mod oauth;
pub mod signature;
mod token;

pub use hosts::HostPattern;
pub use oauth::{SharedToken, TokenShare};
pub use signature::Signature;
pub use token::{ClientAuth, OAuth};

use crate::secret::{Known, SecretUnreadable, Source};
use oauth::Flow;

/// A credential as the configuration describes it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings {
    /// For every tenant that has none of its own; nothing means that the others have none.
    pub base: Option<Variant>,
    pub tenants: BTreeMap<String, Variant>,
}

/// A credential of one tenant, or of all others.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    pub kind: Kind,
    /// The hosts that may be sent it; empty means those of the tools that name it.
    pub hosts: Vec<HostPattern>,
}

/// How a request proves whose it is.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A secret that is sent as it is: a bearer token, a key in a header or in the query.
    Secret {
        secret: Source,
        place: Place,
    },
    /// A name and a password.
    Basic {
        username: Source,
        password: Source,
    },
    OAuth(Box<OAuth>),
    Signature(Box<Signature>),
}

impl Settings {
    /// Everything that has to be read for any tenant, names included.
    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        self.base.iter().chain(self.tenants.values()).flat_map(|variant| variant.kind.sources())
    }
}

impl Kind {
    fn sources(&self) -> Vec<&Source> {
        match self {
            Self::Secret { secret, .. } => vec![secret],
            Self::Basic { username, password } => vec![username, password],
            Self::OAuth(oauth) => vec![&oauth.client_id, &oauth.client_secret],
            Self::Signature(signature) => std::iter::once(&signature.secret).chain(&signature.key_id).collect(),
        }
    }
}

/// Where a secret stands in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Behind a prefix such as `Bearer `.
    Header {
        name: HeaderName,
        prefix: String,
    },
    Query {
        name: String,
    },
}

impl Place {
    /// `Authorization: Bearer …`.
    pub fn bearer() -> Self {
        Self::Header { name: AUTHORIZATION, prefix: "Bearer ".into() }
    }
}

/// Every credential of the configuration, by name.
#[derive(Clone, Default)]
pub struct Credentials(BTreeMap<String, Arc<Credential>>);

impl Credentials {
    /// Each replica gets access tokens of its own.
    pub fn new(settings: BTreeMap<String, Settings>) -> Self {
        Self::with_share(settings, None)
    }

    /// Access tokens are shared with the other replicas, so that a service is asked for one by all together.
    pub fn with_share(settings: BTreeMap<String, Settings>, share: Option<Arc<dyn TokenShare>>) -> Self {
        let made = |(name, settings): (String, Settings)| {
            let credential = Credential::new(&name, settings, share.as_ref());
            (name, Arc::new(credential))
        };
        Self(settings.into_iter().map(made).collect())
    }

    pub fn get(&self, name: &str) -> Option<Arc<Credential>> {
        self.0.get(name).cloned()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// Why a request cannot be given its credential. What it holds is for operators, and holds no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    pub why: String,
    /// When whoever gives out access tokens may be asked again.
    pub retry_after: Option<Duration>,
}

impl Trouble {
    fn new(why: impl Into<String>) -> Self {
        let why = why.into();
        Self { why: Known::shared().mask(&why).into_owned(), retry_after: None }
    }
}

impl From<SecretUnreadable> for Trouble {
    fn from(error: SecretUnreadable) -> Self {
        Self::new(error.to_string())
    }
}

/// What a request was given, to be compared when the service refuses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Applied(u64);

impl Applied {
    fn of<'a>(secrets: impl IntoIterator<Item = &'a SecretString>) -> Self {
        let mut hasher = DefaultHasher::new();
        secrets.into_iter().for_each(|secret| secret.expose_secret().hash(&mut hasher));
        Self(hasher.finish())
    }
}

/// One credential with its variants.
pub struct Credential {
    name: String,
    base: Option<Ready>,
    tenants: BTreeMap<String, Ready>,
}

/// A variant that can be used.
struct Ready {
    how: How,
    hosts: Vec<HostPattern>,
}

enum How {
    Secret { secret: Source, place: Place },
    Basic { username: Source, password: Source },
    OAuth(Box<Flow>),
    Signature(Box<Signature>),
}

impl Credential {
    fn new(name: &str, settings: Settings, share: Option<&Arc<dyn TokenShare>>) -> Self {
        let ready = |variant: Variant| Ready {
            how: match variant.kind {
                Kind::Secret { secret, place } => How::Secret { secret, place },
                Kind::Basic { username, password } => How::Basic { username, password },
                Kind::OAuth(settings) => How::OAuth(Box::new(Flow::new(*settings, share.cloned()))),
                Kind::Signature(signature) => How::Signature(signature),
            },
            hosts: variant.hosts,
        };
        Self {
            name: name.to_owned(),
            base: settings.base.map(ready),
            tenants: settings.tenants.into_iter().map(|(tenant, variant)| (tenant, ready(variant))).collect(),
        }
    }

    /// One that is named and not known: no request can be given it.
    pub(crate) fn unknown(name: &str) -> Self {
        Self::new(name, Settings::default(), None)
    }

    /// Whether any variant may be sent to this address.
    pub fn is_for(&self, url: &Url) -> bool {
        self.base.iter().chain(self.tenants.values()).any(|ready| ready.is_for(url))
    }

    /// The hosts that it is restricted to, for an error text.
    pub fn hosts(&self) -> String {
        let all = self.base.iter().chain(self.tenants.values()).flat_map(|ready| &ready.hosts);
        let mut all: Vec<_> = all.map(ToString::to_string).collect();
        all.sort_unstable();
        all.dedup();
        all.join(", ")
    }

    /// Adds what proves whose request it is. To be called last: a signature is over exactly what is sent.
    pub async fn apply(&self, request: &mut Request, tenant: &str, client: &Client) -> Result<Applied, Trouble> {
        let ready = self.of(tenant)?;
        if !ready.is_for(request.url()) {
            let host = request.url().host_str().unwrap_or_default();
            return Err(Trouble::new(format!("the credential '{}' must not be sent to {host}", self.name)));
        }
        let applied = match &ready.how {
            How::Secret { secret, place } => {
                let secret = secret.read().await?;
                put(request, place, &secret)?;
                Applied::of([&secret])
            }
            How::Basic { username, password } => {
                let (username, password) = (username.read_name().await?, password.read().await?);
                let both = format!("{}:{}", trimmed(&username), trimmed(&password));
                let encoded = SecretString::from(STANDARD.encode(both));
                Known::shared().note(&encoded);
                put(request, &Place::Header { name: AUTHORIZATION, prefix: "Basic ".into() }, &encoded)?;
                Applied::of([&encoded])
            }
            How::OAuth(flow) => {
                let token = flow.token(client).await?;
                put(request, flow.place(), &token)?;
                Applied::of([&token])
            }
            How::Signature(signature) => signature.sign(request).await?,
        };
        Ok(applied)
    }

    /// The service does not accept what it was sent: whether there is something newer to be sent once more.
    pub async fn renew(&self, applied: Applied, tenant: &str, client: &Client) -> bool {
        let Ok(ready) = self.of(tenant) else { return false };
        match &ready.how {
            How::Secret { secret, .. } => secret.read_anew().await.is_ok_and(|now| Applied::of([&now]) != applied),
            How::Basic { username, password } => {
                let Ok(password) = password.read_anew().await else { return false };
                let Ok(username) = username.read_name().await else { return false };
                let both = format!("{}:{}", trimmed(&username), trimmed(&password));
                Applied::of([&SecretString::from(STANDARD.encode(both))]) != applied
            }
            How::OAuth(flow) => flow.renew(applied, client).await,
            How::Signature(signature) => {
                signature.secret.read_anew().await.is_ok_and(|now| Applied::of([&now]) != applied)
            }
        }
    }

    /// What was renewed is not accepted either: it is not renewed again for a while.
    pub fn renewed_in_vain(&self, tenant: &str) {
        if let Ok(Ready { how: How::OAuth(flow), .. }) = self.of(tenant) {
            flow.renewed_in_vain();
        }
    }

    fn of(&self, tenant: &str) -> Result<&Ready, Trouble> {
        self.tenants.get(tenant).or(self.base.as_ref()).ok_or_else(|| {
            let tenant = contract::text::one_line(tenant, 64);
            Trouble::new(format!("the credential '{}' has none for the tenant '{tenant}'", self.name))
        })
    }
}

impl Ready {
    fn is_for(&self, url: &Url) -> bool {
        self.hosts.is_empty() || self.hosts.iter().any(|host| host.fits(url))
    }
}

/// Editors leave a line end behind a secret.
fn trimmed(secret: &SecretString) -> &str {
    secret.expose_secret().trim_end_matches(['\r', '\n'])
}

fn put(request: &mut Request, place: &Place, secret: &SecretString) -> Result<(), Trouble> {
    match place {
        Place::Header { name, prefix } => {
            let value = header_value(name, &format!("{prefix}{}", trimmed(secret)))?;
            request.headers_mut().insert(name.clone(), value);
        }
        Place::Query { name } => {
            request.url_mut().query_pairs_mut().append_pair(name, trimmed(secret));
        }
    }
    Ok(())
}

fn header_value(name: &HeaderName, text: &str) -> Result<HeaderValue, Trouble> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| Trouble::new(format!("the header '{name}' cannot carry the secret: it has line ends in it")))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests;
