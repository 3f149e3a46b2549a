//! What adapters ask while a platform waits: menus, checks, completions. From the snapshot, in memory.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use contract::{Address, Caller, Catalog, Choice, Menu, Origin, Problem, Sender, SessionKey, records::TurnQuery, text};
use serde_json::{Map, Value};

use crate::{
    commands::{self, BUILTINS, parameters_of_builtin},
    gate,
    gateway::Inner,
    schedule, session,
};

/// Most choices that a platform shows.
const CHOICES_MAX: usize = 25;
/// Turns of a conversation that are looked through for the references of one person.
const TURNS_SEEN: usize = 100;
/// What is not found in this time is not shown: the platform waits.
const KNOWN_IN: Duration = Duration::from_millis(300);

#[async_trait]
impl Catalog for Inner {
    async fn hears(&self, who: &Caller, at: &Address) -> bool {
        tokio::time::timeout(KNOWN_IN, gate::would_hear(self, who, at)).await.unwrap_or(false)
    }

    fn menu(&self, who: &Caller) -> Arc<Menu> {
        let snapshot = self.snapshot.load();
        snapshot.list_in(who, session::known_mount(self, &snapshot, who).as_ref()).menu.clone()
    }

    fn check(&self, who: &Caller, command: &str, filled: &Map<String, Value>) -> Result<(), Vec<Problem>> {
        if is_builtin(command) {
            return missing(&parameters_of_builtin(command), filled);
        }
        let snapshot = self.snapshot.load();
        // What the caller cannot use is refused by the one gate, in its words.
        let mounted = session::known_mount(self, &snapshot, who);
        let Some(tool) = snapshot.resolve_in(who, mounted.as_ref(), command) else { return Ok(()) };
        let args = commands::nested(filled, &tool.spec.parameters);
        // A file cannot be written into a form: what is said of it is said in the answer.
        let files = tools::files::parameters(&tool.spec.parameters);
        let is_file = |problem: &Problem| files.iter().any(|file| file.name == problem.path);
        match tool.prepare(Value::Object(args)) {
            Err(failure) if !failure.problems.iter().all(is_file) => Err(failure.problems),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    async fn complete(&self, who: &Caller, command: &str, field: &str, typed: &str) -> Vec<Choice> {
        let typed = typed.trim().to_lowercase();
        if is_builtin(command) {
            let finding = self.complete_builtin(who, command, field, &typed);
            return tokio::time::timeout(KNOWN_IN, finding).await.unwrap_or_default();
        }
        let snapshot = self.snapshot.load();
        let mounted = session::known_mount(self, &snapshot, who);
        let Some(tool) = snapshot.resolve_in(who, mounted.as_ref(), command) else { return Vec::new() };
        let schema = schema_of(&tool.spec.parameters, field);
        let values = schema.map(values).unwrap_or_default();
        fitting(values.into_iter().map(|text| Choice { label: text.clone(), value: text }), &typed)
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

impl Inner {
    async fn complete_builtin(&self, who: &Caller, command: &str, field: &str, typed: &str) -> Vec<Choice> {
        match (command, field) {
            ("tools", "word") => {
                let list = self.snapshot.load().list(who);
                let mut toolsets: Vec<_> = list.tools.iter().map(|tool| tool.spec.toolset.to_string()).collect();
                toolsets.sort();
                toolsets.dedup();
                fitting(toolsets.into_iter().map(|text| Choice { label: text.clone(), value: text }), typed)
            }
            ("schedule", "id") => fitting(schedule::own_ids(self, who).await.into_iter(), typed),
            ("schedule", "zone") => {
                let zones = schedule::zones();
                fitting(zones.into_iter().map(|text| Choice { label: text.clone(), value: text }), typed)
            }
            ("trace", "reference") => fitting(self.own_turns(who).await.into_iter(), typed),
            _ => Vec::new(),
        }
    }

    /// What the person asked in this conversation, newest first.
    async fn own_turns(&self, who: &Caller) -> Vec<Choice> {
        let mut place = Address::new(who.platform, &who.account, &who.conversation);
        (place.space, place.thread) = (who.space.clone(), who.thread.clone());
        let query = TurnQuery { session: Some(SessionKey::of(&place)), most: TURNS_SEEN, ..TurnQuery::default() };
        let turns = self.stores.trees.turns(&query).await.unwrap_or_default();
        let own = turns.into_iter().filter(|line| line.sender == who.sender.id && !who.sender.id.is_empty());
        own.map(|line| Choice { label: text::one_line(&line.asked, 80), value: line.turn.to_string() }).collect()
    }
}

fn is_builtin(command: &str) -> bool {
    BUILTINS.iter().any(|(name, _)| *name == command)
}

/// The required arguments of a built-in that are not there.
fn missing(parameters: &Value, filled: &Map<String, Value>) -> Result<(), Vec<Problem>> {
    let required = parameters.get("required").and_then(Value::as_array);
    let names = required.into_iter().flatten().filter_map(Value::as_str);
    let is_there = |name: &&str| filled.get(*name).is_some_and(|v| !v.is_null() && v.as_str() != Some(""));
    let problems: Vec<_> = names
        .filter(|name| !is_there(name))
        .map(|name| Problem { path: name.to_owned(), expected: "a text".to_owned(), got: None, hint: None })
        .collect();
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// The schema of an argument, or of a field of one (`range.unit`).
fn schema_of<'a>(parameters: &'a Value, field: &str) -> Option<&'a Value> {
    let property = |schema: &'a Value, name: &str| schema.get("properties").and_then(|p| p.get(name));
    property(parameters, field).or_else(|| {
        let (outer, inner) = field.split_once('.')?;
        property(property(parameters, outer)?, inner)
    })
}

/// The values that a schema lists; of a list, those of its items.
fn values(schema: &Value) -> Vec<String> {
    let listed = schema.get("enum").or_else(|| schema.get("items").and_then(|items| items.get("enum")));
    if let Some(values) = listed.and_then(Value::as_array) {
        return values.iter().map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned)).collect();
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("boolean") => vec!["true".into(), "false".into()],
        _ => Vec::new(),
    }
}

/// Those that have what was typed in them; those that begin with it first.
fn fitting(choices: impl Iterator<Item = Choice>, typed: &str) -> Vec<Choice> {
    let fits = |choice: &Choice| {
        let (label, value) = (choice.label.to_lowercase(), choice.value.to_lowercase());
        match label.starts_with(typed) || value.starts_with(typed) {
            true => Some(0),
            false => (label.contains(typed) || value.contains(typed)).then_some(1),
        }
    };
    let mut fitting: Vec<_> = choices.filter_map(|choice| Some((fits(&choice)?, choice))).collect();
    fitting.sort_by_key(|(rank, _)| *rank);
    fitting.into_iter().map(|(_, choice)| choice).take(CHOICES_MAX).collect()
}
