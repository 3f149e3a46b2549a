//! Files of a message as arguments: which parameters take one, and which file is meant. Pure.
//!
//! A call names its files; their bytes are fetched by the endpoint that needs them, when it needs them.

use contract::{FileRef, Problem, text};
use serde_json::{Map, Value};

/// Most characters of a file's name that are shown, and by which it can be named.
pub const NAME_MAX: usize = 100;
/// Most files that a refusal lists.
const LISTED: usize = 10;

/// A parameter that takes a file of the message, or several.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter<'a> {
    pub name: &'a str,
    pub is_many: bool,
    is_required: bool,
    /// The media type that it wants: `image/png`, `image/*`.
    wants: Option<&'a str>,
}

/// Whether a parameter of this schema takes a file: `format: file`, or text that is said to be a picture or the like.
pub fn is_file(schema: &Value) -> bool {
    let is_text = match &schema["type"] {
        Value::String(kind) => kind == "string",
        Value::Array(kinds) => kinds.iter().any(|kind| kind == "string"),
        _ => false,
    };
    let is_binary = |kind: &str| {
        ["image/", "audio/", "video/"].iter().any(|start| kind.starts_with(start))
            || ["application/octet-stream", "application/pdf", "application/zip"].contains(&kind)
    };
    // With an encoding it is text that somebody writes, and no file of a message.
    let is_content = schema["contentEncoding"].is_null() && schema["contentMediaType"].as_str().is_some_and(is_binary);
    is_text && (schema["format"] == "file" || is_content)
}

/// The parameters of a tool that take files, the required ones first.
pub fn parameters(schema: &Value) -> Vec<Parameter<'_>> {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut out: Vec<Parameter<'_>> = Vec::new();
    for (name, of) in schema["properties"].as_object().into_iter().flatten() {
        let (is_many, of) = if of["type"] == "array" { (true, &of["items"]) } else { (false, of) };
        if is_file(of) {
            let wants = of["contentMediaType"].as_str();
            out.push(Parameter { name, is_many, is_required: required.contains(&name.as_str()), wants });
        }
    }
    out.sort_by_key(|parameter| !parameter.is_required);
    out
}

/// The parameters as a model reads them: how a file is given is said where one is taken.
pub fn told(schema: &Value) -> Value {
    const HOW: &str = "the name of a file that came with the message";
    let mut told = schema.clone();
    for Parameter { name, is_many, .. } in parameters(schema) {
        let property = &mut told["properties"][name];
        let how = if is_many { "the names of files that came with the message" } else { HOW };
        property["description"] = match property["description"].as_str() {
            Some(said) if !said.is_empty() => format!("{said} ({how})").into(),
            _ => how.into(),
        };
    }
    told
}

/// The file that is meant: by its name, as it was told, or by its number in the message.
pub fn named<'a>(said: &str, files: &'a [FileRef]) -> Option<&'a FileRef> {
    let said = said.trim();
    let only = |is: &dyn Fn(&FileRef) -> bool| {
        let mut found = files.iter().filter(|file| is(file));
        found.next().filter(|_| found.next().is_none())
    };
    only(&|file| file.name == said)
        .or_else(|| only(&|file| shown(file) == said))
        .or_else(|| only(&|file| shown(file).to_lowercase() == said.to_lowercase()))
        .or_else(|| {
            let n: usize = said.strip_prefix('#').unwrap_or(said).parse().ok()?;
            files.get(n.checked_sub(1)?)
        })
}

/// The one way in which a file is named in the arguments of a call: its name, else its number where two share it.
fn canonical(file: &FileRef, files: &[FileRef]) -> String {
    let name = shown(file);
    let is_found = named(&name, files).is_some_and(|found| std::ptr::eq(found, file));
    let number = files.iter().position(|other| std::ptr::eq(other, file)).map_or(0, |n| n + 1);
    if is_found { name } else { format!("#{number}") }
}

fn shown(file: &FileRef) -> String {
    text::one_line(&file.name, NAME_MAX)
}

