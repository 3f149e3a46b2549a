//! Takes the pictures of the playground: `cargo run -p e2e --example screenshot -- docs/playground.png [light|dark] [phone]`.
//!
//! The binary has to be built before: `cargo build -p toolgate`. The picture of the README is then made smaller with
//! `pngquant --quality 70-95 --strip --force --ext .png docs/playground.png`.

use e2e::{
    browser::{Browser, DESK, Held, PHONE, Page},
    demo::Demo,
};

fn main() {
    let mut words = std::env::args().skip(1);
    let path = words.next().expect("say where the picture is to be written");
    let rest: Vec<_> = words.collect();
    let colours = if rest.iter().any(|word| word == "dark") { "dark" } else { "light" };
    let phone = rest.iter().any(|word| word == "phone");
    let demo = Demo::start();
    let browser = Browser::start();
    let page = browser.open(&demo.playground, if phone { PHONE } else { DESK }, colours);
    page.until("the page is ready", "document.body.hasAttribute('data-ready')");
    say(&page, "telegram", "/weather_query 上海 days=3", 1);
    say(&page, "telegram", "/order_query A-17 status=payed", 2);
    if !phone {
        say(&page, "discord", "/weather_query Oslo days=3", 1);
        say(&page, "discord", "/order_refund A-17 5", 2);
        say(&page, "slack", "/sleep 50\n/sleep 120\n/sleep 80", 1);
    }
    say(&page, "telegram", "/research atlantis", 3);
    if !phone {
        page.until(
            "the tree of the research is whole",
            "document.querySelector('#facts').textContent.includes(' s') && document.querySelectorAll('#tree li').length > 4",
        );
        page.click("[...document.querySelectorAll('#tree li[data-tone=execution] > button')].at(-1)");
    }
    // Animations of what arrived have ended by then.
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    std::fs::write(&path, page.picture()).expect("the picture can be written");
    if phone {
        for part in ["calls", "try"] {
            page.click(&format!("document.querySelector('[data-show={part}]')"));
            std::thread::sleep(std::time::Duration::from_millis(700));
            let path = path.replace(".png", &format!("-{part}.png"));
            std::fs::write(path, page.picture()).expect("the picture can be written");
        }
    }
}

/// Says it in a pane and waits until that many answers stand there.
fn say(page: &Page, platform: &str, text: &str, answers: usize) {
    let pane = format!("document.querySelector('.pane[data-platform={platform}]')");
    page.look(&format!("{pane}.querySelector('textarea').focus()"));
    page.types(text);
    page.press("Enter", Held::Nothing);
    // Only what says its reference leads to a call tree.
    let answered = format!("{pane}.querySelectorAll('.messages li:not(.own) .see').length");
    page.until("it is answered", &format!("{answered} >= {answers}"));
}
