//! A store that several owners share, such as one that dies and one that goes on.

use std::sync::Arc;

use async_trait::async_trait;
use graphloom_core::{Batch, GraphTurn, Revision, Snapshot, Store, StoreError, WorkspaceId};

/// A store that several owners share.
pub(crate) struct Passing(pub(crate) Arc<dyn Store>);

#[async_trait]
impl Store for Passing {
    fn workspace(&self) -> &WorkspaceId {
        self.0.workspace()
    }

    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        self.0.snapshot().await
    }

    async fn commit(&self, batch: Batch) -> Result<Revision, StoreError> {
        self.0.commit(batch).await
    }

    fn fault(&self) -> Option<String> {
        self.0.fault()
    }

    async fn graph_turn(&self) -> Result<GraphTurn, StoreError> {
        self.0.graph_turn().await
    }

    async fn summaries_turn(&self) -> Result<Option<GraphTurn>, StoreError> {
        self.0.summaries_turn().await
    }

    async fn workers(&self) -> Result<usize, StoreError> {
        self.0.workers().await
    }
}
