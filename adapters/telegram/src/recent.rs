//! Messages of which something is remembered for a while: the newest of them.

use std::collections::{HashSet, VecDeque};

/// Older ones are forgotten.
const MOST: usize = 4_096;

/// Chat and message, each once.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    known: HashSet<(i64, i64)>,
    order: VecDeque<(i64, i64)>,
}

impl Recent {
    pub(crate) fn insert(&mut self, message: (i64, i64)) {
        if self.known.insert(message) {
            self.order.push_back(message);
            if self.order.len() > MOST
                && let Some(oldest) = self.order.pop_front()
            {
                self.known.remove(&oldest);
            }
        }
    }

    pub(crate) fn contains(&self, message: (i64, i64)) -> bool {
        self.known.contains(&message)
    }

    /// Forgets one; tells whether it was known.
    pub(crate) fn remove(&mut self, message: (i64, i64)) -> bool {
        let was_known = self.known.remove(&message);
        if was_known {
            self.order.retain(|known| *known != message);
        }
        was_known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_remembered_and_each_is_forgotten_once() {
        let mut recent = Recent::default();
        (0..MOST as i64 + 5).for_each(|n| recent.insert((1, n)));
        recent.insert((1, 7));
        assert_eq!((recent.known.len(), recent.order.len()), (MOST, MOST));
        assert!(!recent.contains((1, 4)) && recent.contains((1, 5)));
        assert!(recent.remove((1, 5)) && !recent.remove((1, 5)) && !recent.remove((1, 0)));
        assert_eq!((recent.known.len(), recent.order.len()), (MOST - 1, MOST - 1));
    }
}
