//! As whom a request acts: a client as itself, an operator as anybody.

use contract::{Address, Caller, Origin, Platform, Sender};
use dispatch::Gateway;
use serde::Deserialize;

use crate::{body::word, gate::Who, problem::Problem};

/// Where and who, as a query names it. An operator may name anybody; a client its own conversations and users.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    pub platform: Option<String>,
    pub tenant: Option<String>,
    pub account: Option<String>,
    pub space: Option<String>,
    pub conversation: Option<String>,
    pub thread: Option<String>,
    pub sender: Option<String>,
    /// Ids of roles, separated by commas.
    pub roles: Option<String>,
    /// A session key in place of account, space, conversation and thread.
    pub session: Option<String>,
}

/// A conversation and a user of the one who asks.
pub struct Own {
    pub conversation: Option<String>,
    pub thread: Option<String>,
    pub user: Option<String>,
}

/// The address and the caller of a request in one's own name.
pub fn own(who: &Who, own: Own, origin: Origin) -> Result<(Address, Caller), Problem> {
    let conversation = word("conversation", own.conversation)?.unwrap_or_else(|| "default".into());
    let thread = word("thread", own.thread)?;
    let user = word("user", own.user)?;
    let address =
        Address { thread: thread.clone(), direct: true, ..Address::new(who.platform(), who.account(), &conversation) };
    let id = match (&user, who) {
        (Some(user), Who::Client(id)) => format!("{}/{user}", id.name),
        (Some(user), Who::Operator | Who::Nobody) => user.clone(),
        (None, _) => who.account().to_owned(),
    };
    let caller = Caller {
        platform: who.platform(),
        account: who.account().to_owned(),
        tenant: who.tenant().to_owned(),
        space: None,
        conversation,
        thread,
        sender: Sender { name: user.unwrap_or_else(|| id.clone()), id },
        roles: Vec::new(),
        origin,
    };
    Ok((address, caller))
}

/// The caller that the query names.
pub fn named(gateway: &Gateway, who: &Who, named: Named) -> Result<Caller, Problem> {
    let named = match named.session.as_deref().map(place_of_session) {
        None => named,
        Some(Some(place)) => Named {
            platform: Some(place.platform.to_string()),
            account: Some(place.account),
            space: place.space,
            conversation: Some(place.conversation),
            thread: place.thread,
            ..named
        },
        Some(None) => {
            return Err(Problem::invalid("session", "a session key, as traces show it", named.session.as_deref()));
        }
    };
    match who {
        Who::Operator if names_another(&named) => anybody(gateway, named),
        Who::Operator => Ok(own(who, own_of(named), Origin::Api)?.1),
        Who::Client(_) | Who::Nobody => {
            let other = |name: &Option<String>, own: &str| name.as_deref().is_some_and(|name| name != own);
            let foreign = other(&named.platform, who.platform().as_str())
                || other(&named.tenant, who.tenant())
                || other(&named.account, who.account())
                || named.space.is_some()
                || named.roles.is_some();
            if foreign { Err(Problem::operators_only()) } else { Ok(own(who, own_of(named), Origin::Api)?.1) }
        }
    }
}

fn names_another(named: &Named) -> bool {
    let Named { platform, tenant, account, space, roles, .. } = named;
    [platform, tenant, account, space, roles].into_iter().any(Option::is_some)
}

fn own_of(named: Named) -> Own {
    Own { conversation: named.conversation, thread: named.thread, user: named.sender }
}

/// A platform by its name.
pub fn platform(text: &str) -> Result<Platform, Problem> {
    let expected = "discord, telegram, slack, web, api, console or mcp";
    text.parse().map_err(|_| Problem::invalid("platform", expected, Some(text)))
}

fn anybody(gateway: &Gateway, named: Named) -> Result<Caller, Problem> {
    let platform = match named.platform.as_deref() {
        None => Platform::Api,
        Some(text) => self::platform(text)?,
    };
    let account = word("account", named.account)?.unwrap_or_else(|| "main".into());
    let conversation = word("conversation", named.conversation)?.unwrap_or_else(|| "default".into());
    let mut address = Address::new(platform, account, conversation);
    address.space = word("space", named.space)?;
    address.thread = word("thread", named.thread)?;
    let mut caller = gateway.core().catalog.anyone(&address);
    if let Some(tenant) = word("tenant", named.tenant)? {
        caller.tenant = tenant;
    }
    if let Some(sender) = word("sender", named.sender)? {
        caller.sender = Sender { name: sender.clone(), id: sender };
    }
    if let Some(roles) = word("roles", named.roles)? {
        caller.roles = roles.split(',').map(|role| role.trim().to_owned()).collect();
    }
    caller.origin = Origin::Api;
    Ok(caller)
}

/// Reads a session key back.
fn place_of_session(key: &str) -> Option<Address> {
    // Turns that are answered beside their lane have a mark at the end of their session's key.
    let mut parts = key.trim_end_matches('!').split('/');
    let platform = parts.next()?.parse().ok()?;
    let mut part = || decoded(parts.next()?);
    let (account, space, conversation, thread) = (part()??, part()?, part()??, part()?);
    let address = Address { space, thread, ..Address::new(platform, account, conversation) };
    parts.next().is_none().then_some(address)
}

/// `-` is absent, `=text` present; the outer nothing means that it is neither.
fn decoded(part: &str) -> Option<Option<String>> {
    if part == "-" {
        return Some(None);
    }
    let mut bytes = part.strip_prefix('=')?.bytes();
    let mut out = Vec::with_capacity(part.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |b: Option<u8>| char::from(b?).to_digit(16);
        let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
        out.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(out).ok().map(Some)
}

#[cfg(test)]
mod tests {
    use contract::SessionKey;

    use super::*;

    #[test]
    fn a_session_key_is_read_back_as_the_place_it_was_made_of() {
        let address = Address {
            space: Some("T0/1".into()),
            thread: Some("1.2 é".into()),
            ..Address::new(Platform::Slack, "main", "C%1")
        };
        let key = SessionKey::of(&address);
        assert_eq!(place_of_session(key.as_str()), Some(address.clone()));
        assert_eq!(place_of_session(&format!("{key}!")), Some(address));
        for wrong in ["", "api", "api/=a/-/=c", "api/=a/-/=c/-/-", "api/a/-/=c/-", "api/=%G1/-/=c/-", "smoke/=a/-/=c/-"]
        {
            assert_eq!(place_of_session(wrong), None, "{wrong}");
        }
    }
}
