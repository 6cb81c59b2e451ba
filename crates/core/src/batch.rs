//! The write verb's argument: everything one unit of work changes.

use std::collections::BTreeMap;

use crate::{
    CacheEntry, CacheKind, Call, Chunk, ChunkExtraction, ChunkId, Decision, Document, DocumentId,
    EmbeddingSpec, Entity, EntityKey, Extraction, Fact, GraphKey, Job, Mention, QueueState, Relation,
    RelationKey, Renewal, Revision, Situation, Summary, TrackId, VectorEntry, VectorKind,
};

/// Changes that are applied together or not at all.
///
/// Fields are applied in the order they stand here, so a batch may remove a document and put its next version.
/// Putting a row whose key exists replaces it. Naming something unknown in a removal is no error: a removal says
/// how things must be afterwards.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// What must be true, else the commit is refused with [`crate::StoreError::Conflict`].
    pub require: Vec<Require>,
    /// The embedding space of the workspace, set once, before the first vector.
    pub embedding: Option<EmbeddingSpec>,
    /// The models and settings that the workspace is built with from now on, in place of those before. Compare with
    /// [`Require::SettingsAre`] what they replace.
    pub set_settings: Option<BTreeMap<String, String>>,
    /// Documents to remove with their text, job, chunks, chunk vectors, situations, mentions and facts, and with extractions
    /// that no remaining chunk or renewal names. Entities and relations are views: the caller puts, removes or marks them
    /// itself, and a batch that leaves one without evidence as it was is refused with [`crate::StoreError::Invalid`].
    pub remove_documents: Vec<DocumentId>,
    /// Documents to put.
    pub put_documents: Vec<NewDocument>,
    /// Staged documents that become live.
    pub activate_documents: Vec<DocumentId>,
    /// Jobs to put, by document.
    pub put_jobs: Vec<Job>,
    /// Documents that a run queued; those of a document that is removed go with it.
    pub put_tracks: Vec<(TrackId, DocumentId)>,
    /// Whether the jobs are worked on from now on.
    pub set_queue: Option<QueueState>,
    /// Chunks to put. Their `text` must equal the slice of the document's text.
    pub put_chunks: Vec<Chunk>,
    /// Extractions to put, by key.
    pub put_extractions: Vec<Extraction>,
    /// Extraction states of existing chunks. An extraction that a chunk named before, and that no chunk and no renewal
    /// names any more, is removed.
    pub set_extractions: Vec<(ChunkId, ChunkExtraction)>,
    /// Renewals that end, by chunk; extractions go with them as with `set_extractions`.
    pub remove_renewals: Vec<ChunkId>,
    /// Renewals of existing chunks to put, by chunk.
    pub put_renewals: Vec<Renewal>,
    /// Chunks that are situated no longer.
    pub remove_situations: Vec<ChunkId>,
    /// Situations of existing chunks to put, by chunk. Full-text search reads them at once; the caller puts the vectors of
    /// chunks whose text changes with them.
    pub put_situations: Vec<Situation>,
    /// Decisions to add. The caller derives again what they change.
    pub put_decisions: Vec<Decision>,
    /// Chunks whose mentions and facts are removed before new ones are put.
    pub clear_graph_of: Vec<ChunkId>,
    /// Mentions to put, by chunk and ordinal.
    pub put_mentions: Vec<Mention>,
    /// Facts to put, by chunk and ordinal.
    pub put_facts: Vec<Fact>,
    /// Entities to remove, with their vectors, summaries and stale marks.
    pub remove_entities: Vec<EntityKey>,
    /// Entities to put.
    pub put_entities: Vec<Entity>,
    /// Relations to remove, with their vectors, summaries and stale marks.
    pub remove_relations: Vec<RelationKey>,
    /// Relations to put.
    pub put_relations: Vec<Relation>,
    /// The whole summary memo of an entity or relation; replaces what it had.
    pub set_summaries: Vec<(GraphKey, Vec<Summary>)>,
    /// Whether an entity or relation is stale: its counts are those of its evidence, its words are still those of less
    /// evidence, and it is to be derived again.
    pub set_stale: Vec<(GraphKey, bool)>,
    /// Vectors to put, by kind and id.
    pub put_vectors: Vec<VectorRow>,
    /// Ledger rows to append.
    pub append_calls: Vec<Call>,
    /// Kinds of remembered answers to forget.
    pub clear_caches: Vec<CacheKind>,
    /// Answers to remember, by kind and key; each becomes the newest of its kind. Of each kind the newest entries within
    /// [`MAX_CACHE_ENTRIES`](crate::MAX_CACHE_ENTRIES) and [`MAX_CACHE_BYTES`](crate::MAX_CACHE_BYTES) stay.
    pub put_cached: Vec<CacheEntry>,
}

impl Batch {
    /// Whether the batch changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self { require: self.require.clone(), ..Self::default() }
    }

    /// Whether the batch changes evidence in the graph or a view of it.
    pub fn touches_graph(&self) -> bool {
        !(self.remove_documents.is_empty()
            && self.put_decisions.is_empty()
            && self.clear_graph_of.is_empty()
            && self.put_mentions.is_empty()
            && self.put_facts.is_empty()
            && self.remove_entities.is_empty()
            && self.put_entities.is_empty()
            && self.remove_relations.is_empty()
            && self.put_relations.is_empty()
            && self.set_stale.is_empty())
    }
}

/// A document with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDocument {
    /// The document.
    pub document: Document,
    /// Its text, `document.text_bytes` long.
    pub text: String,
}

/// A precondition of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Require {
    /// The document's job is exactly this: its state, lease and number of claims. Whoever changes a job, or what a job
    /// stands for, compares and swaps through it; the number of claims tells two claims by one worker apart.
    JobIs(Job),
    /// The chunk exists and this became of its extraction.
    ExtractionIs {
        /// The chunk.
        chunk: ChunkId,
        /// What became of its extraction.
        extraction: ChunkExtraction,
    },
    /// The workspace is built with exactly these settings; empty where none are stored.
    SettingsAre(BTreeMap<String, String>),
    /// No commit after this revision touched the graph ([`Batch::touches_graph`]), so views derived from a snapshot
    /// at this revision are still right.
    GraphUnchangedSince(Revision),
    /// The live and staged documents of this source are exactly these, as they are here: a batch that puts or removes
    /// one of them depends on whether it is live, and on its metadata.
    SourceIs {
        /// The source.
        source: String,
        /// All documents of the source, in any order.
        documents: Vec<Document>,
    },
}

/// A vector to store.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorRow {
    /// What it is the vector of.
    pub entry: VectorEntry,
    /// The vector; its length must be the space's dimension.
    pub vector: Vec<f32>,
}

impl VectorRow {
    /// The kind of thing it is the vector of.
    pub fn kind(&self) -> VectorKind {
        self.entry.kind
    }
}
