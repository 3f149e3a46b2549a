//! Functions of the binary as tools, and those that are built in.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use contract::{Address, Caller, Content, Effect, Platform, Problem, Reply, text};
use serde_json::{Value, json};
use tools::{Cx, Endpoint, Fault, Output, Permitted, ToolFailure};

/// A function that a tool may call.
#[async_trait]
pub trait Native: Send + Sync {
    async fn call(&self, args: &Value, cx: &Cx<'_>) -> Result<Value, ToolFailure>;
}

pub(crate) struct NativeEndpoint(pub(crate) Arc<dyn Native>);

#[async_trait]
impl Endpoint for NativeEndpoint {
    async fn call(&self, call: &Permitted, cx: &Cx<'_>) -> Result<Output, ToolFailure> {
        self.0.call(call.args(), cx).await.map(Output::Done)
    }
}

pub(crate) fn built_in() -> BTreeMap<String, Arc<dyn Native>> {
    BTreeMap::from([
        ("sleep".to_owned(), Arc::new(Sleep) as Arc<dyn Native>),
        ("crash".to_owned(), Arc::new(Crash)),
        ("noop".to_owned(), Arc::new(Noop)),
        ("send_message".to_owned(), Arc::new(SendMessage)),
    ])
}

/// Does nothing.
struct Noop;

#[async_trait]
impl Native for Noop {
    async fn call(&self, _args: &Value, cx: &Cx<'_>) -> Result<Value, ToolFailure> {
        cx.notes.effect(Effect::None);
        Ok(Value::Null)
    }
}

/// Waits `ms` milliseconds, at most a minute.
struct Sleep;

const LONGEST_SLEEP_MS: u64 = 60_000;

#[async_trait]
impl Native for Sleep {
    async fn call(&self, args: &Value, cx: &Cx<'_>) -> Result<Value, ToolFailure> {
        cx.notes.effect(Effect::None);
        let ms = args.get("ms").and_then(Value::as_u64).filter(|ms| *ms <= LONGEST_SLEEP_MS);
        let Some(ms) = ms else {
            let expected = format!("milliseconds from 0 to {LONGEST_SLEEP_MS}");
            return Err(refused("ms", &expected, args, "the time to sleep is not fit"));
        };
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(ms)) => Ok(json!({ "slept_ms": ms })),
            () = cx.cancel.cancelled() => Err(ToolFailure::new(Fault::Cancelled, "the sleep was stopped").effect(Effect::None)),
        }
    }
}

/// Panics, so that anybody can see what a crash of a tool looks like.
struct Crash;

#[async_trait]
impl Native for Crash {
    async fn call(&self, _args: &Value, _cx: &Cx<'_>) -> Result<Value, ToolFailure> {
        panic!("this tool crashes on purpose")
    }
}

/// Sends `text` to the conversation `to`, as it is unless `markdown` is true. Who may write where is the host's to decide.
struct SendMessage;

const LONGEST_TEXT: usize = 20_000;

#[async_trait]
impl Native for SendMessage {
    async fn call(&self, args: &Value, cx: &Cx<'_>) -> Result<Value, ToolFailure> {
        cx.notes.effect(Effect::None);
        let words = args.get("text").and_then(Value::as_str).unwrap_or_default();
        if words.trim().is_empty() || words.chars().count() > LONGEST_TEXT {
            let expected = format!("text of 1 to {LONGEST_TEXT} characters");
            return Err(refused("text", &expected, args, "there is nothing to send, or too much"));
        }
        let written = args.get("to").and_then(Value::as_str).unwrap_or_default();
        let Some(address) = address(written, cx.caller) else {
            let expected = "a conversation like telegram:main/-100123, or its id on this platform";
            return Err(refused("to", expected, args, "that is not a conversation"));
        };
        let sent_to = address.written();
        cx.notes.effect(Effect::Unknown);
        let content = match args.get("markdown").and_then(Value::as_bool) {
            Some(true) => Content::Text(words.to_owned()),
            Some(false) | None => Content::Plain(words.to_owned()),
        };
        cx.host.post(address, Reply { content: vec![content], ..Reply::default() }).await?;
        Ok(json!({ "sent_to": sent_to }))
    }
}

