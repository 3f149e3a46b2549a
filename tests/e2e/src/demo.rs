//! `toolgate demo` as a process.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::Value;

/// A running demo. Dropped, it is killed and its store is gone.
#[derive(Debug)]
pub struct Demo {
    child: Child,
    /// Where the page is.
    pub playground: String,
    /// Where the gateway's own chat page is.
    pub chat: String,
    /// Where people, faults and the transcript of the simulators are.
    pub simulators: String,
    /// Its temporary files, so that a kill leaves nothing behind.
    _folder: tempfile::TempDir,
}

impl Demo {
    /// Starts it and waits until it says where it is.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let mut child = Command::new(binary())
            .args(["demo", "--json", "--no-open", "--listen", "127.0.0.1:0"])
            .env("TMPDIR", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it was asked for");
        BufReader::new(stdout).read_line(&mut line).expect("the demo speaks text");
        let places: Value = serde_json::from_str(&line).expect("the demo says where it is");
        let place = |name: &str| places[name].as_str().expect("each place has its URL").to_owned();
        Self {
            child,
            playground: place("playground"),
            chat: place("chat"),
            simulators: place("simulators"),
            _folder: folder,
        }
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program under test: `TOOLGATE_BIN`, else what was built last.
fn binary() -> PathBuf {
    let built = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/debug/toolgate");
    let path = std::env::var_os("TOOLGATE_BIN").map_or_else(built, PathBuf::from);
    assert!(path.is_file(), "{} is not there: build it with: cargo build -p toolgate", path.display());
    path
}
