//! A store that runs other work directly before a commit or a turn.

use std::sync::Arc;

use async_trait::async_trait;
use graphloom_core::{Batch, GraphTurn, Revision, Snapshot, Store, StoreError, WorkspaceId};

/// The work that an [`InterceptedStore`] runs.
#[async_trait]
pub(crate) trait Interceptor: Send + Sync {
    /// Runs before a commit of the batch to the store.
    async fn before_commit(&self, _: &dyn Store, _: &Batch) -> Result<(), StoreError> {
        Ok(())
    }

    /// Runs before a turn to change the graph.
    fn before_turn(&self) {}

    /// Returns the store that gives the turns and counts the workers.
    fn turns<'a>(&'a self, store: &'a dyn Store) -> &'a dyn Store {
        store
    }

    /// Returns the number of workers; `None` leaves it to the store.
    fn workers(&self) -> Option<usize> {
        None
    }
}

/// Does nothing, so several owners can share the store.
impl Interceptor for () {}

/// A store that calls its interceptor before commits and turns.
pub(crate) struct InterceptedStore<M> {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) interceptor: M,
}

#[async_trait]
impl<M: Interceptor> Store for InterceptedStore<M> {
    fn workspace(&self) -> &WorkspaceId {
        self.store.workspace()
    }

    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        self.store.snapshot().await
    }

    async fn commit(&self, batch: Batch) -> Result<Revision, StoreError> {
        self.interceptor.before_commit(&*self.store, &batch).await?;
        self.store.commit(batch).await
    }

    fn fault(&self) -> Option<String> {
        self.store.fault()
    }

    async fn graph_turn(&self) -> Result<GraphTurn, StoreError> {
        self.interceptor.before_turn();
        self.interceptor.turns(&*self.store).graph_turn().await
    }

    async fn summaries_turn(&self) -> Result<Option<GraphTurn>, StoreError> {
        self.interceptor.turns(&*self.store).summaries_turn().await
    }

    async fn workers(&self) -> Result<usize, StoreError> {
        match self.interceptor.workers() {
            Some(workers) => Ok(workers),
            None => self.interceptor.turns(&*self.store).workers().await,
        }
    }
}
