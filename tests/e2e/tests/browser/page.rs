//! The gateway's own chat page: an answer grows, what is behind it is unfolded, buttons are pressed, everybody can use it.

use std::time::Duration;

use e2e::{
    browser::{Browser, DESK, Held, PHONE, Page, Screen},
    demo::Demo,
};

struct ChatPage {
    page: Page,
    _browser: Browser,
    _demo: Demo,
}

/// The text of the last answer.
const LAST: &str = "[...document.querySelectorAll('.theirs .body')].at(-1)?.innerText || ''";

impl ChatPage {
    fn new(screen: Screen) -> Self {
        let demo = Demo::start();
        let browser = Browser::start();
        let page = browser.open(&demo.chat, screen, "light");
        page.until("the page is ready", "document.body.hasAttribute('data-ready')");
        Self { page, _browser: browser, _demo: demo }
    }

    /// Says it with keys alone.
    fn says(&self, text: &str) {
        self.page.look("document.querySelector('#text').focus()");
        self.page.types(text);
        self.page.press("Enter", Held::Nothing);
    }

    /// Waits until so many answers are whole; what the last one says.
    fn answered(&self, answers: usize) -> String {
        let whole = format!(
            "document.querySelectorAll('.theirs').length >= {answers} && !document.querySelector('.theirs [aria-busy]')"
        );
        self.page.until("it is answered", &whole);
        self.page.text(LAST)
    }
}

#[test]
fn an_answer_grows_while_it_is_written() {
    let chat = ChatPage::new(DESK);
    chat.says("hello, what can you do?");
    chat.page.until("a beginning is there", "document.querySelector('.body.draft')?.innerText.length > 5");
    let beginning = chat.page.text(LAST);
    let whole = chat.answered(1);
    assert!(whole.len() > beginning.len() && whole.contains("script"), "{beginning:?} {whole:?}");
    assert_eq!(chat.page.complaints(), Vec::<String>::new());
}

#[test]
fn what_is_behind_an_answer_is_unfolded_by_keys() {
    let chat = ChatPage::new(DESK);
    chat.says("what is the weather in Oslo and Berlin?");
    assert!(chat.answered(1).contains("Oslo"));
    chat.page.look("document.querySelector('.behind > summary').focus()");
    chat.page.press("Enter", Held::Nothing);
    let tree = chat.page.until("the tree is open", "document.querySelector('.behind[open] .tree')?.innerText || ''");
    let tree = tree.as_str().unwrap();
    assert!(tree.contains("scripted model") && tree.matches("weather_query").count() == 2, "{tree}");
    chat.page.look("[...document.querySelectorAll('.tree summary')].find((one) => one.innerText.includes('weather_query')).focus()");
    chat.page.press("Enter", Held::Nothing);
    let facts = chat.page.until("a call is open", "document.querySelector('.tree details[open] dl')?.innerText || ''");
    assert!(facts.as_str().unwrap().contains("Oslo"), "{facts}");
}

#[test]
fn errors_say_their_layer_and_reference_and_a_button_is_pressed() {
    let chat = ChatPage::new(DESK);
    chat.says("/order_query A-17 status=payed");
    let said = chat.answered(1);
    assert!(said.contains("Check the input") && said.contains("args.invalid"), "{said}");
    assert_eq!(chat.page.text("document.querySelector('.notice').dataset.layer"), "validation");
    assert_eq!(chat.page.text("document.querySelector('.foot .ref').textContent").len(), 26);
    chat.page.click("document.querySelector('.key')");
    assert!(chat.answered(2).contains("order_query"));
}

#[test]
fn a_turn_is_stopped_where_it_was_begun() {
    let chat = ChatPage::new(DESK);
    chat.says("/hang");
    chat.page.until("it is at work", "document.querySelector('.activity [data-state=running]')");
    chat.page.click("document.querySelector('#send.stop')");
    assert!(chat.answered(1).contains("topped"), "{}", chat.page.text(LAST));
}

#[test]
fn a_conversation_survives_the_page_and_another_one_knows_nothing_of_it() {
    let chat = ChatPage::new(DESK);
    chat.says("what is the weather in Oslo?");
    chat.answered(1);
    chat.says("what did I ask before?");
    assert!(chat.answered(2).contains("weather in Oslo"));
    chat.page.again();
    chat.page.until(
        "it is there again",
        "document.body?.hasAttribute('data-ready') && document.querySelectorAll('.theirs').length == 2",
    );
    assert!(chat.answered(2).contains("weather in Oslo"));
    chat.page.click("document.querySelector('#new')");
    chat.says("what did I ask before?");
    assert!(!chat.answered(1).contains("weather in Oslo"));
    chat.page.until("both are listed", "document.querySelectorAll('#list li').length == 2");
    chat.page.click("document.querySelector('#list li:last-child button')");
    chat.page.until("the first is back", "document.querySelectorAll('.theirs').length == 2");
}

#[test]
fn every_control_of_the_page_has_a_name_on_desk_and_phone() {
    let chat = ChatPage::new(PHONE);
    chat.says("what is the weather in Oslo?");
    chat.answered(1);
    let controls = ["button", "textbox", "link", "log", "navigation", "dialog"];
    let offered = chat.page.offered();
    let nameless: Vec<_> =
        offered.iter().filter(|(role, name)| controls.contains(&role.as_str()) && name.is_empty()).collect();
    assert!(nameless.is_empty(), "{nameless:?}");
    let wide = chat.page.look("document.documentElement.scrollWidth > innerWidth");
    assert_eq!(wide, false, "nothing is wider than a phone");
    chat.page.click("document.querySelector('#open-side')");
    chat.page.until("the conversations are shown", "document.querySelector('#side').getBoundingClientRect().left == 0");
    chat.page.press("Escape", Held::Nothing);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(chat.page.look("document.querySelector('#side').getBoundingClientRect().right <= 0"), true);
    assert_eq!(chat.page.complaints(), Vec::<String>::new());
}

#[test]
fn a_call_that_waits_for_people_is_allowed_by_an_operator_on_the_page() {
    let chat = ChatPage::new(DESK);
    chat.says("cancel order A-17");
    chat.page.until("it is asked", "document.querySelector('.waiting .card')?.innerText.includes('May this run?')");
    chat.page.click("[...document.querySelectorAll('.card .key')].find((one) => one.textContent == 'Allow')");
    let said = chat.answered(1);
    assert!(said.contains("A-17") && !said.contains("not allowed"), "{said}");
    assert_eq!(chat.page.complaints(), Vec::<String>::new());
}
