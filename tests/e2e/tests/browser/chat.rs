//! What one does in the chat.

use e2e::browser::{DESK, PHONE};

use crate::ground::Ground;

const HOSTILE: &str = "<img src=x onerror=\"window.hacked=1\"></script><script>window.hacked=1</script>";

#[test]
fn the_keyboard_alone_gets_an_answer_and_its_tree() {
    let ground = Ground::new(DESK);
    assert_eq!(ground.page.text("document.activeElement.id"), "composer-text", "one can begin to type");
    ground.says("/weather_query 上海 days=3");
    ground.is_answered();
    // It is drawn from what the platform received, not from what the gateway meant.
    let transcript = ground.control("telegram", "transcript");
    let entries = transcript["entries"].as_array().expect("a transcript is a list");
    let sent = entries.iter().rfind(|entry| entry["by"] == "bot" && entry["text"] != "").expect("the bot has spoken");
    let first_line = sent["text"].as_str().expect("it is a text").lines().next().expect("it has a line").to_owned();
    assert!(ground.last().contains(&first_line), "{first_line} in {}", ground.last());
    let rows = ground.tree_with("weather_query");
    let names: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.tone.as_str(), row.depth)).collect();
    assert_eq!(names, [("turn", "ok", 0), ("weather_query", "ok", 1)]);
    ground.is_well();
}

#[test]
fn a_button_of_a_message_answers() {
    let ground = Ground::new(DESK);
    ground.asks("/weather_query Oslo days=abc");
    assert!(ground.last().contains("days"), "{}", ground.last());
    ground.page.click("[...document.querySelectorAll('.messages .key')].find((key) => key.textContent == 'Details')");
    let answered = "![...document.querySelectorAll('.messages .key')].some((key) => 'waiting' in key.dataset)";
    ground.page.until("the press is answered", answered);
    let drawing = "document.querySelector('.messages .code pre')?.textContent.includes('└─ weather_query')";
    ground.page.until("the details are told", drawing);
    assert_eq!(ground.control("telegram", "stats")["unanswered"], 0);
    ground.is_well();
}

#[test]
fn cancel_stops_what_hangs() {
    let ground = Ground::new(DESK);
    ground.says("/hang");
    ground.page.click("[...document.querySelectorAll('.messages .key')].find((key) => key.textContent == 'Cancel')");
    ground.is_answered();
    let rows = ground.tree_with("hang");
    let hang = rows.iter().find(|row| row.name == "hang").expect("it was waited for");
    assert_eq!(hang.tone, "open", "{hang:?}");
    assert!(hang.says.contains("stopped") || hang.says.contains("not known"), "{hang:?}");
    assert!(
        ground.page.look("![...document.querySelectorAll('.key')].some((key) => key.textContent == 'Cancel')") == true
    );
    ground.is_well();
}

#[test]
fn hostile_text_is_shown_as_text_and_runs_nothing() {
    let ground = Ground::new(DESK);
    // As words, as an argument that is refused, and as one that comes back in an answer.
    ground.asks(HOSTILE);
    ground.asks(&format!("/order_query {HOSTILE}"));
    ground.asks("/research \"<img src=x onerror=window.hacked=1>\"");
    ground.tree_with("research");
    assert!(ground.last().contains("<img src=x"), "what comes back is readable: {}", ground.last());
    assert_eq!(ground.page.text("document.querySelector('.messages > li.own .text').innerText"), HOSTILE);
    let asked = ground.page.text("document.querySelector('#turns li:last-child .asked').textContent");
    assert!(asked.contains("<img"), "{asked}");
    assert!(ground.page.look("window.hacked === undefined") == true);
    assert_eq!(ground.page.look("document.querySelectorAll('main img, main script').length"), 0);
    ground.is_well();
}

#[test]
fn a_phone_shows_one_part_at_a_time_without_scrolling_sideways() {
    let ground = Ground::new(PHONE);
    ground.page.click("document.querySelector('#composer-text')");
    ground.says("/research green tea");
    ground.is_answered();
    ground.asks("/weather_query 上海 days=3");
    for part in ["chat", "calls", "try"] {
        ground.page.click(&format!("document.querySelector('[data-show={part}]')"));
        let shown = ground
            .page
            .look("['panes', 'calls', 'try'].filter((id) => document.getElementById(id).offsetParent !== null).length");
        assert_eq!(shown, 1, "{part} is shown alone");
        // What a box cuts off is lost as well as what makes the page wide; only code may scroll in its own box.
        let wide = ground.page.look(
            "[...document.querySelectorAll('body, main, .pane[data-platform=telegram] :is(.log, .messages > li, .bubble, .key, .composer), #tree, #turns, .tries button')] \
             .filter((box) => box.offsetParent && (box.getBoundingClientRect().right > innerWidth + 0.5 || box.getBoundingClientRect().left < -0.5)) \
             .map((box) => box.outerHTML.slice(0, 200))",
        );
        assert_eq!(wide, serde_json::json!([]), "{part} fits");
        assert!(
            ground.page.look("document.documentElement.scrollWidth <= innerWidth") == true,
            "{part} does not scroll sideways"
        );
    }
    ground.page.click("document.querySelector('[data-show=chat]')");
    let field = ground.page.look("(() => { const box = document.querySelector('#composer-text').getBoundingClientRect(); return box.bottom <= innerHeight && box.height >= 36; })()");
    assert!(field == true, "the field can be reached");
    ground.is_well();
}
