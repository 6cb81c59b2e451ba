//! A step of a document as one commit under its lease, and what is kept of it where the lease is lost.

use graphloom_core::{
    Batch, ChunkExtraction, ChunkId, DocumentId, Job, JobState, Renewal, Require, StoreError,
};

use super::Run;
use crate::index::MAX_CONFLICTS;
use crate::offline::RULES;

/// Whether a job is worked on to renew a document that is in the graph. What arrives is kept beside what is said of it,
/// until the whole takes its place.
pub(super) fn is_renewal(job: &Job) -> bool {
    job.state == JobState::Merged
}

impl Run<'_> {
    /// Commits `batch` with the job's next state and a renewed lease, if the job is still ours.
    pub(super) async fn commit_step(
        &self,
        job: &mut Job,
        state: JobState,
        mut batch: Batch,
    ) -> Result<(), StoreError> {
        if is_renewal(job) {
            let arrived = std::mem::take(&mut batch.set_extractions).into_iter();
            let model = self.engine.models.extract.as_deref().map_or(RULES, |model| model.name());
            let renewal = |(chunk, extraction)| Renewal { chunk, model: model.to_owned(), extraction };
            batch.put_renewals.extend(arrived.map(renewal));
        }
        let next = Job { state, lease: Some(self.lease(self.engine.clock.now())), ..job.clone() };
        batch.require.push(Require::Lease { document: job.document.clone(), lease: job.lease.clone() });
        batch.put_jobs.push(next.clone());
        self.engine.store.commit(batch).await?;
        *job = next;
        Ok(())
    }

    /// Stores what was paid for about a document that is no longer ours: the calls in any case; extractions and vectors
    /// while it waits for nobody in particular.
    pub(super) async fn keep_paid(&self, document: &DocumentId, paid: Batch) -> Result<(), StoreError> {
        for _ in 0..MAX_CONFLICTS {
            let snapshot = self.engine.store.snapshot().await?;
            let job = snapshot.jobs(std::slice::from_ref(document)).await?.into_iter().next().flatten();
            drop(snapshot);
            let append_calls = paid.append_calls.clone();
            let batch = match job {
                Some(Job { state: JobState::Merged, .. } | Job { lease: Some(_), .. }) | None => {
                    Batch { append_calls, ..Batch::default() }
                }
                Some(Job { lease: None, state, .. }) => {
                    // Where chunks are embedded already, their situations must stay those of their vectors.
                    let may_situate = match state {
                        JobState::Accepted | JobState::Cancelled => true,
                        JobState::Chunked | JobState::Merged | JobState::Failed { .. } => false,
                    };
                    let put_situations = if may_situate { paid.put_situations.clone() } else { Vec::new() };
                    let answered = |(_, extraction): &&(ChunkId, ChunkExtraction)| extraction.key().is_some();
                    Batch {
                        require: vec![Require::Lease { document: document.clone(), lease: None }],
                        embedding: paid.embedding.clone(),
                        put_vectors: paid.put_vectors.clone(),
                        put_extractions: paid.put_extractions.clone(),
                        put_situations,
                        set_extractions: paid.set_extractions.iter().filter(answered).cloned().collect(),
                        append_calls,
                        ..Batch::default()
                    }
                }
            };
            match self.engine.store.commit(batch).await {
                Ok(_) => return Ok(()),
                Err(error) if error.is_conflict() => tracing::debug!(%error, "keeping again"),
                Err(error) => return Err(error),
            }
        }
        let what = format!("other processes took {document} {MAX_CONFLICTS} times in a row");
        Err(StoreError::Conflict { what })
    }
}
