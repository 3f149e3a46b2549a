//! Trees that are written nowhere: what a call costs apart from the store that is written behind it.

use std::sync::Arc;

use async_trait::async_trait;
use contract::{
    Node, StoreDown, TurnId,
    records::{Measure, Stores, Trees, TurnLine, TurnQuery},
};

/// These stores, with trees that go nowhere.
pub fn without_trees(stores: Stores) -> Stores {
    Stores { trees: Arc::new(Nowhere), ..stores }
}

struct Nowhere;

#[async_trait]
impl Trees for Nowhere {
    async fn write(&self, _nodes: &[Arc<Node>], _ended: &[TurnLine]) -> Result<(), StoreDown> {
        Ok(())
    }

    async fn tree(&self, _turn: TurnId) -> Result<Vec<Node>, StoreDown> {
        Ok(Vec::new())
    }

    async fn turns(&self, _query: &TurnQuery) -> Result<Vec<TurnLine>, StoreDown> {
        Ok(Vec::new())
    }

    async fn measure(&self, _boot: &str, _measures: &[Measure]) -> Result<(), StoreDown> {
        Ok(())
    }

    async fn measures(&self, _since_ms: u64) -> Result<Vec<Measure>, StoreDown> {
        Ok(Vec::new())
    }
}
