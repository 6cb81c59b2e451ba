//! Indexing: sources in, graph out. One unit of work is one commit.

use std::collections::BTreeMap;

use graphloom_core::{DocumentId, DocumentStatus, Format, ModelError, ProgressSink, StoreError};

use crate::Engine;
use crate::chunk::ChunkConfig;

/// How documents are indexed.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexConfig {
    /// How texts are split.
    pub chunk: ChunkConfig,
    /// Entity types offered to the extraction model.
    pub entity_types: Vec<String>,
    /// Extra passes that ask for what the first answer missed.
    pub gleaning: u32,
    /// Extraction calls in flight.
    pub max_concurrent_calls: usize,
    /// Documents worked on at once; bounds memory.
    pub max_concurrent_documents: usize,
    /// How long a claim on a job lasts without renewal.
    pub lease_ms: u64,
    /// Unique name of this worker.
    pub worker: String,
}

/// One thing to index: its name, bytes and metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The identity under which new content is a new version.
    pub name: String,
    /// The bytes as read.
    pub bytes: Vec<u8>,
    /// The format where the caller knows it; else by name and content.
    pub format: Option<Format>,
    /// The user's key-value pairs.
    pub meta: BTreeMap<String, String>,
}

/// What became of one source.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Acceptance {
    /// Durable, and queued.
    Accepted {
        /// The new document.
        document: DocumentId,
        /// The encoding its bytes were read in.
        encoding: String,
        /// Other documents with the same text, by source; it is indexed all the same, at no model cost.
        same_content_as: Vec<String>,
        /// The version it will replace.
        replaces: Option<DocumentId>,
    },
    /// This version is already there; its metadata was updated if it differed.
    Unchanged {
        /// The document.
        document: DocumentId,
        /// How far it is; a queued or incomplete one is worked on by the next [`run`].
        status: DocumentStatus,
    },
    /// Not readable; nothing was stored.
    Refused {
        /// Why, for people.
        reason: String,
    },
}

/// What a [`run`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct RunReport {
    /// Documents now in the graph.
    pub finished: u32,
    /// Of those, documents with failed chunks.
    pub incomplete: u32,
    /// Documents that stopped.
    pub failed: u32,
    /// Extraction calls made (0 for rules).
    pub calls: u32,
    /// Chunks whose extraction was reused from the store.
    pub reused: u32,
}

/// Why indexing stopped. What was committed stays; run again to go on.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The store failed.
    #[error("indexing")]
    Store(#[from] StoreError),
    /// The model cannot answer until a person changes something.
    #[error("indexing")]
    Model(#[from] ModelError),
}
