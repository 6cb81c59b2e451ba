//! What long work reports; bars, logs and event streams render the same values.

use serde::{Deserialize, Serialize};

use crate::DocumentId;

/// Where progress goes. Called from the indexing future; must not block.
pub type ProgressSink<'a> = &'a (dyn Fn(Progress) + Send + Sync);

/// A stage of indexing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Saying of each chunk where in its document it stands.
    Situate,
    /// Splitting into chunks and embedding them.
    Chunk,
    /// Asking about each chunk.
    Extract,
    /// Deriving entities and relations, embedding them.
    Merge,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Progress {
    /// A document is durable.
    Accepted {
        /// The document.
        document: DocumentId,
        /// Its source.
        source: String,
    },
    /// A document moved inside a stage: `done` of `total` chunks.
    Advanced {
        /// The document.
        document: DocumentId,
        /// Its source.
        source: String,
        /// The stage.
        stage: Stage,
        /// Chunks done in this stage.
        done: u32,
        /// Chunks of the document.
        total: u32,
    },
    /// A chunk's extraction failed; the document goes on.
    ChunkFailed {
        /// The document.
        document: DocumentId,
        /// Its source.
        source: String,
        /// The chunk's ordinal.
        ordinal: u32,
        /// Why.
        reason: String,
    },
    /// Records of a chunk's extraction were lost; what was saved is used.
    ChunkDamaged {
        /// The document.
        document: DocumentId,
        /// Its source.
        source: String,
        /// The chunk's ordinal.
        ordinal: u32,
        /// What was lost.
        reason: String,
    },
    /// A chunk could not be situated in its document; its own words are indexed alone.
    ChunkUnsituated {
        /// The document.
        document: DocumentId,
        /// Its source.
        source: String,
        /// The chunk's ordinal.
        ordinal: u32,
        /// Why.
        reason: String,
    },
    /// A document is in the graph.
    Finished {
        /// The document.
        document: DocumentId,
        /// Its source.
        source: String,
        /// Its chunks.
        chunks: u32,
        /// Chunks that failed.
        failed: u32,
        /// Chunks that lost records.
        damaged: u32,
        /// Chunks that could not be situated.
        unsituated: u32,
    },
    /// Entities and relations that merging left stale are derived again.
    Settled {
        /// Those done.
        done: u32,
        /// Those that were stale.
        total: u32,
    },
    /// A document was taken out of the queue while it was worked on; what was paid for is stored.
    Cancelled {
        /// The document.
        document: DocumentId,
        /// Its source.
        source: String,
    },
    /// A document stopped.
    Failed {
        /// The document.
        document: DocumentId,
        /// Its source.
        source: String,
        /// Why.
        reason: String,
    },
    /// A model service is down; calls to it wait.
    Paused {
        /// The service's host.
        service: String,
        /// What went wrong last.
        reason: String,
        /// When it is tried again, in milliseconds.
        retry_in_ms: u64,
    },
    /// A model service answers again, and work goes on.
    Resumed {
        /// The service's host.
        service: String,
    },
}
