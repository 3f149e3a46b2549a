//! What the core asks back: a file's bytes, a person's roles.

use contract::{Caller, DeliveryError, FileRef, Source, Why, capped, seams::ByteStream};
use reqwest::Url;
use serde_json::{Value, json};

use crate::{
    Discord,
    inbound::{HANDLE, text},
    refusal::{asked, is_missing},
    rest::Problem,
};

/// Larger files are not fetched, whatever Discord lets people send.
const LARGEST: u64 = 25 * 1024 * 1024;
/// Where Discord keeps files.
const HOSTS: [&str; 2] = ["cdn.discordapp.com", "media.discordapp.net"];
const VIEW_CHANNEL: u64 = 1 << 10;
const SEND_MESSAGES: u64 = 1 << 11;
const MANAGE_THREADS: u64 = 1 << 34;
const SEND_IN_THREADS: u64 = 1 << 38;
/// Kinds of channels that are threads; who is in the last kind is invited.
const THREADS: std::ops::RangeInclusive<u64> = 10..=12;
const PRIVATE_THREAD: u64 = 12;
const ADMINISTRATOR: u64 = 1 << 3;
const DIRECT: u64 = 1;

#[async_trait::async_trait]
impl Source for Discord {
    async fn open(&self, file: &FileRef) -> Result<ByteStream, DeliveryError> {
        let unsupported = || DeliveryError::Refused(Why::Unsupported);
        let url =
            file.handle.reveal().strip_prefix(HANDLE).and_then(|url| Url::parse(url).ok()).ok_or_else(unsupported)?;
        if !self.may_fetch(&url) {
            return Err(unsupported());
        }
        if file.size.is_some_and(|size| size > LARGEST) {
            return Err(too_large());
        }
        let stream = match self.rest.download(url.clone()).await {
            Ok(stream) => stream,
            // Addresses of files last a day.
            Err(Problem::Refused { status: 403 | 404, .. }) => {
                let fresh = self.fresh(&url).await.ok_or(DeliveryError::Refused(Why::Gone))?;
                self.rest.download(fresh).await.map_err(asked)?
            }
            Err(problem) => return Err(asked(problem)),
        };
        Ok(capped(stream, LARGEST))
    }

    /// The member's roles and the one that all of the guild have; none for who is not in it, or may not write there.
    async fn roles(&self, who: &Caller) -> Result<Vec<String>, DeliveryError> {
        let user = &who.sender.id;
        if !is_id(user) {
            return Ok(Vec::new());
        }
        let Some((place, thread)) = self.place_of(who).await? else { return Ok(Vec::new()) };
        let Some(guild) = text(&place, "guild_id").map(str::to_owned) else {
            let is_theirs = place["recipients"].as_array().is_some_and(|all| all.iter().any(|r| r["id"] == **user));
            let is_direct = place["type"].as_u64() == Some(DIRECT);
            return Ok(if is_direct && is_theirs && thread.is_none() { vec![user.clone()] } else { Vec::new() });
        };
        let Some(member) = self.look_up(&format!("/guilds/{guild}/members/{user}")).await? else {
            return Ok(Vec::new());
        };
        let mut roles: Vec<String> = member["roles"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|role| role.as_str().map(str::to_owned))
            .collect();
        roles.push(guild.clone());
        let Some(of_guild) = self.look_up(&format!("/guilds/{guild}")).await? else { return Ok(Vec::new()) };
        let granted = match text(&of_guild, "owner_id") == Some(user) {
            true => u64::MAX,
            false => permissions(&of_guild, &place, &roles, user),
        };
        let may_write = match &thread {
            Some(thread) => self.may_write_in(thread, granted, user).await?,
            None => has(granted, VIEW_CHANNEL | SEND_MESSAGES),
        };
        Ok(if may_write { roles } else { Vec::new() })
    }

    /// Who is there may write there.
    async fn roles_to_write(&self, who: &Caller) -> Result<Vec<String>, DeliveryError> {
        self.roles(who).await
    }
}

impl Discord {
    /// Discord's own hosts, or the server that was configured in its place.
    fn may_fetch(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let is_discords = url.scheme() == "https" && HOSTS.contains(&host);
        let is_configured =
            !self.rest.is_discord() && (url.host_str(), url.port_or_known_default()) == self.rest.host();
        if self.rest.is_discord() { is_discords } else { is_configured }
    }

    /// The present address of a file.
    async fn fresh(&self, url: &Url) -> Option<Url> {
        let asked = json!({"attachment_urls": [url.as_str()]});
        let answer = self.rest.post("/attachments/refresh-urls", &asked).await.ok()?;
        let fresh = Url::parse(text(answer["refreshed_urls"].get(0)?, "refreshed")?).ok()?;
        self.may_fetch(&fresh).then_some(fresh)
    }

    /// The channel that rights are said of, and the thread in it; nothing for a thread of another channel, which would be
    /// written to all the same.
    async fn place_of(&self, who: &Caller) -> Result<Option<(Value, Option<Value>)>, DeliveryError> {
        let Some(named) = self.channel(&who.conversation).await? else { return Ok(None) };
        let is_thread = |channel: &Value| channel["type"].as_u64().is_some_and(|kind| THREADS.contains(&kind));
        match &who.thread {
            Some(thread) if *thread != who.conversation => {
                let thread = self.channel(thread).await?;
                let is_here = |thread: &Value| text(thread, "parent_id") == Some(&*who.conversation);
                let thread = thread.filter(|thread| is_thread(thread) && is_here(thread));
                Ok(thread.map(|thread| (named, Some(thread))))
            }
            // A thread that goes by its own name has its channel's rights.
            _ if is_thread(&named) => {
                let parent = text(&named, "parent_id").unwrap_or_default().to_owned();
                Ok(self.channel(&parent).await?.map(|parent| (parent, Some(named))))
            }
            _ => Ok(Some((named, None))),
        }
    }

