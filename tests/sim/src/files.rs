//! Files of any platform: how long they are kept, and how a person's file is read.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::refused::{Outcome, refused};

/// How much is kept in all; the oldest files are forgotten first.
const KEPT_BYTES: usize = 256 * 1024 * 1024;
pub const KEPT_FILES: usize = 10_000;

/// A file with its content in memory.
pub trait Stored {
    fn bytes(&self) -> &Bytes;
}

/// The files of one platform, up to a sum.
#[derive(Debug)]
pub struct Shelf<F> {
    kept: VecDeque<F>,
    total: usize,
}

impl<F> Default for Shelf<F> {
    fn default() -> Self {
        Self { kept: VecDeque::new(), total: 0 }
    }
}

impl<F: Stored> Shelf<F> {
    pub fn add(&mut self, file: F) {
        self.total += file.bytes().len();
        self.kept.push_back(file);
        while self.total > KEPT_BYTES || self.kept.len() > KEPT_FILES {
            let Some(old) = self.kept.pop_front() else { break };
            self.total -= old.bytes().len();
        }
    }

    /// The newest file that fits.
    pub fn find(&self, fits: impl Fn(&F) -> bool) -> Option<&F> {
        self.kept.iter().rev().find(|file| fits(file))
    }

    /// Changes the newest file that fits, if there is one; its bytes may become more or fewer.
    pub fn change<T>(&mut self, fits: impl Fn(&F) -> bool, change: impl FnOnce(&mut F) -> T) -> Option<T> {
        let file = self.kept.iter_mut().rev().find(|file| fits(file))?;
        self.total -= file.bytes().len();
        let out = change(file);
        self.total += file.bytes().len();
        Some(out)
    }

    /// Whether there was one to take away.
    pub fn remove(&mut self, fits: impl Fn(&F) -> bool) -> bool {
        let Some(at) = self.kept.iter().position(fits) else { return false };
        self.total -= self.kept.remove(at).map_or(0, |file| file.bytes().len());
        true
    }
}

/// What a person's file holds, given as base64 or as text.
pub fn content(code: Option<&str>, text: Option<&str>) -> Outcome<Vec<u8>> {
    match (code, text) {
        (Some(code), _) => base64(code).map_or_else(|| refused(400, "files: not base64"), Ok),
        (None, Some(text)) => Ok(text.as_bytes().to_vec()),
        (None, None) => Ok(Vec::new()),
    }
}

/// Width and height as a picture says; those of any picture when it says nothing that is understood.
pub fn dimensions(bytes: &[u8]) -> (u32, u32) {
    let number = |from: usize| bytes.get(from..from + 4).and_then(|b| b.try_into().ok()).map(u32::from_be_bytes);
    match (bytes.starts_with(b"\x89PNG"), number(16), number(20)) {
        (true, Some(width), Some(height)) => (width, height),
        _ => (800, 600),
    }
}

/// Reads base64 of either alphabet, padded or not.
pub fn base64(code: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(code.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0);
    for c in code.bytes().filter(|c| !c.is_ascii_whitespace() && *c != b'=') {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_in_both_alphabets() {
        assert_eq!(base64("MTIz").as_deref(), Some(b"123".as_slice()));
        assert_eq!(base64("-_8=").as_deref(), base64("+/8").as_deref());
        assert_eq!(base64("?"), None);
    }

    impl Stored for Bytes {
        fn bytes(&self) -> &Bytes {
            self
        }
    }

    #[test]
    fn the_oldest_files_are_forgotten_first() {
        let mut shelf = Shelf::default();
        for n in 0..KEPT_FILES + 2 {
            shelf.add(Bytes::from(n.to_string()));
        }
        assert_eq!(shelf.find(|file| file == "1"), None);
        assert!(shelf.remove(|file| file == "2") && !shelf.remove(|file| file == "2"));
        shelf.change(|file| file == "3", |file| *file = Bytes::from(vec![0; KEPT_BYTES]));
        shelf.add(Bytes::from_static(b"last"));
        assert!(shelf.find(|file| file == "last").is_some());
        assert!(shelf.find(|file| file.len() == KEPT_BYTES).is_none());
    }
}
