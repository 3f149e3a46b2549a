//! The code of a request: eight characters that are hard to confuse, and not to be guessed.

use std::fmt;

use ulid::Ulid;

/// Thirty-two characters without `I`, `O`, `0` and `1`.
const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

/// Forty random bits.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Code([u8; 8]);

impl Code {
    pub fn new() -> Self {
        // Of a generator made for secrets, anew each time: unlike the ids of turns they do not follow each other.
        let random = Ulid::generate().random();
        Self(std::array::from_fn(|n| ALPHABET[(random >> (5 * n) & 31) as usize]))
    }

    /// As a person writes it: in any case, in groups. What is no code at all is none that was given out.
    pub fn read(written: &str) -> Self {
        let mut code = [0; 8];
        let mut letters = written.bytes().filter(|b| b.is_ascii_alphanumeric()).map(|b| b.to_ascii_uppercase());
        for place in &mut code {
            *place = letters.next().unwrap_or(0);
        }
        if letters.next().is_some() { Self([0; 8]) } else { Self(code) }
    }

    /// In the same time whether and where they differ.
    pub fn is(&self, other: &Self) -> bool {
        let difference = self.0.iter().zip(&other.0).fold(0, |sum, (a, b)| sum | (a ^ b));
        std::hint::black_box(difference) == 0
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{}", char::from(*byte)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_as_people_write_it() {
        let code = Code::new();
        let text = code.to_string();
        assert_eq!(text.len(), 8);
        let (a, b) = text.split_at(4);
        assert!(code.is(&Code::read(&format!(" {}-{b} ", a.to_lowercase()))));
        assert!(!code.is(&Code::read(&format!("{text}A"))));
        assert!(!code.is(&Code::read("")));
        assert!(!Code::new().is(&code));
    }
}
