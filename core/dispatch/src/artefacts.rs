//! Results that were too long to be told whole: kept where they were asked for, and read on in pieces.

use contract::{
    Call, Digest, Failure, Node, Outcome, Problem,
    records::{ArtefactId, NotAnArtefact},
};
use serde_json::{Value, json};

use crate::{call::TurnCx, summary::summary, untrusted};

/// Reads a piece of a kept result.
pub(crate) const READ: &str = "read_result";

/// Characters of a piece, where nothing else is asked for and at most.
const PIECE: usize = 4_000;
const PIECE_MAX: usize = 24_000;
/// Characters of a text that is looked for; places that are shown, counted, and the characters around each.
const FIND_MAX: usize = 200;
const FOUND_MAX: usize = 8;
const COUNTED_MAX: usize = 1_000;
const AROUND: usize = 160;

/// The tool as a model is sent it, once something of its conversation was kept.
pub(crate) fn described() -> Value {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let number = |about: &str| json!({ "type": "integer", "minimum": 0, "description": about });
    json!({
        "name": READ,
        "description": "Reads on in a result that was cut: a piece of it, one part of its JSON, or the places where \
            a text stands in it.",
        "parameters": {
            "type": "object",
            "required": ["result"],
            "properties": {
                "result": text("What the cut result says it is kept as"),
                "from": number("The first character to read; 0 when left out"),
                "chars": number("How many characters to read"),
                "path": text("A JSON pointer: only what stands there is read, such as /items/3"),
                "find": text("A text: the places where it stands are given instead"),
            },
        },
    })
}

/// What is said of a result that was kept.
pub(crate) fn note(id: ArtefactId) -> String {
    format!("{KEPT_AS}{id}, read_result reads the rest")
}

const KEPT_AS: &str = "kept as ";

/// What a cut result says that it is kept as.
pub(crate) fn noted(told: &str) -> Option<ArtefactId> {
    let after = told.rsplit(KEPT_AS).next().filter(|after| after.len() < told.len())?;
    after.get(..10)?.parse().ok()
}

/// Keeps what was cut. A store that is away costs the rest of the result, not the turn.
pub(crate) async fn keep(cx: &TurnCx, whole: &str) -> Option<ArtefactId> {
    let visit = &cx.here.visit;
    match cx.inner.stores.artefacts.keep(&visit.place, &visit.person, whole).await {
        Ok(id) => id,
        Err(error) => {
            tracing::warn!(turn = %cx.id, %error, "a result that was cut is not kept");
            None
        }
    }
}

/// A call that reads on.
pub(crate) struct Reading {
    pub call: Call,
    pub node: Node,
}

pub(crate) async fn run(cx: &TurnCx, reading: Reading) -> Outcome {
    let Reading { call, mut node } = reading;
    node.args = summary(&call.args);
    node.args_digest = Some(Digest::of_json(&call.args));
    let result = read(cx, &call.args).await;
    cx.end(call.path, node, result, true)
}

async fn read(cx: &TurnCx, args: &Value) -> Result<Value, Failure> {
    let asked = args.get("result").and_then(Value::as_str).unwrap_or_default();
    let id = asked.parse().map_err(|NotAnArtefact| wrong("result", "the name that a cut result is kept as"))?;
    let body = cx.inner.stores.artefacts.artefact(&cx.here.visit.place, id).await;
    match body.map_err(|error| Failure::fatal(contract::Code::Store, error.to_string()))? {
        // A large one takes a while to be read.
        Some(body) => {
            let args = args.clone();
            let read = tokio::task::spawn_blocking(move || piece(&body, &args)).await;
            read.unwrap_or_else(|error| Err(Failure::fatal(contract::Code::Internal, error.to_string())))
        }
        None => Err(wrong("result", "a result that is kept here; they are kept for a day")),
    }
}

fn wrong(field: &str, expected: &str) -> Failure {
    let problem = Problem { path: field.to_owned(), expected: expected.to_owned(), got: None, hint: None };
    Failure::invalid_args(READ, vec![problem], "read_result result [from] [chars] [path] [find]".to_owned())
}

/// What is asked for of a result. Pure.
fn piece(body: &str, args: &Value) -> Result<Value, Failure> {
    let part = match args.get("path").and_then(Value::as_str).filter(|path| !path.is_empty()) {
        Some(path) => Some(part(body, path)?),
        None => None,
    };
    let text = part.as_deref().unwrap_or(body);
    let number = |key: &str| args.get(key).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    let from = number("from").unwrap_or(0);
    if let Some(wanted) = args.get("find").and_then(Value::as_str).filter(|wanted| !wanted.is_empty()) {
        if wanted.chars().nth(FIND_MAX).is_some() {
            return Err(wrong("find", "at most 200 characters"));
        }
        return Ok(places(text, wanted, from));
    }
    let most = number("chars").unwrap_or(PIECE).clamp(1, PIECE_MAX);
    let all = text.chars().count();
    let said: String = text.chars().skip(from).take(most).collect();
    let end = from.saturating_add(most);
    let mut answer = json!({ "from": from, "chars_in_all": all, "text": untrusted::clean(&said) });
    if end < all {
        answer["next"] = json!(end);
    }
    Ok(answer)
}

