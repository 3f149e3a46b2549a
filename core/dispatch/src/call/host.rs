//! What a running tool may ask of the gateway: child calls, signs of life, messages, files.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use async_trait::async_trait;
use contract::{Address, Call, CallId, CallPath, Digest, FileRef, Outcome, Reply, seams::ByteStream};
use policies::Rights;
use serde_json::Value;
use tools::ToolFailure;

use super::{Parent, TurnCx, job::AtJob};
use crate::{artefacts, batch, delivery, planner::Planned};

/// What the gateway does for a running tool.
pub(super) struct TurnHost<'a> {
    pub cx: &'a Arc<TurnCx>,
    pub call: CallId,
    pub files: Arc<[FileRef]>,
    pub path: CallPath,
    pub tool: String,
    pub rights: Rights,
    pub has_place: bool,
    pub delegations: u32,
    pub said: String,
    pub children: AtomicU32,
    pub posts: AtomicU32,
    pub job: AtJob,
}

#[async_trait]
impl tools::Host for TurnHost<'_> {
    async fn children(&self, calls: Vec<(String, Value)>) -> Vec<Outcome> {
        let planned = calls.into_iter().map(|(tool, args)| {
            let n = self.children.fetch_add(1, Ordering::Relaxed) + 1;
            Planned { call: Call { path: self.path.child(n), tool, args }, unreadable: None }
        });
        let parent = Parent {
            call: self.call,
            rights: Some(&self.rights),
            has_place: self.has_place,
            is_step: false,
            delegations: self.delegations,
            said: &self.said,
        };
        batch::run(self.cx, Some(parent), planned.collect()).await
    }

    fn progress(&self, text: &str) {
        self.cx.progress.said(text);
    }

    async fn post(&self, to: Address, reply: Reply) -> Result<(), ToolFailure> {
        let n = self.posts.fetch_add(1, Ordering::Relaxed);
        // Derived from the call's identity, so that a repeat after a restart is the same delivery.
        let digest = Digest::of(format!("{}/{n}", self.path).as_bytes()).0;
        let n = u32::from_be_bytes([digest[0] | 0x80, digest[1], digest[2], digest[3]]);
        delivery::post(self.cx, &self.tool, to, reply, n).await
    }

    async fn open(&self, file: &FileRef) -> Result<ByteStream, ToolFailure> {
        delivery::open(self.cx, file).await
    }

    fn files(&self) -> &[FileRef] {
        &self.files
    }

    fn here(&self) -> Option<Address> {
        self.cx.address.clone().filter(|to| self.cx.inner.outlet(to).is_some())
    }

    async fn job(&self, begun: &tools::Job) {
        self.began(begun).await;
    }

    fn rests(&self) -> Option<Box<dyn Send + '_>> {
        self.at_rest()
    }

    async fn keep(&self, whole: &str) -> Option<String> {
        artefacts::keep(self.cx, whole).await.map(artefacts::note)
    }
}
