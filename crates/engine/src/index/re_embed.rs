//! Embeds everything in a workspace again with another embedder. The new vectors are stored beside the current ones and then
//! replace them.
//!
//! The new vectors are kept in the store's cache under the hash of their texts, with a commit every few seconds, while questions
//! still use the current vectors. An interrupted run continues where it stopped, and no text is paid for twice. One commit
//! replaces all vectors at the end, so no question sees a mix of both.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::BoxFuture;
use graphloom_core::{
    Batch, CacheEntry, CacheKind, ChunkId, ContentHash, Decisions, EmbeddingSpec, EntityKey, ItemKey,
    ItemKind, NodeKey, RelationKey, Require, Role, Snapshot, StoreError, VectorEntry, VectorRow,
    indexed_text, table,
};

use super::settings::store_embedder;
use super::work::Pace;
use super::{Estimate, ExpectedCalls, IndexError, PricedEstimate, PricedStep, PricedTotal, Range, Step};
use crate::Engine;
use crate::commit::Retries;
use crate::graph::{embed, entity_text, indexed_relations};
use crate::money::{Prices, text_tokens};
use crate::vector_bytes::{decode, encode};

/// Vectors per read of the store.
const PAGE: usize = 1024;
/// Maximum number of texts per commit.
const MAX_TEXTS: usize = 2048;

/// What [`re_embed`] did.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ReEmbedReport {
    /// The previous embedding space; `None` if the workspace had no vectors.
    pub from: Option<EmbeddingSpec>,
    /// The current space; equal to `from` if the vectors were already computed by this embedder.
    pub to: Option<EmbeddingSpec>,
    /// Vectors in the workspace.
    pub vectors: u64,
    /// Texts embedded by this call. It can be lower than `vectors`: items with the same text share a vector, and an interrupted
    /// call leaves its vectors for the next one.
    pub embedded: u64,
    /// Whether a [`StopRequest`](super::StopRequest) ended it before the vectors were replaced.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
}

/// What [`re_embed`] would do and cost.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ReEmbedEstimate {
    /// The current space; `None` if the workspace has no vectors.
    pub from: Option<EmbeddingSpec>,
    /// Vectors in the workspace.
    pub vectors: u64,
    /// Texts to embed.
    pub texts: u64,
    /// The calls, by purpose; empty if the embedder calls no service.
    pub steps: Vec<PricedStep>,
    /// Calls and tokens of all steps.
    pub total: PricedTotal,
    /// Models without a configured price; their steps are not part of any price.
    pub unpriced: BTreeSet<String>,
}

/// Called with the number of vectors that are ready and the number of all vectors.
pub type ReEmbedProgress<'a> = &'a (dyn Fn(u64, u64) + Send + Sync);

/// Replaces the vectors of a workspace with those of `engine`'s embedder.
///
/// Questions use the old vectors until all new ones are ready. Other processes may read and index meanwhile; what they add is
/// embedded too. Afterwards they need an engine with the new embedder, because one with the old embedder is rejected. The tree of
/// summaries is then out of date, because it groups passages by their vectors. A [`StopRequest`](super::StopRequest) ends it after
/// the calls in flight, whose vectors are stored.
///
/// # Errors
///
/// Fails if the embedder or the store fails, or if others keep changing the workspace. Call it again to continue.
pub fn re_embed<'a>(
    engine: &'a Engine,
    progress: ReEmbedProgress<'a>,
) -> BoxFuture<'a, Result<ReEmbedReport, IndexError>> {
    Box::pin(async move {
        let model = engine.models.embedder.name();
        let from = engine.store.snapshot().await?.embedding().await?;
        let mut report = ReEmbedReport { to: from.clone(), from, vectors: 0, embedded: 0, stopped: false };
        if report.from.as_ref().is_none_or(|space| space.model == model) {
            report.vectors = count(engine.store.snapshot().await?.as_ref()).await?;
            return Ok(report);
        }
        let to =
            EmbeddingSpec { model: model.to_owned(), dimensions: engine.models.embedder.dimensions().await? };
        let pace = Pace::default();
        let mut retries = Retries::new("other processes changed the workspace");
        loop {
            report.embedded += embed_missing(engine, &pace, progress).await?;
            if engine.index.stop.is_made() {
                report.stopped = true;
                return Ok(report);
            }
            // From here on, other changes of the graph wait.
            let turn = engine.store.graph_turn().await?;
            let snapshot = engine.store.snapshot().await?;
            let unchanged = Require::UnchangedSince(snapshot.revision());
            let replaced = match next_vectors(snapshot.as_ref(), model).await? {
                Some(put_vectors) => {
                    report.vectors = put_vectors.len() as u64;
                    let mut batch = Batch {
                        require: vec![unchanged],
                        replace_embedding: true,
                        embedding: Some(to.clone()),
                        put_vectors,
                        clear_caches: vec![CacheKind::Vector, CacheKind::NextVector],
                        ..Batch::default()
                    };
                    store_embedder(engine, snapshot.as_ref(), &mut batch).await?;
                    drop(snapshot);
                    engine.store.commit(batch).await
                }
                None => Err(StoreError::Conflict { what: "something was added meanwhile".to_owned() }),
            };
            drop(turn);
            if retries.is_done(replaced)? {
                report.to = Some(to);
                return Ok(report);
            }
        }
    })
}

