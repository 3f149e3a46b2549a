//! A program with a gateway inside it and a tool that is a Rust function: `cargo run -p toolgate --example embedded`.

use std::{error::Error, sync::Arc, time::Duration};

use async_trait::async_trait;
use contract::{Accepted, Address, Heard, Inbox, Kind, Message, Platform, Sender};
use dispatch::{Gateway, Options, Settings, Snapshot, say, tree};
use endpoints::{Endpoints, Native};
use policies::{Policies, Source};
use serde_json::{Value, json};
use tools::{Cx, Registry, ToolFailure};

const TOOLS: &str = "
name: count_words
toolset: text
description: Counts the words of a text
parameters: { type: object, required: [text], properties: { text: { type: string } } }
returns: { type: object }
permissions: [read]
endpoint: { type: native, name: count_words }
";
const POLICY: &str = "platform: api\ntoolsets: { allow: [text] }\n";

struct CountWords;

#[async_trait]
impl Native for CountWords {
    async fn call(&self, args: &Value, _cx: &Cx<'_>) -> Result<Value, ToolFailure> {
        let text = args["text"].as_str().unwrap_or_default();
        Ok(json!({ "words": text.split_whitespace().count(), "letters": text.chars().count() }))
    }
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "this is what the example shows")]
async fn main() -> Result<(), Box<dyn Error>> {
    rustls::crypto::ring::default_provider().install_default().map_err(|_| "another TLS provider is installed")?;
    println!("{}", embedded().await?);
    Ok(())
}

/// A gateway for one message; what came of it.
pub async fn embedded() -> Result<String, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let stores =
        store::open(&format!("sqlite:{}/state.db", folder.path().display()), store::Options::default()).await?;

    // Tools and policies; a new snapshot may be swapped in at any time.
    let tools = Registry::new(Arc::new(Endpoints::new().native("count_words", CountWords)));
    let loaded = tools.load_with(&[], &[("embedded.yaml", TOOLS)]);
    let parsed = Policies::parse(&[Source::new("api.yaml", POLICY)]).map_err(|errors| format!("{errors:?}"))?;
    let compiled = parsed.policies.compile(&loaded.snapshot.facts()).map_err(|errors| format!("{errors:?}"))?;
    let snapshot = Snapshot::new(loaded.snapshot, Arc::new(compiled.0), 1);

    let settings = Settings { drain: Duration::from_secs(5), ..Settings::default() };
    let gateway = Gateway::open(Options { stores: stores.clone(), snapshot, settings, model: None });
    gateway.start();

    // Replies on `api` wait in the store until they are asked for; `connect` brings those of a platform to it.
    let message = Message {
        key: "the sender's own id of this message".into(),
        address: Address { direct: true, ..Address::new(Platform::Api, "example", "a-conversation") },
        sender: Sender { id: "7".into(), name: "Ada".into() },
        roles: Vec::new(),
        kind: Kind::Text { text: "/count_words how many words are these".into() },
        heard: Heard::Direct,
        files: Vec::new(),
        quote: None,
        from_bot: false,
        locale: None,
        at_ms: 0,
    };
    let Accepted::Turn { id, .. } = gateway.accept(message).await? else { return Err("not a turn".into()) };
    let reply = gateway.reply(id).await?.map(|reply| say::plain(&reply)).unwrap_or_default();
    let tree = tree::draw_text(&gateway.tree(id).await?, true);

    gateway.drain().await;
    stores.close().await;
    Ok(format!("{reply}\n\n{tree}"))
}
