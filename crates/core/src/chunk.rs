//! Chunks: byte spans of a document.

use serde::{Deserialize, Serialize};

use crate::{ChunkId, DocumentId, ExtractionKey, Span};

/// A byte span of a document, the unit of extraction, retrieval and citation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// Hash of document, ordinal and span.
    pub id: ChunkId,
    /// The document it is a span of.
    pub document: DocumentId,
    /// Position among the document's chunks, from 0.
    pub ordinal: u32,
    /// Where it stands in the document's text.
    pub span: Span,
    /// Tokens of `text`.
    pub token_count: u32,
    /// Headings above the chunk, outermost first.
    pub breadcrumb: Vec<String>,
    /// The span's text, verbatim. Stores keep the document's text once and slice it.
    pub text: String,
    /// What became of its extraction.
    pub extraction: ChunkExtraction,
}

/// What became of a chunk's extraction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum ChunkExtraction {
    /// Not answered yet.
    Pending,
    /// Answered; the records stand in the extraction of this key.
    Done {
        /// The extraction's key.
        key: ExtractionKey,
    },
    /// Failed; retried alone, never failing its document.
    Failed {
        /// Why, for people.
        reason: String,
        /// How many times it was tried.
        attempts: u32,
    },
}
