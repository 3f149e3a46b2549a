//! The hooks of the configuration become the gateway's chain.

use std::sync::Arc;

use dispatch::{Gateway, Settings};
use endpoints::{Endpoints, hooks};
use tools::stages::{Chain, Link, Stage};
use tracing::{info, warn};

use crate::{
    config::{
        Config, Finding, finding_at,
        hooks::{Does, Hook},
    },
    run::Ended,
};

/// The settings with what is added to the way of every call.
pub fn added(settings: Settings, config: &Config, endpoints: &Endpoints) -> Result<Settings, Ended> {
    let links: Result<Vec<_>, _> = config.hooks.iter().map(|hook| link(hook, endpoints)).collect();
    let stages = Chain::new(links.map_err(Ended::BadConfiguration)?);
    let stages = stages.map_err(|links| Ended::BadConfiguration(format!("{} hooks are too many", links.len())))?;
    Ok(Settings { stages, ..settings })
}

fn link(hook: &Hook, endpoints: &Endpoints) -> Result<Link, String> {
    let stage = match &hook.does {
        Does::Asks { at, via, class, timeout } => {
            let (name, only) = (hook.name.clone(), hook.only.clone());
            return endpoints.hook(hooks::Hook {
                name,
                at: *at,
                via: via.clone(),
                class: *class,
                timeout: *timeout,
                only,
            });
        }
        Does::Fills(defaults) => Stage::Request(Arc::new(defaults.clone())),
        Does::Masks(mask) => Stage::Transform(Arc::new(mask.clone())),
        Does::Shortens(summary) => Stage::Transform(Arc::new(*summary)),
        Does::Costs(cost) => Stage::Around(Arc::new(*cost)),
    };
    Ok(Link::new(&hook.name, stage).only(hook.only.clone()))
}

/// Names that hooks are for and no tool has: a slip of the pen would let pass what is meant to be checked.
pub fn for_nothing(config: &Config, tools: &tools::Snapshot) -> Vec<Finding> {
    let file = config.file.as_ref().map_or_else(String::new, |file| file.display().to_string());
    let said = config.hooks.iter().flat_map(|hook| {
        let unknown = hook.only.fits_nothing(tools.tools().iter().map(|tool| &**tool));
        unknown.into_iter().map(move |(key, name)| {
            (hook, format!("the hook '{}' is for {key}: '{name}', and no tool has that", hook.name))
        })
    });
    said.map(|(hook, message)| finding_at(&file, &hook.spot, message)).collect()
}

/// Says which hooks there are, and what is odd about them.
pub fn report(config: &Config, gateway: &Gateway) {
    if !config.hooks.is_empty() {
        let names: Vec<_> = config.hooks.iter().map(|hook| hook.name.as_str()).collect();
        info!(hooks = names.join(", "), "hooks are asked, in this order");
    }
    for warning in for_nothing(config, &gateway.snapshot().tools) {
        warn!("{warning}");
    }
}

#[cfg(test)]
mod tests;
