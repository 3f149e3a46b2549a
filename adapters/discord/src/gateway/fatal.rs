//! Close codes that only a person can mend, each with what is to be done.

use contract::Stopped;

use crate::{rest::TOKEN_STEPS, stopped};

const PORTAL: &str = "open https://discord.com/developers/applications, choose the application, then Bot";
const RESTART: &str = "start the gateway again";

/// Why the adapter has to stop; nothing for codes after which a new connection may do better.
pub(super) fn of(code: u16) -> Option<Stopped> {
    Some(match code {
        4004 => stopped("the token was refused (close code 4004)", &TOKEN_STEPS),
        4010 => stopped(
            "the gateway does not know such a shard (close code 4010)",
            &["remove 'shards' from the account's configuration, so that Discord's recommendation is used", RESTART],
        ),
        4011 => stopped(
            "the bot is in too many guilds for so few shards (close code 4011)",
            &["remove 'shards' from the account's configuration, or raise it", RESTART],
        ),
        4012 => stopped(
            "the gateway does not speak version 10 (close code 4012)",
            &["update the gateway; with 'api_url' set, check that this server speaks version 10"],
        ),
        4013 => stopped(
            "the gateway does not know an intent (close code 4013)",
            &["update the gateway; with 'api_url' set, check that this server knows the intents of version 10"],
        ),
        4014 => stopped(
            "the bot may not read messages: the Message Content intent is off (close code 4014)",
            &[PORTAL, "under 'Privileged Gateway Intents' switch on 'Message Content Intent' and save", RESTART],
        ),
        _ => return None,
    })
}

/// Codes that end a session: it is not resumed.
pub(super) fn ends_session(code: u16) -> bool {
    matches!(code, 4007 | 4009 | 4003)
}
