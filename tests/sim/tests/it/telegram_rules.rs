//! What the platform takes as a reaction and as a quote, from people and from bots.

use serde_json::{Value, json};

use crate::rig::{Rig, start};

const DRAWN: &str = "custom:5368324170671202286";

async fn reacts(rig: &Rig, conversation: &str, user: &str, message: i64, emoji: &str) -> (u16, String) {
    let body = json!({"conversation": conversation, "user": user, "message": message, "emoji": emoji});
    let (status, answer) = rig.control("react", body).await;
    (status, answer["error"].as_str().unwrap_or_default().to_owned())
}

fn emoji(emoji: &str) -> Value {
    json!({"type": "emoji", "emoji": emoji})
}

#[tokio::test]
async fn people_choose_from_the_platforms_reactions() {
    let rig = start().await;
    let (_, message) = rig.say("dm:ann", "ann", "hello").await;
    for fine in ["👍", "❤", "❤\u{fe0f}", "🤷‍♂", "👨‍💻", ""] {
        assert_eq!(reacts(&rig, "dm:ann", "ann", message, fine).await.0, 200, "{fine}");
    }
    for odd in ["❌", "✅", "x", "thumbsup", "👍👍", "custom:", "custom:x"] {
        let (status, why) = reacts(&rig, "dm:ann", "ann", message, odd).await;
        assert_eq!((status, why), (400, format!("emoji: '{odd}' is none of the platform's reactions")));
    }
    let (status, why) = reacts(&rig, "dm:ann", "ann", message, DRAWN).await;
    assert_eq!((status, why), (400, format!("emoji: the conversation does not take '{DRAWN}'")));
    rig.end().await;
}

#[tokio::test]
async fn a_chat_takes_what_its_administrators_chose() {
    let rig = start().await;
    rig.ok("getUpdates", json!({"allowed_updates": ["message", "message_reaction"]})).await;
    let (chat, message) = rig.say("general", "ann", "hello").await;
    let chosen = json!({"name": "general", "reactions": ["👍", DRAWN]});
    assert_eq!(rig.control("conversation", chosen).await.0, 200);
    let known = rig.ok("getChat", json!({"chat_id": chat})).await["available_reactions"].take();
    let drawn = json!({"type": "custom_emoji", "custom_emoji_id": "5368324170671202286"});
    assert_eq!(known, json!([emoji("👍"), drawn]));
    assert_eq!(reacts(&rig, "general", "ann", message, "🔥").await.0, 400);
    assert_eq!(reacts(&rig, "general", "ann", message, DRAWN).await.0, 200);
    let update = rig.ok("getUpdates", json!({"offset": -1})).await[0].take();
    assert_eq!(update["message_reaction"]["new_reaction"], json!([drawn]));
    let set = |reaction: Value| json!({"chat_id": chat, "message_id": message, "reaction": reaction});
    assert_eq!(rig.refusal("setMessageReaction", set(json!([emoji("🔥")]))).await, "400 Bad Request: REACTION_INVALID");
    assert_eq!(rig.rules(), [""; 0], "a bot cannot know what a chat takes");
    rig.ok("setMessageReaction", set(json!([emoji("👍")]))).await;
    rig.end().await;
}

#[tokio::test]
async fn a_bot_puts_one_reaction_on_and_drawn_ones_where_they_stand_already() {
    let rig = start().await;
    let (chat, message) = rig.say("general", "ann", "hello").await;
    let set = |reaction: Value| json!({"chat_id": chat, "message_id": message, "reaction": reaction});
    let two = json!([emoji("👍"), emoji("🔥")]);
    assert_eq!(rig.refusal("setMessageReaction", set(two)).await, "400 Bad Request: REACTIONS_TOO_MANY");
    let drawn = json!([{"type": "custom_emoji", "custom_emoji_id": "5368324170671202286"}]);
    assert_eq!(rig.refusal("setMessageReaction", set(drawn.clone())).await, "400 Bad Request: REACTION_INVALID");
    rig.refusal("setMessageReaction", set(json!([{"type": "paid"}]))).await;
    assert_eq!(rig.rules(), ["reactions", "reaction"]);
    assert_eq!(rig.control("conversation", json!({"name": "general", "reactions": [DRAWN]})).await.0, 200);
    assert_eq!(reacts(&rig, "general", "ann", message, DRAWN).await.0, 200);
    assert_eq!(rig.control("conversation", json!({"name": "general", "reactions": ["👍"]})).await.0, 200);
    rig.ok("setMessageReaction", set(drawn)).await;
    rig.ok("setMessageReaction", set(json!([]))).await;
    rig.end().await;
}

#[tokio::test]
async fn a_message_takes_eleven_kinds_of_emoji() {
    let rig = start().await;
    let (_, message) = rig.say("general", "ann", "hello").await;
    for (number, emoji) in ["👍", "👎", "❤", "🔥", "🥰", "👏", "😁", "🤔", "🤯", "😱", "🤬"].iter().enumerate()
    {
        assert_eq!(reacts(&rig, "general", &format!("p{number}"), message, emoji).await.0, 200);
    }
    assert_eq!(reacts(&rig, "general", "bob", message, "😢").await.0, 409);
    assert_eq!(reacts(&rig, "general", "bob", message, "👍").await.0, 200);
    // Whoever changes theirs makes room first.
    assert_eq!(reacts(&rig, "general", "p10", message, "😢").await.0, 200);
    rig.end().await;
}

#[tokio::test]
async fn a_quote_is_an_exact_part_of_what_is_answered() {
    let rig = start().await;
    let (chat, message) = rig.say("dm:ann", "ann", "one two three").await;
    let reply = |quote: &str| json!({"chat_id": chat, "text": "x", "reply_parameters": {"message_id": message, "quote": quote}});
    rig.ok("sendMessage", reply("two")).await;
    assert_eq!(rig.refusal("sendMessage", reply("four")).await, "400 Bad Request: QUOTE_TEXT_INVALID");
    assert_eq!(rig.refusal("sendMessage", reply(&"x".repeat(1_025))).await, "400 Bad Request: QUOTE_TEXT_INVALID");
    assert_eq!(rig.rules(), ["quote", "quote_length"]);
    rig.end().await;
}
