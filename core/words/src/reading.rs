//! Recognises an English sentence of ours, so that it can be said in another language.
//!
//! Failures carry their sentence in English, made where they happen and stored with the turn; the English catalogue is
//! what tells our own sentences from those of a tool's owner, which nobody translates.

use std::{collections::HashMap, sync::LazyLock};

use contract::Locale;
use fluent_syntax::{
    ast::{Entry, Expression, InlineExpression, Pattern, PatternElement},
    parser,
};

use crate::catalogue::{self, Values};

/// The sentences that are recognised.
pub(crate) const SENTENCES: &str = include_str!("../locales/en/sentences.ftl");

/// Sentences within sentences deeper than this stay as they are.
const DEEPEST: usize = 16;

/// What a sentence is about: the first word of its key. Sentences of one group are never taken for another's.
type Group = &'static str;

static GROUPS: LazyLock<HashMap<Group, Vec<Sentence>>> = LazyLock::new(|| {
    let resource = parser::parse(SENTENCES).unwrap_or_else(|(whole, _)| whole);
    let mut groups: HashMap<Group, Vec<Sentence>> = HashMap::new();
    for entry in resource.body {
        if let Entry::Message(message) = entry
            && let Some(pattern) = message.value
            && let Some(sentence) = Sentence::of(message.id.name, &pattern)
        {
            let group = sentence.key.split('-').next().unwrap_or_default();
            groups.entry(group).or_default().push(sentence);
        }
    }
    // The sentence of which most is fixed says most exactly what was meant.
    groups.values_mut().for_each(|group| group.sort_by_key(|s| std::cmp::Reverse(s.fixed())));
    groups
});

/// A sentence of the catalogue: what is fixed of it, and the names of what is filled in between.
struct Sentence {
    key: &'static str,
    /// One more than there are names; the first and the last may be empty.
    texts: Vec<String>,
    names: Vec<&'static str>,
}

impl Sentence {
    /// Nothing for one that is chosen by a number: such sentences are made here, never read.
    fn of(key: &'static str, pattern: &Pattern<&'static str>) -> Option<Self> {
        let (mut texts, mut names) = (vec![String::new()], Vec::new());
        for element in &pattern.elements {
            let text = match element {
                PatternElement::TextElement { value }
                | PatternElement::Placeable {
                    expression: Expression::Inline(InlineExpression::StringLiteral { value }),
                } => *value,
                PatternElement::Placeable {
                    expression: Expression::Inline(InlineExpression::VariableReference { id }),
                } => {
                    names.push(id.name);
                    texts.push(String::new());
                    continue;
                }
                PatternElement::Placeable { .. } => return None,
            };
            texts.last_mut().expect("there is always one text").push_str(text);
        }
        Some(Self { key, texts, names })
    }

    fn fixed(&self) -> usize {
        self.texts.iter().map(String::len).sum()
    }

    /// What stands at each name, when the text is this sentence. Each takes as little as it can, but not nothing.
    fn matches<'t>(&self, text: &'t str) -> Option<Vec<&'t str>> {
        let (first, last) = (self.texts.first()?, self.texts.last()?);
        let mut rest = text.strip_prefix(first.as_str())?;
        if self.names.is_empty() {
            return rest.is_empty().then(Vec::new);
        }
        rest = rest.strip_suffix(last.as_str())?;
        let mut values = Vec::new();
        for between in &self.texts[1..self.texts.len() - 1] {
            let after_one = rest.chars().next()?.len_utf8();
            let at = after_one + find(&rest[after_one..], between)?;
            values.push(&rest[..at]);
            rest = &rest[at + between.len()..];
        }
        values.push(rest);
        (!rest.is_empty()).then_some(values)
    }
}

/// Where the words stand. Sentences are short and looked for by the hundred: what `str::find` prepares for a long text
/// costs more than it saves.
fn find(text: &str, words: &str) -> Option<usize> {
    text.as_bytes().windows(words.len().max(1)).position(|window| window == words.as_bytes())
}

