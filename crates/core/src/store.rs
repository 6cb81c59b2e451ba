//! The store port: consistent read snapshots and atomic writes.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{
    Allowed, Batch, CacheKind, CacheSize, Call, Chunk, ChunkExtraction, ChunkId, ContentHash, Decision,
    DecisionId, Document, DocumentId, Entity, EntityKey, Extraction, ExtractionKey, Fact, GraphKey, Job,
    Layer, LayerName, LayerNode, LinkGraph, Member, Mention, NodeKey, QueueState, RejectReason, Relation,
    RelationKey, Renewal, Revision, Situation, SituationKey, StatusKind, Summary, Timestamp, TrackId,
    WorkspaceId,
};

/// The evidence and views of one workspace.
///
/// A handle belongs to one workspace and cannot reach another.
#[async_trait]
pub trait Store: Send + Sync {
    /// The workspace of this handle.
    fn workspace(&self) -> &WorkspaceId;

    /// A consistent read view of the latest commit. It never changes and never waits for writers. Holding one for
    /// long keeps old pages alive, so drop it before waiting for a model.
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError>;

    /// Applies `batch` atomically and returns the new revision. When this returns, the change is durable. Commits
    /// of one handle are applied in call order, even if the future is dropped. An empty batch changes nothing and
    /// returns the current revision once earlier commits are applied.
    async fn commit(&self, batch: Batch) -> Result<Revision, StoreError>;

    /// Known damage of the store's files; `None` if no damage was found.
    fn fault(&self) -> Option<String>;

    /// Waits for the turn to change the graph. Among all handles and processes of the workspace, one holder has it
    /// at a time. It is released when dropped, or when its process ends in any way. Waiting is fair; if the turn
    /// does not come for minutes, the error [is a conflict](StoreError::is_conflict).
    ///
    /// The turn does not block commits; only [`Batch::require`] rejects them. Changes of the graph take the turn
    /// at least for their commit, so that a change that lost a race can be repeated while no other change
    /// interferes.
    async fn graph_turn(&self) -> Result<GraphTurn, StoreError>;
}

/// The turn to change the graph, released when dropped.
pub type GraphTurn = Box<dyn Any + Send + Sync>;

/// A consistent read view. Every list result has one entry per requested item, in order; `None` if it does not
/// exist.
///
/// Scans return rows in ascending key order, strictly after `after`, at most `limit` of them; fewer than `limit`
/// means that the end was reached.
#[async_trait]
pub trait Snapshot: Send + Sync {
    /// The revision of this view.
    fn revision(&self) -> Revision;

    /// The last revision whose commit touched the graph.
    fn graph_revision(&self) -> Revision;

    /// Row counts.
    async fn counts(&self) -> Result<StoreCounts, StoreError>;

    /// The workspace's embedding space; `None` before the first vector.
    async fn embedding(&self) -> Result<Option<EmbeddingSpec>, StoreError>;

    /// The models and settings the workspace is built with, by name; empty if none are stored. The caller defines
    /// their meaning. Not part of the canonical state.
    async fn settings(&self) -> Result<BTreeMap<String, String>, StoreError>;

    /// Documents, staged ones included.
    async fn documents(&self, ids: &[DocumentId]) -> Result<Vec<Option<Document>>, StoreError>;

    /// All documents of each source, live and staged, by ascending id.
    async fn documents_of_sources(&self, sources: &[String]) -> Result<Vec<Vec<Document>>, StoreError>;

    /// All documents with each content hash, live and staged, by ascending id.
    async fn documents_of_contents(&self, hashes: &[ContentHash]) -> Result<Vec<Vec<Document>>, StoreError>;

    /// Number of documents by status, including staged ones; no entry for 0.
    async fn status_counts(&self) -> Result<BTreeMap<StatusKind, u64>, StoreError>;

    /// Whole texts.
    async fn texts(&self, ids: &[DocumentId]) -> Result<Vec<Option<String>>, StoreError>;

    /// Jobs by document.
    async fn jobs(&self, documents: &[DocumentId]) -> Result<Vec<Option<Job>>, StoreError>;

    /// Whether the queue is paused.
    async fn queue(&self) -> Result<QueueState, StoreError>;

    /// The existing documents that each run queued, ascending; empty for an unknown run.
    async fn documents_of_tracks(&self, tracks: &[TrackId]) -> Result<Vec<Vec<DocumentId>>, StoreError>;

