//! The part of a snapshot about documents, and what models and rules said of them.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::{
    Chunk, ChunkContext, ChunkContextKey, ChunkExtraction, ChunkId, ContentHash, Document, DocumentFilter,
    DocumentId, Extraction, ExtractionKey, OriginalStamp, RejectReason, Renewal,
};

/// Documents, their chunks, and what models and rules said of those.
#[async_trait]
pub trait Evidence: Send + Sync {
    /// Documents, staged ones included.
    async fn documents(&self, ids: &[DocumentId]) -> Result<Vec<Option<Document>>, StoreError>;

    /// All documents of each source, live and staged, by ascending id.
    async fn documents_of_sources(&self, sources: &[String]) -> Result<Vec<Vec<Document>>, StoreError>;

    /// All documents with each content hash, live and staged, by ascending id.
    async fn documents_of_contents(&self, hashes: &[ContentHash]) -> Result<Vec<Vec<Document>>, StoreError>;

    /// The documents that meet every condition of `filter` except the one on status
    /// ([`DocumentFilter::admits_document`]), by id, and the number of all documents. Staged ones included.
    async fn documents_matching(&self, filter: &DocumentFilter) -> Result<(Vec<Document>, u64), StoreError>;

    /// Whole texts.
    async fn texts(&self, ids: &[DocumentId]) -> Result<Vec<Option<String>>, StoreError>;

    /// The bytes of originals; `None` if a document has none.
    async fn originals(&self, ids: &[DocumentId]) -> Result<Vec<Option<Vec<u8>>>, StoreError>;

    /// The stamps of originals. Cheaper than [`Snapshot::originals`].
    async fn original_stamps(&self, ids: &[DocumentId]) -> Result<Vec<Option<OriginalStamp>>, StoreError>;

    /// Chunks with text.
    async fn chunks(&self, ids: &[ChunkId]) -> Result<Vec<Option<Chunk>>, StoreError>;

    /// Each document's chunks with text, by ordinal.
    async fn chunks_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<Chunk>>, StoreError>;

    /// The ids of each document's chunks by ordinal. Cheaper than [`Snapshot::chunks_of`].
    async fn chunk_ids_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<ChunkId>>, StoreError>;

    /// Number of chunks of each document by state. Cheaper than [`Snapshot::extraction_states_of`].
    async fn chunk_counts_of(&self, documents: &[DocumentId]) -> Result<Vec<ChunkCounts>, StoreError>;

    /// Extraction states of each document's chunks, by ordinal. Cheaper than [`Snapshot::chunks_of`].
    async fn extraction_states_of(
        &self,
        documents: &[DocumentId],
    ) -> Result<Vec<Vec<(u32, ChunkExtraction)>>, StoreError>;

    /// Extractions by key.
    async fn extractions(&self, keys: &[ExtractionKey]) -> Result<Vec<Option<Extraction>>, StoreError>;

    /// Number of rejected pieces in stored extractions by reason; no entry for 0.
    async fn reject_counts(&self) -> Result<BTreeMap<RejectReason, u64>, StoreError>;

    /// Number of stored extractions without records.
    async fn empty_extractions(&self) -> Result<u64, StoreError>;

    /// Renewals of each document's chunks, by ordinal.
    async fn renewals_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<Renewal>>, StoreError>;

    /// ChunkContexts of chunks; `None` if a chunk has none.
    async fn chunk_contexts(&self, chunks: &[ChunkId]) -> Result<Vec<Option<ChunkContext>>, StoreError>;

    /// The context stored under each key; `None` if no chunk has one.
    async fn context_texts(&self, keys: &[ChunkContextKey]) -> Result<Vec<Option<String>>, StoreError>;

    /// Ordinal and reason of each document's chunks whose context failed, by ordinal.
    async fn failed_contexts_of(
        &self,
        documents: &[DocumentId],
    ) -> Result<Vec<Vec<(u32, String)>>, StoreError>;

    /// Number of chunk contexts by author, including failed ones; no entry for 0.
    async fn chunk_context_counts(&self) -> Result<BTreeMap<String, u64>, StoreError>;
}

/// Number of a document's chunks by state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkCounts {
    /// All chunks.
    pub chunks: u32,
    /// Chunks with an extraction, including damaged ones.
    pub extracted: u32,
    /// Chunks whose extraction failed.
    pub failed: u32,
    /// Chunks that lost records.
    pub damaged: u32,
    /// Chunks whose context failed.
    pub without_context: u32,
}

impl<'a> FromIterator<&'a ChunkExtraction> for ChunkCounts {
    fn from_iter<Chunks: IntoIterator<Item = &'a ChunkExtraction>>(chunks: Chunks) -> Self {
        let mut counts = Self::default();
        for chunk in chunks {
            counts.chunks += 1;
            match chunk {
                ChunkExtraction::Pending => {}
                ChunkExtraction::Done { .. } => counts.extracted += 1,
                ChunkExtraction::Damaged { .. } => {
                    counts.extracted += 1;
                    counts.damaged += 1;
                }
                ChunkExtraction::Failed { .. } => counts.failed += 1,
            }
        }
        counts
    }
}
