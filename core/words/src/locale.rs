//! Which language a person is spoken to in. Pure.

use contract::{Kind, Locale, Message};
use serde_json::Value;

/// How many letters of other scripts weigh as much as one Han character, which is about a word's part.
const HAN_WEIGHS: usize = 3;
/// Characters of a message that are looked at.
const LOOKED_AT: usize = 2_000;

/// The language of the answer to a message: the one that is `fixed` for the place, else what the platform says of the
/// sender, else what the text is written in, else English.
pub fn locale_of(message: &Message, fixed: Option<Locale>) -> Locale {
    fixed.or_else(|| message.locale.as_deref().and_then(of_tag)).or_else(|| of_message(message)).unwrap_or_default()
}

/// The language that a platform's tag names (`en-GB`, `zh_CN`, `zh-hant`), if we speak it.
pub fn of_tag(tag: &str) -> Option<Locale> {
    let primary = tag.split(['-', '_']).next().unwrap_or_default();
    match primary {
        zh if zh.eq_ignore_ascii_case("zh") => Some(Locale::ZhHans),
        en if en.eq_ignore_ascii_case("en") => Some(Locale::En),
        _ => None,
    }
}

fn of_message(message: &Message) -> Option<Locale> {
    match &message.kind {
        Kind::Text { text } | Kind::Edit { text } | Kind::Retold { text, .. } => of_text(text),
        Kind::Command { args, .. } | Kind::Form { args, .. } => {
            let said: Vec<&str> = args.values().filter_map(Value::as_str).collect();
            of_text(&said.join(" "))
        }
        Kind::Press { .. } | Kind::Reaction { .. } => None,
    }
}

/// Chinese when enough of the text is in Han characters and nothing is in kana or hangul. A command's name and the keys of its
/// arguments are not the person's words.
fn of_text(text: &str) -> Option<Locale> {
    let (mut han, mut others) = (0, 0);
    let mut left = LOOKED_AT;
    for word in text.split_whitespace().filter(|word| !word.starts_with('/')) {
        let said = word.split_once('=').filter(|(key, _)| is_key(key)).map_or(word, |(_, value)| value);
        for c in said.chars().take(left) {
            match c {
                c if is_kana(c) || is_hangul(c) => return None,
                c if is_han(c) => han += 1,
                c if c.is_alphabetic() => others += 1,
                _ => {}
            }
        }
        left = left.saturating_sub(said.len());
    }
    (han > 0 && han * HAN_WEIGHS >= others).then_some(Locale::ZhHans)
}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

fn is_kana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{ff66}'..='\u{ff9d}')
}

fn is_hangul(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{11ff}' | '\u{3131}'..='\u{318e}' | '\u{ac00}'..='\u{d7a3}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_tells_its_language_when_enough_of_it_is_han() {
        for (text, chinese) in [
            ("你好", true),
            ("帮我查一下 Toronto 的天气", true),
            ("/weather_query city=上海", true),
            ("/weather_query 上海 days=3", true),
            ("/weather_query city=Oslo", false),
            ("What does 你好 mean in English?", false),
            ("东京の天気を教えて", false),
            ("東京タワー", false),
            ("한국어 漢字", false),
            ("hello", false),
            ("123 !?", false),
            ("", false),
        ] {
            assert_eq!(of_text(text).is_some(), chinese, "{text}");
        }
        assert!(of_text(&"a".repeat(1 << 20)).is_none());
    }

    #[test]
    fn a_platforms_tag_is_read_by_its_language() {
        assert_eq!(of_tag("zh-hans"), Some(Locale::ZhHans));
        assert_eq!(of_tag("zh_TW"), Some(Locale::ZhHans));
        assert_eq!(of_tag("ZH"), Some(Locale::ZhHans));
        assert_eq!(of_tag("en-US"), Some(Locale::En));
        assert_eq!(of_tag("eng"), None);
        assert_eq!(of_tag("fr"), None);
        assert_eq!(of_tag(""), None);
    }
}
