//! The gateway as a client meets it: sessions, replays, shards, intents, and every way in which a socket ends.

use flate2::{Decompress, FlushDecompress};
use futures_util::FutureExt;
use serde_json::{Value, json};
use sim::discord::{Intents, Limits, Setup};

use crate::discord_rig::{BOT, Ended, INTENTS, Rig, Socket, TOKEN, start, start_setup, start_with};

#[tokio::test]
async fn a_session_begins_with_its_guilds_and_hears_what_people_say() {
    let rig = start().await;
    assert!(rig.ok("GET gateway/bot", Value::Null).await["url"].as_str().is_some_and(|url| url.starts_with("ws://")));
    let (mut socket, ready) = rig.online().await;
    assert_eq!((&ready["user"]["id"], &ready["application"]["id"]), (&json!(BOT), &json!(BOT)));
    assert!(ready["resume_gateway_url"].as_str().is_some_and(|url| url.ends_with("/discord/gateway/resume")));
    let (channel, message) = rig.say("general", "ann", "hello").await;
    let heard = socket.event("MESSAGE_CREATE").await;
    assert_eq!(
        (&heard["id"], &heard["channel_id"], &heard["content"]),
        (&json!(message), &json!(channel), &json!("hello"))
    );
    assert_eq!((&heard["author"]["global_name"], &heard["member"]["deaf"]), (&json!("ann"), &json!(false)));
    socket.send(1, json!(3)).await;
    socket.op(11).await;
    rig.end().await;
}

#[tokio::test]
async fn a_session_that_was_cut_is_resumed_with_all_that_it_missed() {
    let rig = start().await;
    let (mut socket, ready) = rig.online().await;
    rig.say("general", "ann", "one").await;
    socket.event("MESSAGE_CREATE").await;
    rig.act("fault", json!({"kind": "disconnect"})).await;
    assert_eq!(socket.ended().await, Ended::Cut);
    rig.say("general", "ann", "two").await;
    let address = format!("{}/?v=10&encoding=json", ready["resume_gateway_url"].as_str().expect("an address"));
    let mut socket = rig.socket_at(&address).await;
    socket.resume(&ready["session_id"], 3).await;
    let mut seen = Vec::new();
    loop {
        let frame = socket.next().await.expect("a frame");
        seen.push((frame["t"].as_str().map(str::to_owned), frame["s"].as_u64(), frame["d"]["content"].clone()));
        if frame["t"] == "RESUMED" {
            break;
        }
    }
    // One member came with the first message.
    let names: Vec<_> = seen.iter().filter_map(|(name, ..)| name.as_deref()).collect();
    assert_eq!(names, ["MESSAGE_CREATE", "MESSAGE_CREATE", "RESUMED"]);
    assert_eq!((&seen[0].2, &seen[1].2, seen[2].1), (&json!("one"), &json!("two"), Some(6)));
    let stats = rig.control_get("stats").await;
    assert_eq!((&stats["gateway"]["resume_address"], &stats["gateway"]["resumed"]), (&json!(1), &json!(1)));
    rig.end().await;
}

#[tokio::test]
async fn what_cannot_be_resumed_is_said_to_be_over() {
    let rig = start_with(Limits { replay: 3, ..Limits::none() }).await;
    let (socket, ready) = rig.online().await;
    drop(socket);
    for text in ["a", "b", "c", "d"] {
        rig.say("general", "ann", text).await;
    }
    for (session, seq) in [(json!("unknown"), 1), (ready["session_id"].clone(), 1)] {
        let mut socket = rig.socket("?v=10").await;
        socket.resume(&session, seq).await;
        assert_eq!(socket.op(9).await["d"], json!(false), "{session}");
    }
    let (socket, ready) = rig.online().await;
    socket.close(Some(1000)).await;
    let mut socket = rig.socket("?v=10").await;
    socket.resume(&ready["session_id"], 1).await;
    assert_eq!(socket.op(9).await["d"], json!(false), "a farewell ends a session");
    let (socket, ready) = rig.online().await;
    socket.close(Some(4000)).await;
    let mut socket = rig.socket("?v=10").await;
    socket.resume(&ready["session_id"], 99).await;
    assert_eq!(socket.ended().await, Ended::Code(4007));
    rig.end().await;
}

