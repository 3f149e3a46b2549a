//! A context to call endpoints in, without a gateway around them.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use contract::{
    Address, CallPath, Caller, Content, Failure, FileRef, Origin, Outcome, Platform, Reply, Sender, State, TurnId,
    seams::ByteStream,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tools::{Cx, Fault, Host, Instant, Notes, Spec, ToolFailure};

pub(crate) type Answer = Box<dyn Fn(&str, &Value) -> Result<Value, Failure> + Send + Sync>;

/// Everything that a [`Cx`] borrows, and what a call did with it.
pub(crate) struct Bench {
    pub caller: Caller,
    pub turn: TurnId,
    pub cancel: CancellationToken,
    pub notes: Notes,
    pub host: FakeHost,
}

pub(crate) struct FakeHost {
    answer: Answer,
    refuses: bool,
    posted: Mutex<Vec<String>>,
    /// The batches of children, as they came.
    pub batches: Mutex<Vec<Vec<(String, Value)>>>,
    count: AtomicUsize,
    said: Mutex<Vec<String>>,
    /// The files of the message, and what is in each; none where it cannot be fetched.
    pub files: Vec<(FileRef, Option<Vec<u8>>)>,
    named: Vec<FileRef>,
    /// Where the answer goes.
    pub here: Option<Address>,
    /// The files of what was posted: name, type, size.
    pub sent: Mutex<Vec<(String, String, usize)>>,
}

pub(crate) fn caller() -> Caller {
    Caller {
        platform: Platform::Telegram,
        account: "main".into(),
        tenant: "default".into(),
        space: None,
        conversation: "-1".into(),
        thread: None,
        sender: Sender { id: "1".into(), name: "Ann".into() },
        roles: vec![],
        origin: Origin::Command,
    }
}

impl Bench {
    pub fn new() -> Self {
        Self::answering(|tool, _| Err(Failure::unknown_tool(tool, &[])))
    }

    pub fn refusing() -> Self {
        let mut bench = Self::new();
        bench.host.refuses = true;
        bench
    }

    pub fn answering(answer: impl Fn(&str, &Value) -> Result<Value, Failure> + Send + Sync + 'static) -> Self {
        let host = FakeHost {
            answer: Box::new(answer),
            refuses: false,
            posted: Mutex::default(),
            batches: Mutex::default(),
            count: AtomicUsize::new(0),
            said: Mutex::default(),
            files: Vec::new(),
            named: Vec::new(),
            here: None,
            sent: Mutex::default(),
        };
        let (turn, cancel) = (TurnId::new(), CancellationToken::new());
        Self { caller: caller(), turn, cancel, notes: Notes::default(), host }
    }

    /// With a file that came with the message.
    pub fn file(mut self, name: &str, kind: &str, bytes: Option<&[u8]>) -> Self {
        let media_type = (!kind.is_empty()).then(|| kind.to_owned());
        let file = FileRef { name: name.to_owned(), media_type, size: None, handle: contract::Opaque::default() };
        self.host.named.push(file.clone());
        self.host.files.push((file, bytes.map(<[u8]>::to_vec)));
        self
    }

    pub fn cx(&self) -> Cx<'_> {
        Cx {
            caller: &self.caller,
            turn: self.turn,
            deadline: Instant::now() + std::time::Duration::from_secs(30),
            attempt: 1,
            cancel: &self.cancel,
            idempotency_key: "key-1",
            host: &self.host,
            notes: &self.notes,
        }
    }

    pub fn posted(&self) -> Vec<String> {
        self.host.posted.lock().unwrap().clone()
    }
}

impl FakeHost {
    /// The signs of life, as they came.
    pub fn said(&self) -> Vec<String> {
        self.said.lock().unwrap().clone()
    }
}

#[async_trait]
impl Host for FakeHost {
    async fn children(&self, calls: Vec<(String, Value)>) -> Vec<Outcome> {
        self.batches.lock().unwrap().push(calls.clone());
        let outcome = |(tool, args): (String, Value)| {
            let result = (self.answer)(&tool, &args);
            let n = u32::try_from(self.count.fetch_add(1, Ordering::Relaxed)).unwrap();
            let state = if result.is_ok() { State::Ok } else { State::Failed };
            Outcome { path: CallPath::top(1, 1).child(n + 1), tool, state, result, repeatable: true, took_us: 1 }
        };
        calls.into_iter().map(outcome).collect()
    }

    fn progress(&self, text: &str) {
        self.said.lock().unwrap().push(text.to_owned());
    }

    async fn post(&self, to: Address, reply: Reply) -> Result<(), ToolFailure> {
        if self.refuses {
            return Err(ToolFailure::new(Fault::DeliveryRefused, "you may not write there"));
        }
        self.posted.lock().unwrap().push(to.written());
        let files = reply.content.into_iter().filter_map(|content| match content {
            Content::Attachment { name, media_type, bytes } => Some((name, media_type, bytes.len())),
            _ => None,
        });
        self.sent.lock().unwrap().extend(files);
        Ok(())
    }

    async fn open(&self, file: &FileRef) -> Result<ByteStream, ToolFailure> {
        let found = self.files.iter().find(|(known, _)| known == file).and_then(|(_, bytes)| bytes.clone());
        let bytes = found.ok_or_else(|| ToolFailure::new(Fault::Unavailable, "no files here"))?;
        let chunks: Vec<_> = bytes.chunks(1_000).map(|chunk| Ok(chunk.to_vec().into())).collect();
        Ok(Box::pin(futures_util::stream::iter(chunks)))
    }

    fn files(&self) -> &[FileRef] {
        &self.named
    }

    fn here(&self) -> Option<Address> {
        self.here.clone()
    }
}

/// The one spec in a YAML text.
pub(crate) fn spec(yaml: &str) -> Spec {
    let mut parsed = tools::spec::parse("test.yaml", yaml);
    assert!(parsed.errors.is_empty(), "{:?}", parsed.errors);
    parsed.specs.remove(0)
}
