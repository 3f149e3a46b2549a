//! A demo, a browser and the playground in it.

use e2e::{
    browser::{Browser, Held, Page, Screen},
    demo::Demo,
};
use serde_json::Value;

/// The playground, ready to be used.
pub struct Ground {
    pub page: Page,
    _browser: Browser,
    demo: Demo,
}

impl Ground {
    pub fn new(screen: Screen) -> Self {
        Self::in_colours(screen, "light")
    }

    pub fn in_colours(screen: Screen, colours: &str) -> Self {
        let demo = Demo::start();
        let browser = Browser::start();
        let page = browser.open(&demo.playground, screen, colours);
        page.until("the page says that it is ready", "document.body.hasAttribute('data-ready')");
        Self { page, _browser: browser, demo }
    }

    /// Types it where the focus is and sends it, as a person does who has no mouse.
    pub fn says(&self, text: &str) {
        self.page.types(text);
        self.page.press("Enter", Held::Nothing);
    }

    /// [`Ground::says`] in the chat's field; then waits until an answer stands that is final.
    pub fn asks(&self, text: &str) {
        let before = self.answers();
        self.page.look("document.querySelector('#composer-text').focus()");
        self.says(text);
        self.page.until(&format!("{text} is answered"), &format!("{ANSWERS} > {before}"));
    }

    /// Waits until an answer stands in the chat that is final.
    pub fn is_answered(&self) {
        self.page.until("it is answered", &format!("{ANSWERS} > 0"));
    }

    /// Final answers that stand in the chat.
    pub fn answers(&self) -> u64 {
        self.page.look(ANSWERS).as_u64().expect("it is a number")
    }

    /// What the last message of the bot says, as a person reads it.
    pub fn last(&self) -> String {
        self.page.text("[...document.querySelectorAll('.messages > li:not(.own) .text')].at(-1).innerText")
    }

    /// The nodes of the tree that is shown: name, tone and words.
    pub fn tree(&self) -> Vec<Row> {
        let rows = self.page.look(
            "[...document.querySelectorAll('#tree > li')].map((row) => { const bar = row.querySelector('.run').getBoundingClientRect(); \
             return { name: row.querySelector('b').textContent, says: row.querySelector('button').getAttribute('aria-label'), tone: row.dataset.tone, \
             depth: Number(row.style.getPropertyValue('--depth')), seen: row.querySelector('button').innerText, from: bar.left, to: bar.right }; })",
        );
        rows.as_array().expect("it is a list").iter().map(Row::of).collect()
    }

    /// Waits until the tree that is shown has ended and has a row of this name.
    pub fn tree_with(&self, name: &str) -> Vec<Row> {
        let rows = "[...document.querySelectorAll('#tree > li')]";
        let there = format!("{rows}.some((row) => row.querySelector('b').textContent == '{name}')");
        let ended = format!("{rows}.every((row) => row.dataset.tone != 'running')");
        self.page.until(&format!("the tree shows {name}"), &format!("{there} && {ended}"));
        self.tree()
    }

    /// Nothing failed in the page, no rule of the platform was broken, nobody was pinged.
    pub fn is_well(&self) {
        assert_eq!(self.page.complaints(), Vec::<String>::new(), "the console is clean");
        let stats = self.control("stats");
        assert_eq!(
            (&stats["violations"], &stats["mentions"]),
            (&serde_json::json!([]), &serde_json::json!(0)),
            "{stats}"
        );
    }

    /// What the simulator says of itself.
    pub fn control(&self, path: &str) -> Value {
        let url = format!("{}/control/telegram/{path}", self.demo.simulators);
        self.page.look(&format!("fetch('{url}').then((answer) => answer.json())"))
    }
}

/// Only a final answer says its reference.
const ANSWERS: &str = r"[...document.querySelectorAll('.messages > li:not(.own) .text')].filter((text) => /(ref|请求编号) [0-9A-Z]{26}\b/.test(text.textContent)).length";

/// A row of the call tree.
#[derive(Debug)]
pub struct Row {
    pub name: String,
    pub tone: String,
    /// What is read aloud.
    pub says: String,
    /// What is seen.
    pub seen: String,
    pub depth: u64,
    /// Where its bar begins and ends.
    pub bar: (f64, f64),
}

impl Row {
    fn of(row: &Value) -> Self {
        let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let at = |name: &str| row[name].as_f64().unwrap_or_default();
        Self {
            name: text("name"),
            tone: text("tone"),
            says: text("says"),
            seen: text("seen"),
            depth: row["depth"].as_u64().unwrap_or_default(),
            bar: (at("from"), at("to")),
        }
    }
}