#[tokio::test]
async fn sockets_end_in_every_way_on_demand() {
    let rig = start().await;
    for (fault, ended) in [
        (json!({"kind": "close", "status": 4000}), Ended::Code(4000)),
        (json!({"kind": "close", "status": 1001}), Ended::Code(1001)),
        (json!({"kind": "close"}), Ended::NoCode),
        (json!({"kind": "disconnect"}), Ended::Cut),
    ] {
        let (mut socket, _) = rig.online().await;
        rig.act("fault", fault.clone()).await;
        assert_eq!(socket.ended().await, ended, "{fault}");
    }
    let (mut socket, _) = rig.online().await;
    rig.act("fault", json!({"kind": "reconnect"})).await;
    socket.op(7).await;
    rig.act("fault", json!({"kind": "invalid_session", "resumable": true})).await;
    assert_eq!(socket.op(9).await["d"], json!(true));
    rig.act("fault", json!({"kind": "invalid_session"})).await;
    assert_eq!(socket.op(9).await["d"], json!(false));
    for (method, status) in [("CONNECT", 4000), ("IDENTIFY", 4004)] {
        rig.act("fault", json!({"kind": "close", "status": status, "method": method})).await;
        let mut socket = rig.socket("?v=10").await;
        socket.identify(json!({})).await;
        assert_eq!(socket.ended().await, Ended::Code(status), "{method}");
    }
    rig.end().await;
}

#[tokio::test]
async fn a_zombie_stays_open_and_says_nothing() {
    let rig = start().await;
    let (mut socket, _) = rig.online().await;
    rig.act("fault", json!({"kind": "zombie"})).await;
    socket.send(1, Value::Null).await;
    rig.say("general", "ann", "unheard").await;
    let (mut other, _) = rig.online().await;
    other.send(1, Value::Null).await;
    other.op(11).await;
    assert!(socket.next().now_or_never().is_none());
    rig.end().await;
}

#[tokio::test]
async fn a_client_without_heartbeats_is_sent_away() {
    let rig = start_with(Limits { heartbeat_ms: 50, ..Limits::none() }).await;
    let (mut socket, _) = rig.online().await;
    assert_eq!(socket.ended().await, Ended::Code(4009));
    assert_eq!(rig.rules(), ["heartbeat"]);
    rig.end().await;
}

async fn refused(rig: &Rig, say: impl AsyncFnOnce(&mut Socket)) -> Ended {
    let mut socket = rig.socket("?v=10&encoding=json").await;
    say(&mut socket).await;
    socket.ended().await
}

#[tokio::test]
async fn whatever_breaks_the_protocol_is_closed_with_its_code() {
    let rig = start_with(Limits { gateway_per_minute: 5, ..Limits::none() }).await;
    rig.discord().set_intents(Intents { presences: Some(false), ..Intents::default() });
    let codes = [
        refused(&rig, async |socket| socket.send(99, Value::Null).await).await,
        refused(&rig, async |socket| socket.text("{".into()).await).await,
        refused(&rig, async |socket| socket.text(" ".repeat(4_097)).await).await,
        refused(&rig, async |socket| socket.send(3, json!({"status": "online"})).await).await,
        refused(&rig, async |socket| socket.identify(json!({"token": "bad"})).await).await,
        refused(&rig, async |socket| {
            socket.identify(json!({})).await;
            socket.identify(json!({})).await;
        })
        .await,
        refused(&rig, async |socket| {
            for _ in 0..6 {
                socket.send(1, Value::Null).await;
            }
        })
        .await,
        refused(&rig, async |socket| socket.identify(json!({"shard": [2, 2]})).await).await,
        refused(&rig, async |socket| socket.identify(json!({"intents": 1_u64 << 40})).await).await,
        refused(&rig, async |socket| socket.identify(json!({"intents": 1 << 8})).await).await,
    ];
    let expected = [4001, 4002, 4002, 4003, 4004, 4005, 4008, 4010, 4013, 4014].map(Ended::Code);
    assert_eq!(codes, expected);
    let mut old = rig.socket("?v=5").await;
    assert_eq!(old.ended().await, Ended::Code(4012));
    let mut limits = rig.discord().limits();
    limits.shards = 2;
    rig.discord().set_limits(limits);
    assert_eq!(refused(&rig, async |socket| socket.identify(json!({})).await).await, Ended::Code(4011));
    rig.end().await;
}

