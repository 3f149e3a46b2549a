//! The simulator's objects in the strict types of libraries that we did not write, and one of those libraries as a client.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use twilight_gateway::{ConfigBuilder, Event, EventTypeFlags, Intents, Shard, ShardId, StreamExt, parse};

use crate::discord_rig::{BOT, Rig, Socket, TOKEN, start};

/// The next event of a name, which has to fit the types of twilight.
async fn strict(socket: &mut Socket, name: &str) -> Value {
    loop {
        let frame = socket.next().await.expect("a frame");
        let typed = parse(frame.to_string(), EventTypeFlags::all());
        let typed = typed.unwrap_or_else(|cause| panic!("{cause:?}: {frame}"));
        assert!(typed.is_some(), "unknown: {frame}");
        if frame["t"] == name {
            return frame["d"].clone();
        }
    }
}

/// A body that has to fit a type of serenity.
fn fits<T: DeserializeOwned>(what: &str, body: &Value) {
    if let Err(cause) = serde_json::from_value::<T>(body.clone()) {
        panic!("{what}: {cause}: {body}");
    }
}

#[tokio::test]
async fn every_event_fits_the_types_of_others() {
    use serenity::model::prelude::{Guild, GuildMemberAddEvent, Interaction, Message, MessageUpdateEvent, Ready};
    let rig = start().await;
    rig.act("conversation", json!({"name": "help", "kind": "forum"})).await;
    rig.act("conversation", json!({"name": "news", "kind": "announcement"})).await;
    rig.act("say", json!({"conversation": "general", "user": "ann", "text": "x", "thread": "before"})).await;
    rig.act("conversation", json!({"name": "general", "roles": {"bob": "staff"}})).await;
    let mut socket = rig.socket("?v=10").await;
    socket.identify(json!({})).await;
    fits::<Ready>("READY", &strict(&mut socket, "READY").await);
    fits::<Guild>("GUILD_CREATE", &strict(&mut socket, "GUILD_CREATE").await);
    rig.say("general", "cleo", "new").await;
    fits::<GuildMemberAddEvent>("GUILD_MEMBER_ADD", &strict(&mut socket, "GUILD_MEMBER_ADD").await);
    let heard = strict(&mut socket, "MESSAGE_CREATE").await;
    fits::<Message>("MESSAGE_CREATE", &heard);
    let message = &heard["id"];
    for extra in [
        json!({"reply_to": message}),
        json!({"files": [{"name": "a.png", "text": "x"}]}),
        json!({"stickers": ["wave"]}),
        json!({"forward": message}),
        json!({"webhook": true}),
        json!({"bot": true}),
        json!({"mention": true}),
        json!({"thread": "new"}),
    ] {
        let mut body = json!({"conversation": "general", "user": "ann", "text": "x"});
        extra.as_object().into_iter().flatten().for_each(|(field, value)| body[field] = value.clone());
        rig.act("say", body).await;
        fits::<Message>(&extra.to_string(), &strict(&mut socket, "MESSAGE_CREATE").await);
    }
    rig.say("dm:ann", "ann", "x").await;
    fits::<Message>("direct", &strict(&mut socket, "MESSAGE_CREATE").await);
    rig.act("edit", json!({"conversation": "general", "user": "cleo", "message": message, "text": "y"})).await;
    fits::<MessageUpdateEvent>("MESSAGE_UPDATE", &strict(&mut socket, "MESSAGE_UPDATE").await);
    rig.act("react", json!({"conversation": "general", "user": "ann", "message": message, "emoji": "👍"})).await;
    strict(&mut socket, "MESSAGE_REACTION_ADD").await;
    rig.act("typing", json!({"conversation": "general", "user": "ann"})).await;
    strict(&mut socket, "TYPING_START").await;
    rig.act("conversation", json!({"name": "fresh"})).await;
    strict(&mut socket, "CHANNEL_CREATE").await;
    rig.act("conversation", json!({"name": "fresh", "state": "gone"})).await;
    strict(&mut socket, "CHANNEL_DELETE").await;
    rig.act("remove", json!({"conversation": "general", "message": message})).await;
    strict(&mut socket, "MESSAGE_DELETE").await;
    interactions(&rig, &mut socket, |event| fits::<Interaction>("INTERACTION_CREATE", event)).await;
    rig.end().await;
}