/// `telegram:main/-100123[/topic]`, or an id on the caller's own platform and account.
fn address(written: &str, caller: &Caller) -> Option<Address> {
    let written = written.trim();
    if written.is_empty() || written.len() > 200 || written.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return None;
    }
    let Some((platform, place)) = written.split_once(':').filter(|(_, place)| place.contains('/')) else {
        let space = caller.space.clone();
        return Some(Address { space, ..Address::new(caller.platform, caller.account.as_str(), written) });
    };
    let platform: Platform = platform.parse().ok()?;
    let mut parts = place.splitn(3, '/');
    let (account, conversation, thread) = (parts.next()?, parts.next()?, parts.next());
    if account.is_empty() || conversation.is_empty() || thread == Some("") {
        return None;
    }
    let is_home = platform == caller.platform && account == caller.account;
    let space = caller.space.clone().filter(|_| is_home);
    Some(Address { space, thread: thread.map(str::to_owned), ..Address::new(platform, account, conversation) })
}

fn refused(field: &str, expected: &str, args: &Value, say: &str) -> ToolFailure {
    let got = args.get(field).map(|value| text::one_line(&value.to_string(), 80));
    ToolFailure::input_refused(say, vec![Problem { path: field.into(), expected: expected.into(), got, hint: None }])
}

#[cfg(test)]
mod tests {
    use contract::{Code, Origin};

    use super::*;
    use crate::testing::{Bench, caller};

    async fn run(native: &dyn Native, args: Value) -> (Result<Value, ToolFailure>, Bench) {
        let bench = Bench::new();
        let outcome = native.call(&args, &bench.cx()).await;
        (outcome, bench)
    }

    #[tokio::test]
    async fn a_message_goes_where_it_is_addressed() {
        let sent = |to: &str| {
            let to = to.to_owned();
            async move {
                let (outcome, bench) = run(&SendMessage, json!({"to": to, "text": "hello"})).await;
                (outcome.is_ok(), bench.posted())
            }
        };
        assert_eq!(sent("telegram:main/-100123").await, (true, vec!["telegram:main/-100123".to_owned()]));
        assert_eq!(sent("slack:work/C1/17.5").await.1, ["slack:work/C1/17.5"]);
        assert_eq!(sent("-42").await.1, ["telegram:main/-42"]);
        for bad in
            ["", "nowhere:main/1", "telegram:/1", "telegram:main/", "telegram:main/1/", "a b", "telegram:main/\u{0}1"]
        {
            assert_eq!(sent(bad).await, (false, vec![]), "{bad:?}");
        }
    }

    #[tokio::test]
    async fn an_unfit_message_is_refused_before_anything_is_sent() {
        let (outcome, bench) = run(&SendMessage, json!({"to": "-42", "text": " \n"})).await;
        let failure = outcome.unwrap_err();
        assert_eq!(failure.failure().code, Code::InputRefused);
        assert_eq!(failure.failure().problems[0].path, "text");
        assert!(bench.posted().is_empty());
    }

    #[tokio::test]
    async fn what_the_host_refuses_is_passed_on() {
        let bench = Bench::refusing();
        let failure = SendMessage.call(&json!({"to": "-42", "text": "x"}), &bench.cx()).await.unwrap_err();
        assert_eq!(failure.failure().code, Code::DeliveryRefused);
    }

    #[tokio::test]
    async fn a_sleep_ends_when_it_is_cancelled() {
        let bench = Bench::new();
        bench.cancel.cancel();
        let failure = Sleep.call(&json!({"ms": 60_000}), &bench.cx()).await.unwrap_err();
        assert_eq!(failure.failure().code, Code::Cancelled);
        let (outcome, _) = run(&Sleep, json!({"ms": 1})).await;
        assert_eq!(outcome.unwrap(), json!({"slept_ms": 1}));
        for ms in [json!(60_001), json!(-1), json!("5"), Value::Null] {
            let (outcome, _) = run(&Sleep, json!({"ms": ms})).await;
            assert_eq!(outcome.unwrap_err().failure().code, Code::InputRefused);
        }
    }

    #[test]
    fn the_space_of_the_caller_stays_on_its_own_account() {
        let caller = Caller { space: Some("G1".into()), origin: Origin::Command, ..caller() };
        assert_eq!(address("-42", &caller).unwrap().space.as_deref(), Some("G1"));
        assert_eq!(address("telegram:other/-42", &caller).unwrap().space, None);
    }
}
