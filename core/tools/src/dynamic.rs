//! Parts of a tool's parameters that are fetched: kept while they are fresh enough, the last good ones where fetching fails.
//!
//! Nothing is fetched while a list is built. A part that was never fetched is what the spec says in its place.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use serde_json::Value;
use tokio::{sync::watch, time::Instant};

use crate::spec::{Dynamic, Spec};

/// Most values of a fetched list, and bytes of anything that is fetched.
pub const VALUES_MAX: usize = 1_000;
pub const BYTES_MAX: usize = 64 * 1024;
/// How long a fetch may take, and how soon after a failure the next is tried at the earliest.
const FETCH_TIME: Duration = Duration::from_secs(10);
const AGAIN_AFTER: Duration = Duration::from_secs(30);

/// Where a part comes from.
#[async_trait]
pub trait Fetch: Send + Sync {
    /// An error is for operators; no secret in it.
    async fn fetch(&self) -> Result<Value, String>;
}

/// A part of a tool's parameters, over the versions of the tool.
pub struct Part {
    /// Below `parameters`, as a JSON pointer.
    pub pointer: String,
    of: Dynamic,
    fetch: Arc<dyn Fetch>,
    state: Mutex<State>,
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    value: Option<Value>,
    next: Option<Instant>,
    under_way: bool,
}

impl Part {
    pub(crate) fn new(pointer: String, of: &Dynamic, fetch: Arc<dyn Fetch>, changed: watch::Sender<u64>) -> Arc<Self> {
        Arc::new(Self { pointer, of: of.clone(), fetch, state: Mutex::default(), changed })
    }

    pub(crate) fn is(&self, pointer: &str, of: &Dynamic) -> bool {
        self.pointer == pointer && self.of == *of
    }

    /// A fetch that is due; nobody else has it until it is done or dropped.
    pub fn due(self: &Arc<Self>) -> Option<Fetching> {
        let mut state = self.lock();
        if state.under_way || state.next.is_some_and(|next| next > Instant::now()) {
            return None;
        }
        state.under_way = true;
        Some(Fetching(self.clone()))
    }

    /// What is known of it is too old.
    pub(crate) fn refresh(&self) {
        self.lock().next = None;
    }

    fn value(&self) -> Option<Value> {
        self.lock().value.clone()
    }

    /// Whether it is another value than before.
    fn took(&self, fetched: Result<Value, String>) -> Result<bool, String> {
        let good = fetched.and_then(|value| fit(&self.pointer, value));
        let mut state = self.lock();
        let wait = match good {
            Ok(_) => self.of.ttl,
            Err(_) => AGAIN_AFTER.min(self.of.ttl),
        };
        state.next = Some(Instant::now() + wait);
        let value = Some(good?);
        let is_new = state.value != value;
        state.value = value;
        Ok(is_new)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A fetch under way.
pub struct Fetching(Arc<Part>);

impl Fetching {
    /// Fetches, and says so where tools are to be loaded anew. An error is for operators.
    pub async fn run(self) -> Result<(), String> {
        let fetched = tokio::time::timeout(FETCH_TIME, self.0.fetch.fetch()).await;
        let fetched = fetched.unwrap_or_else(|_| Err(format!("no answer within {} s", FETCH_TIME.as_secs())));
        if self.0.took(fetched)? {
            self.0.changed.send_modify(|changes| *changes += 1);
        }
        Ok(())
    }
}

impl Drop for Fetching {
    fn drop(&mut self) {
        self.0.lock().under_way = false;
    }
}

/// What can stand in the place, or why it cannot.
fn fit(pointer: &str, value: Value) -> Result<Value, String> {
    if value.to_string().len() > BYTES_MAX {
        return Err(format!("more than {BYTES_MAX} bytes"));
    }
    if !pointer.ends_with("/enum") {
        return Ok(value);
    }
    let Value::Array(values) = value else { return Err("no list, and 'enum' takes a list of values".to_owned()) };
    let mut unique: Vec<Value> = Vec::with_capacity(values.len());
    for value in values {
        match value {
            Value::Array(_) | Value::Object(_) => {
                return Err("values that are lists or objects; 'select' takes their names".to_owned());
            }
            value if !unique.contains(&value) => unique.push(value),
            _ => {}
        }
    }
    match unique.len() {
        0 => Err("an empty list".to_owned()),
        1..=VALUES_MAX => Ok(Value::Array(unique)),
        more => Err(format!("{more} values; {VALUES_MAX} are allowed")),
    }
}

/// Puts what was fetched into the parameters; a part that was never fetched stays as it is written.
pub(crate) fn fill(spec: &mut Spec, parts: &[Arc<Part>]) {
    for part in parts {
        let Some(value) = part.value() else { continue };
        let Some((above, key)) = part.pointer.rsplit_once('/') else { continue };
        if let Some(Value::Object(map)) = spec.parameters.pointer_mut(above) {
            map.insert(key.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Says(Mutex<Vec<Result<Value, String>>>);

    #[async_trait]
    impl Fetch for Says {
        async fn fetch(&self) -> Result<Value, String> {
            self.0.lock().unwrap().remove(0)
        }
    }

    fn part(answers: Vec<Result<Value, String>>) -> (Arc<Part>, watch::Receiver<u64>) {
        let (changed, changes) = watch::channel(0);
        let of = Dynamic { url: "http://a.test".into(), ttl: Duration::from_secs(300), select: None };
        (Part::new("/properties/region/enum".into(), &of, Arc::new(Says(Mutex::new(answers))), changed), changes)
    }

    #[tokio::test(start_paused = true)]
    async fn a_part_is_fetched_once_in_its_time_and_only_a_new_value_is_told() {
        let (part, changes) = part(vec![Ok(json!(["eu", "us", "eu"])), Ok(json!(["eu", "us"])), Ok(json!(["eu"]))]);
        let fetching = part.due().unwrap();
        assert!(part.due().is_none(), "one at a time");
        fetching.run().await.unwrap();
        assert_eq!((part.value(), *changes.borrow()), (Some(json!(["eu", "us"])), 1));
        assert!(part.due().is_none(), "it is fresh");
        for expected in [1, 2] {
            tokio::time::advance(Duration::from_secs(300)).await;
            part.due().unwrap().run().await.unwrap();
            assert_eq!(*changes.borrow(), expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_cannot_be_used_leaves_the_last_good_value() {
        let many: Vec<_> = (0..=VALUES_MAX).map(|n| json!(n)).collect();
        let bad = [json!([]), json!({"a": 1}), json!([{"id": 1}]), json!(many), json!(["x".repeat(BYTES_MAX)])];
        let mut answers = vec![Ok(json!(["eu"])), Err("it answers 503".to_owned())];
        answers.extend(bad.into_iter().map(Ok));
        let count = answers.len();
        let (part, changes) = part(answers);
        part.due().unwrap().run().await.unwrap();
        tokio::time::advance(Duration::from_secs(300)).await;
        for _ in 1..count {
            assert!(part.due().unwrap().run().await.is_err());
            assert!(part.due().is_none(), "not at once again");
            tokio::time::advance(AGAIN_AFTER).await;
        }
        assert_eq!((part.value(), *changes.borrow()), (Some(json!(["eu"])), 1));
    }
}
