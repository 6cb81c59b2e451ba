//! Removes documents from the queue, and pauses the queue.

use std::collections::BTreeSet;

use graphloom_core::{
    Batch, DocumentId, Job, JobState, QueueState, Require, Snapshot, Store, StoreError, Timestamp, table,
};

use crate::commit::Retries;

/// Jobs read or cancelled at a time.
const PAGE: usize = 256;

/// What a [`cancel`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Cancellation {
    /// Documents taken out of the queue, ascending.
    pub cancelled: Vec<DocumentId>,
    /// Documents whose re-extraction was cancelled; they stay as they were before it. Ascending.
    pub kept: Vec<DocumentId>,
    /// Documents that were not in the queue or are unknown; they were not changed. Ascending.
    pub not_queued: Vec<DocumentId>,
}

/// Returns all documents that wait, are being indexed or are being re-extracted, ascending.
pub async fn queued(snapshot: &dyn Snapshot) -> Result<Vec<DocumentId>, StoreError> {
    let mut queued: BTreeSet<DocumentId> = BTreeSet::new();
    let mut pages = snapshot.pages(table::Jobs);
    while let Some(page) = pages.next().await? {
        queued.extend(page.into_iter().filter(|job| job.state.is_open()).map(|job| job.document));
    }
    let mut pages = snapshot.pages(table::Renewals);
    while let Some(page) = pages.next().await? {
        let chunks: Vec<_> = page.into_iter().map(|renewal| renewal.chunk).collect();
        queued.extend(snapshot.chunks(&chunks).await?.into_iter().flatten().map(|chunk| chunk.document));
    }
    Ok(queued.into_iter().collect())
}

/// Removes documents from the queue for all workers. Only [`super::retry`] queues them again.
///
/// - A worker that is busy with one of them notices before its next call, or when the current call returns; that answer is
///   stored.
/// - A new document stays where it was: keyword search finds it, and vector search if it is already embedded, but it is not in
///   the graph. If it is a new version, the old one stays in use.
/// - A re-extraction is abandoned: the document stays as it was, and the answers of the other model are dropped.
pub async fn cancel(store: &dyn Store, documents: &[DocumentId]) -> Result<Cancellation, StoreError> {
    let documents: Vec<DocumentId> = documents.iter().collect::<BTreeSet<_>>().into_iter().cloned().collect();
    let mut all = Cancellation::default();
    for documents in documents.chunks(PAGE) {
        let Cancellation { cancelled, kept, not_queued } = cancel_page(store, documents).await?;
        all.cancelled.extend(cancelled);
        all.kept.extend(kept);
        all.not_queued.extend(not_queued);
    }
    Ok(all)
}

async fn cancel_page(store: &dyn Store, documents: &[DocumentId]) -> Result<Cancellation, StoreError> {
    let mut retries = Retries::on_documents();
    loop {
        let snapshot = store.snapshot().await?;
        let jobs = snapshot.jobs(documents).await?;
        let renewals = snapshot.renewals_of(documents).await?;
        drop(snapshot);
        let (mut batch, mut done) = (Batch::default(), Cancellation::default());
        for ((document, job), renewals) in documents.iter().zip(jobs).zip(renewals) {
            let Some(job) = job.filter(|job| job.state.is_open() || !renewals.is_empty()) else {
                done.not_queued.push(document.clone());
                continue;
            };
            batch.require.push(Require::JobIs(job.clone()));
            batch.remove_renewals.extend(renewals.into_iter().map(|renewal| renewal.chunk));
            if job.state.is_open() {
                batch.put_jobs.push(Job { state: JobState::Cancelled, lease: None, ..job });
                done.cancelled.push(document.clone());
            } else {
                batch.put_jobs.push(Job { lease: None, ..job });
                done.kept.push(document.clone());
            }
        }
        if retries.is_done(store.commit(batch).await)? {
            return Ok(done);
        }
    }
}

/// Pauses the queue for all workers until [`resume`]. Busy workers notice before their next call, store the answers in flight and
/// stop. Returns the new state; an earlier pause stays in effect unchanged.
pub async fn pause(store: &dyn Store, now: Timestamp) -> Result<QueueState, StoreError> {
    let before = store.snapshot().await?.queue().await?;
    if before.is_paused() {
        return Ok(before);
    }
    let paused = QueueState::Paused { since: now };
    store.commit(Batch { set_queue: Some(paused), ..Batch::default() }).await?;
    Ok(paused)
}

/// Lets the queue run again and returns its previous state. Starts no work.
pub async fn resume(store: &dyn Store) -> Result<QueueState, StoreError> {
    let before = store.snapshot().await?.queue().await?;
    if before.is_paused() {
        store.commit(Batch { set_queue: Some(QueueState::Running), ..Batch::default() }).await?;
    }
    Ok(before)
}
