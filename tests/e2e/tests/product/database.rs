//! Where the gateway keeps its records: a SQLite file, or a Redis of the test's own that keeps an append-only file.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::gateway::signal;

/// The stores on which every case runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Sqlite,
    Redis,
}

/// The store of one test.
pub enum Database {
    Sqlite(String),
    Redis(Redis),
}

impl Database {
    pub async fn start(kind: Kind, folder: &Path) -> Self {
        match kind {
            Kind::Sqlite => Self::Sqlite(format!("sqlite:{}", folder.join("toolgate.db").display())),
            Kind::Redis => Self::Redis(Redis::start(folder).await),
        }
    }

    pub fn url(&self) -> String {
        match self {
            Self::Sqlite(url) => url.clone(),
            Self::Redis(redis) => format!("redis://127.0.0.1:{}/0", redis.port),
        }
    }
}

/// A private redis-server, ended with its owner.
pub struct Redis {
    child: Child,
    port: u16,
    folder: std::path::PathBuf,
}

impl Redis {
    async fn start(folder: &Path) -> Self {
        // Another process may take the port before the server does; then another one is tried.
        for _ in 0..5 {
            let port = free_port();
            let mut redis = Self { child: spawn(port, folder), port, folder: folder.to_owned() };
            if redis.answers().await {
                return redis;
            }
        }
        panic!("redis-server did not start");
    }

    /// It hangs: connections stay, nothing is answered.
    pub fn freeze(&self) {
        signal("STOP", self.child.id());
    }

    pub fn thaw(&self) {
        signal("CONT", self.child.id());
    }

    /// Kills it; what its append-only file has is there again after [`Redis::restart`].
    pub fn kill(&mut self) {
        self.child.kill().expect("the server runs");
        self.child.wait().expect("the server ends");
    }

    pub async fn restart(&mut self) {
        self.child = spawn(self.port, &self.folder);
        assert!(self.answers().await, "redis-server starts again");
    }

    /// What an operator would see with `redis-cli`.
    pub fn keys(&self, pattern: &str) -> Vec<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server answers");
        stream.set_read_timeout(Some(Duration::from_millis(300))).expect("a timeout can be set");
        stream.write_all(format!("KEYS {pattern}\r\n").as_bytes()).expect("the server listens");
        let (mut text, mut chunk) = (Vec::new(), [0; 65_536]);
        while let Ok(n @ 1..) = stream.read(&mut chunk) {
            text.extend_from_slice(&chunk[..n]);
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        text.lines().filter(|line| !line.starts_with(['*', '$'])).map(str::to_owned).collect()
    }

    async fn answers(&mut self) -> bool {
        for _ in 0..500 {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return false;
            }
            if ping(self.port).is_some() {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        false
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    listener.local_addr().expect("a bound socket has an address").port()
}

/// `PONG` and not `LOADING`.
fn ping(port: u16) -> Option<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_millis(500))).ok()?;
    stream.write_all(b"PING\r\n").ok()?;
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).ok()?;
    (&answer == b"+PONG").then_some(())
}

fn spawn(port: u16, folder: &Path) -> Child {
    let port = port.to_string();
    Command::new("redis-server")
        .args([
            "--port",
            &port,
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "yes",
            "--appendfsync",
            "everysec",
        ])
        .arg("--dir")
        .arg(folder)
        .stdout(Stdio::null())
        .spawn()
        .expect("redis-server starts; install it with: apt-get install redis-server")
}
