//! Searches passages, entities and relations for a text by full text and by vector, without an answer.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::BoxFuture;
use graphloom_core::{
    Chunk, ChunkId, Document, DocumentFilter, DocumentId, Entity, EntityKey, ItemKey, ItemKind, Place,
    Relation, RelationKey, Revision, Visibility,
};
use serde::Serialize;

use super::QueryCost;
use super::fuse::reciprocal_ranks;
use super::selection::Workspace;
use super::{QueryError, Question, embed, truncate};
use crate::Engine;
use crate::filtered::FilteredSnapshot;

/// Minimum number of hits of each ranking that are fused.
const MIN_DEPTH: usize = 100;

/// The hits for a text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchHits {
    /// The revision that was searched.
    pub revision: Revision,
    /// Passages, best first.
    pub passages: Vec<PassageHit>,
    /// Entities, best first.
    pub entities: Vec<EntityHit>,
    /// Relations, best first.
    pub relations: Vec<RelationHit>,
    /// Model calls and cache hits of the search.
    #[serde(flatten)]
    pub cost: QueryCost,
}

/// A passage with its score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PassageHit {
    /// The passage.
    pub chunk: Chunk,
    /// Source of the document.
    pub source: String,
    /// Title of the document.
    pub title: String,
    /// First and last line of the passage in the document's text, counted from 1.
    pub lines: (u32, u32),
    /// True if `lines` are also the lines of the source file.
    pub lines_match_source: bool,
    /// The pages, slides or sheets that contain the passage, if the document has any.
    pub place: Option<Place>,
    /// Sum of reciprocal ranks; comparable only within one result.
    pub score: f64,
}

/// An entity with its score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EntityHit {
    /// The entity.
    pub entity: Entity,
    /// Sum of reciprocal ranks; comparable only within one result.
    pub score: f64,
}

/// A relation with its score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RelationHit {
    /// The relation.
    pub relation: Relation,
    /// Display names of its two ends, in key order.
    pub ends: [String; 2],
    /// Sum of reciprocal ranks; comparable only within one result.
    pub score: f64,
}

/// Returns the passages, entities and relations that `text` finds, at most `limit` of each. Fuses full text and vectors by
/// reciprocal rank. Makes no LLM calls. Uses vectors if the workspace has any. A `filter` restricts the documents, as
/// [`Question::filter`] does. The call of the embedder is stored in the ledger even if a later step fails.
#[tracing::instrument(skip_all, fields(limit))]
pub fn search<'a>(
    engine: &'a Engine,
    text: &'a str,
    limit: usize,
    filter: Option<&'a DocumentFilter>,
) -> BoxFuture<'a, Result<SearchHits, QueryError>> {
    Box::pin(async move {
        let text = text.trim();
        if text.is_empty() {
            return Err(QueryError::Empty);
        }
        let mut cost = QueryCost::default();
        let found = look_up(engine, text, limit, filter, &mut cost).await;
        cost.store(engine).await;
        let hits = found.map_err(|error| error.logged(&cost))?;
        Ok(SearchHits { cost, ..hits })
    })
}

async fn look_up(
    engine: &Engine,
    text: &str,
    limit: usize,
    filter: Option<&DocumentFilter>,
    cost: &mut QueryCost,
) -> Result<SearchHits, QueryError> {
    let Workspace { space, mut selection, .. } = Workspace::read(engine, filter, true).await?;
    let mut vector = None;
    if let Some(space) = space {
        embed::check_space(engine, &space)?;
        vector = embed::vectors_of(engine, &[text.to_owned()], &space, true, cost).await?.pop();
    }
    let snapshot = engine.store.snapshot().await?;
    selection.renew(snapshot.as_ref()).await?;
    let scope = FilteredSnapshot::new(snapshot.as_ref(), selection.allowed, engine.tokenizer).await?;
    let lookup = Lookup { scope, text, vector: vector.as_deref(), limit };
    Ok(SearchHits {
        revision: snapshot.revision(),
        passages: lookup.passages().await?,
        entities: lookup.entities().await?,
        relations: lookup.relations().await?,
        cost: QueryCost::default(),
    })
}

struct Lookup<'a> {
    scope: FilteredSnapshot<'a>,
    text: &'a str,
    vector: Option<&'a [f32]>,
    limit: usize,
}

