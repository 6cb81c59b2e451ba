//! Shared steps of all work on documents that are already in the graph: re-extraction and new chunk contexts.

use std::collections::BTreeSet;

use graphloom_core::{
    Batch, Chunk, Document, DocumentId, Job, JobState, Require, Snapshot, StoreError, Visibility,
};

use super::IndexError;
use super::work::{Run, release_leases};
use crate::Engine;
use crate::commit::Retries;

/// A document in the graph.
pub(super) struct IndexedDocument {
    pub(super) job: Job,
    pub(super) document: Document,
    pub(super) chunks: Vec<Chunk>,
}

impl IndexedDocument {
    /// Returns `None` if the document is unknown or not in the graph.
    pub(super) async fn read(snapshot: &dyn Snapshot, id: &DocumentId) -> Result<Option<Self>, StoreError> {
        let ids = std::slice::from_ref(id);
        let job = snapshot.jobs(ids).await?.into_iter().next().flatten();
        let document = snapshot.documents(ids).await?.into_iter().next().flatten();
        let (Some(job), Some(document)) = (job, document) else { return Ok(None) };
        if job.state != JobState::Merged || document.visibility != Visibility::Live {
            return Ok(None);
        }
        let chunks = snapshot.chunks_of(ids).await?.into_iter().flatten().collect();
        Ok(Some(Self { job, document, chunks }))
    }
}

/// Ends the leases of this worker and of workers that are `gone`; returns the documents sorted and without duplicates.
pub(super) async fn released(
    engine: &Engine,
    documents: &[DocumentId],
    gone: &(dyn Fn(&str) -> bool + Send + Sync),
) -> Result<Vec<DocumentId>, IndexError> {
    // A dropped run may have left a commit in progress. Its leases are visible only after that commit.
    engine.store.commit(Batch::default()).await?;
    release_leases(engine, |lease| lease.owner == engine.index.worker || gone(&lease.owner)).await?;
    Ok(documents.iter().collect::<BTreeSet<_>>().into_iter().cloned().collect())
}

impl Run<'_> {
    /// Leases a document in this state to this run; `None` if its state has changed meanwhile.
    pub(super) async fn claim_again(
        &self,
        retries: &mut Retries,
        job: &Job,
    ) -> Result<Option<Job>, IndexError> {
        let require = vec![Require::JobIs(job.clone())];
        let lease = Some(self.lease(self.engine.clock.now()));
        let job = Job { lease, attempts: job.attempts + 1, ..job.clone() };
        let batch = Batch { require, put_jobs: vec![job.clone()], ..Batch::default() };
        Ok(retries.is_done(self.engine.store.commit(batch).await)?.then_some(job))
    }
}
