//! The store port: one consistent read view, one atomic write.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{
    Allowed, Batch, CacheKind, CacheSize, Call, Chunk, ChunkExtraction, ChunkId, ContentHash, Decision,
    DecisionId, Document, DocumentId, Entity, EntityKey, Extraction, ExtractionKey, Fact, GraphKey, Job,
    LinkGraph, Mention, QueueState, RejectReason, Relation, RelationKey, Renewal, Revision, Situation,
    SituationKey, StatusKind, Summary, Timestamp, TrackId, WorkspaceId,
};

/// One workspace's evidence and views.
///
/// A handle is opened for one workspace and reaches no other, so no call can forget its scope.
#[async_trait]
pub trait Store: Send + Sync {
    /// The workspace this handle is bound to.
    fn workspace(&self) -> &WorkspaceId;

    /// A consistent read view of the latest commit. It never changes and never waits for writers; holding one for
    /// long keeps old pages alive, so drop it before waiting for a model.
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError>;

    /// Applies `batch` wholly or not at all and returns the new revision. When this returns, the change is durable.
    /// Commits of one handle are applied in the order they were called, a dropped future's too; an empty batch changes
    /// nothing and returns the current revision once those before it are applied.
    async fn commit(&self, batch: Batch) -> Result<Revision, StoreError>;

    /// What is known to be wrong with the store's files; `None` for a store that was not seen to be damaged.
    fn fault(&self) -> Option<String>;

    /// Waits for the turn to change the graph, which one holder at a time has among all handles and processes of the
    /// workspace. It is given back when it is dropped, and when its holder ends, however it ends. Whoever waits is not
    /// passed over for ever by others who take it again and again; an error that [is a conflict](StoreError::is_conflict)
    /// where it does not come for minutes.
    ///
    /// The turn prevents nothing: commits are refused by [`Batch::require`] alone. Who changes the graph takes it, for the
    /// commit at least, so that a change that was overtaken can be made while nobody else makes one.
    async fn graph_turn(&self) -> Result<GraphTurn, StoreError>;
}

/// The turn to change the graph, for as long as it lives.
pub type GraphTurn = Box<dyn Any + Send + Sync>;

/// A consistent read view. Every list answer has one place per question, in order; `None` where unknown.
///
/// Scans return rows in ascending key order, strictly after `after`, at most `limit` of them; fewer than `limit`
/// means the end.
#[async_trait]
pub trait Snapshot: Send + Sync {
    /// The revision this view shows.
    fn revision(&self) -> Revision;

    /// The last revision whose commit touched the graph.
    fn graph_revision(&self) -> Revision;

    /// Row counts.
    async fn counts(&self) -> Result<StoreCounts, StoreError>;

    /// The workspace's embedding space; `None` before the first vector.
    async fn embedding(&self) -> Result<Option<EmbeddingSpec>, StoreError>;

    /// The models and settings that the workspace is built with, by name; empty where none are stored. What they mean is
    /// the caller's matter. They are no part of the canonical state.
    async fn settings(&self) -> Result<BTreeMap<String, String>, StoreError>;

    /// Documents, staged ones included.
    async fn documents(&self, ids: &[DocumentId]) -> Result<Vec<Option<Document>>, StoreError>;

    /// All documents, live and staged, of each source; ascending id.
    async fn documents_of_sources(&self, sources: &[String]) -> Result<Vec<Vec<Document>>, StoreError>;

    /// All documents, live and staged, whose text hashes to each; ascending id.
    async fn documents_of_contents(&self, hashes: &[ContentHash]) -> Result<Vec<Vec<Document>>, StoreError>;

    /// How many documents have each status, staged ones included; no entry where there is none.
    async fn status_counts(&self) -> Result<BTreeMap<StatusKind, u64>, StoreError>;

    /// Whole texts.
    async fn texts(&self, ids: &[DocumentId]) -> Result<Vec<Option<String>>, StoreError>;

    /// Jobs by document.
    async fn jobs(&self, documents: &[DocumentId]) -> Result<Vec<Option<Job>>, StoreError>;

    /// Whether the jobs are worked on.
    async fn queue(&self) -> Result<QueueState, StoreError>;

    /// The documents that each run queued and that are still there, ascending; none for an unknown run.
    async fn documents_of_tracks(&self, tracks: &[TrackId]) -> Result<Vec<Vec<DocumentId>>, StoreError>;

    /// The runs that queued each document, ascending.
    async fn tracks_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<TrackId>>, StoreError>;

    /// Each document's chunks that are asked about anew, by ordinal.
    async fn renewals_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<Renewal>>, StoreError>;

    /// [Open](crate::JobState::is_open) jobs whose lease is absent or expired at `now`, oldest
    /// first (`created_at`, then document), at most `limit`.
    async fn claimable_jobs(&self, now: Timestamp, limit: usize) -> Result<Vec<Job>, StoreError>;

