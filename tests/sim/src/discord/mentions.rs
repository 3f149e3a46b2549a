//! Whom a text names, and whom of them it notifies.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::cast::Message;
use super::request::snowflake;
use super::transcript::Pinged;
use super::world::World;

/// What a text names outside code.
#[derive(Debug, Default, PartialEq)]
pub struct Named {
    pub users: BTreeSet<u64>,
    pub roles: BTreeSet<u64>,
    pub everyone: bool,
}

/// Finds the mentions of a text as the platform does.
pub fn find(text: &str) -> Named {
    let mut named = Named::default();
    let bare = without_code(text);
    for (at, _) in bare.match_indices("<@") {
        let rest = &bare[at + 2..];
        let (role, rest) = match rest.strip_prefix('&') {
            Some(rest) => (true, rest),
            None => (false, rest.strip_prefix('!').unwrap_or(rest)),
        };
        let Some(id) = rest.split_once('>').and_then(|(id, _)| id.parse().ok()) else { continue };
        if role {
            named.roles.insert(id)
        } else {
            named.users.insert(id)
        };
    }
    named.everyone =
        ["@everyone", "@here"].iter().any(|word| bare.match_indices(word).any(|(at, _)| !bare[..at].ends_with('\\')));
    named
}

/// The text with blanks in the place of code.
fn without_code(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('`') {
        out.push_str(&rest[..at]);
        let ticks = rest[at..].bytes().take_while(|c| *c == b'`').count();
        let (fence, body) = (&rest[at..at + ticks], &rest[at + ticks..]);
        match body.find(fence) {
            Some(end) => {
                out.push(' ');
                rest = &body[end + ticks..];
            }
            None => {
                out.push_str(fence);
                rest = body;
            }
        }
    }
    out + rest
}

/// Sets what a bot's message mentions, as far as it allows, and gives whom that notifies.
pub fn apply(world: &World, channel: u64, message: &mut Message, allowed: &Value) -> Pinged {
    let named = find(message.content());
    let parse = |kind: &str| match allowed {
        Value::Null => true,
        allowed => allowed["parse"].as_array().is_some_and(|kinds| kinds.contains(&json!(kind))),
    };
    let listed = |field: &str, id: u64| {
        allowed[field].as_array().is_some_and(|ids| ids.iter().any(|one| snowflake(one) == Some(id)))
    };
    let mut users: BTreeSet<u64> = named
        .users
        .iter()
        .copied()
        .filter(|id| world.called(*id).is_some() && (parse("users") || listed("users", *id)))
        .collect();
    let replied = match allowed {
        Value::Null => true,
        allowed => allowed["replied_user"].as_bool().unwrap_or_default(),
    };
    let known = world.channels.get(&channel);
    let target = message.reply_to().and_then(|id| known?.messages.get(&id)).map(|target| target.author);
    users.extend(target.filter(|_| replied));
    let guild = known.and_then(|channel| channel.guild).and_then(|id| world.guilds.get(&id));
    let roles: Vec<u64> = named
        .roles
        .iter()
        .copied()
        .filter(|id| guild.is_some_and(|guild| guild.roles.iter().any(|role| role.id == *id)))
        .filter(|id| parse("roles") || listed("roles", *id))
        .collect();
    let everyone = named.everyone && guild.is_some() && parse("everyone");
    message.set("mentions", users.iter().map(|id| world.author_json(*id)).collect());
    message.set("mention_roles", roles.iter().map(u64::to_string).collect::<Vec<_>>().into());
    message.set("mention_everyone", json!(everyone));
    let me = message.author;
    Pinged {
        users: users.iter().filter(|id| **id != me).filter_map(|id| world.called(*id)).map(str::to_owned).collect(),
        roles: roles
            .iter()
            .filter_map(|id| guild?.roles.iter().find(|role| role.id == *id))
            .map(|role| role.name.clone())
            .collect(),
        everyone,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_code_or_behind_a_backslash_names_nobody() {
        let named = find("<@5> <@!6> <@&7> `<@8>` ```\n<@9> @everyone\n``` \\@everyone <@x>");
        assert_eq!((named.users, named.roles, named.everyone), ([5, 6].into(), [7].into(), false));
        assert!(find("hello @here").everyone);
        assert_eq!(find("` <@1>").users, [1].into(), "a tick alone is no code");
    }
}
