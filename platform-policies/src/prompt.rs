//! The words that a language model is given of a place: as an operator writes them, with names that are filled in.

use std::sync::Arc;

use contract::{Caller, text};

use crate::{compiled::Compiled, reader::Reader, tree::Node};

/// What may stand in braces; the gateway fills it in.
pub const PLACEHOLDERS: [&str; 6] = ["platform", "tenant", "conversation", "sender", "date", "locale"];

/// Every step of a model is asked with it, so it is short.
const CHARS_MAX: usize = 16_000;

pub(crate) fn read(reader: &mut Reader, tree: &Node) -> Option<Arc<str>> {
    let words = reader.text(tree, "prompt")?;
    if words.chars().count() > CHARS_MAX {
        reader.error(tree.at, format!("'prompt' has more than {CHARS_MAX} characters"), None);
        return None;
    }
    for name in unknown(words) {
        let hint = text::nearest(name, PLACEHOLDERS).map(|near| format!("did you mean '{{{near}}}'?"));
        let hint = hint.unwrap_or_else(|| format!("known: {}", PLACEHOLDERS.join(", ")));
        reader.warn(tree.at, format!("'prompt' has '{{{name}}}', which is not filled in"), Some(hint));
    }
    Some(Arc::from(words))
}

/// Plain words in braces that stand for nothing.
fn unknown(words: &str) -> Vec<&str> {
    let in_braces = words.split('{').skip(1).filter_map(|after| Some(after.split_once('}')?.0));
    let is_word = |name: &&str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    in_braces.filter(is_word).filter(|name| !PLACEHOLDERS.contains(name)).collect()
}

impl Compiled {
    /// What a model is told of itself here: the words of the narrowest rule that has any.
    pub fn prompt<'a>(&'a self, caller: &'a Caller) -> Option<&'a str> {
        self.rules(caller).filter_map(|rule| rule.block.prompt.as_deref()).last()
    }
}
