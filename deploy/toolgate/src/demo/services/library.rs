//! A search engine, a page reader and a summary writer over articles that are made up from their topic.

use axum::{
    Json,
    extract::{Query, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Shared, draw, refuse};

/// A page whose address has one of these words in it never answers.
pub const HANGING: &[&str] = &["atlantis", "timeout", "slow"];
const SITE: &str = "https://library.example/";

/// Kinds of articles: end of the address, title, sentences. `{}` is the topic.
const ARTICLES: &[(&str, &str, &[&str])] = &[
    (
        "introduction",
        "{}: an introduction",
        &[
            "{} is easier to understand when one starts with what people did before it.",
            "Most accounts name three ideas that have to come together.",
            "The first is cheap, the second is old, and the third took longest.",
        ],
    ),
    (
        "history",
        "A short history of {}",
        &[
            "The oldest written trace of {} is a shopkeeper's list.",
            "It spread along trade routes, and each port added a habit of its own.",
            "By the time somebody wrote a handbook, half of it was out of date.",
        ],
    ),
    (
        "practice",
        "{} in practice",
        &[
            "People who work with {} every day agree on very little, except on keeping notes.",
            "Small trials beat large plans, because mistakes stay cheap.",
            "Whoever measures before and after a change learns twice as fast.",
        ],
    ),
    (
        "objections",
        "What speaks against {}",
        &[
            "The strongest objection to {} is the time that it takes to learn.",
            "A second one is that its benefits show late and in other people's work.",
            "Both are true, and neither has stopped anybody for long.",
        ],
    ),
];

#[derive(Deserialize)]
pub(super) struct Search {
    q: String,
    limit: Option<usize>,
}

#[derive(Deserialize)]
pub(super) struct Page {
    url: String,
}

#[derive(Deserialize)]
pub(super) struct Text {
    topic: Option<String>,
    /// One text, a list of texts, or pages with a `text` each.
    text: Value,
    max_words: Option<usize>,
}

pub(super) async fn search(State(shared): State<Shared>, Query(search): Query<Search>) -> Response {
    shared.count("search");
    let topic = search.q.trim();
    if topic.is_empty() {
        return refuse(StatusCode::BAD_REQUEST, "nothing to search for");
    }
    let first = draw(topic, 0) as usize;
    let results: Vec<_> = (0..search.limit.unwrap_or(3).clamp(1, ARTICLES.len()))
        .map(|i| {
            let (end, title, sentences) = ARTICLES[(first + i) % ARTICLES.len()];
            let url = format!("{SITE}{}/{end}", topic.to_lowercase().replace([' ', '/', '?', '#', '&'], "-"));
            json!({ "title": title.replace("{}", topic), "url": url, "snippet": sentences[0].replace("{}", topic) })
        })
        .collect();
    Json(json!({ "query": topic, "results": results })).into_response()
}

pub(super) async fn page(State(shared): State<Shared>, Query(page): Query<Page>) -> Response {
    shared.count("page");
    let lower = page.url.to_lowercase();
    if HANGING.iter().any(|word| lower.contains(word)) {
        shared.end.cancelled().await;
    }
    let parts = page.url.strip_prefix(SITE).and_then(|rest| rest.rsplit_once('/'));
    let article = parts.and_then(|(topic, end)| Some((topic, ARTICLES.iter().find(|article| article.0 == end)?)));
    let Some((topic, (_, title, sentences))) = article else {
        return refuse(StatusCode::NOT_FOUND, format!("no page '{}'", page.url));
    };
    let topic = topic.replace('-', " ");
    let text = sentences.join(" ").replace("{}", &topic);
    Json(json!({ "url": page.url, "title": title.replace("{}", &topic), "text": text })).into_response()
}

/// The first sentence of each text.
pub(super) async fn summary(State(shared): State<Shared>, Json(asked): Json<Text>) -> Response {
    shared.count("summary");
    let texts: Vec<String> = match asked.text {
        Value::Array(items) => items.iter().filter_map(text_of).collect(),
        one => text_of(&one).into_iter().collect(),
    };
    let firsts: Vec<_> = texts.iter().map(|text| first_sentence(text)).collect();
    if firsts.is_empty() {
        return refuse(StatusCode::BAD_REQUEST, "there is no text to summarise");
    }
    let all = firsts.join(" ");
    let words: Vec<_> = all.split_whitespace().take(asked.max_words.unwrap_or(80)).collect();
    let summary = words.join(" ");
    Json(json!({ "topic": asked.topic, "summary": summary, "words": words.len(), "sources": texts.len() }))
        .into_response()
}

fn text_of(value: &Value) -> Option<String> {
    let text = value.as_str().or_else(|| value["text"].as_str())?;
    (!text.trim().is_empty()).then(|| text.to_owned())
}

fn first_sentence(text: &str) -> String {
    let end = text
        .find(['.', '。', '!', '?'])
        .map_or(text.len(), |at| at + text[at..].chars().next().map_or(0, char::len_utf8));
    text[..end].trim().to_owned()
}
