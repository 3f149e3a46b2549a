//! What each platform does in its own manner: private answers, forms, threads, reactions, edits, languages.

use e2e::browser::{DESK, Held};

use crate::ground::Ground;

#[test]
fn a_private_error_is_seen_by_one_person_only() {
    let ground = Ground::new(DESK);
    for platform in ["discord", "slack"] {
        let chat = ground.chat(platform);
        chat.go("group");
        chat.asks("/order_query ZZZ-99");
        let error = chat.last();
        assert!(error.contains("Only you can see this") && error.contains("order_query"), "{platform}: {error}");
        chat.be("mia");
        assert!(!chat.reads().contains("order_query"), "{platform}: {}", chat.reads());
        chat.be("you");
        chat.shows("Only you can see this");
        // A good answer is for everybody.
        chat.asks("/weather_query Oslo");
        chat.be("mia");
        chat.shows("Oslo");
    }
    ground.is_well();
}

#[test]
fn a_form_is_filled_in_with_the_keyboard() {
    let ground = Ground::new(DESK);
    let focus = || ground.page.text("document.activeElement.closest('label, div')?.innerText.split('\\n')[0] || ''");
    for (platform, command, label, typed, says) in [
        ("slack", "/weather_query", "city", "Oslo", "Oslo"),
        ("discord", "/generate_summary", "text", "Tea is a drink. Tea is old.", "summary"),
    ] {
        let chat = ground.chat(platform);
        chat.go("group");
        chat.says(command);
        ground.page.until("the form is open", "document.querySelector('dialog[open]')");
        assert!(focus().starts_with(label), "{platform}: the first field has the focus, not {}", focus());
        // What is required cannot be left out.
        while ground.page.text("document.activeElement.textContent") != "Submit"
            && ground.page.text("document.activeElement.className") != "primary"
        {
            ground.page.press("Tab", Held::Nothing);
        }
        ground.page.press("Enter", Held::Nothing);
        assert!(ground.page.look("!!document.querySelector('dialog[open]')") == true, "{platform}");
        assert!(focus().starts_with(label), "{platform}: what is missing has the focus, not {}", focus());
        ground.page.types(typed);
        while ground.page.text("document.activeElement.className") != "primary" {
            ground.page.press("Tab", Held::Nothing);
        }
        ground.page.press("Enter", Held::Nothing);
        ground.page.until("the form was taken", "!document.querySelector('dialog')");
        chat.is_answered(1);
        assert!(chat.last().contains(says), "{platform}: {}", chat.last());
        // Escape leaves one, and the field of the chat has the focus again.
        chat.says(command);
        ground.page.until("the form is open again", "document.querySelector('dialog[open]')");
        ground.page.press("Escape", Held::Nothing);
        ground.page.until("the form is closed", "!document.querySelector('dialog')");
        assert!(ground.page.text("document.activeElement.id").contains("composer"), "{platform}");
        ground.settles();
    }
    ground.is_well();
}

#[test]
fn slack_answers_a_mention_in_its_thread_and_goes_on_there() {
    let ground = Ground::new(DESK);
    let chat = ground.chat("slack");
    chat.go("group");
    // Several commands in one message are a message, in which the bot is named.
    chat.asks("/sleep 1\n/sleep 2");
    let replies = chat.all(".messages > li > .replies > li");
    ground.page.until("the answer stands under it", &format!("{replies}.length == 1"));
    // A reply into the thread stands there too, and so does its answer.
    ground.page.click(&format!("{}[0]", chat.all(".messages > li > .more-acts .dots")));
    ground.page.click(&format!("{}[0]", chat.all(".acts button[aria-label^=Reply]")));
    // Slack takes no commands in threads: the tool's name is said without a slash.
    chat.asks("sleep 3");
    ground.page.until("all stand there", &format!("{replies}.length == 3"));
    assert_eq!(ground.page.look(&format!("{}.length", chat.all(".messages > li"))), 1);
    ground.is_well();
}

#[test]
fn threads_and_topics_have_their_own_place() {
    let ground = Ground::new(DESK);
    for platform in ["telegram", "discord"] {
        let chat = ground.chat(platform);
        chat.focus();
        ground.page.click("document.querySelector('[data-thread=weather]')");
        chat.is_answered(1);
        assert_eq!(ground.page.text(&format!("{}[0].textContent", chat.all(".who h2"))), "weather", "{platform}");
        // In the group it is one line, that leads there.
        chat.go("group");
        assert_eq!(chat.answers(), 0, "{platform}: {}", chat.reads());
        ground.page.click(&format!("{}[0]", chat.all(".thread-row button")));
        chat.is_answered(1);
        assert_eq!(ground.page.text(&format!("{}[0].value", chat.all(".conversation"))), "in:weather", "{platform}");
    }
    ground.is_well();
}

