//! Locks on what calls need alone, shared by all tools of the process.

use std::{
    collections::{HashMap, VecDeque},
    fmt::Write as _,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::Value;
use tokio::sync::oneshot;

/// Who waits for which key, in order. A key that nobody needs is forgotten.
#[derive(Clone, Default)]
pub struct Resources(Arc<Lines>);

#[derive(Default)]
struct Lines {
    keys: Mutex<HashMap<String, VecDeque<Waiter>>>,
    next: AtomicU64,
}

struct Waiter {
    id: u64,
    /// Told when it is its turn; nothing for who came first.
    wake: Option<oneshot::Sender<()>>,
}

impl Resources {
    /// A place in the line for `key`, taken now. Dropping it leaves the line or frees the key.
    pub fn claim(&self, key: &str) -> Claim {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        let mut keys = self.0.lock();
        let line = keys.entry(key.to_owned()).or_default();
        let (wake, turn) = match line.is_empty() {
            true => (None, None),
            false => {
                let (tx, rx) = oneshot::channel();
                (Some(tx), Some(rx))
            }
        };
        line.push_back(Waiter { id, wake });
        Claim { lines: self.0.clone(), key: key.to_owned(), id, turn }
    }

    /// How many keys somebody holds or waits for.
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Lines {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, VecDeque<Waiter>>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the line for a resource, and the resource itself once [`Claim::granted`] returns.
pub struct Claim {
    lines: Arc<Lines>,
    key: String,
    id: u64,
    turn: Option<oneshot::Receiver<()>>,
}

impl Claim {
    /// Returns when everybody who came earlier is done.
    pub async fn granted(&mut self) {
        if let Some(turn) = &mut self.turn {
            // An error would mean that the line itself is gone, and then nobody stands before us.
            let _ = turn.await;
            self.turn = None;
        }
    }

    /// Whether waiting can be skipped.
    pub fn is_granted(&self) -> bool {
        self.turn.is_none()
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut keys = self.lines.lock();
        let Some(line) = keys.get_mut(&self.key) else { return };
        let was_first = line.front().is_some_and(|w| w.id == self.id);
        line.retain(|w| w.id != self.id);
        match line.front_mut() {
            None => {
                keys.remove(&self.key);
            }
            Some(next) if was_first => {
                if let Some(wake) = next.wake.take() {
                    // Nobody listens when that call is being dropped; its own drop wakes the next.
                    let _ = wake.send(());
                }
            }
            Some(_) => {}
        }
    }
}

/// A key such as `orders:{order_id}`, filled from arguments (`{a.b}` looks inside objects); what is missing is empty.
pub fn fill(template: &str, args: &Value) -> String {
    let mut out = String::with_capacity(template.len() + 16);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, tail)) = after.split_once('}') else { break };
        out.push_str(before);
        let found = name.split('.').try_fold(args, |value, part| value.get(part));
        match found {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => out.push_str(text),
            Some(other) => write!(out, "{other}").expect("writing into a string succeeds"),
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_template_is_filled_from_arguments() {
        let args = json!({"id": "A-17", "n": 3, "in": {"er": true}, "none": null});
        assert_eq!(fill("orders:{id}", &args), "orders:A-17");
        assert_eq!(fill("{n}/{in.er}/{none}/{missing}!", &args), "3/true//!");
        assert_eq!(fill("plain {unclosed", &args), "plain {unclosed");
    }

    proptest! {
        /// Whoever leaves, whenever: a key has one holder, they come in order, and nothing is left behind.
        #[test]
        fn a_key_has_one_holder_and_they_come_in_order(leaves in proptest::collection::vec(0_usize..6, 6)) {
            let resources = Resources::default();
            let mut line: Vec<(usize, Claim)> = (0..6).map(|n| (n, resources.claim("k"))).collect();
            for leave in leaves {
                for (at, (_, claim)) in line.iter_mut().enumerate() {
                    prop_assert_eq!(claim.granted().now_or_never().is_some(), at == 0);
                }
                line.remove(leave % line.len());
            }
            prop_assert!(resources.is_empty());
        }
    }
}
