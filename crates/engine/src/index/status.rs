//! A document's status, derived from its job and its chunks.

use graphloom_core::{ChunkExtraction, Document, DocumentId, DocumentStatus, JobState, Snapshot, StoreError};
use serde::Serialize;

/// A document with what follows from its job and chunks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DocumentState {
    /// The document.
    pub document: Document,
    /// How far it is.
    pub status: DocumentStatus,
    /// Chunks whose extraction failed: ordinal, reason.
    pub failed_chunks: Vec<(u32, String)>,
    /// Chunks of whose extraction records were lost: ordinal, what.
    pub damaged_chunks: Vec<(u32, String)>,
}

/// The state of each document, in order; `None` where unknown.
pub async fn states_of(
    snapshot: &dyn Snapshot,
    ids: &[DocumentId],
) -> Result<Vec<Option<DocumentState>>, StoreError> {
    let documents = snapshot.documents(ids).await?;
    let jobs = snapshot.jobs(ids).await?;
    let chunks = snapshot.extraction_states_of(ids).await?;
    let states = documents.into_iter().zip(jobs).zip(chunks).map(|((document, job), chunks)| {
        let (mut failed_chunks, mut damaged_chunks) = (Vec::new(), Vec::new());
        for (ordinal, extraction) in &chunks {
            match extraction {
                ChunkExtraction::Pending | ChunkExtraction::Done { .. } => {}
                ChunkExtraction::Damaged { reason, .. } => damaged_chunks.push((*ordinal, reason.clone())),
                ChunkExtraction::Failed { reason, .. } => failed_chunks.push((*ordinal, reason.clone())),
            }
        }
        let state = job.map_or(JobState::Accepted, |job| job.state);
        let status =
            DocumentStatus::derive(&state, chunks.iter().map(|(_, extraction)| extraction).collect());
        Some(DocumentState { document: document?, status, failed_chunks, damaged_chunks })
    });
    Ok(states.collect())
}