#[tokio::test]
async fn identifies_are_bounded_at_once_and_in_a_day() {
    let rig = start_with(Limits { identifies_per_day: 3, identify_seconds: 60.0, ..Limits::none() }).await;
    let (_first, _) = rig.online().await;
    let mut second = rig.socket("?v=10").await;
    second.identify(json!({})).await;
    assert_eq!(second.op(9).await["d"], json!(false));
    assert_eq!(rig.ok("GET gateway/bot", Value::Null).await["session_start_limit"]["remaining"], 1);
    let mut limits = rig.discord().limits();
    limits.identify_seconds = 0.0;
    rig.discord().set_limits(limits);
    rig.online().await;
    assert_eq!(refused(&rig, async |socket| socket.identify(json!({})).await).await, Ended::Code(4004));
    assert_eq!(rig.rules(), ["identify_concurrency", "identify_day"]);
    rig.end().await;
}

#[tokio::test]
async fn without_the_intent_a_bot_reads_what_is_meant_for_it() {
    let rig = start_setup(Setup { content: false, limits: Limits::none(), ..Setup::default() }).await;
    assert_eq!(refused(&rig, async |socket| socket.identify(json!({})).await).await, Ended::Code(4014));
    let mut socket = rig.socket("?v=10").await;
    socket.identify(json!({"intents": INTENTS & !(1 << 15)})).await;
    socket.event("GUILD_CREATE").await;
    rig.say("general", "ann", "chatter").await;
    rig.act("say", json!({"conversation": "general", "user": "ann", "text": "hello", "mention": true})).await;
    rig.say("dm:ann", "ann", "private").await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(socket.event("MESSAGE_CREATE").await["content"].clone());
    }
    assert_eq!(seen, [json!(""), json!(format!("<@{BOT}> hello")), json!("private")]);
    rig.end().await;
}

#[tokio::test]
async fn a_shard_hears_of_its_guilds_and_the_first_of_direct_ones() {
    let rig = start().await;
    rig.ok("GET users/@me", Value::Null).await;
    for guild in 0..8 {
        let name = format!("far{guild}");
        rig.act("conversation", json!({"name": name, "guild": format!("Guild {guild}")})).await;
    }
    let mut shards = Vec::new();
    for shard in 0..2 {
        let mut socket = rig.socket("?v=10").await;
        socket.identify(json!({"shard": [shard, 2]})).await;
        let guilds = socket.event("READY").await["guilds"].as_array().cloned().expect("guilds");
        let own = |guild: &Value| guild["id"].as_str().and_then(|id| id.parse::<u64>().ok()).map(|id| (id >> 22) % 2);
        assert!(guilds.iter().all(|guild| own(guild) == Some(shard)), "{guilds:?}");
        shards.push((socket, guilds.len()));
    }
    assert_eq!(shards[0].1 + shards[1].1, 9);
    for guild in 0..8 {
        rig.say(&format!("far{guild}"), "ann", "in a guild").await;
    }
    rig.say("dm:ann", "ann", "last").await;
    loop {
        let heard = shards[0].0.event("MESSAGE_CREATE").await;
        if heard["content"] == "last" {
            break;
        }
        assert_eq!(heard["guild_id"].as_str().and_then(|id| id.parse::<u64>().ok()).map(|id| (id >> 22) % 2), Some(0));
    }
    rig.end().await;
}

