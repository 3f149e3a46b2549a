//! The process under test: `toolgate up`, started, watched, killed.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::Value;
use tokio::sync::watch;

use crate::world::{TOKEN, eventually, eventually_or_not};

/// One life of the gateway. Dropped, it is killed.
pub struct Gateway {
    child: Child,
    log: Log,
    http: reqwest::Client,
}

/// What it wrote to its log so far.
#[derive(Clone)]
struct Log {
    lines: Arc<Mutex<Vec<Value>>>,
    changed: watch::Receiver<u64>,
}

impl Gateway {
    /// Starts it and does not wait.
    pub fn launch(folder: &Path) -> Self {
        let mut child = Command::new(binary())
            .args(["up", "--config"])
            .arg(folder.join("toolgate.yaml"))
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("TELEGRAM_TOKEN", TOKEN)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let stderr = child.stderr.take().expect("it was asked for");
        let (tell, changed) = watch::channel(0);
        let log = Log { lines: Arc::default(), changed };
        let lines = log.lines.clone();
        // Ends with the process, whose end of the pipe closes.
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let line = serde_json::from_str(&line).unwrap_or(Value::String(line));
                lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
                tell.send_modify(|n| *n += 1);
            }
        });
        Self { child, log, http: reqwest::Client::builder().no_proxy().build().expect("a client without a proxy") }
    }

    /// Starts it and waits until it takes messages and runs turns.
    pub async fn start(folder: &Path) -> Self {
        let gateway = Self::launch(folder);
        gateway.is_up().await;
        gateway.is_ready().await;
        gateway
    }

    /// Waits until it takes messages and runs turns.
    pub async fn is_ready(&self) {
        eventually("the gateway is ready", async || self.readiness().await.0 == 200).await;
    }

    /// Waits until it serves HTTP; its address.
    pub async fn is_up(&self) -> String {
        let line = self.logged("toolgate is up").await;
        line["fields"]["url"].as_str().expect("it says where").to_owned()
    }

    /// Waits for a line of the log with these words in its message or fields.
    pub async fn logged(&self, words: &str) -> Value {
        let mut log = self.log.clone();
        let found = async {
            loop {
                if let Some(line) = log.find(words) {
                    return Some(line);
                }
                if log.changed.changed().await.is_err() {
                    return log.find(words);
                }
            }
        };
        let patience = Duration::from_secs(30);
        let line = tokio::time::timeout(patience, found).await.ok().flatten();
        line.unwrap_or_else(|| panic!("the log does not say '{words}'"))
    }

    pub fn log_says(&self, words: &str) -> bool {
        self.log.find(words).is_some()
    }

    /// `kill -9`.
    pub fn kill(mut self) {
        self.kill_here();
    }

    /// The same, of one that is kept for its log.
    pub fn kill_here(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks it to leave, as a service manager does.
    pub fn terminate(&self) {
        signal("TERM", self.child.id());
    }

    /// Waits for its end.
    pub async fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        eventually("the gateway ends", async || {
            status = self.child.try_wait().expect("a child can be asked for");
            status.is_some()
        })
        .await;
        status.expect("it was waited for")
    }

    /// The answer to a GET, as an operator on this machine gets it.
    pub async fn get(&self, path: &str) -> (u16, Value) {
        let Some(url) = self.url() else { return (0, Value::Null) };
        answer(self.http.get(format!("{url}{path}"))).await
    }

    pub async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        let Some(url) = self.url() else { return (0, Value::Null) };
        answer(self.http.post(format!("{url}{path}")).json(&body)).await
    }

    pub async fn delete(&self, path: &str) -> (u16, Value) {
        let Some(url) = self.url() else { return (0, Value::Null) };
        answer(self.http.delete(format!("{url}{path}"))).await
    }

    fn url(&self) -> Option<String> {
        Some(self.log.find("toolgate is up")?["fields"]["url"].as_str()?.to_owned())
    }

    pub async fn readiness(&self) -> (u16, Value) {
        self.get("/readyz").await
    }

    /// Waits until `/readyz` shows a part in this state; what it says of it.
    pub async fn shows(&self, part: &str, state: &str) -> String {
        let mut says = String::new();
        eventually(&format!("/readyz shows {part} {state}"), async || {
            let (_, answer) = self.readiness().await;
            let found = answer["conditions"].as_array().into_iter().flatten().find(|c| c["part"] == part).cloned();
            says = found.as_ref().and_then(|c| c["says"].as_str()).unwrap_or_default().to_owned();
            found.is_some_and(|c| c["state"] == state)
        })
        .await;
        says
    }

    /// Waits until a part is in that state for a reason with these words.
    pub async fn says(&self, part: &str, state: &str, words: &str) {
        eventually(&format!("/readyz says of {part}: {words}"), async || self.shows(part, state).await.contains(words))
            .await;
    }

    /// Waits until neither turns nor deliveries are under way.
    pub async fn idles(&self) {
        eventually("the gateway idles", async || {
            let load = self.get("/v1/stats").await.1["load"].clone();
            ["conversations", "deliveries", "turns"].iter().all(|key| load[key] == 0)
        })
        .await;
    }

    /// The tree of a turn, readable from first to last: nothing runs in it any more.
    pub async fn tree(&self, reference: &str) -> Value {
        let path = format!("/v1/traces/{reference}");
        let mut tree = Value::Null;
        let whole = eventually_or_not(async || {
            tree = self.get(&path).await.1;
            let nodes = tree["nodes"].as_array();
            nodes.is_some_and(|nodes| !nodes.is_empty() && nodes.iter().all(|node| node["state"] != "running"))
        });
        assert!(whole.await, "the tree is not whole: {tree:#}");
        tree
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.kill_here();
        if std::thread::panicking() {
            eprintln!("--- the log of process {}", self.child.id());
            for line in self.log.lines.lock().unwrap_or_else(PoisonError::into_inner).iter() {
                eprintln!("{line}");
            }
        }
    }
}

impl Log {
    fn find(&self, words: &str) -> Option<Value> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().find(|line| line.to_string().contains(words)).cloned()
    }
}

/// Status and body; zero when nobody answers.
async fn answer(request: reqwest::RequestBuilder) -> (u16, Value) {
    let Ok(answer) = request.send().await else { return (0, Value::Null) };
    (answer.status().as_u16(), answer.json().await.unwrap_or_default())
}

/// The binary that is tested. Without one the test fails and says how to get it.
pub fn binary() -> PathBuf {
    let built = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/debug/toolgate");
    let path = std::env::var_os("TOOLGATE_BIN").map_or_else(built, PathBuf::from);
    assert!(path.is_file(), "{} is not there: build it with: cargo build -p toolgate", path.display());
    path
}

/// Sends a signal to a process that this test started. The shell's own `kill` is there on every machine.
pub fn signal(name: &str, pid: u32) {
    let status = Command::new("sh").args(["-c", &format!("kill -{name} {pid}")]).status();
    assert!(status.is_ok_and(|status| status.success()), "the process {pid} takes a signal");
}
