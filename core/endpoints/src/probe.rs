//! Whether what a tool needs is there, as its `check` asks.

use std::{process::Stdio, sync::Arc};

use async_trait::async_trait;
use reqwest::{Client, Url};
use tokio::{net::TcpStream, process::Command};
use tools::{Probe, spec::Check};

/// The probe of a `check`, or what is wrong with it and at which key.
pub fn of(check: &Check, client: &Client) -> Result<Arc<dyn Probe>, (&'static str, String)> {
    Ok(match check {
        Check::Http(url) => match url.parse::<Url>() {
            Ok(url) if matches!(url.scheme(), "http" | "https") => Arc::new(Http { url, client: client.clone() }),
            Ok(_) => return Err(("check.http", "an address begins with http:// or https://".to_owned())),
            Err(error) => return Err(("check.http", format!("this is no address: {error}"))),
        },
        Check::Tcp(place) => Arc::new(Tcp(place.clone())),
        Check::Command(argv) => Arc::new(Ends(argv.clone())),
    })
}

struct Http {
    url: Url,
    client: Client,
}

#[async_trait]
impl Probe for Http {
    async fn probe(&self) -> Result<(), String> {
        // The error of the client would name the address, which may have a key in it.
        let sent = self.client.get(self.url.clone()).send().await.map_err(|error| why(&error).to_owned())?;
        match sent.status() {
            status if status.is_success() || status.is_redirection() => Ok(()),
            status => Err(format!("it answers {status}")),
        }
    }
}

pub fn why(error: &reqwest::Error) -> &'static str {
    match error {
        error if error.is_timeout() => "no answer in time",
        error if error.is_connect() => "no connection",
        _ => "no readable answer",
    }
}

struct Tcp(String);

#[async_trait]
impl Probe for Tcp {
    async fn probe(&self) -> Result<(), String> {
        TcpStream::connect(&self.0)
            .await
            .map(drop)
            .map_err(|error| format!("no connection to {}: {}", self.0, error.kind()))
    }
}

struct Ends(Vec<String>);

#[async_trait]
impl Probe for Ends {
    async fn probe(&self) -> Result<(), String> {
        let [program, args @ ..] = &self.0[..] else { return Err("there is no command".to_owned()) };
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        match command.status().await {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("'{program}' ends with {status}")),
            Err(error) => Err(format!("'{program}' cannot be started: {}", error.kind())),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;

    async fn asked(check: Check) -> String {
        let client = crate::client().unwrap();
        match of(&check, &client) {
            Ok(probe) => probe.probe().await.map_or_else(|why| why, |()| "there".to_owned()),
            Err((at, why)) => format!("{at}: {why}"),
        }
    }

    /// Answers one request with that status.
    async fn answers(status: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let _ = socket.read(&mut [0; 1024]).await;
            let answer = format!("HTTP/1.1 {status}\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n");
            let _ = socket.write_all(answer.as_bytes()).await;
        });
        address.to_string()
    }

    async fn nobody() -> String {
        TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string()
    }

    #[tokio::test]
    async fn an_address_is_asked_and_its_key_is_not_told() {
        let _ = crate::Endpoints::new();
        let url = |place: &str| Check::Http(format!("http://{place}/healthz?key=sk_live_1"));
        assert_eq!(asked(url(&answers("204 No Content").await)).await, "there");
        assert_eq!(asked(url(&answers("302 Found").await)).await, "there");
        assert_eq!(asked(url(&answers("503 Service Unavailable").await)).await, "it answers 503 Service Unavailable");
        assert_eq!(asked(url(&nobody().await)).await, "no connection");
        assert_eq!(
            asked(Check::Http("ftp://x".into())).await,
            "check.http: an address begins with http:// or https://"
        );
    }

    #[tokio::test]
    async fn a_port_is_connected_to_and_a_command_run() {
        let there = TcpListener::bind("127.0.0.1:0").await.unwrap();
        assert_eq!(asked(Check::Tcp(there.local_addr().unwrap().to_string())).await, "there");
        let nobody = nobody().await;
        assert_eq!(asked(Check::Tcp(nobody.clone())).await, format!("no connection to {nobody}: connection refused"));
        let run = |argv: &[&str]| Check::Command(argv.iter().map(|arg| (*arg).to_owned()).collect());
        assert_eq!(asked(run(&["true"])).await, "there");
        assert_eq!(asked(run(&["sh", "-c", "exit 3"])).await, "'sh' ends with exit status: 3");
        assert_eq!(asked(run(&["no-such-program"])).await, "'no-such-program' cannot be started: entity not found");
    }
}
