//! A conversation that every API takes: it begins with a person, speakers take turns, each call has exactly one result
//! behind it, and nothing is empty.

use std::{borrow::Cow, collections::HashSet};

use dispatch::model::{Answered, Image, Prompt, Said, Wish};
use serde_json::Value;

/// Most bytes of pictures in one request.
const MOST_OF_IMAGES: usize = 8 << 20;
/// What every one of the APIs can look at.
const SEEN: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

#[derive(Debug, PartialEq)]
pub(crate) enum Entry<'a> {
    Person {
        text: Cow<'a, str>,
        images: Vec<&'a Image>,
    },
    Model {
        text: Cow<'a, str>,
        calls: Vec<Called<'a>>,
        carried: Option<&'a Value>,
    },
    /// Of all calls of the entry before, in their order.
    Results(Vec<Returned<'a>>),
}

#[derive(Debug, PartialEq)]
pub(crate) struct Called<'a> {
    pub id: String,
    pub tool: &'a str,
    pub args: &'a Value,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Returned<'a> {
    pub id: String,
    pub tool: &'a str,
    pub content: Cow<'a, str>,
    pub failed: bool,
}

/// The tools of a prompt.
pub(crate) fn tools<'a>(prompt: &Prompt<'a>) -> &'a [Value] {
    prompt.tools.as_array().map_or(&[], Vec::as_slice)
}

/// The prompt's messages, put in order.
pub(crate) fn entries<'a>(prompt: &Prompt<'a>, sees_images: bool) -> Vec<Entry<'a>> {
    let mut history = History { entries: Vec::new(), calls: 0, flat: tools(prompt).is_empty() };
    let images = if sees_images { room_for_images(prompt.messages) } else { HashSet::new() };
    let mut rest = prompt.messages;
    while let Some((said, after)) = rest.split_first() {
        rest = after;
        match said {
            Said::Person { text, images: all } => {
                let seen: Vec<_> = all.iter().filter(|image| images.contains(&std::ptr::from_ref(*image))).collect();
                history.person(with_unseen(text, all.len() - seen.len(), sees_images), seen);
            }
            Said::Model(answered) => {
                let results = after.iter().take_while(|said| matches!(said, Said::Result { .. })).count();
                let (results, after) = after.split_at(results);
                rest = after;
                history.model(answered, results);
            }
            // A result without a call is poison to every API.
            Said::Result { tool, content, .. } => history.person(told(tool, None, content).into(), Vec::new()),
        }
    }
    history.close()
}

/// The newest pictures that fit.
fn room_for_images(messages: &[Said]) -> HashSet<*const Image> {
    let mut room = MOST_OF_IMAGES;
    let all = messages.iter().rev().filter_map(|said| match said {
        Said::Person { images, .. } => Some(images.iter().rev()),
        Said::Model(_) | Said::Result { .. } => None,
    });
    let fitting = all.flatten().filter(|image| {
        let fits = SEEN.contains(&image.media_type.as_str()) && !image.bytes.is_empty() && image.bytes.len() <= room;
        if fits {
            room -= image.bytes.len();
        }
        fits
    });
    fitting.map(std::ptr::from_ref).collect()
}

fn with_unseen(text: &str, unseen: usize, sees_images: bool) -> Cow<'_, str> {
    let why =
        if sees_images { "too large, or of a kind that cannot be looked at" } else { "this model cannot see pictures" };
    match unseen {
        0 => Cow::Borrowed(text),
        1 => Cow::Owned(format!("{text}\n[a picture came with this; {why}]").trim_start().to_owned()),
        many => Cow::Owned(format!("{text}\n[{many} pictures came with this; {why}]").trim_start().to_owned()),
    }
}

fn told(tool: &str, args: Option<&Value>, content: &str) -> String {
    match args {
        Some(args) => format!("[the tool {tool}, called with {args}, answered: {content}]"),
        None => format!("[the tool {tool} answered: {content}]"),
    }
}

struct History<'a> {
    entries: Vec<Entry<'a>>,
    calls: usize,
    /// Without tools to be called, calls and results are told as text: some APIs refuse them otherwise.
    flat: bool,
}

impl<'a> History<'a> {
    fn person(&mut self, text: Cow<'a, str>, images: Vec<&'a Image>) {
        if text.trim().is_empty() && images.is_empty() {
            return;
        }
        if let Some(Entry::Person { text: before, images: seen }) = self.entries.last_mut() {
            join(before, &text);
            seen.extend(images);
            return;
        }
        self.entries.push(Entry::Person { text, images });
    }

