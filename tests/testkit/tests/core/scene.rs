//! Makes scenarios run on every store.

use testkit::{Ground, StoreKind};

/// Runs the scenario on SQLite and on Redis.
pub async fn for_each_store<F: Future<Output = ()>>(scenario: impl Fn(Ground) -> F) {
    for kind in [StoreKind::Sqlite, StoreKind::Redis] {
        scenario(Ground::new(kind).await).await;
    }
}
