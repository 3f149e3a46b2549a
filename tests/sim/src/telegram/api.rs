//! The method table and the way of one request through faults, limits and its method.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::error::ApiError;
use super::fault::{Fault, Kind, Target, When};
use super::limits::Passing;
use super::params::Params;
use super::world::World;
use super::{Telegram, draft, edit, hook, info, poll, react, send};

/// One request as its method sees it.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub token: &'a str,
    pub bot: i64,
    /// The method as the documentation writes it.
    pub method: &'static str,
    pub params: &'a Params,
}

type Run = fn(&mut World, &Asked<'_>) -> Result<Value, ApiError>;

struct Method {
    name: &'static str,
    /// Whether it counts against the pace of sending.
    paced: bool,
    run: Run,
}

const fn paced(name: &'static str, run: Run) -> Method {
    Method { name, paced: true, run }
}

const fn free(name: &'static str, run: Run) -> Method {
    Method { name, paced: false, run }
}

const METHODS: [Method; 39] = [
    paced("sendMessage", send::message),
    paced("sendDocument", send::document),
    paced("sendPhoto", send::photo),
    paced("sendVideo", send::video),
    paced("sendAnimation", send::animation),
    paced("sendAudio", send::audio),
    paced("sendVoice", send::voice),
    paced("sendVideoNote", send::video_note),
    paced("sendSticker", send::sticker),
    paced("sendMediaGroup", send::album),
    paced("copyMessage", send::copy),
    paced("forwardMessage", send::forward),
    free("sendMessageDraft", draft::show),
    free("sendChatAction", send::action),
    paced("editMessageText", edit::message_text),
    paced("editMessageCaption", edit::message_caption),
    paced("editMessageReplyMarkup", edit::message_markup),
    free("deleteMessage", edit::delete),
    free("setMessageReaction", react::set),
    free("answerCallbackQuery", edit::answer_press),
    free("getMe", info::me),
    free("getFile", info::file),
    free("getChat", info::chat_info),
    free("getChatMember", info::member),
    free("getChatAdministrators", info::administrators),
    free("createForumTopic", info::topic),
    free("setMyCommands", info::set_commands),
    free("getMyCommands", info::commands),
    free("deleteMyCommands", info::delete_commands),
    free("setWebhook", hook::set),
    free("deleteWebhook", hook::delete),
    free("getWebhookInfo", hook::info),
    free("setMyName", info::truth),
    free("setMyDescription", info::truth),
    free("setMyShortDescription", info::truth),
    free("setChatMenuButton", info::truth),
    free("close", info::truth),
    free("logOut", info::truth),
    // Answered by the poll itself, which waits; here so that the name is known.
    free(poll::METHOD, info::truth),
];

/// How a request ends.
#[derive(Debug)]
pub enum Ending {
    Answer(Result<Value, ApiError>),
    /// The connection is to be closed without a word.
    Cut,
}

impl Ending {
    /// Status and body of the answer; nothing when there is none.
    pub fn wire(self) -> Option<(u16, Value)> {
        match self {
            Self::Answer(Ok(result)) => Some((200, json!({"ok": true, "result": result}))),
            Self::Answer(Err(error)) => Some((error.code, error.json())),
            Self::Cut => None,
        }
    }
}

impl Telegram {
    /// Answers one request of a bot.
    pub async fn request(&self, token: &str, method: &str, params: Result<Params, ApiError>) -> Ending {
        let arrived = Instant::now();
        let (bot, method) = match self.identify(token, method) {
            Ok(known) => known,
            Err(error) => return Ending::Answer(Err(error)),
        };
        let params = match params {
            Ok(params) => params,
            Err(error) => return Ending::Answer(self.write(|world| refuse(world, method.name, error))),
        };
        let asked = Asked { token, bot, method: method.name, params: &params };
        let target = Target { method: method.name, chat: self.lock_meant(bot, &params), marked: marked(&params) };
        if let Some(delay) = self.write(|world| world.faults.hit(&[Kind::Delay], target)) {
            self.pause(Duration::from_secs_f64(delay.seconds.unwrap_or(1.0).clamp(0.0, 3_600.0))).await;
        }
        let dropped = self.write(|world| world.faults.hit(&[Kind::Drop], target)).map(|fault| fault.when);
        if dropped == Some(When::Before) {
            return Ending::Cut;
        }
        let ending = if method.name == poll::METHOD {
            self.poll(&asked, target).await
        } else {
            Ending::Answer(self.write(|world| guarded(world, &asked, method, target, arrived)))
        };
        if dropped.is_some() { Ending::Cut } else { ending }
    }

    /// The chat that a request names.
    fn lock_meant(&self, bot: i64, params: &Params) -> Option<i64> {
        let wire = params.int("chat_id")?;
        self.write(|world| world.meant(bot, wire).or(Some(wire)))
    }

    fn identify(&self, token: &str, method: &str) -> Result<(i64, &'static Method), ApiError> {
        let known = METHODS.iter().find(|known| known.name.eq_ignore_ascii_case(method));
        self.write(|world| {
            let Some(bot) = world.bot(token).map(|bot| bot.id) else {
                world.stats.violation("token", method, "no such bot");
                return Err(ApiError::new(401, "Unauthorized"));
            };
            let Some(known) = known else {
                world.stats.violation("unknown_method", method, "Not Found");
                return Err(ApiError::new(404, "Not Found"));
            };
            *world.stats.requests.entry(known.name.to_owned()).or_default() += 1;
            Ok((bot, known))
        })
    }
}

fn marked(params: &Params) -> bool {
    ["parse_mode", "entities", "caption_entities"]
        .iter()
        .any(|name| params.text(name).is_some_and(|value| !value.is_empty() && value != "[]"))
}

/// Runs a method behind the ordered faults and the limits, and counts what broke a rule.
fn guarded(
    world: &mut World,
    asked: &Asked<'_>,
    method: &Method,
    target: Target<'_>,
    arrived: Instant,
) -> Result<Value, ApiError> {
    let passing = Passing {
        bot: asked.bot,
        chat: asked.params.int("chat_id"),
        method: method.name,
        counted: method.paced,
        arrived,
    };
    let result = world
        .meter
        .check(&world.limits, passing)
        .and_then(|()| ordered(world, asked, target).map_or(Ok(()), Err))
        .and_then(|()| (method.run)(world, asked));
    result.or_else(|error| refuse(world, method.name, error))
}

/// The error that somebody ordered for this request.
pub fn ordered(world: &mut World, asked: &Asked<'_>, target: Target<'_>) -> Option<ApiError> {
    let fault = world.faults.hit(&[Kind::RateLimit, Kind::Error, Kind::RefuseMarkup], target)?;
    Some(match fault.kind {
        Kind::RateLimit => {
            // A wait for a request that concerns no chat is for that method; else the chat's messages would be held by it.
            let own = target.chat.is_none().then(|| asked.method.to_owned());
            let method = fault.method.filter(|method| method != "*").or(own);
            world.meter.hold((asked.bot, asked.params.int("chat_id")), fault.seconds.unwrap_or(1.0), method)
        }
        Kind::RefuseMarkup => ApiError::bad("can't parse entities: Unsupported start tag \"refused\" at byte offset 0"),
        _ => failure(&fault),
    })
}

fn failure(fault: &Fault) -> ApiError {
    let status = fault.status.filter(|status| (400..600).contains(status)).unwrap_or(500);
    let words = match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        409 => "Conflict",
        502 => "Bad Gateway",
        504 => "Gateway Timeout",
        _ => "Internal Server Error",
    };
    ApiError::new(status, fault.description.clone().unwrap_or_else(|| words.to_owned()))
}