    /// The runs that queued each document, ascending.
    async fn tracks_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<TrackId>>, StoreError>;

    /// Renewals of each document's chunks, by ordinal.
    async fn renewals_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<Renewal>>, StoreError>;

    /// [Open](crate::JobState::is_open) jobs whose lease is absent or expired at `now`, oldest
    /// first (`created_at`, then document), at most `limit`.
    async fn claimable_jobs(&self, now: Timestamp, limit: usize) -> Result<Vec<Job>, StoreError>;

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

    /// Situations of chunks; `None` if a chunk has none.
    async fn situations(&self, chunks: &[ChunkId]) -> Result<Vec<Option<Situation>>, StoreError>;

    /// The situating text stored under each key; `None` if no chunk has one.
    async fn situating_texts(&self, keys: &[SituationKey]) -> Result<Vec<Option<String>>, StoreError>;

    /// Ordinal and reason of each document's chunks whose situation failed, by ordinal.
    async fn failed_situations_of(
        &self,
        documents: &[DocumentId],
    ) -> Result<Vec<Vec<(u32, String)>>, StoreError>;

    /// Number of situations by author, including failed ones; no entry for 0.
    async fn situation_counts(&self) -> Result<BTreeMap<String, u64>, StoreError>;

    /// Each entity's live mentions by (chunk, ordinal), including those set aside.
    async fn mentions_of(&self, entities: &[EntityKey]) -> Result<Vec<Vec<Mention>>, StoreError>;

    /// Each relation's live facts by (chunk, ordinal), including those set aside.
    async fn facts_of(&self, relations: &[RelationKey]) -> Result<Vec<Vec<Fact>>, StoreError>;

    /// Each entity's live facts, as either entity, by (relation, chunk, ordinal), including those set aside.
    async fn facts_touching(&self, entities: &[EntityKey]) -> Result<Vec<Vec<Fact>>, StoreError>;

    /// Everything that the mentions and facts of these chunks count for, sorted and unique: entities of mentions,
    /// relations of facts, and both entities of those relations. Records set aside do not count.
    async fn graph_keys_of(&self, chunks: &[ChunkId]) -> Result<Vec<GraphKey>, StoreError>;

    /// Entities by key.
    async fn entities(&self, keys: &[EntityKey]) -> Result<Vec<Option<Entity>>, StoreError>;

    /// Relations by key.
    async fn relations(&self, keys: &[RelationKey]) -> Result<Vec<Option<Relation>>, StoreError>;

    /// Each entity's relations by key.
    async fn relations_of(&self, entities: &[EntityKey]) -> Result<Vec<Vec<Relation>>, StoreError>;

    /// Each entity's degree (number of live relations); 0 if unknown. Cheaper than [`Snapshot::entities`].
    async fn degrees(&self, entities: &[EntityKey]) -> Result<Vec<u32>, StoreError>;

    /// The distinct chunks with evidence for each entity (mentions) or relation (facts), ascending, at most
    /// `limit` each, and only those `within`. Records set aside do not count.
    async fn chunks_behind(
        &self,
        keys: &[GraphKey],
        within: Option<&Allowed>,
        limit: usize,
    ) -> Result<Vec<Vec<ChunkId>>, StoreError>;

    /// The stored summaries of each item, by key.
    async fn summaries(&self, keys: &[GraphKey]) -> Result<Vec<Vec<Summary>>, StoreError>;

    /// All layers by name. Unpaged, since there are only as many as there are kinds of derived views.
    async fn layers(&self) -> Result<Vec<Layer>, StoreError>;

    /// Nodes of layers by key.
    async fn nodes(&self, keys: &[NodeKey]) -> Result<Vec<Option<LayerNode>>, StoreError>;

    /// The nodes that have each of these as a member, by key.
    async fn nodes_of(&self, members: &[Member]) -> Result<Vec<Vec<NodeKey>>, StoreError>;

    /// Number of a layer's nodes by level; no entry for 0.
    async fn node_counts(&self, layer: &LayerName) -> Result<BTreeMap<u32, u64>, StoreError>;

    /// For each query vector, the nearest entries of `kind` by cosine: highest score first, ties by ascending id,
    /// at most `limit`, none below `min_score`. Exact, unless the store documents a number of entries above which
    /// it is approximate.
    async fn search_vectors(&self, query: &VectorQuery) -> Result<Vec<Vec<VectorHit>>, StoreError>;

