//! The store trait: consistent read snapshots and atomic writes.

mod document_page;
mod error;
mod evidence;
mod graph;
mod ledger;
mod queue;
mod search;
pub mod table;

use std::any::Any;
use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{Batch, Revision, WorkspaceId};
pub use document_page::{DocumentOrder, DocumentPage, DocumentsFound};
pub use error::StoreError;
pub use evidence::{ChunkCounts, Evidence};
pub use graph::Graph;
pub use ledger::Ledger;
pub use queue::Queue;
pub use search::{By, EmbeddingSpec, Hit, Projection, Search, SearchRequest, VectorEntry};
use table::PageOf;

/// The evidence and views of one workspace.
///
/// A handle belongs to one workspace and cannot access another.
#[async_trait]
pub trait Store: Send + Sync {
    /// Returns the workspace of this handle.
    fn workspace(&self) -> &WorkspaceId;

    /// Returns a consistent read view of the latest commit. It never changes and never waits for writers. A
    /// snapshot that is held for long keeps old pages alive, so drop it before waiting for a model.
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError>;

    /// Applies `batch` atomically and returns the new revision. When this returns, the change is durable.
    /// Commits of one handle are applied in call order, even if the future is dropped. An empty batch changes
    /// nothing and returns the current revision once earlier commits are applied.
    async fn commit(&self, batch: Batch) -> Result<Revision, StoreError>;

    /// Returns known damage of the store's files; `None` if no damage was found.
    fn fault(&self) -> Option<String>;

    /// Waits for the turn to change the graph. Among all handles and processes of the workspace, only one holder has the turn
    /// at a time. It is released when dropped, or when its process ends in any way. Waiting is fair. If the turn does not come
    /// for minutes, the error [is a conflict](StoreError::is_conflict).
    ///
    /// The turn does not block commits; only [`Batch::require`] rejects them. Changes of the graph take the turn at least for
    /// their commit, so that a change that lost a race can be repeated without interference from another change.
    async fn graph_turn(&self) -> Result<GraphTurn, StoreError>;

    /// Returns the turn to write missing summaries; `None` if another holder has it. Among all handles and
    /// processes of the workspace, only one has the turn at a time, so that no summary is paid for twice. It
    /// is released when dropped, or when its process ends in any way.
    async fn summaries_turn(&self) -> Result<Option<GraphTurn>, StoreError>;

    /// Returns the number of processes that may take jobs of the workspace, including this one; 1 if the
    /// store knows of no other.
    async fn workers(&self) -> Result<usize, StoreError>;
}

/// The turn to change the graph or to write summaries. Released when dropped.
pub type GraphTurn = Box<dyn Any + Send + Sync>;

/// A consistent read view. Every list result has one entry per requested item, in order; `None` if the item does not exist.
///
/// Whole tables are read with [`pages`](#method.pages) and [`scan`](#method.scan).
#[async_trait]
pub trait Snapshot: Evidence + Graph + Search + Queue + Ledger {
    /// Returns the revision of this view.
    fn revision(&self) -> Revision;

    /// Returns the last revision whose commit changed the graph.
    fn graph_revision(&self) -> Revision;

    /// Returns the last revision whose commit changed documents, their jobs or chunks, or the graph: everything that a
    /// [filter](crate::DocumentFilter) and its result depend on. Calls, cached answers and conversations do not change it.
    fn evidence_revision(&self) -> Revision;

    /// Returns row counts.
    async fn counts(&self) -> Result<StoreCounts, StoreError>;

    /// Returns the models and settings that the workspace is built with, by name; empty if none are stored.
    /// The caller defines their meaning. Not part of the canonical state.
    async fn settings(&self) -> Result<BTreeMap<String, String>, StoreError>;

    /// Reads a page of a table: at most `limit` rows strictly after `after`, in ascending key order unless the table says
    /// otherwise. Fewer than `limit` rows mean that the end was reached. Callers use the typed [`scan`](#method.scan) instead.
    async fn read_page(&self, page: PageOf<'_>) -> Result<(), StoreError>;
}

/// Row counts of a workspace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreCounts {
    /// Documents, including staged ones.
    pub documents: u64,
    /// Chunks.
    pub chunks: u64,
    /// Extractions.
    pub extractions: u64,
    /// Mentions.
    pub mentions: u64,
    /// Facts.
    pub facts: u64,
    /// Claims.
    pub claims: u64,
    /// Decisions, including undone ones.
    pub decisions: u64,
    /// Entities.
    pub entities: u64,
    /// Relations.
    pub relations: u64,
    /// Chunk vectors.
    pub chunk_vectors: u64,
    /// Entity vectors.
    pub entity_vectors: u64,
    /// Relation vectors.
    pub relation_vectors: u64,
    /// Nodes of layers.
    pub nodes: u64,
    /// Node vectors.
    pub node_vectors: u64,
    /// Ledger rows.
    pub calls: u64,
    /// Stale entities and relations.
    pub stale: u64,
}
