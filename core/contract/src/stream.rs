//! Streams of a file's bytes that end where more would be too much.

use std::{future, io};

use futures_util::StreamExt;

use crate::seams::ByteStream;

/// The stream up to so many bytes, whatever size was announced; what is larger ends in an error.
pub fn capped(stream: ByteStream, largest: u64) -> ByteStream {
    let stream = stream.scan((0_u64, false), move |(seen, is_over), chunk| {
        if *is_over {
            return future::ready(None);
        }
        *seen += chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
        let is_too_large = *seen > largest;
        *is_over = is_too_large || chunk.is_err();
        future::ready(Some(if is_too_large {
            Err(io::Error::other("the file is larger than announced"))
        } else {
            chunk
        }))
    });
    Box::pin(stream)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::{FutureExt, stream};

    use super::*;

    #[test]
    fn a_file_that_is_larger_than_announced_ends_in_an_error() {
        let endless = stream::repeat_with(|| Ok(Bytes::from_static(b"abc")));
        let chunks: Vec<_> = capped(Box::pin(endless), 7).collect().now_or_never().expect("nothing waits");
        assert_eq!(chunks.len(), 3);
        assert!(chunks[..2].iter().all(Result::is_ok) && chunks[2].is_err());
    }

    #[test]
    fn nothing_comes_after_an_error() {
        let chunks = [Ok(Bytes::from_static(b"abc")), Err(io::Error::other("broken off")), Ok(Bytes::new())];
        let chunks: Vec<_> = capped(Box::pin(stream::iter(chunks)), 7).collect().now_or_never().expect("nothing waits");
        assert_eq!(chunks.len(), 2);
    }
}
