//! What sessions have mounted, as far as it is known in memory: menus are made while a platform waits.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use contract::MemoryKey;

/// Most places that are known; calls are permitted by what is stored, so that forgetting one shows more and allows nothing.
const KNOWN_MAX: usize = 4_096;

#[derive(Default)]
pub(crate) struct Mounts(Mutex<HashMap<[u8; 16], Vec<String>>>);

impl Mounts {
    /// What was just read or written of a place's current session.
    pub fn know(&self, place: &MemoryKey, names: Option<&[String]>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match names {
            None => drop(known.remove(&place.hash())),
            Some(names) => {
                if known.len() >= KNOWN_MAX {
                    known.clear();
                }
                known.insert(place.hash(), names.to_vec());
            }
        }
    }

    pub fn of(&self, place: &MemoryKey) -> Option<Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&place.hash()).cloned()
    }

    /// Nearly always nothing is mounted anywhere.
    pub fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}
