//! Reads from the in-memory store.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use graphloom_core::table::PageOf;
use graphloom_core::{
    CacheKind, CacheSize, Chunk, ChunkContext, ChunkContextKey, ChunkCounts, ChunkExtraction, ChunkId, Claim,
    ContentHash, Conversation, ConversationId, Document, DocumentFilter, DocumentId, DocumentOrder,
    DocumentPage, DocumentStatus, DocumentsFound, EmbeddingSpec, Entity, EntityKey, Evidence, Extraction,
    ExtractionKey, Fact, FilteredIds, Graph, GraphKey, Hit, ItemKey, ItemKind, Job, Layer, LayerName,
    LayerNode, Ledger, LinkGraph, Links, Member, Mention, NodeKey, OriginalStamp, Projection, Queue,
    QueueState, RejectReason, Relation, RelationKey, Renewal, Revision, Search, SearchRequest, Snapshot,
    StatusKind, StoreCounts, StoreError, Summary, Timestamp, TrackId, Visibility, indexed_text, statuses_of,
};
use graphloom_rules::search::{ScoredId, Searches, TextQuery, VectorQuery};

use super::{State, tables};
use crate::{rules, vector, words};

/// A state, and the most links that it returns as a whole.
pub(super) struct MemorySnapshot(pub(super) Arc<State>, pub(super) usize);

impl MemorySnapshot {
    fn is_live(&self, chunk: &Chunk) -> bool {
        self.0.documents.get(&chunk.document).is_some_and(|document| document.visibility == Visibility::Live)
    }

    /// True if search results may contain the entry.
    fn is_found(&self, kind: ItemKind, id: &str) -> bool {
        match kind {
            ItemKind::Chunk => {
                self.0.chunks.get(&ChunkId::from_stored(id)).is_some_and(|chunk| self.is_live(chunk))
            }
            ItemKind::Entity | ItemKind::Relation | ItemKind::Node => true,
        }
    }

    /// Returns the searchable texts of a kind, with their ids.
    fn texts_of_kind(&self, kind: ItemKind) -> Vec<(String, String)> {
        let state = &self.0;
        match kind {
            ItemKind::Chunk => {
                let live = state.chunks.values().filter(|chunk| self.is_live(chunk));
                let text = |chunk: &Chunk| {
                    let context = state.chunk_contexts.get(&chunk.id).and_then(ChunkContext::text);
                    indexed_text(context, &chunk.text).into_owned()
                };
                live.map(|chunk| (chunk.id.to_string(), text(chunk))).collect()
            }
            ItemKind::Entity => {
                state.entities.values().map(|e| (e.key.to_string(), words::entity_text(e))).collect()
            }
            ItemKind::Relation => {
                state.relations.values().map(|r| (r.key.to_string(), words::relation_text(r))).collect()
            }
            ItemKind::Node => {
                state.nodes.values().map(|node| (node.key.to_string(), node.indexed_text())).collect()
            }
        }
    }

    fn nearest(&self, query: &VectorQuery) -> Result<Vec<Vec<ScoredId>>, StoreError> {
        let Some(space) = &self.0.embedding else { return Ok(vec![Vec::new(); query.vectors.len()]) };
        rules::check_query(space, &query.vectors)?;
        let candidates: Vec<(&String, Vec<f32>)> = self
            .0
            .vectors
            .iter()
            .filter(|((kind, id), _)| *kind == query.kind && self.is_found(*kind, id))
            .filter(|((kind, id), _)| query.only.admits(*kind, id))
            .map(|((_, id), stored)| (id, vector::decode(&stored.data)))
            .collect();
        let nearest = |question: &Vec<f32>| {
            let question = vector::to_unit(question);
            let mut hits: Vec<ScoredId> = candidates
                .iter()
                .map(|(id, stored)| ScoredId { id: (*id).clone(), score: vector::cosine(&question, stored) })
                .filter(|hit| hit.score >= query.min_score)
                .collect();
            vector::rank(&mut hits, query.limit);
            hits
        };
        Ok(query.vectors.iter().map(nearest).collect())
    }

    fn matching(&self, query: &TextQuery) -> Vec<ScoredId> {
        let entries: Vec<(String, Vec<String>)> =
            self.texts_of_kind(query.kind).into_iter().map(|(id, text)| (id, words::words(&text))).collect();
        let mut hits = bm25(&entries, &query.weighted_words(usize::MAX));
        hits.retain(|hit| query.only.admits(query.kind, &hit.id));
        vector::rank(&mut hits, query.limit);
        hits
    }
}

