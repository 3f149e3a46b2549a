//! A failure as an embed: the layer in words and by colour, the sentence, details, what to do next, code and reference.

use contract::{Content, Layer, Notice, Part, Reply};
use document::{Doc, Piece, plain, units};
use serde::Serialize;

use super::{MOST_TEXT, markdown};

/// Most embeds of a message.
const MOST_EMBEDS: usize = 10;
/// Most UTF-16 units of an embed's description.
const MOST_DESCRIPTION: usize = 4_096;
/// Most UTF-16 units of all embeds of a message.
const MOST_TOTAL: usize = 6_000;
/// Most UTF-16 units of a title.
const MOST_TITLE: usize = 256;

/// As Discord reads it.
#[derive(Debug, Serialize)]
pub(super) struct Embed {
    title: String,
    description: String,
    color: u32,
    footer: Footer,
}

#[derive(Debug, Serialize)]
struct Footer {
    text: String,
}

impl Embed {
    fn of(notice: &Notice, reply: &Reply) -> Self {
        let shown = words::notice(notice, reply.locale);
        let code = notice.code.as_str();
        let mut description = markdown::escape(&shown.say);
        // The code stands below.
        for detail in shown.details.iter().filter(|detail| !detail.ends_with(code)) {
            description.push_str("\n> ");
            description.push_str(&markdown::escape(detail));
        }
        if !shown.hint.is_empty() {
            description.push_str("\n→ ");
            description.push_str(&markdown::escape(&shown.hint));
        }
        let reference =
            notice.reference.or(reply.reference).map(|turn| format!("{} {turn}", words::reference(reply.locale)));
        let footer: Vec<String> = notice.tool.iter().cloned().chain([code.to_owned()]).chain(reference).collect();
        let title = format!("{} {}", shown.mark, shown.heading);
        Self { title, description, color: color(notice.layer), footer: Footer { text: footer.join(" · ") } }
    }

    fn units(&self) -> usize {
        units(&self.title) + units(&self.description) + units(&self.footer.text)
    }
}

/// The layer is said in words; the colour only repeats it.
fn color(layer: Layer) -> u32 {
    match layer {
        Layer::Validation => 0x00F0_B232,
        Layer::Permission => 0x0080_848E,
        Layer::Execution => 0x00E6_7E22,
        Layer::Fatal => 0x00DA_373C,
    }
}

/// The message of a reply that consists of notices, when they fit: else they are text like any other.
pub(super) fn part(reply: &Reply, doc: &Doc) -> Option<Part> {
    let notices: Option<Vec<&Notice>> = reply
        .content
        .iter()
        .map(|content| match content {
            Content::Notice(notice) => Some(notice),
            Content::Text(_) | Content::Plain(_) | Content::Code { .. } => None,
            Content::File(_) | Content::Attachment { .. } => None,
        })
        .collect();
    let notices = notices.filter(|notices| (1..=MOST_EMBEDS).contains(&notices.len()))?;
    let embeds: Vec<Embed> = notices.into_iter().map(|notice| Embed::of(notice, reply)).collect();
    let fits = |embed: &Embed| units(&embed.description) <= MOST_DESCRIPTION && units(&embed.title) <= MOST_TITLE;
    let plain = plain::of(Piece::whole(doc), MOST_TEXT);
    let total: usize = embeds.iter().map(Embed::units).sum();
    if !embeds.iter().all(fits) || total > MOST_TOTAL || units(&plain) > MOST_TEXT {
        return None;
    }
    let content = if reply.maybe_repeated { words::maybe_repeated(reply.locale) } else { String::new() };
    let body = super::body(&markdown::escape(&content), &embeds, reply.pings);
    Some(document::parts::part(body, plain))
}
