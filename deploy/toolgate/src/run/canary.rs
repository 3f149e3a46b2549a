//! A secret that is used is looked for wherever the gateway shows or keeps anything: it is nowhere.
//!
//! The tool and its credential are the first example of docs/CREDENTIALS.md, run against services of this test.

use std::{
    io::Write,
    path::Path,
    sync::{Arc, Mutex},
};

use axum::{Json, Router, body::Bytes, extract::Path as At, http::HeaderMap, response::IntoResponse, routing};
use serde_json::{Value, json};

use super::gateway;
use crate::{
    config,
    log::Masked,
    sources::{Origins, endpoints},
};

const CLIENT_SECRET: &str = "canary/client+secret-0815";
const TOKEN: &str = "canary.access-token-4711";

/// What the language model was told.
type Prompts = Arc<Mutex<String>>;

/// A service that repeats whatever it is sent, whoever gives out tokens for it, and a language model.
async fn services(prompts: Prompts) -> String {
    let token = |headers: HeaderMap| async move {
        // Shown as RFC 6749 has it, and repeated.
        assert!(headers["authorization"].to_str().unwrap().starts_with("Basic "));
        Json(json!({ "access_token": TOKEN, "token_type": "Bearer", "expires_in": 3_600, "scope": "reports.read" }))
    };
    let chat = move |body: Bytes| async move {
        let body = String::from_utf8_lossy(&body).into_owned();
        prompts.lock().unwrap().push_str(&body);
        let asked: Value = serde_json::from_str(&body).unwrap();
        let last = asked["messages"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
        let call = json!({ "name": "sales_report", "arguments": "{\"month\":\"2026-01\"}" });
        let (delta, end) = match last["role"] == "tool" {
            true => (json!({ "content": format!("it said {}", last["content"]) }), "stop"),
            false => (
                json!({ "tool_calls": [{ "index": 0, "id": "a", "type": "function", "function": call }] }),
                "tool_calls",
            ),
        };
        let chunk = json!({ "object": "chat.completion.chunk", "model": "m", "choices": [{ "index": 0, "delta": delta, "finish_reason": end }] });
        ([("content-type", "text/event-stream")], format!("data: {chunk}\n\ndata: [DONE]\n\n"))
    };
    let app = Router::new()
        .route("/oauth/token", routing::post(token))
        .route("/sales/{month}", routing::get(sales))
        .route("/v1/chat/completions", routing::post(chat));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    address.to_string()
}

async fn sales(At(month): At<String>, headers: HeaderMap) -> axum::response::Response {
    let sent = headers["authorization"].to_str().unwrap();
    assert_eq!(sent, format!("Bearer {TOKEN}"));
    let words = format!("you sent '{sent}', that is {CLIENT_SECRET} or canary%2Fclient%2Bsecret-0815");
    match month.as_str() {
        "failed" => (axum::http::StatusCode::INTERNAL_SERVER_ERROR, words).into_response(),
        "refused" => (axum::http::StatusCode::UNAUTHORIZED, words).into_response(),
        "broken" => ([("content-type", "application/json")], format!("{{{words}")).into_response(),
        "wrong" => Json(json!({ "total": words })).into_response(),
        _ => Json(json!({ "total": 1, "note": words, TOKEN: [words] })).into_response(),
    }
}

/// The first blocks of the page, with our services in place of theirs.
fn example(address: &str) -> (String, String) {
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/CREDENTIALS.md")).unwrap();
    let block = |info: &str| {
        let rest = page.split_once(&format!("```{info}\n")).expect("the page has such a block").1;
        let block = rest.split_once("```").expect("the block ends").0;
        let block = block.replace("https://login.example.org", &format!("http://{address}"));
        let block = block.replace("https://reports.example.org", &format!("http://{address}"));
        block.replace("reports.example.org", "127.0.0.1").replace("env:REPORT_CLIENT_SECRET", "file:client-secret")
    };
    (block("yaml config"), block("yaml tool"))
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Everything in a folder, one after the other.
fn everything(folder: &Path, out: &mut Vec<u8>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.path() {
            path if path.is_dir() => everything(&path, out),
            path if path.ends_with("client-secret") => {}
            path => out.extend(std::fs::read(path).unwrap()),
        }
    }
}

fn has(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|window| window == word.as_bytes())
}

