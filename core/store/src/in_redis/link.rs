//! A connection that is bounded in time and finds its server again.
//!
//! Everything that is asked of it may be done twice without harm: an answer that did not come says nothing of whether
//! the work was done.

use std::{
    future::Future,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use contract::StoreDown;
use redis::{
    Client, FromRedisValue, IntoConnectionInfo as _, Pipeline, RedisResult, ScriptInvocation,
    aio::{ConnectionManager, ConnectionManagerConfig},
    io::tcp::TcpSettings,
};
use tokio::time::{sleep, timeout_at};

use crate::OpenError;

const CONNECT: Duration = Duration::from_secs(1);
const RESPOND: Duration = Duration::from_secs(2);
/// No operation takes longer; less once the server is known to be away, so that callers hear soon.
const PATIENCE: Duration = Duration::from_millis(2500);
const PATIENCE_WHEN_DOWN: Duration = Duration::from_secs(1);
/// Between attempts to reach the server.
const PAUSE: Duration = Duration::from_millis(100);
/// A connection that does not answer is replaced, at most this often: it may be half open, and TCP would find out in
/// a quarter of an hour.
const REPLACE_EVERY: Duration = Duration::from_secs(5);

/// One connection to the server.
pub struct Link {
    client: Client,
    connection: Mutex<Connection>,
    down: AtomicBool,
    closed: AtomicBool,
}

struct Connection {
    manager: ConnectionManager,
    since: Instant,
}

/// A client for `url`, with small packets sent at once.
pub fn client(url: &str) -> Result<Client, OpenError> {
    let wrong = |error: redis::RedisError| OpenError::Url(format!("the address of redis is wrong: {error}"));
    let info = url.into_connection_info().map_err(wrong)?;
    let settings = TcpSettings::default().set_nodelay(true);
    Client::open(info.set_tcp_settings(settings)).map_err(wrong)
}

impl Link {
    /// Connects when it is first used.
    pub fn new(client: Client) -> Result<Self, OpenError> {
        let manager = manage(&client).map_err(|error| OpenError::Url(format!("redis: {error}")))?;
        let connection = Mutex::new(Connection { manager, since: Instant::now() });
        Ok(Self { client, connection, down: AtomicBool::new(false), closed: AtomicBool::new(false) })
    }

    /// For a connection with a use of its own.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Later use is refused.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    pub async fn script<T: FromRedisValue>(&self, script: &ScriptInvocation<'_>) -> Result<T, StoreDown> {
        self.run(|mut connection| async move { script.invoke_async(&mut connection).await }).await
    }

    pub async fn pipe<T: FromRedisValue>(&self, pipe: &Pipeline) -> Result<T, StoreDown> {
        if pipe.is_empty() {
            // Nothing is asked, and an empty answer reads as one.
            return T::from_redis_value(redis::Value::Array(Vec::new())).map_err(|error| StoreDown(error.to_string()));
        }
        self.run(|mut connection| async move { pipe.query_async(&mut connection).await }).await
    }

    pub async fn ask<T: FromRedisValue>(&self, command: &redis::Cmd) -> Result<T, StoreDown> {
        self.run(|mut connection| async move { command.query_async(&mut connection).await }).await
    }

    async fn run<T, F>(&self, work: impl Fn(ConnectionManager) -> F) -> Result<T, StoreDown>
    where
        F: Future<Output = RedisResult<T>>,
    {
        if self.closed.load(Ordering::Relaxed) {
            return Err(StoreDown("the store is closed".to_owned()));
        }
        let patience = if self.down.load(Ordering::Relaxed) { PATIENCE_WHEN_DOWN } else { PATIENCE };
        let until = tokio::time::Instant::now() + patience;
        let mut last = "no answer in time".to_owned();
        let answer = timeout_at(until, async {
            loop {
                match work(self.manager()).await {
                    Ok(answer) => return Ok(answer),
                    // The connection broke or could not be made: the next may be better.
                    Err(error) if error.is_io_error() && !error.is_timeout() => last = error.to_string(),
                    Err(error) => return Err(error),
                }
                sleep(PAUSE).await;
            }
        })
        .await;
        match answer {
            Ok(Ok(answer)) => {
                self.down.store(false, Ordering::Relaxed);
                Ok(answer)
            }
            Ok(Err(error)) if !error.is_timeout() => Err(StoreDown(format!("redis: {error}"))),
            Ok(Err(error)) => Err(self.late(&error.to_string())),
            Err(_) => Err(self.late(&last)),
        }
    }

    fn manager(&self) -> ConnectionManager {
        self.locked().manager.clone()
    }

    fn late(&self, why: &str) -> StoreDown {
        self.down.store(true, Ordering::Relaxed);
        let mut connection = self.locked();
        if connection.since.elapsed() >= REPLACE_EVERY {
            match manage(&self.client) {
                Ok(manager) => *connection = Connection { manager, since: Instant::now() },
                Err(error) => tracing::warn!(%error, "no new connection to redis"),
            }
        }
        StoreDown(format!("redis: {why}"))
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn manage(client: &Client) -> RedisResult<ConnectionManager> {
    let config = ConnectionManagerConfig::new()
        .set_connection_timeout(Some(CONNECT))
        .set_response_timeout(Some(RESPOND))
        .set_min_delay(PAUSE)
        .set_max_delay(3 * PAUSE)
        // In the background, for some seconds; then whoever asks next starts it anew.
        .set_number_of_retries(20)
        .set_pipeline_buffer_size(1024);
    ConnectionManager::new_lazy_with_config(client.clone(), config)
}
