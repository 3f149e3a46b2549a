//! Texts with `{param}`s: what a program is called with and what it reads (pure).

use contract::{Finding, Problem, text};
use serde_json::{Map, Value};
use tools::Spec;

/// In standard input: all arguments, as one JSON object.
const ALL: &str = "*";
const BRACES: &str = "a brace itself is written twice: {{ and }}";

/// A text with places in it; `{{` and `}}` are braces.
#[derive(Debug, Clone, PartialEq)]
pub struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Text(String),
    Param(String),
}

impl Template {
    pub fn parse(template: &str) -> Result<Self, String> {
        let (mut pieces, mut text) = (Vec::new(), String::new());
        let mut rest = template.chars();
        while let Some(c) = rest.next() {
            match (c, rest.as_str().chars().next()) {
                ('{' | '}', Some(next)) if next == c => {
                    text.push(c);
                    rest.next();
                }
                ('{', _) => {
                    let (name, after) = rest.as_str().split_once('}').ok_or("a brace without its partner")?;
                    if name.is_empty() || name.contains('{') {
                        return Err("a parameter without a name; a brace itself is written twice".into());
                    }
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                    pieces.push(Piece::Param(name.to_owned()));
                    rest = after.chars();
                }
                ('}', _) => return Err("a brace without its partner; a brace itself is written twice".into()),
                (c, _) => text.push(c),
            }
        }
        pieces.push(Piece::Text(text));
        pieces.retain(|piece| *piece != Piece::Text(String::new()));
        Ok(Self(pieces))
    }

    fn params(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Param(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }

    /// Nothing when an argument in it is absent.
    fn fill(&self, args: &Map<String, Value>) -> Option<String> {
        let mut out = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Param(name) if name == ALL => out.push_str(&Value::Object(args.clone()).to_string()),
                Piece::Param(name) => out.push_str(&plain(args.get(name)?)?),
            }
        }
        Some(out)
    }

    fn begins_with_param(&self) -> Option<&str> {
        match self.0.first()? {
            Piece::Param(name) => Some(name),
            Piece::Text(_) => None,
        }
    }
}

/// As a program reads it; nothing of null.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => Some(value.to_string()),
    }
}

/// What a program is called with and what it reads.
#[derive(Debug)]
pub struct Line {
    argv: Vec<Template>,
    stdin: Option<Template>,
}

impl Line {
    pub fn build(spec: &Spec, argv: &[String], stdin: Option<&str>) -> Result<Self, Finding> {
        let read = |at: &str, text: &str, all: bool| {
            let template = Template::parse(text).map_err(|why| spec.error_at(at, why))?;
            for name in template.params().filter(|name| !(all && *name == ALL)) {
                known(spec, at, name)?;
            }
            Ok(template)
        };
        let element = |(n, text): (usize, &String)| read(&format!("endpoint.argv.{n}"), text, false);
        Ok(Self {
            argv: argv.iter().enumerate().map(element).collect::<Result<_, Finding>>()?,
            stdin: stdin.map(|text| read("endpoint.stdin", text, true)).transpose()?,
        })
    }

    /// The program and its arguments, and its input. An element whose argument is absent is left out; a value never
    /// becomes more than a part of one element, and never an option that the tool's owner did not write.
    pub fn fill(&self, args: &Map<String, Value>) -> Result<(Vec<String>, Option<String>), Vec<Problem>> {
        let (mut argv, mut problems, mut options_over) = (Vec::new(), Vec::new(), false);
        for template in &self.argv {
            let Some(element) = template.fill(args) else { continue };
            if element.contains('\0') {
                let name = template.params().next().unwrap_or_default();
                problems.push(problem(name, "text without the character NUL", &element));
            }
            if let Some(name) = template.begins_with_param()
                && element.starts_with('-')
                && !options_over
            {
                problems.push(problem(name, "a text that does not begin with '-'", &element));
            }
            options_over |= element == "--" && template.params().next().is_none();
            argv.push(element);
        }
        let stdin = self.stdin.as_ref().map(|template| template.fill(args).unwrap_or_default());
        if problems.is_empty() { Ok((argv, stdin)) } else { Err(problems) }
    }
}

fn problem(name: &str, expected: &str, got: &str) -> Problem {
    let got = Some(text::one_line(got, 80));
    Problem { path: name.to_owned(), expected: expected.to_owned(), got, hint: None }
}

