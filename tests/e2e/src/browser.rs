//! A headless Chromium and a page in it, used as a person does: keys, clicks, looking.

use std::{
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::pipe::{PATIENCE, Pipe};

const FLAGS: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--lang=en-GB",
];

/// The browser's process. Dropped, it is ended.
#[derive(Debug)]
pub struct Browser {
    child: Child,
    pipe: Arc<Pipe>,
    _profile: tempfile::TempDir,
}

/// What a page is shown on.
#[derive(Debug, Clone, Copy)]
pub struct Screen {
    pub width: u32,
    pub height: u32,
    /// A finger instead of a mouse.
    pub phone: bool,
}

pub const DESK: Screen = Screen { width: 1_280, height: 860, phone: false };
pub const PHONE: Screen = Screen { width: 390, height: 844, phone: true };

/// One page.
#[derive(Debug)]
pub struct Page {
    pipe: Arc<Pipe>,
    session: String,
}

impl Browser {
    /// Starts one with an empty profile.
    ///
    /// # Panics
    /// When there is none: the words say how to install it.
    pub fn start() -> Self {
        let profile = tempfile::tempdir().expect("a temporary folder can be made");
        let found = Command::new("sh").args(["-c", "command -v chromium"]).stdout(Stdio::null()).status();
        assert!(
            found.is_ok_and(|status| status.success()),
            "there is no 'chromium': install it with: apt-get install chromium"
        );
        // The pipe is expected at 3 and 4; standard input and output become those.
        let script = r#"exec chromium "$@" --remote-debugging-pipe 3<&0 4>&1 0</dev/null 1>/dev/null"#;
        let mut child = Command::new("sh")
            .args(["-c", script, "chromium"])
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell starts");
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let pipe = Pipe::new(stdin.expect("it was asked for"), stdout.expect("it was asked for"));
        Self { child, pipe: Arc::new(pipe), _profile: profile }
    }

