//! The catalogues against each other, and side by side.

use std::{collections::BTreeMap, fmt::Write, path::Path};

use contract::{Action, Code, Failure, Locale, Notice, TurnId};
use expect_test::expect_file;
use fluent_syntax::{
    ast::{Entry, Expression, InlineExpression, Pattern, PatternElement},
    parser,
};

use crate::catalogue::Values;

/// The keys of a language with the names of what is filled in.
fn keys(locale: Locale) -> BTreeMap<String, Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("locales").join(locale.as_str());
    let mut keys = BTreeMap::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let resource = parser::parse(text.as_str()).expect("the catalogue is readable to its end");
        for entry in &resource.body {
            let Entry::Message(message) = entry else { continue };
            let mut add = |key: String, pattern: &Pattern<&str>| {
                let mut names = Vec::new();
                gather(pattern, &mut names);
                names.sort_unstable();
                names.dedup();
                assert!(keys.insert(key.clone(), names).is_none(), "{key} is there twice");
            };
            if let Some(value) = &message.value {
                add(message.id.name.to_owned(), value);
            }
            for attribute in &message.attributes {
                add(format!("{}.{}", message.id.name, attribute.id.name), &attribute.value);
            }
        }
    }
    keys
}

fn gather(pattern: &Pattern<&str>, names: &mut Vec<String>) {
    for element in &pattern.elements {
        let PatternElement::Placeable { expression } = element else { continue };
        match expression {
            Expression::Inline(InlineExpression::VariableReference { id }) => names.push(id.name.to_owned()),
            Expression::Select { selector, variants } => {
                if let InlineExpression::VariableReference { id } = selector {
                    names.push(id.name.to_owned());
                }
                variants.iter().for_each(|variant| gather(&variant.value, names));
            }
            Expression::Inline(_) => {}
        }
    }
}

#[test]
fn every_language_has_the_same_keys_and_fills_in_the_same() {
    let english = keys(Locale::En);
    for locale in Locale::ALL {
        let other = keys(locale);
        let missing: Vec<_> = english.keys().filter(|key| !other.contains_key(*key)).collect();
        let too_many: Vec<_> = other.keys().filter(|key| !english.contains_key(*key)).collect();
        assert!(missing.is_empty() && too_many.is_empty(), "{locale:?}: {missing:?} {too_many:?}");
        for (key, names) in &other {
            // What was wrong may be told with less (`1 character`), never with something that nobody fills in.
            assert_eq!(Some(names), english.get(key), "{locale:?}: {key}");
        }
    }
}

#[test]
fn every_code_has_a_heading_a_sentence_and_a_hint_in_each_language() {
    for locale in Locale::ALL {
        for code in Code::ALL {
            let key = crate::notice::code_key(*code);
            let tool = Values::from([("tool", crate::catalogue::value("t"))]);
            assert!(crate::catalogue::find(locale, &key, &Values::new()).is_some(), "{locale:?}: {key}");
            assert!(crate::catalogue::find(locale, &format!("{key}.tool"), &tool).is_some(), "{locale:?}: {key}.tool");
            let notice = Notice::of(&Failure::new(*code, ""), None, None);
            assert!(crate::reading::known("hint", &notice.hint, locale).is_some(), "{locale:?}: {}", notice.hint);
            let shown = crate::notice(&notice, locale);
            assert!(!shown.heading.contains("heading-") && !shown.heading.is_empty(), "{locale:?}: {code}");
        }
    }
}

/// For a reviewer: every text of every language, and each code as it is shown.
#[test]
fn all_that_is_said_stands_side_by_side() {
    let mut out = String::from("Each code as it is shown, with and without a tool, in each language\n");
    for code in Code::ALL {
        let _ = writeln!(out, "\n{code}");
        for locale in Locale::ALL {
            for tool in [None, Some("order_query")] {
                let shown = crate::notice(&Notice::of(&Failure::new(*code, ""), tool, None), locale);
                let _ = write!(out, "  {} {}: {}", shown.mark, shown.heading, shown.say);
                let _ = writeln!(out, " | {} → {}", shown.details.join(" | "), shown.hint);
            }
        }
    }
    out.push_str("\n\nEvery text of the catalogues\n");
    let blank = |names: &[String]| -> Vec<(String, String)> {
        names.iter().map(|name| (name.clone(), format!("<{name}>"))).collect()
    };
    for (key, names) in keys(Locale::En) {
        let _ = writeln!(out, "\n{key}");
        let filled = blank(&names);
        for locale in Locale::ALL {
            let _ = writeln!(out, "  {}", raw(locale, &key, &filled));
        }
    }
    expect_file![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/words.txt")].assert_eq(&out);
}

fn raw(locale: Locale, key: &str, filled: &[(String, String)]) -> String {
    let names: Vec<&'static str> = filled.iter().map(|(name, _)| &*name.clone().leak()).collect();
    let values = names.iter().zip(filled).map(|(name, (_, value))| (*name, crate::catalogue::value(value.as_str())));
    crate::catalogue::find(locale, key, &values.collect()).unwrap()
}

#[test]
fn numbers_choose_their_form_and_are_not_grouped() {
    assert_eq!(crate::same_holds(1, Locale::En), "The same holds for 1 more command.");
    assert_eq!(crate::same_holds(1_234, Locale::En), "The same holds for 1234 more commands.");
    assert_eq!(crate::same_holds(1_234, Locale::ZhHans), "另外 1234 条命令也是如此。");
    assert_eq!(
        crate::goes_on_in_file(1, Locale::En),
        "The answer is too long for one message: it goes on in the file."
    );
    assert_eq!(crate::wait(std::time::Duration::from_millis(2_100), Locale::ZhHans), "3 秒");
    assert_eq!(crate::progress_said("step 1 of 2: a, b", Locale::ZhHans), "第 1 步，共 2 步：a, b");
}

#[test]
fn what_is_filled_in_is_copied_without_marks_around_it() {
    let text = crate::no_tool_matches("{ $x } \u{202e}", Locale::ZhHans);
    assert_eq!(text, "这里没有与“`{ $x } \u{202e}`”有关的工具。发送 /tools 可以查看全部。");
}

#[test]
fn the_marks_of_repeats_and_buttons_are_the_known_ones_in_english() {
    assert_eq!(crate::maybe_repeated(Locale::En), contract::reply::DUPLICATE_MARK);
    let turn = TurnId::new();
    assert_eq!(crate::button(Action::TryAgain(turn), Locale::En), "Try again");
    assert_eq!(crate::button(Action::TryAgain(turn), Locale::ZhHans), "重试");
}

#[test]
fn every_line_has_its_text() {
    for locale in Locale::ALL {
        for line in crate::Line::ALL {
            assert!(crate::line(line, locale).contains([' ', '。', '：']), "{line:?}");
        }
    }
}
