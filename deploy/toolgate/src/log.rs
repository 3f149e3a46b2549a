//! The log's writer: whatever is written, no secret that was read is in it.

use std::io::{self, Write};

use endpoints::secret::Known;

/// A writer that masks the secrets that are in use. An event comes as one piece.
pub struct Masked<W>(pub W);

impl<W: Write> Write for Masked<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        self.0.write_all(&Known::shared().mask_bytes(event))?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_logged_has_no_secret_in_it() {
        Known::shared().note(&"the-secret-of-the-log".to_owned().into());
        let mut out = Masked(Vec::new());
        let event = "WARN call failed cause=\"401: bad key 'the-secret-of-the-log'\"\n";
        assert_eq!(out.write(event.as_bytes()).unwrap(), event.len());
        assert_eq!(String::from_utf8(out.0).unwrap(), "WARN call failed cause=\"401: bad key '***'\"\n");
    }
}