#[async_trait]
impl Evidence for MemorySnapshot {
    async fn documents(&self, ids: &[DocumentId]) -> Result<Vec<Option<Document>>, StoreError> {
        Ok(lookup(&self.0.documents, ids))
    }

    async fn documents_of_sources(&self, sources: &[String]) -> Result<Vec<Vec<Document>>, StoreError> {
        Ok(sources.iter().map(|source| select(&self.0.documents, |d| d.source == *source)).collect())
    }

    async fn documents_of_contents(&self, hashes: &[ContentHash]) -> Result<Vec<Vec<Document>>, StoreError> {
        Ok(hashes.iter().map(|hash| select(&self.0.documents, |d| d.content_hash == *hash)).collect())
    }

    async fn documents_matching(&self, filter: &DocumentFilter) -> Result<(Vec<Document>, u64), StoreError> {
        let matching = select(&self.0.documents, |document| filter.admits_document(document));
        Ok((matching, self.0.documents.len() as u64))
    }

    async fn texts(&self, ids: &[DocumentId]) -> Result<Vec<Option<String>>, StoreError> {
        Ok(lookup(&self.0.texts, ids))
    }

    async fn originals(&self, ids: &[DocumentId]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let bytes = |id: &DocumentId| self.0.originals.get(id).map(|bytes| bytes.to_vec());
        Ok(ids.iter().map(bytes).collect())
    }

    async fn original_stamps(&self, ids: &[DocumentId]) -> Result<Vec<Option<OriginalStamp>>, StoreError> {
        let stamp = |id: &DocumentId| self.0.originals.get(id).map(|bytes| OriginalStamp::of(bytes));
        Ok(ids.iter().map(stamp).collect())
    }

    async fn chunks(&self, ids: &[ChunkId]) -> Result<Vec<Option<Chunk>>, StoreError> {
        Ok(lookup(&self.0.chunks, ids))
    }

    async fn chunks_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<Chunk>>, StoreError> {
        let of = |document: &DocumentId| {
            let mut chunks = select(&self.0.chunks, |chunk| chunk.document == *document);
            chunks.sort_by_key(|chunk| chunk.ordinal);
            chunks
        };
        Ok(documents.iter().map(of).collect())
    }

    async fn chunk_ids_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<ChunkId>>, StoreError> {
        let chunks = self.chunks_of(documents).await?;
        Ok(chunks.into_iter().map(|chunks| chunks.into_iter().map(|chunk| chunk.id).collect()).collect())
    }

    async fn chunk_counts_of(&self, documents: &[DocumentId]) -> Result<Vec<ChunkCounts>, StoreError> {
        let states = self.extraction_states_of(documents).await?.into_iter();
        let counts = states.zip(self.failed_contexts_of(documents).await?).map(|(states, failed)| {
            let counts: ChunkCounts = states.iter().map(|(_, state)| state).collect();
            ChunkCounts { without_context: failed.len() as u32, ..counts }
        });
        Ok(counts.collect())
    }

    async fn extraction_states_of(
        &self,
        documents: &[DocumentId],
    ) -> Result<Vec<Vec<(u32, ChunkExtraction)>>, StoreError> {
        let chunks = self.chunks_of(documents).await?;
        let states = |chunks: Vec<Chunk>| chunks.into_iter().map(|chunk| (chunk.ordinal, chunk.extraction));
        Ok(chunks.into_iter().map(|chunks| states(chunks).collect()).collect())
    }

    async fn extractions(&self, keys: &[ExtractionKey]) -> Result<Vec<Option<Extraction>>, StoreError> {
        Ok(lookup(&self.0.extractions, keys))
    }

    async fn reject_counts(&self) -> Result<BTreeMap<RejectReason, u64>, StoreError> {
        let mut counts = BTreeMap::new();
        for reject in self.0.extractions.values().flat_map(|extraction| &extraction.rejects) {
            *counts.entry(reject.reason).or_default() += 1;
        }
        Ok(counts)
    }

    async fn empty_extractions(&self) -> Result<u64, StoreError> {
        Ok(self.0.extractions.values().filter(|extraction| extraction.records.name_nothing()).count() as u64)
    }

