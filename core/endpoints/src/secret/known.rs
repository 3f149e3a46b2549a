//! The secrets that are in use, so that they can be masked wherever they turn up.
//!
//! A name such as `password` says that its value is a secret; a value that somebody repeats says nothing. So what was
//! read as a secret is remembered here, with the forms that it travels in (base64, percent-encoded, inside JSON), and
//! searched for in all of them at once.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
    ops::Range,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use aho_corasick::{AhoCorasick, MatchKind};
use arc_swap::ArcSwap;
use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};

/// What stands in a secret's place.
pub const MASK: &str = "***";
/// Most secrets that are remembered; the one that was not used for the longest time makes room.
const MOST: usize = 512;
/// What is shorter is no secret, and hiding it would hide everything.
const SHORTEST: usize = 4;
/// What is shorter is masked only where it is a whole word.
const SURE: usize = 8;
/// What is longer is looked for as it is, without its other forms.
const LONGEST_WITH_FORMS: usize = 4_096;

/// A bounded set of secrets that finds all of them in one pass.
#[derive(Default)]
pub struct Known {
    search: ArcSwap<Search>,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    /// When each was used last, as a count of uses.
    used: HashMap<String, u64>,
    clock: u64,
}

/// What is looked for.
#[derive(Default)]
struct Search {
    find: Option<AhoCorasick>,
    /// Which patterns are masked only as whole words.
    whole: Vec<bool>,
    /// A number may be a secret too.
    numbers: bool,
}

impl Known {
    /// The set of this process: secrets are noted where they are read, and looked for wherever something is shown.
    pub fn shared() -> &'static Arc<Self> {
        static SHARED: LazyLock<Arc<Known>> = LazyLock::new(Arc::default);
        &SHARED
    }

    /// Remembers a secret, or that it is still in use.
    pub fn note(&self, secret: &SecretString) {
        let text = secret.expose_secret().trim();
        if text.len() < SHORTEST {
            return;
        }
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.clock += 1;
        let now = held.clock;
        if let Some(used) = held.used.get_mut(text) {
            *used = now;
            return;
        }
        if held.used.len() >= MOST
            && let Some(oldest) = held.used.iter().min_by_key(|(_, used)| **used).map(|(text, _)| text.clone())
        {
            held.used.remove(&oldest);
        }
        held.used.insert(text.to_owned(), now);
        // Under the lock, so that a later set is never replaced by an earlier one.
        self.search.store(Arc::new(Search::of(held.used.keys().map(String::as_str))));
    }

    /// The text with every known secret masked.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let places = self.search.load().places(text.as_bytes());
        if places.is_empty() {
            return Cow::Borrowed(text);
        }
        // The patterns are UTF-8, so that a match begins and ends between characters.
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for place in places {
            out.push_str(&text[at..place.start]);
            out.push_str(MASK);
            at = place.end;
        }
        out.push_str(&text[at..]);
        Cow::Owned(out)
    }

    /// The same for bytes that need not be text.
    pub fn mask_bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let places = self.search.load().places(bytes);
        if places.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let mut out = Vec::with_capacity(bytes.len());
        let mut at = 0;
        for place in places {
            out.extend_from_slice(&bytes[at..place.start]);
            out.extend_from_slice(MASK.as_bytes());
            at = place.end;
        }
        out.extend_from_slice(&bytes[at..]);
        Cow::Owned(out)
    }

    /// Masks every text of a value, names included.
    pub fn mask_value(&self, value: &mut Value) {
        let numbers = {
            let search = self.search.load();
            if search.find.is_none() {
                return;
            }
            search.numbers
        };
        self.mask_in(value, numbers);
    }

    fn mask_in(&self, value: &mut Value, numbers: bool) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) if numbers => {
                if let Cow::Owned(masked) = self.mask(&number.to_string()) {
                    *value = Value::String(masked);
                }
            }
            Value::Number(_) => {}
            Value::String(text) => {
                if let Cow::Owned(masked) = self.mask(text) {
                    *text = masked;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask_in(item, numbers)),
            Value::Object(fields) => self.mask_fields(fields, numbers),
        }
    }

    fn mask_fields(&self, fields: &mut Map<String, Value>, numbers: bool) {
        fields.iter_mut().for_each(|(_, value)| self.mask_in(value, numbers));
        if fields.keys().any(|name| matches!(self.mask(name), Cow::Owned(_))) {
            let all = std::mem::take(fields);
            *fields = all.into_iter().map(|(name, value)| (self.mask(&name).into_owned(), value)).collect();
        }
    }
}

impl Search {
    fn of<'a>(secrets: impl Iterator<Item = &'a str>) -> Self {
        let (mut patterns, mut whole, mut numbers) = (Vec::new(), Vec::new(), false);
        for secret in secrets {
            numbers |= secret.bytes().all(|byte| byte.is_ascii_digit());
            for form in forms(secret) {
                whole.push(form.len() < SURE);
                patterns.push(form);
            }
        }
        // It is built of plain texts, far below its limits; without it nothing at all must be shown as if it were safe.
        let find = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&patterns);
        Self { find: Some(find.expect("a few thousand patterns fit")), whole, numbers }
    }

    fn places(&self, text: &[u8]) -> Vec<Range<usize>> {
        let Some(find) = &self.find else { return Vec::new() };
        let matches = find.find_iter(text);
        let is_meant = |found: &aho_corasick::Match| {
            !self.whole.get(found.pattern().as_usize()).is_some_and(|whole| *whole) || stands_alone(text, found.range())
        };
        matches.filter(is_meant).map(|found| found.range()).collect()
    }
}

