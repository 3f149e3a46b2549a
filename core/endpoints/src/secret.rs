//! Secrets as endpoints see them: something that is read when it is used, and whose text cannot be printed.
//!
//! [`Known`] remembers what was read, so that it can be masked wherever it turns up again.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use secrecy::SecretString;

mod known;

pub use known::{Known, MASK};

/// Where a secret is kept. It is asked at each use, so that a rotated secret needs no restart.
#[async_trait]
pub trait SecretSource: Send + Sync {
    /// The secret as it is now; a source that is slow to ask may answer from a short memory.
    async fn read(&self) -> Result<SecretString, SecretUnreadable>;

    /// The secret past any memory: what was read before is not accepted any more.
    async fn read_anew(&self) -> Result<SecretString, SecretUnreadable> {
        self.read().await
    }

    /// What may be printed of it: `env:TOKEN`.
    fn reference(&self) -> String {
        MASK.to_owned()
    }
}

/// Why a secret could not be read. Names the reference, never what was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretUnreadable {
    /// The key in the configuration.
    pub key: String,
    pub why: String,
}

impl fmt::Display for SecretUnreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the secret '{}' cannot be read: {}", self.key, self.why)
    }
}

impl std::error::Error for SecretUnreadable {}

/// A secret that is in hand already, for tests and for programs that embed the gateway.
#[async_trait]
impl SecretSource for SecretString {
    async fn read(&self) -> Result<SecretString, SecretUnreadable> {
        Ok(self.clone())
    }
}

/// A source that is shared; whatever it reads is known as a secret from then on.
#[derive(Clone)]
pub struct Source(Arc<dyn SecretSource>);

impl Source {
    pub fn new(source: impl SecretSource + 'static) -> Self {
        Self(Arc::new(source))
    }

    pub async fn read(&self) -> Result<SecretString, SecretUnreadable> {
        self.0.read().await.inspect(|secret| Known::shared().note(secret))
    }

    /// A name rather than a secret, such as a user's: it is not masked anywhere.
    pub async fn read_name(&self) -> Result<SecretString, SecretUnreadable> {
        self.0.read().await
    }

    pub async fn read_anew(&self) -> Result<SecretString, SecretUnreadable> {
        self.0.read_anew().await.inspect(|secret| Known::shared().note(secret))
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({})", self.0.reference())
    }
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.reference() == other.0.reference()
    }
}