#[tokio::test]
async fn events_come_compressed_as_a_stream_or_one_by_one() {
    let rig = start().await;
    let address =
        format!("{}/discord/gateway?v=10&encoding=json&compress=zlib-stream", rig.running.url.replace("http", "ws"));
    let (mut stream, _) = tokio_tungstenite::connect_async(address).await.expect("a socket");
    let mut reader = Decompress::new(true);
    let mut names = Vec::new();
    while names.len() < 3 {
        use futures_util::{SinkExt, StreamExt};
        let frame = stream.next().await.expect("a frame").expect("a frame");
        let part = frame.into_data();
        assert!(part.ends_with(&[0, 0, 255, 255]));
        let mut out = Vec::with_capacity(1 << 20);
        reader.decompress_vec(&part, &mut out, FlushDecompress::Sync).expect("zlib");
        let event: Value = serde_json::from_slice(&out).expect("JSON");
        if event["op"] == 10 {
            let identify = json!({"op": 2, "d": {"token": TOKEN, "intents": INTENTS, "properties": {}}});
            stream.send(tokio_tungstenite::tungstenite::Message::text(identify.to_string())).await.expect("sent");
        }
        names.push(event["t"].clone());
    }
    assert_eq!(names, [Value::Null, json!("READY"), json!("GUILD_CREATE")]);
    let mut socket = rig.socket("?v=10").await;
    socket.identify(json!({"compress": true})).await;
    let frame = socket.frame().await.expect("a frame").into_data();
    let mut out = Vec::with_capacity(1 << 20);
    Decompress::new(true).decompress_vec(&frame, &mut out, FlushDecompress::Finish).expect("zlib");
    assert_eq!(serde_json::from_slice::<Value>(&out).expect("JSON")["t"], "READY");
    rig.end().await;
}

#[tokio::test]
async fn raw_frames_and_duplicates_are_delivered_as_ordered() {
    let rig = start().await;
    let (mut socket, _) = rig.online().await;
    rig.act("raw", json!({"event": {"t": "FUTURE_EVENT", "d": {"odd": [1, null]}}})).await;
    assert_eq!(socket.event("FUTURE_EVENT").await, json!({"odd": [1, null]}));
    rig.act("raw", json!({"event": {"op": 77, "d": "x"}})).await;
    assert_eq!(socket.op(77).await["d"], "x");
    rig.act("fault", json!({"kind": "duplicate"})).await;
    let (_, message) = rig.say("dm:ann", "ann", "twice").await;
    for _ in 0..2 {
        assert_eq!(socket.event("MESSAGE_CREATE").await["id"], json!(message));
    }
    rig.act("fault", json!({"kind": "duplicate", "past": 1})).await;
    assert_eq!(socket.event("MESSAGE_CREATE").await["id"], json!(message));
    rig.end().await;
}

#[tokio::test]
async fn members_are_given_on_request() {
    let rig = start().await;
    let (mut socket, _) = rig.online().await;
    rig.say("general", "ann", "here").await;
    let guild = rig.ok("GET users/@me/guilds", Value::Null).await[0]["id"].clone();
    socket.send(8, json!({"guild_id": guild, "query": "an", "limit": 5, "nonce": "n"})).await;
    let chunk = socket.event("GUILD_MEMBERS_CHUNK").await;
    assert_eq!((&chunk["members"][0]["user"]["username"], &chunk["nonce"]), (&json!("ann"), &json!("n")));
    rig.end().await;
}

#[tokio::test]
async fn hundreds_of_cuts_lose_nothing_and_repeat_nothing() {
    let rig = start().await;
    let (mut socket, ready) = rig.online().await;
    // READY, the guild, and the member that comes with the first message.
    let (mut seq, mut heard) = (2, Vec::new());
    for n in 0..300 {
        let fault = match n % 4 {
            0 => json!({"kind": "disconnect"}),
            1 => json!({"kind": "close"}),
            2 => json!({"kind": "close", "status": 4000}),
            _ => json!({"kind": "reconnect"}),
        };
        rig.act("fault", fault).await;
        rig.say("general", "ann", &n.to_string()).await;
        drop(socket);
        socket = rig.socket("?v=10").await;
        socket.resume(&ready["session_id"], seq).await;
        loop {
            let frame = socket.next().await.expect("a frame");
            seq = frame["s"].as_u64().unwrap_or(seq);
            match frame["t"].as_str() {
                Some("MESSAGE_CREATE") => heard.push(frame["d"]["content"].as_str().map(str::to_owned)),
                Some("RESUMED") => break,
                _ => {}
            }
        }
    }
    assert_eq!(heard, (0..300).map(|n| Some(n.to_string())).collect::<Vec<_>>());
    assert_eq!((rig.control_get("stats").await["gateway"]["identifies"].as_u64(), rig.rules()), (Some(1), vec![]));
    rig.end().await;
}
