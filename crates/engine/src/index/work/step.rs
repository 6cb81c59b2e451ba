//! Commits the steps of a document under its lease, and keeps paid results if the lease is lost.

use graphloom_core::{
    Batch, Chunk, ChunkExtraction, ChunkId, DocumentId, Job, JobState, Renewal, Require, StoreError,
};

use super::Run;
use crate::commit::{Retries, commit_in_turn};
use graphloom_offline::RULES;

/// True if the job re-extracts a document that is in the graph. New extractions are kept beside the old ones until all of them
/// replace those.
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
            batch.outdates_layers = !batch.put_vectors.is_empty();
        }
        let next = Job { state, lease: Some(self.lease(self.engine.clock.now())), ..job.clone() };
        batch.require.push(Require::JobIs(job.clone()));
        batch.put_jobs.push(next.clone());
        commit_in_turn(self.engine.store.as_ref(), batch).await?;
        *job = next;
        Ok(())
    }

    /// Stores what was paid for about a document that this worker no longer holds: the calls in any case, extractions and vectors
    /// only while no other worker holds it.
    pub(super) async fn keep_paid(&self, document: &DocumentId, paid: Batch) -> Result<(), StoreError> {
        let mut retries = Retries::new("other processes took the same document");
        loop {
            let snapshot = self.engine.store.snapshot().await?;
            let job = snapshot.jobs(std::slice::from_ref(document)).await?.into_iter().next().flatten();
            let mut batch = Batch { append_calls: paid.append_calls.clone(), ..Batch::default() };
            if let Some(job) = job.filter(|job| job.lease.is_none() && !is_renewal(job)) {
                // If the chunks are already embedded, their contexts must match their vectors.
                match job.state {
                    JobState::Accepted | JobState::Cancelled => {
                        batch.embedding.clone_from(&paid.embedding);
                        batch.put_vectors.clone_from(&paid.put_vectors);
                        batch.put_chunk_contexts.clone_from(&paid.put_chunk_contexts);
                    }
                    JobState::Chunked | JobState::Merged | JobState::Failed { .. } => {}
                }
                let ids: Vec<ChunkId> = paid.set_extractions.iter().map(|(id, _)| id.clone()).collect();
                for (chunk, (id, answer)) in
                    snapshot.chunks(&ids).await?.into_iter().zip(&paid.set_extractions)
                {
                    // An answer stored under another claim stays.
                    let (Some(key), Some(before)) = (answer.key(), chunk.and_then(unanswered)) else {
                        continue;
                    };
                    batch.set_extractions.push((id.clone(), answer.clone()));
                    let answers = paid.put_extractions.iter().filter(|answer| answer.key == *key);
                    batch.put_extractions.extend(answers.cloned());
                    batch.require.push(Require::ExtractionIs { chunk: id.clone(), extraction: before });
                }
                batch.require.push(Require::JobIs(job));
            }
            drop(snapshot);
            if retries.is_done(self.engine.store.commit(batch).await)? {
                return Ok(());
            }
        }
    }
}

/// Returns the state of a chunk's extraction if it has no answer or waits for a better one.
fn unanswered(chunk: Chunk) -> Option<ChunkExtraction> {
    let waits = match &chunk.extraction {
        ChunkExtraction::Pending
        | ChunkExtraction::Failed { .. }
        | ChunkExtraction::Damaged { again: true, .. } => true,
        ChunkExtraction::Done { .. } | ChunkExtraction::Damaged { again: false, .. } => false,
    };
    waits.then_some(chunk.extraction)
}