#[tokio::test]
async fn a_secret_that_is_used_is_shown_and_kept_nowhere() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let lines = Lines::default();
    let writer = lines.clone();
    let log = tracing_subscriber::fmt()
        .with_env_filter("trace")
        .with_ansi(false)
        .with_writer(move || Masked(writer.clone()))
        .finish();
    let _log = tracing::subscriber::set_default(log);
    let prompts = Prompts::default();
    let address = services(prompts.clone()).await;
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let (config, tool) = example(&address);
    for sub in ["tools", "platform-policies"] {
        std::fs::create_dir(folder.path().join(sub)).unwrap();
    }
    write("client-secret", &format!("{CLIENT_SECRET}\n"));
    write("tools/sales.yaml", &tool);
    write("platform-policies/api.yaml", "platform: api\ntoolsets: { allow: [default] }\n");
    let model = format!("model: {{ provider: openai, name: m, base_url: 'http://{address}/v1' }}\n");
    let config = format!("listen: 127.0.0.1:0\nstore: sqlite:toolgate.db\n{model}{config}");
    let config = config::parse(Some(&folder.path().join("toolgate.yaml")), &config, []).unwrap().config;

    let stores = gateway::open_store(&config).await.unwrap();
    let models = gateway::models(&config).unwrap();
    let origins = Origins::of(&config);
    let running = gateway::open(origins, stores, gateway::settings(&config), models, endpoints(&config)).await.unwrap();
    let listen = config.listen;
    let web = web::Config { listen, admin: None, clients: vec![], pages: None, hooks: None, allowed_origins: vec![] };
    let web = running.serve(web).await.unwrap();
    running.start();
    assert!(running.is_ours().await);

    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut shown = String::new();
    for month in ["2026-01", "failed", "refused", "broken", "wrong"] {
        let url = format!("{}/v1/tools/sales_report/invoke", web.url);
        let said = http.post(url).json(&json!({ "month": month })).send().await.unwrap().text().await.unwrap();
        assert!(said.contains("reference"), "{said}");
        shown.push_str(&said);
    }
    let url = format!("{}/v1/messages", web.url);
    let said = http.post(url).json(&json!({ "text": "how much was sold?" })).send().await.unwrap();
    let said = said.text().await.unwrap();
    assert!(said.contains("it said") && said.contains("you sent 'Bearer ***'"), "{said}");
    shown.push_str(&said);
    let get = async |path: String| http.get(format!("{}{path}", web.url)).send().await.unwrap().text().await.unwrap();
    let mut traces = Value::Null;
    for _ in 0..100 {
        let answer: Value = serde_json::from_str(&get("/v1/traces".into()).await).unwrap();
        traces = answer["traces"].clone();
        if traces.as_array().is_some_and(|all| all.len() >= 6) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    shown.push_str(&traces.to_string());
    for turn in traces.as_array().unwrap() {
        let reference = turn["turn"].as_str().unwrap();
        let tree = get(format!("/v1/traces/{reference}")).await;
        assert!(tree.contains("sales_report"), "{tree}");
        shown.push_str(&tree);
    }
    running.stop(Some(web)).await;

    let mut kept = Vec::new();
    everything(folder.path(), &mut kept);
    let logged = lines.0.lock().unwrap().clone();
    let prompted = prompts.lock().unwrap().clone();
    assert!(has(&kept, "sales_report") && has(&logged, "sales_report") && prompted.contains("you sent 'Bearer ***'"));
    let basic = "dG9vbGdhdGU6Y2FuYXJ5";
    for word in [CLIENT_SECRET, TOKEN, "canary%2Fclient%2Bsecret-0815", basic] {
        assert!(!shown.contains(word), "{word} is shown: {shown}");
        assert!(!prompted.contains(word), "{word} is in a prompt: {prompted}");
        assert!(!has(&kept, word), "{word} is kept");
        assert!(!has(&logged, word), "{word} is in the log");
    }
}