    /// Stored vectors; unit length, rounded to the store's precision.
    async fn vectors(&self, kind: VectorKind, ids: &[String]) -> Result<Vec<Option<Vec<f32>>>, StoreError>;

    /// Best matches for the words of `query` by BM25: highest score first, ties by ascending id, at most `limit`.
    /// Syntax characters are ordinary text. Scores are comparable only within one result.
    async fn search_text(&self, query: &TextQuery) -> Result<Vec<VectorHit>, StoreError>;

    /// Several searches at once, with the results of [`search_vectors`](Self::search_vectors) and
    /// [`search_text`](Self::search_text) in order. A store may run them in parallel.
    async fn search_all(&self, vectors: &[VectorQuery], texts: &[TextQuery]) -> Result<Found, StoreError> {
        let mut found = Found::default();
        for query in vectors {
            found.by_vector.push(self.search_vectors(query).await?);
        }
        for query in texts {
            found.by_text.push(self.search_text(query).await?);
        }
        Ok(found)
    }

    /// The link graph of the chunks of live documents. Node numbers are valid only in this result.
    async fn links(&self) -> Result<Arc<LinkGraph>, StoreError>;

    /// The rebuildable indexes and the revision each is up to date with.
    async fn projections(&self) -> Result<Vec<Projection>, StoreError>;

    /// The documents for which `wanted` returns true, by id, including staged ones. It is called for every
    /// document, in the order that is fastest for the store.
    async fn documents_where(
        &self,
        wanted: &mut (dyn for<'a> FnMut(&'a Document) -> bool + Send),
    ) -> Result<Vec<Document>, StoreError>;

    /// Documents by id, staged ones included.
    async fn scan_documents(
        &self,
        after: Option<&DocumentId>,
        limit: usize,
    ) -> Result<Vec<Document>, StoreError>;

    /// Documents by (source, id), staged ones included.
    async fn scan_documents_by_source(
        &self,
        after: Option<(&str, &DocumentId)>,
        limit: usize,
    ) -> Result<Vec<Document>, StoreError>;

    /// Documents by (accepted, id), including staged ones; unlike other scans in descending order, latest first.
    async fn scan_documents_by_date(
        &self,
        after: Option<(Timestamp, &DocumentId)>,
        limit: usize,
    ) -> Result<Vec<Document>, StoreError>;

    /// Jobs with a lease, by document. Unpaged, since there are only as many as are in progress.
    async fn leased_jobs(&self) -> Result<Vec<Job>, StoreError>;

    /// Jobs by document.
    async fn scan_jobs(&self, after: Option<&DocumentId>, limit: usize) -> Result<Vec<Job>, StoreError>;

    /// Chunks by id, text included.
    async fn scan_chunks(&self, after: Option<&ChunkId>, limit: usize) -> Result<Vec<Chunk>, StoreError>;

    /// Renewals by chunk.
    async fn scan_renewals(&self, after: Option<&ChunkId>, limit: usize) -> Result<Vec<Renewal>, StoreError>;

    /// Situations by chunk.
    async fn scan_situations(
        &self,
        after: Option<&ChunkId>,
        limit: usize,
    ) -> Result<Vec<Situation>, StoreError>;

    /// Extractions by key.
    async fn scan_extractions(
        &self,
        after: Option<&ExtractionKey>,
        limit: usize,
    ) -> Result<Vec<Extraction>, StoreError>;

    /// Mentions by (chunk, ordinal).
    async fn scan_mentions(
        &self,
        after: Option<(&ChunkId, u32)>,
        limit: usize,
    ) -> Result<Vec<Mention>, StoreError>;

    /// Facts by (chunk, ordinal).
    async fn scan_facts(&self, after: Option<(&ChunkId, u32)>, limit: usize)
    -> Result<Vec<Fact>, StoreError>;

    /// Decisions by (order, id), undone ones included.
    async fn scan_decisions(
        &self,
        after: Option<(u64, &DecisionId)>,
        limit: usize,
    ) -> Result<Vec<Decision>, StoreError>;

    /// Entities by key.
    async fn scan_entities(&self, after: Option<&EntityKey>, limit: usize)
    -> Result<Vec<Entity>, StoreError>;

    /// Relations by key.
    async fn scan_relations(
        &self,
        after: Option<&RelationKey>,
        limit: usize,
    ) -> Result<Vec<Relation>, StoreError>;

    /// Summaries by (owner, key).
    async fn scan_summaries(
        &self,
        after: Option<(&GraphKey, &str)>,
        limit: usize,
    ) -> Result<Vec<(GraphKey, Summary)>, StoreError>;

    /// Nodes of one level of a layer by key, or those of all levels.
    async fn scan_nodes(
        &self,
        layer: &LayerName,
        level: Option<u32>,
        after: Option<&NodeKey>,
        limit: usize,
    ) -> Result<Vec<LayerNode>, StoreError>;

    /// Entities and relations that are stale, by key ([`Batch::set_stale`]).
    async fn scan_stale(&self, after: Option<&GraphKey>, limit: usize) -> Result<Vec<GraphKey>, StoreError>;

    /// Vector entries of `kind`, by id.
    async fn scan_vectors(
        &self,
        kind: VectorKind,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<VectorEntry>, StoreError>;

    /// Cached values by kind and key.
    async fn cached(&self, keys: &[(CacheKind, ContentHash)]) -> Result<Vec<Option<Vec<u8>>>, StoreError>;

    /// Size of the cache for every kind, in order.
    async fn cache_sizes(&self) -> Result<Vec<CacheSize>, StoreError>;

    /// Ledger rows in order, after the first `skip`.
    async fn scan_calls(&self, skip: u64, limit: usize) -> Result<Vec<Call>, StoreError>;
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
    /// Entities and relations that are stale.
    pub stale: u64,
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
    /// Chunks whose situation failed.
    pub unsituated: u32,
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

/// The embedding space of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbeddingSpec {
    /// The embedder's name including prefixes.
    pub model: String,
    /// Length of its vectors.
    pub dimensions: u32,
}

