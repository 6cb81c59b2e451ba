//! A snapshot restricted to the documents that a filter allows.
//!
//! Views are functions of evidence. Under a filter, the same functions are applied to the allowed evidence only, so names, types,
//! descriptions, weights and degrees reveal nothing about other documents. No summaries are written: if the descriptions are too
//! long, whole sentences of them are kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use graphloom_core::{
    ChunkId, DecidedEntity, Decisions, Entity, EntityKey, Fact, FilteredIds, GraphKey, Hit, ItemKind,
    Mention, Relation, RelationKey, SearchRequest, Snapshot, StoreError,
};

use crate::graph::{derive_entity, derive_relation, described_hash, keep_within};
use graphloom_offline::faint_words;
use graphloom_text::Tokenizer;

/// The part of a snapshot that a question may see.
pub(crate) struct FilteredSnapshot<'a> {
    /// The whole snapshot. Only for data that belongs to no document, or to documents already known to be allowed.
    pub(crate) snapshot: &'a dyn Snapshot,
    /// `None` if everything is allowed.
    allowed: Option<Arc<FilteredIds>>,
    tokenizer: Tokenizer,
    /// Where the names come from that people gave to entities; empty without a filter.
    decisions: Decisions,
}

impl<'a> FilteredSnapshot<'a> {
    /// Restricts a snapshot to what is `allowed`; `None` allows everything.
    pub(crate) async fn new(
        snapshot: &'a dyn Snapshot,
        allowed: Option<Arc<FilteredIds>>,
        tokenizer: Tokenizer,
    ) -> Result<Self, StoreError> {
        let decisions = match &allowed {
            Some(_) => Decisions::read(snapshot).await?,
            None => Decisions::default(),
        };
        Ok(Self { snapshot, allowed, tokenizer, decisions })
    }

    /// Returns how many chunks, entities and relations the filter admits; `None` without a filter.
    pub(crate) fn linkable(&self) -> Option<usize> {
        let allowed = self.allowed.as_ref()?;
        Some(
            [ItemKind::Chunk, ItemKind::Entity, ItemKind::Relation]
                .map(|kind| allowed.count(kind))
                .iter()
                .sum(),
        )
    }

    /// Finds the nearest allowed entries of `kind`: highest cosine first, at most `limit`, none below `min_score`.
    ///
    /// The vectors of entities and relations are those of the whole graph. They affect selection and order, but are never shown.
    pub(crate) async fn nearest(
        &self,
        kind: ItemKind,
        vector: &[f32],
        limit: usize,
        min_score: f32,
    ) -> Result<Vec<Hit>, StoreError> {
        let vectors = vec![vector.to_vec()];
        Ok(self.nearest_to_each(kind, vectors, limit, min_score).await?.pop().unwrap_or_default())
    }

    /// Same as [`Self::nearest`] for several vectors; results are in their order.
    pub(crate) async fn nearest_to_each(
        &self,
        kind: ItemKind,
        vectors: Vec<Vec<f32>>,
        limit: usize,
        min_score: f32,
    ) -> Result<Vec<Vec<Hit>>, StoreError> {
        let request = |vector| self.by_vector(kind, vector, limit, min_score);
        self.snapshot.search(&vectors.into_iter().map(request).collect::<Vec<_>>()).await
    }

    /// Builds a search for the allowed entries of `kind` nearest to a vector.
    pub(crate) fn by_vector(
        &self,
        kind: ItemKind,
        vector: Vec<f32>,
        limit: usize,
        min_score: f32,
    ) -> SearchRequest {
        SearchRequest::by_vector(kind, vector, limit, min_score).filtered(self.allowed.clone())
    }

    /// Builds a keyword search for the allowed entries of `kind`. Articles and similar words count less than others.
    pub(crate) fn by_words(&self, kind: ItemKind, text: &str, limit: usize) -> SearchRequest {
        SearchRequest::by_words(kind, text, limit)
            .with_faint(faint_words(text))
            .filtered(self.allowed.clone())
    }