async fn interactions(rig: &Rig, socket: &mut Socket, check: impl Fn(&Value)) {
    let options = json!([
        {"name": "who", "description": "d", "type": 6}, {"name": "where", "description": "d", "type": 7}, {"name": "role", "description": "d", "type": 8},
        {"name": "file", "description": "d", "type": 11}, {"name": "word", "description": "d", "type": 3, "autocomplete": true},
    ]);
    let commands = rig
        .ok(
            &format!("PUT applications/{BOT}/commands"),
            json!([{"name": "all", "description": "d", "options": options}]),
        )
        .await;
    fits::<Vec<serenity::model::application::Command>>("commands", &commands);
    let args =
        json!({"who": "bob", "where": "general", "role": "staff", "file": {"name": "a", "text": "x"}, "word": "w"});
    rig.act("command", json!({"conversation": "general", "user": "ann", "name": "all", "args": args})).await;
    let event = strict(socket, "INTERACTION_CREATE").await;
    check(&event);
    let call = |event: &Value| {
        format!(
            "POST interactions/{}/{}/callback?with_response=true",
            event["id"].as_str().expect("an id"),
            event["token"].as_str().expect("a token")
        )
    };
    let form = json!({"title": "t", "custom_id": "f", "components": [{"type": 1, "components": [{"type": 4, "custom_id": "a", "style": 1, "label": "l"}]}]});
    rig.ok(&call(&event), json!({"type": 9, "data": form})).await;
    rig.act("submit", json!({"conversation": "general", "user": "ann", "values": {"a": "x"}})).await;
    let event = strict(socket, "INTERACTION_CREATE").await;
    check(&event);
    let parts = json!([{"type": 1, "components": [{"type": 2, "style": 1, "label": "x", "custom_id": "b"}]}, {"type": 1, "components": [{"type": 3, "custom_id": "m", "options": [{"label": "l", "value": "v"}]}]}]);
    let answer = rig.ok(&call(&event), json!({"type": 4, "data": {"content": "x", "components": parts, "embeds": [{"title": "t", "fields": [{"name": "n", "value": "v"}]}]}})).await;
    let message = &answer["resource"]["message"];
    fits::<serenity::model::channel::Message>("answer", message);
    for (button, values) in [("b", json!([])), ("m", json!(["v"]))] {
        rig.act("press", json!({"conversation": "general", "user": "ann", "message": message["id"], "button": button, "values": values})).await;
        check(&strict(socket, "INTERACTION_CREATE").await);
    }
    rig.act("command", json!({"conversation": "dm:ann", "user": "ann", "name": "all"})).await;
    check(&strict(socket, "INTERACTION_CREATE").await);
    let typed = json!({"conversation": "general", "user": "ann", "name": "all", "field": "word", "typed": "w"});
    let answer = async {
        let event = strict(socket, "INTERACTION_CREATE").await;
        check(&event);
        rig.ok(&call(&event), json!({"type": 8, "data": {"choices": []}})).await;
    };
    tokio::join!(rig.act("autocomplete", typed), answer);
}

#[tokio::test]
async fn every_answer_fits_the_types_of_others() {
    use serenity::model::prelude::{Channel, CurrentApplicationInfo, CurrentUser, Member, Message, PartialGuild};
    let rig = start().await;
    let (channel, _) = rig.say("general", "ann", "x").await;
    fits::<CurrentUser>("users/@me", &rig.ok("GET users/@me", Value::Null).await);
    fits::<CurrentApplicationInfo>("application", &rig.ok("GET applications/@me", Value::Null).await);
    fits::<Channel>("channel", &rig.ok(&format!("GET channels/{channel}"), Value::Null).await);
    let guild = rig.ok("GET users/@me/guilds", Value::Null).await[0]["id"].as_str().expect("an id").to_owned();
    fits::<PartialGuild>("guild", &rig.ok(&format!("GET guilds/{guild}"), Value::Null).await);
    let mut members = rig.ok(&format!("GET guilds/{guild}/members?limit=9"), Value::Null).await;
    members.as_array_mut().into_iter().flatten().for_each(|member| member["guild_id"] = json!(guild));
    fits::<Vec<Member>>("members", &members);
    let embed =
        json!({"title": "t", "description": "d", "fields": [{"name": "n", "value": "v"}], "footer": {"text": "f"}});
    fits::<Message>("message", &rig.ok(&format!("POST channels/{channel}/messages"), json!({"embeds": [embed]})).await);
    fits::<Vec<Message>>("messages", &rig.ok(&format!("GET channels/{channel}/messages"), Value::Null).await);
    let user = members[0]["user"]["id"].clone();
    let other = members
        .as_array()
        .into_iter()
        .flatten()
        .find(|one| one["user"]["bot"] == false)
        .map_or(user, |one| one["user"]["id"].clone());
    let direct = rig.ok("POST users/@me/channels", json!({"recipient_id": other})).await;
    fits::<Channel>("direct", &direct);
    rig.end().await;
}

#[tokio::test]
async fn a_library_that_we_did_not_write_holds_its_session_through_cuts() {
    let rig = start().await;
    let config = ConfigBuilder::new(TOKEN.to_owned(), Intents::all())
        .proxy_url(format!("{}/discord/gateway", rig.running.url.replace("http", "ws")));
    let mut shard = Shard::with_config(ShardId::ONE, config.build());
    let mut next = async |wanted: fn(&Event) -> bool| loop {
        match shard.next_event(EventTypeFlags::all()).await.expect("a stream") {
            Ok(event) if wanted(&event) => return event,
            // A cut is an error that the library mends by itself.
            Ok(_) | Err(_) => {}
        }
    };
    next(|event| matches!(event, Event::GuildCreate(_))).await;
    for fault in [
        json!({"kind": "disconnect"}),
        json!({"kind": "close"}),
        json!({"kind": "close", "status": 4000}),
        json!({"kind": "reconnect"}),
        json!({"kind": "invalid_session", "resumable": true}),
    ] {
        rig.act("fault", fault.clone()).await;
        rig.say("dm:ann", "ann", "still there?").await;
        next(|event| matches!(event, Event::MessageCreate(_))).await;
    }
    let stats = rig.control_get("stats").await;
    assert_eq!((&stats["gateway"]["identifies"], &stats["violation_count"]), (&json!(1), &json!(0)), "{stats}");
    drop(shard);
    rig.end().await;
}