/// The kind of an embedded item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VectorKind {
    /// A chunk; ids are [`ChunkId`]s.
    Chunk,
    /// An entity; ids are [`EntityKey`]s.
    Entity,
    /// A relation; ids are printed [`RelationKey`]s.
    Relation,
    /// A node of a layer; ids are [`NodeKey`]s.
    Node,
}

impl VectorKind {
    /// All kinds, in order.
    pub const ALL: [Self; 4] = [Self::Chunk, Self::Entity, Self::Relation, Self::Node];
}

/// The identity of a vector.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct VectorEntry {
    /// Kind of the embedded item.
    pub kind: VectorKind,
    /// Its id.
    pub id: String,
    /// Hash of the embedded text; the same text is not embedded again.
    pub inputs_hash: ContentHash,
}

/// A batch of nearest-neighbour searches.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorQuery {
    /// Kind of entries to search.
    pub kind: VectorKind,
    /// The query vectors, each with the space's dimensions.
    pub vectors: Vec<Vec<f32>>,
    /// Maximum hits per vector.
    pub limit: usize,
    /// Minimum cosine.
    pub min_score: f32,
    /// Restricts the search to these entries; `None` for all. Other entries do not count towards `limit`.
    pub within: Option<Arc<Allowed>>,
}

/// The kind of entries in a full-text search.
pub type TextKind = VectorKind;

/// A full-text search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextQuery {
    /// Kind of entries: chunk texts with their situating texts; entity names and descriptions; the entities,
    /// keywords and descriptions of relations; or titles and texts of nodes.
    pub kind: TextKind,
    /// The words.
    pub text: String,
    /// Maximum hits.
    pub limit: usize,
    /// Restricts the search to these entries; `None` for all. Other entries do not count towards `limit`, but they
    /// do count in the frequency of words.
    pub within: Option<Arc<Allowed>>,
}

/// Results of several searches, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// For each vector query and each of its vectors, the nearest entries.
    pub by_vector: Vec<Vec<Vec<VectorHit>>>,
    /// For each text query: the best matches.
    pub by_text: Vec<Vec<VectorHit>>,
}

/// A scored entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VectorHit {
    /// The entry's id.
    pub id: String,
    /// Cosine or BM25 score.
    pub score: f32,
}

/// A rebuildable index beside the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Projection {
    /// Name, such as `full_text`.
    pub name: String,
    /// The revision it is up to date with.
    pub watermark: Revision,
    /// Number of entries.
    pub entries: u64,
}

