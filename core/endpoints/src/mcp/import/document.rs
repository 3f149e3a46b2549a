//! A file of imported tools: its documents, their keys, and what becomes of them when the server is asked again.

use std::collections::{BTreeMap, BTreeSet};

use contract::{Digest, text};
use serde_json::{Map, Value};

use super::{Change, Draft, Imported, Listed, Row, Source, names, yaml};

/// Begins the line that holds the digests of a document's keys as they were imported.
const MARK: &str = "# imported:";
/// What says that nobody has read it yet.
const UNREVIEWED: &str =
    "publish: manual    # not offered until somebody has read it: see 'toolgate tool import-mcp --help'\n";
/// What a tool means to whoever calls it: when the server changes one of these, a person reads it again.
const MEANING: &[&str] = &["description", "permissions", "parameters", "endpoint"];

/// Brings a server's tools into a file; `before` is the file as it was.
pub fn merge(source: &Source<'_>, listed: &[Listed], before: Option<&str>) -> Imported {
    let (head, documents) = split(before.unwrap_or_default());
    let mut out = Imported { text: head.unwrap_or_else(|| first_lines(source)), tools: Vec::new() };
    let mut old: BTreeMap<String, Document> = BTreeMap::new();
    let mut given: BTreeSet<String> = BTreeSet::new();
    for document in documents {
        given.extend(document.name());
        match document.tool_of(source.server) {
            Some(theirs) if !old.contains_key(&theirs) => drop(old.insert(theirs, document)),
            // Of somebody's own hand, or of another server.
            _ => out.add(&document.text()),
        }
    }
    for tool in listed {
        let before = old.remove(&tool.name);
        let name = before.as_ref().and_then(Document::name).unwrap_or_else(|| {
            names::name(&tool.name, source.server, |name| given.contains(name) || source.taken.contains(name))
        });
        given.insert(name.clone());
        let draft = Draft::new(tool, &name, source);
        let (document, row) = match before {
            Some(before) => before.updated(tool, draft, source),
            None => Document::new(tool, draft, source),
        };
        out.add(&document.text());
        out.tools.push(row);
    }
    for (theirs, document) in old {
        let (row, stays) = document.without_server(theirs);
        if stays {
            out.add(&document.text());
        }
        out.tools.push(row);
    }
    out.tools.sort_by(|a, b| a.theirs.cmp(&b.theirs));
    out
}

impl Imported {
    fn add(&mut self, document: &str) {
        self.text.push_str("---\n");
        self.text.push_str(document.trim_matches('\n'));
        self.text.push('\n');
    }
}

fn first_lines(source: &Source<'_>) -> String {
    let server = source.server;
    format!(
        "# Tools of the MCP server '{server}', made by 'toolgate tool import-mcp --server {server}'.\n\
         # What you change here stays when the tools are imported again; everything else follows the server.\n"
    )
}

