//! What this process logs, kept so that it can be searched.

use std::{
    io::{self, Write},
    sync::{Mutex, Once, PoisonError},
};

use tracing_subscriber::EnvFilter;

static LINES: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static ONCE: Once = Once::new();

/// Everything of ours, and of libraries what operators see.
const FILTER: &str =
    "info,discord=trace,telegram=trace,slack=trace,dispatch=trace,endpoints=trace,tools=trace,store=trace";

struct Keeper;

impl Write for Keeper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LINES.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Begins to keep what is logged.
pub fn listen() {
    ONCE.call_once(|| {
        let log = tracing_subscriber::fmt().with_env_filter(EnvFilter::new(FILTER)).with_ansi(false);
        log.with_writer(|| Keeper).init();
        tracing::info!("kept");
    });
}

/// What was kept so far; something always was.
pub fn all() -> String {
    let all = String::from_utf8_lossy(&LINES.lock().unwrap_or_else(PoisonError::into_inner)).into_owned();
    assert!(all.contains("kept"));
    all
}
