//! Messages at the API: every limit with its answer, references, mentions, nonces, files, pages and paces.

use expect_test::expect;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};
use sim::discord::Limits;

use crate::discord_rig::{BOT, Rig, TOKEN, start, start_with};

async fn general(rig: &Rig) -> String {
    rig.say("general", "ann", "hello").await.0
}

fn button(id: &str) -> Value {
    json!({"type": 2, "style": 1, "label": "x", "custom_id": id})
}

fn rows(rows: usize, buttons: usize) -> Value {
    let row = |row: usize| json!({"type": 1, "components": (0..buttons).map(|n| button(&format!("{row}.{n}"))).collect::<Vec<_>>()});
    json!({"components": (0..rows).map(row).collect::<Vec<_>>()})
}

fn menu(options: usize) -> Value {
    let option = |n: usize| json!({"label": format!("l{n}"), "value": format!("v{n}")});
    json!({"components": [{"type": 1, "components": [{"type": 3, "custom_id": "m", "options": (0..options).map(option).collect::<Vec<_>>()}]}]})
}

fn text(length: usize) -> String {
    "x".repeat(length)
}

#[tokio::test]
async fn every_limit_of_a_message_is_enforced_at_its_edge() {
    let rig = start().await;
    let call = format!("POST channels/{}/messages", general(&rig).await);
    let embed = |embed: Value| json!({"embeds": [embed]});
    let field = json!({"name": "n", "value": "v"});
    for body in [
        json!({"content": "😀".repeat(2_000)}),
        embed(json!({"title": text(256), "description": text(4_096), "footer": {"text": text(1_648)}})),
        embed(json!({"fields": vec![field.clone(); 25]})),
        json!({"embeds": vec![json!({"title": "t"}); 10]}),
        rows(5, 5),
        menu(25),
        json!({"content": "x", "nonce": text(25)}),
        json!({"content": "x", "components": [{"type": 1, "components": [button(&text(100))]}]}),
        json!({"flags": 1 << 15, "components": [{"type": 10, "content": text(4_000)}]}),
    ] {
        rig.ok(&call, body).await;
    }
    assert_eq!(rig.rules(), Vec::<&str>::new());
    for (body, rule) in [
        (json!({"content": text(2_001)}), "content_length"),
        (json!({"content": "  \n"}), "empty_message"),
        (json!({}), "empty_message"),
        (embed(json!({"title": text(257)})), "embed_title"),
        (embed(json!({"description": text(4_097)})), "embed_description"),
        (embed(json!({"title": "t", "footer": {"text": text(2_049)}})), "embed_footer"),
        (embed(json!({"fields": vec![field; 26]})), "embed_fields"),
        (embed(json!({"fields": [{"name": text(257), "value": "v"}]})), "embed_field_name"),
        (embed(json!({"fields": [{"name": "n", "value": text(1_025)}]})), "embed_field_value"),
        (embed(json!({"fields": [{"name": "n"}]})), "required_field"),
        (json!({"embeds": [{"description": text(4_000)}, {"description": text(2_001)}]}), "embed_total"),
        (json!({"embeds": vec![json!({"title": "t"}); 11]}), "embed_count"),
        (embed(json!({"title": "t", "url": "javascript:x"})), "embed_url"),
        (embed(json!({"title": "t", "color": 1 << 24})), "embed_color"),
        (rows(6, 1), "component_rows"),
        (rows(1, 6), "row_length"),
        (rows(1, 0), "row_length"),
        (menu(26), "menu_options"),
        (json!({"components": [{"type": 1, "components": [button("a"), button("a")]}]}), "custom_id_unique"),
        (json!({"components": [{"type": 1, "components": [button(&text(101))]}]}), "custom_id"),
        (
            json!({"components": [{"type": 1, "components": [{"type": 2, "style": 1, "label": text(81), "custom_id": "a"}]}]}),
            "button_label",
        ),
        (
            json!({"components": [{"type": 1, "components": [{"type": 2, "style": 5, "label": "x", "url": text(513)}]}]}),
            "button_url",
        ),
        (json!({"components": [button("a")]}), "choice"),
        (json!({"content": "x", "nonce": text(26)}), "nonce_length"),
        (json!({"content": "x", "allowed_mentions": {"parse": ["users"], "users": [BOT]}}), "allowed_mentions"),
        (json!({"content": "x", "allowed_mentions": {"parse": ["all"]}}), "choice"),
        (json!({"content": "x", "attachments": [{"id": 0}]}), "attachment"),
        (json!({"flags": 1 << 15, "components": [{"type": 10, "content": text(4_001)}]}), "component_text"),
        (json!({"flags": 1 << 15, "content": "x", "components": [{"type": 10, "content": "y"}]}), "components_v2"),
    ] {
        let (status, answer) = rig.call(&call, body.clone()).await;
        assert_eq!((status, rig.rules().pop()), (400, Some(rule)), "{body} {answer}");
    }
    rig.end().await;
}

