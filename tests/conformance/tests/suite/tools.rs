//! Tools of the cases' own.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use axum::{Router, extract::Multipart, response::IntoResponse};
use conformance::Options;
use contract::{Content, Message, Reply};
use endpoints::Native;
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tools::{Cx, Fault, ToolFailure};

/// Says something fixed.
struct Says(Value);

#[async_trait]
impl Native for Says {
    async fn call(&self, _args: &Value, _cx: &Cx<'_>) -> Result<Value, ToolFailure> {
        Ok(self.0.clone())
    }
}

/// Says what it was asked, as it came.
struct Echo;

#[async_trait]
impl Native for Echo {
    async fn call(&self, args: &Value, _cx: &Cx<'_>) -> Result<Value, ToolFailure> {
        Ok(json!(args.to_string()))
    }
}

/// Is not there.
struct Away;

#[async_trait]
impl Native for Away {
    async fn call(&self, _args: &Value, _cx: &Cx<'_>) -> Result<Value, ToolFailure> {
        Err(ToolFailure::new(Fault::Unavailable, "the far end is not there"))
    }
}

/// With a tool `says` whose answer is this Markdown.
pub fn says(answer: Value) -> Options {
    let tools = "---\nname: says\ntoolset: lab\ndescription: Says something\npermissions: [read]\n\
                 returns: { type: string, contentMediaType: text/markdown }\n\
                 endpoint: { type: native, name: says }\nmax_result_size_chars: 200000\n";
    with(tools.into(), vec![("says", Arc::new(Says(answer)))])
}

/// With tools that say what they were asked.
pub fn echoing(tools: &str) -> Options {
    with(tools.into(), vec![("echo", Arc::new(Echo))])
}

/// With a tool `away` that may be tried again, and one `risky` that may not.
pub fn failing() -> Options {
    let tools = "---\nname: away\ntoolset: lab\ndescription: Is away\npermissions: [read]\n\
                 endpoint: { type: native, name: away }\n---\nname: risky\ntoolset: lab\n\
                 description: Is away, and may not be repeated\nendpoint: { type: native, name: away }\n";
    with(tools.into(), vec![("away", Arc::new(Away))])
}

fn with(tools: String, natives: Vec<(&str, Arc<dyn Native>)>) -> Options {
    let natives = natives.into_iter().map(|(name, native)| (name.to_owned(), native)).collect();
    Options { tools, natives, ..Options::default() }
}

/// Sends a file that an earlier message brought, to where it came from.
#[derive(Default)]
pub struct Resends(pub Mutex<Option<Message>>);

#[async_trait]
impl Native for Resends {
    async fn call(&self, _args: &Value, cx: &Cx<'_>) -> Result<Value, ToolFailure> {
        let message = self.0.lock().expect("nobody panics").clone().expect("a message was given");
        let files = message.files.into_iter().map(Content::File);
        let content = std::iter::once(Content::Text("sent again".into())).chain(files).collect();
        cx.host.post(message.address, Reply { content, ..Reply::default() }).await?;
        Ok(json!("done"))
    }
}

/// With a tool `resends`.
pub fn resending(native: &Arc<Resends>) -> Options {
    let tools = "---\nname: resends\ntoolset: lab\ndescription: Sends a file again\n\
                 endpoint: { type: native, name: resends }\n";
    with(tools.into(), vec![("resends", native.clone())])
}

/// Says what is in the file that it was given.
struct Reads;

#[async_trait]
impl Native for Reads {
    async fn call(&self, args: &Value, cx: &Cx<'_>) -> Result<Value, ToolFailure> {
        let name = args["scan"].as_str().unwrap_or_default();
        let file = tools::files::named(name, cx.host.files()).expect("it is one of the message's");
        let mut stream = cx.host.open(file).await?;
        let mut bytes = Vec::new();
        while let Some(chunk) = stream.next().await {
            bytes.extend_from_slice(&chunk.expect("it is read"));
        }
        Ok(json!(format!("{name} holds {bytes:?} {}", args["note"].as_str().unwrap_or("and no note"))))
    }
}

/// With a tool `scan_read` that takes a file.
pub fn reading() -> Options {
    let tools = "---\nname: scan_read\ntoolset: lab\ndescription: Reads a scanned page\npermissions: [read]\n\
                 parameters:\n  type: object\n  required: [scan]\n  properties:\n    \
                 scan: { type: string, format: file }\n    note: { type: string }\n\
                 endpoint: { type: native, name: reads }\n";
    with(tools.into(), vec![("reads", Arc::new(Reads))])
}

/// Takes a file in a form and answers with what is in it, the other way round, as a document.
async fn turned_round(mut form: Multipart) -> impl IntoResponse {
    let (mut file, mut note) = (Vec::new(), String::new());
    while let Some(part) = form.next_field().await.expect("it is a form") {
        match part.file_name() {
            Some(name) => {
                note = format!("{note}{name}");
                file = part.bytes().await.expect("it is whole").to_vec();
            }
            None => note = part.text().await.expect("it is text"),
        }
    }
    file.reverse();
    let name = format!("attachment; filename=\"{note}.pdf\"");
    ([("content-type", "application/pdf".to_owned()), ("content-disposition", name)], file)
}

/// With a tool `turn_round` whose service takes a file and answers with one.
pub async fn turning() -> Options {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("it has one");
    let app = Router::new().route("/turn", axum::routing::post(turned_round));
    // Ends with the test's runtime.
    tokio::spawn(async move { axum::serve(listener, app).await });
    let tools = format!(
        "---\nname: turn_round\ntoolset: lab\ndescription: Turns a scanned page round\npermissions: [read]\n\
         parameters:\n  type: object\n  required: [scan]\n  properties:\n    \
         scan: {{ type: string, format: file }}\n    note: {{ type: string }}\n\
         endpoint:\n  method: POST\n  url: http://{address}/turn\n  headers: {{ content-type: multipart/form-data }}\n"
    );
    with(tools, Vec::new())
}
