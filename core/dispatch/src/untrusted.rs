//! Text of others as a model is shown it: marked as such, and unable to leave its marks.

use contract::text::clean_framing;

/// A text of somebody else, with what it is. `label` is ours; the text is cleaned until no mark of it is left.
pub(crate) fn quoted(label: &str, text: &str) -> String {
    format!("<untrusted from=\"{label}\">{}</untrusted>", clean_framing(text))
}
