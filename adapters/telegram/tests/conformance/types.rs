//! The simulator's objects fit models that we did not write: teloxide's, which are strict about what must be there.

use serde::de::DeserializeOwned;
use sim::telegram::FileKind;
use teloxide::types::{
    ChatMember, File, ForumTopic, MaybeInaccessibleMessage, Message, Update, UpdateKind, User, WebhookInfo,
};

use super::stage::*;

/// A bot that asks by hand.
struct Asker<'a> {
    stage: &'a Stage,
    client: reqwest::Client,
}

impl Asker<'_> {
    async fn ask<T: DeserializeOwned>(&self, method: &str, body: Value) -> T {
        let address = format!("{}/telegram/bot{TOKEN}/{method}", self.stage.sim.url);
        let answer = self.client.post(address).json(&body).send().await.unwrap();
        let mut answer: Value = answer.json().await.unwrap();
        let result = answer["result"].take();
        serde_json::from_value(result.clone()).unwrap_or_else(|cause| panic!("{method}: {cause} in {result}"))
    }

    /// Everything that came since, each a kind that the models know.
    async fn updates(&self) -> Vec<Update> {
        let wanted = json!([
            "message",
            "edited_message",
            "channel_post",
            "edited_channel_post",
            "callback_query",
            "message_reaction",
            "my_chat_member",
            "chat_member"
        ]);
        let updates: Vec<Value> = self.ask("getUpdates", json!({"allowed_updates": wanted})).await;
        let last = updates.iter().filter_map(|update| update["update_id"].as_i64()).max();
        let _: Value =
            self.ask("getUpdates", json!({"offset": last.map(|id| id + 1), "allowed_updates": wanted})).await;
        let read = updates.into_iter().map(|update| {
            let text = update.to_string();
            let read: Update = serde_json::from_str(&text).unwrap_or_else(|cause| panic!("{cause} in {text}"));
            assert!(!matches!(read.kind, UpdateKind::Error(_)), "not understood: {text}");
            read
        });
        read.collect()
    }
}

#[tokio::test]
async fn what_the_simulator_says_fits_the_models_of_a_third_party() {
    let mut stage = Stage::new().await;
    stage.stop().await.unwrap();
    let asker = Asker { stage: &stage, client: reqwest::Client::builder().no_proxy().build().unwrap() };
    let me: User = asker.ask("getMe", json!({})).await;
    assert!(me.is_bot);
    asker.updates().await;
    let chat = stage.world().say(Say { mention: true, ..Say::new("general", "ann", "hello") }).unwrap().chat;
    let message = stage.say("general", "again");
    let edit = Edit { conversation: "general".into(), user: "ann".into(), message, text: "edited".into() };
    stage.world().edit(&edit).unwrap();
    let kinds = [
        FileKind::Document,
        FileKind::Photo,
        FileKind::Video,
        FileKind::Animation,
        FileKind::Audio,
        FileKind::Voice,
        FileKind::VideoNote,
        FileKind::Sticker,
    ];
    for kind in kinds {
        let file = NewFile { name: "a.bin".into(), text: Some("x".into()), kind: Some(kind), ..NewFile::default() };
        stage.world().say(Say { files: vec![file], ..Say::new("dm:ann", "ann", "") }).unwrap();
    }
    stage.world().say(Say { thread: Some(json!("Plans")), ..Say::new("forum", "ann", "in a topic") }).unwrap();
    let news = Conversation { name: "news".into(), kind: Some(NewKind::Channel), ..Conversation::default() };
    stage.world().conversation(&news).unwrap();
    stage.say("news", "a post");
    let (conversation, user) = ("general".to_owned(), "ann".to_owned());
    let react = sim::telegram::React { conversation, user, message, emoji: "👍".into() };
    stage.world().react(&react).unwrap();
    for state in [State::Blocked, State::Open] {
        let changed = Conversation { name: "dm:ann".into(), state: Some(state), ..Conversation::default() };
        stage.world().conversation(&changed).unwrap();
    }
    assert_eq!(asker.updates().await.len(), 17);

    let markup = json!({"inline_keyboard": [[{"text": "Go", "callback_data": "go"}]]});
    let body = json!({"chat_id": chat, "text": "<b>x</b>", "parse_mode": "HTML", "reply_markup": markup,
        "reply_parameters": {"message_id": message}});
    let sent: Message = asker.ask("sendMessage", body).await;
    assert_eq!((sent.text(), sent.reply_to_message().map(|to| i64::from(to.id.0))), (Some("x"), Some(message)));
    let press =
        Press { conversation: "general".into(), user: "ann".into(), message: sent.id.0.into(), button: "Go".into() };
    stage.world().press(&press).unwrap();
    let pressed = asker.updates().await.remove(0);
    let UpdateKind::CallbackQuery(query) = pressed.kind else { panic!("a press") };
    assert!(matches!(query.message, Some(MaybeInaccessibleMessage::Regular(_))));
    let _: bool = asker.ask("answerCallbackQuery", json!({"callback_query_id": query.id})).await;
    let edited = json!({"chat_id": chat, "message_id": sent.id.0, "text": "y"});
    let _: Message = asker.ask("editMessageText", edited).await;
    let _: WebhookInfo = asker.ask("getWebhookInfo", json!({})).await;
    let ann = query.from.id;
    let _: ChatMember = asker.ask("getChatMember", json!({"chat_id": chat, "user_id": ann})).await;
    let leaders: Vec<ChatMember> = asker.ask("getChatAdministrators", json!({"chat_id": chat})).await;
    assert_eq!(leaders.len(), 1);
    let forum = stage.world().conversation(&Conversation { name: "forum".into(), ..Conversation::default() }).unwrap();
    let _: ForumTopic = asker.ask("createForumTopic", json!({"chat_id": forum, "name": "More"})).await;
    let entry = stage.world().transcript(Some("dm:ann"), 0).into_iter().find(|entry| !entry.files.is_empty()).unwrap();
    let _: File = asker.ask("getFile", json!({"file_id": entry.files[0].id})).await;
    stage.end().await;
}