    /// Chunks, text included.
    async fn chunks(&self, ids: &[ChunkId]) -> Result<Vec<Option<Chunk>>, StoreError>;

    /// Each document's chunks by ordinal, text included.
    async fn chunks_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<Chunk>>, StoreError>;

    /// The ids of each document's chunks by ordinal. Cheaper than [`Snapshot::chunks_of`].
    async fn chunk_ids_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<ChunkId>>, StoreError>;

    /// How many chunks each document has, and what became of them. Cheaper than [`Snapshot::extraction_states_of`].
    async fn chunk_counts_of(&self, documents: &[DocumentId]) -> Result<Vec<ChunkCounts>, StoreError>;

    /// How far the extraction of each document's chunks is, by ordinal. Cheaper than [`Snapshot::chunks_of`].
    async fn extraction_states_of(
        &self,
        documents: &[DocumentId],
    ) -> Result<Vec<Vec<(u32, ChunkExtraction)>>, StoreError>;

    /// Extractions by key.
    async fn extractions(&self, keys: &[ExtractionKey]) -> Result<Vec<Option<Extraction>>, StoreError>;

    /// How many pieces of the stored extractions' answers were no records, by reason; no entry where there is none.
    async fn reject_counts(&self) -> Result<BTreeMap<RejectReason, u64>, StoreError>;

    /// How many of the stored extractions have no record, so that nothing was named.
    async fn empty_extractions(&self) -> Result<u64, StoreError>;

    /// Situations of chunks; `None` where a chunk is not situated.
    async fn situations(&self, chunks: &[ChunkId]) -> Result<Vec<Option<Situation>>, StoreError>;

    /// The situating text that any chunk has under each key; `None` where none has one.
    async fn situating_texts(&self, keys: &[SituationKey]) -> Result<Vec<Option<String>>, StoreError>;

    /// Each document's chunks whose situating failed: ordinal and reason, by ordinal.
    async fn failed_situations_of(
        &self,
        documents: &[DocumentId],
    ) -> Result<Vec<Vec<(u32, String)>>, StoreError>;

    /// How many chunks are situated by whom, failed ones included; no entry where there is none.
    async fn situation_counts(&self) -> Result<BTreeMap<String, u64>, StoreError>;

    /// Each entity's live mentions by (chunk, ordinal), those set aside included.
    async fn mentions_of(&self, entities: &[EntityKey]) -> Result<Vec<Vec<Mention>>, StoreError>;

    /// Each relation's live facts by (chunk, ordinal), those set aside included.
    async fn facts_of(&self, relations: &[RelationKey]) -> Result<Vec<Vec<Fact>>, StoreError>;

    /// Each entity's live facts, as either end, by (relation, chunk, ordinal), those set aside included.
    async fn facts_touching(&self, entities: &[EntityKey]) -> Result<Vec<Vec<Fact>>, StoreError>;

    /// Everything that the mentions and facts of these chunks count for, sorted, each once: entities of mentions,
    /// relations of facts, and both ends of those relations. What is set aside counts for nothing.
    async fn graph_keys_of(&self, chunks: &[ChunkId]) -> Result<Vec<GraphKey>, StoreError>;

    /// Entities by key.
    async fn entities(&self, keys: &[EntityKey]) -> Result<Vec<Option<Entity>>, StoreError>;

    /// Relations by key.
    async fn relations(&self, keys: &[RelationKey]) -> Result<Vec<Option<Relation>>, StoreError>;

    /// Each entity's relations by key.
    async fn relations_of(&self, entities: &[EntityKey]) -> Result<Vec<Vec<Relation>>, StoreError>;

    /// Each entity's degree (its live relations); 0 where unknown. Cheaper than [`Snapshot::entities`].
    async fn degrees(&self, entities: &[EntityKey]) -> Result<Vec<u32>, StoreError>;

    /// The distinct chunks behind each entity (mentions) or relation (facts), ascending, at most `limit` each; none for
    /// what is set aside, and of chunks only those `within`.
    async fn chunks_behind(
        &self,
        keys: &[GraphKey],
        within: Option<&Allowed>,
        limit: usize,
    ) -> Result<Vec<Vec<ChunkId>>, StoreError>;

    /// Each one's summary memo, by key.
    async fn summaries(&self, keys: &[GraphKey]) -> Result<Vec<Vec<Summary>>, StoreError>;

    /// For each query vector the nearest entries of `kind` by cosine: highest score first, ties by ascending id, at
    /// most `limit`, none below `min_score`. Exact, unless the store says from how many entries on it finds nearly all.
    async fn search_vectors(&self, query: &VectorQuery) -> Result<Vec<Vec<VectorHit>>, StoreError>;

