//! A tool's places, shared among tenants: a place that becomes free goes to the tenant that has the fewest.
//!
//! One tenant alone may have them all. When others wait, each gets its turn, and when the line is full the newest of
//! whoever has the most in it makes room.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

/// A concurrency limit and who waits for it.
#[derive(Debug)]
pub struct Line {
    size: usize,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    running: usize,
    waiting: usize,
    /// Numbers those who wait, and the turns that tenants had.
    next: u64,
    /// Those that have a place or wait for one.
    tenants: HashMap<Arc<str>, Tenant>,
}

#[derive(Debug, Default)]
struct Tenant {
    running: usize,
    waiting: VecDeque<Waiter>,
    /// When it last got a place that it had waited for.
    served: u64,
}

#[derive(Debug)]
struct Waiter {
    id: u64,
    wake: oneshot::Sender<Slot>,
}

/// What came of asking for a place.
pub enum Taken {
    Now(Slot),
    Later(Ticket),
    Full,
}

impl Line {
    pub fn new(size: usize) -> Self {
        Self { size: size.max(1), queue: Mutex::default() }
    }

    pub fn size(&self) -> usize {
        self.size
    }

    pub fn running(&self) -> usize {
        self.lock().running
    }

    pub fn waiting(&self) -> usize {
        self.lock().waiting
    }

    /// Sixteen full rounds, and never fewer than 64.
    fn most_waiting(&self) -> usize {
        self.size.saturating_mul(16).max(64)
    }

    pub fn take(self: &Arc<Self>, tenant: &str) -> Taken {
        let mut queue = self.lock();
        if queue.running < self.size {
            // Nobody waits while there is a free place.
            let tenant = queue.enter(tenant);
            return Taken::Now(Slot { line: self.clone(), tenant });
        }
        let makes_room = match queue.waiting < self.most_waiting() {
            true => None,
            false => match queue.make_room(tenant) {
                Some(newest) => Some(newest),
                None => return Taken::Full,
            },
        };
        let (wake, turn) = oneshot::channel();
        let (id, tenant) = queue.wait(tenant, wake);
        drop(queue);
        drop(makes_room);
        Taken::Later(Ticket { line: self.clone(), tenant, id, turn })
    }

