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
    /// Byte range in the document's text.
    pub span: Span,
    /// Number of tokens in `text`.
    pub token_count: u32,
    /// Headings above the chunk, outermost first.
    pub breadcrumb: Vec<String>,
    /// The text of the span, verbatim. Stores keep the document's text once and slice it.
    pub text: String,
    /// State of the extraction.
    pub extraction: ChunkExtraction,
}

/// State of a chunk's extraction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum ChunkExtraction {
    /// No answer yet.
    Pending,
    /// Done. The records are in the extraction with this key.
    Done {
        /// The extraction's key.
        key: ExtractionKey,
    },
    /// Records were lost. The saved records are used until a complete answer replaces them.
    Damaged {
        /// The key of the saved extraction.
        key: ExtractionKey,
        /// What was lost, as a message.
        reason: String,
        /// Number of attempts.
        attempts: u32,
        /// Whether the chunk is queued to be extracted again.
        again: bool,
    },
    /// Failed. Only this chunk is retried; its document does not fail.
    Failed {
        /// The reason, as a message.
        reason: String,
        /// Number of attempts.
        attempts: u32,
    },
}

impl ChunkExtraction {
    /// Returns the key of the extraction in use, if there is one.
    pub fn key(&self) -> Option<&ExtractionKey> {
        match self {
            Self::Done { key } | Self::Damaged { key, .. } => Some(key),
            Self::Pending | Self::Failed { .. } => None,
        }
    }

    /// True if the next run extracts the chunk.
    pub fn is_queued(&self) -> bool {
        match self {
            Self::Pending => true,
            Self::Damaged { again, .. } => *again,
            Self::Done { .. } | Self::Failed { .. } => false,
        }
    }
}

/// A chunk that is being extracted again while its old extraction stays in use. Once all chunks of the
/// document are done, the new extractions replace the old ones in one commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Renewal {
    /// The chunk.
    pub chunk: ChunkId,
    /// The model's name, or the name of the rules.
    pub model: String,
    /// State of the new extraction.
    pub extraction: ChunkExtraction,
}
