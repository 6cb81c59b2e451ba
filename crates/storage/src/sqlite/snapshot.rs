//! The snapshot: a lock around a connection, and the methods of the port.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use graphloom_core::table::PageOf;
use graphloom_core::{
    CacheKind, CacheSize, Chunk, ChunkContext, ChunkContextKey, ChunkCounts, ChunkExtraction, ChunkId, Claim,
    ContentHash, Conversation, ConversationId, Document, DocumentFilter, DocumentId, DocumentPage,
    DocumentsFound, EmbeddingSpec, Entity, EntityKey, Evidence, Extraction, ExtractionKey, Fact, FilteredIds,
    Graph, GraphKey, Hit, ItemKey, Job, Layer, LayerName, LayerNode, Ledger, Links, Member, Mention, NodeKey,
    OriginalStamp, Projection, Queue, QueueState, RejectReason, Relation, RelationKey, Renewal, Revision,
    Search, SearchRequest, Snapshot, StatusKind, StoreCounts, StoreError, Summary, Timestamp, TrackId,
};
use graphloom_rules::search::{ScoredId, Searches, VectorQuery};
use rusqlite::Connection;

use super::descriptions::Descriptions;
use super::error::Context;
use super::text::Slicer;
use super::{
    Reader, Revisions, Shared, cache, changes, conversations, full_text, layers, listing, originals, read,
    rows, scan,
};
use crate::rules;

pub(super) struct SqliteSnapshot {
    revisions: Revisions,
    shared: Arc<Shared>,
    /// A connection serves one call at a time, and calls are short.
    reader: Mutex<Reader>,
}

impl SqliteSnapshot {
    pub(super) fn new(reader: Reader) -> Self {
        let revisions = reader.revisions;
        Self { revisions, shared: Arc::clone(&reader.shared), reader: Mutex::new(reader) }
    }

    fn nearest(&self, query: &VectorQuery) -> Result<Vec<Vec<ScoredId>>, StoreError> {
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(space) = rows::embedding(&reader.conn).during("reading the embedding space")? else {
            return Ok(vec![Vec::new(); query.vectors.len()]);
        };
        rules::check_query(&space, &query.vectors)?;
        let found = self.shared.vectors.search(&reader.conn, query).during("searching vectors");
        reader.given(found.map_err(|error| self.shared.noting_damage(error))?)
    }

    /// Returns the full-text index, ready for this snapshot.
    fn full_text(&self) -> Result<full_text::IndexView, StoreError> {
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let ready = self.shared.full_text.ready(&reader);
        reader.given(ready.map_err(|error| self.shared.noting_damage(error))?)
    }

    fn read<T>(
        &self,
        operation: &str,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let read = read(&reader.conn).during(operation);
        reader.given(read.map_err(|error| self.shared.noting_damage(error))?)
    }

    /// Returns one result per question.
    fn each<Q, T>(
        &self,
        operation: &str,
        questions: &[Q],
        answer: impl Fn(&Connection, &Q) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        self.read(operation, |conn| questions.iter().map(|question| answer(conn, question)).collect())
    }

    /// Returns one result per question, for rows with descriptions. Neighbours mostly quote the same document.
    fn described<Q, T>(
        &self,
        operation: &str,
        questions: &[Q],
        answer: impl Fn(&Connection, &mut Descriptions<'_>, &Q) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        self.read(operation, |conn| {
            let mut descriptions = Descriptions::new(conn);
            questions.iter().map(|question| answer(conn, &mut descriptions, question)).collect()
        })
    }
}

#[async_trait]
impl Evidence for SqliteSnapshot {
    async fn documents(&self, ids: &[DocumentId]) -> Result<Vec<Option<Document>>, StoreError> {
        self.each("reading documents", ids, read::document)
    }

    async fn documents_of_sources(&self, sources: &[String]) -> Result<Vec<Vec<Document>>, StoreError> {
        self.each("reading sources", sources, |conn, source| read::documents_by(conn, "source", source))
    }

