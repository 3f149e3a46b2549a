//! A private redis-server on a free loopback port, ended with its owner.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    time::Duration,
};

/// A server that nobody else uses.
pub struct Redis {
    child: Child,
    port: u16,
    folder: tempfile::TempDir,
}

impl Redis {
    /// Starts it and waits until it takes commands. A machine without redis-server fails the test.
    pub async fn start() -> Self {
        // Another process may take the port before the server does; then another one is tried.
        for _ in 0..5 {
            let folder = tempfile::tempdir().expect("a temporary folder can be made");
            let port = free_port();
            let mut redis = Self { child: spawn(port, &folder), port, folder };
            if redis.answers().await {
                return redis;
            }
        }
        panic!("redis-server did not start");
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// Kills it; what it had in memory is gone.
    pub fn kill(&mut self) {
        self.child.kill().expect("the server runs");
        self.child.wait().expect("the server ends");
    }

    /// Starts it anew on the same port, empty.
    pub async fn restart(&mut self) {
        self.child = spawn(self.port, &self.folder);
        assert!(self.answers().await, "redis-server starts again");
    }

    /// It is there and answers nothing, until [`Redis::goes_on`].
    pub fn hangs(&self) {
        self.signal("STOP");
    }

    pub fn goes_on(&self) {
        self.signal("CONT");
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status();
        assert!(status.is_ok_and(|status| status.success()), "the server can be sent {name}");
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

fn ping(port: u16) -> Option<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_millis(500))).ok()?;
    stream.write_all(b"PING\r\n").ok()?;
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).ok()?;
    (&answer == b"+PONG").then_some(())
}

fn spawn(port: u16, folder: &tempfile::TempDir) -> Child {
    Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir"])
        .arg(folder.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("redis-server starts; install it with: apt-get install redis-server")
}