    async fn renewals_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<Renewal>>, StoreError> {
        let of = |chunks: Vec<Chunk>| {
            chunks.iter().filter_map(|chunk| self.0.renewals.get(&chunk.id).cloned()).collect()
        };
        Ok(self.chunks_of(documents).await?.into_iter().map(of).collect())
    }

    async fn chunk_contexts(&self, chunks: &[ChunkId]) -> Result<Vec<Option<ChunkContext>>, StoreError> {
        Ok(lookup(&self.0.chunk_contexts, chunks))
    }

    async fn context_texts(&self, keys: &[ChunkContextKey]) -> Result<Vec<Option<String>>, StoreError> {
        let text = |key: &ChunkContextKey| {
            let mut under_key =
                self.0.chunk_contexts.values().filter(|chunk_context| chunk_context.key == *key);
            under_key.find_map(|chunk_context| chunk_context.text().map(str::to_owned))
        };
        Ok(keys.iter().map(text).collect())
    }

    async fn failed_contexts_of(
        &self,
        documents: &[DocumentId],
    ) -> Result<Vec<Vec<(u32, String)>>, StoreError> {
        let failed = |chunk: Chunk| {
            let reason = self.0.chunk_contexts.get(&chunk.id)?.failure()?.to_owned();
            Some((chunk.ordinal, reason))
        };
        let chunks = self.chunks_of(documents).await?;
        Ok(chunks.into_iter().map(|chunks| chunks.into_iter().filter_map(failed).collect()).collect())
    }

    async fn chunk_context_counts(&self) -> Result<BTreeMap<String, u64>, StoreError> {
        let mut counts = BTreeMap::new();
        for chunk_context in self.0.chunk_contexts.values() {
            *counts.entry(chunk_context.by.clone()).or_default() += 1;
        }
        Ok(counts)
    }
}

#[async_trait]
impl Graph for MemorySnapshot {
    async fn mentions_of(&self, entities: &[EntityKey]) -> Result<Vec<Vec<Mention>>, StoreError> {
        Ok(entities.iter().map(|key| select(&self.0.mentions, |mention| mention.entity == *key)).collect())
    }

    async fn facts_of(&self, relations: &[RelationKey]) -> Result<Vec<Vec<Fact>>, StoreError> {
        Ok(relations.iter().map(|key| select(&self.0.facts, |fact| fact.relation == *key)).collect())
    }

    async fn facts_touching(&self, entities: &[EntityKey]) -> Result<Vec<Vec<Fact>>, StoreError> {
        let touching = |key: &EntityKey| {
            let mut facts = select(&self.0.facts, |fact| fact.relation.ends().contains(&key));
            facts.sort_by(|x, y| x.relation.cmp(&y.relation));
            facts
        };
        Ok(entities.iter().map(touching).collect())
    }

    async fn claims_of(&self, entities: &[EntityKey]) -> Result<Vec<Vec<Claim>>, StoreError> {
        let of =
            |key: &EntityKey| select(&self.0.claims, |claim| claim.entities().any(|entity| entity == key));
        Ok(entities.iter().map(of).collect())
    }

    async fn graph_keys_of(&self, chunks: &[ChunkId]) -> Result<Vec<GraphKey>, StoreError> {
        let chunks: BTreeSet<&ChunkId> = chunks.iter().collect();
        let mut keys = BTreeSet::new();
        let counting = self.0.mentions.values().filter(|mention| !mention.set_aside);
        for mention in counting.filter(|mention| chunks.contains(&mention.chunk)) {
            keys.insert(GraphKey::Entity(mention.entity.clone()));
        }
        let counting = self.0.facts.values().filter(|fact| !fact.set_aside);
        for fact in counting.filter(|fact| chunks.contains(&fact.chunk)) {
            keys.extend(fact.relation.ends().map(|end| GraphKey::Entity(end.clone())));
            keys.insert(GraphKey::Relation(fact.relation.clone()));
        }
        Ok(keys.into_iter().collect())
    }

    async fn entities(&self, keys: &[EntityKey]) -> Result<Vec<Option<Entity>>, StoreError> {
        Ok(lookup(&self.0.entities, keys))
    }

    async fn relations(&self, keys: &[RelationKey]) -> Result<Vec<Option<Relation>>, StoreError> {
        Ok(lookup(&self.0.relations, keys))
    }

    async fn relations_of(&self, entities: &[EntityKey]) -> Result<Vec<Vec<Relation>>, StoreError> {
        let of = |key: &EntityKey| select(&self.0.relations, |relation| relation.key.ends().contains(&key));
        Ok(entities.iter().map(of).collect())
    }

