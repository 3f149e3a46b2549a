//! Our side of a connection: hears what a server says by itself. It offers a server nothing: no model, no files, no
//! questions to people.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use rmcp::{
    ClientHandler, RoleClient,
    model::{ClientCapabilities, ClientConfig, Implementation, ProgressNotificationParam, ProgressToken},
    service::NotificationContext,
};
use tokio::sync::{Notify, watch};

/// What the server says by itself, sorted to those whom it concerns.
#[derive(Default)]
pub struct Client {
    /// The newest sign of life of each call that runs.
    progress: Mutex<HashMap<ProgressToken, watch::Sender<String>>>,
    /// The server's tools changed.
    pub changed: Notify,
}

/// Most characters of a sign of life.
const PROGRESS: usize = 200;

impl Client {
    /// Hears the signs of life of a call until it is dropped.
    pub fn hear(self: &Arc<Self>, token: ProgressToken) -> Heard {
        let (tell, hear) = watch::channel(String::new());
        self.lock().insert(token.clone(), tell);
        Heard { client: self.clone(), token, hear }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ProgressToken, watch::Sender<String>>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The signs of life of one call.
pub struct Heard {
    client: Arc<Client>,
    token: ProgressToken,
    hear: watch::Receiver<String>,
}

impl Heard {
    /// The next one; never, when the server says nothing more.
    pub async fn next(&mut self) -> String {
        if self.hear.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        self.hear.borrow_and_update().clone()
    }
}

impl Drop for Heard {
    fn drop(&mut self) {
        self.client.lock().remove(&self.token);
    }
}

impl ClientHandler for Client {
    async fn on_progress(&self, said: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        if let Some(tell) = self.lock().get(&said.progress_token) {
            tell.send_replace(progress(said.progress, said.total, said.message.as_deref()));
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(
            ClientCapabilities::default(),
            Implementation::new("toolgate", env!("CARGO_PKG_VERSION")).with_title("Toolgate"),
        )
    }
}

/// A sign of life in words: the server's own, else how far it is.
fn progress(done: f64, total: Option<f64>, message: Option<&str>) -> String {
    let how_far = match total {
        Some(total) if total > 0.0 => format!("{done} / {total}"),
        Some(_) | None => done.to_string(),
    };
    match message.map(|text| contract::text::one_line(text, PROGRESS)).filter(|text| !text.is_empty()) {
        Some(text) if total.is_some() => format!("{text} ({how_far})"),
        Some(text) => text,
        None => how_far,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_of_life_is_the_servers_words_and_how_far_it_is() {
        assert_eq!(progress(3.0, Some(10.0), Some("reading")), "reading (3 / 10)");
        assert_eq!(progress(3.0, None, Some("reading\nmore")), "reading more");
        assert_eq!(progress(0.5, Some(1.0), None), "0.5 / 1");
        assert_eq!(progress(7.0, None, Some("")), "7");
    }
}
