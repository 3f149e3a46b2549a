//! Every sentence that a failure of ours says in English is in the catalogue, so that it can be said in the reader's
//! language.

use contract::{Code, Failure, Locale, Notice};

use crate::files::sources;

/// Where failures are made that people in chat are told of.
const PLACES: [&str; 9] = [
    "core/contract/src/",
    "core/tools/src/",
    "core/endpoints/src/",
    "core/dispatch/src/",
    "core/models/src/",
    "platform-policies/src/verdict.rs",
    "adapters/discord/src/",
    "adapters/slack/src/",
    "adapters/telegram/src/",
];

/// Parts of them that speak to operators, of files that they wrote.
const OPERATORS: [&str; 7] = [
    "/spec/",
    "/registry/",
    "/pipeline/check.rs",
    "endpoints/src/http.rs",
    "endpoints/src/http/headers.rs",
    "endpoints/src/http/plan.rs",
    "endpoints/src/mcp/servers.rs",
];

/// What stands before a sentence.
const SAYS: [&str; 6] =
    ["Failure::new(", "Failure::input_refused(", "let say = ", "not_started(", "unreadable(\n", "unreadable(format!("];
const HINTS: [&str; 1] = [".hint("];

/// What stands before a signal, where signals are made.
const SIGNALS: [&str; 3] = ["signal(", "Ok(", "Signal("];
const SIGNAL_PLACES: [&str; 3] = ["dispatch/src/signals.rs", "dispatch/src/gate.rs", "dispatch/src/pairing.rs"];

/// Sentences whose end is put together elsewhere, as they are in the end.
const WHOLE: [(&str, &[&str]); 5] = [
    (
        "'{}' did not answer {}",
        &["'7' did not answer within 7 s", "'7' did not answer before the time for this request ran out"],
    ),
    (
        "'{}' had no free place {}; it was not started",
        &[
            "'7' had no free place within 500 ms; it was not started",
            "'7' had no free place before the time for this request ran out; it was not started",
        ],
    ),
    (
        "'{}' is asked too often{}",
        &["'7' is asked too often", "'7' is asked too often; it can be asked again in 7 min"],
    ),
    (
        "'{}' is not available at the moment ({}){}",
        &["'7' is not available at the moment (503)", "'7' is not available at the moment (503); try again in 7 h"],
    ),
    (
        "the arguments are not readable JSON at {}",
        &[
            "the arguments are not readable JSON at character 7",
            "the arguments are not readable JSON at line 7, character 7",
        ],
    ),
];

#[test]
fn every_sentence_of_a_failure_can_be_said_in_another_language() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for (file, text) in sources().into_iter().filter(|(file, _)| is_said_in_chat(file)) {
        let own = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (marks, is_hint) in [(&SAYS[..], false), (&HINTS[..], true)] {
            for literal in marks.iter().flat_map(|mark| literals(own, mark)) {
                seen += 1;
                let plain = without_names(&literal);
                let whole = WHOLE.iter().find(|(beginning, _)| *beginning == plain);
                let said = whole.map_or_else(|| vec![plain.replace("{}", "7")], |(_, all)| owned(all));
                let unknown = said.iter().filter(|sentence| !is_known(sentence, is_hint));
                wrong.extend(unknown.map(|sentence| format!("{file}: {sentence}")));
            }
        }
    }
    assert!(seen > 60, "only {seen} sentences were found");
    assert!(wrong.is_empty(), "not in core/words/locales/en/sentences.ftl:\n{}\n", wrong.join("\n"));
}

#[test]
fn every_signal_can_be_said_in_another_language() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for (file, text) in sources().into_iter().filter(|(f, _)| SIGNAL_PLACES.iter().any(|place| f.ends_with(place))) {
        let own = text.split("#[cfg(test)]").next().unwrap_or_default();
        for literal in SIGNALS.iter().flat_map(|mark| literals(own, mark)) {
            seen += 1;
            let said = without_names(&literal).replace("{} s", "7 s").replace("{}", "7");
            if words::signal(&said, Locale::ZhHans) == said {
                wrong.push(format!("{file}: {said}"));
            }
        }
    }
    assert!(seen > 8, "only {seen} signals were found");
    assert!(wrong.is_empty(), "not in core/words/locales/en/sentences.ftl:\n{}\n", wrong.join("\n"));
}

fn is_said_in_chat(file: &str) -> bool {
    let is_other = OPERATORS.iter().chain(&["testing.rs", "/tests"]).any(|part| file.contains(part));
    PLACES.iter().any(|place| file.starts_with(place)) && !is_other
}

fn owned(sentences: &[&str]) -> Vec<String> {
    sentences.iter().map(|s| (*s).to_owned()).collect()
}

fn is_known(sentence: &str, is_hint: bool) -> bool {
    let (say, hint) = if is_hint { ("", sentence) } else { (sentence, "") };
    let notice = Notice::of(&Failure::new(Code::Internal, say).hint(hint), None, None);
    let shown = words::notice(&notice, Locale::ZhHans);
    if is_hint { shown.hint != sentence } else { !shown.say.contains(sentence) }
}

/// The texts in quotes that stand directly behind a mark, within its statement's first arguments.
fn literals(source: &str, mark: &str) -> Vec<String> {
    source.split(mark).skip(1).filter_map(first_literal).collect()
}

/// The first text in quotes, when nothing but a code's name, `format!` and the like stands before it.
fn first_literal(rest: &str) -> Option<String> {
    let at = rest.find('"')?;
    let before = &rest[..at];
    let is_near =
        before.len() < 100 && !before.contains([';', '{', '=']) && !before.contains("fn ") && !before.contains(')');
    if !is_near {
        return None;
    }
    let mut literal = String::new();
    let mut chars = rest[at + 1..].chars();
    loop {
        match chars.next()? {
            '"' => return Some(literal),
            '\\' => literal.extend(chars.next()),
            c => literal.push(c),
        }
    }
}

/// `'{tool}' failed ({code})` as `'{}' failed ({})`.
fn without_names(literal: &str) -> String {
    let mut out = String::new();
    let mut rest = literal;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let brace = &rest[at..];
        rest = match brace.get(1..2) {
            Some(next) if brace.starts_with(next) => {
                out.push_str(next);
                &brace[2..]
            }
            _ => {
                out.push_str("{}");
                brace.split_once('}').map_or("", |(_, after)| after)
            }
        };
    }
    out + rest
}
