//! What is asked at `/v1/chat/completions`, as a message with what was before it. Pure.

use base64::{Engine, engine::general_purpose::STANDARD};
use contract::{Before, Exchange};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    body,
    pictures::{PICTURE_MAX, Picture},
    problem::Problem,
};

/// Most messages of a request.
const MESSAGES_MAX: usize = 1_000;
/// Most pictures of a message.
const PICTURES_MAX: usize = 4;

/// A request, as far as it is read: members that are not known mean nothing.
#[derive(Deserialize)]
pub struct Request {
    messages: Vec<Entry>,
    pub stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    /// A person behind the client.
    pub user: Option<String>,
    tools: Option<Value>,
    functions: Option<Value>,
    n: Option<u64>,
}

#[derive(Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
}

#[derive(Deserialize)]
struct Entry {
    role: String,
    content: Option<Content>,
    tool_calls: Option<Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    image_url: Option<ImageUrl>,
}

#[derive(Deserialize)]
struct ImageUrl {
    url: String,
}

/// What is to be answered.
pub struct Asked {
    pub text: String,
    pub pictures: Vec<Picture>,
    pub before: Before,
}

impl Request {
    pub fn wants_usage(&self) -> bool {
        self.stream_options.as_ref().is_some_and(|options| options.include_usage == Some(true))
    }

    /// The last message, and those before it.
    pub fn asked(self) -> Result<Asked, Problem> {
        self.refuse()?;
        let mut messages = self.messages;
        let Some(last) = messages.pop().filter(|last| last.role == "user") else {
            return Err(Problem::invalid("messages", "a user's message as the last one", None));
        };
        let at = format!("messages[{}]", messages.len());
        let (text, pictures) = last.read(&at, true)?;
        if text.trim().is_empty() && pictures.is_empty() {
            return Err(Problem::invalid(&format!("{at}.content"), "what is to be said", None));
        }
        let before = before(messages)?;
        let told: usize = before.exchanges.iter().map(|exchange| exchange.asked.len() + exchange.answered.len()).sum();
        if told + before.wishes.len() + text.len() > body::BODY_MAX {
            return Err(Problem::invalid("messages", "at most 1 MiB of text", None));
        }
        Ok(Asked { text, pictures, before })
    }

    fn refuse(&self) -> Result<(), Problem> {
        for (name, tools) in [("tools", &self.tools), ("functions", &self.functions)] {
            let is_empty =
                tools.as_ref().is_none_or(|tools| tools.is_null() || tools.as_array().is_some_and(Vec::is_empty));
            if !is_empty {
                let expected = "none: the gateway uses its own tools, and runs them itself; leave this member out";
                return Err(Problem::invalid(name, expected, None));
            }
        }
        if self.n.is_some_and(|n| n != 1) {
            return Err(Problem::invalid("n", "1", None));
        }
        match self.messages.len() {
            1..=MESSAGES_MAX => Ok(()),
            _ => Err(Problem::invalid("messages", "1 to 1000 messages", None)),
        }
    }
}

/// Who said something, and what.
fn before(messages: Vec<Entry>) -> Result<Before, Problem> {
    let mut before = Before::default();
    for (n, message) in messages.into_iter().enumerate() {
        let at = format!("messages[{n}]");
        let role = message.role.clone();
        if role == "tool" || role == "function" || message.tool_calls.as_ref().is_some_and(|calls| !calls.is_null()) {
            let expected = "no calls and no results of tools: the gateway uses its own";
            return Err(Problem::invalid(&at, expected, Some(&role)));
        }
        let (text, _) = message.read(&at, false)?;
        match role.as_str() {
            "system" | "developer" => push(&mut before.wishes, &text),
            "user" => match before.exchanges.last_mut() {
                // Said in several messages before it was answered.
                Some(last) if last.answered.is_empty() => push(&mut last.asked, &text),
                _ => before.exchanges.push(Exchange { asked: text, answered: String::new() }),
            },
            "assistant" => match before.exchanges.last_mut() {
                Some(last) => push(&mut last.answered, &text),
                None => before.exchanges.push(Exchange { asked: String::new(), answered: text }),
            },
            _ => {
                let expected = "system, developer, user or assistant";
                return Err(Problem::invalid(&format!("{at}.role"), expected, Some(&role)));
            }
        }
    }
    Ok(before)
}

fn push(to: &mut String, text: &str) {
    if !to.is_empty() && !text.is_empty() {
        to.push_str("\n\n");
    }
    to.push_str(text);
}