    async fn degrees(&self, entities: &[EntityKey]) -> Result<Vec<u32>, StoreError> {
        Ok(entities.iter().map(|key| self.0.entities.get(key).map_or(0, |entity| entity.degree)).collect())
    }

    async fn chunks_behind(
        &self,
        keys: &[GraphKey],
        within: Option<&FilteredIds>,
        limit: usize,
    ) -> Result<Vec<Vec<ChunkId>>, StoreError> {
        let behind = |key: &GraphKey| {
            let chunks: BTreeSet<&ChunkId> = match key {
                GraphKey::Entity(key) => {
                    let mentions = self.0.mentions.values().filter(|m| m.entity == *key && !m.set_aside);
                    mentions.map(|m| &m.chunk).collect()
                }
                GraphKey::Relation(key) => {
                    let facts = self.0.facts.values().filter(|f| f.relation == *key && !f.set_aside);
                    facts.map(|f| &f.chunk).collect()
                }
            };
            let allowed = |chunk: &&ChunkId| admits(within, ItemKind::Chunk, chunk.as_str());
            chunks.into_iter().filter(allowed).take(limit).cloned().collect()
        };
        Ok(keys.iter().map(behind).collect())
    }

    async fn summaries(&self, keys: &[GraphKey]) -> Result<Vec<Vec<Summary>>, StoreError> {
        let of = |owner: &GraphKey| {
            let rows = self.0.summaries.iter().filter(|((of, _), _)| of == owner);
            rows.map(|((_, key), text)| Summary { key: key.clone(), text: text.clone() }).collect()
        };
        Ok(keys.iter().map(of).collect())
    }

    async fn links(&self) -> Result<Links, StoreError> {
        let mut keys: BTreeMap<&ChunkId, BTreeSet<GraphKey>> = BTreeMap::new();
        let is_live = |chunk: &ChunkId| self.0.chunks.get(chunk).is_some_and(|chunk| self.is_live(chunk));
        for mention in self.0.mentions.values().filter(|it| !it.set_aside && is_live(&it.chunk)) {
            keys.entry(&mention.chunk).or_default().insert(GraphKey::Entity(mention.entity.clone()));
        }
        for fact in self.0.facts.values().filter(|it| !it.set_aside && is_live(&it.chunk)) {
            let of_chunk = keys.entry(&fact.chunk).or_default();
            of_chunk.extend(fact.relation.ends().map(|end| GraphKey::Entity(end.clone())));
            of_chunk.insert(GraphKey::Relation(fact.relation.clone()));
        }
        let links = keys.values().map(BTreeSet::len).sum::<usize>();
        let chunks = keys.into_iter().map(|(chunk, keys)| (chunk.clone(), keys.into_iter().collect()));
        let graph = LinkGraph::of(chunks);
        Ok(match links > self.1 {
            true => Links::TooMany { nodes: graph.len() },
            false => Links::Whole(Arc::new(graph)),
        })
    }

    async fn layers(&self) -> Result<Vec<Layer>, StoreError> {
        Ok(self.0.layers.values().cloned().collect())
    }

    async fn nodes(&self, keys: &[NodeKey]) -> Result<Vec<Option<LayerNode>>, StoreError> {
        Ok(lookup(&self.0.nodes, keys))
    }

    async fn nodes_of(&self, members: &[Member]) -> Result<Vec<Vec<NodeKey>>, StoreError> {
        let of = |member: &Member| {
            let having = self.0.nodes.values().filter(|node| node.members.contains(member));
            having.map(|node| node.key.clone()).collect()
        };
        Ok(members.iter().map(of).collect())
    }

    async fn node_counts(&self, layer: &LayerName) -> Result<BTreeMap<u32, u64>, StoreError> {
        let mut counts = BTreeMap::new();
        for node in self.0.nodes.values().filter(|node| node.layer == *layer) {
            *counts.entry(node.level).or_default() += 1;
        }
        Ok(counts)
    }
}

#[async_trait]
impl Search for MemorySnapshot {
    async fn embedding(&self) -> Result<Option<EmbeddingSpec>, StoreError> {
        Ok(self.0.embedding.clone())
    }

    async fn vectors(&self, items: &[ItemKey]) -> Result<Vec<Option<Vec<f32>>>, StoreError> {
        let find = |item: &ItemKey| self.0.vectors.get(&(item.kind(), item.id().into_owned()));
        Ok(items.iter().map(|item| find(item).map(|stored| vector::decode(&stored.data))).collect())
    }

