//! The method table and the way of one request through faults, limits and its method.

use serde_json::Value;

use super::error::{ApiError, Scope};
use super::fault::{Fault, Kind, When};
use super::limits::{Level, Passing, seconds};
use super::request::{Asked, Body};
use super::world::World;
use super::{Discord, callback, channels, commands, info, messages, reactions, threads, webhooks};

/// What a method answers: a status and, unless it is 204, a body.
pub type Answer = Result<(u16, Value), ApiError>;

type Run = fn(&mut World, &Asked<'_>) -> Answer;

/// Who may ask, and which paces it is under.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// A bot by its token.
    Bot,
    /// Whoever has the address, which holds a token of its own; outside the pace over all requests.
    Address,
    /// Everybody.
    Open,
}

struct Method {
    name: &'static str,
    pass: Pass,
    run: Run,
}

const fn bot(name: &'static str, run: Run) -> Method {
    Method { name, pass: Pass::Bot, run }
}

const fn by_address(name: &'static str, run: Run) -> Method {
    Method { name, pass: Pass::Address, run }
}

const METHODS: &[Method] = &[
    Method { name: "GET gateway", pass: Pass::Open, run: info::gateway },
    bot("GET gateway/bot", info::gateway_bot),
    bot("GET users/@me", info::me),
    bot("GET users/@me/guilds", info::my_guilds),
    bot("POST users/@me/channels", channels::direct),
    bot("GET users/{user}", info::user),
    bot("GET applications/@me", info::application),
    bot("PATCH applications/@me", info::application),
    bot("GET oauth2/applications/@me", info::application),
    bot("GET guilds/{guild}", info::guild),
    bot("GET guilds/{guild}/channels", info::guild_channels),
    bot("GET guilds/{guild}/roles", info::guild_roles),
    bot("GET guilds/{guild}/members", info::members),
    bot("GET guilds/{guild}/members/{user}", info::member),
    bot("GET guilds/{guild}/threads/active", threads::active),
    bot("GET channels/{channel}", channels::get),
    bot("PATCH channels/{channel}", channels::change),
    bot("DELETE channels/{channel}", channels::delete),
    bot("POST channels/{channel}/typing", channels::typing),
    bot("GET channels/{channel}/messages", messages::list),
    bot("POST channels/{channel}/messages", messages::create),
    bot("GET channels/{channel}/messages/{message}", messages::get),
    bot("PATCH channels/{channel}/messages/{message}", messages::edit),
    bot("DELETE channels/{channel}/messages/{message}", messages::delete),
    bot("PUT channels/{channel}/messages/{message}/reactions/{emoji}/@me", reactions::add),
    bot("DELETE channels/{channel}/messages/{message}/reactions/{emoji}/@me", reactions::take_own),
    bot("DELETE channels/{channel}/messages/{message}/reactions/{emoji}/{user}", reactions::take),
    bot("GET channels/{channel}/messages/{message}/reactions/{emoji}", reactions::list),
    bot("DELETE channels/{channel}/messages/{message}/reactions", reactions::clear),
    bot("POST channels/{channel}/messages/{message}/threads", threads::from_message),
    bot("POST channels/{channel}/threads", threads::create),
    bot("PUT channels/{channel}/thread-members/@me", threads::join),
    bot("DELETE channels/{channel}/thread-members/@me", threads::leave),
    bot("GET channels/{channel}/thread-members/{user}", threads::member),
    bot("GET channels/{channel}/threads/archived/public", threads::archived),
    bot("GET applications/{application}/commands", commands::list),
    bot("PUT applications/{application}/commands", commands::replace),
    bot("POST applications/{application}/commands", commands::create),
    bot("GET applications/{application}/commands/{command}", commands::get),
    bot("PATCH applications/{application}/commands/{command}", commands::change),
    bot("DELETE applications/{application}/commands/{command}", commands::delete),
    bot("GET applications/{application}/guilds/{guild}/commands", commands::list),
    bot("PUT applications/{application}/guilds/{guild}/commands", commands::replace),
    bot("POST applications/{application}/guilds/{guild}/commands", commands::create),
    bot("GET applications/{application}/guilds/{guild}/commands/{command}", commands::get),
    bot("PATCH applications/{application}/guilds/{guild}/commands/{command}", commands::change),
    bot("DELETE applications/{application}/guilds/{guild}/commands/{command}", commands::delete),
    by_address("POST interactions/{interaction}/{token}/callback", callback::answer),
    by_address("POST webhooks/{application}/{token}", webhooks::follow),
    by_address("GET webhooks/{application}/{token}/messages/{message}", webhooks::get),
    by_address("PATCH webhooks/{application}/{token}/messages/{message}", webhooks::edit),
    by_address("DELETE webhooks/{application}/{token}/messages/{message}", webhooks::delete),
];

