//! Turns with a model: approvals across platforms, answers that grow, what is remembered.

use e2e::browser::DESK;

use crate::ground::{Ground, PLATFORMS};

#[test]
fn what_is_asked_for_in_telegram_is_allowed_in_slack() {
    let ground = Ground::new(DESK);
    let (telegram, slack) = (ground.chat("telegram"), ground.chat("slack"));
    telegram.go("group");
    slack.go("group");
    telegram.says("cancel order A-17");
    for chat in [telegram, slack] {
        chat.shows("Approval needed");
        chat.shows("A-17");
    }
    waits(&ground, "open");
    // Whoever may not answer is told so, and nobody else is.
    slack.be("mia");
    slack.presses("Allow once");
    slack.shows(MAY_NOT);
    assert!(slack.last().contains("Only you can see this"), "{}", slack.last());
    slack.be("ops");
    assert!(!slack.reads().contains(MAY_NOT), "{}", slack.reads());
    slack.presses("Allow once");
    telegram.shows("Order A-17 is cancelled.");
    for chat in [telegram, slack] {
        chat.shows("was allowed by ops");
        assert!(!chat.reads().contains("Allow once"), "{}", chat.reads());
    }
    waits(&ground, "ok");
    let rows = ground.tree_with("approval");
    let nodes: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.depth, row.tone.as_str())).collect();
    let expected = [("turn", 0), ("model", 1), ("order_cancel", 2), ("approval", 3), ("model", 1)];
    assert_eq!(nodes, expected.map(|(name, depth)| (name, depth, "ok")), "{rows:#?}");
    assert!(rows[1].says.contains("scripted model") && rows[1].seen.contains("tokens"), "{:?}", rows[1]);
    let facts = ground.page.text("document.querySelector('#facts').textContent");
    assert!(facts.ends_with("scripted model, no AI"), "{facts}");
    assert!(rows[3].seen.contains("ops"), "{:?}", rows[3]);
    telegram.asks("where is order A-17?");
    assert!(telegram.last().contains("cancelled"), "{}", telegram.last());
    ground.is_well();
}

const MAY_NOT: &str = "not an approver of this";

/// Waits until the tree that is shown has an approval in this tone.
fn waits(ground: &Ground, tone: &str) {
    let rows = "[...document.querySelectorAll('#tree > li')]";
    let there = format!(
        "{rows}.some((row) => row.querySelector('b').textContent == 'approval' && row.dataset.tone == '{tone}')"
    );
    ground.page.until(&format!("the approval is {tone}"), &there);
}

#[test]
fn what_to_try_opens_the_place_where_it_is_allowed() {
    let ground = Ground::new(DESK);
    let (telegram, slack) = (ground.chat("telegram"), ground.chat("slack"));
    telegram.focus();
    ground.page.click("document.querySelector('[data-approver]')");
    slack.shows("Approval needed");
    slack.presses("Deny");
    telegram.shows("was not cancelled");
    telegram.shows("ops");
    waits(&ground, "permission");
    ground.is_well();
}

#[test]
fn an_answer_grows_in_every_chat() {
    let ground = Ground::new(DESK);
    for platform in PLATFORMS {
        let chat = ground.chat(platform);
        chat.says("Tell me about yourself slowly");
        let last = format!("({}.at(-1)?.innerText || '')", chat.all(".messages li:not(.own) > .bubble"));
        let grows = format!("{last}.includes('Gladly') && !{last}.includes('nothing else changes')");
        ground.page.until("a beginning is there", &grows);
        chat.is_answered(1);
        assert!(chat.last().contains("nothing else changes"), "{platform}: {}", chat.last());
        assert_eq!(chat.reads().matches("Gladly").count(), 1, "{platform}: {}", chat.reads());
    }
    ground.is_well();
}

#[test]
fn a_new_conversation_begins_without_the_one_before() {
    let ground = Ground::new(DESK);
    let chat = ground.chat("telegram");
    let tries = |say: &str| ground.page.click(&format!("document.querySelector('[data-say={say:?}]')"));
    chat.asks("What is the weather in Oslo?");
    tries("What did I ask before?");
    chat.shows("What is the weather in Oslo?");
    chat.shows("You said:");
    tries("/new");
    chat.shows("A new conversation.");
    tries("What did I ask before?");
    chat.shows("Nothing yet");
    tries("/keep I drink green tea");
    chat.shows("Kept, as number 1.");
    tries("/sessions");
    chat.shows("weather in Oslo");
    ground.is_well();
}
