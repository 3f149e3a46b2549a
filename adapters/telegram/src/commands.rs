//! The bot's menu: what anybody may use, registered anew only when it changed.

use std::{convert::Infallible, time::Duration};

use contract::{Address, Core, Digest, Menu, Platform, text};
use serde_json::json;
use teloxide::{payloads::SetMyCommands, types::BotCommand};

use crate::{Telegram, api::Problem};

/// Telegram takes so many commands; the rest can still be typed.
const MOST: usize = 100;
const LONGEST_NAME: usize = 32;
const LONGEST_DESCRIPTION: usize = 256;
/// Several changes in a row are registered once.
const SETTLE: Duration = Duration::from_millis(300);
const RETRY: Duration = Duration::from_secs(30);

/// Registers the menu and each change of it, for ever.
pub(crate) async fn keep(telegram: &Telegram, core: &Core) -> Infallible {
    let mut seen = 0;
    loop {
        while let Err(wait) = register(telegram, core).await {
            tokio::time::sleep(wait).await;
        }
        seen = core.catalog.changed(seen).await;
        tokio::time::sleep(SETTLE).await;
    }
}

/// Fails with how long to wait.
async fn register(telegram: &Telegram, core: &Core) -> Result<(), Duration> {
    let anyone = core.catalog.anyone(&Address::new(Platform::Telegram, &telegram.account, ""));
    let commands = legal(&core.catalog.menu(&anyone));
    let digest = Digest::of(json!(commands).to_string().as_bytes()).to_string();
    let cursor = telegram.cursor("commands");
    let registered = core.cursors.load(&cursor).await.map_err(|_| RETRY)?;
    if registered.as_deref() == Some(digest.as_bytes()) {
        return Ok(());
    }
    match telegram.api.ask(&SetMyCommands::new(commands)).await {
        Ok(_) => {
            // Not remembered, it is registered once more after a restart.
            let _ = core.cursors.save(&cursor, digest.as_bytes()).await;
            tracing::info!(account = telegram.account, "the menu was registered");
            Ok(())
        }
        Err(Problem::Refused { retry_after: Some(wait), .. }) => Err(wait.duration()),
        Err(cause) => {
            tracing::warn!(account = telegram.account, ?cause, "the menu was not registered");
            Err(RETRY)
        }
    }
}

/// The commands that Telegram can show, each name once; a hyphen is written as an underscore.
fn legal(menu: &Menu) -> Vec<BotCommand> {
    let mut commands: Vec<BotCommand> = Vec::new();
    for item in &menu.items {
        let name = item.name.replace('-', "_");
        let is_legal = (1..=LONGEST_NAME).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if is_legal && commands.len() < MOST && !commands.iter().any(|command| command.command == name) {
            let description = describe(&item.description);
            let description = if description.is_empty() { name.clone() } else { description };
            commands.push(BotCommand::new(name, description));
        }
    }
    commands
}

/// One line within the limit, counted as the platform counts.
fn describe(description: &str) -> String {
    let mut line = text::one_line(description, LONGEST_DESCRIPTION);
    while line.encode_utf16().count() > LONGEST_DESCRIPTION {
        line.pop();
    }
    line
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use contract::MenuItem;

    use super::*;

    #[test]
    fn a_menu_is_made_legal_and_trimmed() {
        let item = |name: String, description: &str| MenuItem {
            name,
            description: description.into(),
            parameters: Arc::new(json!({})),
            ..MenuItem::default()
        };
        let mut items = vec![
            item("order-query".into(), "a\nb"),
            item("order_query".into(), "twice"),
            item("Bad".into(), "x"),
            item("x".repeat(33), "x"),
            item("bare".into(), ""),
            item("long".into(), &"😀".repeat(300)),
        ];
        items.extend((0..110).map(|n| item(format!("tool_{n}"), "t")));
        let commands = legal(&Menu { items, digest: None });
        assert_eq!(commands.len(), MOST);
        assert_eq!((commands[0].command.as_str(), commands[0].description.as_str()), ("order_query", "a b"));
        assert_eq!((commands[1].command.as_str(), commands[1].description.as_str()), ("bare", "bare"));
        assert!(commands.iter().all(|command| command.description.encode_utf16().count() <= 256));
    }
}