/// Puts the files of the message where a tool takes them: the only one that fits where nothing is said, and the same name
/// for the same file however it was named.
pub fn filled(schema: &Value, mut args: Value, files: &[FileRef]) -> Result<Value, Vec<Problem>> {
    let parameters = parameters(schema);
    if parameters.is_empty() {
        return Ok(args);
    }
    let Some(map) = inner(schema, &mut args) else { return Ok(args) };
    let mut taken: Vec<String> = Vec::new();
    let mut problems = Vec::new();
    for parameter in &parameters {
        for said in map.get_mut(parameter.name).map(texts).into_iter().flatten() {
            match parameter.file(said, files) {
                Ok(name) => {
                    taken.push(name.clone());
                    *said = name;
                }
                Err(problem) => problems.push(problem),
            }
        }
    }
    for parameter in &parameters {
        if !is_missing(map.get(parameter.name)) {
            continue;
        }
        let mut free: Vec<String> =
            files.iter().filter(|file| parameter.takes(file)).map(|f| canonical(f, files)).collect();
        free.retain(|name| !taken.contains(name));
        match free.as_slice() {
            [_, ..] if parameter.is_many => {
                taken.extend(free.iter().cloned());
                map.insert(parameter.name.to_owned(), free.into());
            }
            [only] => {
                taken.push(only.clone());
                map.insert(parameter.name.to_owned(), only.clone().into());
            }
            _ if parameter.is_required => problems.push(parameter.problem(None, files)),
            // An empty text is no file.
            _ => drop(map.shift_remove(parameter.name)),
        }
    }
    if problems.is_empty() { Ok(args) } else { Err(problems) }
}

/// The arguments themselves, also where a model wrapped them once.
fn inner<'a>(schema: &Value, args: &'a mut Value) -> Option<&'a mut Map<String, Value>> {
    let map = args.as_object_mut()?;
    let is_wrapped = map.len() == 1
        && map.get("arguments").is_some_and(Value::is_object)
        && schema["properties"].get("arguments").is_none();
    if is_wrapped { map.get_mut("arguments")?.as_object_mut() } else { Some(map) }
}

fn is_missing(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.trim().is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Bool(_) | Value::Number(_) | Value::Object(_)) => false,
    }
}

/// The names in an argument; anything else is left to the schema.
fn texts(value: &mut Value) -> Vec<&mut String> {
    match value {
        Value::Number(number) => {
            *value = number.to_string().into();
            texts(value)
        }
        Value::String(text) if text.trim().is_empty() => Vec::new(),
        Value::String(text) => vec![text],
        Value::Array(items) => items
            .iter_mut()
            .filter_map(|item| match item {
                Value::String(text) => Some(text),
                _ => None,
            })
            .collect(),
        Value::Null | Value::Bool(_) | Value::Object(_) => Vec::new(),
    }
}

impl Parameter<'_> {
    fn file(&self, said: &str, files: &[FileRef]) -> Result<String, Problem> {
        let file = named(said, files).filter(|file| self.takes(file));
        file.map(|file| canonical(file, files)).ok_or_else(|| self.problem(Some(said), files))
    }

    /// Whether it is of the wanted type; one whose type nobody knows may be.
    fn takes(&self, file: &FileRef) -> bool {
        let (Some(wants), Some(is)) = (self.wants, file.media_type.as_deref()) else { return true };
        let is = is.split(';').next().unwrap_or(is).trim();
        match wants.strip_suffix('*') {
            Some(start) => is.starts_with(start),
            None => wants == "application/octet-stream" || is.eq_ignore_ascii_case(wants),
        }
    }

    fn problem(&self, said: Option<&str>, files: &[FileRef]) -> Problem {
        let of_type = self.wants.filter(|wants| *wants != "application/octet-stream");
        let of_type = of_type.map(|wants| format!(" of the type {wants}")).unwrap_or_default();
        let names: Vec<_> = files.iter().take(LISTED).map(|file| format!("'{}'", canonical(file, files))).collect();
        let hint = match names.as_slice() {
            [] => "attach it to the message that asks for this".to_owned(),
            names => format!("with the message came {}", names.join(", ")),
        };
        Problem {
            path: self.name.to_owned(),
            expected: format!("a file{of_type} that came with the message"),
            got: said.map(|said| format!("'{}'", text::one_line(said, 80))),
            hint: Some(hint),
        }
    }
}

#[cfg(test)]
mod tests {
    use contract::Opaque;
    use serde_json::json;

    use super::*;

