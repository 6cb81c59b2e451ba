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
    /// Answered, but records were lost on the way; what was saved counts until a whole answer replaces it.
    Damaged {
        /// The key of what was saved.
        key: ExtractionKey,
        /// What was lost, for people.
        reason: String,
        /// How many times it was tried.
        attempts: u32,
        /// Whether it is queued to be asked about again.
        again: bool,
    },
    /// Failed; retried alone, never failing its document.
    Failed {
        /// Why, for people.
        reason: String,
        /// How many times it was tried.
        attempts: u32,
    },
}

impl ChunkExtraction {
    /// The key of the extraction that speaks for the chunk, where there is one.
    pub fn key(&self) -> Option<&ExtractionKey> {
        match self {
            Self::Done { key } | Self::Damaged { key, .. } => Some(key),
            Self::Pending | Self::Failed { .. } => None,
        }
    }

    /// Whether the next run asks about the chunk.
    pub fn is_queued(&self) -> bool {
        match self {
            Self::Pending => true,
            Self::Damaged { again, .. } => *again,
            Self::Done { .. } | Self::Failed { .. } => false,
        }
    }
}

/// A chunk that is asked about anew, while what was said before still counts. Once all of its document's are answered,
/// the new extractions take the place of the old ones in one commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Renewal {
    /// The chunk.
    pub chunk: ChunkId,
    /// Who is asked: the model's name, or that of the rules.
    pub model: String,
    /// What became of the new extraction.
    pub extraction: ChunkExtraction,
}
