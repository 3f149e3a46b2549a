//! What the control side says when it does not do something.

/// Why the control side refuses something; `status` is that of HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub status: u16,
    pub why: String,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Refused {}

pub type Outcome<T> = Result<T, Refused>;

/// A refusal with its status and reason.
pub fn refused<T>(status: u16, why: impl Into<String>) -> Outcome<T> {
    Err(Refused { status, why: why.into() })
}
