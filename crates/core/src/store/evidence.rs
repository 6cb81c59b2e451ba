//! The part of a snapshot that covers documents and what models and rules derived from each chunk.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::{
    Chunk, ChunkContext, ChunkContextKey, ChunkExtraction, ChunkId, ContentHash, Document, DocumentFilter,
    DocumentId, Extraction, ExtractionKey, OriginalStamp, RejectReason, Renewal,
};

/// Documents, their chunks, and what models and rules derived from each chunk.
#[async_trait]
pub trait Evidence: Send + Sync {
    /// Returns documents by id, including staged ones.
    async fn documents(&self, ids: &[DocumentId]) -> Result<Vec<Option<Document>>, StoreError>;

    /// Returns all documents of each source, live and staged, by ascending id.
    async fn documents_of_sources(&self, sources: &[String]) -> Result<Vec<Vec<Document>>, StoreError>;

    /// Returns all documents with each content hash, live and staged, by ascending id.
    async fn documents_of_contents(&self, hashes: &[ContentHash]) -> Result<Vec<Vec<Document>>, StoreError>;

    /// Returns the documents that meet every condition of `filter` except the one on status
    /// ([`DocumentFilter::admits_document`]), by id, and the number of all documents. Includes staged ones.
    async fn documents_matching(&self, filter: &DocumentFilter) -> Result<(Vec<Document>, u64), StoreError>;

    /// Returns the full texts of documents.
    async fn texts(&self, ids: &[DocumentId]) -> Result<Vec<Option<String>>, StoreError>;

    /// Returns the bytes of originals; `None` if a document has none.
    async fn originals(&self, ids: &[DocumentId]) -> Result<Vec<Option<Vec<u8>>>, StoreError>;

    /// Returns the stamps of originals. Cheaper than [`Snapshot::originals`].
    async fn original_stamps(&self, ids: &[DocumentId]) -> Result<Vec<Option<OriginalStamp>>, StoreError>;

    /// Returns chunks with text.
    async fn chunks(&self, ids: &[ChunkId]) -> Result<Vec<Option<Chunk>>, StoreError>;

    /// Returns each document's chunks with text, by ordinal.
    async fn chunks_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<Chunk>>, StoreError>;

    /// Returns the ids of each document's chunks, by ordinal. Cheaper than [`Snapshot::chunks_of`].
    async fn chunk_ids_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<ChunkId>>, StoreError>;

    /// Returns the number of chunks of each document by state. Cheaper than [`Snapshot::extraction_states_of`].
    async fn chunk_counts_of(&self, documents: &[DocumentId]) -> Result<Vec<ChunkCounts>, StoreError>;

    /// Returns the extraction states of each document's chunks, by ordinal. Cheaper than [`Snapshot::chunks_of`].
    async fn extraction_states_of(
        &self,
        documents: &[DocumentId],
    ) -> Result<Vec<Vec<(u32, ChunkExtraction)>>, StoreError>;

    /// Returns extractions by key.
    async fn extractions(&self, keys: &[ExtractionKey]) -> Result<Vec<Option<Extraction>>, StoreError>;

    /// Returns the number of rejected pieces in stored extractions by reason. A reason without rejects has no entry.
    async fn reject_counts(&self) -> Result<BTreeMap<RejectReason, u64>, StoreError>;

    /// Returns the number of stored extractions without records.
    async fn empty_extractions(&self) -> Result<u64, StoreError>;

    /// Returns the renewals of each document's chunks, by ordinal.
    async fn renewals_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<Renewal>>, StoreError>;

    /// Returns the contexts of chunks; `None` if a chunk has none.
    async fn chunk_contexts(&self, chunks: &[ChunkId]) -> Result<Vec<Option<ChunkContext>>, StoreError>;

    /// Returns the context stored under each key; `None` if no chunk has a context with this key.
    async fn context_texts(&self, keys: &[ChunkContextKey]) -> Result<Vec<Option<String>>, StoreError>;

    /// Returns ordinal and reason of each document's chunks whose context failed, by ordinal.
    async fn failed_contexts_of(
        &self,
        documents: &[DocumentId],
    ) -> Result<Vec<Vec<(u32, String)>>, StoreError>;

    /// Returns the number of chunk contexts by author, including failed ones. An author without contexts has no entry.
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
