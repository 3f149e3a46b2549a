//! Keys and tokens that stand in a spec, where everybody who reads it can use them.

use policies::tree::{Kind, Node};

use super::fields::Diagnosis;

/// What keys of well-known services begin with, and how long they are at least.
const BEGINNINGS: &[(&str, usize)] = &[
    ("sk-", 20),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghs_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("xapp-", 16),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("hf_", 20),
    ("SG.", 20),
    ("npm_", 20),
    ("eyJ", 40),
    ("-----BEGIN", 10),
];

pub const WHAT_TO_DO: &str = "keep it in 'credential_store' and write 'credential: NAME'";

/// Says where a value is a key by its looks, whatever it is called. What was said of the place already is not repeated.
pub fn by_their_looks(root: &Node, found: &mut Diagnosis) {
    for key in ["parameters", "endpoint", "examples", "check", "dynamic"] {
        if let Some(node) = root.get(key) {
            walk(node, found);
        }
    }
}

fn walk(node: &Node, found: &mut Diagnosis) {
    match &node.kind {
        Kind::Scalar(scalar) => {
            let (line, column) = node.at;
            let is_said = found
                .warnings
                .iter()
                .any(|said| (said.line, said.column) == (line, column) && is_of_keys(&said.message));
            if !is_said && scalar.text.split(|c: char| " =&?/\"',;".contains(c)).any(is_key) {
                let message = "this looks like a literal key: everybody who reads the file can use it";
                found.warning_hint(node.at, message, WHAT_TO_DO.to_owned());
            }
        }
        Kind::Seq(items) => items.iter().for_each(|item| walk(item, found)),
        Kind::Map(entries) => entries.iter().for_each(|(_, inner)| walk(inner, found)),
    }
}

fn is_of_keys(message: &str) -> bool {
    message.contains("literal key")
}

fn is_key(word: &str) -> bool {
    let has_body = |body: &str| body.bytes().filter(u8::is_ascii_alphanumeric).count() * 4 >= body.len() * 3;
    BEGINNINGS.iter().any(|(begin, least)| word.len() >= *least && word.starts_with(begin) && has_body(word))
        || word.starts_with("-----BEGIN")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_known_by_its_looks_and_a_word_is_none() {
        for key in
            ["sk_live_51H8abcdefghij", "ghp_0123456789abcdefghijklmnopqrstuvwxyz", "AKIAIOSFODNN7EXAMPLE", "-----BEGIN"]
        {
            assert!(is_key(key), "{key}");
        }
        for word in ["sk-", "skeleton", "eyJ", "AKIA", "hf_", "task-1", "{token}", "env:GITHUB_TOKEN"] {
            assert!(!is_key(word), "{word}");
        }
    }
}
