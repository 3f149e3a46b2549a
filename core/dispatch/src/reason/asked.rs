//! The message of a turn as the model reads it: the person's own words, and around them what others wrote, marked.

use std::time::Duration;

use contract::{FileRef, Message, Quote, stream::capped, text::one_line};
use futures_util::StreamExt;

use crate::{
    model::{About, Image, Said},
    planner::TurnView,
    untrusted::quoted,
};

/// A picture that is larger is not shown to a model.
const PICTURE_MAX: u64 = 5 << 20;
/// Most pictures of a message that are.
const PICTURES_MAX: usize = 4;
/// How long a platform may take to hand out a file.
const OPEN_DEADLINE: Duration = Duration::from_secs(15);
/// Most characters of a quoted message.
const QUOTE_MAX: usize = 4_000;
/// Most files that are named.
const FILES_MAX: usize = 20;
/// What models take as pictures.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// What was said, its pictures where the model sees; before it what is known from earlier.
pub(super) async fn said(turn: &TurnView<'_>, message: &Message, about: &About, known: String) -> Said {
    let mut text = known;
    text.push_str(message.text());
    if !message.address.direct {
        let name = one_line(&message.sender.name, 64);
        let id = one_line(&message.sender.id, 64);
        text.push_str(&format!("\n\n(Said by {}, {}.)", quoted("sender", &name), quoted("id", &id)));
    }
    if let Some(quote) = &message.quote {
        text.push_str(&answered(quote));
    }
    let mut images = Vec::new();
    let all = turn.cx.files();
    for file in message.files.iter().take(FILES_MAX) {
        let what = match picture(turn, about, file, images.len()).await {
            Seen::Shown(image) => {
                images.push(image);
                "a picture, shown to you"
            }
            Seen::Unseen => "a picture that you cannot see",
            Seen::Large => "a picture that is too large for you to see",
            Seen::Gone => "a picture that could not be fetched",
            Seen::NoPicture => "a file that you cannot read",
        };
        // Of two files with one name a tool is told which by its number.
        let is_shared = all.iter().filter(|other| other.name == file.name).count() > 1;
        let at = all.iter().position(|other| other == file).filter(|_| is_shared);
        let number = at.map(|at| format!(", as #{}", at + 1)).unwrap_or_default();
        let name = quoted("file name", &one_line(&file.name, tools::files::NAME_MAX));
        text.push_str(&format!("\n\n(With it came {what}{number}: {name})"));
    }
    if message.files.len() > FILES_MAX {
        text.push_str(&format!("\n\n(And {} more files, not named here.)", message.files.len() - FILES_MAX));
    }
    Said::Person { text: text.trim_start().to_owned(), images }
}

fn answered(quote: &Quote) -> String {
    let by = match &quote.author {
        Some(author) => format!(" by {}", quoted("author", &one_line(&author.name, 64))),
        None => String::new(),
    };
    let text = contract::text::cut(&quote.text, QUOTE_MAX);
    format!("\n\n(It answers this message{by}: {})", quoted("quote", &text))
}

/// Whether the model is shown a file.
enum Seen {
    Shown(Image),
    Unseen,
    Large,
    Gone,
    NoPicture,
}

async fn picture(turn: &TurnView<'_>, about: &About, file: &FileRef, shown: usize) -> Seen {
    let Some(media_type) = file.media_type.as_deref().filter(|kind| kind.starts_with("image/")) else {
        return Seen::NoPicture;
    };
    let Some(media_type) = PICTURES.iter().find(|known| **known == media_type) else { return Seen::Unseen };
    if !about.sees_images || shown >= PICTURES_MAX {
        return Seen::Unseen;
    }
    if file.size.is_some_and(|size| size > PICTURE_MAX) {
        return Seen::Large;
    }
    match tokio::time::timeout(OPEN_DEADLINE, bytes(turn, file)).await {
        Ok(Some(bytes)) => Seen::Shown(Image { media_type: (*media_type).to_owned(), bytes: bytes.into() }),
        Ok(None) | Err(_) => Seen::Gone,
    }
}

async fn bytes(turn: &TurnView<'_>, file: &FileRef) -> Option<Vec<u8>> {
    let source = turn.cx.inner.source(&turn.record.message.address)?;
    let mut stream = capped(source.open(file).await.ok()?, PICTURE_MAX);
    let mut bytes = Vec::new();
    while let Some(chunk) = stream.next().await {
        bytes.extend_from_slice(&chunk.ok()?);
    }
    (!bytes.is_empty()).then_some(bytes)
}
