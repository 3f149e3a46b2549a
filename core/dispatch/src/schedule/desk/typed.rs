//! What is typed behind `/schedule`, taken apart. Pure.

use contract::Address;

/// What somebody wishes of their schedules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wish {
    List,
    Add(Box<Added>),
    Change(Verb, String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Pause,
    Resume,
    Remove,
    Run,
}

/// As it was typed; what nobody said is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Added {
    pub when: String,
    pub zone: Option<String>,
    pub to: Option<String>,
    pub name: Option<String>,
    pub missed: Option<String>,
    pub say: String,
}

/// `add` may be left out: what is no other word is a new schedule.
pub(super) fn read(rest: &str) -> Wish {
    let rest = rest.trim();
    let (first, behind) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let verb = match first.to_lowercase().as_str() {
        "" | "list" | "show" => return Wish::List,
        "add" | "new" => return Wish::Add(Box::new(added(behind))),
        "pause" | "stop" => Verb::Pause,
        "resume" | "continue" => Verb::Resume,
        "remove" | "delete" => Verb::Remove,
        "run" => Verb::Run,
        _ => return Wish::Add(Box::new(added(rest))),
    };
    Wish::Change(verb, behind.trim().to_owned())
}

fn added(text: &str) -> Added {
    let (head, say) = divided(text);
    let mut added = Added { say: unquoted(say.trim()), ..Added::default() };
    if let Some((say, to)) = added.say.rsplit_once(" to ").filter(|(_, to)| Address::named(to.trim()).is_some()) {
        (added.to, added.say) = (Some(to.trim().to_owned()), say.trim().to_owned());
    }
    let mut when: Vec<String> = Vec::new();
    let mut words = words(head).into_iter().peekable();
    while let Some(word) = words.next() {
        let field = match word.to_lowercase().as_str() {
            "zone" => &mut added.zone,
            "to" => &mut added.to,
            "name" | "called" => &mut added.name,
            "missed" => &mut added.missed,
            _ => {
                when.push(word);
                continue;
            }
        };
        *field = words.next();
    }
    added.when = when.join(" ").trim_end_matches([':', '：']).to_owned();
    added
}

/// Before and behind the word `say`, or before a command.
fn divided(text: &str) -> (&str, &str) {
    let (mut quoted, mut begins) = (false, true);
    for (at, c) in text.char_indices() {
        let rest = &text[at..];
        if begins && !quoted {
            let behind = ["say", "说"].into_iter().find_map(|word| {
                let behind = rest.get(..word.len()).filter(|head| head.eq_ignore_ascii_case(word))?;
                let behind = &rest[behind.len()..];
                behind.starts_with([' ', '\n', '\t', ':', '：']).then(|| behind.trim_start_matches([':', '：']))
            });
            if let Some(behind) = behind {
                return (&text[..at], behind);
            }
            if rest.starts_with('/') && rest[1..].starts_with(|c: char| c.is_ascii_alphabetic()) {
                return (&text[..at], rest);
            }
        }
        if matches!(c, '"' | '“' | '”') {
            quoted = !quoted;
        }
        begins = c.is_whitespace();
    }
    (text, "")
}

/// Words; what stands in quotes is one.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted, mut is_word) = (Vec::new(), String::new(), false, false);
    for c in text.chars() {
        match c {
            '"' | '“' | '”' => (quoted, is_word) = (!quoted, true),
            c if c.is_whitespace() && !quoted => {
                if is_word {
                    words.push(std::mem::take(&mut word));
                }
                is_word = false;
            }
            c => {
                word.push(c);
                is_word = true;
            }
        }
    }
    words.extend(is_word.then_some(word));
    words
}

fn unquoted(text: &str) -> String {
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    match inner.filter(|inner| !inner.is_empty()) {
        Some(inner) => inner.replace("\\\"", "\""),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn add(text: &str) -> Added {
        match read(text) {
            Wish::Add(added) => *added,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_schedule_is_read_in_any_order_of_its_parts() {
        let expected = Added {
            when: "0 8 * * 1-5".into(),
            zone: Some("Europe/Berlin".into()),
            to: Some("slack:main/C1".into()),
            name: Some("the morning".into()),
            missed: Some("skip".into()),
            say: "/daily_digest city=Oslo".into(),
        };
        for text in [
            "add \"0 8 * * 1-5\" zone Europe/Berlin to slack:main/C1 name \"the morning\" missed skip say /daily_digest city=Oslo",
            "add name \"the morning\" 0 8 * * 1-5 missed skip zone Europe/Berlin say /daily_digest city=Oslo to slack:main/C1",
            "0 8 * * 1-5 to slack:main/C1 zone Europe/Berlin called “the morning” missed skip: /daily_digest city=Oslo",
        ] {
            let read = add(text);
            let missed = read.missed.as_deref().map(|word| word.trim_end_matches(':').to_owned());
            assert_eq!(Added { missed, ..read }, expected, "{text}");
        }
    }

    #[test]
    fn what_is_said_stays_as_it_is() {
        assert_eq!(
            add("every day at 8:00 say tell me to say hello to the team").say,
            "tell me to say hello to the team"
        );
        assert_eq!(add("every day at 8:00: /weather \"New York\"").say, "/weather \"New York\"");
        assert_eq!(add("every day at 8:00: /weather Oslo").when, "every day at 8:00");
        assert_eq!(add("add 每天 8:00 说：今天有什么订单").say, "今天有什么订单");
        assert_eq!(add("hourly say \"/a 1\n/b 2\"").say, "/a 1\n/b 2");
        assert_eq!(add("add every day at 8:00").say, "");
    }

    #[test]
    fn other_words_change_one() {
        assert_eq!(read(""), Wish::List);
        assert_eq!(read(" list "), Wish::List);
        assert_eq!(read("Pause ab12cd34"), Wish::Change(Verb::Pause, "ab12cd34".into()));
        assert_eq!(read("run the morning"), Wish::Change(Verb::Run, "the morning".into()));
        assert_eq!(read("remove"), Wish::Change(Verb::Remove, String::new()));
    }

    proptest! {
        #[test]
        fn whatever_is_typed_is_read(text in "(add|say|to|zone|\"|“|/a| |说|：|\n|é|telegram:main/1){0,12}") {
            read(&text);
        }
    }
}
