//! What is said of the configuration: a finding in its file, or in the variable that replaces a key.

pub use contract::Finding;

use super::yaml::Spot;

/// A finding at a spot of the file, as the user named it.
pub fn finding_at(file: &str, spot: &Spot, message: impl Into<String>) -> Finding {
    Finding::new(spot.variable.as_deref().unwrap_or(file), (spot.line, spot.column), message)
}
