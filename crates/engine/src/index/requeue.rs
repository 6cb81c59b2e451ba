//! Queues failed, stopped and cancelled documents again.

use futures::future::BoxFuture;
use graphloom_core::{Batch, Chunk, ChunkExtraction, DocumentId, ItemKey, Job, JobState, Require, TrackId};

use super::IndexError;
use crate::Engine;
use crate::commit::Retries;

/// What a [`retry`] queued again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct RequeueReport {
    /// Documents with failed chunks, and stopped or cancelled ones.
    pub documents: u32,
    /// Failed and damaged chunks.
    pub chunks: u32,
}

/// Queues the failed and damaged chunks of these documents again, and documents that stopped or were cancelled; [`super::run`]
/// then works on them. Until then, the records saved from damaged chunks stay in use. The run `track` is recorded as having queued
/// the documents.
pub fn retry<'a>(
    engine: &'a Engine,
    documents: &'a [DocumentId],
    track: Option<&'a TrackId>,
) -> BoxFuture<'a, Result<RequeueReport, IndexError>> {
    Box::pin(async move {
        let mut retries = Retries::on_documents();
        loop {
            let snapshot = engine.store.snapshot().await?;
            let chunks = snapshot.chunks_of(documents).await?;
            let jobs = snapshot.jobs(documents).await?;
            let (mut batch, mut queued) = (Batch::default(), RequeueReport::default());
            for (chunks, job) in chunks.into_iter().zip(jobs) {
                let Some(job) = job else { continue };
                let again: Vec<(&Chunk, ChunkExtraction)> = chunks.iter().filter_map(requeued).collect();
                let state = match job.state {
                    JobState::Accepted | JobState::Chunked | JobState::Merged if again.is_empty() => continue,
                    JobState::Accepted => JobState::Accepted,
                    JobState::Chunked | JobState::Merged => JobState::Chunked,
                    JobState::Failed { .. } | JobState::Cancelled => {
                        let items: Vec<ItemKey> =
                            chunks.iter().map(|chunk| ItemKey::Chunk(chunk.id.clone())).collect();
                        let vectors = snapshot.vectors(&items).await?;
                        if vectors.iter().all(Option::is_some) {
                            JobState::Chunked
                        } else {
                            JobState::Accepted
                        }
                    }
                };
                queued.documents += 1;
                queued.chunks += again.len() as u32;
                // This keeps an answer that arrives meanwhile, to a question asked before the document was given up.
                for (chunk, again) in again {
                    let (id, extraction) = (chunk.id.clone(), chunk.extraction.clone());
                    batch.require.push(Require::ExtractionIs { chunk: id.clone(), extraction });
                    batch.set_extractions.push((id, again));
                }
                batch.put_tracks.extend(track.map(|track| (track.clone(), job.document.clone())));
                batch.require.push(Require::JobIs(job.clone()));
                // The current worker would not see the queued chunks, so the job loses its lease and is claimed again.
                batch.put_jobs.push(Job { state, lease: None, ..job });
            }
            drop(snapshot);
            if retries.is_done(engine.store.commit(batch).await)? {
                return Ok(queued);
            }
        }
    })
}

/// Returns the state of a chunk after it is queued again; `None` if there is nothing to ask.
fn requeued(chunk: &Chunk) -> Option<(&Chunk, ChunkExtraction)> {
    let again = match &chunk.extraction {
        ChunkExtraction::Failed { .. } => ChunkExtraction::Pending,
        ChunkExtraction::Damaged { key, reason, attempts, again: false } => {
            let (key, reason) = (key.clone(), reason.clone());
            ChunkExtraction::Damaged { key, reason, attempts: *attempts, again: true }
        }
        ChunkExtraction::Pending
        | ChunkExtraction::Done { .. }
        | ChunkExtraction::Damaged { again: true, .. } => return None,
    };
    Some((chunk, again))
}
