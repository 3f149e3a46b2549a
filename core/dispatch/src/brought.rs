//! Where files of messages are opened: at the account that a message came over, or where a program brought them along.

use std::sync::{Arc, OnceLock};

use contract::{Address, Source};

use crate::gateway::{Gateway, Inner};

/// Opens what programs bring along with their messages.
pub(crate) type Brought = OnceLock<Arc<dyn Source>>;

impl Gateway {
    /// Files of messages that were taken in over HTTP are opened here. The first word counts.
    pub fn brings_files(&self, source: Arc<dyn Source>) {
        let _ = self.inner.brought.set(source);
    }
}

impl Inner {
    pub fn source(&self, from: &Address) -> Option<Arc<dyn Source>> {
        if from.platform.is_pull() {
            return self.brought.get().cloned();
        }
        self.outlet(from).map(|connected| connected.source)
    }
}
