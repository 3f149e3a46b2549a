//! Chromium's debugging protocol over two pipes: JSON texts, each ended by a zero byte.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Write},
    process::{ChildStdin, ChildStdout},
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    time::Duration,
};

use serde_json::{Value, json};

/// How long an answer may take. It decides no test that passes.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Both ends of the conversation.
#[derive(Debug)]
pub struct Pipe {
    writer: Mutex<ChildStdin>,
    heard: Arc<Mutex<Heard>>,
}

#[derive(Debug, Default)]
struct Heard {
    last: u64,
    waiting: HashMap<u64, mpsc::Sender<Value>>,
    /// What the browser told by itself, oldest first.
    events: Vec<Value>,
}

impl Pipe {
    pub fn new(writer: ChildStdin, reader: ChildStdout) -> Self {
        let heard: Arc<Mutex<Heard>> = Arc::default();
        let listener = heard.clone();
        // Ends with the browser, whose end of the pipe closes; who waits is told by the lost sender.
        std::thread::spawn(move || {
            for text in BufReader::new(reader).split(0).map_while(Result::ok) {
                let Ok(message) = serde_json::from_slice::<Value>(&text) else { continue };
                lock(&listener).take(message);
            }
            lock(&listener).waiting.clear();
        });
        Self { writer: Mutex::new(writer), heard }
    }

    /// Asks and waits for the answer's result.
    pub fn ask(&self, session: Option<&str>, method: &str, params: Value) -> Value {
        let (tell, told) = mpsc::channel();
        let id = {
            let mut heard = lock(&self.heard);
            heard.last += 1;
            let id = heard.last;
            heard.waiting.insert(id, tell);
            id
        };
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        lock(&self.writer).write_all(&bytes).expect("the browser listens");
        let mut answer = told.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("the browser does not answer {method}"));
        assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
        answer["result"].take()
    }

    /// Everything that was told so far in this session.
    pub fn events(&self, session: &str) -> Vec<Value> {
        lock(&self.heard).events.iter().filter(|event| event["sessionId"] == session).cloned().collect()
    }
}

impl Heard {
    fn take(&mut self, message: Value) {
        match message["id"].as_u64().and_then(|id| self.waiting.remove(&id)) {
            // Whoever asked may have given up.
            Some(asked) => drop(asked.send(message)),
            None => self.events.push(message),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
