//! Batches: all changes of one unit of work.

use std::collections::BTreeMap;

use crate::{
    CacheEntry, CacheKind, Call, Chunk, ChunkContext, ChunkExtraction, ChunkId, Claim, Conversation,
    ConversationId, Decision, Document, DocumentId, EmbeddingSpec, Entity, EntityKey, Extraction, Fact,
    GraphKey, ItemKind, Job, Layer, LayerName, LayerNode, Mention, NewExchange, NodeKey, QueueState,
    Relation, RelationKey, Renewal, Revision, SetOriginal, Summary, TrackId, VectorEntry,
};

/// Changes that are applied together or not at all.
///
/// Fields are applied in the order of declaration, so one batch can remove a document and put its next version. Putting a row
/// replaces the row with the same key. Removing something that does not exist is not an error.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// Preconditions. If one does not hold, the commit fails with [`crate::StoreError::Conflict`].
    pub require: Vec<Require>,
    /// Whether to remove all vectors and their embedding space first, so that `embedding` can set another
    /// one. Counts as a change of the graph.
    pub replace_embedding: bool,
    /// The embedding space of the workspace, set once, before the first vector.
    pub embedding: Option<EmbeddingSpec>,
    /// The models and settings that the workspace is built with from now on. They replace the stored ones.
    /// Use [`Require::SettingsAre`] to check what they replace.
    pub set_settings: Option<BTreeMap<String, String>>,
    /// Documents to remove, with their text, original, job, chunks, chunk vectors, chunk contexts, mentions,
    /// facts and claims. Also removes extractions that no remaining chunk or renewal uses, the answers of
    /// exchanges that rest on one of the documents, and the answers of all later exchanges in the same
    /// conversation. Entities and relations are views, which the caller must put, remove or mark. A batch
    /// that leaves one unchanged without evidence fails with [`crate::StoreError::Invalid`].
    pub remove_documents: Vec<DocumentId>,
    /// Documents to put.
    pub put_documents: Vec<NewDocument>,
    /// Originals of existing documents to set, by document.
    pub set_originals: Vec<SetOriginal>,
    /// Staged documents that become live.
    pub activate_documents: Vec<DocumentId>,
    /// Jobs to put, by document.
    pub put_jobs: Vec<Job>,
    /// Documents queued by a run. The entries of removed documents are removed too.
    pub put_tracks: Vec<(TrackId, DocumentId)>,
    /// Pauses or resumes the queue.
    pub set_queue: Option<QueueState>,
    /// Chunks to put. Their `text` must equal their slice of the document's text.
    pub put_chunks: Vec<Chunk>,
    /// Extractions to put, by key.
    pub put_extractions: Vec<Extraction>,
    /// Extraction states of existing chunks. An extraction that no chunk or renewal uses any more is removed.
    pub set_extractions: Vec<(ChunkId, ChunkExtraction)>,
    /// Renewals to end, by chunk. Unused extractions are removed as with `set_extractions`.
    pub remove_renewals: Vec<ChunkId>,
    /// Renewals of existing chunks to put, by chunk.
    pub put_renewals: Vec<Renewal>,
    /// Chunks whose context is removed.
    pub remove_chunk_contexts: Vec<ChunkId>,
    /// Contexts of existing chunks to put, by chunk. Full-text search uses them immediately. The caller must
    /// put the vectors of chunks whose indexed text changes.
    pub put_chunk_contexts: Vec<ChunkContext>,
    /// Decisions to add. The caller must derive the affected views again.
    pub put_decisions: Vec<Decision>,
    /// Chunks whose mentions, facts and claims are removed before new ones are put.
    pub clear_graph_of: Vec<ChunkId>,
    /// Mentions to put, by chunk and ordinal.
    pub put_mentions: Vec<Mention>,
    /// Facts to put, by chunk and ordinal.
    pub put_facts: Vec<Fact>,
    /// Claims to put, by chunk and ordinal.
    pub put_claims: Vec<Claim>,
    /// Entities to remove, with their vectors, summaries and stale marks.
    pub remove_entities: Vec<EntityKey>,
    /// Entities to put.
    pub put_entities: Vec<Entity>,
    /// Relations to remove, with their vectors, summaries and stale marks.
    pub remove_relations: Vec<RelationKey>,
    /// Relations to put.
    pub put_relations: Vec<Relation>,
    /// All summaries of an entity or relation. They replace the existing ones.
    pub set_summaries: Vec<(GraphKey, Vec<Summary>)>,
    /// Whether an entity or relation is stale: its counts are current, but its description is not and must be derived again.
    pub set_stale: Vec<(GraphKey, bool)>,
    /// Whether the batch changes input of layers other than the graph: vectors of chunks that are in the
    /// graph, or which chunks are in the graph. Counts as a change of the graph.
    pub outdates_layers: bool,
    /// Layers to remove with their nodes.
    pub remove_layers: Vec<LayerName>,
    /// Layers to put, by name.
    pub put_layers: Vec<Layer>,
    /// Nodes to remove, with their vectors and with the nodes that have them as members. Removing a chunk or
    /// an entity removes the nodes that have it as a member in the same way.
    pub remove_nodes: Vec<NodeKey>,
    /// Nodes of existing layers to put, by key. Their members must exist once all of these nodes are put.
    /// Full-text search uses them immediately.
    pub put_nodes: Vec<LayerNode>,
    /// Vectors to put, by kind and id.
    pub put_vectors: Vec<VectorRow>,
    /// Ledger rows to append.
    pub append_calls: Vec<Call>,
    /// Kinds of cache entries to remove.
    pub clear_caches: Vec<CacheKind>,
    /// Cache entries to put, by kind and key. Each becomes the newest of its kind. If [the kind is
    /// bounded](CacheKind::is_bounded), only its newest entries within [`MAX_CACHE_ENTRIES`](crate::MAX_CACHE_ENTRIES) and
    /// [`MAX_CACHE_BYTES`](crate::MAX_CACHE_BYTES) are kept.
    pub put_cached: Vec<CacheEntry>,
    /// Conversations to remove, with their exchanges.
    pub remove_conversations: Vec<ConversationId>,
    /// Conversations to put, by id.
    pub put_conversations: Vec<Conversation>,
    /// Exchanges of existing conversations to put, by conversation and position; see [`NewExchange`].
    pub put_exchanges: Vec<NewExchange>,
}

