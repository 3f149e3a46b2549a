//! What the bot's set-up lacks, each with the step that mends it.

use std::sync::{Arc, atomic::Ordering};

use contract::seams::Missing;
use serde_json::{Value, json};

use crate::{
    Mode, Telegram,
    api::{PATIENCE, Problem},
    line::TOKEN_STEPS,
    webhook,
};

/// Asks Telegram; changes nothing. Whether another program polls is known only from our own polling: to find out, one would
/// have to end its poll.
pub async fn inspect(telegram: &Arc<Telegram>) -> Vec<Missing> {
    let me = match telegram.api.call("getMe", &json!({}), PATIENCE).await {
        Ok(me) => me,
        Err(problem) => return vec![unreachable(problem)],
    };
    let mut missing = bot(&me);
    match telegram.api.call("getWebhookInfo", &json!({}), PATIENCE).await {
        Ok(info) => missing.extend(delivery(&info, &telegram.config.mode)),
        Err(problem) => missing.push(unreachable(problem)),
    }
    if telegram.rival.load(Ordering::Relaxed) {
        missing.push(Missing {
            what: "another program polls with this bot's token, and each takes messages from the other".into(),
            step: "stop the other program, or make a bot of its own for it: @BotFather, /newbot".into(),
            fatal: false,
        });
    }
    missing
}

fn unreachable(problem: Problem) -> Missing {
    let (what, step) = match problem {
        Problem::Refused { code: 401 | 404, .. } => ("the token was refused".to_owned(), TOKEN_STEPS.join("; ")),
        Problem::Refused { words, .. } | Problem::NotSent(words) | Problem::Unsure(words) => {
            (format!("Telegram does not answer: {words}"), REACH.to_owned())
        }
        Problem::TimedOut => ("Telegram does not answer in time".to_owned(), REACH.to_owned()),
    };
    Missing { what, step, fatal: true }
}

const REACH: &str = "see that this machine reaches api.telegram.org over HTTPS, or that 'api_url' is right";

/// What the bot is not allowed to do.
fn bot(me: &Value) -> Vec<Missing> {
    let name = me["username"].as_str().unwrap_or("the bot");
    let mut missing = Vec::new();
    if me["can_join_groups"] == false {
        missing.push(Missing {
            what: "the bot cannot be added to groups".into(),
            step: format!("to use it in groups: @BotFather, /setjoingroups, choose @{name}, Enable"),
            fatal: false,
        });
    }
    if me["can_read_all_group_messages"] == false {
        missing.push(Missing {
            what: "privacy mode is on: in groups the bot hears commands, mentions of it and answers to it, and nothing else"
                .into(),
            step: format!(
                "if it is to hear all: @BotFather, /setprivacy, choose @{name}, Disable; then remove it from each group and add \
                 it again, or make it an administrator there"
            ),
            fatal: false,
        });
    }
    missing
}

/// Where a webhook leads, without what may be secret in it: a user, and what stands behind a question mark.
fn address(url: &str) -> String {
    let plain = url.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = plain.split_once("://").unwrap_or(("", plain));
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or(host);
    contract::text::one_line(
        &if scheme.is_empty() { format!("{host}{path}") } else { format!("{scheme}://{host}{path}") },
        200,
    )
}

/// What keeps updates from coming as the configuration says.
fn delivery(info: &Value, mode: &Mode) -> Option<Missing> {
    let set = info["url"].as_str().filter(|url| !url.is_empty());
    let host = |url: &str| url.split('/').nth(2).unwrap_or(url).to_owned();
    match (mode, set) {
        (Mode::Polling, None) => None,
        (Mode::Polling, Some(url)) => Some(Missing {
            what: format!("a webhook at {} is set for this bot, which excludes polling", address(url)),
            step: "it is removed when the gateway starts; if another program needs it, stop that program or give the gateway a \
                   bot of its own; to have updates delivered here, set 'mode: webhook'"
                .into(),
            fatal: false,
        }),
        (Mode::Webhook { url, .. }, Some(set)) if set != url => Some(Missing {
            what: format!("the bot's webhook leads to {}, not to {}", address(set), address(url)),
            step: "it is set when the gateway starts; if another program needs it, give the gateway a bot of its own".into(),
            fatal: false,
        }),
        // Not set, it will be when the gateway starts.
        (Mode::Webhook { .. }, None) => None,
        (Mode::Webhook { url, .. }, Some(_)) => {
            let standing = webhook::standing(info);
            let (_, words) = standing.error.filter(|_| standing.waiting > 0)?;
            Some(Missing {
                what: format!("{} updates wait, since Telegram could not deliver the last one: {words}", standing.waiting),
                step: format!("see that {} is reached from outside on port 443, 80, 88 or 8443 with a valid certificate, and \
                    leads to this gateway's /hooks/telegram/…", host(url)),
                fatal: false,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn what_a_bot_lacks_is_said_with_the_step() {
        let me = json!({"username": "toolgate_bot", "can_join_groups": false, "can_read_all_group_messages": false});
        let hook = |url: &str| Mode::Webhook { url: url.into(), secret: "s".into() };
        let failed = json!({"url": "https://a.test/x", "pending_update_count": 2, "last_error_date": 1, "last_error_message": "Connection refused"});
        let mut missing = bot(&me);
        missing.extend(delivery(&failed, &Mode::Polling));
        missing.extend(delivery(&failed, &hook("https://b.test/y")));
        missing.extend(delivery(&failed, &hook("https://a.test/x")));
        missing.push(unreachable(Problem::TimedOut));
        let lines: Vec<String> =
            missing.into_iter().map(|missing| format!("{}\n  {}", missing.what, missing.step)).collect();
        expect![[r#"
            the bot cannot be added to groups
              to use it in groups: @BotFather, /setjoingroups, choose @toolgate_bot, Enable
            privacy mode is on: in groups the bot hears commands, mentions of it and answers to it, and nothing else
              if it is to hear all: @BotFather, /setprivacy, choose @toolgate_bot, Disable; then remove it from each group and add it again, or make it an administrator there
            a webhook at https://a.test/x is set for this bot, which excludes polling
              it is removed when the gateway starts; if another program needs it, stop that program or give the gateway a bot of its own; to have updates delivered here, set 'mode: webhook'
            the bot's webhook leads to https://a.test/x, not to https://b.test/y
              it is set when the gateway starts; if another program needs it, give the gateway a bot of its own
            2 updates wait, since Telegram could not deliver the last one: Connection refused
              see that a.test is reached from outside on port 443, 80, 88 or 8443 with a valid certificate, and leads to this gateway's /hooks/telegram/…
            Telegram does not answer in time
              see that this machine reaches api.telegram.org over HTTPS, or that 'api_url' is right"#]]
        .assert_eq(&lines.join("\n"));
        assert!(delivery(&json!({"url": ""}), &hook("https://a.test")).is_none());
        assert!(bot(&json!({"can_join_groups": true, "can_read_all_group_messages": true})).is_empty());
    }
}
