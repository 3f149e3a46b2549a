//! YAML as a tree that knows where everything stands: of policies, and of the specs of tools.
//!
//! Strict: no duplicate keys, no merge keys, no tags of one's own, no nesting without end, and only what JSON knows as a
//! value; what other readers would guess at stays text and is noted.

use std::collections::HashMap;

use serde_json::{Map, Number, Value};
use serde_saphyr::granit_parser::{Event, Options, Parser, ScalarStyle, Span, StrInput, Tag, options};

/// Most nodes of one document, counted after aliases are filled in: an alias bomb ends here.
const NODES_MAX: usize = 20_000;
const DEPTH_MAX: u32 = 100;

/// Line and column, from 1.
pub type Place = (u32, u32);

/// A node and where it begins.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub at: Place,
    pub kind: Kind,
}

/// What stands there.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    Scalar(Scalar),
    Seq(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// A key of a map; none of a map is the same as another.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    pub name: String,
    pub at: Place,
}

/// A single value, as it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Scalar {
    pub text: String,
    /// Written without quotes and without `!!str`, so it may be more than text.
    pub is_plain: bool,
}

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub at: Place,
    pub message: String,
}

/// One document of a file.
pub struct Document {
    pub root: Result<Node, Fault>,
    /// Scalars that other readers would take for numbers.
    pub doubtful: Vec<Fault>,
    /// Its text, for a look at what could not be read.
    pub text: String,
}

/// Every document of a file; one that cannot be read does not lose the others.
pub fn documents(text: &str) -> Vec<Document> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    split(text).into_iter().filter(|(_, part)| has_content(part)).map(|(line, part)| document(line, part)).collect()
}

/// Cuts at lines that begin with `---`, which nothing but a document's start may do. With the number of lines before.
fn split(text: &str) -> Vec<(u32, &str)> {
    let mut parts = Vec::new();
    let (mut begin, mut begin_line, mut at, mut line) = (0, 0, 0, 0);
    for row in text.split_inclusive('\n') {
        let is_marker =
            row.strip_prefix("---").is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']));
        if is_marker && at > begin {
            parts.push((begin_line, &text[begin..at]));
            (begin, begin_line) = (at, line);
        }
        at += row.len();
        line += 1;
    }
    parts.push((begin_line, &text[begin..]));
    parts
}

fn has_content(part: &str) -> bool {
    part.lines().any(|line| {
        let line = line.strip_prefix("---").unwrap_or(line).trim();
        !(line.is_empty() || line.starts_with('#') || line == "..." || line.starts_with('%'))
    })
}

fn document(lines_before: u32, text: &str) -> Document {
    let mut reader = Reader {
        parser: Parser::new_from_str_with_options(text, parser_options()),
        lines_before,
        anchors: HashMap::new(),
        nodes: 0,
        doubtful: Vec::new(),
    };
    let root = reader.document();
    Document { root, doubtful: reader.doubtful, text: text.to_owned() }
}

fn parser_options() -> Options {
    options! { flow_nesting_limit: DEPTH_MAX as usize, block_nesting_limit: DEPTH_MAX as usize }
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    lines_before: u32,
    /// Finished anchored nodes with their sizes.
    anchors: HashMap<usize, (Node, usize)>,
    nodes: usize,
    doubtful: Vec<Fault>,
}

