//! Places of the audit trail that are no store: standard output, a file, an address.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock, mpsc},
    thread,
    time::Duration,
};

use async_trait::async_trait;
use contract::records::AuditEvent;
use dispatch::{AuditTo, Sink};
use endpoints::secret::Known;
use reqwest::{Client, header::CONTENT_TYPE, redirect::Policy};
use secrecy::ExposeSecret;
use tokio::sync::oneshot;

use crate::config::{Audit, Posted};

/// A file that is as large gives way to a new one; so many older ones stay.
const FILE_MAX: u64 = 64 << 20;
const FILES_KEPT: u32 = 4;
/// How long an address may take for a batch.
const POST_WITHIN: Duration = Duration::from_secs(10);

/// The places of the configuration; standard output only where it is said.
pub fn places(audit: &Audit, spill: Option<PathBuf>, with_stdout: bool) -> AuditTo {
    let mut sinks: Vec<Arc<dyn Sink>> = Vec::new();
    if audit.stdout && with_stdout {
        sinks.push(Arc::new(Stdout::new(io::stdout())));
    }
    sinks.extend(audit.file.clone().map(|path| Arc::new(Log::new(path, FILE_MAX)) as Arc<dyn Sink>));
    sinks.extend(audit.http.clone().map(|to| Arc::new(Address { to, client: OnceLock::new() }) as Arc<dyn Sink>));
    AuditTo { sinks, store: audit.store, required: audit.required, spill }
}

/// Events as lines, without secrets that are in use.
fn lines(events: &[AuditEvent]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(events.len() * 1_024);
    for event in events {
        lines.extend_from_slice(event.text.as_bytes());
        lines.push(b'\n');
    }
    Known::shared().mask_bytes(&lines).into_owned()
}

type Work = (Vec<u8>, oneshot::Sender<io::Result<()>>);

/// A thread of its own: a reader that reads no more holds nothing up, not even the end of the process.
struct Stdout(mpsc::SyncSender<Work>);

impl Stdout {
    fn new(mut out: impl Write + Send + 'static) -> Self {
        let (sender, work) = mpsc::sync_channel::<Work>(1);
        let write = move || {
            for (lines, done) in work {
                let _ = done.send(out.write_all(&lines).and_then(|()| out.flush()));
            }
        };
        // Without a thread every batch is refused, which is told.
        let _ = thread::Builder::new().name("audit".into()).spawn(write);
        Self(sender)
    }
}

#[async_trait]
impl Sink for Stdout {
    fn name(&self) -> &'static str {
        "stdout"
    }

    async fn write(&self, events: &[AuditEvent]) -> Result<(), String> {
        let (sender, done) = oneshot::channel();
        self.0.try_send((lines(events), sender)).map_err(|error| error.to_string())?;
        match done.await {
            Ok(written) => written.map_err(|error| error.to_string()),
            Err(_) => Err("its thread has ended".into()),
        }
    }
}

/// A file of JSON lines that gives way to a new one when it is large.
#[derive(Clone)]
struct Log {
    path: Arc<Path>,
    most: u64,
}

impl Log {
    fn new(path: PathBuf, most: u64) -> Self {
        Self { path: path.into(), most }
    }

    fn append(&self, lines: &[u8]) -> io::Result<()> {
        let mut file = self.open()?;
        let len = file.metadata()?.len();
        if len > 0 && len + lines.len() as u64 > self.most {
            drop(file);
            self.rotate()?;
            file = self.open()?;
        }
        file.write_all(lines)
    }

    fn open(&self) -> io::Result<File> {
        OpenOptions::new().create(true).append(true).mode(0o600).open(&self.path)
    }