    fn model(&mut self, answered: &'a Answered, results: &'a [Said]) {
        let results = paired(&answered.calls, results);
        let calls = if self.flat { &[] } else { answered.calls.as_slice() };
        if !answered.text.trim().is_empty() || !calls.is_empty() {
            self.speaks(answered, calls);
        }
        let first = self.calls - calls.len();
        let (mut returned, mut loose) = (Vec::new(), Vec::new());
        for (wish, tool, content, failed) in results {
            match wish {
                Some((n, _)) if !self.flat => {
                    returned.push(Returned { id: wire_id(first + n), tool, content: not_empty(content), failed });
                }
                wish => loose.push(told(tool, wish.map(|(_, wish)| &wish.args), &content)),
            }
        }
        if !returned.is_empty() {
            self.entries.push(Entry::Results(returned));
        }
        for text in loose {
            self.person(text.into(), Vec::new());
        }
    }

    fn speaks(&mut self, answered: &'a Answered, calls: &'a [Wish]) {
        let first = self.calls;
        self.calls += calls.len();
        let called = calls.iter().enumerate();
        let mut called: Vec<_> =
            called.map(|(n, wish)| Called { id: wire_id(first + n), tool: &wish.tool, args: &wish.args }).collect();
        if self.entries.is_empty() {
            self.entries.push(Entry::Person { text: "[the conversation goes on]".into(), images: Vec::new() });
        }
        if let Some(Entry::Model { text, calls, carried }) = self.entries.last_mut()
            && calls.is_empty()
        {
            join(text, &answered.text);
            calls.append(&mut called);
            *carried = answered.carried.as_ref();
            return;
        }
        let text = Cow::Borrowed(answered.text.as_str());
        self.entries.push(Entry::Model { text, calls: called, carried: answered.carried.as_ref() });
    }

    fn close(mut self) -> Vec<Entry<'a>> {
        match self.entries.last() {
            None => self.person("[nothing was said]".into(), Vec::new()),
            // An API would take it for the beginning of the answer, or refuse it.
            Some(Entry::Model { .. }) => self.person("[go on]".into(), Vec::new()),
            Some(Entry::Person { .. } | Entry::Results(_)) => {}
        }
        self.entries
    }
}

type Paired<'a> = (Option<(usize, &'a Wish)>, &'a str, Cow<'a, str>, bool);

/// For each wish, in order, its result, or that there is none; then results that nobody wished for.
fn paired<'a>(wishes: &'a [Wish], results: &'a [Said]) -> Vec<Paired<'a>> {
    let mut left: Vec<Option<(&str, &str, &str, bool)>> = results
        .iter()
        .map(|said| match said {
            Said::Result { call, tool, content, failed } => {
                Some((call.as_str(), tool.as_str(), content.as_str(), *failed))
            }
            Said::Person { .. } | Said::Model(_) => None,
        })
        .collect();
    let mut out: Vec<Paired<'a>> = Vec::with_capacity(wishes.len());
    for (n, wish) in wishes.iter().enumerate() {
        let own =
            left.iter_mut().find(|result| result.is_some_and(|(call, ..)| call == wish.id)).and_then(Option::take);
        out.push(match own {
            Some((_, _, content, failed)) => (Some((n, wish)), &wish.tool, content.into(), failed),
            None => (Some((n, wish)), &wish.tool, "[no result was recorded]".into(), true),
        });
    }
    out.extend(left.into_iter().flatten().map(|(_, tool, content, failed)| (None, tool, content.into(), failed)));
    out
}