impl<'a> Reader<'a> {
    fn document(&mut self) -> Result<Node, Fault> {
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamStart | Event::DocumentStart(..) => {}
                other => {
                    let root = self.node(other, span, 0)?;
                    return self.end().map(|()| root);
                }
            }
        }
    }

    /// Reads on to the end, so that what stands after the root is not lost silently.
    fn end(&mut self) -> Result<(), Fault> {
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(()),
                Event::DocumentEnd => {}
                _ => return Err(self.fault(span, "a second document begins here: put '---' before it")),
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'a>, Span), Fault> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => {
                let at = place(self.lines_before, error.marker().line(), error.marker().col());
                Err(Fault { at, message: said(&error.info()) })
            }
            None => Err(Fault { at: (self.lines_before + 1, 1), message: "nothing stands here".to_owned() }),
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: u32) -> Result<Node, Fault> {
        if depth > DEPTH_MAX {
            return Err(self.fault(span, "nested too deeply"));
        }
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            return Err(self.fault(span, "too large once aliases are filled in"));
        }
        let before = self.nodes;
        let (kind, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => (self.scalar(&text, style, tag.as_deref(), span)?, anchor),
            Event::SequenceStart(_, anchor, tag) => {
                self.no_tag(tag.as_deref(), "seq", span)?;
                (self.seq(depth)?, anchor)
            }
            Event::MappingStart(_, anchor, tag) => {
                self.no_tag(tag.as_deref(), "map", span)?;
                (self.map(depth)?, anchor)
            }
            Event::Alias(id) => return self.alias(id, span),
            _ => return Err(self.fault(span, "a value is expected here")),
        };
        let node = Node { at: self.place(span), kind };
        if anchor > 0 {
            self.anchors.insert(anchor, (node.clone(), self.nodes - before + 1));
        }
        Ok(node)
    }

    fn seq(&mut self, depth: u32) -> Result<Kind, Fault> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                return Ok(Kind::Seq(items));
            }
            items.push(self.node(event, span, depth + 1)?);
        }
    }

    fn map(&mut self, depth: u32) -> Result<Kind, Fault> {
        let mut entries: Vec<(Key, Node)> = Vec::new();
        let mut lines: HashMap<String, u32> = HashMap::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(Kind::Map(entries));
            }
            let at = self.place(span);
            let Event::Scalar(key, style, ..) = event else {
                return Err(self.fault(span, "a key has to be a word"));
            };
            if key == "<<" && style == ScalarStyle::Plain {
                return Err(self.fault(span, "merge keys are not read: write the keys out"));
            }
            if let Some(line) = lines.insert(key.to_string(), at.0) {
                return Err(self.fault(span, &format!("'{key}' stands here twice, first in line {line}")));
            }
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth + 1)?;
            if key.contains(' ') && value.is_nothing() {
                let message =
                    format!("nothing is said of '{key}': if it belongs to the text before it, put that in quotes");
                self.doubtful.push(Fault { at, message });
            }
            entries.push((Key { name: key.into_owned(), at }, value));
        }
    }

    fn alias(&mut self, id: usize, span: Span) -> Result<Node, Fault> {
        let Some((node, size)) = self.anchors.get(&id) else {
            return Err(self.fault(span, "an alias of what contains it"));
        };
        self.nodes += size;
        if self.nodes > NODES_MAX {
            return Err(self.fault(span, "too large once aliases are filled in"));
        }
        Ok(Node { at: self.place(span), kind: node.kind.clone() })
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, tag: Option<&Tag>, span: Span) -> Result<Kind, Fault> {
        let is_text = tag.is_some_and(|tag| tag.is_yaml_core_schema_tag("str"));
        if !is_text {
            self.no_tag(tag, "", span)?;
        }
        let scalar = Scalar { text: text.to_owned(), is_plain: style == ScalarStyle::Plain && !is_text };
        if let Some(message) = scalar.doubt() {
            self.doubtful.push(Fault { at: self.place(span), message });
        }
        Ok(Kind::Scalar(scalar))
    }

    fn no_tag(&self, tag: Option<&Tag>, allowed: &str, span: Span) -> Result<(), Fault> {
        match tag {
            Some(tag) if !tag.is_yaml_core_schema_tag(allowed) => {
                Err(self.fault(span, &format!("the tag '{}' is not read", tag.original())))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn place(&self, span: Span) -> Place {
        place(self.lines_before, span.start.line(), span.start.col())
    }

    fn fault(&self, span: Span, message: &str) -> Fault {
        Fault { at: self.place(span), message: message.to_owned() }
    }
}

fn place(lines_before: u32, line: usize, column: usize) -> Place {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    (lines_before.saturating_add(number(line).max(1)), number(column).saturating_add(1))
}

/// The parser's words in ours where they would not help.
fn said(info: &str) -> String {
    match info {
        _ if info.contains("recursion limit") => "nested too deeply".to_owned(),
        _ if info.contains("tab") => format!("a tab where YAML wants spaces ({info})"),
        _ if info.starts_with("while parsing a block mapping") => {
            "this does not go on the map above: its keys begin in one column, and each has its ':'".to_owned()
        }
        _ if info.starts_with("while parsing a block collection") => {
            "this does not go on the list above: its items begin in one column, and each has its '-'".to_owned()
        }
        _ if info.starts_with("mapping values are not allowed") => {
            "no ':' fits here: is the line too far right, or a text with ': ' in it without quotes?".to_owned()
        }
        _ if info.starts_with("while parsing a flow mapping") => "a ',' or the closing '}' is missing here".to_owned(),
        _ if info.starts_with("while parsing a flow sequence") => "a ',' or the closing ']' is missing here".to_owned(),
        _ if info.starts_with("while parsing node, found unknown anchor") => {
            "no '&' before this names what '*' refers to: put a text that begins with '*' in quotes".to_owned()
        }
        _ => info.to_owned(),
    }
}

impl Scalar {
    /// The value: what JSON knows, else text.
    pub fn value(&self) -> Value {
        if !self.is_plain {
            return Value::String(self.text.clone());
        }
        match &*self.text {
            "" | "~" | "null" | "Null" | "NULL" => Value::Null,
            "true" | "True" | "TRUE" => Value::Bool(true),
            "false" | "False" | "FALSE" => Value::Bool(false),
            text => number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number),
        }
    }

    /// What is to be said of a scalar that some readers take for a number and others do not.
    fn doubt(&self) -> Option<String> {
        let text = &*self.text;
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        let starts_with_digit = digits.starts_with(|c: char| c.is_ascii_digit());
        if !self.is_plain || !starts_with_digit || number(text).is_some() {
            return None;
        }
        let is_padded = digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit());
        let is_grouped = digits.contains('_') && digits.bytes().all(|b| b.is_ascii_digit() || b == b'_' || b == b'.');
        let is_based = digits.len() > 2
            && (digits.starts_with("0x") || digits.starts_with("0o") || digits.starts_with("0b"))
            && digits[2..].bytes().all(|b| b.is_ascii_hexdigit());
        let is_huge = digits.bytes().all(|b| b.is_ascii_digit());
        (is_padded || is_grouped || is_based || is_huge)
            .then(|| format!("'{text}' is read as text: put it in quotes, or write a plain number"))
    }
}

