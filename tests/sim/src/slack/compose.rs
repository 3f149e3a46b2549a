//! What a client makes of typed text: escapes, references, and the rich text beside it.

use serde_json::{Value, json};

use super::cast::{ChannelKind, handle};
use super::text::escape;
use super::world::World;

/// The text as messages carry it and the elements of its rich text.
pub fn compose(world: &World, typed: &str) -> (String, Vec<Value>) {
    let (mut text, mut elements, mut section) = (String::new(), Vec::new(), Vec::new());
    let mut rest = typed;
    while let Some((before, after)) = rest.split_once("```") {
        let Some((code, after)) = after.split_once("```") else { break };
        inline(world, before, &mut text, &mut section);
        if !section.is_empty() {
            elements.push(json!({"type": "rich_text_section", "elements": std::mem::take(&mut section)}));
        }
        text.push_str(&format!("```{}```", escape(code)));
        elements.push(
            json!({"type": "rich_text_preformatted", "elements": [{"type": "text", "text": code.trim_matches('\n')}]}),
        );
        rest = after;
    }
    inline(world, rest, &mut text, &mut section);
    if !section.is_empty() {
        elements.push(json!({"type": "rich_text_section", "elements": section}));
    }
    (text, elements)
}

fn inline(world: &World, typed: &str, text: &mut String, section: &mut Vec<Value>) {
    let mut plain = String::new();
    for (number, part) in typed.split('`').enumerate() {
        let code = number % 2 == 1 && number + 1 < typed.split('`').count();
        if code {
            flush(&mut plain, section);
            text.push_str(&format!("`{}`", escape(part)));
            section.push(json!({"type": "text", "text": part, "style": {"code": true}}));
            continue;
        }
        if number % 2 == 1 {
            text.push('`');
            plain.push('`');
        }
        words(world, part, text, &mut plain, section);
    }
    flush(&mut plain, section);
}

fn flush(plain: &mut String, section: &mut Vec<Value>) {
    if !plain.is_empty() {
        section.push(json!({"type": "text", "text": std::mem::take(plain)}));
    }
}

fn words(world: &World, part: &str, text: &mut String, plain: &mut String, section: &mut Vec<Value>) {
    for word in part.split_inclusive(char::is_whitespace) {
        let bare = word.trim_end();
        match reference(world, bare) {
            Some((wire, element, length)) => {
                flush(plain, section);
                section.push(element);
                text.push_str(&wire);
                text.push_str(&escape(&word[length..]));
                plain.push_str(&word[length..]);
            }
            None => {
                text.push_str(&escape(word));
                plain.push_str(word);
            }
        }
    }
}

/// What a word stands for: its form on the wire, its element, and how much of the word that is.
fn reference(world: &World, word: &str) -> Option<(String, Value, usize)> {
    if word.starts_with("https://") || word.starts_with("http://") {
        let url = word.trim_end_matches(['.', ',', ')', '!', '?', ';', ':']);
        return Some((format!("<{}>", escape(url)), json!({"type": "link", "url": url}), url.len()));
    }
    let mark = word.chars().next().filter(|c| matches!(c, '@' | '#'))?;
    let name = word[1..].trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_'));
    let length = 1 + name.len();
    if mark == '#' {
        let channel = world
            .channels
            .values()
            .find(|channel| channel.kind == ChannelKind::Channel && handle(&channel.title) == name)?;
        return Some((
            format!("<#{}|{name}>", channel.id),
            json!({"type": "channel", "channel_id": channel.id}),
            length,
        ));
    }
    if matches!(name, "channel" | "here" | "everyone") {
        return Some((format!("<!{name}>"), json!({"type": "broadcast", "range": name}), length));
    }
    let user = world.user_by_handle(name)?;
    Some((format!("<@{}>", user.id), json!({"type": "user", "user_id": user.id}), length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slack::Setup;

    #[test]
    fn typed_text_becomes_references_and_rich_text() {
        let world = World::new(Setup::default(), "http://127.0.0.1:1");
        let bot = world.apps[0].installs[0].bot_user.clone();
        for (typed, wire) in [
            ("@toolgate hi, a < b & c", format!("<@{bot}> hi, a &lt; b &amp; c")),
            ("see https://e.test/a?b=1&c=2.", "see <https://e.test/a?b=1&amp;c=2>.".to_owned()),
            ("`@toolgate <x>` and @here @nobody", "`@toolgate &lt;x&gt;` and <!here> @nobody".to_owned()),
            ("one ` tick", "one ` tick".to_owned()),
            ("```\nif a < b\n```", "```\nif a &lt; b\n```".to_owned()),
        ] {
            assert_eq!(compose(&world, typed).0, wire);
        }
        assert_eq!(
            compose(&world, "a `b` @toolgate").1[0]["elements"],
            json!([{"type": "text", "text": "a "},
            {"type": "text", "text": "b", "style": {"code": true}}, {"type": "text", "text": " "}, {"type": "user", "user_id": bot}])
        );
    }
}