/// Estimates the cost of [`re_embed`]. Nothing is stored and no model is called.
///
/// - `embeds_by_service`: whether a service computes the vectors; models in this process cost nothing.
pub fn estimate_re_embed<'a>(
    engine: &'a Engine,
    embeds_by_service: bool,
    prices: &'a Prices,
) -> BoxFuture<'a, Result<ReEmbedEstimate, IndexError>> {
    Box::pin(async move {
        let model = engine.models.embedder.name();
        let snapshot = engine.store.snapshot().await?;
        let from = snapshot.embedding().await?;
        let vectors = count(snapshot.as_ref()).await?;
        let mut tokens: BTreeMap<ContentHash, u64> = BTreeMap::new();
        if from.as_ref().is_some_and(|space| space.model != model) {
            for kind in ItemKind::ALL {
                let mut pages = snapshot.pages(table::Vectors { kind });
                while let Some(entries) = pages.next().await? {
                    let missing = without_next(snapshot.as_ref(), model, entries).await?;
                    let items: Vec<ItemKey> = missing.iter().map(|(_, entry)| entry.item.clone()).collect();
                    let texts = texts_of(snapshot.as_ref(), &items).await?;
                    let counted = missing.into_iter().zip(texts);
                    tokens.extend(
                        counted.filter_map(|((key, _), text)| Some((key, text_tokens([text?.as_str()])))),
                    );
                }
            }
        }
        let texts = tokens.len() as u64;
        let step = ExpectedCalls {
            step: Step::ReEmbed,
            role: Role::Embed,
            model: model.to_owned(),
            // At best as few calls as the service allows, at worst one per text.
            calls: Range { low: 1, high: texts },
            input_tokens: Range::exactly(tokens.into_values().sum()),
            output_tokens: Range::default(),
        };
        let steps = if embeds_by_service && texts > 0 { vec![step] } else { Vec::new() };
        let PricedEstimate { steps, total, unpriced, .. } =
            Estimate { steps, ..Estimate::default() }.priced(prices);
        Ok(ReEmbedEstimate { from, vectors, texts, steps, total, unpriced })
    })
}

async fn count(snapshot: &dyn Snapshot) -> Result<u64, StoreError> {
    let counts = snapshot.counts().await?;
    Ok(counts.chunk_vectors + counts.entity_vectors + counts.relation_vectors + counts.node_vectors)
}

/// Embeds what has no vector from the new embedder yet, until a stop is requested; returns the number of texts embedded. No snapshot is open during a model
/// call.
async fn embed_missing(
    engine: &Engine,
    pace: &Pace,
    progress: ReEmbedProgress<'_>,
) -> Result<u64, IndexError> {
    let model = engine.models.embedder.name();
    let total = count(engine.store.snapshot().await?.as_ref()).await?;
    let (mut seen, mut embedded) = (0, 0);
    let mut waiting = PendingTexts::new();
    for kind in ItemKind::ALL {
        let mut after = None;
        loop {
            let snapshot = engine.store.snapshot().await?;
            let entries = snapshot.scan(table::Vectors { kind }, after.as_ref(), PAGE).await?;
            let Some(last) = entries.last() else { break };
            after = Some(last.item.clone());
            seen += entries.len() as u64;
            let missing = without_next(snapshot.as_ref(), model, entries).await?;
            let items: Vec<ItemKey> = missing.iter().map(|(_, entry)| entry.item.clone()).collect();
            let texts = texts_of(snapshot.as_ref(), &items).await?;
            drop(snapshot);
            let missing = missing.into_iter().zip(texts);
            waiting.extend(missing.filter_map(|((key, entry), text)| Some((key, (entry.item, text?)))));
            while waiting.len() >= pace.records(MAX_TEXTS) {
                if engine.index.stop.is_made() {
                    return Ok(embedded);
                }
                embedded += keep(engine, pace, &mut waiting).await?;
                progress(seen.saturating_sub(waiting.len() as u64).min(total), total);
            }
        }
    }
    while !waiting.is_empty() && !engine.index.stop.is_made() {
        embedded += keep(engine, pace, &mut waiting).await?;
        progress(total.saturating_sub(waiting.len() as u64), total);
    }
    Ok(embedded)
}

/// Texts to embed, by the key of their vector.
type PendingTexts = BTreeMap<ContentHash, (ItemKey, String)>;

/// Returns the entries without a vector from the new embedder, each with its cache key.
async fn without_next(
    snapshot: &dyn Snapshot,
    model: &str,
    entries: Vec<VectorEntry>,
) -> Result<Vec<(ContentHash, VectorEntry)>, StoreError> {
    let keys: Vec<ContentHash> = entries.iter().map(|entry| next_key(model, &entry.inputs_hash)).collect();
    let wanted: Vec<(CacheKind, ContentHash)> =
        keys.iter().map(|key| (CacheKind::NextVector, key.clone())).collect();
    let known = snapshot.cached(&wanted).await?;
    let missing = keys.into_iter().zip(entries).zip(known).filter(|(_, known)| known.is_none());
    Ok(missing.map(|(missing, _)| missing).collect())
}

