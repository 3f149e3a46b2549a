//! Parts of a tool's parameters that are fetched, as its `dynamic` says.

use std::sync::Arc;

use async_trait::async_trait;
use reqwest::{Client, Url};
use serde_json::Value;
use tools::{
    dynamic::Fetch,
    select::Select,
    spec::{Check, Dynamic},
};

use crate::probe;

/// Most of an answer that is read.
const ANSWER_MAX: usize = 1024 * 1024;

/// What fetches it, or what is wrong with its address.
pub fn of(of: &Dynamic, client: &Client) -> Result<Arc<dyn Fetch>, String> {
    probe::of(&Check::Http(of.url.clone()), client).map_err(|(_, why)| why)?;
    let url = of.url.parse().map_err(|error| format!("this is no address: {error}"))?;
    Ok(Arc::new(Get { url, client: client.clone(), select: of.select.clone() }))
}

struct Get {
    url: Url,
    client: Client,
    select: Option<Select>,
}

#[async_trait]
impl Fetch for Get {
    async fn fetch(&self) -> Result<Value, String> {
        let sent = self.client.get(self.url.clone()).header("accept", "application/json").send();
        let mut answer = sent.await.map_err(|error| probe::why(&error).to_owned())?;
        if !answer.status().is_success() {
            return Err(format!("it answers {}", answer.status()));
        }
        let mut body = Vec::new();
        while let Some(bytes) = answer.chunk().await.map_err(|error| probe::why(&error).to_owned())? {
            body.extend_from_slice(&bytes);
            if body.len() > ANSWER_MAX {
                return Err(format!("more than {ANSWER_MAX} bytes"));
            }
        }
        let value: Value = serde_json::from_slice(&body).map_err(|_| "no JSON".to_owned())?;
        match &self.select {
            Some(select) => select.of(value).map_err(|why| format!("'select' does not fit it: {why}")),
            None => Ok(value),
        }
    }
}
