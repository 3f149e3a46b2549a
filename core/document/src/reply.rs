//! A whole reply as a document, and as the text it was written as.

use contract::{Content, FileRef, Reply};

use crate::{
    build::Builder,
    cut::Piece,
    doc::{BlockKind, Doc, is_blank},
    markdown, notice, plain,
};

/// What differs between platforms before anything is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// Whether the platform makes a link of a target.
    pub is_link: fn(&str) -> bool,
    /// Whether a file is sent as a file, so that it needs no line of text.
    pub is_sent: fn(&FileRef) -> bool,
}

/// The document of a reply; something is said also when nothing would be shown, unless files are.
pub fn of(reply: &Reply, rules: &Rules) -> Doc {
    let mut to = Builder::default();
    if reply.maybe_repeated {
        to.verbatim(&words::maybe_repeated(reply.locale));
    }
    let start = to.len();
    let mut has_files = false;
    for content in &reply.content {
        to.gap(2);
        match content {
            Content::Text(text) => markdown::write(&mut to, text, rules.is_link),
            Content::Plain(text) => to.verbatim(text),
            Content::Code { language, text } => to.pre(language, text),
            Content::Notice(notice) => notice::write(&mut to, notice, reply.reference, reply.locale),
            Content::File(file) if (rules.is_sent)(file) => has_files = true,
            Content::File(file) => to.verbatim(&format!("📎 {}", contract::text::one_line(&file.name, 200))),
            Content::Attachment { .. } => has_files = true,
        }
    }
    to.end();
    if !has_files && is_blank(to.written_since(start)) {
        to.gap(2);
        to.verbatim(&words::no_output(reply.locale));
    }
    if let Some(turn) = reply.reference {
        to.gap(2);
        notice::reference(&mut to, turn, reply.locale);
    }
    to.finish()
}

/// A document of one paragraph, shown as it is written.
pub fn paragraph(text: &str) -> Doc {
    let mut to = Builder::default();
    to.verbatim(text);
    to.finish()
}

/// A file name without what could end a header or name a folder.
pub fn file_name(name: &str) -> String {
    let name = contract::text::one_line(name, 120).replace(['/', '\\', '"'], "_");
    if name.is_empty() { "file".to_owned() } else { name }
}

/// Name, media type and text of the file that holds a reply of too many messages: code as it is, everything else as it was
/// written.
pub(crate) fn as_file(reply: &Reply, doc: &Doc) -> (String, &'static str, String) {
    let mut blocks = doc.blocks.iter().filter(|block| block.kind != BlockKind::Reference);
    if let (Some(block), None) = (blocks.next(), blocks.next())
        && let BlockKind::Code(language) = &block.kind
    {
        return (format!("reply.{}", extension(language)), "text/plain", format!("{}\n", doc.text_of(block)));
    }
    ("reply.md".to_owned(), "text/markdown", source(reply))
}

/// How files in a language end.
fn extension(language: &str) -> &'static str {
    match language.to_ascii_lowercase().as_str() {
        "rust" | "rs" => "rs",
        "python" | "py" => "py",
        "javascript" | "js" => "js",
        "typescript" | "ts" => "ts",
        "json" => "json",
        "yaml" | "yml" => "yaml",
        "toml" => "toml",
        "html" => "html",
        "css" => "css",
        "xml" => "xml",
        "sql" => "sql",
        "sh" | "bash" | "shell" => "sh",
        "go" => "go",
        "java" => "java",
        "c" => "c",
        "cpp" | "c++" => "cpp",
        "csv" => "csv",
        "diff" | "patch" => "diff",
        "markdown" | "md" => "md",
        _ => "txt",
    }
}

/// The reply as it was written.
fn source(reply: &Reply) -> String {
    let mut out = String::new();
    for content in &reply.content {
        match content {
            Content::Text(text) | Content::Plain(text) => out.push_str(text),
            Content::Code { language, text } => {
                let fence = "`".repeat(3.max(1 + longest_run(text, '`')));
                out.push_str(&format!("{fence}{language}\n{text}\n{fence}"));
            }
            Content::Notice(notice) => {
                let mut to = Builder::default();
                notice::write(&mut to, notice, reply.reference, reply.locale);
                out.push_str(&plain::of(Piece::whole(&to.finish()), usize::MAX));
            }
            Content::File(_) | Content::Attachment { .. } => continue,
        }
        out.push_str("\n\n");
    }
    out.extend(reply.reference.map(|turn| format!("{} {turn}\n", words::reference(reply.locale))));
    out
}

/// The length of the longest stretch of one character.
pub fn longest_run(text: &str, of: char) -> usize {
    text.split(|c| c != of).map(str::len).max().unwrap_or(0) / of.len_utf8()
}
