//! What adapters ask while a platform waits: menus, checks, completions. From the snapshot, in memory.

use std::sync::Arc;

use async_trait::async_trait;
use contract::{Address, Caller, Catalog, Choice, Menu, Origin, Problem, Sender};
use serde_json::{Map, Value};

use crate::gateway::Inner;

/// Most choices that a platform shows.
const CHOICES_MAX: usize = 25;

#[async_trait]
impl Catalog for Inner {
    fn menu(&self, who: &Caller) -> Arc<Menu> {
        self.snapshot.load().list(who).menu.clone()
    }

    fn check(&self, who: &Caller, command: &str, filled: &Map<String, Value>) -> Result<(), Vec<Problem>> {
        let snapshot = self.snapshot.load();
        let Some(tool) = snapshot.resolve(who, command) else { return Ok(()) };
        tool.prepare(Value::Object(filled.clone())).map(|_| ()).map_err(|failure| failure.problems)
    }

    async fn complete(&self, who: &Caller, command: &str, field: &str, typed: &str) -> Vec<Choice> {
        let snapshot = self.snapshot.load();
        let Some(tool) = snapshot.resolve(who, command) else { return Vec::new() };
        let values = tool.spec.parameters.pointer(&format!("/properties/{field}/enum")).and_then(Value::as_array);
        let typed = typed.to_lowercase();
        let texts = values.into_iter().flatten().map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned));
        texts
            .filter(|text| text.to_lowercase().contains(&typed))
            .take(CHOICES_MAX)
            .map(|text| Choice { label: text.clone(), value: text })
            .collect()
    }

    async fn changed(&self, since: u64) -> u64 {
        let mut generations = self.generation.subscribe();
        // The sender lives as long as the gateway; an error means that it is gone and nothing changes any more.
        match generations.wait_for(|generation| *generation > since).await {
            Ok(generation) => *generation,
            Err(_) => since,
        }
    }

    fn anyone(&self, address: &Address) -> Caller {
        let snapshot = self.snapshot.load();
        let tenant = snapshot.policies.tenant(address.platform, address.space.as_deref(), &address.conversation);
        Caller {
            platform: address.platform,
            account: address.account.clone(),
            tenant: tenant.to_owned(),
            space: address.space.clone(),
            conversation: address.conversation.clone(),
            thread: address.thread.clone(),
            sender: Sender { id: String::new(), name: String::new() },
            roles: Vec::new(),
            origin: Origin::Command,
        }
    }
}
