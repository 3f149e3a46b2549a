//! Secrets as endpoints see them: something that is read when it is used, and whose text cannot be printed.
//!
//! A source is asked anew at each use.

use std::fmt;

use async_trait::async_trait;
use secrecy::SecretString;

/// Where a secret is kept. It is asked at each use, so that a rotated secret needs no restart.
#[async_trait]
pub trait SecretSource: Send + Sync {
    /// The secret as it is now; a source that is slow to ask may answer from a short memory.
    async fn read(&self) -> Result<SecretString, SecretUnreadable>;

    /// The secret past any memory: what was read before is not accepted any more.
    async fn read_anew(&self) -> Result<SecretString, SecretUnreadable> {
        self.read().await
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
