//! `check` and `tool validate`.

use std::{path::PathBuf, sync::Arc};

use contract::{Platform, records::Shelf};
use endpoints::Endpoints;
use policies::{Compiled, PolicyLayer, Verdict};
use serde_json::json;
use tools::{Registry, Tool, spec::EndpointSpec};

use super::{
    Said, caller, read_with,
    setup::{self, Asked},
    shelf,
};
use crate::{
    cli::Who,
    config::{Config, Finding, Loaded},
    run::hooks::for_nothing,
    sources::{Sources, commands, endpoints},
};

/// Whether the configuration, its tools and its policies can be used together, and what the platforms say of the
/// accounts; they are not asked when `offline`.
pub async fn check(loaded: Result<Loaded, Vec<Finding>>, offline: bool) -> Said {
    let loaded = match loaded {
        Ok(loaded) => loaded,
        Err(errors) => return Said::findings(&errors, &[], "the configuration cannot be used", json!({ "tools": 0 })),
    };
    let shelf = if offline { Ok(Shelf::default()) } else { shelf(&loaded.config) };
    let mut asked = if offline { Asked::default() } else { setup::ask(&loaded.config).await };
    if !offline {
        asked.warnings.extend(unread(&loaded.config).await);
    }
    of_files(loaded, asked, shelf)
}

/// Secrets of credentials that cannot be read here: the gateway may run where they are.
async fn unread(config: &Config) -> Vec<Finding> {
    let file = config.file.as_ref().map_or_else(String::new, |file| file.display().to_string());
    let mut found = Vec::new();
    for source in config.credentials.values().flat_map(|settings| settings.sources()) {
        // A name too: what is missing is as missing.
        if let Err(error) = source.read_name().await {
            found.push(Finding { file: file.clone(), line: 0, column: 0, message: error.to_string(), hint: None });
        }
    }
    // What all tenants have is named once.
    found.dedup_by(|one, other| one.message == other.message);
    found
}

fn of_files(loaded: Loaded, asked: Asked, shelf: Result<Shelf, String>) -> Said {
    let sources = read_with(&loaded.config, shelf);
    let found = unoffered(&sources).into_iter().chain(unconfined(&sources, &loaded.config));
    let found = found.chain(for_nothing(&loaded.config, &sources.tools));
    let found: Vec<_> = found.collect();
    let warnings: Vec<_> =
        loaded.warnings.into_iter().chain(sources.warnings).chain(found).chain(asked.warnings).collect();
    let errors: Vec<_> = sources.errors.into_iter().chain(asked.errors).collect();
    let tools = sources.tools.tools().len();
    let platforms = loaded.config.platforms.count();
    let model = match &loaded.config.model {
        Some(models) => format!(", language model '{}'", models.first.name),
        None => String::new(),
    };
    let summary = format!(
        "{}: {tools} tool{}, {platforms} chat account{}{model}",
        loaded
            .config
            .file
            .as_ref()
            .map_or_else(|| "no toolgate.yaml here: built-in defaults".into(), |file| file.display().to_string()),
        if tools == 1 { "" } else { "s" },
        if platforms == 1 { "" } else { "s" },
    );
    Said::findings(&errors, &warnings, &summary, json!({ "tools": tools, "accounts": platforms }))
}

/// Published tools that no chat and no program can reach, whoever asks.
fn unoffered(sources: &Sources) -> Vec<Finding> {
    let Some(compiled) = &sources.compiled else { return Vec::new() };
    let chats = || Platform::ALL.into_iter().filter(|platform| *platform != Platform::Console);
    let is_meant = |tool: &Tool| {
        let listed = |platform| tool.spec.platforms.as_ref().is_none_or(|listed| listed.contains(&platform));
        tool.standing.state.is_offered() && chats().any(listed)
    };
    let is_missed = |tool: &&Arc<Tool>| is_meant(tool) && !chats().any(|chat| compiled.offers(chat, &tool.name));
    let warning = |tool: &Arc<Tool>| {
        let hint = match chats().find_map(|chat| denial(compiled, chat, &tool.name)) {
            Some(rule) => format!("denied by {rule}"),
            None => format!("allow toolset '{}' in a policy", tool.spec.toolset),
        };
        tool.spec.error_at("name", format!("'{}' is offered on no platform but the console", tool.name)).hint(hint)
    };
    sources.tools.tools().iter().filter(is_missed).map(warning).collect()
}

/// Tools that are programs and cannot be confined here as they have to be.
fn unconfined(sources: &Sources, config: &Config) -> Vec<Finding> {
    let commands = commands(&config.store);
    let cannot = |tool: &Arc<Tool>| {
        let EndpointSpec::Command(command) = &tool.spec.endpoint else { return None };
        let why = commands.cannot_run(command)?;
        Some(tool.spec.error_at("endpoint.sandbox", format!("'{}' is not available here: {why}", tool.name)))
    };
    sources.tools.tools().iter().filter_map(cannot).collect()
}

/// The rule of a platform that denies what else would be allowed to somebody there: to allow it would not help.
fn denial(compiled: &Compiled, platform: Platform, tool: &str) -> Option<String> {
    let anybody = caller(&Who { platform: Some(platform), ..Who::default() }, compiled);
    let verdicts = compiled.explain(&anybody, tool);
    let refuses = |v: &&Verdict| v.layer == PolicyLayer::Platform && !v.allowed && v.rule.contains(".deny: ");
    verdicts.iter().find(refuses).map(|Verdict { rule, file, line, .. }| format!("'{rule}' ({file}:{line})"))
}

/// Whether tool files can be used, alone: other tools that a pipeline calls need not be there. Credentials have to be,
/// where a configuration says which there are.
pub fn validate(files: &[PathBuf], config: Option<&Config>) -> Said {
    let endpoints = match config.filter(|config| config.file.is_some()) {
        Some(config) => endpoints(config),
        None => Endpoints::new().any_credential(),
    };
    let loaded = Registry::new(Arc::new(endpoints)).load(files);
    let errors: Vec<_> = loaded.errors;
    let warnings: Vec<_> = loaded.warnings;
    let names: Vec<_> = loaded.snapshot.tools().iter().map(|tool| tool.name.to_string()).collect();
    let summary = match names.as_slice() {
        [] => "no tool".to_owned(),
        [one] => format!("1 tool: {one}"),
        many => format!("{} tools: {}", many.len(), many.join(", ")),
    };
    Said::findings(&errors, &warnings, &summary, json!({ "tools": names }))
}
