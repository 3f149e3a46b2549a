//! What an endpoint says, with the secrets that are in use masked: whatever a service, a server or a command repeats of
//! them reaches no person, no model and no record.

use std::sync::Arc;

use async_trait::async_trait;
use tools::{Cx, Endpoint, Output, Permitted, ToolFailure};

use crate::secret::Known;

/// An endpoint whose answers and failures are looked through.
struct Masked<E>(E);

pub(crate) fn masked(endpoint: impl Endpoint + 'static) -> Arc<dyn Endpoint> {
    Arc::new(Masked(endpoint))
}

#[async_trait]
impl<E: Endpoint> Endpoint for Masked<E> {
    async fn call(&self, call: &Permitted, cx: &Cx<'_>) -> Result<Output, ToolFailure> {
        match self.0.call(call, cx).await {
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
}
