//! Where a case runs: a fresh SQLite file, or a Redis server of its own.

use std::{
    net::TcpListener,
    process::{Child, Command, Stdio},
    time::Duration,
};

use contract::records::Stores;
use store::{Options, open};

/// A store that is not there yet.
pub struct Ground {
    folder: tempfile::TempDir,
    redis: Option<Redis>,
}

impl Ground {
    pub fn sqlite() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), redis: None }
    }

    pub async fn redis() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let redis = Redis::start(folder.path()).await;
        Self { folder, redis: Some(redis) }
    }

    pub fn url(&self) -> String {
        match &self.redis {
            Some(redis) => format!("redis://127.0.0.1:{}/0", redis.port),
            None => format!("sqlite:{}", self.folder.path().join("toolgate.db").display()),
        }
    }

    /// Opens the store as a process life of that name.
    pub async fn open(&self, owner: &str) -> Stores {
        self.open_with(Options { owner: owner.to_owned(), ..Options::default() }).await
    }

    pub async fn open_with(&self, options: Options) -> Stores {
        open(&self.url(), options).await.unwrap()
    }

    pub fn server(&mut self) -> &mut Redis {
        self.redis.as_mut().unwrap()
    }
}

/// A private server, ended with its owner.
pub struct Redis {
    child: Child,
    port: u16,
    folder: std::path::PathBuf,
}

impl Redis {
    async fn start(folder: &std::path::Path) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let redis = Self { child: spawn(port, folder), port, folder: folder.to_owned() };
        redis.wait().await;
        redis
    }

    /// Until it takes commands.
    async fn wait(&self) {
        for _ in 0..500 {
            let client = redis::Client::open(format!("redis://127.0.0.1:{}", self.port)).unwrap();
            if let Ok(mut connection) = client.get_multiplexed_async_connection().await
                && redis::cmd("PING").exec_async(&mut connection).await.is_ok()
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("redis-server did not start on port {}", self.port);
    }

    /// Kills it; what it had in memory is gone.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub async fn restart(&mut self) {
        self.child = spawn(self.port, &self.folder);
        self.wait().await;
    }

    /// Sends a signal by its name: `STOP` or `CONT`.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status().unwrap();
        assert!(status.success());
    }

    pub async fn ask<T: redis::FromRedisValue>(&self, command: &str) -> T {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}", self.port)).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        let mut words = command.split(' ');
        let mut cmd = redis::cmd(words.next().unwrap());
        for word in words {
            cmd.arg(word);
        }
        cmd.query_async(&mut connection).await.unwrap()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(port: u16, folder: &std::path::Path) -> Child {
    Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir"])
        .arg(folder)
        .stdout(Stdio::null())
        .spawn()
        .expect("redis-server starts; install it with: apt-get install redis-server")
}