/// What a place names has to be a parameter of the tool.
fn known(spec: &Spec, at: &str, name: &str) -> Result<(), Finding> {
    let known = spec.parameters.get("properties").and_then(Value::as_object);
    if known.is_some_and(|known| known.contains_key(name)) {
        return Ok(());
    }
    let error = spec.error_at(at, format!("'{}' is not among the parameters", text::one_line(name, 64)));
    let names = known.into_iter().flat_map(Map::keys).map(String::as_str);
    Err(match text::nearest(name, names) {
        Some(near) => error.hint(format!("did you mean '{near}'?")),
        None => error.hint(BRACES),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::spec;

    fn line(argv: &str, stdin: &str) -> Result<Line, Finding> {
        let spec = spec(&format!(
            "name: t\nparameters: {{ properties: {{ a: {{ type: string }}, b: {{}}, list: {{}} }} }}\n\
             endpoint: {{ type: command, argv: {argv}, stdin: '{stdin}' }}\n"
        ));
        let tools::spec::EndpointSpec::Command(command) = &spec.endpoint else { panic!("a command") };
        Line::build(&spec, &command.argv, command.stdin.as_deref())
    }

    fn filled(argv: &str, args: Value) -> Result<Vec<String>, Vec<String>> {
        let line = line(argv, "").unwrap();
        line.fill(args.as_object().unwrap())
            .map(|(argv, _)| argv)
            .map_err(|problems| problems.into_iter().map(|p| format!("{}: {}", p.path, p.expected)).collect())
    }

    #[test]
    fn a_value_stays_within_its_element() {
        let argv = "[grep, '--max={b}', --, '{a}', 'x{a}y']";
        assert_eq!(
            filled(argv, json!({"a": "one two; rm -rf / $(id)", "b": 3})).unwrap(),
            ["grep", "--max=3", "--", "one two; rm -rf / $(id)", "xone two; rm -rf / $(id)y"]
        );
        assert_eq!(filled("[p, '{list}']", json!({"list": ["a", "b"]})).unwrap(), ["p", r#"["a","b"]"#]);
    }

    #[test]
    fn an_element_whose_argument_is_absent_is_left_out() {
        assert_eq!(filled("[p, '--a={a}', '{b}', z]", json!({"b": null})).unwrap(), ["p", "z"]);
    }

    #[test]
    fn a_value_never_becomes_an_option() {
        let refused = ["a: a text that does not begin with '-'"];
        assert_eq!(filled("[p, '{a}']", json!({"a": "--output=/etc/x"})).unwrap_err(), refused);
        assert_eq!(filled("[p, '{a}.txt']", json!({"a": "-x"})).unwrap_err(), refused);
        assert_eq!(filled("[p, '{a}{b}']", json!({"a": "", "b": "-x"})).unwrap_err(), refused);
        assert!(filled("[p, --, '{a}']", json!({"a": "-x"})).is_ok());
        assert!(filled("[p, '{a}', --]", json!({"a": "-x"})).is_err());
        // What a caller says is no end of options.
        assert!(filled("[p, '{b}', '{a}']", json!({"a": "-x", "b": "--"})).is_err());
        assert_eq!(filled("[p, 'x{a}']", json!({"a": "\0"})).unwrap_err(), ["a: text without the character NUL"]);
    }

    #[test]
    fn braces_are_written_twice_and_names_have_to_be_known() {
        assert_eq!(filled("[awk, '{{print}}']", json!({})).unwrap(), ["awk", "{print}"]);
        let error = line("[p, '{aa}']", "").unwrap_err();
        assert_eq!(
            (error.message.as_str(), error.hint.as_deref()),
            ("'aa' is not among the parameters", Some("did you mean 'a'?"))
        );
        for bad in ["'{a'", "'a}'", "'{}'"] {
            assert!(line(&format!("[p, {bad}]"), "").is_err(), "{bad}");
        }
        assert!(line("[p, '{*}']", "").is_err());
    }

    #[test]
    fn all_arguments_may_be_read_as_json() {
        let args = json!({"a": "x", "b": [1]});
        let stdin = |template: &str| line("[p]", template).unwrap().fill(args.as_object().unwrap()).unwrap().1;
        assert_eq!(stdin("{*}").as_deref(), Some(r#"{"a":"x","b":[1]}"#));
        assert_eq!(stdin("say {a}!").as_deref(), Some("say x!"));
    }
}
