//! An answer in the making as one message: what is half written is left out, what does not fit is cut. Pure.

use contract::Part;

/// The longest draft of which the beginning is looked for; no platform's message holds as much.
const LONGEST: usize = 64 * 1024;
/// How near, in bytes, the cut comes to what would still fit.
const NEAR: usize = 16;
/// How far back a cut moves to stand between words.
const WORD: usize = 80;

/// What is ready to be shown of a text that still grows: without a last line that so far is nothing but marks.
pub(super) fn ready(draft: &str) -> &str {
    let text = draft.trim_end();
    let start = text.rfind('\n').map_or(0, |at| at + 1);
    let last = text[start..].trim_start();
    let is_fence = last.starts_with("```") || last.starts_with("~~~");
    let is_marks = last.chars().all(|c| "`~*_#>-+=|: ".contains(c));
    if is_fence || is_marks { text[..start].trim_end() } else { text }
}

/// The text as one message, and how much of it that is: all of it, or a beginning with `…`.
pub(super) fn fit(text: &str, render: impl Fn(&str) -> Vec<Part>) -> Option<(usize, Part)> {
    if text.len() <= LONGEST
        && let Some(part) = only(render(text))
    {
        return Some((text.len(), part));
    }
    let begun = |len: usize| only(render(&format!("{}…", text[..len].trim_end())));
    let (mut low, mut high) = (0, text.len().min(LONGEST));
    while high - low > NEAR {
        let middle = text.floor_char_boundary(low.midpoint(high));
        if begun(middle).is_some() { low = middle } else { high = middle }
    }
    let word = text[..low].rfind(char::is_whitespace).filter(|at| low - at < WORD);
    let len = word.unwrap_or(low);
    Some((len, begun(len)?))
}

/// A reply that is one message and needs no file.
fn only(parts: Vec<Part>) -> Option<Part> {
    let [part] = <[Part; 1]>::try_from(parts).ok()?;
    part.files.is_empty().then_some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_messages_of(chars: usize) -> impl Fn(&str) -> Vec<Part> {
        move |text| {
            let text: Vec<char> = text.chars().collect();
            let part = |text: &[char]| Part {
                body: text.iter().collect(),
                plain: String::new(),
                buttons: Vec::new(),
                files: Vec::new(),
                audience: contract::Audience::Everyone,
            };
            text.chunks(chars).map(part).collect()
        }
    }

    #[test]
    fn a_text_that_fits_is_shown_whole() {
        let (len, part) = fit("all of it", in_messages_of(9)).unwrap();
        assert_eq!((len, part.body.as_str()), (9, "all of it"));
    }

    #[test]
    fn a_text_that_does_not_fit_is_cut_between_words() {
        let text = "word ".repeat(1_000);
        let (len, part) = fit(&text, in_messages_of(100)).unwrap();
        assert!(part.body.ends_with("word…") && part.body.chars().count() <= 100, "{}", part.body);
        assert!(len > 60, "{len}");
    }

    #[test]
    fn a_text_without_spaces_is_cut_between_characters() {
        let text = "字".repeat(40_000);
        let (_, part) = fit(&text, in_messages_of(50)).unwrap();
        let count = part.body.chars().count();
        assert!(part.body.ends_with('…') && (40..=50).contains(&count), "{count}");
    }

    #[test]
    fn marks_without_words_yet_are_not_shown() {
        let shown = [
            ("", ""),
            ("**", ""),
            ("```", ""),
            ("Look:\n```rus", "Look:"),
            ("Look:\n```rust\nfn", "Look:\n```rust\nfn"),
            ("Look:\n```rust\nfn x() {}\n``", "Look:\n```rust\nfn x() {}"),
            ("- one\n- ", "- one"),
            ("| a | b |\n|---", "| a | b |"),
            ("plain words  \n\n", "plain words"),
        ];
        for (draft, expected) in shown {
            assert_eq!(ready(draft), expected, "{draft:?}");
        }
    }
}