/// The lines before the first document when they hold no key, and the documents.
fn split(text: &str) -> (Option<String>, Vec<Document>) {
    let mut parts = vec![String::new()];
    for line in text.lines() {
        match line.trim_end() == "---" {
            true => parts.push(String::new()),
            false => parts.last_mut().expect("there is always a part").push_str(&format!("{line}\n")),
        }
    }
    let holds_keys = |part: &str| part.lines().any(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let head = (!text.trim().is_empty() && !holds_keys(&parts[0])).then(|| parts.remove(0));
    let documents = parts.iter().filter(|part| holds_keys(part)).map(|part| Document::read(part)).collect();
    (head.or_else(|| (!text.trim().is_empty()).then(String::new)), documents)
}

/// One document in pieces, each as it was written.
struct Document {
    pieces: Vec<Piece>,
    /// What stands below the last key.
    tail: String,
}

/// A key with what stands above it.
struct Piece {
    key: String,
    lead: String,
    body: String,
}

impl Piece {
    /// Its value; nothing when it cannot be read.
    fn value(&self) -> Option<Value> {
        let mut all: Map<String, Value> = serde_saphyr::from_str(&self.body).ok()?;
        all.shift_remove(&self.key)
    }

    fn digest(&self) -> Option<String> {
        self.value().as_ref().map(digest)
    }
}

/// A short digest of a value: the same for the same content, however it is written.
fn digest(value: &Value) -> String {
    let bytes = Digest::of(sorted(value).to_string().as_bytes()).0;
    bytes.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<_, _> = fields.iter().map(|(name, value)| (name.clone(), sorted(value))).collect();
            Value::Object(fields.into_iter().collect())
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

impl Document {
    /// A key begins where a line is not indented and is no comment.
    fn read(text: &str) -> Self {
        let (mut pieces, mut lead) = (Vec::<Piece>::new(), String::new());
        for line in text.lines() {
            let begins = line.starts_with(|c: char| !c.is_whitespace() && c != '#');
            let key = line.split_once(':').map(|(key, _)| key.trim_matches(['"', '\'', ' ']).to_owned());
            match (begins, key) {
                (true, Some(key)) => {
                    pieces.push(Piece { key, lead: std::mem::take(&mut lead), body: format!("{line}\n") });
                }
                (false, _) if line.starts_with('#') || pieces.is_empty() => lead.push_str(&format!("{line}\n")),
                // What follows a comment that is not indented still belongs to the key above it.
                _ => {
                    let piece = pieces.last_mut().expect("a key stands above");
                    piece.body.push_str(&std::mem::take(&mut lead));
                    piece.body.push_str(&format!("{line}\n"));
                }
            }
        }
        Self { pieces, tail: lead }
    }

    fn new(tool: &Listed, mut draft: Draft, source: &Source<'_>) -> (Self, Row) {
        let name = draft.keys["name"].as_str().unwrap_or_default();
        if name != tool.name {
            let theirs = text::one_line(&tool.name, 80);
            draft.notes.insert(0, format!("called '{name}' here: '{theirs}' is no name for a tool, or another has it"));
        }
        if source.reviewed {
            draft.reviewed();
        }
        let piece = |(key, value): (&String, &Value)| Piece {
            key: key.clone(),
            lead: String::new(),
            body: yaml::key(key, value),
        };
        let mut document = Self { pieces: draft.keys.iter().map(piece).collect(), tail: String::new() };
        document.publish(source.reviewed);
        document.remember(&draft.keys, None);
        let row = document.row(tool, draft, Change::New, Vec::new(), Vec::new());
        (document, row)
    }

    /// The three ways: what was imported, what stands here, what the server says now.
    fn updated(mut self, tool: &Listed, mut draft: Draft, source: &Source<'_>) -> (Self, Row) {
        let base = self.imported();
        if self.is_published() || source.reviewed {
            draft.reviewed();
        }
        let (mut changed, mut edited, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        let keys: BTreeSet<String> = base.keys().chain(draft.keys.keys()).cloned().collect();
        for key in keys {
            let (was, theirs) = (base.get(&key), draft.keys.get(&key));
            let mine = self.pieces.iter().position(|piece| piece.key == key);
            let mine_now = mine.and_then(|at| self.pieces[at].digest());
            let follows = mine_now.as_ref() == was;
            let server_changed = theirs.map(digest).as_ref() != was;
            match (follows, server_changed) {
                // A name that is given stays, whoever gave it.
                (true, true) if key == "name" => {}
                (false, _) if key == "name" => edited.push(key),
                (true, false) => {}
                (true, true) => {
                    self.set(&key, mine, theirs);
                    changed.push(key);
                }
                // Written by hand just as the server has it now.
                (false, _) if mine_now == theirs.map(digest) => {}
                (false, true) => {
                    notes.push(format!("'{key}' changed at the server too: yours is kept"));
                    edited.push(key);
                }
                (false, false) => edited.push(key),
            }
        }
        let means_other = changed.iter().any(|key| MEANING.contains(&key.as_str()));
        if source.reviewed {
            self.publish(true);
        } else if means_other && self.is_published() {
            self.publish(false);
            notes.push("the server changed what it means: read it again".into());
        }
        // What it was called when it was imported, so that a name of a person's own is known as one.
        self.remember(&draft.keys, base.get("name"));
        let change = if changed.is_empty() { Change::Same } else { Change::Changed(changed) };
        let row = self.row(tool, draft, change, edited, notes);
        (self, row)
    }

    /// What becomes of a tool that the server has no more.
    fn without_server(&self, theirs: String) -> (Row, bool) {
        let base = self.imported();
        let is_own = |piece: &Piece| piece.key != "publish" && base.get(&piece.key) != piece.digest().as_ref();
        let edited: Vec<_> = self.pieces.iter().filter(|piece| is_own(piece)).map(|piece| piece.key.clone()).collect();
        let stays = !edited.is_empty() || base.is_empty();
        let change = if stays { Change::Orphaned } else { Change::Removed };
        let row = Row {
            name: self.name().unwrap_or_default(),
            theirs,
            change,
            labels: Vec::new(),
            published: stays && self.is_published(),
            edited,
            notes: Vec::new(),
        };
        (row, stays)
    }

    fn row(&self, tool: &Listed, draft: Draft, change: Change, edited: Vec<String>, more: Vec<String>) -> Row {
        let labels = self.value("permissions").unwrap_or_default();
        let labels = labels.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        Row {
            theirs: tool.name.clone(),
            name: self.name().unwrap_or_default(),
            change,
            labels: labels.collect(),
            published: self.is_published(),
            edited,
            notes: draft.notes.into_iter().chain(more).collect(),
        }
    }

    fn value(&self, key: &str) -> Option<Value> {
        self.pieces.iter().find(|piece| piece.key == key)?.value()
    }

    fn name(&self) -> Option<String> {
        self.value("name")?.as_str().map(str::to_owned)
    }

    /// The tool of this server that it calls.
    fn tool_of(&self, server: &str) -> Option<String> {
        let endpoint = self.value("endpoint")?;
        (endpoint["type"] == "mcp" && endpoint["server"] == server).then_some(())?;
        endpoint["tool"].as_str().map(str::to_owned)
    }

    fn is_published(&self) -> bool {
        self.value("publish") != Some(Value::from("manual"))
    }

    fn publish(&mut self, yes: bool) {
        self.pieces.retain(|piece| piece.key != "publish");
        if !yes {
            self.pieces.push(Piece { key: "publish".into(), lead: String::new(), body: UNREVIEWED.into() });
        }
    }

    fn set(&mut self, key: &str, at: Option<usize>, value: Option<&Value>) {
        match (at, value) {
            (Some(at), Some(value)) => self.pieces[at].body = yaml::key(key, value),
            (Some(at), None) => drop(self.pieces.remove(at)),
            (None, Some(value)) => {
                let piece = Piece { key: key.to_owned(), lead: String::new(), body: yaml::key(key, value) };
                self.pieces.push(piece);
            }
            (None, None) => {}
        }
    }

    /// The digests of the keys as they were imported.
    fn imported(&self) -> BTreeMap<String, String> {
        let leads = self.pieces.iter().map(|piece| piece.lead.as_str()).chain([self.tail.as_str()]);
        let line = leads.flat_map(str::lines).find_map(|line| line.strip_prefix(MARK));
        let pairs = line.unwrap_or_default().split_whitespace().filter_map(|pair| pair.split_once('='));
        pairs.map(|(key, digest)| (key.to_owned(), digest.to_owned())).collect()
    }

    fn remember(&mut self, keys: &Map<String, Value>, name: Option<&String>) {
        let pair = |(key, value): (&String, &Value)| match name.filter(|_| key == "name") {
            Some(digest) => format!("{key}={digest}"),
            None => format!("{key}={}", digest(value)),
        };
        let pairs: Vec<_> = keys.iter().map(pair).collect();
        let line = format!("{MARK} {}\n", pairs.join(" "));
        let without = |text: &str| {
            text.lines().filter(|line| !line.starts_with(MARK)).map(|line| format!("{line}\n")).collect::<String>()
        };
        for piece in &mut self.pieces {
            piece.lead = without(&piece.lead);
        }
        self.tail = without(&self.tail);
        if let Some(first) = self.pieces.first_mut() {
            first.lead.push_str(&line);
        }
    }

    fn text(&self) -> String {
        let pieces = self.pieces.iter().flat_map(|piece| [piece.lead.as_str(), piece.body.as_str()]);
        pieces.chain([self.tail.as_str()]).collect()
    }
}