impl Lookup<'_> {
    /// Returns the items of `kind` by both rankings, fused. Returns more than `limit`, because some may not be shown.
    async fn ranked(&self, kind: ItemKind) -> Result<Vec<(ItemKey, f64)>, QueryError> {
        let limit = self.limit.max(MIN_DEPTH);
        let least = Question::default().cosine_threshold;
        let mut requests = vec![self.scope.by_words(kind, self.text, limit)];
        requests.extend(self.vector.map(|vector| self.scope.by_vector(kind, vector.to_vec(), limit, least)));
        let found = self.scope.snapshot.search(&requests).await?.into_iter();
        let items: Vec<Vec<ItemKey>> =
            found.map(|hits| hits.into_iter().map(|hit| hit.item).collect()).collect();
        Ok(reciprocal_ranks::<ItemKey>(&items))
    }

    async fn passages(&self) -> Result<Vec<PassageHit>, QueryError> {
        let ranked = self.ranked(ItemKind::Chunk).await?.into_iter();
        let (ids, scores): (Vec<ChunkId>, Vec<f64>) =
            ranked.filter_map(|(item, score)| Some((item.into_chunk()?, score))).unzip();
        let chunks = self.scope.snapshot.chunks(&ids).await?;
        let owners: BTreeSet<&DocumentId> = chunks.iter().flatten().map(|chunk| &chunk.document).collect();
        let owners: Vec<DocumentId> = owners.into_iter().cloned().collect();
        let documents: BTreeMap<DocumentId, Document> =
            (self.scope.snapshot.documents(&owners).await?.into_iter().flatten())
                .filter(|document| document.visibility == Visibility::Live)
                .map(|document| (document.id.clone(), document))
                .collect();
        let shown: Vec<(Chunk, &Document, f64)> = chunks
            .into_iter()
            .zip(scores)
            .filter_map(|(chunk, score)| {
                let chunk = chunk?;
                let document = documents.get(&chunk.document)?;
                Some((chunk, document, score))
            })
            .take(self.limit)
            .collect();
        let sources: BTreeSet<&DocumentId> = shown.iter().map(|(_, document, _)| &document.id).collect();
        let sources: Vec<DocumentId> = sources.into_iter().cloned().collect();
        let texts: BTreeMap<DocumentId, String> = (sources.iter().cloned())
            .zip(self.scope.snapshot.texts(&sources).await?)
            .filter_map(|(id, text)| Some((id, text?)))
            .collect();
        let hit = |(chunk, document, score): (Chunk, &Document, f64)| {
            let text = texts.get(&document.id)?;
            Some(PassageHit {
                lines: chunk.span.lines_in(text),
                place: document.place_of(chunk.span),
                chunk,
                source: document.source.clone(),
                title: document.title.clone(),
                lines_match_source: document.lines_match_source,
                score,
            })
        };
        Ok(shown.into_iter().filter_map(hit).collect())
    }

    async fn entities(&self) -> Result<Vec<EntityHit>, QueryError> {
        let ranked = self.ranked(ItemKind::Entity).await?.into_iter();
        let (keys, scores): (Vec<EntityKey>, Vec<f64>) =
            ranked.filter_map(|(item, score)| Some((item.into_entity()?, score))).unzip();
        let entities = self.scope.entities(&keys).await?.into_iter().zip(scores);
        let hits = entities.filter_map(|(entity, score)| Some(EntityHit { entity: entity?, score }));
        Ok(hits.take(self.limit).collect())
    }

    async fn relations(&self) -> Result<Vec<RelationHit>, QueryError> {
        let ranked: Vec<(RelationKey, f64)> = (self.ranked(ItemKind::Relation).await?.into_iter())
            .filter_map(|(item, score)| Some((item.into_relation()?, score)))
            .collect();
        let keys: Vec<RelationKey> = ranked.iter().map(|(key, _)| key.clone()).collect();
        let found: Vec<(Relation, f64)> = (self.scope.relations(&keys).await?.into_iter().zip(ranked))
            .filter_map(|(relation, (_, score))| Some((relation?, score)))
            .take(self.limit)
            .collect();
        let relations: Vec<Relation> = found.iter().map(|(relation, _)| relation.clone()).collect();
        let ends = truncate::names_of_ends(&self.scope, &relations).await?;
        let hits = found.into_iter().zip(ends);
        Ok(hits.map(|((relation, score), ends)| RelationHit { relation, ends, score }).collect())
    }
}