    async fn search(&self, requests: &[SearchRequest]) -> Result<Vec<Vec<Hit>>, StoreError> {
        let searches = Searches::of(requests);
        let by_vector =
            searches.by_vector.iter().map(|(query, _)| self.nearest(query)).collect::<Result<_, _>>()?;
        let by_words = searches.by_words.iter().map(|(query, _)| self.matching(query)).collect();
        Ok(searches.hits(by_vector, by_words))
    }

    async fn projections(&self) -> Result<Vec<Projection>, StoreError> {
        Ok(Vec::new())
    }
}

#[async_trait]
impl Queue for MemorySnapshot {
    async fn jobs(&self, documents: &[DocumentId]) -> Result<Vec<Option<Job>>, StoreError> {
        Ok(lookup(&self.0.jobs, documents))
    }

    async fn status_counts(&self) -> Result<BTreeMap<StatusKind, u64>, StoreError> {
        let ids: Vec<DocumentId> = self.0.documents.keys().cloned().collect();
        let mut counts = BTreeMap::new();
        for status in statuses_of(self, &ids).await? {
            *counts.entry(status.kind()).or_default() += 1;
        }
        Ok(counts)
    }

    async fn document_page(&self, page: &DocumentPage) -> Result<DocumentsFound, StoreError> {
        let documents: Vec<Document> = self.0.documents.values().cloned().collect();
        let ids: Vec<DocumentId> = documents.iter().map(|document| document.id.clone()).collect();
        let statuses = statuses_of(self, &ids).await?;
        let name = page.name.to_lowercase();
        let mut found: Vec<(Document, StatusKind)> = documents
            .into_iter()
            .zip(statuses.iter().map(DocumentStatus::kind))
            .filter(|(document, status)| {
                document.source.to_lowercase().contains(&name)
                    && page.status.as_ref().is_none_or(|wanted| wanted.contains(status))
            })
            .collect();
        found.sort_by(|(one, one_status), (other, other_status)| {
            let by_source = || one.source.cmp(&other.source);
            let by_order = match page.order {
                DocumentOrder::Id => Ordering::Equal,
                DocumentOrder::Source => by_source(),
                DocumentOrder::Accepted => one.added_at.cmp(&other.added_at),
                DocumentOrder::Size => one.text_bytes.cmp(&other.text_bytes),
                DocumentOrder::Status => one_status.cmp(other_status).then_with(by_source),
            };
            by_order.then_with(|| one.id.cmp(&other.id))
        });
        if page.descending {
            found.reverse();
        }
        let total = found.len() as u64;
        let ids = found.into_iter().skip(page.skip).take(page.limit).map(|(document, _)| document.id);
        Ok(DocumentsFound { ids: ids.collect(), total })
    }

    async fn queue(&self) -> Result<QueueState, StoreError> {
        Ok(self.0.queue)
    }

    async fn documents_of_tracks(&self, tracks: &[TrackId]) -> Result<Vec<Vec<DocumentId>>, StoreError> {
        let of = |track: &TrackId| {
            let rows = self.0.tracks.keys().filter(|(of, _)| of == track);
            rows.map(|(_, document)| document.clone()).collect()
        };
        Ok(tracks.iter().map(of).collect())
    }

    async fn tracks_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<TrackId>>, StoreError> {
        let of = |document: &DocumentId| {
            let rows = self.0.tracks.keys().filter(|(_, of)| of == document);
            rows.map(|(track, _)| track.clone()).collect()
        };
        Ok(documents.iter().map(of).collect())
    }

    async fn claimable_jobs(&self, now: Timestamp, limit: usize) -> Result<Vec<Job>, StoreError> {
        let mut jobs = select(&self.0.jobs, |job| {
            job.state.is_open() && job.lease.as_ref().is_none_or(|lease| lease.expires_at < now)
        });
        jobs.sort_by_key(|job| job.created_at);
        jobs.truncate(limit);
        Ok(jobs)
    }

    async fn leased_jobs(&self) -> Result<Vec<Job>, StoreError> {
        Ok(select(&self.0.jobs, |job| job.lease.is_some()))
    }
}