    /// Returns entities as the allowed evidence describes them; `None` if unknown or not allowed.
    pub(crate) async fn entities(&self, keys: &[EntityKey]) -> Result<Vec<Option<Entity>>, StoreError> {
        let Some(allowed) = &self.allowed else { return self.snapshot.entities(keys).await };
        let admitted = |key: &&EntityKey| allowed.admits(ItemKind::Entity, key.as_str());
        let wanted: Vec<EntityKey> = keys.iter().filter(admitted).cloned().collect();
        let mut mentions: BTreeMap<EntityKey, Vec<Mention>> = BTreeMap::new();
        let mut unmentioned = Vec::new();
        for (key, mut of_key) in wanted.iter().zip(self.snapshot.mentions_of(&wanted).await?) {
            of_key.retain(|mention| !mention.set_aside && self.holds(&mention.chunk));
            if of_key.is_empty() {
                unmentioned.push(key.clone());
            }
            mentions.insert(key.clone(), of_key);
        }
        let mut facts: BTreeMap<EntityKey, Vec<Fact>> = BTreeMap::new();
        for (key, mut of_key) in unmentioned.iter().zip(self.snapshot.facts_touching(&unmentioned).await?) {
            of_key.retain(|fact| !fact.set_aside && self.holds(&fact.chunk));
            of_key.sort_by(|one, other| {
                (&one.chunk, one.ordinal, &one.relation).cmp(&(&other.chunk, other.ordinal, &other.relation))
            });
            facts.insert(key.clone(), of_key);
        }
        let none = Vec::new();
        let entity = |key: &EntityKey| {
            let facts = facts.get(key).unwrap_or(&none);
            // The name is kept because it identifies the entity. Other edits by people belong to no document.
            let name = self.decisions.entity(key).and_then(|decided| decided.name.clone());
            let named = name.map(|name| DecidedEntity { name: Some(name), ..DecidedEntity::default() });
            let draft = derive_entity(key, mentions.get(key)?, facts, allowed.degree(key), named.as_ref())?;
            let description = keep_within(self.tokenizer, &draft.fragments);
            let inputs_hash = described_hash(&draft.view.inputs_hash, &description);
            Some(Entity { description, inputs_hash, ..draft.view })
        };
        Ok(keys.iter().map(entity).collect())
    }

    /// Returns relations as the allowed evidence describes them; `None` if unknown or not allowed.
    pub(crate) async fn relations(&self, keys: &[RelationKey]) -> Result<Vec<Option<Relation>>, StoreError> {
        let Some(allowed) = &self.allowed else { return self.snapshot.relations(keys).await };
        let admitted = |key: &&RelationKey| allowed.admits(ItemKind::Relation, &key.to_string());
        let wanted: Vec<RelationKey> = keys.iter().filter(admitted).cloned().collect();
        let mut relations: BTreeMap<&RelationKey, Relation> = BTreeMap::new();
        for (key, mut facts) in wanted.iter().zip(self.snapshot.facts_of(&wanted).await?) {
            facts.retain(|fact| !fact.set_aside && self.holds(&fact.chunk));
            if let Some(draft) = derive_relation(key, &facts, None) {
                let description = keep_within(self.tokenizer, &draft.fragments);
                let inputs_hash = described_hash(&draft.view.inputs_hash, &description);
                relations.insert(key, Relation { description, inputs_hash, ..draft.view });
            }
        }
        Ok(keys.iter().map(|key| relations.get(key).cloned()).collect())
    }

    /// Returns the allowed relations of any of these entities, each once.
    pub(crate) async fn relations_of(&self, entities: &[EntityKey]) -> Result<Vec<Relation>, StoreError> {
        let found = self.snapshot.relations_of(entities).await?.into_iter().flatten();
        let mut seen = BTreeSet::new();
        match &self.allowed {
            None => Ok(found.filter(|relation| seen.insert(relation.key.clone())).collect()),
            Some(_) => {
                let keys = found.map(|relation| relation.key);
                let keys: Vec<RelationKey> = keys.filter(|key| seen.insert(key.clone())).collect();
                Ok(self.relations(&keys).await?.into_iter().flatten().collect())
            }
        }
    }

    /// Returns the number of allowed relations of each entity; 0 if unknown.
    pub(crate) async fn degrees(&self, entities: &[EntityKey]) -> Result<Vec<u32>, StoreError> {
        match &self.allowed {
            None => self.snapshot.degrees(entities).await,
            Some(allowed) => Ok(entities.iter().map(|key| allowed.degree(key)).collect()),
        }
    }

    /// Returns the distinct allowed chunks behind each entity or relation, ascending, at most `limit` each.
    pub(crate) async fn chunks_behind(
        &self,
        keys: &[GraphKey],
        limit: usize,
    ) -> Result<Vec<Vec<ChunkId>>, StoreError> {
        self.snapshot.chunks_behind(keys, self.allowed.as_deref(), limit).await
    }

    /// Keeps the allowed entities, described by the allowed evidence only.
    pub(crate) async fn shown_entities(&self, entities: Vec<Entity>) -> Result<Vec<Entity>, StoreError> {
        if self.allowed.is_none() {
            return Ok(entities);
        }
        let keys: Vec<EntityKey> = entities.into_iter().map(|entity| entity.key).collect();
        Ok(self.entities(&keys).await?.into_iter().flatten().collect())
    }

    /// Keeps the allowed relations, described by the allowed evidence only.
    pub(crate) async fn shown_relations(
        &self,
        relations: Vec<Relation>,
    ) -> Result<Vec<Relation>, StoreError> {
        if self.allowed.is_none() {
            return Ok(relations);
        }
        let keys: Vec<RelationKey> = relations.into_iter().map(|relation| relation.key).collect();
        Ok(self.relations(&keys).await?.into_iter().flatten().collect())
    }

    /// True if there is a filter.
    pub(crate) fn is_filtered(&self) -> bool {
        self.allowed.is_some()
    }

    /// True if the chunk belongs to an allowed document.
    pub(crate) fn holds(&self, chunk: &ChunkId) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.admits(ItemKind::Chunk, chunk.as_str()))
    }
}
