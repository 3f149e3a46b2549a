//! What the app's set-up lacks: asked of Slack, and said with the step that mends it.

use std::sync::atomic::Ordering;

use contract::Missing;
use secrecy::ExposeSecret;
use serde_json::json;

use crate::{
    Mode, Slack,
    api::{As, Problem},
    refusal,
};

/// Scopes of the bot token, and what each is for. The first are needed for any answer.
const SCOPES: [(&str, &str, bool); 17] = [
    ("chat:write", "sending messages", true),
    ("app_mentions:read", "hearing mentions in channels", true),
    ("im:history", "hearing direct messages", true),
    ("channels:history", "hearing what is said in threads of public channels", false),
    ("groups:history", "hearing private channels", false),
    ("mpim:history", "hearing direct messages among several people", false),
    ("im:read", "telling direct messages from channels, and schedules there", false),
    ("im:write", "writing to people first", false),
    ("commands", "slash commands", false),
    ("files:read", "reading files that people send", false),
    ("files:write", "sending files", false),
    ("reactions:read", "hearing reactions", false),
    ("reactions:write", "marking a message that waits", false),
    ("users:read", "people's names and languages, and schedules", false),
    ("channels:read", "schedules in public channels", false),
    ("groups:read", "schedules in private channels", false),
    ("mpim:read", "schedules in direct messages among several people", false),
];

pub(crate) async fn missing(slack: &Slack) -> Vec<Missing> {
    let mut missing = Vec::new();
    if let Err(problem) = slack.api.call("auth.test", &json!({})).await {
        missing.push(of(&problem, "the bot token"));
        return missing;
    }
    match slack.api.scopes().await {
        Ok(Some(given)) => {
            missing.extend(SCOPES.iter().filter(|(scope, ..)| !given.iter().any(|has| has == scope)).map(scope))
        }
        // A server that does not name them is believed to have given all.
        Ok(None) => {}
        Err(problem) => missing.push(of(&problem, "the scopes of the bot token")),
    }
    match &slack.config.mode {
        // Whoever hears asks for sockets all the time, and says itself what is wrong with that.
        Mode::Socket { .. } if slack.is_hearing.load(Ordering::Relaxed) => {}
        Mode::Socket { .. } => {
            if let Err(problem) = slack.api.call_as(As::App, "apps.connections.open", &json!({})).await {
                missing.push(match problem.is("missing_scope") {
                    true => Missing {
                        what: "the app-level token may not open sockets (connections:write)".into(),
                        step: "https://api.slack.com/apps → your app → Basic Information → App-Level Tokens → Generate, with the scope connections:write".into(),
                        fatal: true,
                    },
                    false => of(&problem, "the app-level token (Socket Mode)"),
                });
            }
        }
        Mode::Events { signing_secret } if signing_secret.expose_secret().trim().is_empty() => missing.push(Missing {
            what: "the signing secret is empty: no request can be told from a forged one".into(),
            step: "https://api.slack.com/apps → your app → Basic Information → App Credentials → Signing Secret".into(),
            fatal: true,
        }),
        Mode::Events { .. } => {}
    }
    missing
}

fn scope(&(scope, what, fatal): &(&str, &str, bool)) -> Missing {
    Missing { what: format!("{what} (the scope {scope})"), step: refusal::scope_step(scope), fatal }
}

fn of(problem: &Problem, what: &str) -> Missing {
    if let Some(stopped) = refusal::fatal(problem) {
        return Missing { what: format!("{what}: {}", stopped.why), step: stopped.steps.join("; "), fatal: true };
    }
    let (words, step) = match problem {
        Problem::Refused { code, .. } => {
            (format!("Slack refuses: {code}"), "look the error up in Slack's documentation of the method")
        }
        Problem::Wait(_) => ("Slack asks to wait".to_owned(), "check again in a minute"),
        Problem::NotSent(words) | Problem::Unsure(words) => {
            (format!("Slack does not answer: {words}"), "check the network, and 'api_url' if it is set")
        }
    };
    Missing { what: format!("{what}: {words}"), step: step.into(), fatal: true }
}
