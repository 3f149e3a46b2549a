//! Tools of the cases' own.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use conformance::Options;
use contract::{Content, Message, Reply};
use endpoints::Native;
use serde_json::{Value, json};
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
