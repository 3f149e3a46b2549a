//! `toolgate up`: the gateway as a service.

use std::sync::Arc;

use tracing::info;

use crate::{
    config::{Client, Config, Secret},
    run::{
        Ended,
        adapters::accounts,
        gateway::{self, asked_to_stop, open_store},
        hooks,
    },
    sources::{Origins, endpoints},
};

/// Runs until it is told to stop. With `json`: a line with where it is, when it is ready.
#[expect(clippy::print_stdout, reason = "programs are told where it is on standard output")]
pub async fn up(config: &Config, json: bool) -> Result<(), Ended> {
    let models = gateway::models(config)?;
    let stores = open_store(config).await?;
    let endpoints = endpoints(config);
    let settings = hooks::added(gateway::settings_of_up(config), config, &endpoints)?;
    let mut running = gateway::open(Origins::of(config), stores, settings, models, endpoints).await?;
    hooks::report(config, &running.gateway);
    running.watch();
    running.connect(accounts(&config.platforms).await?);
    let platforms = config.platforms.count();
    // Before anything is fetched from a platform: where the port is taken, another gateway may be at work.
    let web = running.serve(web::Config { hooks: Some(running.hooks()), ..web_config(config) }).await?;
    running.start();
    let tools = running.gateway.snapshot().tools.tools().len();
    info!(url = web.url, store = %config.store, tools, platforms, "toolgate is up");
    if json {
        println!("{}", serde_json::json!({ "gateway": web.url, "store": config.store.to_string() }));
    }
    if let Some(models) = &config.model {
        info!(name = models.first.name, others = models.fallback.len(), "a language model reads what people say");
    }
    if platforms == 0 {
        info!("no platform is configured: only HTTP is served; see the README for connecting a bot");
    }
    asked_to_stop().await;
    running.stop(Some(web)).await;
    Ok(())
}

fn web_config(config: &Config) -> web::Config {
    web::Config {
        listen: config.listen,
        admin: config.admin_token.as_ref().map(token),
        clients: config.clients.iter().map(client).collect(),
        pages: None,
        hooks: None,
        allowed_origins: Vec::new(),
    }
}

fn client(client: &Client) -> web::Client {
    web::Client {
        name: client.name.clone(),
        token: token(&client.token),
        platform: client.platform,
        tenant: client.tenant.clone(),
    }
}

/// Read again whenever it is used, so that a rotated token counts at once.
fn token(secret: &Secret) -> web::Token {
    let secret = Arc::new(secret.clone());
    web::token(move || {
        let secret = secret.clone();
        async move { secret.read().await.ok() }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::{Json, Router};

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn nothing_is_asked_of_a_platform_where_the_port_is_taken() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let answer = move || {
            count.fetch_add(1, Ordering::SeqCst);
            async { Json(serde_json::json!({ "ok": true, "result": [] })) }
        };
        // Both the platform and what holds the port.
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let taken = listener.local_addr().unwrap();
        tokio::spawn(axum::serve(listener, Router::new().fallback(answer)).into_future());
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("token"), "123456789:token-of-nobody-at-all-and-nowhere").unwrap();
        let text = format!(
            "listen: {taken}\nstore: sqlite:a.db\nplatforms: {{ telegram: {{ token: 'file:token', api_url: 'http://{taken}' }} }}\n"
        );
        let config = crate::config::parse(Some(&folder.path().join("toolgate.yaml")), &text, []).unwrap().config;
        let ended = up(&config, false).await.unwrap_err();
        assert_eq!(ended.code(), 1);
        let words = format!("cannot listen on {taken} (address in use); choose another address with --listen");
        assert_eq!(ended.to_string(), words);
        assert_eq!(asked.load(Ordering::SeqCst), 0);
    }
}