    /// Stored vectors; unit length, rounded to the store's precision.
    async fn vectors(&self, kind: VectorKind, ids: &[String]) -> Result<Vec<Option<Vec<f32>>>, StoreError>;

    /// Best matches of the words of `query` by BM25: highest score first, ties by ascending id, at most `limit`.
    /// Syntax characters are ordinary text. Scores compare only within one answer.
    async fn search_text(&self, query: &TextQuery) -> Result<Vec<VectorHit>, StoreError>;

    /// Several searches at once, each answered as [`search_vectors`](Self::search_vectors) and
    /// [`search_text`](Self::search_text) would, in their order. A store that can does them side by side.
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

    /// What leads to what among the chunks of live documents, for walks. Numbers are those of this answer only.
    async fn links(&self) -> Result<Arc<LinkGraph>, StoreError>;

    /// The rebuildable indexes and the revision each has caught up with.
    async fn projections(&self) -> Result<Vec<Projection>, StoreError>;

    /// The documents that `wanted` says yes to, by id, staged ones included. It is asked about every document, in the order
    /// in which the store reads them fastest.
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

    /// Documents by (accepted, id), staged ones included, unlike other scans in descending order: the latest first.
    async fn scan_documents_by_date(
        &self,
        after: Option<(Timestamp, &DocumentId)>,
        limit: usize,
    ) -> Result<Vec<Document>, StoreError>;

    /// Jobs that hold a lease, by document: as many as are worked on, however many there are.
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

    /// Entities and relations that are stale, by key ([`Batch::set_stale`]).
    async fn scan_stale(&self, after: Option<&GraphKey>, limit: usize) -> Result<Vec<GraphKey>, StoreError>;

    /// What vectors there are of `kind`, by id.
    async fn scan_vectors(
        &self,
        kind: VectorKind,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<VectorEntry>, StoreError>;

    /// Remembered values, by kind and key.
    async fn cached(&self, keys: &[(CacheKind, ContentHash)]) -> Result<Vec<Option<Vec<u8>>>, StoreError>;

    /// How much is remembered of every kind, in their order.
    async fn cache_sizes(&self) -> Result<Vec<CacheSize>, StoreError>;

    /// Ledger rows in the order they were appended, after the first `skip`.
    async fn scan_calls(&self, skip: u64, limit: usize) -> Result<Vec<Call>, StoreError>;
}

/// Row counts of a workspace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreCounts {
    /// Documents, staged ones included.
    pub documents: u64,
    /// Chunks.
    pub chunks: u64,
    /// Extractions.
    pub extractions: u64,
    /// Mentions.
    pub mentions: u64,
    /// Facts.
    pub facts: u64,
    /// Decisions, undone ones included.
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
    /// Ledger rows.
    pub calls: u64,
    /// Entities and relations that are stale.
    pub stale: u64,
}

/// A document's chunks by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkCounts {
    /// Chunks.
    pub chunks: u32,
    /// Of these, chunks with an extraction, damaged ones included.
    pub extracted: u32,
    /// Of these, chunks whose extraction failed.
    pub failed: u32,
    /// Of these, chunks of whose extraction records were lost.
    pub damaged: u32,
    /// Of these, chunks whose situating failed.
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
    /// The embedder's name, prefixes included.
    pub model: String,
    /// Length of its vectors.
    pub dimensions: u32,
}

/// What a vector is the vector of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VectorKind {
    /// A chunk; ids are [`ChunkId`]s.
    Chunk,
    /// An entity; ids are [`EntityKey`]s.
    Entity,
    /// A relation; ids are printed [`RelationKey`]s.
    Relation,
}

/// A vector's identity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct VectorEntry {
    /// What it is the vector of.
    pub kind: VectorKind,
    /// Its id.
    pub id: String,
    /// Hash of the embedded text; the same text is not embedded again.
    pub inputs_hash: ContentHash,
}

/// A batch of nearest-neighbour questions.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorQuery {
    /// What to search.
    pub kind: VectorKind,
    /// The query vectors, each of the space's dimension.
    pub vectors: Vec<Vec<f32>>,
    /// Most hits per vector.
    pub limit: usize,
    /// Lowest cosine.
    pub min_score: f32,
    /// The only entries searched; all where `None`. The others take no place among the hits.
    pub within: Option<Arc<Allowed>>,
}

/// What a full-text question searches.
pub type TextKind = VectorKind;

/// A full-text question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextQuery {
    /// What to search: chunk texts with their situating texts; entity names and descriptions; relation ends, keywords and descriptions.
    pub kind: TextKind,
    /// The words.
    pub text: String,
    /// Most hits.
    pub limit: usize,
    /// The only entries searched; all where `None`. The others take no place among the hits, but count for how rare a
    /// word is.
    pub within: Option<Arc<Allowed>>,
}