/// Embeds some of the pending texts and caches the vectors; returns their number.
async fn keep(engine: &Engine, pace: &Pace, waiting: &mut PendingTexts) -> Result<u64, IndexError> {
    let (mut keys, mut texts) = (Vec::new(), Vec::new());
    while keys.len() < pace.records(MAX_TEXTS)
        && let Some((key, text)) = waiting.pop_first()
    {
        keys.push(key);
        texts.push(text);
    }
    let count = keys.len();
    let started_at = engine.clock.now();
    let mut embedded = Batch::default();
    embed(engine, texts, None, &mut embedded).await?;
    pace.count(count, engine.clock.now().0.saturating_sub(started_at.0));
    let entry = |(key, row): (ContentHash, VectorRow)| CacheEntry {
        kind: CacheKind::NextVector,
        key,
        value: encode(&row.vector),
    };
    let put_cached = keys.into_iter().zip(embedded.put_vectors).map(entry).collect();
    let batch = Batch { put_cached, append_calls: embedded.append_calls, ..Batch::default() };
    engine.store.commit(batch).await?;
    Ok(count as u64)
}

/// Returns the new vector of every item that has a vector now; `None` if any is missing.
async fn next_vectors(snapshot: &dyn Snapshot, model: &str) -> Result<Option<Vec<VectorRow>>, StoreError> {
    let mut rows = Vec::new();
    for kind in ItemKind::ALL {
        let mut pages = snapshot.pages(table::Vectors { kind });
        while let Some(entries) = pages.next().await? {
            let keys: Vec<(CacheKind, ContentHash)> = entries
                .iter()
                .map(|entry| (CacheKind::NextVector, next_key(model, &entry.inputs_hash)))
                .collect();
            for (entry, value) in entries.into_iter().zip(snapshot.cached(&keys).await?) {
                let Some(value) = value else { return Ok(None) };
                rows.push(VectorRow { entry, vector: decode(&value).collect() });
            }
        }
    }
    Ok(Some(rows))
}

/// Returns the cache key of `model`'s vector for the text with this hash.
fn next_key(model: &str, text: &ContentHash) -> ContentHash {
    ContentHash::of_parts(&[model, text.as_str()])
}

/// Returns the texts that items are embedded by, in order; `None` for items that the snapshot does not have.
async fn texts_of(snapshot: &dyn Snapshot, items: &[ItemKey]) -> Result<Vec<Option<String>>, StoreError> {
    let (mut chunks, mut entities, mut relations, mut nodes) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for item in items {
        match item {
            ItemKey::Chunk(id) => chunks.push(id.clone()),
            ItemKey::Entity(key) => entities.push(key.clone()),
            ItemKey::Relation(key) => relations.push(key.clone()),
            ItemKey::Node(key) => nodes.push(key.clone()),
        }
    }
    let mut texts: BTreeMap<ItemKey, String> = BTreeMap::new();
    chunk_texts(snapshot, &chunks, &mut texts).await?;
    graph_texts(snapshot, &entities, &relations, &mut texts).await?;
    node_texts(snapshot, &nodes, &mut texts).await?;
    Ok(items.iter().map(|item| texts.remove(item)).collect())
}

async fn chunk_texts(
    snapshot: &dyn Snapshot,
    ids: &[ChunkId],
    texts: &mut BTreeMap<ItemKey, String>,
) -> Result<(), StoreError> {
    let contexts = snapshot.chunk_contexts(ids).await?;
    for (chunk, context) in snapshot.chunks(ids).await?.into_iter().zip(contexts) {
        let Some(chunk) = chunk else { continue };
        let context = context.as_ref().and_then(|context| context.text());
        let text = indexed_text(context, &chunk.text).into_owned();
        texts.insert(ItemKey::Chunk(chunk.id), text);
    }
    Ok(())
}

async fn graph_texts(
    snapshot: &dyn Snapshot,
    entities: &[EntityKey],
    relations: &[RelationKey],
    texts: &mut BTreeMap<ItemKey, String>,
) -> Result<(), StoreError> {
    for entity in snapshot.entities(entities).await?.into_iter().flatten() {
        texts.insert(ItemKey::Entity(entity.key.clone()), entity_text(&entity));
    }
    if relations.is_empty() {
        return Ok(());
    }
    let decisions = Decisions::read(snapshot).await?;
    for (key, text) in indexed_relations(snapshot, &decisions, relations).await? {
        texts.insert(ItemKey::Relation(key), text);
    }
    Ok(())
}

async fn node_texts(
    snapshot: &dyn Snapshot,
    keys: &[NodeKey],
    texts: &mut BTreeMap<ItemKey, String>,
) -> Result<(), StoreError> {
    for node in snapshot.nodes(keys).await?.into_iter().flatten() {
        let text = node.indexed_text();
        texts.insert(ItemKey::Node(node.key), text);
    }
    Ok(())
}
