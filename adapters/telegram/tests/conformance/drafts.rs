//! An answer in the making is a draft where Telegram takes one, and a message everywhere else.

use super::stage::*;

fn growing(stage: &Stage, to: &Address, text: &str) -> Part {
    let action = Action::Cancel(key(0).turn);
    let buttons = vec![Button { label: "Cancel".into(), action }];
    stage.telegram.render(&Reply { buttons, ..Reply::text(text) }, to).remove(0)
}

fn is_draft(entry: &transcript::Entry) -> bool {
    entry.kind == transcript::Kind::Draft
}

async fn requests(stage: &Stage) -> [u64; 3] {
    let stats = stage.world().stats();
    ["sendMessageDraft", "sendMessage", "editMessageText"].map(|name| stats.requests.get(name).copied().unwrap_or(0))
}

#[tokio::test]
async fn a_private_chat_sees_a_draft_and_is_left_no_message() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "x");
    let to = stage.heard().await.address;
    let key = key(0);
    for text in ["**So** far", "**So** far, so <good> for @everyone"] {
        let part = growing(&stage, &to, text);
        let shown = stage.telegram.send(&to, Op::Draft(None, &part, Some(text)), &key).await.unwrap();
        assert!(shown.is_fleeting(), "{shown:?}");
    }
    let drafts: Vec<_> = stage.world().transcript(Some("dm:ann"), 0).into_iter().filter(is_draft).collect();
    assert_eq!(drafts[1].text, "So far, so <good> for @\u{2060}everyone");
    assert_eq!(drafts[0].message, drafts[1].message, "one draft that changes");
    assert_eq!(requests(&stage).await, [2, 0, 0]);
    stage.end().await;
}

#[tokio::test]
async fn the_button_of_a_draft_stops_its_turn_and_says_nothing_more() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "x");
    let to = stage.heard().await.address;
    let (part, key) = (growing(&stage, &to, "a tale"), key(0));
    stage.telegram.send(&to, Op::Draft(None, &part, Some("a tale")), &key).await.unwrap();
    let draft = stage.shown("dm:ann", is_draft).await;
    assert_eq!(draft.buttons[0].text, "Stop");
    let press = Press {
        conversation: "dm:ann".into(),
        user: "ann".into(),
        message: draft.message.unwrap(),
        button: "Stop".into(),
    };
    stage.world().press(&press).unwrap();
    let pressed = stage.heard().await;
    assert_eq!(pressed.kind, Kind::Press { data: Action::Cancel(key.turn).to_string() });
    assert_eq!((&pressed.sender.id, pressed.heard), (&to.conversation, Heard::Direct));
    let unknown = json!({"stopped_message_generation": {"chat": {"id": 7, "type": "private"}, "draft_id": 3}});
    stage.world().raw(unknown).unwrap();
    stage.say("dm:ann", "after it");
    assert_eq!(stage.heard().await.text(), "after it", "a draft that nobody knows stops nothing");
    stage.end().await;
}

#[tokio::test]
async fn what_runs_is_a_message_with_its_buttons_and_the_answer_goes_on_in_it() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "x");
    let to = stage.heard().await.address;
    let (part, key) = (growing(&stage, &to, "⏳ order-query"), key(0));
    let listed = stage.telegram.send(&to, Op::Draft(None, &part, None), &key).await.unwrap();
    assert!(!listed.is_fleeting());
    assert_eq!(
        stage.shown("dm:ann", |entry| entry.text.contains("order-query") && entry.is_bot()).await.buttons.len(),
        1
    );
    let part = growing(&stage, &to, "It is");
    assert_eq!(stage.telegram.send(&to, Op::Draft(Some(&listed), &part, Some("It is")), &key).await.unwrap(), listed);
    assert_eq!(requests(&stage).await, [0, 1, 1]);
    stage.end().await;
}

#[tokio::test]
async fn a_group_and_a_chat_that_refused_are_shown_messages() {
    let mut stage = Stage::new().await;
    stage.say("dm:ann", "x");
    let direct = stage.heard().await.address;
    stage.world().say(Say { mention: true, ..Say::new("general", "ann", "x") }).unwrap();
    let group = stage.heard().await.address;
    let key = key(0);
    let part = growing(&stage, &group, "So");
    assert!(!stage.telegram.send(&group, Op::Draft(None, &part, Some("So")), &key).await.unwrap().is_fleeting());
    assert_eq!(requests(&stage).await, [0, 1, 0], "a group is not even asked");
    let refused = |status, description: &str| Fault {
        status: Some(status),
        description: Some(description.into()),
        method: Some("sendMessageDraft".into()),
        ..fault(fault::Kind::Error)
    };
    stage.world().fault(refused(502, "Bad Gateway")).unwrap();
    let sent = stage.telegram.send(&direct, Op::Draft(None, &part, Some("So")), &key).await;
    assert!(matches!(sent, Err(DeliveryError::NotSent(_))), "it leaves nothing behind: {sent:?}");
    stage.world().fault(refused(400, "Bad Request: TEXTDRAFT_PEER_INVALID")).unwrap();
    for _ in 0..2 {
        let shown = stage.telegram.send(&direct, Op::Draft(None, &part, Some("So")), &key).await.unwrap();
        assert!(!shown.is_fleeting());
    }
    assert_eq!(requests(&stage).await, [2, 3, 0], "asked once, then no more for a while");
    stage.end().await;
}
