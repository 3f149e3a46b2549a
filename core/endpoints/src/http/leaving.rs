//! Learns when a request leaves us: a call that hangs while its connection is made has surely done nothing.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use reqwest::{
    Body, Request,
    header::{CONTENT_LENGTH, HeaderValue},
};
use tools::Notes;

/// Set when the first byte has been asked for.
pub struct Leaving(Option<Arc<AtomicBool>>);

impl Leaving {
    /// Watches a request that has a body; it is asked for when there is a connection, in one go with the head. Of a
    /// request without one nothing is learnt.
    pub fn watch(request: &mut Request, notes: &Notes) -> Self {
        let body = request.body().and_then(Body::as_bytes).filter(|body| !body.is_empty());
        let Some(body) = body.map(Bytes::copy_from_slice) else { return Self(None) };
        let left = notes.leaves();
        let flag = left.clone();
        // Of a stream the length is not known, and some services take no body without one.
        request.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        let stream = futures_util::stream::once(async move {
            flag.store(true, Ordering::SeqCst);
            Ok::<_, Infallible>(body)
        });
        *request.body_mut() = Some(Body::wrap_stream(stream));
        Self(Some(left))
    }

    /// Whether it is known that nothing left us.
    pub fn is_not_begun(&self) -> bool {
        self.0.as_ref().is_some_and(|left| !left.load(Ordering::SeqCst))
    }
}
