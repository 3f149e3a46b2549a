//! What an endpoint says, with the secrets that are in use masked: whatever a service, a server or a command repeats of
//! them reaches no person, no model and no record.

use std::sync::Arc;

use async_trait::async_trait;
use contract::{Address, FileRef, Outcome, Reply, seams::ByteStream};
use serde_json::Value;
use tools::{Cx, Endpoint, Host, Output, Permitted, ToolFailure};

use crate::secret::Known;

/// An endpoint whose answers, failures and signs of life are looked through.
struct Masked<E>(E);

pub(crate) fn masked(endpoint: impl Endpoint + 'static) -> Arc<dyn Endpoint> {
    Arc::new(Masked(endpoint))
}

#[async_trait]
impl<E: Endpoint> Endpoint for Masked<E> {
    async fn call(&self, call: &Permitted, cx: &Cx<'_>) -> Result<Output, ToolFailure> {
        let host = MaskedHost(cx.host);
        match self.0.call(call, &Cx { host: &host, ..*cx }).await {
            Ok(Output::Done(mut value)) => {
                Known::shared().mask_value(&mut value);
                Ok(Output::Done(value))
            }
            Ok(Output::Job(handle)) => Ok(Output::Job(handle)),
            Err(failure) => Err(failure.map_texts(|text| Known::shared().mask(text).into_owned())),
        }
    }

    fn host(&self) -> Option<&str> {
        self.0.host()
    }

    fn for_operator(&self, answer: &str, most: usize) -> String {
        crate::http::redact::text(answer, &[], most)
    }
}

/// A host to which nothing is told that is secret. What is posted is a person's or a model's own text.
struct MaskedHost<'a>(&'a dyn Host);

#[async_trait]
impl Host for MaskedHost<'_> {
    async fn children(&self, calls: Vec<(String, Value)>) -> Vec<Outcome> {
        self.0.children(calls).await
    }

    fn progress(&self, text: &str) {
        self.0.progress(&Known::shared().mask(text));
    }

    async fn post(&self, to: Address, reply: Reply) -> Result<(), ToolFailure> {
        self.0.post(to, reply).await
    }

    async fn open(&self, file: &FileRef) -> Result<ByteStream, ToolFailure> {
        self.0.open(file).await
    }

    fn files(&self) -> &[FileRef] {
        self.0.files()
    }

    fn here(&self) -> Option<Address> {
        self.0.here()
    }
}