fn refuse(world: &mut World, method: &str, error: ApiError) -> Result<Value, ApiError> {
    if let Some(rule) = error.rule {
        world.stats.violation(rule, method, error.description.clone());
    }
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::super::{Say, Setup};
    use super::*;
    use proptest::prelude::*;
    use tokio_util::sync::CancellationToken;

    fn any_value() -> impl Strategy<Value = Value> {
        let texts = vec![
            "",
            "1",
            "-1",
            "true",
            "HTML",
            "MarkdownV2",
            "<b>x",
            "*_",
            "{}",
            "[]",
            "[1]",
            "attach://x",
            "typing",
            "General",
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-3_i64..5).prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            prop::sample::select(texts).prop_map(Value::from),
            "\\PC{0,8}".prop_map(Value::from),
        ];
        let names = prop::sample::select(vec![
            "message_id",
            "type",
            "offset",
            "length",
            "inline_keyboard",
            "text",
            "url",
            "emoji",
            "media",
        ]);
        leaf.prop_recursive(3, 12, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((names.clone(), inner), 0..4).prop_map(|fields| Value::Object(
                    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
                )),
            ]
        })
    }

    fn any_params() -> impl Strategy<Value = Vec<(&'static str, Value)>> {
        let names = prop::sample::select(vec![
            "text",
            "caption",
            "parse_mode",
            "entities",
            "caption_entities",
            "reply_markup",
            "reply_parameters",
            "message_id",
            "message_thread_id",
            "media",
            "document",
            "reaction",
            "action",
            "commands",
            "scope",
            "language_code",
            "offset",
            "limit",
            "allowed_updates",
            "draft_id",
            "user_id",
            "name",
            "url",
            "from_chat_id",
            "callback_query_id",
            "file_id",
        ]);
        prop::collection::vec((names, any_value()), 0..6)
    }

    proptest! {
        #[test]
        fn any_parameters_of_any_method_are_answered(params in any_params(), method in 0..METHODS.len(), known in any::<bool>()) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
            let telegram = Telegram::new(Setup::default(), CancellationToken::new());
            let said = telegram.say(Say::new("general", "ann", "hello")).expect("said");
            let mut values: serde_json::Map<String, Value> = params.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            if known {
                values.insert("chat_id".into(), json!(said.chat));
            }
            let params = Params { values, uploads: Vec::new() };
            let ending = runtime.block_on(telegram.request("1:x", METHODS[method].name, Ok(params)));
            let (status, body) = ending.wire().expect("no fault was ordered");
            prop_assert_eq!(status == 200, body["ok"] == json!(true));
        }
    }
}
