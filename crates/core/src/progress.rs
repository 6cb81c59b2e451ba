//! Progress events of long-running work, used for progress bars, logs and event streams.

use serde::{Deserialize, Serialize};

use crate::{DocumentId, LayerName};

/// Receives progress events. It is called from the indexing future, so it must not block.
pub type ProgressSink<'a> = &'a (dyn Fn(Progress) + Send + Sync);

/// A stage of indexing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Computing the context of each chunk.
    Contextualize,
    /// Splitting into chunks and embedding them.
    Chunk,
    /// Extracting each chunk.
    Extract,
    /// Deriving and embedding entities and relations.
    Merge,
}

/// A progress event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Progress {
    /// A document is stored and queued.
    Accepted {
        /// The document.
        document: DocumentId,
        /// Its source.
        source: String,
    },
    /// A document advanced within a stage: `done` of `total` chunks.
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
    /// A chunk's extraction failed. Its document continues.
    ChunkFailed {
        /// The document.
        document: DocumentId,
        /// Its source.
        source: String,
        /// The chunk's ordinal.
        ordinal: u32,
        /// The reason.
        reason: String,
    },
    /// A chunk's extraction lost records. The saved ones are used.
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
    /// A chunk's context failed. The chunk is indexed without it.
    ChunkWithoutContext {
        /// The document.
        document: DocumentId,
        /// Its source.
        source: String,
        /// The chunk's ordinal.
        ordinal: u32,
        /// The reason.
        reason: String,
    },
    /// A document is in the graph.
    Finished {
        /// The document.
        document: DocumentId,
        /// Its source.
        source: String,
        /// Number of chunks.
        chunks: u32,
        /// Chunks that failed.
        failed: u32,
        /// Chunks that lost records.
        damaged: u32,
        /// Chunks without context.
        without_context: u32,
    },
    /// Stale entities and relations were derived again.
    Settled {
        /// Number done.
        done: u32,
        /// Number of stale ones.
        total: u32,
    },
    /// Nodes of a layer were derived.
    Derived {
        /// The layer.
        layer: LayerName,
        /// Number of nodes done.
        done: u32,
        /// Number of nodes.
        total: u32,
    },
    /// A document was removed from the queue while in progress. Paid results are stored.
    Cancelled {
        /// The document.
        document: DocumentId,
        /// Its source.
        source: String,
    },
    /// Processing of a document stopped with an error.
    Failed {
        /// The document.
        document: DocumentId,
        /// Its source.
        source: String,
        /// The reason.
        reason: String,
    },
    /// A model service is down. Calls to it wait.
    Paused {
        /// The service's host.
        service: String,
        /// The last error.
        reason: String,
        /// Time until the next attempt, in milliseconds.
        retry_in_ms: u64,
    },
    /// A model service is available again. Work continues.
    Resumed {
        /// The service's host.
        service: String,
    },
}