impl Entry {
    /// Its text; its pictures where they are wanted.
    fn read(self, at: &str, wants_pictures: bool) -> Result<(String, Vec<Picture>), Problem> {
        let (mut text, mut pictures) = (String::new(), Vec::new());
        let parts = match self.content {
            None => Vec::new(),
            Some(Content::Text(text)) => return Ok((text, pictures)),
            Some(Content::Parts(parts)) => parts,
        };
        for (n, part) in parts.into_iter().enumerate() {
            let at = format!("{at}.content[{n}]");
            match (part.kind.as_str(), part.text, part.image_url) {
                ("text" | "input_text", Some(said), _) => push(&mut text, &said),
                ("refusal", ..) => {}
                ("image_url", _, Some(_)) if !wants_pictures => push(&mut text, "(a picture that is not shown again)"),
                ("image_url", _, Some(image)) => pictures.push(picture(&at, &image.url)?),
                (kind, ..) => return Err(Problem::invalid(&at, "a part of type text or image_url", Some(kind))),
            }
        }
        if pictures.len() > PICTURES_MAX {
            return Err(Problem::invalid(&format!("{at}.content"), "at most 4 pictures", None));
        }
        Ok((text, pictures))
    }
}

/// The picture in a `data:` URL. Other addresses are not fetched: the gateway would reach what the client cannot.
fn picture(at: &str, url: &str) -> Result<Picture, Problem> {
    let path = format!("{at}.image_url.url");
    let wrong = |expected| Problem::invalid(&path, expected, Some(url));
    let data = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    let (media_type, encoded) =
        data.ok_or_else(|| wrong("a URL like data:image/png;base64,…: no address is fetched"))?;
    if !matches!(media_type, "image/png" | "image/jpeg" | "image/gif" | "image/webp") {
        return Err(wrong("a picture of type png, jpeg, gif or webp"));
    }
    if encoded.len() / 4 * 3 > PICTURE_MAX + 3 {
        return Err(wrong("a picture of at most 5 MiB"));
    }
    let bytes = STANDARD.decode(encoded).map_err(|_| wrong("base64 of a picture"))?;
    match bytes.len() {
        1..=PICTURE_MAX => Ok(Picture { media_type: media_type.to_owned(), bytes: bytes.into() }),
        _ => Err(wrong("a picture of at most 5 MiB")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(body: Value) -> Result<Asked, String> {
        let request: Request = serde_json::from_value(body).map_err(|error| error.to_string())?;
        request.asked().map_err(|problem| problem.openai_body().to_string())
    }

    fn said(role: &str, content: &str) -> Value {
        json!({ "role": role, "content": content })
    }

    #[test]
    fn the_last_message_is_asked_and_the_others_are_what_was_before() {
        let messages = json!([
            said("system", "Be brief."),
            said("user", "a"),
            said("user", "b"),
            said("assistant", "c"),
            said("user", "d"),
            said("developer", "In verse."),
            said("user", "e"),
        ]);
        let asked = asked(json!({ "messages": messages, "temperature": 0.3, "model": "any" })).unwrap();
        assert_eq!((asked.text.as_str(), asked.before.wishes.as_str()), ("e", "Be brief.\n\nIn verse."));
        let exchanges: Vec<_> = asked.before.exchanges.iter().map(|e| (&*e.asked, &*e.answered)).collect();
        assert_eq!(exchanges, [("a\n\nb", "c"), ("d", "")]);
    }

    #[test]
    fn a_picture_comes_in_the_request_and_never_from_an_address() {
        let with = |url: &str| {
            let image = json!({ "type": "image_url", "image_url": { "url": url, "detail": "low" } });
            asked(json!({ "messages": [{ "role": "user", "content": [{ "type": "text", "text": "what?" }, image] }] }))
        };
        let seen = with("data:image/png;base64,AAEC").unwrap();
        assert_eq!((seen.text.as_str(), &seen.pictures[0].bytes[..]), ("what?", &[0, 1, 2][..]));
        for wrong in [
            "https://internal.test/a.png",
            "file:///etc/passwd",
            "data:text/html;base64,AAEC",
            "data:image/png;base64,?",
        ] {
            assert!(with(wrong).is_err(), "{wrong}");
        }
        let large = format!("data:image/png;base64,{}", "A".repeat(PICTURE_MAX / 3 * 4 + 8));
        assert!(with(&large).is_err_and(|error| error.contains("5 MiB")));
    }

    #[test]
    fn tools_of_the_client_and_what_cannot_be_answered_are_refused() {
        let hi = || json!([said("user", "hi")]);
        for (body, path) in [
            (json!({ "messages": hi(), "tools": [{ "type": "function" }] }), "tools"),
            (json!({ "messages": hi(), "functions": [{}] }), "functions"),
            (json!({ "messages": hi(), "n": 2 }), "n"),
            (json!({ "messages": [] }), "messages"),
            (json!({ "messages": [said("assistant", "hi")] }), "messages"),
            (json!({ "messages": [said("tool", "1"), said("user", "hi")] }), "messages[0]"),
            (json!({ "messages": [said("oracle", "1"), said("user", "hi")] }), "messages[0].role"),
            (json!({ "messages": [said("user", " ")] }), "messages[0].content"),
            (
                json!({ "messages": [said("user", &"x".repeat(600_000)), said("user", &"x".repeat(600_000))] }),
                "messages",
            ),
        ] {
            let error = asked(body).err().unwrap();
            assert!(error.contains(&format!(r#""param":"{path}""#)), "{error}");
        }
        assert!(asked(json!({ "messages": hi(), "tools": [], "functions": null })).is_ok());
    }
}
