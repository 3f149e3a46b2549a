//! The bodies of requests, and of forms: names and values with escapes.

use axum::body::{Body, Bytes};
use futures_util::StreamExt;

/// Why a body was not read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    TooLarge,
    /// Its sender went away meanwhile: that breaks no rule.
    HungUp,
}

/// The whole body, of at most `most` bytes.
pub async fn whole(body: Body, most: usize) -> Result<Bytes, Cut> {
    let mut stream = body.into_data_stream();
    let mut whole = Vec::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|_| Cut::HungUp)?;
        if whole.len() + chunk.len() > most {
            return Err(Cut::TooLarge);
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(whole.into())
}

/// Names and values of a form.
pub fn pairs(form: &[u8]) -> impl Iterator<Item = (String, String)> {
    form.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()).map(|pair| {
        let mut halves = pair.splitn(2, |byte| *byte == b'=');
        (unescape(halves.next().unwrap_or_default()), unescape(halves.next().unwrap_or_default()))
    })
}

/// A form's body.
pub fn form<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    pairs.into_iter().map(|(name, value)| format!("{}={}", escape(name), escape(value))).collect::<Vec<_>>().join("&")
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            byte if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'*') => out.push(byte.into()),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Undoes the escapes of a form; what is no escape stays.
fn unescape(text: &[u8]) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let hex = text
            .get(at + 1..at + 3)
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (text[at], hex) {
            (b'+', _) => out.push(b' '),
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 2;
            }
            (byte, _) => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    #[tokio::test]
    async fn who_hangs_up_sent_nothing_too_large() {
        let cut = stream::iter([Ok(Bytes::from_static(b"abc")), Err(std::io::Error::other("gone"))]);
        assert_eq!(whole(Body::from_stream(cut), 9).await, Err(Cut::HungUp));
        assert_eq!(whole(Body::from("0123456789"), 9).await, Err(Cut::TooLarge));
        assert_eq!(whole(Body::from("012345678"), 9).await.as_deref(), Ok(b"012345678".as_slice()));
    }
}
