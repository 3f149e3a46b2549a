use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Router, body::Bytes, http::StatusCode, routing::post};
use contract::{CallPath, TurnId};
use serde_json::{Value, json};
use tools::{
    Registry, Stages,
    stages::{Chain, Class, Of, Only},
};

use super::{asked::verdict, *};
use crate::Endpoints;

const TOOL: &str = "name: refund\ntoolset: orders\npermissions: [write]\nendpoint: { type: native, name: noop }\n\
                    parameters: { type: object, properties: { amount: { type: integer } } }\n";

fn of() -> Arc<Of> {
    let loaded = Registry::new(Arc::new(Endpoints::new())).load_with(&[], &[("tools.yaml", TOOL)]);
    let tool = loaded.snapshot.get("refund").unwrap().clone();
    let caller = contract::Caller {
        platform: contract::Platform::Slack,
        account: "main".into(),
        tenant: "acme".into(),
        space: None,
        conversation: "c".into(),
        thread: None,
        sender: contract::Sender { id: "7".into(), name: "ada".into() },
        roles: Vec::new(),
        origin: contract::Origin::Said,
    };
    Arc::new(Of { tool, caller, turn: TurnId::default(), path: CallPath::top(1, 1) })
}

/// Where a service answers so, and what it was sent.
async fn service(status: u16, answer: &'static str) -> (String, Arc<Mutex<Vec<Value>>>) {
    let sent: Arc<Mutex<Vec<Value>>> = Arc::default();
    let seen = sent.clone();
    let answers = move |body: Bytes| async move {
        seen.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
        (StatusCode::from_u16(status).unwrap(), answer)
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/", post(answers))).await });
    (format!("http://{address}/"), sent)
}

fn webhook(url: &str) -> Via {
    Via::Webhook { url: url.to_owned(), headers: Vec::new() }
}

fn shell(script: &str) -> Via {
    Via::Program { argv: ["sh", "-c", script].map(str::to_owned).into(), env: Vec::new(), folder: None }
}

fn chain(at: At, via: Via, class: Class, timeout: Duration) -> Chain {
    let hook = Hook { name: "h".into(), at, via, class, timeout, only: Only::default() };
    Chain::new(vec![Endpoints::new().hook(hook).unwrap()]).unwrap_or_else(|_| panic!("too many"))
}

/// What becomes of a call before it starts.
async fn before(via: Via) -> String {
    let (chain, of) = (chain(At::Before, via, Class::Policy, Duration::from_secs(20)), of());
    let mut marks = Vec::new();
    match (Stages { chain: &chain, of: &of }).before(&json!({"amount": 5}), &mut marks).await {
        Ok(()) => format!("runs ({})", marks.join(", ")),
        Err(failure) => format!("{}: {failure} ({})", failure.code, failure.cause.for_operator()),
    }
}

#[test]
fn only_a_decision_decides() {
    assert_eq!(verdict(br#"{"decision":"allow"}"#), Ok(Verdict::Allow { instead: None, note: String::new() }));
    assert_eq!(verdict(br#"{"decision":"refuse","say":"no"}"#), Ok(Verdict::Refuse("no".into())));
    for (answer, why) in [
        ("", "its answer is no JSON"),
        ("<html>signed out</html>", "its answer is no JSON"),
        ("[]", "its answer is no object"),
        ("{}", "its answer has no 'decision'"),
        (r#"{"decision":"maybe"}"#, "its decision 'maybe' is neither allow nor refuse"),
        (r#"{"decision":true}"#, "its answer has no 'decision'"),
    ] {
        assert_eq!(verdict(answer.as_bytes()), Err(why.to_owned()), "{answer}");
    }
}

#[tokio::test]
async fn a_service_is_sent_who_what_and_with_which_arguments() {
    let (url, sent) = service(200, r#"{"decision":"allow"}"#).await;
    assert_eq!(before(webhook(&url)).await, "runs (hook 'h': allowed)");
    let sent = sent.lock().unwrap().pop().unwrap();
    let caller = json!({"platform": "slack", "account": "main", "tenant": "acme", "space": null, "conversation": "c",
        "thread": null, "sender": {"id": "7", "name": "ada"}, "roles": [], "origin": "said"});
    assert_eq!(
        sent,
        json!({"hook": "h", "stage": "before", "turn": sent["turn"], "path": "1.1", "tool": "refund",
            "toolset": "orders", "labels": ["write"], "caller": caller, "args": {"amount": 5}})
    );
}

#[tokio::test]
async fn a_service_that_does_not_decide_refuses() {
    let (says_no, _) = service(200, r#"{"decision":"refuse","say":"not above 3 without a ticket"}"#).await;
    let (fails, _) = service(500, r#"{"decision":"allow"}"#).await;
    let (moved, _) = service(302, "").await;
    let (page, _) = service(200, "<html>").await;
    let told = "hook.refused: 'refund' was not run: it could not be checked (the hook 'h' came to no decision: ";
    assert_eq!(before(webhook(&says_no)).await, "hook.refused: not above 3 without a ticket (the hook 'h' refused it)");
    assert_eq!(before(webhook(&fails)).await, format!("{told}it answers 500 Internal Server Error)"));
    assert_eq!(before(webhook(&moved)).await, format!("{told}it answers 302 Found)"));
    assert_eq!(before(webhook(&page)).await, format!("{told}its answer is no JSON)"));
    assert_eq!(before(webhook("http://127.0.0.1:1/?key=sk_1")).await, format!("{told}no connection)"));
}

#[tokio::test]
async fn a_program_reads_the_question_and_writes_its_decision() {
    let by_amount = r#"if grep -q '"amount":5'; then echo '{"decision":"refuse","say":"five is too much"}'; else echo '{"decision":"allow"}'; fi"#;
    assert_eq!(before(shell(by_amount)).await, "hook.refused: five is too much (the hook 'h' refused it)");
    assert_eq!(before(shell(r#"echo '{"decision":"allow"}'"#)).await, "runs (hook 'h': allowed)");
    let ended = before(shell("echo oh >&2; exit 3")).await;
    assert!(ended.ends_with("'sh' ends with exit status: 3: oh)"), "{ended}");
    let gone = Via::Program { argv: vec!["no-such-program".into()], env: Vec::new(), folder: None };
    assert!(before(gone).await.ends_with("'no-such-program' cannot be started: entity not found)"));
    // What it leaves behind holds nobody up.
    let forks = r#"sleep 600 & echo '{"decision":"allow"}'"#;
    assert_eq!(before(shell(forks)).await, "runs (hook 'h': allowed)");
}

#[tokio::test]
async fn a_program_that_takes_too_long_ends_with_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let script = format!("sleep 600 & echo $! $$ > {0}.new; mv {0}.new {0}; trap '' TERM; wait", pids.display());
    let (chain, of) = (chain(At::Before, shell(&script), Class::Policy, Duration::from_millis(1_500)), of());
    let failure = (Stages { chain: &chain, of: &of }).before(&json!({}), &mut Vec::new()).await.unwrap_err();
    assert!(failure.cause.for_operator().ends_with("no answer within 1500 ms"));
    let pids = std::fs::read_to_string(&pids).unwrap();
    let alive = |pid: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    for _ in 0..1_000 {
        if !pids.split_whitespace().any(alive) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("something of it still runs: {pids}");
}

#[tokio::test]
async fn arguments_and_answers_are_changed_by_what_comes_back() {
    let (url, _) = service(200, r#"{"decision":"allow","args":{"amount":9007199254740993}}"#).await;
    let (chain, of) = (chain(At::Request, webhook(&url), Class::Policy, Duration::from_secs(20)), of());
    let mut marks = Vec::new();
    let (args, asked) = (Stages { chain: &chain, of: &of }).request(json!({"amount": 5}), &mut marks).await;
    assert!(asked.is_ok());
    assert_eq!(
        (args.to_string().as_str(), marks),
        (r#"{"amount":9007199254740993}"#, vec!["hook 'h': changed amount".to_owned()])
    );
    let list = shell(r#"echo '{"decision":"allow","args":[1]}'"#);
    let chain = self::chain(At::Request, list, Class::Policy, Duration::from_secs(20));
    let (_, asked) = (Stages { chain: &chain, of: &of }).request(json!({}), &mut Vec::new()).await;
    assert!(asked.is_err());
}