    async fn documents_of_contents(&self, hashes: &[ContentHash]) -> Result<Vec<Vec<Document>>, StoreError> {
        self.each("reading documents by content", hashes, read::documents_of_content)
    }

    async fn documents_matching(&self, filter: &DocumentFilter) -> Result<(Vec<Document>, u64), StoreError> {
        self.read("reading documents", |conn| read::documents_matching(conn, filter))
    }

    async fn texts(&self, ids: &[DocumentId]) -> Result<Vec<Option<String>>, StoreError> {
        self.each("reading texts", ids, read::text)
    }

    async fn originals(&self, ids: &[DocumentId]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        self.each("reading originals", ids, originals::bytes)
    }

    async fn original_stamps(&self, ids: &[DocumentId]) -> Result<Vec<Option<OriginalStamp>>, StoreError> {
        self.each("reading stamps of originals", ids, originals::stamp)
    }

    async fn chunks(&self, ids: &[ChunkId]) -> Result<Vec<Option<Chunk>>, StoreError> {
        self.read("reading chunks", |conn| {
            let mut slicer = Slicer::new(conn);
            ids.iter().map(|id| read::chunk(conn, &mut slicer, id)).collect()
        })
    }

    async fn chunks_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<Chunk>>, StoreError> {
        self.read("reading chunks of documents", |conn| {
            let mut slicer = Slicer::new(conn);
            documents.iter().map(|document| read::chunks_of(conn, &mut slicer, document)).collect()
        })
    }

    async fn chunk_ids_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<ChunkId>>, StoreError> {
        self.read("reading chunk ids", |conn| read::chunk_ids_of(conn, documents))
    }

    async fn chunk_counts_of(&self, documents: &[DocumentId]) -> Result<Vec<ChunkCounts>, StoreError> {
        self.read("counting chunks", |conn| read::chunk_counts_of(conn, documents))
    }

    async fn extraction_states_of(
        &self,
        documents: &[DocumentId],
    ) -> Result<Vec<Vec<(u32, ChunkExtraction)>>, StoreError> {
        self.each("reading extraction states", documents, read::extraction_states_of)
    }

    async fn extractions(&self, keys: &[ExtractionKey]) -> Result<Vec<Option<Extraction>>, StoreError> {
        self.each("reading extractions", keys, read::extraction)
    }

    async fn reject_counts(&self) -> Result<BTreeMap<RejectReason, u64>, StoreError> {
        self.read("counting rejects", read::reject_counts)
    }

    async fn empty_extractions(&self) -> Result<u64, StoreError> {
        self.read("counting extractions without records", read::empty_extractions)
    }

    async fn renewals_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<Renewal>>, StoreError> {
        self.each("reading renewals", documents, read::renewals_of)
    }

    async fn chunk_contexts(&self, chunks: &[ChunkId]) -> Result<Vec<Option<ChunkContext>>, StoreError> {
        self.each("reading situations", chunks, read::chunk_context)
    }

    async fn context_texts(&self, keys: &[ChunkContextKey]) -> Result<Vec<Option<String>>, StoreError> {
        self.each("reading situating texts", keys, read::context_text)
    }

    async fn failed_contexts_of(
        &self,
        documents: &[DocumentId],
    ) -> Result<Vec<Vec<(u32, String)>>, StoreError> {
        self.each("reading failed situations", documents, read::failed_contexts_of)
    }

    async fn chunk_context_counts(&self) -> Result<BTreeMap<String, u64>, StoreError> {
        self.read("counting situations", read::chunk_context_counts)
    }
}

#[async_trait]
impl Graph for SqliteSnapshot {
    async fn mentions_of(&self, entities: &[EntityKey]) -> Result<Vec<Vec<Mention>>, StoreError> {
        self.described("reading mentions", entities, read::mentions_of)
    }