/// Why a store operation failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A precondition of the batch did not hold; nothing was written. Read again and retry.
    #[error("commit refused: {what}")]
    Conflict {
        /// The precondition.
        what: String,
    },
    /// The batch violates the store's rules, which is a bug of the caller; nothing was written.
    #[error("commit refused as invalid: {what}")]
    Invalid {
        /// The violation.
        what: String,
    },
    /// The vectors belong to another space than the workspace's.
    #[error("the workspace's vectors are from {expected}, not from {found}")]
    EmbeddingMismatch {
        /// The workspace's model and dimension.
        expected: String,
        /// The vectors' model and dimension.
        found: String,
    },
    /// The file was written by a later release.
    #[error("{path} has schema version {found}; this release reads up to {supported}")]
    Newer {
        /// The file.
        path: String,
        /// Its version.
        found: u32,
        /// The latest supported version.
        supported: u32,
    },
    /// The file is damaged or not a Graphloom store.
    #[error("reading {path}: {what}")]
    Corrupt {
        /// The file.
        path: String,
        /// The damage.
        what: String,
    },
    /// Another process holds the workspace; nothing was written.
    #[error("{path} is in use by {}", holder.as_deref().unwrap_or("another process"))]
    Busy {
        /// The file.
        path: String,
        /// The process that holds it, if known.
        holder: Option<String>,
    },
    /// The disk is full; nothing was written.
    #[error("the disk of {path} is full")]
    DiskFull {
        /// The file.
        path: String,
    },
    /// The file or its folder is read-only; nothing was written.
    #[error("{path} cannot be written: it, its folder or its disk is read-only for this user")]
    ReadOnly {
        /// The file.
        path: String,
    },
    /// The disk failed to read or write; a commit that failed this way wrote nothing.
    #[error("the disk of {path} failed: {what}")]
    DiskFailed {
        /// The file.
        path: String,
        /// The operation and the system's error.
        what: String,
    },
    /// Committed data is missing: a file of the store is missing or older than it was.
    #[error("reading {path}: {what}")]
    Lost {
        /// The file.
        path: String,
        /// What is missing.
        what: String,
    },
    /// A file of the store was moved, deleted or replaced while open. This handle writes nothing more, since it
    /// would be lost.
    #[error("{path} was moved, deleted or replaced while it was open; no further changes are written")]
    Gone {
        /// The missing file.
        path: String,
    },
    /// The database server cannot be reached. Whether a commit that failed this way was applied is unknown: read again.
    #[error("{database} is not available: {what}")]
    Unavailable {
        /// Its address, without a password.
        database: String,
        /// The operation and the cause.
        what: String,
    },
    /// The disk or the database failed.
    #[error("{operation}")]
    Backend {
        /// The operation.
        operation: String,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl StoreError {
    /// Whether to read again and retry.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. })
    }

    /// Whether the same call can succeed later without any change.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Conflict { .. } | Self::Busy { .. } | Self::Unavailable { .. } => true,
            Self::DiskFull { .. }
            | Self::ReadOnly { .. }
            | Self::DiskFailed { .. }
            | Self::Invalid { .. }
            | Self::EmbeddingMismatch { .. }
            | Self::Newer { .. }
            | Self::Corrupt { .. }
            | Self::Lost { .. }
            | Self::Gone { .. }
            | Self::Backend { .. } => false,
        }
    }

    /// A remedy, if known, without reference to a user interface.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Newer { .. } => Some("update graphloom, or restore the backup beside the file".to_owned()),
            Self::EmbeddingMismatch { .. } => {
                Some("use the embedder the workspace was built with, or another workspace".to_owned())
            }
            Self::Corrupt { .. } => {
                Some("repair the workspace, or restore a backup".to_owned())
            }
            Self::Lost { .. } => Some(
                "restore the file and its write-ahead log (-wal), or a newer backup; or repair the workspace and accept \
                 the loss"
                    .to_owned(),
            ),
            Self::Gone { .. } => {
                Some("restore the file, or stop this program and start it again".to_owned())
            }
            Self::Busy { .. } => Some("wait until that process is done, or stop it, and try again".to_owned()),
            Self::DiskFull { .. } => Some("free some space on that disk and try again".to_owned()),
            Self::ReadOnly { .. } => {
                Some("allow this user to write the file and its folder, or copy both to a writable place".to_owned())
            }
            Self::DiskFailed { .. } => {
                Some("check the system's log for disk errors, and try again".to_owned())
            }
            Self::Unavailable { .. } => {
                Some("check that the database runs and that its address, user and password are right".to_owned())
            }
            Self::Conflict { .. } | Self::Invalid { .. } | Self::Backend { .. } => None,
        }
    }
}
