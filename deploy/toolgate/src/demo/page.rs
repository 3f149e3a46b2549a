//! The playground: a page with chats like Discord's, Telegram's and Slack's, the live call tree and things to try. Embedded; no build step.
//!
//! | path | what |
//! |---|---|
//! | `/playground` | the page, with its configuration filled in |
//! | `/playground/{file}` | its style, scripts and icon |
//!
//! Everything that it shows of others is put in as text. The content security policy allows no script but ours and
//! no connection or picture but of the gateway that serves it and of the simulators.

use axum::{
    Router,
    extract::{Path, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use serde::Serialize;
use std::sync::Arc;

const HTML: &str = include_str!("../../demo/page/index.html");
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const FILES: &[(&str, &str, &str)] = &[
    ("style.css", "text/css; charset=utf-8", include_str!("../../demo/page/style.css")),
    ("platforms.css", "text/css; charset=utf-8", include_str!("../../demo/page/platforms.css")),
    ("icon.svg", "image/svg+xml", include_str!("../../demo/page/icon.svg")),
    ("script.js", JAVASCRIPT, include_str!("../../demo/page/script.js")),
    ("api.js", JAVASCRIPT, include_str!("../../demo/page/api.js")),
    ("calls.js", JAVASCRIPT, include_str!("../../demo/page/calls.js")),
    ("chat.js", JAVASCRIPT, include_str!("../../demo/page/chat.js")),
    ("commands.js", JAVASCRIPT, include_str!("../../demo/page/commands.js")),
    ("composer.js", JAVASCRIPT, include_str!("../../demo/page/composer.js")),
    ("discord.js", JAVASCRIPT, include_str!("../../demo/page/discord.js")),
    ("dom.js", JAVASCRIPT, include_str!("../../demo/page/dom.js")),
    ("entities.js", JAVASCRIPT, include_str!("../../demo/page/entities.js")),
    ("files.js", JAVASCRIPT, include_str!("../../demo/page/files.js")),
    ("forms.js", JAVASCRIPT, include_str!("../../demo/page/forms.js")),
    ("markdown.js", JAVASCRIPT, include_str!("../../demo/page/markdown.js")),
    ("message.js", JAVASCRIPT, include_str!("../../demo/page/message.js")),
    ("reactions.js", JAVASCRIPT, include_str!("../../demo/page/reactions.js")),
    ("slack.js", JAVASCRIPT, include_str!("../../demo/page/slack.js")),
];

/// What the page is told when it is served.
#[derive(Debug, Clone, Serialize)]
pub struct Playground {
    /// Where the gateway's API is; empty for where the page comes from.
    pub gateway: String,
    /// `http://127.0.0.1:PORT` of the simulators.
    pub simulators: String,
    /// A chat pane each, from left to right.
    pub panes: Vec<Pane>,
    /// Whom one can speak as.
    pub people: Vec<Person>,
}

/// Somebody in the chats.
#[derive(Debug, Clone, Serialize)]
pub struct Person {
    pub name: String,
    /// `en` or `zh`: what their clients say of them.
    pub language: String,
}

/// One chat pane.
#[derive(Debug, Clone, Serialize)]
pub struct Pane {
    pub platform: String,
    pub title: String,
    /// The bot's name as it is shown.
    pub bot: String,
}

impl Playground {
    /// With a pane for each platform, served by the gateway itself.
    pub fn new(simulators: impl Into<String>) -> Self {
        let pane = |platform: &str, title: &str| Pane {
            platform: platform.into(),
            title: title.into(),
            bot: "Toolgate".into(),
        };
        let panes = vec![pane("telegram", "Telegram"), pane("discord", "Discord"), pane("slack", "Slack")];
        let person = |(name, language): (&str, &str)| Person { name: name.into(), language: language.into() };
        let people = [("you", "en"), ("mia", "en"), ("ops", "en"), ("chen", "zh")].map(person).to_vec();
        Self { gateway: String::new(), simulators: simulators.into(), panes, people }
    }

    /// The routes of the page, to be merged into the gateway's server.
    pub fn routes(self) -> Router {
        Router::new().route("/playground", get(page)).route("/playground/{file}", get(file)).with_state(Arc::new(self))
    }

    fn html(&self) -> String {
        let config = serde_json::to_string(self).expect("plain fields serialize");
        // A `<` could end the element that the configuration stands in.
        HTML.replace("{{config}}", &config.replace('<', "\\u003c"))
    }

    fn policy(&self) -> String {
        let from = format!("'self' {} {}", self.gateway, self.simulators);
        // Pictures that were sent in the chats come from the simulators.
        format!(
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' {}; connect-src {}; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            self.simulators,
            from.trim()
        )
    }
}

async fn page(State(playground): State<Arc<Playground>>) -> Response {
    let mut headers = common("text/html; charset=utf-8");
    if let Ok(policy) = HeaderValue::from_str(&playground.policy()) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    (headers, playground.html()).into_response()
}

async fn file(Path(name): Path<String>) -> Response {
    match FILES.iter().find(|(known, ..)| *known == name) {
        Some((_, kind, text)) => (common(kind), *text).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn common(kind: &'static str) -> HeaderMap {
    let pairs: [(HeaderName, &'static str); 5] = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-cache"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    pairs.into_iter().map(|(name, value)| (name, HeaderValue::from_static(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_cannot_leave_its_element() {
        let mut playground = Playground::new("http://127.0.0.1:1");
        playground.panes[0].bot = "</script><script>alert(1)</script>".into();
        let html = playground.html();
        assert!(html.contains(r#""bot":"\u003c/script>"#));
        assert!(!html.contains("{{config}}") && !html.contains("alert(1)</script>"));
    }

    #[test]
    fn the_policy_allows_no_script_in_the_page_and_no_foreign_connection() {
        let policy = Playground::new("http://127.0.0.1:1").policy();
        assert!(policy.contains("script-src 'self';") && policy.contains("connect-src 'self'  http://127.0.0.1:1;"));
        assert!(policy.contains("img-src 'self' http://127.0.0.1:1;"));
        assert!(!policy.contains("unsafe"));
        assert!(!HTML.contains(" style=") && !HTML.contains(" onclick="));
    }

    #[test]
    fn every_script_that_is_imported_is_served() {
        for (name, _, text) in FILES {
            for line in text.lines().filter(|line| line.starts_with("import ")) {
                let from = line.rsplit_once("\"./").and_then(|(_, rest)| rest.strip_suffix("\";")).expect("an import");
                assert!(FILES.iter().any(|(known, ..)| *known == from), "{name} imports {from}");
            }
        }
    }
}
