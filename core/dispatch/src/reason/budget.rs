//! How much a model is told: tokens as they can be guessed, and what results may take of the window. Pure.

use serde_json::Value;

use crate::model::{About, Answered, Said};

/// Parts of a token in which is counted, so that all shares are whole.
const PARTS: u64 = 12;
/// A quarter of a token for a byte, as most alphabets are written.
const OF_A_BYTE: u64 = 3;
/// Two thirds of a token for a character that is a word or half of one.
const OF_AN_IDEOGRAPH: u64 = 8;
/// What marks an entry of a conversation.
const OF_AN_ENTRY: u64 = 4;
/// What providers take for a picture, about.
const OF_AN_IMAGE: u64 = 1_600;
/// Least that is left of a result, in characters.
const LEAST: usize = 400;

/// How many tokens a text is, about; more rather than fewer.
pub(crate) fn tokens(text: &str) -> u64 {
    if text.is_ascii() {
        return (text.len() as u64 * OF_A_BYTE).div_ceil(PARTS);
    }
    let parts: u64 =
        text.chars().map(|c| if is_ideograph(c) { OF_AN_IDEOGRAPH } else { c.len_utf8() as u64 * OF_A_BYTE }).sum();
    parts.div_ceil(PARTS)
}

/// Chinese, Japanese and Korean writing with its punctuation.
fn is_ideograph(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{9fff}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}'
        | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe4f}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

/// Tokens of an entry.
pub(crate) fn tokens_of(said: &Said) -> u64 {
    OF_AN_ENTRY
        + match said {
            Said::Person { text, images } => tokens(text) + images.len() as u64 * OF_AN_IMAGE,
            Said::Model(Answered { text, calls, .. }) => {
                let calls = calls.iter().map(|call| OF_AN_ENTRY + tokens(&call.tool) + json(&call.args));
                tokens(text) + calls.sum::<u64>()
            }
            Said::Result { content, .. } => tokens(content),
        }
}

/// Tokens of a JSON value.
pub(crate) fn json(value: &Value) -> u64 {
    tokens(&value.to_string())
}

/// What a prompt may take in tokens, the tools' list and the words of the system among it.
pub(crate) fn room(about: &About) -> u64 {
    let whole = u64::from(about.context_tokens.saturating_sub(about.output_tokens));
    // A tenth is left for what guessing misses.
    whole - whole / 10
}

/// Characters that results may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Budget {
    pub call: usize,
    pub step: usize,
    pub turn: usize,
}

impl Budget {
    /// By the window; a call's not above what policy allows.
    pub fn of(about: &About, result_chars: u32) -> Self {
        let share = |tenths: usize, least: usize, most: usize| {
            (about.context_tokens as usize).saturating_mul(tenths).div_euclid(10).clamp(least, most)
        };
        Self {
            call: share(2, 2_000, 24_000).min(result_chars as usize).max(LEAST),
            step: share(6, 6_000, 64_000),
            turn: share(12, 12_000, 128_000),
        }
    }

    /// What each result of a step may have: the small ones all that they need, the large ones alike.
    pub fn share(&self, sizes: &[usize]) -> usize {
        share(sizes, self.step).clamp(LEAST, self.call)
    }
}

/// The most that each may have when all together have `whole`.
fn share(sizes: &[usize], whole: usize) -> usize {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    let (mut left, mut count) = (whole, sizes.len());
    for size in sizes {
        let each = left / count.max(1);
        if size > each {
            return each;
        }
        left -= size;
        count -= 1;
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_four_letters_or_one_and_a_half_ideographs() {
        assert_eq!(tokens(&"word".repeat(100)), 100);
        assert_eq!(tokens(&"天気".repeat(75)), 100);
        assert_eq!(tokens(&"слов".repeat(100)), 200);
        assert_eq!(tokens(""), 0);
        assert_eq!(tokens("a"), 1);
    }

    #[test]
    fn what_results_may_take_follows_the_window() {
        let about = |context_tokens| About { name: "m".into(), context_tokens, output_tokens: 1, sees_images: false };
        let small = Budget { call: 2_000, step: 6_000, turn: 12_000 };
        assert_eq!(Budget::of(&about(4_096), 24_000), small);
        assert_eq!(Budget::of(&about(32_768), 24_000), Budget { call: 6_553, step: 19_660, turn: 39_321 });
        assert_eq!(Budget::of(&about(1_000_000), 24_000), Budget { call: 24_000, step: 64_000, turn: 128_000 });
        assert_eq!(Budget::of(&about(1_000_000), 1_000).call, 1_000);
    }

    #[test]
    fn small_results_stay_whole_and_large_ones_share_the_rest() {
        assert_eq!(share(&[10, 20, 30], 100), 100);
        assert_eq!(share(&[10, 500, 500], 110), 50);
        assert_eq!(share(&[], 110), 110);
        assert_eq!(share(&[500, 10, 90], 200), 100);
    }
}