    async fn facts_of(&self, relations: &[RelationKey]) -> Result<Vec<Vec<Fact>>, StoreError> {
        self.described("reading facts", relations, read::facts_of)
    }

    async fn facts_touching(&self, entities: &[EntityKey]) -> Result<Vec<Vec<Fact>>, StoreError> {
        self.described("reading facts of entities", entities, read::facts_touching)
    }

    async fn claims_of(&self, entities: &[EntityKey]) -> Result<Vec<Vec<Claim>>, StoreError> {
        self.read("reading claims of entities", |conn| {
            entities.iter().map(|entity| read::claims_of(conn, entity)).collect()
        })
    }

    async fn graph_keys_of(&self, chunks: &[ChunkId]) -> Result<Vec<GraphKey>, StoreError> {
        self.read("reading the graph of chunks", |conn| read::graph_keys_of(conn, chunks))
    }

    async fn entities(&self, keys: &[EntityKey]) -> Result<Vec<Option<Entity>>, StoreError> {
        self.read("reading entities", |conn| read::entities(conn, keys))
    }

    async fn relations(&self, keys: &[RelationKey]) -> Result<Vec<Option<Relation>>, StoreError> {
        self.read("reading relations", |conn| read::relations(conn, keys))
    }

    async fn relations_of(&self, entities: &[EntityKey]) -> Result<Vec<Vec<Relation>>, StoreError> {
        self.read("reading relations of entities", |conn| read::relations_of(conn, entities))
    }

    async fn degrees(&self, entities: &[EntityKey]) -> Result<Vec<u32>, StoreError> {
        self.each("reading degrees", entities, read::degree)
    }

    async fn chunks_behind(
        &self,
        keys: &[GraphKey],
        within: Option<&FilteredIds>,
        limit: usize,
    ) -> Result<Vec<Vec<ChunkId>>, StoreError> {
        self.read("reading the chunks behind the graph", |conn| {
            read::chunks_behind(conn, keys, within, limit)
        })
    }

    async fn summaries(&self, keys: &[GraphKey]) -> Result<Vec<Vec<Summary>>, StoreError> {
        self.each("reading summaries", keys, read::summaries)
    }

    async fn links(&self) -> Result<Links, StoreError> {
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let links = self.shared.links.of(&reader.conn).during("reading the links of the graph");
        reader.given(links.map_err(|error| self.shared.noting_damage(error))?).map(Links::Whole)
    }

    async fn layers(&self) -> Result<Vec<Layer>, StoreError> {
        self.read("reading layers", layers::layers)
    }

    async fn nodes(&self, keys: &[NodeKey]) -> Result<Vec<Option<LayerNode>>, StoreError> {
        self.each("reading nodes", keys, layers::node)
    }

    async fn nodes_of(&self, members: &[Member]) -> Result<Vec<Vec<NodeKey>>, StoreError> {
        self.each("reading nodes by member", members, layers::nodes_of)
    }

    async fn node_counts(&self, layer: &LayerName) -> Result<BTreeMap<u32, u64>, StoreError> {
        self.read("counting nodes", |conn| layers::node_counts(conn, layer))
    }
}

#[async_trait]
impl Search for SqliteSnapshot {
    async fn embedding(&self) -> Result<Option<EmbeddingSpec>, StoreError> {
        self.read("reading the embedding space", rows::embedding)
    }

    async fn vectors(&self, items: &[ItemKey]) -> Result<Vec<Option<Vec<f32>>>, StoreError> {
        self.read("reading vectors", |conn| read::vectors(conn, items))
    }