#[async_trait]
impl Ledger for MemorySnapshot {
    async fn cached(&self, keys: &[(CacheKind, ContentHash)]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        Ok(keys.iter().map(|key| self.0.cache.get(key).map(|entry| entry.value.clone())).collect())
    }

    async fn cache_sizes(&self) -> Result<Vec<CacheSize>, StoreError> {
        let size = |kind| {
            let values = self.0.cache.iter().filter(|((of, _), _)| *of == kind);
            let lengths: Vec<u64> = values.map(|(_, entry)| entry.value.len() as u64).collect();
            CacheSize { kind, entries: lengths.len() as u64, bytes: lengths.iter().sum() }
        };
        Ok(CacheKind::ALL.map(size).to_vec())
    }

    async fn conversations(&self, ids: &[ConversationId]) -> Result<Vec<Option<Conversation>>, StoreError> {
        Ok(ids.iter().map(|id| self.0.conversations.get(id).cloned()).collect())
    }
}

#[async_trait]
impl Snapshot for MemorySnapshot {
    fn revision(&self) -> Revision {
        self.0.revision
    }

    fn graph_revision(&self) -> Revision {
        self.0.graph_revision
    }

    fn evidence_revision(&self) -> Revision {
        self.0.evidence_revision
    }

    async fn counts(&self) -> Result<StoreCounts, StoreError> {
        let state = &self.0;
        let vectors = |kind| state.vectors.keys().filter(|(of, _)| *of == kind).count() as u64;
        Ok(StoreCounts {
            documents: state.documents.len() as u64,
            chunks: state.chunks.len() as u64,
            extractions: state.extractions.len() as u64,
            mentions: state.mentions.len() as u64,
            facts: state.facts.len() as u64,
            claims: state.claims.len() as u64,
            decisions: state.decisions.len() as u64,
            entities: state.entities.len() as u64,
            relations: state.relations.len() as u64,
            chunk_vectors: vectors(ItemKind::Chunk),
            entity_vectors: vectors(ItemKind::Entity),
            relation_vectors: vectors(ItemKind::Relation),
            nodes: state.nodes.len() as u64,
            node_vectors: vectors(ItemKind::Node),
            calls: state.calls.len() as u64,
            stale: state.stale.len() as u64,
        })
    }

    async fn settings(&self) -> Result<BTreeMap<String, String>, StoreError> {
        Ok(self.0.settings.clone())
    }

    async fn read_page(&self, page: PageOf<'_>) -> Result<(), StoreError> {
        tables::read(&self.0, page);
        Ok(())
    }
}

/// Okapi BM25 with the usual constants, over every entry that contains one of the words.
///
/// Source: Robertson, Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.
fn bm25(entries: &[(String, Vec<String>)], query: &BTreeMap<String, f32>) -> Vec<ScoredId> {
    const K1: f32 = 1.2;
    const B: f32 = 0.75;
    let total: usize = entries.iter().map(|(_, words)| words.len()).sum();
    let mean = (total as f32 / entries.len().max(1) as f32).max(1.0);
    let holding = |word: &String| entries.iter().filter(|(_, words)| words.contains(word)).count() as f32;
    let rarity: BTreeMap<&String, f32> = query
        .iter()
        .map(|(word, share)| {
            let rarity = (1.0 + (entries.len() as f32 - holding(word) + 0.5) / (holding(word) + 0.5)).ln();
            (word, share * rarity)
        })
        .collect();
    let mut hits = Vec::new();
    for (id, words) in entries {
        let damping = K1 * (1.0 - B + B * words.len() as f32 / mean);
        let score: f32 = rarity
            .iter()
            .map(|(word, rarity)| (words.iter().filter(|w| w == word).count() as f32, rarity))
            .map(|(count, rarity)| rarity * count * (K1 + 1.0) / (count + damping))
            .sum();
        if score > 0.0 {
            hits.push(ScoredId { id: id.clone(), score });
        }
    }
    hits
}

fn admits(within: Option<&FilteredIds>, kind: ItemKind, id: &str) -> bool {
    within.is_none_or(|allowed| allowed.admits(kind, id))
}

fn lookup<K: Ord, V: Clone>(table: &BTreeMap<K, V>, keys: &[K]) -> Vec<Option<V>> {
    keys.iter().map(|key| table.get(key).cloned()).collect()
}

fn select<K, V: Clone>(table: &BTreeMap<K, V>, wanted: impl Fn(&V) -> bool) -> Vec<V> {
    table.values().filter(|row| wanted(row)).cloned().collect()
}
