//! What the queue of a workspace waits for.

use graphloom_core::{Snapshot, StoreError, Timestamp, WorkspaceBudget, table};
use serde::Serialize;

/// What has to happen before indexing goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitsFor {
    /// Indexing is paused and must be resumed.
    Resume,
    /// The budget of the workspace must be raised.
    Budget,
}

/// Returns what the queue waits for; `None` if nothing is queued or nothing holds it up.
pub async fn waits_for(
    snapshot: &dyn Snapshot,
    budget: Option<&WorkspaceBudget>,
) -> Result<Option<WaitsFor>, StoreError> {
    let open = snapshot.claimable_jobs(Timestamp(u64::MAX), 1).await?;
    if open.is_empty() && snapshot.scan(table::Stale, None, 1).await?.is_empty() {
        return Ok(None);
    }
    if snapshot.queue().await?.is_paused() {
        return Ok(Some(WaitsFor::Resume));
    }
    Ok(budget.and_then(|budget| budget.refused).map(|_| WaitsFor::Budget))
}

#[cfg(test)]
mod tests {
    use graphloom_core::{Batch, BudgetUnit, QueueState, Store, WorkspaceId};
    use graphloom_storage::conformance::{block_on, sample};
    use graphloom_storage::memory::MemoryStore;

    use super::*;

    /// Returns what the queue waits for in a store with or without a queued document, paused or not.
    fn check(is_queued: bool, is_paused: bool, refused: Option<u64>) -> Option<WaitsFor> {
        let store = MemoryStore::new(WorkspaceId::default());
        let document = sample::document("a", "text");
        let job = sample::job(&document.document.id, 1);
        let mut batch = Batch { put_documents: vec![document], ..Batch::default() };
        batch.put_jobs.extend(Some(job).filter(|_| is_queued));
        batch.set_queue = Some(QueueState::Paused { since: Timestamp(1) }).filter(|_| is_paused);
        let (unit, since, held) = (BudgetUnit::Tokens, Timestamp(1), Vec::new());
        let budget = WorkspaceBudget { unit, amount: 100, spent: 90, since, refused, held };
        block_on(async {
            store.commit(batch).await.expect("a valid batch");
            let snapshot = store.snapshot().await.expect("memory does not fail");
            waits_for(snapshot.as_ref(), Some(&budget)).await.expect("memory does not fail")
        })
    }

    #[test]
    fn a_queue_waits_to_be_resumed_or_for_a_larger_budget() {
        assert_eq!(check(true, true, Some(20)), Some(WaitsFor::Resume));
        assert_eq!(check(true, false, Some(20)), Some(WaitsFor::Budget));
        assert_eq!(check(true, false, None), None);
        assert_eq!(check(false, true, Some(20)), None, "nothing is queued");
    }
}