/// The group of what is filled in under a name, where that is a sentence of ours too.
fn group_of(name: &str) -> Option<Group> {
    match name {
        "said" => Some("say"),
        "why" => Some("why"),
        "what" => Some("what"),
        "wait" => Some("wait"),
        "expected" | "other" => Some("expected"),
        "advice" | "note" => Some("advice"),
        _ => None,
    }
}

/// The text in the language, when it is a sentence of the group.
pub(crate) fn known(group: Group, text: &str, locale: Locale) -> Option<String> {
    let sentences = GROUPS.get(group)?;
    known_at(sentences, text, locale, 0)
}

/// The text in the language; one of nobody's group as it is.
pub(crate) fn said(group: Group, text: &str, locale: Locale) -> String {
    match locale {
        Locale::En => text.to_owned(),
        Locale::ZhHans => known(group, text, locale).unwrap_or_else(|| text.to_owned()),
    }
}

fn known_at(sentences: &[Sentence], text: &str, locale: Locale, depth: usize) -> Option<String> {
    let (sentence, values) = sentences.iter().find_map(|s| Some((s, s.matches(text)?)))?;
    let mut filled = Values::with_capacity(values.len());
    for (name, value) in sentence.names.iter().zip(values) {
        let inner = group_of(name).filter(|_| depth < DEEPEST).and_then(|group| GROUPS.get(group));
        let value = match inner.and_then(|group| known_at(group, value, locale, depth + 1)) {
            Some(known) => catalogue::value(known),
            None => catalogue::value(value),
        };
        filled.insert(name, value);
    }
    catalogue::find(locale, sentence.key, &filled)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn zh(group: Group, text: &str) -> Option<String> {
        known(group, text, Locale::ZhHans)
    }

    #[test]
    fn every_sentence_is_recognised_as_itself() {
        for (group, sentences) in GROUPS.iter() {
            for sentence in sentences {
                let values: Values<'_> = sentence.names.iter().map(|name| (*name, catalogue::value("7"))).collect();
                let english = catalogue::find(Locale::En, sentence.key, &values).unwrap();
                let found = GROUPS[group].iter().find(|s| s.matches(&english).is_some()).unwrap();
                assert_eq!(found.key, sentence.key, "{english}");
            }
        }
    }

    #[test]
    fn what_is_filled_in_is_said_in_the_language_too() {
        assert_eq!(
            zh("say", "'sleep' did not answer within 5 s; it may have taken effect").unwrap(),
            "“sleep”在 5 秒内没有回应；操作可能已经生效"
        );
        assert_eq!(zh("say", "'shop': no such article").unwrap(), "“shop”：no such article");
        assert_eq!(zh("expected", "object or string or null").unwrap(), "对象或文本或空值 null");
        assert_eq!(
            zh("advice", "put it in quotes; for the form 'card'; other forms: kind=bank, 3").unwrap(),
            "请加上引号；按形式 'card'；其他形式：kind=bank, 3"
        );
    }

    #[test]
    fn what_somebody_else_wrote_is_not_ours() {
        for text in ["no such article", "", "'' was stopped", "'t' was stopped twice", "stopping 'x' was stopped"] {
            assert_eq!(zh("say", text), None, "{text}");
        }
        assert_eq!(said("say", "no such article", Locale::ZhHans), "no such article");
    }

    #[test]
    fn a_sentence_in_a_sentence_without_end_is_read_to_a_depth() {
        let text = format!("'t' was stopped{}", "; nothing was sent".repeat(1_000));
        let read = zh("say", &text).unwrap();
        assert!(read.contains("没有发出任何请求") && read.contains("nothing was sent"));
    }

    proptest! {
        #[test]
        fn whatever_somebody_writes_is_read(text in "('|; |: |\\(|\\)|t|é|上| or | within | did not answer |nothing was sent){0,30}") {
            for group in GROUPS.keys() {
                let _ = zh(group, &text);
            }
        }
    }
}
