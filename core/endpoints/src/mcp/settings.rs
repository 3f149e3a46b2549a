//! Where a server is and how it is reached.

use std::{collections::HashMap, path::PathBuf, time::Duration};

use reqwest::header::{HeaderName, HeaderValue};
use secrecy::ExposeSecret;

use crate::secret::{SecretUnreadable, Source};

/// An MCP server.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    pub id: String,
    pub via: Via,
    /// How long it may take to start and to say what it offers.
    pub timeout: Duration,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq)]
pub enum Via {
    Http {
        url: String,
        /// Read when a connection is made, and again when the server refuses them.
        headers: Vec<(HeaderName, Vec<Part>)>,
    },
    /// A process of ours, spoken to over its standard streams.
    Stdio {
        command: Vec<String>,
        /// Beside the few variables that every program needs; nothing else of ours is passed on.
        env: Vec<(String, Vec<Part>)>,
        /// Where it runs; where we do when nothing is said.
        folder: Option<PathBuf>,
    },
}

impl Via {
    pub fn is_process(&self) -> bool {
        matches!(self, Self::Stdio { .. })
    }
}

/// A part of a value: written as it is, or a secret.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    Written(String),
    Secret(Source),
}

/// Values that were read, and the secrets among them: those are masked wherever the server repeats them.
#[derive(Default)]
pub struct Filled<T> {
    pub values: T,
    pub secrets: Vec<String>,
}

/// Reads headers; `anew` when those that were read before are not accepted.
pub async fn headers(
    of: &[(HeaderName, Vec<Part>)],
    anew: bool,
) -> Result<Filled<HashMap<HeaderName, HeaderValue>>, String> {
    let mut filled = Filled::<HashMap<_, _>>::default();
    for (name, parts) in of {
        let text = fill(parts, anew, &mut filled.secrets).await.map_err(|error| error.to_string())?;
        let mut value: HeaderValue =
            text.trim().parse().map_err(|_| format!("the value of the header '{name}' is not fit to be sent"))?;
        value.set_sensitive(true);
        filled.values.insert(name.clone(), value);
    }
    Ok(filled)
}

/// Reads variables for a process.
pub async fn variables(of: &[(String, Vec<Part>)], anew: bool) -> Result<Filled<Vec<(String, String)>>, String> {
    let mut filled = Filled::<Vec<_>>::default();
    for (name, parts) in of {
        let text = fill(parts, anew, &mut filled.secrets).await.map_err(|error| error.to_string())?;
        filled.values.push((name.clone(), text));
    }
    Ok(filled)
}

async fn fill(parts: &[Part], anew: bool, secrets: &mut Vec<String>) -> Result<String, SecretUnreadable> {
    let mut out = String::new();
    for part in parts {
        match part {
            Part::Written(text) => out.push_str(text),
            Part::Secret(source) => {
                let secret = if anew { source.read_anew().await? } else { source.read().await? };
                out.push_str(secret.expose_secret());
                // What is shorter would mask half of every text.
                if secret.expose_secret().len() >= 4 {
                    secrets.push(secret.expose_secret().to_owned());
                }
            }
        }
    }
    Ok(out)
}
