//! What an account lacks, and how it is mended in Discord's portal.

use std::sync::Arc;

use contract::Missing;

use crate::{
    Discord,
    gateway::words,
    inbound::text,
    rest::{Problem, TOKEN_STEPS},
};

/// Flags of an application that may read messages.
const MAY_READ: u64 = 1 << 18 | 1 << 19;
/// View channels, send messages also in threads, embed links, attach files, read history, add reactions.
const PERMISSIONS: u64 = 1 << 6 | 1 << 10 | 1 << 11 | 1 << 14 | 1 << 15 | 1 << 16 | 1 << 38;

/// What is missing for the bot to work, as far as Discord tells without connecting.
pub async fn inspect(discord: &Arc<Discord>) -> Vec<Missing> {
    let mut found = Vec::new();
    let user = match discord.rest.get("/users/@me").await {
        Ok(user) => user,
        Err(problem) => {
            found.push(unreachable(&problem));
            return found;
        }
    };
    let application = discord.rest.get("/applications/@me").await.unwrap_or_default();
    let configured = discord.config.application_id.as_deref();
    let id =
        configured.or_else(|| text(&application, "id")).or_else(|| text(&user, "id")).unwrap_or_default().to_owned();
    if application["flags"].as_u64().is_some_and(|flags| flags & MAY_READ == 0) {
        found.push(Missing {
            what: "the Message Content intent is off, so the gateway will refuse the connection".into(),
            step: format!(
                "open https://discord.com/developers/applications/{id}/bot and switch on 'Message Content Intent' under \
                 'Privileged Gateway Intents'"
            ),
            fatal: true,
        });
    }
    let actual = text(&application, "id");
    if let (Some(configured), Some(actual)) = (configured, actual)
        && configured != actual
    {
        found.push(Missing {
            what: format!("'application_id' is {configured}, but the token is of the application {actual}"),
            step: format!("set 'application_id' to {actual}, or remove it"),
            fatal: true,
        });
    }
    guilds(discord, &id, &mut found).await;
    found
}

fn unreachable(problem: &Problem) -> Missing {
    match problem {
        Problem::Refused { status: 401 | 403, .. } => {
            Missing { what: "the token was refused".into(), step: TOKEN_STEPS.join("; "), fatal: true }
        }
        problem => Missing {
            what: format!("Discord does not answer: {}", words(problem)),
            step: "check that this machine reaches https://discord.com, or the server at 'api_url'".into(),
            fatal: true,
        },
    }
}

async fn guilds(discord: &Discord, application: &str, found: &mut Vec<Missing>) {
    let invite = format!(
        "https://discord.com/oauth2/authorize?client_id={application}&scope=bot+applications.commands&permissions={PERMISSIONS}"
    );
    let Ok(guilds) = discord.rest.get("/users/@me/guilds?limit=1").await else { return };
    let Some(guild) = guilds.get(0).and_then(|guild| text(guild, "id")) else {
        found.push(Missing {
            what: "the bot is in no server, so only direct messages reach it".into(),
            step: format!("open {invite} as somebody who may manage the server, and choose it"),
            fatal: false,
        });
        return;
    };
    let commands = format!("/applications/{application}/guilds/{guild}/commands");
    if let Err(Problem::Refused { status: 403, .. }) = discord.rest.get(&commands).await {
        found.push(Missing {
            what: "the bot was invited without the scope applications.commands, so its commands are not shown".into(),
            step: format!("open {invite} and invite it again; nothing is lost by it"),
            fatal: false,
        });
    }
}
