//! A store in which something happens right before a commit or a turn.

use std::sync::Arc;

use async_trait::async_trait;
use graphloom_core::{Batch, GraphTurn, Revision, Snapshot, Store, StoreError, WorkspaceId};

/// What happens in a [`Meddled`] store.
#[async_trait]
pub(crate) trait Meddler: Send + Sync {
    /// Happens before a commit of the batch to the store.
    async fn before_commit(&self, _: &dyn Store, _: &Batch) -> Result<(), StoreError> {
        Ok(())
    }

    /// Happens before a turn to change the graph.
    fn before_turn(&self) {}

    /// The store that gives the turns and counts the workers.
    fn turns<'a>(&'a self, store: &'a dyn Store) -> &'a dyn Store {
        store
    }

    /// The number of workers; `None` leaves it to the store.
    fn workers(&self) -> Option<usize> {
        None
    }
}

/// Nothing happens: a store that several owners share.
impl Meddler for () {}

/// A store in which a meddler acts.
pub(crate) struct Meddled<M> {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) meddler: M,
}

#[async_trait]
impl<M: Meddler> Store for Meddled<M> {
    fn workspace(&self) -> &WorkspaceId {
        self.store.workspace()
    }

    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        self.store.snapshot().await
    }

    async fn commit(&self, batch: Batch) -> Result<Revision, StoreError> {
        self.meddler.before_commit(&*self.store, &batch).await?;
        self.store.commit(batch).await
    }

    fn fault(&self) -> Option<String> {
        self.store.fault()
    }

    async fn graph_turn(&self) -> Result<GraphTurn, StoreError> {
        self.meddler.before_turn();
        self.meddler.turns(&*self.store).graph_turn().await
    }

    async fn summaries_turn(&self) -> Result<Option<GraphTurn>, StoreError> {
        self.meddler.turns(&*self.store).summaries_turn().await
    }

    async fn workers(&self) -> Result<usize, StoreError> {
        match self.meddler.workers() {
            Some(workers) => Ok(workers),
            None => self.meddler.turns(&*self.store).workers().await,
        }
    }
}