/// Whether a path is one of a method's; the most exact method comes first in the table.
fn fits(method: &Method, verb: &str, path: &[&str]) -> bool {
    let Some((known, pattern)) = method.name.split_once(' ') else { return false };
    known == verb
        && pattern.split('/').count() == path.len()
        && pattern.split('/').zip(path).all(|(part, given)| part.starts_with('{') || part == *given)
}

/// The answer to a request, and what its headers say of the pace.
#[derive(Debug)]
pub struct Answered {
    pub result: Answer,
    pub level: Option<Level>,
    pub bucket: String,
}

/// How a request ends.
#[derive(Debug)]
pub enum Ending {
    Answer(Box<Answered>),
    /// The connection is to be closed without a word.
    Cut,
}

/// What the headers of a request say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heads<'a> {
    pub token: Option<&'a str>,
    pub agent: Option<&'a str>,
}

impl Discord {
    /// Answers one request; `path` is what follows the version.
    pub async fn request(&self, verb: &str, path: &[&str], heads: Heads<'_>, body: Result<Body, ApiError>) -> Ending {
        let answered = |result, level, bucket| Ending::Answer(Box::new(Answered { result, level, bucket }));
        let (bot, method) = match self.write(|world| identify(world, verb, path, heads)) {
            Ok(known) => known,
            Err(error) => return answered(Err(error), None, String::new()),
        };
        let channel = self.write(|world| concerned(world, path));
        let hit = |kind: Kind| self.write(|world| world.faults.hit(|known| known == kind, method.name, channel));
        if let Some(delay) = hit(Kind::Delay) {
            self.pause(seconds(delay.seconds.unwrap_or(1.0).min(3_600.0))).await;
        }
        let dropped = hit(Kind::Drop).map(|fault| fault.when);
        if dropped == Some(When::Before) {
            return Ending::Cut;
        }
        let passing = Passing {
            bot,
            route: method.name,
            major: path.get(1).and_then(|id| id.parse().ok()).unwrap_or_default(),
            reaction: method.name.contains("/reactions/"),
            free: method.pass == Pass::Address,
        };
        let ending = self.write(|world| {
            let (result, level) = match admit(world, passing, channel) {
                Ok(level) => {
                    let run = |body: &Body| (method.run)(world, &Asked { bot, method: method.name, path, body });
                    (body.as_ref().map_err(Clone::clone).and_then(run), level)
                }
                Err(error) => (Err(error), None),
            };
            let result = result.or_else(|error| refuse(world, method.name, error));
            answered(result, level, bucket(method.name))
        });
        if dropped.is_some() { Ending::Cut } else { ending }
    }
}

fn identify(
    world: &mut World,
    verb: &str,
    path: &[&str],
    heads: Heads<'_>,
) -> Result<(u64, &'static Method), ApiError> {
    let Some(method) = METHODS.iter().find(|method| fits(method, verb, path)) else {
        let known_path =
            METHODS.iter().any(|method| fits(method, method.name.split(' ').next().unwrap_or_default(), path));
        let error = if known_path { ApiError::new(405, 0, "405: Method Not Allowed") } else { ApiError::not_found() };
        let name = format!("{verb} {}", path.join("/"));
        return refuse(world, &name, error.as_rule("unknown_route"));
    };
    *world.stats.requests.entry(method.name.to_owned()).or_default() += 1;
    // Libraries name themselves at addresses with a token of their own as any web client does.
    if method.pass == Pass::Bot && !heads.agent.is_some_and(|agent| agent.starts_with("DiscordBot")) {
        world.stats.violation("user_agent", method.name, heads.agent.unwrap_or("none"));
    }
    let token = heads.token.and_then(|token| token.strip_prefix("Bot "));
    match (method.pass, token.and_then(|token| world.bot(token))) {
        (Pass::Bot, None) => refuse(world, method.name, ApiError::unauthorized()),
        (_, bot) => Ok((bot.unwrap_or_default(), method)),
    }
}

/// The channel that a request concerns: a thread's is its parent, an interaction's address stands for its channel.
fn concerned(world: &World, path: &[&str]) -> Option<u64> {
    let channel = match path {
        ["channels", id, ..] => id.parse().ok(),
        ["interactions", id, ..] => id.parse().ok().and_then(|id| world.interactions.get(&id)).map(|one| one.channel),
        ["webhooks", _, token, ..] => world.by_token(token).map(|one| one.channel),
        _ => None,
    };
    channel.map(|id| world.channels.get(&id).map_or(id, super::cast::Channel::root))
}

