//! Replies of bytes: one byte of settings, then parts between NUL characters, each behind a letter for its kind.

use std::time::Duration;

use contract::{
    Action, Audience, Button, Code, Content, Failure, FileRef, Locale, Notice, Opaque, Problem, Reply, TurnId,
};

/// More parts than a reply has.
const MOST_PARTS: usize = 12;

/// A reply and what it may be held to.
pub struct Case {
    pub reply: Reply,
    /// Nothing in it is cut, left out or said in other words.
    pub is_whole: bool,
}

pub fn of(data: &[u8]) -> Case {
    let (settings, rest) = data.split_first().map_or((0, data), |(first, rest)| (*first, rest));
    let text = String::from_utf8_lossy(rest);
    let content: Vec<Content> = text.split('\0').take(MOST_PARTS).filter_map(part).collect();
    let most = u32::from(settings >> 3 & 0b11);
    let is_whole = most == 0 && content.iter().all(|part| matches!(part, Content::Text(_) | Content::Plain(_)));
    let reply = Reply {
        locale: if settings & 1 == 0 { Locale::En } else { Locale::ZhHans },
        maybe_repeated: settings & 2 != 0,
        reference: (settings & 4 != 0).then(turn),
        most_messages: (most > 0).then_some(most),
        audience: if settings & 32 == 0 { Audience::Everyone } else { Audience::Sender },
        buttons: (settings & 64 != 0)
            .then(|| Button { label: "Details".into(), action: Action::Details(turn()) })
            .into_iter()
            .collect(),
        content,
        ..Reply::default()
    };
    Case { reply, is_whole }
}

fn turn() -> TurnId {
    "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().expect("it is one")
}

/// Markdown, unless a letter and a colon say otherwise.
fn part(text: &str) -> Option<Content> {
    let (kind, rest) = text.split_once(':').filter(|(kind, _)| kind.len() == 1).unwrap_or(("", text));
    Some(match kind {
        "P" => Content::Plain(rest.to_owned()),
        "C" => {
            let (language, text) = rest.split_once('\n').unwrap_or(("", rest));
            Content::Code { language: language.to_owned(), text: text.to_owned() }
        }
        "N" => Content::Notice(notice(rest)),
        "A" => Content::Attachment {
            name: rest.to_owned(),
            media_type: "text/plain".into(),
            bytes: rest.as_bytes().to_vec(),
        },
        "F" => {
            let handle = Opaque::new(rest)?;
            Content::File(FileRef { name: rest.to_owned(), media_type: None, size: None, handle })
        }
        "T" => Content::Text(rest.to_owned()),
        _ => Content::Text(text.to_owned()),
    })
}

/// Every text in it is this one; its length chooses the rest.
fn notice(text: &str) -> Notice {
    let problem = Problem { path: text.into(), expected: text.into(), got: Some(text.into()), hint: Some(text.into()) };
    let code = Code::ALL[text.len() % Code::ALL.len()];
    let mut notice = Notice::of(&Failure::new(code, text), Some(text), Some(turn()));
    notice.problems = vec![problem; text.len() % 40];
    notice.usage = (!text.len().is_multiple_of(3)).then(|| text.to_owned());
    notice.hint = text.to_owned();
    notice.retry_after = text.len().is_multiple_of(2).then(|| Duration::from_secs(text.len() as u64));
    notice
}
