//! Takes the pictures of the playground: `cargo run -p e2e --example screenshot -- docs/playground.png [light|dark] [phone|wide] [sample]`.
//!
//! The binary has to be built before: `cargo build -p toolgate`. The picture of the README is then made smaller with
//! `pngquant --quality 70-95 --strip --force --ext .png docs/playground.png`. With `sample` every chat shows the same
//! answer, the one with everything in it, in a second picture from its end.

use std::time::Duration;

use e2e::{
    browser::{Browser, DESK, Held, PHONE, Page, Screen},
    demo::Demo,
};

const WIDE: Screen = Screen { width: 1_920, height: 1_000, phone: false };
const TALL: Screen = Screen { width: 1_920, height: 1_700, phone: false };

fn main() {
    let mut words = std::env::args().skip(1);
    let path = words.next().expect("say where the picture is to be written");
    let rest: Vec<_> = words.collect();
    let is = |wanted: &str| rest.iter().any(|word| word == wanted);
    let screen = match (is("phone"), is("wide"), is("sample")) {
        (true, ..) => PHONE,
        (_, _, true) => TALL,
        (_, true, _) => WIDE,
        _ => DESK,
    };
    let demo = Demo::start();
    let browser = Browser::start();
    let page = browser.open(&demo.playground, screen, if is("dark") { "dark" } else { "light" });
    page.until("the page is ready", "document.body.hasAttribute('data-ready')");
    match is("sample") {
        true => sample(&page),
        false => conversation(&page, is("phone")),
    }
    write(&page, &path);
    if is("sample") {
        page.look("document.querySelectorAll('.log').forEach((log) => { log.scrollTop = 0; })");
        write(&page, &path.replace(".png", "-top.png"));
    }
    if is("phone") {
        for part in ["calls", "try"] {
            page.click(&format!("document.querySelector('[data-show={part}]')"));
            write(&page, &path.replace(".png", &format!("-{part}.png")));
        }
        page.click("document.querySelector('[data-show=chat]')");
        for tab in ["discord", "slack"] {
            page.click(&format!("document.querySelector('[data-tab={tab}]')"));
            write(&page, &path.replace(".png", &format!("-{tab}.png")));
        }
    }
}

fn write(page: &Page, path: &str) {
    // Animations of what arrived have ended by then.
    std::thread::sleep(Duration::from_millis(1_200));
    std::fs::write(path, page.picture()).expect("the picture can be written");
}

fn sample(page: &Page) {
    for platform in ["telegram", "discord", "slack"] {
        say(page, platform, "/sample everything", 1);
    }
}

/// What a day looks like: a call that waits for its approval in another chat, good answers, an error that only its asker
/// sees, and a search that finds another way.
fn conversation(page: &Page, phone: bool) {
    for platform in ["discord", "slack"] {
        go(page, platform, ".conversation", "group");
    }
    go(page, "slack", ".person", "ops");
    say(page, "slack", "/sleep 50\n/sleep 120\n/sleep 80", 1);
    say(page, "discord", "What is the weather in Shanghai and Berlin?", 1);
    say(page, "discord", "/order_query ZZZ-99", 2);
    say(page, "telegram", "Cancel order A-17", 0);
    let asked = format!("{}.innerText.includes('Allow once')", pane("slack"));
    page.until("Slack is asked", &asked);
    say(page, "telegram", "Search for atlantis and write a summary", 2);
    if !phone {
        page.until(
            "the tree of the search is whole",
            "document.querySelectorAll('#tree li').length > 6 && !document.querySelector('#tree li[data-tone=running]')",
        );
    }
}

fn pane(platform: &str) -> String {
    format!("document.querySelector('.pane[data-platform={platform}]')")
}

/// Chooses another chat of a pane, or another person.
fn go(page: &Page, platform: &str, select: &str, value: &str) {
    let select = format!("{}.querySelector('{select}')", pane(platform));
    page.look(&format!("{select}.value = '{value}', {select}.dispatchEvent(new Event('change'))"));
}

/// Says it in a pane and waits until that many answers stand there.
fn say(page: &Page, platform: &str, text: &str, answers: usize) {
    let pane = pane(platform);
    page.look(&format!("{pane}.querySelector('textarea').focus()"));
    page.types(text);
    page.press("Enter", Held::Nothing);
    // Only what says its reference leads to a call tree.
    let answered = format!("{pane}.querySelectorAll('.messages li:not(.own) .see').length");
    page.until("it is answered", &format!("{answered} >= {answers}"));
}