/// Lets a request pass the limits and the faults that were ordered for it.
fn admit(world: &mut World, passing: Passing<'_>, channel: Option<u64>) -> Result<Option<Level>, ApiError> {
    let level = world.meter.check(&world.limits, passing)?;
    let wanted = |kind| matches!(kind, Kind::RateLimit | Kind::Error);
    match world.faults.hit(wanted, passing.route, channel) {
        Some(fault) if fault.kind == Kind::RateLimit => {
            let scope = match (fault.global, fault.shared) {
                (true, _) => Scope::Global,
                (_, true) => Scope::Shared,
                _ => Scope::User,
            };
            let error = world.meter.hold(passing, fault.seconds.unwrap_or(1.0), scope);
            Err(ApiError { raw: fault.body, ..error })
        }
        Some(fault) => Err(failure(&fault)),
        None => Ok(level),
    }
}

fn failure(fault: &Fault) -> ApiError {
    let status = fault.status.filter(|status| (400..600).contains(status)).unwrap_or(500);
    let (code, words) = match status {
        401 => (0, "401: Unauthorized"),
        403 => (50_013, "Missing Permissions"),
        404 => (0, "404: Not Found"),
        502 => (0, "502: Bad Gateway"),
        503 => (0, "503: Service Unavailable"),
        500 => (0, "500: Internal Server Error"),
        _ => (0, "refused on demand"),
    };
    let message = fault.description.clone().unwrap_or_else(|| words.to_owned());
    ApiError { raw: fault.body.clone(), ..ApiError::new(status, fault.code.unwrap_or(code), message) }
}

fn refuse<T>(world: &mut World, method: &str, error: ApiError) -> Result<T, ApiError> {
    let shared = error.wait.is_some_and(|wait| wait.scope == Scope::Shared);
    if matches!(error.status, 401 | 403 | 429) && !shared {
        world.meter.invalid();
    }
    if let Some(rule) = error.rule {
        let detail = match &error.errors {
            Some(errors) => format!("{} {errors}", error.message),
            None => error.message.clone(),
        };
        world.stats.violation(rule, method, detail);
    }
    Err(error)
}

/// The name of a bucket: it tells nothing, and is the same for one route everywhere.
fn bucket(method: &str) -> String {
    format!("{:016x}", super::ids::digest(method))
}

#[cfg(test)]
mod tests {
    use super::super::{Limits, Say, Setup};
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    fn any_value() -> impl Strategy<Value = Value> {
        let texts = vec!["", "x", "0", "1", "577010483024625664", "<@1> `", "😀", "name", "users"];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            (0..33_u64).prop_map(Value::from),
            prop::sample::select(texts).prop_map(Value::from),
        ];
        let names = prop::sample::select(vec![
            "content",
            "embeds",
            "title",
            "description",
            "fields",
            "name",
            "value",
            "components",
            "type",
            "style",
            "custom_id",
            "options",
            "choices",
            "attachments",
            "id",
            "flags",
            "nonce",
            "enforce_nonce",
            "allowed_mentions",
            "parse",
            "message_reference",
            "message_id",
            "data",
            "recipient_id",
            "message",
            "label",
            "component",
            "accessory",
            "min_value",
            "max_length",
            "required",
        ]);
        leaf.prop_recursive(4, 40, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((names.clone(), inner), 0..6)
                    .prop_map(|fields| fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_body_of_any_method_is_answered(json in any_value(), method in 0..METHODS.len(), known in any::<bool>()) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
            let setup = Setup { limits: Limits::none(), ..Setup::default() };
            let discord = Discord::new(setup, "http://h", CancellationToken::new());
            let said = discord.say(Say::new("general", "ann", "hello")).expect("said");
            let message = said.message.expect("a message");
            let (verb, pattern) = METHODS[method].name.split_once(' ').expect("a verb and a path");
            let part = |part: &str| match part {
                "{channel}" if known => said.chat.clone(),
                "{message}" if known => message.clone(),
                "{application}" => "123".to_owned(),
                "{emoji}" => "👀".to_owned(),
                part if part.starts_with('{') => "5".to_owned(),
                part => part.to_owned(),
            };
            let path: Vec<String> = pattern.split('/').map(part).collect();
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            let heads = Heads { token: Some("Bot MTIz.a.b"), agent: Some("DiscordBot") };
            let body = Body { json, ..Body::default() };
            let Ending::Answer(answered) = runtime.block_on(discord.request(verb, &path, heads, Ok(body))) else {
                panic!("no fault was ordered");
            };
            if let Err(error) = answered.result {
                prop_assert!(error.status >= 400 && error.json() != json!(null));
            }
        }

        #[test]
        fn any_words_over_a_socket_are_taken(words in prop::collection::vec((0..12_u64, any_value()), 0..6)) {
            let discord = Discord::new(Setup::default(), "http://h", CancellationToken::new());
            let id = discord.write(|world| world.connect("10", "json"));
            for (op, data) in words {
                discord.write(|world| world.heard(id, &json!({"op": op, "d": data}).to_string()));
            }
            prop_assert!(!discord.pull(id).0.is_empty());
        }
    }
}
