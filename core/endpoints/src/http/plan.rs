//! Where the arguments go that neither the address nor a header names, and how a body is made of them.

use contract::Finding;
use reqwest::{
    Method,
    header::{CONTENT_TYPE, HeaderMap},
};
use serde_json::{Map, Value};
use tools::{
    Spec, files,
    spec::{HttpSpec, Placed},
};

use super::{headers::Headers, payload::Rename, target::Target};

#[derive(Debug)]
pub struct Plan {
    rename: Rename,
    /// Arguments whose place the spec names; the others go to the query or into the body, by the method.
    said: Vec<(String, Placed)>,
    rest_to_query: bool,
    /// Nothing where no argument goes into a body.
    pub kind: Option<Kind>,
    /// Parameters that take files of the message.
    pub files: Vec<String>,
    /// Most bytes of the files of one call.
    pub limit: u64,
}

/// How a body is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    Json,
    Form,
    Multipart,
    /// Of one argument, as it is.
    Raw(String),
}

impl Plan {
    pub fn new(
        spec: &Spec,
        http: &HttpSpec,
        method: &Method,
        target: &Target,
        headers: &Headers,
        rename: Rename,
    ) -> Result<Self, Finding> {
        placed_once(spec, http, target, headers)?;
        let rest_to_query = matches!(*method, Method::GET | Method::HEAD | Method::DELETE);
        let has_body = !rest_to_query || http.places.iter().any(|(_, placed)| *placed == Placed::Body);
        let files = files::parameters(&spec.parameters).into_iter().map(|file| file.name.to_owned()).collect();
        let said = http.places.clone();
        let mut plan = Self { rename, said, rest_to_query, kind: None, files, limit: http.file_limit };
        let elsewhere: Vec<&str> = target.params().chain(headers.params()).collect();
        for file in &plan.files {
            if elsewhere.contains(&file.as_str()) || plan.is_in_query(file) {
                let error = spec.error_at("endpoint", format!("'{file}' is a file, which only a body can carry"));
                return Err(error.hint(format!("use 'method: POST', or say 'in: {{ {file}: body }}'")));
            }
        }
        if has_body {
            let properties = spec.parameters.get("properties").and_then(Value::as_object);
            let names = properties.into_iter().flat_map(Map::keys).map(String::as_str);
            let of_body: Vec<&str> =
                names.filter(|name| !elsewhere.contains(name) && !plan.is_in_query(name)).collect();
            let kind = kind(spec, &headers.fixed, &of_body)?;
            if let Kind::Raw(name) = &kind
                && files::parameters(&spec.parameters).iter().any(|file| file.name == name && file.is_many)
            {
                let error = spec.error_at("endpoint.headers", format!("'{name}' is several files: one is a body"));
                return Err(error.hint("use multipart/form-data"));
            }
            plan.kind = Some(kind);
        }
        Ok(plan)
    }

    fn is_in_query(&self, name: &str) -> bool {
        match self.said.iter().find(|(said, _)| said == name) {
            Some((_, placed)) => *placed == Placed::Query,
            None => self.rest_to_query,
        }
    }

    /// The arguments of the query and those of the body, under their outside names.
    pub fn split(&self, args: Map<String, Value>) -> (Map<String, Value>, Map<String, Value>) {
        let (mut query, mut body) = (Map::new(), Map::new());
        for (name, value) in args {
            if self.is_in_query(&name) { &mut query } else { &mut body }.insert(name, value);
        }
        self.rename.apply(&mut query);
        if !matches!(self.kind, Some(Kind::Raw(_))) {
            self.rename.apply(&mut body);
        }
        (query, body)
    }

    /// Where an argument stands in the body.
    pub fn place(&self, name: &str) -> Vec<String> {
        self.rename.exact(name).map_or_else(|| vec![name.to_owned()], <[String]>::to_vec)
    }
}

/// Each argument has one place, and those that `in` names are parameters.
fn placed_once(spec: &Spec, http: &HttpSpec, target: &Target, headers: &Headers) -> Result<(), Finding> {
    let known = spec.parameters.get("properties").and_then(Value::as_object);
    for (name, placed) in &http.places {
        let at = format!("endpoint.in.{name}");
        if let Some(known) = known.filter(|known| !known.contains_key(name)) {
            let error = spec.error_at(&at, format!("'{name}' is not among the parameters"));
            return Err(match contract::text::nearest(name, known.keys().map(String::as_str)) {
                Some(near) => error.hint(format!("did you mean '{near}'?")),
                None => error,
            });
        }
        let is_in_url = target.params().any(|param| param == name);
        let is_in_header =
            headers.params().filter(|param| param == name).count() > usize::from(*placed == Placed::Header);
        match placed {
            Placed::Path if !is_in_url => {
                let error = spec.error_at(&at, format!("'{name}' has no place in the path"));
                return Err(error.hint(format!("write '{{{name}}}' in 'url' where it belongs")));
            }
            Placed::Query | Placed::Header | Placed::Body if is_in_url => {
                return Err(spec.error_at(&at, format!("'{name}' stands in 'url' already")));
            }
            _ if is_in_header => return Err(spec.error_at(&at, format!("'{name}' stands in a header already"))),
            Placed::Path | Placed::Query | Placed::Header | Placed::Body => {}
        }
    }
    Ok(())
}

/// By the content type; one that is none of those made of names takes a single argument as it is.
fn kind(spec: &Spec, headers: &HeaderMap, of_body: &[&str]) -> Result<Kind, Finding> {
    let header = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("application/json");
    let header = header.to_ascii_lowercase();
    match header.split(';').next().unwrap_or_default().trim() {
        "application/x-www-form-urlencoded" => Ok(Kind::Form),
        "multipart/form-data" => Ok(Kind::Multipart),
        json if json == "application/json" || json.ends_with("+json") => Ok(Kind::Json),
        other => match of_body {
            [only] => Ok(Kind::Raw((*only).to_owned())),
            names => {
                let message = format!("a body of the type '{other}' is one parameter as it is, not {}", names.len());
                let hint = "place the others with 'in', or use application/json, multipart/form-data or \
                            application/x-www-form-urlencoded";
                Err(spec.error_at("endpoint.headers", message).hint(hint))
            }
        },
    }
}

/// A raw body of an argument that is no file: text as it is, anything else as JSON.
pub fn raw(body: &Map<String, Value>, name: &str) -> Vec<u8> {
    match body.get(name) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) => text.clone().into_bytes(),
        Some(other) => other.to_string().into_bytes(),
    }
}