    fn free(self: &Arc<Self>, tenant: &Arc<str>) {
        let mut queue = self.lock();
        queue.leave(tenant);
        let mut granted = Vec::new();
        while queue.running < self.size
            && let Some((tenant, waiter)) = queue.pick()
        {
            granted.push((waiter.wake, Slot { line: self.clone(), tenant }));
        }
        // A slot that nobody takes any more is freed by its drop, which needs the lock.
        drop(queue);
        for (wake, slot) in granted {
            let _ = wake.send(slot);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn tenant(&mut self, name: &str) -> Arc<str> {
        match self.tenants.get_key_value(name) {
            Some((known, _)) => known.clone(),
            None => {
                let new: Arc<str> = name.into();
                self.tenants.insert(new.clone(), Tenant::default());
                new
            }
        }
    }

    fn enter(&mut self, name: &str) -> Arc<str> {
        let name = self.tenant(name);
        if let Some(tenant) = self.tenants.get_mut(&name) {
            tenant.running += 1;
        }
        self.running += 1;
        name
    }

    fn leave(&mut self, name: &Arc<str>) {
        self.running = self.running.saturating_sub(1);
        if let Some(tenant) = self.tenants.get_mut(name) {
            tenant.running = tenant.running.saturating_sub(1);
        }
        self.forget(name);
    }

    fn wait(&mut self, name: &str, wake: oneshot::Sender<Slot>) -> (u64, Arc<str>) {
        self.next += 1;
        self.waiting += 1;
        let (id, name) = (self.next, self.tenant(name));
        if let Some(tenant) = self.tenants.get_mut(&name) {
            tenant.waiting.push_back(Waiter { id, wake });
        }
        (id, name)
    }

    /// Whoever is next, with its place.
    fn pick(&mut self) -> Option<(Arc<str>, Waiter)> {
        let order = |(_, tenant): &(&Arc<str>, &Tenant)| {
            (tenant.running, tenant.served, tenant.waiting.front().map_or(u64::MAX, |first| first.id))
        };
        let waiting = self.tenants.iter().filter(|(_, tenant)| !tenant.waiting.is_empty());
        let name = waiting.min_by_key(order).map(|(name, _)| name.clone())?;
        self.next += 1;
        let tenant = self.tenants.get_mut(&name)?;
        let waiter = tenant.waiting.pop_front()?;
        tenant.served = self.next;
        self.waiting -= 1;
        self.enter(&name);
        Some((name, waiter))
    }

    /// The newest of the tenant that has the most in line, if that is more than `name` would have then.
    fn make_room(&mut self, name: &str) -> Option<Waiter> {
        let mine = self.tenants.get(name).map_or(0, |tenant| tenant.waiting.len());
        let most = self.tenants.values_mut().max_by_key(|tenant| tenant.waiting.len())?;
        if most.waiting.len() <= mine + 1 {
            return None;
        }
        self.waiting -= 1;
        most.waiting.pop_back()
    }

    fn give_up(&mut self, name: &Arc<str>, id: u64) {
        let Some(tenant) = self.tenants.get_mut(name) else { return };
        if let Some(at) = tenant.waiting.iter().position(|waiter| waiter.id == id) {
            tenant.waiting.remove(at);
            self.waiting -= 1;
        }
        self.forget(name);
    }

    fn forget(&mut self, name: &Arc<str>) {
        if self.tenants.get(name).is_some_and(|tenant| tenant.running == 0 && tenant.waiting.is_empty()) {
            self.tenants.remove(name);
        }
    }
}

/// A place, for as long as it lives.
#[derive(Debug)]
pub struct Slot {
    line: Arc<Line>,
    tenant: Arc<str>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.line.free(&self.tenant);
    }
}

/// A place in the line; dropping it leaves the line.
#[derive(Debug)]
pub struct Ticket {
    line: Arc<Line>,
    tenant: Arc<str>,
    id: u64,
    turn: oneshot::Receiver<Slot>,
}

impl Ticket {
    /// The place, or nothing when the line is too long for it after all.
    pub async fn granted(&mut self) -> Option<Slot> {
        (&mut self.turn).await.ok()
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut queue = self.line.lock();
        queue.give_up(&self.tenant, self.id);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Step {
        Take(usize),
        Free(usize),
        GiveUp(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => (0_usize..4).prop_map(Step::Take),
            2 => (0_usize..64).prop_map(Step::Free),
            1 => (0_usize..64).prop_map(Step::GiveUp),
        ]
    }

    proptest! {
        /// Whoever comes and goes: never more than the limit, no free place while somebody waits, nothing left behind.
        #[test]
        fn places_are_neither_lost_nor_given_twice(size in 1_usize..4, steps in proptest::collection::vec(step(), 1..200)) {
            let line = Arc::new(Line::new(size));
            let (mut slots, mut tickets) = (Vec::new(), Vec::new());
            for step in steps {
                match step {
                    Step::Take(tenant) => match line.take(["a", "b", "c", "d"][tenant]) {
                        Taken::Now(slot) => slots.push(slot),
                        Taken::Later(ticket) => tickets.push(ticket),
                        Taken::Full => prop_assert!(line.waiting() >= line.most_waiting()),
                    },
                    Step::Free(at) if !slots.is_empty() => drop(slots.remove(at % slots.len())),
                    Step::GiveUp(at) if !tickets.is_empty() => drop(tickets.remove(at % tickets.len())),
                    Step::Free(_) | Step::GiveUp(_) => {}
                }
                tickets.retain_mut(|ticket| match ticket.granted().now_or_never() {
                    Some(slot) => {
                        slots.extend(slot);
                        false
                    }
                    None => true,
                });
                prop_assert_eq!((line.running(), line.waiting()), (slots.len(), tickets.len()));
                prop_assert!(slots.len() <= size);
                prop_assert!(tickets.is_empty() || slots.len() == size);
            }
            drop((slots, tickets));
            prop_assert!(line.lock().tenants.is_empty());
        }
    }
}
