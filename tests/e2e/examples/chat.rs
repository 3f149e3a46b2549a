//! Takes pictures of the chat page: `cargo run -p e2e --example chat -- FOLDER`.
//!
//! The binary has to be built before: `cargo build -p toolgate`.

use std::{path::PathBuf, time::Duration};

use e2e::{
    browser::{Browser, DESK, Held, PHONE, Page},
    demo::Demo,
};

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).expect("say where the pictures are to be written"));
    let demo = Demo::start();
    let browser = Browser::start();
    for (screen, colours, name) in [(DESK, "light", "light"), (DESK, "dark", "dark"), (PHONE, "light", "phone")] {
        let page = browser.open(&demo.chat, screen, colours);
        page.until("the page is ready", "document.body.hasAttribute('data-ready')");
        let write = |what: &str| {
            std::thread::sleep(Duration::from_millis(500));
            std::fs::write(folder.join(format!("chat-{name}-{what}.png")), page.picture()).expect("it can be written");
        };
        write("empty");
        say(&page, "what is the weather in Shanghai and Berlin?", 1);
        say(&page, "/order_query A-17 status=payed", 2);
        say(&page, "/sample everything", 3);
        write("end");
        page.look("document.querySelector('#log').scrollTop = 0");
        page.click("document.querySelector('.behind > summary')");
        page.click("[...document.querySelectorAll('.tree summary')].at(-1)");
        page.look("document.querySelector('#log').scrollTop = 0");
        write("tree");
        if name == "phone" {
            page.click("document.querySelector('#open-side')");
            write("side");
        }
    }
}

fn say(page: &Page, text: &str, answers: usize) {
    page.look("document.querySelector('#text').focus()");
    page.types(text);
    page.press("Enter", Held::Nothing);
    let whole = format!(
        "document.querySelectorAll('.theirs').length == {answers} && !document.querySelector('.theirs [aria-busy]')"
    );
    page.until("it is answered", &whole);
}