/// Answers to several searches, each in its place.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// For each vector query, for each of its vectors: the nearest entries.
    pub by_vector: Vec<Vec<Vec<VectorHit>>>,
    /// For each text query: the best matches.
    pub by_text: Vec<Vec<VectorHit>>,
}

/// A scored entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VectorHit {
    /// The entry's id.
    pub id: String,
    /// Cosine, or BM25.
    pub score: f32,
}

/// A rebuildable index beside the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Projection {
    /// Its name, such as `full_text`.
    pub name: String,
    /// The revision it shows.
    pub watermark: Revision,
    /// Entries it holds.
    pub entries: u64,
}

/// Why the store did not answer.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A precondition of the batch did not hold; nothing was written. Read again and retry.
    #[error("commit refused: {what}")]
    Conflict {
        /// Which precondition.
        what: String,
    },
    /// The batch contradicts the store's rules; nothing was written. A fault of the caller.
    #[error("commit refused as invalid: {what}")]
    Invalid {
        /// What is wrong.
        what: String,
    },
    /// The vectors are of another space than the workspace's.
    #[error("the workspace's vectors are from {expected}, not from {found}")]
    EmbeddingMismatch {
        /// The workspace's model and dimension.
        expected: String,
        /// The vectors' model and dimension.
        found: String,
    },
    /// Written by a later release.
    #[error("{path} has schema version {found}; this release reads up to {supported}")]
    Newer {
        /// The file.
        path: String,
        /// Its version.
        found: u32,
        /// The newest this release knows.
        supported: u32,
    },
    /// The file is damaged or not ours.
    #[error("reading {path}: {what}")]
    Corrupt {
        /// The file.
        path: String,
        /// What is wrong.
        what: String,
    },
    /// Another process holds the workspace; nothing was written.
    #[error("{path} is in use by {}", holder.as_deref().unwrap_or("another process"))]
    Busy {
        /// The file.
        path: String,
        /// The process that holds it, where the system tells.
        holder: Option<String>,
    },
    /// The disk is full; nothing was written.
    #[error("the disk of {path} is full")]
    DiskFull {
        /// The file.
        path: String,
    },
    /// The file or its folder cannot be written; nothing was.
    #[error("{path} cannot be written: it, its folder or its disk is read-only for this user")]
    ReadOnly {
        /// The file.
        path: String,
    },
    /// The disk failed to read or write; a commit that meets this wrote nothing.
    #[error("the disk of {path} failed: {what}")]
    DiskFailed {
        /// The file.
        path: String,
        /// What was being done, and what the system reports.
        what: String,
    },
    /// What was committed is no longer there: the file, or a part of what belongs to it, is missing or older.
    #[error("reading {path}: {what}")]
    Lost {
        /// The file.
        path: String,
        /// What is missing.
        what: String,
    },
    /// A file of the store was moved, deleted or replaced while it was open. What this handle writes would be lost, so
    /// it writes nothing more.
    #[error("{path} was moved, deleted or replaced while it was open; nothing more is written")]
    Gone {
        /// The file that is not in its place.
        path: String,
    },
    /// The disk or the database failed.
    #[error("{operation}")]
    Backend {
        /// What was being done.
        operation: String,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl StoreError {
    /// Whether reading again and repeating can succeed.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. })
    }

    /// Whether the same call can succeed later without any change.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Conflict { .. } | Self::Busy { .. } => true,
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

    /// What the user can do about it, where something can be said.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Newer { .. } => Some("update graphloom, or restore the backup beside the file".to_owned()),
            Self::EmbeddingMismatch { .. } => {
                Some("use the embedder the workspace was built with, or a new --workspace".to_owned())
            }
            Self::Corrupt { .. } => {
                Some("`graphloom check` lists what is damaged, `graphloom repair` mends it".to_owned())
            }
            Self::Lost { .. } => Some(
                "put the file and what belongs to it (-wal) back from where it went or from a backup, or take it as it \
                 is with `graphloom repair --accept-loss`"
                    .to_owned(),
            ),
            Self::Gone { .. } => {
                Some("put the file back, or end this program and start it again".to_owned())
            }
            Self::Busy { .. } => Some("wait until that process is done, or end it, and try again".to_owned()),
            Self::DiskFull { .. } => Some("free some space on that disk and try again".to_owned()),
            Self::ReadOnly { .. } => {
                Some("let this user write the file and its folder, or copy both to where it may".to_owned())
            }
            Self::DiskFailed { .. } => {
                Some("look at the system's log for what is wrong with the disk, and try again".to_owned())
            }
            Self::Conflict { .. } | Self::Invalid { .. } | Self::Backend { .. } => None,
        }
    }
}
