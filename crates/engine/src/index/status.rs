//! A document's status, derived from its job and its chunks.

use futures::future::BoxFuture;
use graphloom_core::{
    ChunkCounts, ChunkExtraction, ChunkId, Document, DocumentId, DocumentStatus, JobState, Renewal, Snapshot,
    StoreError,
};
use serde::Serialize;

/// A document with the state that follows from its job and chunks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DocumentState {
    /// The document.
    pub document: Document,
    /// Its progress.
    pub status: DocumentStatus,
    /// Chunks whose extraction failed: ordinal, reason.
    pub failed_chunks: Vec<(u32, String)>,
    /// Chunks whose answer lost records: ordinal, what was lost.
    pub damaged_chunks: Vec<(u32, String)>,
    /// Chunks whose context failed: ordinal, reason.
    pub chunks_without_context: Vec<(u32, String)>,
    /// Progress of a re-extraction; `None` if there is none.
    pub renewal: Option<RenewalState>,
}

/// Progress of a re-extraction. The document stays as it is until all its chunks are answered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RenewalState {
    /// The model's name, or that of the rules.
    pub model: String,
    /// Chunks to re-extract.
    pub chunks: u32,
    /// Of these, answered chunks.
    pub extracted: u32,
    /// Chunks whose new extraction failed and that keep their old one: ordinal, reason.
    pub failed_chunks: Vec<(u32, String)>,
}

impl RenewalState {
    /// Adds up renewals, each with the ordinal of its chunk.
    fn of(renewals: Vec<(u32, Renewal)>) -> Option<Self> {
        let mut state = Self { model: renewals.last()?.1.model.clone(), ..Self::default() };
        for (ordinal, renewal) in renewals {
            state.chunks += 1;
            match renewal.extraction {
                ChunkExtraction::Pending => {}
                ChunkExtraction::Done { .. } | ChunkExtraction::Damaged { .. } => state.extracted += 1,
                ChunkExtraction::Failed { reason, .. } => state.failed_chunks.push((ordinal, reason)),
            }
        }
        Some(state)
    }
}

/// Returns the state of each document, in order; `None` if unknown.
pub fn states_of<'a>(
    snapshot: &'a dyn Snapshot,
    ids: &'a [DocumentId],
) -> BoxFuture<'a, Result<Vec<Option<DocumentState>>, StoreError>> {
    Box::pin(async move {
        let documents = snapshot.documents(ids).await?;
        let jobs = snapshot.jobs(ids).await?;
        let chunks = snapshot.extraction_states_of(ids).await?;
        let renewals = renewals_of(snapshot, ids).await?;
        let without_context = snapshot.failed_contexts_of(ids).await?;
        let known = documents.into_iter().zip(jobs).zip(chunks).zip(renewals).zip(without_context);
        let states = known.map(|((((document, job), chunks), renewals), chunks_without_context)| {
            let (mut failed_chunks, mut damaged_chunks) = (Vec::new(), Vec::new());
            for (ordinal, extraction) in &chunks {
                match extraction {
                    ChunkExtraction::Pending | ChunkExtraction::Done { .. } => {}
                    ChunkExtraction::Damaged { reason, .. } => {
                        damaged_chunks.push((*ordinal, reason.clone()))
                    }
                    ChunkExtraction::Failed { reason, .. } => failed_chunks.push((*ordinal, reason.clone())),
                }
            }
            let state = job.map_or(JobState::Accepted, |job| job.state);
            let counts: ChunkCounts = chunks.iter().map(|(_, extraction)| extraction).collect();
            let counts = ChunkCounts { without_context: chunks_without_context.len() as u32, ..counts };
            let status = DocumentStatus::derive(&state, counts);
            let renewal = RenewalState::of(renewals);
            let document = document?;
            Some(DocumentState {
                document,
                status,
                failed_chunks,
                damaged_chunks,
                chunks_without_context,
                renewal,
            })
        });
        Ok(states.collect())
    })
}

/// Returns the renewals of each document with the ordinals of their chunks.
async fn renewals_of(
    snapshot: &dyn Snapshot,
    ids: &[DocumentId],
) -> Result<Vec<Vec<(u32, Renewal)>>, StoreError> {
    let of_documents = snapshot.renewals_of(ids).await?;
    let chunks: Vec<ChunkId> = of_documents.iter().flatten().map(|renewal| renewal.chunk.clone()).collect();
    let mut ordinals = snapshot.chunks(&chunks).await?.into_iter();
    let with_ordinals = of_documents.into_iter().map(|renewals| {
        let renewals = renewals.into_iter().zip(ordinals.by_ref());
        renewals.filter_map(|(renewal, chunk)| Some((chunk?.ordinal, renewal))).collect()
    });
    Ok(with_ordinals.collect())
}
