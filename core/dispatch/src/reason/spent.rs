//! What language models took since this process began, by tenant and model.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use crate::model::Usage;

/// Most pairs of tenant and model that are counted apart; more are counted as one.
const PAIRS_MAX: usize = 1_000;
/// Stands for the tenants that are not counted apart.
const OTHERS: &str = "(others)";

/// What a tenant's steps of one model took.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spent {
    pub tenant: String,
    pub model: String,
    pub steps: u64,
    /// Steps that gave no answer.
    pub failed: u64,
    pub usage: Usage,
}

/// The sums of all.
#[derive(Default)]
pub(crate) struct Spending(Mutex<BTreeMap<(String, String), Spent>>);

impl Spending {
    /// A step ended; without usage it failed.
    pub fn add(&self, tenant: &str, model: &str, usage: Option<Usage>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (tenant.to_owned(), model.to_owned());
        let key = match all.len() < PAIRS_MAX || all.contains_key(&key) {
            true => key,
            false => (OTHERS.to_owned(), OTHERS.to_owned()),
        };
        let new = Spent { tenant: key.0.clone(), model: key.1.clone(), ..Spent::default() };
        let spent = all.entry(key).or_insert(new);
        spent.steps += 1;
        match usage {
            Some(usage) => spent.usage += usage,
            None => spent.failed += 1,
        }
    }

    pub fn all(&self) -> Vec<Spent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_add_up_by_tenant_and_model_and_are_bounded() {
        let spending = Spending::default();
        let usage = Usage { input: 10, output: 2, ..Usage::default() };
        spending.add("a", "m", Some(usage));
        spending.add("a", "m", Some(usage));
        spending.add("a", "m", None);
        spending.add("b", "m", Some(usage));
        let all = spending.all();
        assert_eq!((all[0].steps, all[0].failed, all[0].usage.input, all[1].tenant.as_str()), (3, 1, 20, "b"));
        (0..2 * PAIRS_MAX).for_each(|n| spending.add(&n.to_string(), "m", Some(usage)));
        assert!(spending.all().len() <= PAIRS_MAX + 1);
        assert_eq!(spending.all().iter().map(|spent| spent.steps).sum::<u64>(), 4 + 2 * PAIRS_MAX as u64);
    }
}
