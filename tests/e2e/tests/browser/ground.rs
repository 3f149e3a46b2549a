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

    /// The chat of a platform.
    pub fn chat(&self, platform: &'static str) -> Chat<'_> {
        Chat { page: &self.page, platform }
    }

    /// Types it where the focus is and sends it, as a person does who has no mouse.
    pub fn says(&self, text: &str) {
        self.page.types(text);
        self.page.press("Enter", Held::Nothing);
    }

    /// [`Chat::asks`] in Telegram's chat.
    pub fn asks(&self, text: &str) {
        self.chat("telegram").asks(text);
    }

    /// Waits until an answer stands in Telegram's chat that is final.
    pub fn is_answered(&self) {
        self.chat("telegram").is_answered(1);
    }

    /// What the last message of the bot says in Telegram's chat.
    pub fn last(&self) -> String {
        self.chat("telegram").last()
    }

    /// Waits until what has changed is drawn: keys that are pressed before then may go to what was there.
    pub fn settles(&self) {
        let frame =
            "new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(drawn, 50))))";
        self.page.look(frame);
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

    /// Nothing failed in the page, no rule of a platform was broken, nobody was pinged.
    pub fn is_well(&self) {
        assert_eq!(self.page.complaints(), Vec::<String>::new(), "the console is clean");
        for platform in PLATFORMS {
            let stats = self.control(platform, "stats");
            let broken = (&stats["violations"], &stats["mentions"]);
            assert_eq!(broken, (&serde_json::json!([]), &serde_json::json!(0)), "{platform}: {stats}");
        }
    }

    /// What a simulator says of itself.
    pub fn control(&self, platform: &str, path: &str) -> Value {
        let url = format!("{}/control/{platform}/{path}", self.demo.simulators);
        self.page.look(&format!("fetch('{url}').then((answer) => answer.json())"))
    }

    /// What people do at a simulator, apart from the page.
    pub fn act(&self, platform: &str, verb: &str, what: &Value) -> Value {
        let url = format!("{}/control/{platform}/{verb}", self.demo.simulators);
        let json = "{ 'content-type': 'application/json' }";
        self.page.look(&format!(
            "fetch('{url}', {{ method: 'POST', headers: {json}, body: JSON.stringify({what}) }}).then((answer) => answer.json())"
        ))
    }
}

pub const PLATFORMS: [&str; 3] = ["telegram", "discord", "slack"];

/// The pane of a platform, used as a person does.
#[derive(Clone, Copy)]
pub struct Chat<'a> {
    page: &'a Page,
    pub platform: &'static str,
}

impl Chat<'_> {
    /// The elements in it that a selector finds, as a list.
    pub fn all(&self, selector: &str) -> String {
        format!("[...document.querySelectorAll('.pane[data-platform={}] {selector}')]", self.platform)
    }

    /// Chooses whom one speaks as, or where.
    fn choose(&self, select: &str, value: &str) {
        let select = format!("{}[0]", self.all(select));
        self.page.look(&format!("{select}.value = '{value}', {select}.dispatchEvent(new Event('change'))"));
        assert_eq!(self.page.text(&format!("{select}.value")), value, "it is offered");
    }

    pub fn be(&self, person: &str) {
        self.choose(".person", person);
    }

    /// `direct`, `group`, or `in:` and the name of a thread.
    pub fn go(&self, place: &str) {
        self.choose(".conversation", place);
    }

    pub fn focus(&self) {
        self.page.look(&format!("{}[0].focus()", self.all("textarea")));
    }

    /// Writes a text and sends it. A command of a tool is typed as the platform's clients take it: in Slack behind the
    /// app's own one, several as a message with a blank before them.
    pub fn says(&self, text: &str) {
        let text = &match text.strip_prefix('/').filter(|_| self.platform == "slack") {
            Some(_) if text.contains('\n') => format!(" {text}"),
            Some(command) => format!("/toolgate {command}"),
            None => text.to_owned(),
        };
        self.focus();
        self.page.types(text);
        let written = format!("{}[0].value == {}", self.all("textarea"), serde_json::json!(text));
        self.page.until("it is written", &written);
        self.page.press("Enter", Held::Nothing);
    }

    /// [`Chat::says`]; then waits until one more answer stands that is final.
    pub fn asks(&self, text: &str) {
        let before = self.answers();
        self.says(text);
        self.is_answered(before + 1);
    }

    pub fn is_answered(&self, times: u64) {
        let there = format!("{} >= {times}", self.final_ones());
        self.page.until(&format!("it is answered in {}", self.platform), &there);
    }

    /// Only a final answer says its reference.
    fn final_ones(&self) -> String {
        let bubbles = self.all(".messages li:not(.own) > .bubble");
        format!(r"{bubbles}.filter((one) => /(ref|请求编号)\s+[0-9A-Z]{{26}}\b/.test(one.innerText)).length")
    }

    pub fn answers(&self) -> u64 {
        self.page.look(&self.final_ones()).as_u64().expect("it is a number")
    }

    /// What the last message of somebody else says, as a person reads it.
    pub fn last(&self) -> String {
        self.page.text(&format!("{}.at(-1).innerText", self.all(".messages li:not(.own) > .bubble")))
    }

    /// Everything that stands in it.
    pub fn reads(&self) -> String {
        self.page.text(&format!("{}[0].innerText", self.all(".messages")))
    }

    /// Presses the newest button of this name.
    pub fn presses(&self, label: &str) {
        let keys = self.all(".messages .key");
        self.page.click(&format!("{keys}.filter((key) => key.textContent == {}).at(-1)", serde_json::json!(label)));
    }

    /// Waits until this stands in it.
    pub fn shows(&self, text: &str) {
        let there = format!("{}[0].innerText.includes({})", self.all(".messages"), serde_json::json!(text));
        self.page.until(&format!("{text} stands in {}", self.platform), &there);
    }
}

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
