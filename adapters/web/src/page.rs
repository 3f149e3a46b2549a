//! The chat page, `/chat`: static files, served by the gateway itself. What it shows comes over the API, with the token of
//! the one who looks.

use axum::{
    Router,
    extract::Path,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};

const HTML: &str = include_str!("../page/index.html");
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const FILES: &[(&str, &str, &str)] = &[
    ("style.css", "text/css; charset=utf-8", include_str!("../page/style.css")),
    ("icon.svg", "image/svg+xml", include_str!("../page/icon.svg")),
    ("api.js", JAVASCRIPT, include_str!("../page/api.js")),
    ("approvals.js", JAVASCRIPT, include_str!("../page/approvals.js")),
    ("chat.js", JAVASCRIPT, include_str!("../page/chat.js")),
    ("dom.js", JAVASCRIPT, include_str!("../page/dom.js")),
    ("markdown.js", JAVASCRIPT, include_str!("../page/markdown.js")),
    ("reply.js", JAVASCRIPT, include_str!("../page/reply.js")),
    ("sessions.js", JAVASCRIPT, include_str!("../page/sessions.js")),
    ("tree.js", JAVASCRIPT, include_str!("../page/tree.js")),
];
/// Nothing but what is served here, and nothing in the page itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub fn routes() -> Router {
    Router::new().route("/chat", get(page)).route("/chat/{file}", get(file))
}

async fn page() -> Response {
    (common("text/html; charset=utf-8"), HTML).into_response()
}

async fn file(Path(name): Path<String>) -> Response {
    match FILES.iter().find(|(known, ..)| *known == name) {
        Some((_, kind, text)) => (common(kind), *text).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn common(kind: &'static str) -> HeaderMap {
    let pairs: [(HeaderName, &'static str); 6] = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
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
    fn nothing_in_the_page_needs_more_than_its_policy_allows() {
        assert!(!POLICY.contains("unsafe"));
        assert!(!HTML.contains(" style=") && !HTML.contains(" onclick=") && !HTML.contains("://"));
        for (name, _, text) in FILES {
            assert!(!text.contains("innerHTML") && !text.contains("eval("), "{name}");
        }
    }

    #[test]
    fn every_script_that_is_imported_is_served() {
        for (name, _, text) in FILES {
            for line in text.lines().filter(|line| line.starts_with("import ")) {
                let from = line.rsplit_once("\"./").and_then(|(_, rest)| rest.strip_suffix("\";")).expect("an import");
                assert!(FILES.iter().any(|(known, ..)| *known == from), "{name} imports {from}");
            }
        }
        for file in HTML.split("\"/chat/").skip(1) {
            let name = file.split(['"', '#']).next().expect("what is before a quote");
            assert!(FILES.iter().any(|(known, ..)| *known == name), "the page needs {name}");
        }
    }
}