#[test]
fn a_reaction_stops_what_was_asked() {
    let ground = Ground::new(DESK);
    for platform in ["discord", "slack"] {
        let chat = ground.chat(platform);
        chat.focus();
        ground.page.click("document.querySelector('[data-then=react]')");
        ground
            .page
            .until("the cross is there", &format!("{}.some((chip) => chip.textContent == '❌1')", chat.all(".chip")));
        chat.is_answered(1);
        let rows = ground.tree_with("hang");
        let hang = rows.iter().find(|row| row.name == "hang").expect("it was waited for");
        assert_eq!(hang.tone, "open", "{platform}: {hang:?}");
        // A press takes the reaction back.
        ground.page.click(&format!("{}[0]", chat.all(".chip")));
        ground
            .page
            .until("it is gone", &format!("{}.every((chip) => !chip.textContent.includes('❌'))", chat.all(".chip")));
    }
    ground.is_well();
}

#[test]
fn an_edit_replaces_what_stood_there() {
    let ground = Ground::new(DESK);
    for platform in crate::ground::PLATFORMS {
        let chat = ground.chat(platform);
        chat.asks("a thing with a mistkae");
        ground.page.click(&format!("{}[0]", chat.all(".messages li.own .dots")));
        ground.page.click(&format!("{}[0]", chat.all(".acts button[aria-label^=Edit]")));
        assert_eq!(ground.page.text("document.activeElement.value"), "a thing with a mistkae");
        ground.page.look("document.activeElement.select()");
        ground.page.types("a thing without");
        ground.page.press("Enter", Held::Nothing);
        chat.shows("a thing without");
        let own = format!("{}.map((one) => one.innerText)", chat.all(".messages li.own > .bubble"));
        let own = ground.page.look(&own);
        let texts = own.as_array().expect("it is a list");
        assert!(texts.len() == 1 && texts[0].to_string().contains("edited"), "{platform}: {own}");
        assert!(!chat.reads().contains("a thing with a mistkae"), "{platform}");
    }
    ground.is_well();
}

#[test]
fn whoever_has_a_chinese_client_is_answered_in_chinese() {
    let ground = Ground::new(DESK);
    for platform in crate::ground::PLATFORMS {
        let chat = ground.chat(platform);
        chat.be("chen");
        // Slack does not say it with a message: whoever has spoken is looked up, and known from then on.
        chat.asks("/order_query ZZZ-99");
        if platform == "slack" {
            chat.asks("/order_query ZZZ-99");
        }
        assert!(chat.last().contains("请求编号"), "{platform}: {}", chat.last());
    }
    ground.is_well();
}

#[test]
fn discord_offers_options_and_their_choices() {
    let ground = Ground::new(DESK);
    let chat = ground.chat("discord");
    chat.focus();
    let offered = || {
        ground.page.look(&format!("{}.map((one) => one.querySelector('b').textContent)", chat.all(".suggest button")))
    };
    ground.page.types("/order_q");
    ground.page.until("the command is offered", &format!("{}.length == 1", chat.all(".suggest button")));
    ground.page.press("Tab", Held::Nothing);
    ground.page.until("its options are offered", &format!("{}.length == 3", chat.all(".suggest button")));
    assert_eq!(offered(), serde_json::json!(["order_id:", "status:", "date_range:"]));
    ground.page.types("A-17 ");
    ground.page.until(
        "choices are offered",
        &format!("{}.some((one) => one.textContent.startsWith('shipped'))", chat.all(".suggest button")),
    );
    ground.page.types("sh");
    ground.page.until("one fits", &format!("{}.length == 1", chat.all(".suggest button")));
    ground.page.press("Tab", Held::Nothing);
    assert_eq!(ground.page.text("document.activeElement.value"), "/order_query A-17 status:shipped ");
    ground.page.press("Escape", Held::Nothing);
    ground.page.press("Enter", Held::Nothing);
    chat.is_answered(1);
    assert!(chat.reads().contains("/order_query order_id:A-17 status:shipped"), "{}", chat.reads());
    ground.is_well();
}