    fn files(names: &[(&str, &str)]) -> Vec<FileRef> {
        let file = |(name, kind): &(&str, &str)| FileRef {
            name: (*name).to_owned(),
            media_type: (!kind.is_empty()).then(|| (*kind).to_owned()),
            size: None,
            handle: Opaque::default(),
        };
        names.iter().map(file).collect()
    }

    fn schema(required: &[&str]) -> Value {
        json!({"type": "object", "required": required, "properties": {
            "picture": {"type": "string", "contentMediaType": "image/*"},
            "file": {"type": "string", "format": "file", "description": "what to send"},
            "all": {"type": "array", "items": {"type": "string", "format": "file"}},
            "note": {"type": "string"},
            "encoded": {"type": "string", "contentEncoding": "base64", "contentMediaType": "image/png"},
        }})
    }

    #[test]
    fn parameters_that_take_files_are_known_by_their_schema() {
        let schema = schema(&["file"]);
        let names: Vec<_> = parameters(&schema).iter().map(|p| (p.name, p.is_many)).collect();
        assert_eq!(names, [("file", false), ("picture", false), ("all", true)]);
        let told = told(&schema);
        assert_eq!(
            told["properties"]["file"]["description"],
            "what to send (the name of a file that came with the message)"
        );
        assert_eq!(told["properties"]["note"], schema["properties"]["note"]);
    }

    #[test]
    fn the_only_file_that_fits_is_taken_where_nothing_is_said() {
        let schema = |name: &str| json!({"required": [name], "properties": {name: schema(&[])["properties"][name]}});
        let files = files(&[("a.pdf", "application/pdf"), ("b.png", "image/png")]);
        assert_eq!(filled(&schema("picture"), json!({}), &files), Ok(json!({"picture": "b.png"})));
        assert_eq!(filled(&schema("all"), json!({"all": null}), &files), Ok(json!({"all": ["a.pdf", "b.png"]})));
        assert_eq!(filled(&schema("file"), json!({}), &files[..1]), Ok(json!({"file": "a.pdf"})));
        assert_eq!(
            filled(&schema("file"), json!({"arguments": {"n": 1}}), &files[..1]),
            Ok(json!({"arguments": {"n": 1, "file": "a.pdf"}}))
        );
        let problem = filled(&schema("file"), json!({"file": " "}), &files).unwrap_err().remove(0);
        assert_eq!(problem.hint.as_deref(), Some("with the message came 'a.pdf', 'b.png'"));
        let problem = filled(&schema("file"), json!({}), &[]).unwrap_err().remove(0);
        assert_eq!(problem.hint.as_deref(), Some("attach it to the message that asks for this"));
    }

    #[test]
    fn a_file_has_one_name_however_it_was_named() {
        let schema = json!({"properties": {"file": {"type": "string", "format": "file"}}});
        let files = files(&[("Scan 1.PDF", ""), ("photo.jpg", ""), ("photo.jpg", ""), ("2", "")]);
        let named = |said: Value| filled(&schema, json!({ "file": said }), &files).map(|args| args["file"].clone());
        for (said, is) in [
            (json!("scan 1.pdf"), "Scan 1.PDF"),
            (json!("#1"), "Scan 1.PDF"),
            (json!(1), "Scan 1.PDF"),
            (json!("3"), "#3"),
            (json!("#2"), "#2"),
            (json!("2"), "2"),
        ] {
            assert_eq!(named(said.clone()), Ok(json!(is)), "{said}");
        }
        for none in ["photo.jpg", "0", "5", "#", "other.pdf", "../Scan 1.PDF"] {
            assert!(named(json!(none)).is_err(), "{none}");
        }
        // What is no name at all is the schema's to refuse.
        assert_eq!(named(json!(true)), Ok(json!(true)));
    }

    #[test]
    fn two_parameters_do_not_take_one_file() {
        let schema = schema(&["file"]);
        let one = files(&[("b.png", "image/png")]);
        assert_eq!(filled(&schema, json!({}), &one), Ok(json!({"file": "b.png"})));
        let two = files(&[("b.png", "image/png"), ("c.txt", "text/plain")]);
        assert_eq!(filled(&schema, json!({"picture": "1"}), &two), Ok(json!({"picture": "b.png", "file": "c.txt"})));
        let wrong = filled(&schema, json!({"picture": "c.txt", "file": "b.png"}), &two).unwrap_err();
        assert_eq!(wrong[0].expected, "a file of the type image/* that came with the message");
    }
}