    async fn channel(&self, id: &str) -> Result<Option<Value>, DeliveryError> {
        if is_id(id) { self.look_up(&format!("/channels/{id}")).await } else { Ok(None) }
    }

    /// With what is granted in its channel.
    async fn may_write_in(&self, thread: &Value, granted: u64, user: &str) -> Result<bool, DeliveryError> {
        if !has(granted, VIEW_CHANNEL | SEND_IN_THREADS) {
            return Ok(false);
        }
        if has(granted, MANAGE_THREADS) {
            return Ok(true);
        }
        if thread["thread_metadata"]["locked"] == true {
            return Ok(false);
        }
        let (Some(id), Some(PRIVATE_THREAD)) = (text(thread, "id"), thread["type"].as_u64()) else { return Ok(true) };
        Ok(self.look_up(&format!("/channels/{id}/thread-members/{user}")).await?.is_some())
    }

    /// What is asked for, or nothing where it is not, or not for us.
    async fn look_up(&self, path: &str) -> Result<Option<Value>, DeliveryError> {
        match self.rest.get(path).await {
            Ok(found) => Ok(Some(found)),
            Err(problem) if is_missing(&problem) => Ok(None),
            Err(Problem::Refused { status: 403, .. }) => Ok(None),
            Err(problem) => Err(asked(problem)),
        }
    }
}

fn has(granted: u64, all: u64) -> bool {
    granted & all == all
}

/// What somebody with these roles may do in a channel.
fn permissions(guild: &Value, channel: &Value, roles: &[String], user: &str) -> u64 {
    let bits = |value: &Value| value.as_str().and_then(|bits| bits.parse::<u64>().ok()).unwrap_or(0);
    let of_guild = guild["roles"].as_array().into_iter().flatten();
    let held = of_guild.filter(|role| text(role, "id").is_some_and(|id| roles.iter().any(|r| r == id)));
    let mut granted = held.fold(0, |granted, role| granted | bits(&role["permissions"]));
    if granted & ADMINISTRATOR != 0 {
        return u64::MAX;
    }
    let everyone = text(guild, "id").unwrap_or_default();
    let overwrites: Vec<&Value> = channel["permission_overwrites"].as_array().into_iter().flatten().collect();
    // First what is said of all, then of the roles together, then of the person.
    let of_all = |overwrite: &Value| text(overwrite, "id") == Some(everyone);
    let of_roles = |overwrite: &Value| {
        !of_all(overwrite) && text(overwrite, "id").is_some_and(|id| roles.iter().any(|role| role == id))
    };
    let of_person = |overwrite: &Value| text(overwrite, "id") == Some(user);
    for concerns in [&of_all as &dyn Fn(&Value) -> bool, &of_roles, &of_person] {
        let some = || overwrites.iter().filter(|overwrite| concerns(overwrite));
        granted &= !some().fold(0, |denied, overwrite| denied | bits(&overwrite["deny"]));
        granted |= some().fold(0, |allowed, overwrite| allowed | bits(&overwrite["allow"]));
    }
    granted
}

fn is_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= 20 && text.bytes().all(|b| b.is_ascii_digit())
}

fn too_large() -> DeliveryError {
    DeliveryError::Refused(Why::Other("the file is larger than the 25 MB that are fetched".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn discord(api_url: Option<&str>) -> std::sync::Arc<Discord> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config = crate::Config::new("main", "abc.def.ghi".into(), api_url.map(str::to_owned));
        Discord::new(config).unwrap_or_else(|stopped| panic!("{stopped}"))
    }

    #[test]
    fn files_are_fetched_from_where_discord_keeps_them_and_nowhere_else() {
        let may = |api: Option<&str>, url: &str| discord(api).may_fetch(&Url::parse(url).expect("an address"));
        assert!(may(None, "https://cdn.discordapp.com/attachments/1/2/a.png?ex=1"));
        let local = Some("http://127.0.0.1:5");
        assert!(may(local, "http://127.0.0.1:5/files/1"));
        for url in
            ["http://cdn.discordapp.com/a", "https://cdn.discordapp.com.evil.test/a", "https://169.254.169.254/a"]
        {
            assert!(!may(None, url) && !may(local, url), "{url}");
        }
        assert!(!may(None, "http://127.0.0.1:5/files/1") && !may(local, "http://127.0.0.1:6/files/1"));
    }

    #[test]
    fn who_cannot_write_in_a_channel_is_not_of_it() {
        let guild = json!({"id": "3", "roles": [{"id": "3", "permissions": "3072"}, {"id": "4", "permissions": "8"}]});
        let open = json!({});
        let closed = json!({"permission_overwrites": [{"id": "3", "deny": "1024", "allow": "0"}, {"id": "5", "allow": "1024", "deny": "0"}]});
        let may = |channel: &Value, roles: &[&str]| {
            let roles: Vec<String> = roles.iter().map(|role| (*role).to_owned()).collect();
            has(permissions(&guild, channel, &roles, "9"), VIEW_CHANNEL | SEND_MESSAGES)
        };
        assert!(may(&open, &["3"]) && !may(&closed, &["3"]) && may(&closed, &["3", "5"]) && may(&closed, &["3", "4"]));
    }
}
