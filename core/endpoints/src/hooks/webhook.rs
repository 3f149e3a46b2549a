//! Asks a service: one POST, no redirect, no second attempt.

use reqwest::{
    Client, Url,
    header::{CONTENT_TYPE, HeaderName, HeaderValue},
};

use super::asked::BODY_MAX;
use crate::{
    mcp::{self, Part},
    probe::why,
};

pub struct Webhook {
    pub url: Url,
    pub headers: Vec<(HeaderName, Vec<Part>)>,
    pub client: Client,
}

impl Webhook {
    /// What it answered with a status of success. Errors do not name the address, which may have a key in it.
    pub async fn send(&self, body: Vec<u8>) -> Result<Vec<u8>, String> {
        let headers = mcp::headers(&self.headers, false).await?.values;
        let mut request = self.client.post(self.url.clone());
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let sent = request.header(CONTENT_TYPE, HeaderValue::from_static("application/json")).body(body).send();
        let mut answer = sent.await.map_err(|error| why(&error).to_owned())?;
        if !answer.status().is_success() {
            return Err(format!("it answers {}", answer.status()));
        }
        let mut read = Vec::new();
        while let Some(bytes) = answer.chunk().await.map_err(|error| why(&error).to_owned())? {
            read.extend_from_slice(&bytes);
            if read.len() > BODY_MAX {
                return Err(format!("it answers more than {BODY_MAX} bytes"));
            }
        }
        Ok(read)
    }
}