    async fn search(&self, requests: &[SearchRequest]) -> Result<Vec<Vec<Hit>>, StoreError> {
        let searches = Searches::of(requests);
        let nearest = || {
            let found = searches.by_vector.iter().map(|(query, _)| self.nearest(query));
            found.collect::<Result<Vec<_>, StoreError>>()
        };
        if searches.by_words.is_empty() {
            return Ok(searches.hits(nearest()?, Vec::new()));
        }
        let index = self.full_text()?;
        let full_text = &self.shared.full_text;
        let matching = || {
            let found =
                searches.by_words.iter().map(|(query, _)| full_text.search(&self.reader, &index, query));
            found.collect::<Result<Vec<_>, StoreError>>()
        };
        if searches.by_vector.is_empty() {
            return Ok(searches.hits(Vec::new(), matching()?));
        }
        // Word search needs the connection only at its beginning, vector search all the time.
        let (by_vector, by_words) = std::thread::scope(|threads| {
            let beside = std::thread::Builder::new().name("words".to_owned()).spawn_scoped(threads, matching);
            let by_vector = nearest();
            let by_words = match beside {
                Ok(beside) => beside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                // The system could not start a thread.
                Err(_) => matching(),
            };
            (by_vector, by_words)
        });
        Ok(searches.hits(by_vector?, by_words?))
    }

    async fn projections(&self) -> Result<Vec<Projection>, StoreError> {
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = changes::newest(&reader.conn).during("reading the change log")?;
        Ok(vec![self.shared.full_text.projection(newest, self.revisions.latest)?])
    }
}

#[async_trait]
impl Queue for SqliteSnapshot {
    async fn jobs(&self, documents: &[DocumentId]) -> Result<Vec<Option<Job>>, StoreError> {
        self.each("reading jobs", documents, read::job)
    }

    async fn status_counts(&self) -> Result<BTreeMap<StatusKind, u64>, StoreError> {
        self.read("counting documents by status", listing::status_counts)
    }

    async fn document_page(&self, page: &DocumentPage) -> Result<DocumentsFound, StoreError> {
        self.read("listing documents", |conn| listing::document_page(conn, page))
    }

    async fn queue(&self) -> Result<QueueState, StoreError> {
        self.read("reading the state of the queue", read::queue)
    }

    async fn documents_of_tracks(&self, tracks: &[TrackId]) -> Result<Vec<Vec<DocumentId>>, StoreError> {
        self.each("reading what runs queued", tracks, read::documents_of_track)
    }

    async fn tracks_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<TrackId>>, StoreError> {
        self.each("reading which runs queued", documents, read::tracks_of)
    }

    async fn claimable_jobs(&self, now: Timestamp, limit: usize) -> Result<Vec<Job>, StoreError> {
        self.read("reading claimable jobs", |conn| read::claimable_jobs(conn, now, limit))
    }

    async fn leased_jobs(&self) -> Result<Vec<Job>, StoreError> {
        self.read("reading leased jobs", read::leased_jobs)
    }
}

#[async_trait]
impl Ledger for SqliteSnapshot {
    async fn cached(&self, keys: &[(CacheKind, ContentHash)]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        self.each("reading remembered answers", keys, cache::find)
    }

    async fn cache_sizes(&self) -> Result<Vec<CacheSize>, StoreError> {
        self.each("counting remembered answers", &CacheKind::ALL, cache::size)
    }

    async fn conversations(&self, ids: &[ConversationId]) -> Result<Vec<Option<Conversation>>, StoreError> {
        self.each("reading conversations", ids, conversations::conversation)
    }
}

#[async_trait]
impl Snapshot for SqliteSnapshot {
    fn revision(&self) -> Revision {
        self.revisions.latest
    }

    fn graph_revision(&self) -> Revision {
        self.revisions.graph
    }

    fn evidence_revision(&self) -> Revision {
        self.revisions.evidence
    }

    async fn counts(&self) -> Result<StoreCounts, StoreError> {
        self.read("counting", read::counts)
    }

    async fn settings(&self) -> Result<BTreeMap<String, String>, StoreError> {
        self.read("reading the settings of the workspace", rows::settings)
    }

    async fn read_page(&self, page: PageOf<'_>) -> Result<(), StoreError> {
        self.read(page.operation(), |conn| scan::read(conn, page))
    }
}