    fn rotate(&self) -> io::Result<()> {
        for n in (1..FILES_KEPT).rev() {
            match std::fs::rename(self.older(n), self.older(n + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        std::fs::rename(&self.path, self.older(1))
    }

    fn older(&self, n: u32) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(format!(".{n}"));
        name.into()
    }
}

#[async_trait]
impl Sink for Log {
    fn name(&self) -> &'static str {
        "file"
    }

    async fn write(&self, events: &[AuditEvent]) -> Result<(), String> {
        let (log, lines) = (self.clone(), lines(events));
        let written = tokio::task::spawn_blocking(move || log.append(&lines)).await;
        written.map_err(|error| error.to_string())?.map_err(|error| format!("{}: {error}", self.path.display()))
    }
}

/// An address that takes JSON lines.
struct Address {
    to: Posted,
    client: OnceLock<Client>,
}

impl Address {
    fn client(&self) -> Result<Client, String> {
        if let Some(client) = self.client.get() {
            return Ok(client.clone());
        }
        let client = Client::builder().redirect(Policy::none()).no_proxy().timeout(POST_WITHIN).build();
        let client = client.map_err(|error| error.to_string())?;
        Ok(self.client.get_or_init(|| client).clone())
    }
}

#[async_trait]
impl Sink for Address {
    fn name(&self) -> &'static str {
        "http"
    }

    async fn write(&self, events: &[AuditEvent]) -> Result<(), String> {
        let mut request = self.client()?.post(&self.to.url).header(CONTENT_TYPE, "application/x-ndjson");
        if let Some(token) = &self.to.token {
            let token = token.read().await.map_err(|error| error.to_string())?;
            request = request.bearer_auth(token.expose_secret().trim());
        }
        let answer = request.body(lines(events)).send().await;
        let status = answer.map_err(|error| error.without_url().to_string())?.status();
        if status.is_success() { Ok(()) } else { Err(format!("it answered {status}")) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use axum::{Router, http::StatusCode, routing::post};
    use contract::{CallId, Platform, TurnId};

    use super::*;

    fn event(n: u32) -> AuditEvent {
        AuditEvent {
            turn: TurnId::default(),
            call: CallId(n),
            at_ms: 1,
            tool: "t".into(),
            platform: Platform::Api,
            tenant: "default".into(),
            code: None,
            text: format!("{{\"call\":{n}}}").into(),
        }
    }

    #[tokio::test]
    async fn a_large_file_gives_way_to_a_new_one_and_the_oldest_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let log = Log::new(path.clone(), 40);
        for n in 0..20 {
            log.write(&[event(n), event(n)]).await.unwrap();
        }
        let mut names: Vec<_> =
            folder.path().read_dir().unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        assert_eq!(names, ["audit.jsonl", "audit.jsonl.1", "audit.jsonl.2", "audit.jsonl.3", "audit.jsonl.4"]);
        assert_eq!(std::fs::read_to_string(path).unwrap(), "{\"call\":19}\n{\"call\":19}\n");
    }

    #[tokio::test]
    async fn events_are_posted_as_lines_and_a_refusal_is_told() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let taken: Arc<Mutex<Vec<String>>> = Arc::default();
        let keep = taken.clone();
        let take = move |body: String| {
            let mut taken = keep.lock().unwrap();
            taken.push(body);
            let status = if taken.len() == 1 { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::NO_CONTENT };
            async move { status }
        };
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}/audit", listener.local_addr().unwrap());
        tokio::spawn(axum::serve(listener, Router::new().route("/audit", post(take))).into_future());
        let address = Address { to: Posted { url, token: None }, client: OnceLock::new() };
        let refused = address.write(&[event(1)]).await;
        assert_eq!(refused, Err("it answered 503 Service Unavailable".to_owned()));
        assert_eq!(address.write(&[event(1), event(2)]).await, Ok(()));
        assert_eq!(*taken.lock().unwrap(), ["{\"call\":1}\n", "{\"call\":1}\n{\"call\":2}\n"]);
    }

    #[tokio::test]
    async fn standard_output_gets_lines_and_a_closed_one_is_told() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        assert_eq!(Stdout::new(io::sink()).write(&[event(1)]).await, Ok(()));
        assert_eq!(Stdout::new(Closed).write(&[event(1)]).await, Err("broken pipe".to_owned()));
    }
}