fn stands_alone(text: &[u8], range: Range<usize>) -> bool {
    let is_word = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    !is_word(range.start.checked_sub(1).and_then(|at| text.get(at))) && !is_word(text.get(range.end))
}

/// A secret as it is, and as it looks when somebody else writes it down.
fn forms(secret: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::from([secret.to_owned()]);
    if secret.len() > LONGEST_WITH_FORMS {
        return all;
    }
    let in_json = Value::from(secret).to_string();
    all.insert(in_json[1..in_json.len() - 1].to_owned());
    let encoded = percent_encoded(secret, "%20");
    all.insert(encoded.replace("%20", "+"));
    all.insert(encoded.to_lowercase().replace("%20", "+"));
    all.insert(encoded.to_lowercase());
    all.insert(encoded);
    for offset in 0..3 {
        all.extend(in_base64(secret.as_bytes(), offset));
    }
    // A form with other letters that is as short would be found in words that have nothing to do with it.
    all.retain(|form| form == secret || form.len() >= SURE);
    all
}

fn percent_encoded(text: &str, space: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' ' => out.push_str(space),
            b if b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'~' | b'*') => out.push(char::from(b)),
            b => out.push_str(&format!("%{b:02X}")),
        }
    }
    out
}

/// What is sure to be there in the base64 of a longer text in which the secret begins at such an offset, in both
/// alphabets.
fn in_base64(secret: &[u8], offset: usize) -> [String; 2] {
    let padded: Vec<u8> = std::iter::repeat_n(0, offset).chain(secret.iter().copied()).collect();
    let encoded = STANDARD_NO_PAD.encode(&padded);
    // The edges share their bits with what stands beside the secret.
    let (first, last) = ((offset * 8).div_ceil(6), padded.len() * 8 / 6);
    let sure = encoded.get(first..last).unwrap_or_default();
    [sure.to_owned(), sure.replace('+', "-").replace('/', "_")]
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    use serde_json::json;

    use super::*;

    fn known(secrets: &[&str]) -> Known {
        let known = Known::default();
        secrets.iter().for_each(|secret| known.note(&SecretString::from(*secret)));
        known
    }

    #[test]
    fn a_secret_is_masked_in_every_form_that_it_travels_in() {
        let secret = "p\u{e4}ss \"word\"/+?>9";
        let known = known(&[secret]);
        let long = |offset: usize| format!("{}{secret}:and more", &"abc"[..offset]);
        let forms = [
            secret.to_owned(),
            json!(secret).to_string(),
            percent_encoded(secret, "+"),
            percent_encoded(secret, "%20").to_lowercase(),
            STANDARD.encode(secret),
            STANDARD.encode(long(1)),
            STANDARD.encode(long(2)),
            URL_SAFE.encode(long(0)),
            URL_SAFE.encode(long(2)),
        ];
        for form in forms {
            let masked = known.mask(&form).into_owned();
            assert!(masked.contains(MASK), "{form}");
            assert!(!masked.contains("word"), "{masked}");
        }
        assert_eq!(known.mask("pass word"), "pass word");
    }

    #[test]
    fn a_short_secret_is_masked_only_as_a_word_and_a_shorter_one_never() {
        let known = known(&["cat", "tiger", "1234"]);
        assert_eq!(known.mask("cat, tiger! tigers (tiger) 1234 12345"), "cat, ***! tigers (***) *** 12345");
    }

    #[test]
    fn a_value_is_masked_in_its_texts_its_names_and_its_numbers() {
        let known = known(&["sesame-open", "48151623"]);
        let mut value =
            json!({"a": ["x sesame-open y", 1, null], "sesame-open": {"n": 48151623, "m": 481516230}, "z": "plain"});
        known.mask_value(&mut value);
        assert_eq!(value, json!({"a": ["x *** y", 1, null], "***": {"n": "***", "m": "***0"}, "z": "plain"}));
    }

    #[test]
    fn bytes_that_are_no_text_are_masked_too() {
        let known = known(&["sesame-open"]);
        assert_eq!(&*known.mask_bytes(b"\xff sesame-open\xfe"), b"\xff ***\xfe");
    }

    #[test]
    fn what_was_not_used_for_the_longest_time_makes_room() {
        let known = known(&["the-first-one", "the-second-one"]);
        for n in 0..MOST - 1 {
            known.note(&SecretString::from("the-first-one"));
            known.note(&SecretString::from(format!("filler-{n:04}")));
        }
        assert_eq!(known.mask("the-first-one the-second-one filler-0000"), "*** the-second-one ***");
    }
}