/// A part of a result that is JSON, as text.
fn part(body: &str, path: &str) -> Result<String, Failure> {
    let whole: Value =
        serde_json::from_str(body).map_err(|_| wrong("path", "nothing, since this result is plain text"))?;
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    match whole.pointer(&path) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(part) => Ok(part.to_string()),
        None => Err(wrong("path", "a JSON pointer to something in the result, such as /items/0")),
    }
}

/// Where a text stands, whichever way its letters are written.
fn places(text: &str, wanted: &str, from: usize) -> Value {
    // Letters are compared one by one, so that positions are those of the result whatever lower case makes of them.
    let small = |c: char| c.to_lowercase().next().unwrap_or(c);
    let all: Vec<char> = text.chars().collect();
    let lower: Vec<char> = all.iter().copied().map(small).collect();
    let wanted: Vec<char> = wanted.chars().map(small).collect();
    let (mut places, mut more, mut at) = (Vec::new(), 0usize, from);
    while at + wanted.len() <= lower.len() {
        if lower[at..at + wanted.len()] != wanted[..] {
            at += 1;
            continue;
        }
        if places.len() < FOUND_MAX {
            let around = &all[at.saturating_sub(AROUND)..(at + wanted.len() + AROUND).min(all.len())];
            let around: String = around.iter().collect();
            places.push(json!({ "at": at, "text": untrusted::clean(&around) }));
        } else {
            more += 1;
            if more == COUNTED_MAX {
                break;
            }
        }
        at += wanted.len();
    }
    match more {
        0 => json!({ "places": places }),
        more => json!({ "places": places, "more": more }),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn told(body: &str, args: Value) -> String {
        match piece(body, &args) {
            Ok(value) => value.to_string(),
            Err(failure) => failure.for_model(true).to_string(),
        }
    }

    #[test]
    fn a_result_is_read_in_pieces_that_say_where_the_next_begins() {
        let body = "日本語".repeat(3);
        expect![[r#"{"from":0,"chars_in_all":9,"text":"日本語日","next":4}"#]]
            .assert_eq(&told(&body, json!({"chars": 4})));
        expect![[r#"{"from":4,"chars_in_all":9,"text":"本語日本語"}"#]].assert_eq(&told(&body, json!({"from": 4})));
        expect![[r#"{"from":90,"chars_in_all":9,"text":""}"#]].assert_eq(&told(&body, json!({"from": 90})));
    }

    #[test]
    fn one_part_of_json_is_read_by_its_pointer() {
        let body = json!({"items": [{"id": "A-1"}, {"id": "A-2", "note": "x</system>y"}]}).to_string();
        expect![[r#"{"from":0,"chars_in_all":33,"text":"{\"id\":\"A-2\",\"note\":\"xy\"}"}"#]]
            .assert_eq(&told(&body, json!({"path": "/items/1"})));
        expect![[r#"{"from":0,"chars_in_all":3,"text":"A-1"}"#]].assert_eq(&told(&body, json!({"path": "items/0/id"})));
        assert!(told(&body, json!({"path": "/items/7"})).contains("args.invalid"));
        assert!(told("plain", json!({"path": "/a"})).contains("plain text"));
    }

    #[test]
    fn a_text_is_found_whichever_way_it_is_written() {
        let body = format!("{}İstanbul and ISTANBUL{}", "x".repeat(400), "y".repeat(400));
        let found: Value = serde_json::from_str(&told(&body, json!({"find": "istanbul"}))).unwrap();
        let at: Vec<_> =
            found["places"].as_array().unwrap().iter().map(|place| place["at"].as_u64().unwrap()).collect();
        assert_eq!(at, [400, 413]);
        let many: Value = serde_json::from_str(&told(&"ab".repeat(20), json!({"find": "AB"}))).unwrap();
        assert_eq!((many["places"].as_array().unwrap().len(), &many["more"]), (8, &json!(12)));
        assert!(told("x", json!({"find": "y".repeat(201)})).contains("at most 200 characters"));
    }

    #[test]
    fn what_a_result_is_kept_as_is_read_back() {
        let id: ArtefactId = "00aa11bb22".parse().unwrap();
        assert_eq!(noted(&format!("cut: 9 characters in all; {}", note(id))), Some(id));
        assert_eq!(noted("kept as well as it goes"), None);
        assert_eq!(noted("nothing"), None);
    }
}
