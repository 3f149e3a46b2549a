//! Two counts over a sliding time, in a fixed number of slots.

use std::time::Duration;

use tokio::time::Instant;

/// Into so many parts the time is divided; what is counted is forgotten a part at a time.
const SLOTS: usize = 10;

/// How many of something there were of late, and how many of something else.
#[derive(Debug)]
pub struct Window {
    began: Instant,
    slot: Duration,
    /// The slot that is counted in.
    newest: u128,
    counts: [(u32, u32); SLOTS],
}

impl Window {
    pub fn new(length: Duration, now: Instant) -> Self {
        let slot = (length / SLOTS as u32).max(Duration::from_millis(1));
        Self { began: now, slot, newest: 0, counts: [(0, 0); SLOTS] }
    }

    pub fn add(&mut self, now: Instant, first: u32, second: u32) {
        self.move_on(now);
        let count = &mut self.counts[index(self.newest)];
        *count = (count.0.saturating_add(first), count.1.saturating_add(second));
    }

    /// Both counts of the window that ends now.
    pub fn sums(&mut self, now: Instant) -> (u64, u64) {
        self.move_on(now);
        self.counts.iter().fold((0, 0), |sums, count| (sums.0 + u64::from(count.0), sums.1 + u64::from(count.1)))
    }

    fn move_on(&mut self, now: Instant) {
        let at = now.saturating_duration_since(self.began).as_nanos() / self.slot.as_nanos();
        for ahead in 1..=at.saturating_sub(self.newest).min(SLOTS as u128) {
            self.counts[index(self.newest + ahead)] = (0, 0);
        }
        self.newest = self.newest.max(at);
    }
}

fn index(slot: u128) -> usize {
    usize::try_from(slot % SLOTS as u128).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_forgotten_when_its_time_is_over() {
        let began = Instant::now();
        let at = |ms: u64| began + Duration::from_millis(ms);
        let mut window = Window::new(Duration::from_secs(10), began);
        window.add(at(0), 5, 1);
        window.add(at(4_500), 3, 2);
        assert_eq!(window.sums(at(9_900)), (8, 3));
        assert_eq!(window.sums(at(10_100)), (3, 2));
        // A clock that goes back changes nothing.
        window.add(at(1), 1, 0);
        assert_eq!(window.sums(at(10_100)), (4, 2));
        assert_eq!(window.sums(at(1_000_000)), (0, 0));
    }
}
