//! The words in blocks and attachments, for messages whose text is empty: rich text, tables, sections, and whatever kinds
//! come later.

use serde_json::Value;

use super::{
    Me, array, text,
    words::{self, plain},
};

const DEEPEST: usize = 12;
/// More words than this nobody reads out of blocks.
const MOST: usize = 64 * 1024;

/// What has been read so far.
pub(super) struct Shown<'a> {
    me: &'a Me,
    out: String,
    names_us: bool,
    /// Our name stood just before.
    behind_us: bool,
}

impl<'a> Shown<'a> {
    pub(super) fn new(me: &'a Me) -> Self {
        Self { me, out: String::new(), names_us: false, behind_us: false }
    }

    pub(super) fn finish(self) -> (String, bool) {
        (self.out.trim().to_owned(), self.names_us)
    }

    /// Each block on lines of its own.
    pub(super) fn blocks(&mut self, blocks: &[Value]) {
        for block in blocks {
            self.line();
            self.node(block, DEEPEST);
        }
    }

    /// Its blocks, else its own texts, else what stands for them.
    pub(super) fn attachment(&mut self, attachment: &Value) {
        let before = self.out.len();
        self.blocks(array(attachment, "blocks"));
        for key in ["pretext", "title", "text"] {
            self.written(text(attachment, key).unwrap_or_default());
        }
        for field in array(attachment, "fields") {
            self.written(text(field, "title").unwrap_or_default());
            self.written(text(field, "value").unwrap_or_default());
        }
        if self.out.len() == before {
            self.written(text(attachment, "fallback").unwrap_or_default());
        }
    }

    fn line(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }

    /// Text in Slack's own writing, on lines of its own.
    fn written(&mut self, text: &str) {
        if !text.is_empty() {
            self.line();
            let words = plain(text, self.me);
            self.names_us |= words.names_us;
            self.push(&words.text);
        }
    }

    fn push(&mut self, text: &str) {
        let left = MOST.saturating_sub(self.out.len());
        self.out.push_str(&text[..text.floor_char_boundary(left.min(text.len()))]);
    }

    fn node(&mut self, node: &Value, depth: usize) {
        if depth == 0 {
            return;
        }
        if let Value::String(said) = node {
            return self.written(said);
        }
        match text(node, "type").unwrap_or_default() {
            "text" => self.run(text(node, "text").unwrap_or_default()),
            "plain_text" => self.push(text(node, "text").unwrap_or_default()),
            "mrkdwn" | "markdown" => self.written(text(node, "text").unwrap_or_default()),
            "link" => self.push(&words::link(text(node, "url").unwrap_or_default(), text(node, "text"))),
            "user" => self.user(text(node, "user_id").unwrap_or_default()),
            "usergroup" => self.push(&format!("@{}", text(node, "usergroup_id").unwrap_or_default())),
            "channel" => self.push(&format!("#{}", text(node, "channel_id").unwrap_or_default())),
            "broadcast" => self.push(&format!("@{}", text(node, "range").unwrap_or_default())),
            "date" => self.push(text(node, "fallback").unwrap_or_default()),
            "emoji" => self.emoji(node),
            "image" => self.push(text(node, "alt_text").unwrap_or_default()),
            "table" => self.table(node, depth),
            kind => self.children(kind, node, depth),
        }
    }

    /// A stretch of rich text, which has no marks in it. Behind our name its beginning may be a filler.
    fn run(&mut self, said: &str) {
        let said = if std::mem::take(&mut self.behind_us) { words::after_name(&self.out, said) } else { said };
        self.push(said);
    }

    fn user(&mut self, user: &str) {
        if words::is_us(user, self.me) {
            (self.names_us, self.behind_us) = (true, true);
        } else {
            self.push(&format!("@{user}"));
        }
    }

    fn emoji(&mut self, node: &Value) {
        let points = text(node, "unicode").unwrap_or_default().split('-');
        let found: Option<String> =
            points.map(|point| u32::from_str_radix(point, 16).ok().and_then(char::from_u32)).collect();
        match found.filter(|found| !found.is_empty()) {
            Some(characters) => self.push(&characters),
            None => self.push(&format!(":{}:", text(node, "name").unwrap_or_default())),
        }
    }

    /// A row on a line, its cells apart by bars.
    fn table(&mut self, node: &Value, depth: usize) {
        for row in array(node, "rows") {
            self.line();
            for (n, cell) in row.as_array().into_iter().flatten().enumerate() {
                if n > 0 {
                    self.push(" | ");
                }
                match text(cell, "text") {
                    Some(said) => self.push(said),
                    None => self.cell(cell, depth - 1),
                }
            }
        }
    }

    /// What a cell says, on one line.
    fn cell(&mut self, cell: &Value, depth: usize) {
        let mut inside = Self::new(self.me);
        inside.node(cell, depth);
        let (said, names_us) = inside.finish();
        self.names_us |= names_us;
        self.push(&said.replace('\n', " "));
    }

    fn children(&mut self, kind: &str, node: &Value, depth: usize) {
        let is_list = kind == "rich_text_list";
        for key in ["title", "text", "fields", "elements"] {
            let children = match node.get(key) {
                Some(Value::Array(items)) => items.as_slice(),
                Some(one) => std::slice::from_ref(one),
                None => continue,
            };
            for child in children {
                if is_list {
                    self.line();
                    self.push("- ");
                } else if text(child, "type").is_some_and(|kind| kind.starts_with("rich_text_")) || key == "fields" {
                    self.line();
                }
                self.node(child, depth - 1);
            }
        }
    }
}