impl Batch {
    /// True if the batch changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self { require: self.require.clone(), ..Self::default() }
    }

    /// True if the batch changes evidence in the graph, a view of it, or anything else that layers are derived from.
    pub fn touches_graph(&self) -> bool {
        !(self.remove_documents.is_empty()
            && self.put_decisions.is_empty()
            && self.clear_graph_of.is_empty()
            && self.put_mentions.is_empty()
            && self.put_facts.is_empty()
            && self.put_claims.is_empty()
            && self.remove_entities.is_empty()
            && self.put_entities.is_empty()
            && self.remove_relations.is_empty()
            && self.put_relations.is_empty()
            && self.set_stale.is_empty()
            && !self.outdates_layers
            && !self.replace_embedding)
    }

    /// True if the batch changes documents, their jobs or chunks, or the graph.
    pub fn touches_evidence(&self) -> bool {
        self.touches_graph()
            || !(self.put_documents.is_empty()
                && self.activate_documents.is_empty()
                && self.put_jobs.is_empty()
                && self.put_chunks.is_empty()
                && self.set_extractions.is_empty()
                && self.remove_chunk_contexts.is_empty()
                && self.put_chunk_contexts.is_empty())
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
    /// The document's job is exactly this: state, lease and number of claims. Every change of a job is a compare-and-swap with
    /// this condition. The number of claims distinguishes two claims by the same worker.
    JobIs(Job),
    /// The chunk exists and has this extraction state.
    ExtractionIs {
        /// The chunk.
        chunk: ChunkId,
        /// Its extraction state.
        extraction: ChunkExtraction,
    },
    /// The workspace has exactly these settings; empty if none may be stored.
    SettingsAre(BTreeMap<String, String>),
    /// The layer is exactly this; `None` if there must be none. Every change of a layer that is being derived
    /// is a compare-and-swap with this condition.
    LayerIs {
        /// Its name.
        name: LayerName,
        /// The layer.
        layer: Option<Layer>,
    },
    /// No commit after this revision changed the graph ([`Batch::touches_graph`]), so views derived from a
    /// snapshot at this revision are still valid.
    GraphUnchangedSince(Revision),
    /// There was no commit after this revision.
    UnchangedSince(Revision),
    /// The source has exactly these live and staged documents. For batches that put or remove one of them,
    /// because these depend on its visibility and metadata.
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
    /// The embedded item.
    pub entry: VectorEntry,
    /// The vector. Its length equals the dimensions of the embedding space.
    pub vector: Vec<f32>,
}

impl VectorRow {
    /// Returns the kind of the embedded item.
    pub fn kind(&self) -> ItemKind {
        self.entry.item.kind()
    }
}