/// A number exactly as JSON would read it, with an optional plus.
fn number(text: &str) -> Option<Number> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let number: Number = text.parse().ok()?;
    let is_whole = digits.bytes().all(|b| b.is_ascii_digit());
    // Beyond 64 bits a whole number would silently lose digits.
    (!is_whole || number.is_i64() || number.is_u64()).then_some(number)
}

impl Node {
    /// As JSON, keys in the order in which they are written.
    pub fn value(&self) -> Value {
        match &self.kind {
            Kind::Scalar(scalar) => scalar.value(),
            Kind::Seq(items) => items.iter().map(Node::value).collect(),
            Kind::Map(entries) => {
                Value::Object(entries.iter().map(|(key, node)| (key.name.clone(), node.value())).collect::<Map<_, _>>())
            }
        }
    }

    /// What it is, for a message; never its content.
    pub fn is_a(&self) -> &'static str {
        match &self.kind {
            Kind::Seq(_) => "a list",
            Kind::Map(_) => "a map",
            Kind::Scalar(scalar) => match scalar.value() {
                Value::Null => "nothing",
                Value::Bool(_) => "true or false",
                Value::Number(_) => "a number",
                Value::String(_) | Value::Array(_) | Value::Object(_) => "text",
            },
        }
    }

    /// Whether nothing is written there, or `null`.
    pub fn is_nothing(&self) -> bool {
        matches!(&self.kind, Kind::Scalar(scalar) if scalar.value().is_null())
    }

    /// The value of a key, when this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.kind {
            Kind::Map(entries) => entries.iter().find(|(k, _)| k.name == key).map(|(_, node)| node),
            Kind::Scalar(_) | Kind::Seq(_) => None,
        }
    }

    /// Where the key of a dotted path stands; else the place of the nearest thing that encloses it.
    pub fn find(&self, path: &str) -> Result<Place, Place> {
        let (mut node, mut at, mut rest) = (self, self.at, path);
        while !rest.is_empty() {
            let inner = match &node.kind {
                Kind::Scalar(_) => None,
                Kind::Seq(items) => {
                    let (index, after) = rest.split_once('.').unwrap_or((rest, ""));
                    index.parse::<usize>().ok().and_then(|i| items.get(i)).map(|item| (item, item.at, after))
                }
                // A key may have dots in it: the longest that fits is meant.
                Kind::Map(entries) => entries
                    .iter()
                    .filter_map(|(key, node)| Some((key, node, behind(rest, &key.name)?)))
                    .max_by_key(|(key, ..)| key.name.len())
                    .map(|(key, node, after)| (node, key.at, after)),
            };
            let Some(inner) = inner else { return Err(at) };
            (node, at, rest) = inner;
        }
        Ok(at)
    }
}

/// What of a dotted path comes behind `key`, if it begins with it.
fn behind<'p>(path: &'p str, key: &str) -> Option<&'p str> {
    let after = path.strip_prefix(key)?;
    if after.is_empty() { Some(after) } else { after.strip_prefix('.') }
}