    /// Opens an address; what the page says on its console is kept from its first moment.
    pub fn open(&self, url: &str, screen: Screen, colours: &str) -> Page {
        let target = self.pipe.ask(None, "Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = self.pipe.ask(None, "Target.attachToTarget", attach);
        let session = attached["sessionId"].as_str().expect("an attached page has a session").to_owned();
        let page = Page { pipe: self.pipe.clone(), session };
        for domain in ["Page", "Runtime", "Log", "Accessibility", "DOM"] {
            page.ask(&format!("{domain}.enable"), json!({}));
        }
        page.fit(screen);
        page.colours(colours);
        page.ask("Page.navigate", json!({ "url": url }));
        page.until("the page is loaded", "location.href != 'about:blank' && document.readyState == 'complete'");
        page
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Page {
    fn ask(&self, method: &str, params: Value) -> Value {
        self.pipe.ask(Some(&self.session), method, params)
    }

    pub fn fit(&self, screen: Screen) {
        let Screen { width, height, phone } = screen;
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone });
        self.ask("Emulation.setDeviceMetricsOverride", metrics);
        self.ask("Emulation.setTouchEmulationEnabled", json!({ "enabled": phone, "maxTouchPoints": 1 }));
    }

    /// `light` or `dark`, as a system asks for.
    pub fn colours(&self, scheme: &str) {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.ask("Emulation.setEmulatedMedia", features);
    }

    /// What an expression comes to; promises are waited for.
    pub fn look(&self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let mut answer = self.ask("Runtime.evaluate", params);
        assert!(answer["exceptionDetails"].is_null(), "{expression}\n{}", answer["exceptionDetails"]);
        answer["result"]["value"].take()
    }

    pub fn text(&self, expression: &str) -> String {
        self.look(expression).as_str().unwrap_or_else(|| panic!("{expression} is no text")).to_owned()
    }

    /// Waits until the expression is true to JavaScript, and gives it.
    pub fn until(&self, what: &str, expression: &str) -> Value {
        let began = Instant::now();
        loop {
            let found = self.look(expression);
            let is_true =
                !matches!(&found, Value::Null | Value::Bool(false)) && found != json!(0) && found != json!("");
            if is_true {
                return found;
            }
            assert!(began.elapsed() < PATIENCE, "it never came true that {what}; the page says:\n{}", self.says());
            std::thread::sleep(Duration::from_millis(40));
        }
    }

    /// Loads the page again, as a person does who presses F5.
    pub fn again(&self) {
        let is_load = |event: &&Value| event["method"] == "Page.loadEventFired";
        let loads = || self.pipe.events(&self.session).iter().filter(is_load).count();
        let before = loads();
        self.ask("Page.reload", json!({}));
        let began = Instant::now();
        while loads() == before {
            assert!(began.elapsed() < PATIENCE, "the page never came again");
            std::thread::sleep(Duration::from_millis(40));
        }
    }

    fn says(&self) -> String {
        self.text("document.body?.innerText || ''")
    }

    /// Presses a key, with what is held meanwhile.
    pub fn press(&self, key: &str, held: Held) {
        let (code, text) = match key {
            "Enter" => (13, "\r"),
            "Tab" => (9, ""),
            "Escape" => (27, ""),
            "ArrowDown" => (40, ""),
            "ArrowUp" => (38, ""),
            " " => (32, " "),
            other => panic!("the key '{other}' has no code here"),
        };
        let kind = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        let event = |kind: &str| json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text, "modifiers": held as u8 });
        self.ask("Input.dispatchKeyEvent", event(kind));
        self.ask("Input.dispatchKeyEvent", event("keyUp"));
    }

    /// Types key by key; a line end is Shift and Enter.
    pub fn types(&self, text: &str) {
        for c in text.chars() {
            if c == '\n' {
                self.press("Enter", Held::Shift);
                continue;
            }
            let event = |kind: &str| json!({ "type": kind, "key": c.to_string(), "text": c.to_string() });
            self.ask("Input.dispatchKeyEvent", event("keyDown"));
            self.ask("Input.dispatchKeyEvent", event("keyUp"));
        }
    }

    /// Clicks into the middle of what the expression finds, after scrolling there.
    pub fn click(&self, element: &str) {
        let place = self.until(
            &format!("{element} is there"),
            &format!(
                "(() => {{ const found = {element}; if (!found) return null; found.scrollIntoView({{ block: 'center' }}); \
                 const box = found.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
            ),
        );
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let event =
                json!({ "type": kind, "x": place[0], "y": place[1], "button": "left", "buttons": 1, "clickCount": 1 });
            self.ask("Input.dispatchMouseEvent", event);
        }
    }

    /// A picture of what is seen, as PNG.
    pub fn picture(&self) -> Vec<u8> {
        let answer = self.ask("Page.captureScreenshot", json!({ "format": "png" }));
        decoded(answer["data"].as_str().expect("a picture has data"))
    }

    /// Everything on the console that is an error or a warning, and every script that failed.
    pub fn complaints(&self) -> Vec<String> {
        let is_bad = |event: &Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => {
                matches!(event["params"]["type"].as_str(), Some("error" | "warning" | "assert"))
            }
            Some("Log.entryAdded") => matches!(event["params"]["entry"]["level"].as_str(), Some("error" | "warning")),
            _ => false,
        };
        self.pipe.events(&self.session).iter().filter(|event| is_bad(event)).map(Value::to_string).collect()
    }

    /// Role and name of everything that assistive software is offered.
    pub fn offered(&self) -> Vec<(String, String)> {
        let tree = self.ask("Accessibility.getFullAXTree", json!({}));
        let nodes = tree["nodes"].as_array().into_iter().flatten().filter(|node| node["ignored"] == false);
        let text = |value: &Value| value["value"].as_str().unwrap_or_default().trim().to_owned();
        nodes.map(|node| (text(&node["role"]), text(&node["name"]))).collect()
    }
}

/// Keys that are held, as the protocol numbers them.
#[derive(Debug, Clone, Copy)]
pub enum Held {
    Nothing = 0,
    Shift = 8,
}

/// The bytes of a base64 text. The protocol's texts are well formed.
fn decoded(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'=').map(value).collect();
    let group = |digits: &[u8]| {
        let bits = digits.iter().fold(0_u32, |bits, digit| bits << 6 | u32::from(*digit)) << (6 * (4 - digits.len()));
        bits.to_be_bytes()[1..digits.len()].to_vec()
    };
    digits.chunks(4).flat_map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_gives_back_what_went_in() {
        assert_eq!(decoded("aGVsbG8="), b"hello");
        assert_eq!(decoded("aGVsbG8h"), b"hello!");
        assert_eq!(decoded("/+8A"), [0xff, 0xef, 0]);
        assert!(decoded("").is_empty());
    }
}
