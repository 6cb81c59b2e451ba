//! A store that fails on demand, to interrupt work at any call.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use graphloom_core::{Batch, GraphTurn, Revision, Snapshot, Store, StoreError, WorkspaceId};

/// When the failing call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Nothing was written: the process died before the write.
    Before,
    /// Everything was written but the caller never learns of it: the process died after the write.
    After,
}

/// Forwards calls to a store until one of them fails. From then on everything fails, as after a crash.
pub struct FaultyStore<S> {
    inner: S,
    cut: Cut,
    /// Number of calls that still succeed.
    left: AtomicUsize,
}

impl<S: Store> FaultyStore<S> {
    /// Fails the `n`-th commit or snapshot, counting from 0, and all later ones.
    pub fn new(inner: S, n: usize, cut: Cut) -> Self {
        Self { inner, cut, left: AtomicUsize::new(n) }
    }

    /// True if the failing call was reached.
    pub fn has_failed(&self) -> bool {
        self.left.load(Ordering::SeqCst) == usize::MAX
    }

    /// Returns the inner store, to inspect what is left.
    pub fn into_inner(self) -> S {
        self.inner
    }

    /// Decides whether the next call goes on, fails, or comes after the failure.
    fn next(&self) -> Next {
        let step = |left: usize| match left {
            usize::MAX => None,
            0 => Some(usize::MAX),
            left => Some(left - 1),
        };
        match self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, step) {
            Err(_) => Next::Dead,
            Ok(0) => Next::Fail,
            Ok(_) => Next::Pass,
        }
    }
}

enum Next {
    Pass,
    Fail,
    Dead,
}

fn failure() -> StoreError {
    StoreError::Backend { operation: "calling the store".to_owned(), source: "a fault was injected".into() }
}

#[async_trait]
impl<S: Store> Store for FaultyStore<S> {
    fn fault(&self) -> Option<String> {
        self.inner.fault()
    }

    fn workspace(&self) -> &WorkspaceId {
        self.inner.workspace()
    }

    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        match self.next() {
            Next::Pass => self.inner.snapshot().await,
            Next::Fail | Next::Dead => Err(failure()),
        }
    }

    async fn commit(&self, batch: Batch) -> Result<Revision, StoreError> {
        match (self.next(), self.cut) {
            (Next::Pass, _) => self.inner.commit(batch).await,
            (Next::Fail, Cut::After) => self.inner.commit(batch).await.and(Err(failure())),
            (Next::Fail, Cut::Before) | (Next::Dead, _) => Err(failure()),
        }
    }

    async fn graph_turn(&self) -> Result<GraphTurn, StoreError> {
        self.inner.graph_turn().await
    }

    async fn summaries_turn(&self) -> Result<Option<GraphTurn>, StoreError> {
        self.inner.summaries_turn().await
    }

    async fn workers(&self) -> Result<usize, StoreError> {
        self.inner.workers().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{block_on, sample};
    use crate::memory::MemoryStore;

    /// Commits three batches of one document each, cut at call `n`. Returns the number of documents that are left.
    fn check_cut(n: usize, cut: Cut) -> u64 {
        block_on(async {
            let store = FaultyStore::new(MemoryStore::new(WorkspaceId::default()), n, cut);
            for number in 0..3 {
                let batch = sample::indexed(&number.to_string(), &format!("text {number}"), "ADA", "BOB");
                if store.commit(batch).await.is_err() {
                    break;
                }
            }
            assert_eq!(store.has_failed(), n < 3);
            assert_eq!(store.snapshot().await.is_err(), n <= 3);
            let left = store.into_inner().snapshot().await.expect("the inner store works");
            let counts = left.counts().await.expect("it counts");
            assert_eq!((counts.chunks, counts.facts), (counts.documents, counts.documents));
            counts.documents
        })
    }

    #[test]
    fn an_interrupted_commit_leaves_the_state_before_or_after_it() {
        for n in 0..5 {
            assert_eq!(check_cut(n, Cut::Before), (n as u64).min(3));
            assert_eq!(check_cut(n, Cut::After), (n as u64 + 1).min(3));
        }
    }
}
