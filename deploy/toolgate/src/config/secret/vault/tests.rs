use std::{
    path::Path,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use axum::{
    Json, Router,
    extract::{Path as At, State},
    http::{HeaderMap, StatusCode as Status},
};
use serde_json::json;

use super::*;

/// A server that speaks as Vault does: one engine at `secret`, version 2.
#[derive(Default)]
struct Server {
    asked: AtomicUsize,
    sealed: AtomicBool,
    token: Lock<String>,
}

const VAULT_TOKEN: &str = "hvs.the-token-of-the-gateway";

async fn answer(At(path): At<String>, State(server): State<Arc<Server>>, headers: HeaderMap) -> (Status, Json<Value>) {
    server.asked.fetch_add(1, Ordering::SeqCst);
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if server.sealed.load(Ordering::SeqCst) {
        return (Status::SERVICE_UNAVAILABLE, Json(json!({ "errors": ["Vault is sealed"] })));
    }
    if header("x-vault-token") != VAULT_TOKEN || header("x-vault-namespace") != "team" {
        return (Status::FORBIDDEN, Json(json!({ "errors": ["permission denied"] })));
    }
    let token = server.token.lock().unwrap().clone();
    let data = match path.as_str() {
        "secret/data/orders" => json!({ "data": { "token": token, "pin": 12345678, "list": [] }, "metadata": {} }),
        "secret/data/gone" => json!({ "data": null, "metadata": { "destroyed": true } }),
        "secret/data/old" => json!({ "token": "of version 1" }),
        _ => return (Status::NOT_FOUND, Json(json!({ "errors": [] }))),
    };
    (Status::OK, Json(json!({ "request_id": "x", "data": data })))
}

async fn start() -> (Arc<Server>, Arc<Vault>, tempfile::TempDir) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let server = Arc::new(Server::default());
    *server.token.lock().unwrap() = "first-token".into();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new().route("/v1/{*path}", axum::routing::get(answer)).with_state(server.clone());
    tokio::spawn(async move { axum::serve(listener, app).await });
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("vault-token"), format!("{VAULT_TOKEN}\n")).unwrap();
    let vault = Arc::new(Vault::default());
    vault.set(Settings {
        address: Some(format!("http://{address}/")),
        token: Some(Secret::parse("vault.token", "file:vault-token", folder.path()).unwrap()),
        namespace: Some("team".into()),
    });
    (server, vault, folder)
}

fn secret(text: &str, vault: &Arc<Vault>) -> Secret {
    Secret::parse_with("credential_store.x.token", text, Path::new("/"), vault).unwrap()
}

async fn read(text: &str, vault: &Arc<Vault>) -> Result<String, String> {
    let read = secret(text, vault).read().await;
    read.map(|secret| secret.expose_secret().to_owned()).map_err(|error| error.why)
}

#[tokio::test]
async fn a_secret_is_read_once_for_all_keys_and_all_who_ask() {
    let (server, vault, _folder) = start().await;
    let asks = (0..20).map(|_| read("vault:secret/orders#token", &vault));
    assert!(futures_util::future::join_all(asks).await.iter().all(|read| read.as_deref() == Ok("first-token")));
    assert_eq!(read("vault:/secret/data/orders#pin", &vault).await, Ok("12345678".into()));
    assert_eq!(read("vault:secret/orders#pin", &vault).await, Ok("12345678".into()));
    assert_eq!(server.asked.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_rotated_secret_is_read_anew_when_the_old_one_is_not_accepted() {
    let (server, vault, _folder) = start().await;
    let token = secret("vault:secret/orders#token", &vault);
    assert_eq!(token.read().await.unwrap().expose_secret(), "first-token");
    *server.token.lock().unwrap() = "second-token".into();
    assert_eq!(token.read().await.unwrap().expose_secret(), "first-token");
    assert_eq!(token.read_name(true).await.unwrap().expose_secret(), "second-token");
    assert_eq!(token.read().await.unwrap().expose_secret(), "second-token");
}

#[tokio::test]
async fn a_sealed_vault_is_bridged_and_a_missing_secret_is_not() {
    let (server, vault, _folder) = start().await;
    assert_eq!(read("vault:secret/orders#token", &vault).await, Ok("first-token".into()));
    server.sealed.store(true, Ordering::SeqCst);
    let again = secret("vault:secret/orders#token", &vault).read_name(true).await.unwrap();
    assert_eq!(again.expose_secret(), "first-token");
    assert_eq!(read("vault:secret/other#token", &vault).await.unwrap_err(), "Vault answered 503: Vault is sealed");
}

#[tokio::test]
async fn whatever_is_wrong_is_said_without_a_secret() {
    let (_server, vault, _folder) = start().await;
    for (text, wanted) in [
        ("vault:secret/nothing#token", "Vault has nothing at secret/nothing"),
        ("vault:secret/orders#tokn", "there is no 'tokn' in Vault's secret/orders"),
        ("vault:secret/orders#list", "there is no 'list' in Vault's secret/orders"),
        ("vault:secret/gone#token", "what Vault had at secret/gone is deleted"),
        ("vault:secret/old#token", "Vault's secret/old is not of the key-value engine, version 2"),
    ] {
        assert_eq!(read(text, &vault).await.unwrap_err(), wanted);
    }
    let stranger = Arc::new(Vault::default());
    let address = vault.settings.get().and_then(|settings| settings.address.clone());
    let token = Secret::parse("vault.token", "exec:echo hvs.somebody-else", Path::new("/")).unwrap();
    stranger.set(Settings { address, token: Some(token), namespace: None });
    let refused = read("vault:secret/orders#token", &stranger).await.unwrap_err();
    assert_eq!(refused, "Vault does not let the gateway read secret/orders: permission denied");
    let away = Arc::new(Vault::default());
    let token = Secret::parse("vault.token", "exec:echo hvs.somebody-else", Path::new("/")).unwrap();
    away.set(Settings { address: Some("http://127.0.0.1:1".into()), token: Some(token), namespace: None });
    let refused = read("vault:secret/orders#token", &away).await.unwrap_err();
    assert!(refused.starts_with("Vault could not be asked for secret/orders: "), "{refused}");
    assert!(!refused.contains("127.0.0.1") && !refused.contains("hvs."), "{refused}");
}

#[test]
fn a_path_is_written_as_people_or_as_the_api_write_it() {
    assert_eq!(api_path("secret/orders"), "secret/data/orders");
    assert_eq!(api_path("secret/team/orders"), "secret/data/team/orders");
    assert_eq!(api_path("secret/data/orders"), "secret/data/orders");
    assert_eq!(api_path("deep/mount/data/orders"), "deep/mount/data/orders");
}