#[tokio::test]
async fn refusals_have_the_platforms_shape() {
    let rig = start().await;
    let (channel, message) = rig.say("general", "ann", "hello").await;
    let (_, answer) = rig.call(&format!("POST channels/{channel}/messages"), json!({"content": text(2_001)})).await;
    let nested = json!({"content": {"_errors": [{"code": "BASE_TYPE_MAX_LENGTH", "message": "Must be 2000 or fewer in length."}]}});
    assert_eq!((&answer["code"], &answer["errors"]), (&json!(50035), &nested));
    rig.act("conversation", json!({"name": "shut", "state": "blocked"})).await;
    rig.act("conversation", json!({"name": "dm:bob", "state": "blocked"})).await;
    rig.act("conversation", json!({"name": "hidden", "state": "kicked"})).await;
    let id = |name: &str| {
        let known = rig.discord().conversations();
        let found = known.iter().find(|one| one["name"] == name).expect("known");
        found["chat"].as_str().expect("an id").to_owned()
    };
    let post = |channel: &str| format!("POST channels/{channel}/messages");
    let hello = json!({"content": "hello"});
    let told = [
        rig.refusal(&post("5"), hello.clone()).await,
        rig.refusal(&post("x"), hello.clone()).await,
        rig.refusal(&post(&id("shut")), hello.clone()).await,
        rig.refusal(&post(&id("dm:bob")), hello.clone()).await,
        rig.refusal(&post(&id("hidden")), hello.clone()).await,
        rig.refusal(&format!("PATCH channels/{channel}/messages/{message}"), hello.clone()).await,
        rig.refusal(&format!("GET channels/{channel}/messages/5"), Value::Null).await,
        rig.refusal(&format!("DELETE channels/{channel}/messages/{message}"), Value::Null).await,
        rig.refusal("GET nowhere", Value::Null).await,
        rig.refusal(&format!("PUT channels/{channel}/messages"), hello).await,
    ];
    expect![[r#"
        404 10003 Unknown Channel
        400 50035 Invalid Form Body
        403 50013 Missing Permissions
        403 50007 Cannot send messages to this user
        403 50001 Missing Access
        403 50005 Cannot edit a message authored by another user
        404 10008 Unknown Message
        403 50013 Missing Permissions
        404 0 404: Not Found
        405 0 405: Method Not Allowed"#]]
    .assert_eq(&told.join("\n"));
    let address = format!("{}/discord/api/v10/users/@me", rig.running.url);
    let nobody = rig.http.get(address).header("authorization", "Bot nonsense").send().await.expect("an answer");
    assert_eq!(nobody.status(), 401);
    rig.end().await;
}

#[tokio::test]
async fn a_message_notifies_whom_it_allows() {
    let rig = start().await;
    let (channel, message) = rig.say("general", "ann", "hello").await;
    let bob = rig.act("conversation", json!({"name": "general", "roles": {"bob": "staff"}})).await;
    assert_eq!(bob["chat"], json!(channel));
    let guild = rig.ok("GET users/@me/guilds", Value::Null).await[0]["id"].as_str().expect("an id").to_owned();
    let members = rig.ok(&format!("GET guilds/{guild}/members?limit=100"), Value::Null).await;
    let of = |name: &str| {
        let found =
            members.as_array().into_iter().flatten().find(|one| one["user"]["username"] == name).expect("a member");
        found["user"]["id"].as_str().expect("an id").to_owned()
    };
    let role =
        rig.ok(&format!("GET guilds/{guild}/roles"), Value::Null).await[1]["id"].as_str().expect("an id").to_owned();
    let words = format!("<@{}> <@!{}> <@&{role}> @everyone `<@{}>`", of("ann"), of("bob"), of("owner"));
    let reply = json!({"message_id": message});
    let mut seen = Vec::new();
    for allowed in [
        Value::Null,
        json!({"parse": []}),
        json!({"parse": ["everyone"], "users": [of("bob")]}),
        json!({"parse": ["roles"], "replied_user": true}),
    ] {
        let mut body = json!({"content": words, "message_reference": reply});
        if !allowed.is_null() {
            body["allowed_mentions"] = allowed;
        }
        let sent = rig.ok(&format!("POST channels/{channel}/messages"), body).await;
        let pings = rig.last("general").own.pings;
        seen.push(format!(
            "{:?} {:?} {} {}",
            pings.users,
            pings.roles,
            pings.everyone,
            sent["mentions"].as_array().map_or(0, Vec::len)
        ));
    }
    seen.iter_mut().for_each(|line| *line = line.replace(r#""bob", "ann""#, r#""ann", "bob""#));
    expect![[r#"
        ["ann", "bob"] ["staff"] true 2
        [] [] false 0
        ["bob"] [] true 1
        ["ann"] ["staff"] false 1"#]]
    .assert_eq(&seen.join("\n"));
    assert_eq!(rig.last("general").text, "@ann @bob @staff @everyone <@".to_owned() + &of("owner") + ">");
    rig.end().await;
}

#[tokio::test]
async fn a_reply_needs_its_target_unless_it_says_otherwise() {
    let rig = start().await;
    let (channel, message) = rig.say("general", "ann", "hello").await;
    let call = format!("POST channels/{channel}/messages");
    let reply = |id: &str, fail: bool| json!({"content": "x", "message_reference": {"message_id": id, "fail_if_not_exists": fail}});
    let sent = rig.ok(&call, reply(&message, true)).await;
    assert_eq!((&sent["type"], &sent["referenced_message"]["content"]), (&json!(19), &json!("hello")));
    rig.act("remove", json!({"conversation": "general", "message": message})).await;
    let (status, answer) = rig.call(&call, reply(&message, true)).await;
    assert_eq!(
        (status, &answer["errors"]["message_reference"]["_errors"][0]["code"]),
        (400, &json!("REPLIES_UNKNOWN_MESSAGE"))
    );
    assert_eq!(rig.ok(&call, reply(&message, false)).await["type"], 0);
    let sent = sent["id"].as_str().expect("an id");
    let shown = rig.ok(&format!("GET channels/{channel}/messages/{sent}"), Value::Null).await;
    assert_eq!(shown["referenced_message"], Value::Null);
    assert_eq!(rig.rules(), Vec::<&str>::new());
    rig.end().await;
}

#[tokio::test]
async fn a_nonce_that_is_enforced_makes_one_message() {
    let rig = start().await;
    let channel = general(&rig).await;
    let call = format!("POST channels/{channel}/messages");
    let body = |enforce: bool| json!({"content": "once", "nonce": "n1", "enforce_nonce": enforce});
    let first = rig.ok(&call, body(true)).await;
    assert_eq!(rig.ok(&call, body(true)).await["id"], first["id"]);
    assert_ne!(rig.ok(&call, body(false)).await["id"], first["id"]);
    assert_eq!(rig.discord().stats().sent, 2);
    rig.end().await;
}

#[tokio::test]
async fn pages_of_a_channel_are_newest_first_whatever_is_asked() {
    let rig = start().await;
    let (mut channel, mut ids) = (String::new(), Vec::new());
    for n in 0..6 {
        let (at, id) = rig.say("general", "ann", &n.to_string()).await;
        (channel, ids) = (at, [ids, vec![id]].concat());
    }
    let mut seen = Vec::new();
    for query in [
        "limit=2".to_owned(),
        format!("limit=2&after={}", ids[1]),
        format!("limit=2&before={}", ids[3]),
        format!("limit=3&around={}", ids[3]),
        "after=0".to_owned(),
    ] {
        let page = rig.ok(&format!("GET channels/{channel}/messages?{query}"), Value::Null).await;
        let texts: Vec<_> = page.as_array().into_iter().flatten().filter_map(|one| one["content"].as_str()).collect();
        seen.push(texts.join(" "));
    }
    assert_eq!(seen, ["5 4", "3 2", "2 1", "4 3 2", "5 4 3 2 1 0"]);
    assert!(
        rig.refusal(&format!("GET channels/{channel}/messages?limit=101"), Value::Null).await.starts_with("400 50035")
    );
    rig.end().await;
}

#[tokio::test]
async fn files_come_with_their_description_and_are_fetched_where_it_says() {
    let rig = start_with(Limits { upload_bytes: 100, ..Limits::none() }).await;
    let channel = general(&rig).await;
    let address = format!("{}/discord/api/v10/channels/{channel}/messages", rig.running.url);
    let send = async |files: Vec<(String, usize)>, json: Value| {
        let mut form = Form::new().text("payload_json", json.to_string());
        for (n, (name, size)) in files.into_iter().enumerate() {
            form = form.part(format!("files[{n}]"), Part::bytes(vec![b'a'; size]).file_name(name));
        }
        let request = rig.http.post(&address).header("authorization", format!("Bot {TOKEN}")).multipart(form);
        let response = request.send().await.expect("an answer");
        (response.status().as_u16(), response.json::<Value>().await.expect("JSON"))
    };
    let about = json!({"attachments": [{"id": "0", "description": "alt"}]});
    let (status, sent) = send(vec![("a.txt".into(), 3), ("b.png".into(), 4)], about).await;
    assert_eq!(
        (status, &sent["attachments"][0]["description"], &sent["attachments"][1]["content_type"]),
        (200, &json!("alt"), &json!("image/png"))
    );
    let url = sent["attachments"][0]["url"].as_str().expect("an address");
    assert_eq!(rig.http.get(url).send().await.expect("an answer").text().await.expect("text"), "aaa");
    let bare = url.split('?').next().expect("a path");
    assert_eq!(rig.http.get(bare).send().await.expect("an answer").status(), 404);
    assert_eq!(rig.last("general").files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["a.txt", "b.png"]);
    let id = sent["id"].as_str().expect("an id");
    let keep = json!({"attachments": [{"id": sent["attachments"][1]["id"]}]});
    let edited = rig.ok(&format!("PATCH channels/{channel}/messages/{id}"), keep).await;
    assert_eq!(edited["attachments"].as_array().map(Vec::len), Some(1));
    let many = (0..11).map(|n| (format!("{n}"), 1)).collect();
    assert_eq!((send(many, json!({})).await.0, send(vec![("big".into(), 101)], json!({})).await.0), (400, 413));
    assert_eq!(rig.rules(), ["file_count", "file_size"]);
    rig.end().await;
}

#[tokio::test]
async fn paces_stand_in_the_headers_and_a_wait_in_the_refusal() {
    let rig = start_with(Limits { route_requests: 2, route_seconds: 60.0, ..Limits::none() }).await;
    let channel = general(&rig).await;
    let call = format!("POST channels/{channel}/messages");
    let (_, _, heads) = rig.whole(&call, json!({"content": "a"})).await;
    let head = |name: &str| heads.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    assert_eq!((head("x-ratelimit-limit"), head("x-ratelimit-remaining")), ("2".into(), "1".into()));
    assert!(head("x-ratelimit-bucket").len() == 16 && head("x-ratelimit-reset-after").parse::<f64>().is_ok());
    rig.ok(&call, json!({"content": "b"})).await;
    let (status, body, heads) = rig.whole(&call, json!({"content": "c"})).await;
    assert_eq!((status, &body["global"], heads["x-ratelimit-scope"].to_str().ok()), (429, &json!(false), Some("user")));
    assert!(body["retry_after"].as_f64().is_some_and(|wait| wait > 50.0) && heads.contains_key("retry-after"));
    assert_eq!(rig.rules(), Vec::<&str>::new(), "the bot had not been told before");
    rig.call(&call, json!({"content": "d"})).await;
    assert_eq!(rig.rules(), ["rate_limit"]);
    rig.discord().clear_faults();
    rig.act("fault", json!({"kind": "rate_limit", "seconds": 30, "global": true, "method": "POST messages"})).await;
    let (_, body, heads) = rig.whole(&call, json!({"content": "e"})).await;
    assert_eq!(
        (&body["global"], &body["retry_after"], heads["x-ratelimit-global"].to_str().ok()),
        (&json!(true), &json!(30.0), Some("true"))
    );
    let (status, ..) = rig.whole("GET users/@me", Value::Null).await;
    assert_eq!(status, 429, "every request has to wait");
    rig.end().await;
}

#[tokio::test]
async fn faults_of_requests_happen_as_ordered() {
    let rig = start().await;
    let channel = general(&rig).await;
    let call = format!("POST channels/{channel}/messages");
    let hello = json!({"content": "hello"});
    rig.act("fault", json!({"kind": "error", "count": 2})).await;
    rig.act("fault", json!({"kind": "error", "status": 403, "code": 50001, "description": "Missing Access"})).await;
    let told = [
        rig.refusal(&call, hello.clone()).await,
        rig.refusal(&call, hello.clone()).await,
        rig.refusal(&call, hello.clone()).await,
    ];
    assert_eq!(
        told,
        ["500 0 500: Internal Server Error", "500 0 500: Internal Server Error", "403 50001 Missing Access"]
    );
    for (when, count) in [("before", 1), ("after", 2)] {
        rig.act("fault", json!({"kind": "drop", "when": when, "method": "POST messages"})).await;
        let address = format!("{}/discord/api/v10/channels/{channel}/messages", rig.running.url);
        let request = rig.http.post(address).header("authorization", format!("Bot {TOKEN}")).json(&hello);
        assert!(request.send().await.is_err(), "{when}");
        assert_eq!(rig.discord().transcript(Some("general"), 0).len(), count, "{when}");
    }
    rig.act("fault", json!({"kind": "rate_limit", "seconds": 2, "body": "<html>"})).await;
    let (status, body, heads) = rig.whole(&call, hello.clone()).await;
    assert_eq!((status, body, heads["retry-after"].to_str().ok()), (429, Value::Null, Some("2")));
    rig.discord().clear_faults();
    rig.act("fault", json!({"kind": "delay", "seconds": 0.01})).await;
    rig.ok(&call, hello).await;
    rig.end().await;
}

#[tokio::test]
async fn reactions_and_threads_come_and_go() {
    let rig = start().await;
    let (channel, message) = rig.say("general", "ann", "hello").await;
    let eyes = format!("channels/{channel}/messages/{message}/reactions/%F0%9F%91%80");
    rig.ok(&format!("PUT {eyes}/@me"), Value::Null).await;
    assert_eq!(rig.last("general").text, "👀");
    assert_eq!(rig.ok(&format!("GET {eyes}"), Value::Null).await[0]["id"], BOT);
    rig.ok(&format!("DELETE {eyes}/@me"), Value::Null).await;
    assert_eq!(rig.refusal(&format!("DELETE {eyes}/@me"), Value::Null).await, "404 10014 Unknown Emoji");
    assert!(
        rig.refusal(&format!("PUT channels/{channel}/messages/{message}/reactions/smile/@me"), Value::Null)
            .await
            .contains("10014")
    );
    let call = format!("POST channels/{channel}/messages/{message}/threads");
    let thread = rig.ok(&call, json!({"name": "aside"})).await;
    assert_eq!((&thread["id"], &thread["type"], &thread["parent_id"]), (&json!(message), &json!(11), &json!(channel)));
    assert!(rig.refusal(&call, json!({"name": "again"})).await.contains("160004"));
    rig.ok(&format!("POST channels/{message}/messages"), json!({"content": "inside"})).await;
    let entry = rig.last("general");
    assert_eq!((entry.thread.as_deref(), entry.text.as_str()), (Some("aside"), "inside"));
    rig.act("conversation", json!({"name": "general", "thread": "aside", "state": "locked"})).await;
    assert!(rig.refusal(&format!("POST channels/{message}/messages"), json!({"content": "x"})).await.contains("50083"));
    rig.act("conversation", json!({"name": "help", "kind": "forum"})).await;
    let forum = rig.act("conversation", json!({"name": "help"})).await["chat"].as_str().expect("an id").to_owned();
    assert!(rig.refusal(&format!("POST channels/{forum}/messages"), json!({"content": "x"})).await.contains("50008"));
    let post = rig
        .ok(&format!("POST channels/{forum}/threads"), json!({"name": "topic", "message": {"content": "first"}}))
        .await;
    assert_eq!(post["message"]["content"], "first");
    rig.end().await;
}
