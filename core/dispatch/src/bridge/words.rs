//! The words of a text as tools are found by them, in alphabets and in scripts without spaces. Pure.

use unicode_segmentation::UnicodeSegmentation;

/// Words in lower case without their plurals, parts of names, and pairs of characters where a script has no spaces.
#[derive(Clone, Copy, Default)]
pub(super) struct Words {
    /// Of a script without spaces the single characters too: in what is found, not in what is looked for.
    pub singles: bool,
}

impl bm25::Tokenizer for Words {
    fn tokenize(&self, text: &str) -> Vec<String> {
        let mut words = Vec::new();
        let mut run = Run { singles: self.singles, ..Run::default() };
        for (at, word) in text.unicode_word_indices() {
            if run.end != at {
                run.close(&mut words);
            }
            for part in word.split(|c: char| !c.is_alphanumeric()) {
                push(part, &mut run, &mut words);
            }
            run.end = at + word.len();
        }
        run.close(&mut words);
        words
    }
}

/// Characters of a script without spaces that stand together.
#[derive(Default)]
struct Run {
    singles: bool,
    last: Option<char>,
    length: usize,
    /// Where in the text it ends.
    end: usize,
}

impl Run {
    fn take(&mut self, c: char, words: &mut Vec<String>) {
        if let Some(last) = self.last.replace(c) {
            words.push([last, c].iter().collect());
        }
        if self.singles {
            words.push(c.to_string());
        }
        self.length += 1;
    }

    /// One that stands alone is a word.
    fn close(&mut self, words: &mut Vec<String>) {
        if let Some(c) = self.last.take()
            && self.length == 1
            && !self.singles
        {
            words.push(c.to_string());
        }
        self.length = 0;
    }
}

fn push(part: &str, run: &mut Run, words: &mut Vec<String>) {
    let mut word = String::new();
    for c in part.chars().flat_map(char::to_lowercase) {
        if is_without_spaces(c) {
            end(&mut word, words);
            run.take(c, words);
        } else {
            run.close(words);
            word.push(c);
        }
    }
    end(&mut word, words);
}

fn end(word: &mut String, words: &mut Vec<String>) {
    if !word.is_empty() {
        words.push(singular(std::mem::take(word)));
    }
}

/// `orders` is found by `order`, and the other way round.
fn singular(mut word: String) -> String {
    const SHORTEST: usize = 4;
    if word.len() < SHORTEST || !word.is_ascii() || word.ends_with("ss") {
        return word;
    }
    if word.ends_with("ies") {
        word.truncate(word.len() - "ies".len());
        word.push('y');
    } else if word.ends_with('s') {
        word.pop();
    }
    word
}

fn is_without_spaces(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}' | '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{2fff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use bm25::Tokenizer;

    use super::*;

    fn sought(text: &str) -> String {
        Words { singles: false }.tokenize(text).join(" ")
    }

    #[test]
    fn names_fall_into_their_words() {
        assert_eq!(sought("Order_query, get-ORDERS; GitHub2 queries"), "order query get order github2 query");
        assert_eq!(sought("class gas bus café's"), "class gas bus café s");
        assert_eq!(sought(" -- !"), "");
    }

    #[test]
    fn scripts_without_spaces_are_pairs_of_characters() {
        assert_eq!(sought("查询天气API，雨"), "查询 询天 天气 api 雨");
        assert_eq!(sought("天気 メール 주문을"), "天気 メー ール 주문 문을");
        assert_eq!(Words { singles: true }.tokenize("下雨").join(" "), "下 下雨 雨");
    }
}
