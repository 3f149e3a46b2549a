//! One stage at work: within its time, its panics kept to itself.

use std::{
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    task::Poll,
    time::Duration,
};

use contract::Private;

use crate::guard::words;

/// What came of it, or why nothing did.
pub async fn contained<T>(within: Duration, work: impl Future<Output = T>) -> Result<T, Private> {
    let mut work = pin!(work);
    let polled = poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(done)) => Poll::Ready(Ok(done)),
        Err(payload) => Poll::Ready(Err(Private::new(format!("it panicked: {}", words(payload))))),
    });
    let late = |_| Err(Private::new(format!("no answer within {} ms", within.as_millis())));
    tokio::time::timeout(within, polled).await.unwrap_or_else(late)
}