fn not_empty(content: Cow<'_, str>) -> Cow<'_, str> {
    if content.trim().is_empty() { "[empty]".into() } else { content }
}

fn join(before: &mut Cow<'_, str>, after: &str) {
    if after.trim().is_empty() {
        return;
    }
    let before = before.to_mut();
    if !before.is_empty() {
        before.push_str("\n\n");
    }
    before.push_str(after);
}

/// Ids on the wire are a call's place in the conversation: each once, and nine letters and digits, which is the one form
/// that every server takes. Ours are of a turn only.
fn wire_id(n: usize) -> String {
    format!("call{:05}", (n + 1) % 100_000)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;
    use tokio::time::Instant;

    use super::*;

    fn person(text: &str) -> Said {
        Said::Person { text: text.into(), images: Vec::new() }
    }

    fn model(text: &str, calls: &[&str]) -> Said {
        let wish = |id: &&str| Wish { id: (*id).into(), tool: "weather".into(), args: json!({ "city": id }) };
        Said::Model(Answered { text: text.into(), calls: calls.iter().map(wish).collect(), carried: None })
    }

    fn result(call: &str, content: &str) -> Said {
        Said::Result { call: call.into(), tool: "weather".into(), content: content.into(), failed: false }
    }

    fn check(messages: &[Said], tools: &Value, expected: Expect) {
        let prompt = Prompt { system: "", tools, messages, deadline: Instant::now() };
        let line = |entry: &Entry<'_>| match entry {
            Entry::Person { text, images } => format!("person {text:?} {}\n", images.len()),
            Entry::Model { text, calls, .. } => {
                format!("model {text:?} {}\n", calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>().join(" "))
            }
            Entry::Results(all) => {
                let each = all.iter().map(|r| format!("{}={:?}", r.id, r.content));
                format!("results {}\n", each.collect::<Vec<_>>().join(" "))
            }
        };
        expected.assert_eq(&entries(&prompt, false).iter().map(line).collect::<String>());
    }

    fn offered() -> Value {
        json!([{ "name": "weather", "description": "", "parameters": {} }])
    }

    #[test]
    fn results_stand_behind_their_calls_in_order_each_once() {
        let messages = [
            person("hi"),
            model("", &["call_1_1", "call_1_2"]),
            result("call_1_2", "rain"),
            result("call_1_1", ""),
            result("call_9_9", "stray"),
            model("Sunny.", &[]),
            person("again"),
            model("", &["call_1_1"]),
            person("hello?"),
        ];
        check(
            &messages,
            &offered(),
            expect![[r#"
            person "hi" 0
            model "" call00001 call00002
            results call00001="[empty]" call00002="rain"
            person "[the tool weather answered: stray]" 0
            model "Sunny." 
            person "again" 0
            model "" call00003
            results call00003="[no result was recorded]"
            person "hello?" 0
        "#]],
        );
    }

    #[test]
    fn it_begins_and_ends_with_a_person_and_speakers_take_turns() {
        let messages = [
            result("x", "lost"),
            model("a", &[]),
            model("b", &[]),
            person("c"),
            person(""),
            person("d"),
            model("e", &[]),
        ];
        check(
            &messages,
            &offered(),
            expect![[r#"
            person "[the tool weather answered: lost]" 0
            model "a\n\nb" 
            person "c\n\nd" 0
            model "e" 
            person "[go on]" 0
        "#]],
        );
        check(
            &[model("a", &[])],
            &offered(),
            expect![[r#"
            person "[the conversation goes on]" 0
            model "a" 
            person "[go on]" 0
        "#]],
        );
        check(
            &[],
            &offered(),
            expect![[r#"
            person "[nothing was said]" 0
        "#]],
        );
    }

    #[test]
    fn without_tools_calls_and_results_are_told_as_text() {
        let messages = [person("hi"), model("I look.", &["call_1_1"]), result("call_1_1", "rain"), person("and?")];
        check(
            &messages,
            &json!([]),
            expect![[r#"
            person "hi" 0
            model "I look." 
            person "[the tool weather, called with {\"city\":\"call_1_1\"}, answered: rain]\n\nand?" 0
        "#]],
        );
    }

    #[test]
    fn pictures_that_cannot_be_seen_are_told() {
        let image = |kind: &str, size: usize| Image { media_type: kind.into(), bytes: vec![0; size].into() };
        let messages =
            [Said::Person { text: "look".into(), images: vec![image("image/png", 4), image("image/tiff", 4)] }];
        check(
            &messages,
            &offered(),
            expect![[r#"
            person "look\n[2 pictures came with this; this model cannot see pictures]" 0
        "#]],
        );
        let large = [Said::Person {
            text: String::new(),
            images: vec![image("image/png", MOST_OF_IMAGES), image("image/png", 9)],
        }];
        for (messages, text) in [(&messages[..], "look\n[a picture"), (&large[..], "[a picture")] {
            let prompt = Prompt { system: "", tools: &Value::Null, messages, deadline: Instant::now() };
            let entries = entries(&prompt, true);
            assert!(
                matches!(&entries[..], [Entry::Person { text: said, images }] if said.starts_with(text) && images.len() == 1)
            );
        }
    }
}
