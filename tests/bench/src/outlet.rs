//! An outlet that takes everything at once and tells whoever waits.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use contract::{
    Address, Caller, DeliveryError, DeliveryKey, FileRef, Indicator, Op, Outlet, Part, Receipt, Reply, Source, Why,
    seams::ByteStream,
};
use tokio::sync::Semaphore;

/// Counts what each conversation was sent.
#[derive(Default)]
pub struct Counter(Mutex<HashMap<String, Arc<Semaphore>>>);

impl Counter {
    /// Waits for the next message to the conversation.
    pub async fn next(&self, conversation: &str) {
        let sent = self.of(conversation);
        sent.acquire().await.expect("the semaphore is never closed").forget();
    }

    fn of(&self, conversation: &str) -> Arc<Semaphore> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sent) = all.get(conversation) {
            return sent.clone();
        }
        all.entry(conversation.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(0))).clone()
    }
}

#[async_trait]
impl Outlet for Counter {
    fn render(&self, reply: &Reply, _to: &Address) -> Vec<Part> {
        let body = dispatch::say::plain(reply);
        vec![Part { plain: body.clone(), body, buttons: Vec::new(), files: Vec::new(), audience: reply.audience }]
    }

    async fn send(&self, to: &Address, op: Op<'_>, _key: &DeliveryKey) -> Result<Receipt, DeliveryError> {
        if matches!(op, Op::Post(_)) {
            self.of(&to.conversation).add_permits(1);
        }
        Ok(Receipt { message: "1".into(), private: contract::Opaque::default() })
    }

    async fn indicate(&self, _to: &Address, _indicator: Indicator) {}
}

#[async_trait]
impl Source for Counter {
    async fn open(&self, _file: &FileRef) -> Result<ByteStream, DeliveryError> {
        Err(DeliveryError::Refused(Why::Unsupported))
    }

    async fn roles(&self, _who: &Caller) -> Result<Vec<String>, DeliveryError> {
        Ok(Vec::new())
    }
}

/// Takes everything at once and counts the answers.
#[derive(Default)]
pub struct Tally(AtomicUsize);

impl Tally {
    pub fn answers(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Outlet for Tally {
    fn render(&self, reply: &Reply, _to: &Address) -> Vec<Part> {
        let body = dispatch::say::plain(reply);
        vec![Part { plain: body.clone(), body, buttons: Vec::new(), files: Vec::new(), audience: reply.audience }]
    }

    async fn send(&self, _to: &Address, op: Op<'_>, _key: &DeliveryKey) -> Result<Receipt, DeliveryError> {
        if matches!(op, Op::Post(_) | Op::Replace(..)) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        Ok(Receipt { message: "1".into(), private: contract::Opaque::default() })
    }

    async fn indicate(&self, _to: &Address, _indicator: Indicator) {}
}
