//! The part of a snapshot that covers the graph and its layers.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::StoreError;
use crate::{
    ChunkId, Claim, Entity, EntityKey, Fact, FilteredIds, GraphKey, Layer, LayerName, LayerNode, Links,
    Member, Mention, NodeKey, Relation, RelationKey, Summary,
};

/// Mentions, facts and claims, the entities and relations computed from them, and the layers derived from those.
#[async_trait]
pub trait Graph: Send + Sync {
    /// Returns each entity's live mentions by (chunk, ordinal), including those set aside.
    async fn mentions_of(&self, entities: &[EntityKey]) -> Result<Vec<Vec<Mention>>, StoreError>;

    /// Returns each relation's live facts by (chunk, ordinal), including those set aside.
    async fn facts_of(&self, relations: &[RelationKey]) -> Result<Vec<Vec<Fact>>, StoreError>;

    /// Returns each entity's live facts, as source or target, by (relation, chunk, ordinal), including those set aside.
    async fn facts_touching(&self, entities: &[EntityKey]) -> Result<Vec<Vec<Fact>>, StoreError>;

    /// Returns each entity's live claims, as subject or object, by (chunk, ordinal). Claims use the entity
    /// names of their chunks.
    async fn claims_of(&self, entities: &[EntityKey]) -> Result<Vec<Vec<Claim>>, StoreError>;

    /// Returns everything that the mentions and facts of these chunks count for, sorted and unique: entities
    /// of mentions, relations of facts, and both entities of those relations. Records set aside do not count.
    async fn graph_keys_of(&self, chunks: &[ChunkId]) -> Result<Vec<GraphKey>, StoreError>;

    /// Returns the same for each chunk separately: the items it is linked to in the [link graph](crate::LinkGraph).
    async fn links_of(&self, chunks: &[ChunkId]) -> Result<Vec<Vec<GraphKey>>, StoreError> {
        let mut links = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            links.push(self.graph_keys_of(std::slice::from_ref(chunk)).await?);
        }
        Ok(links)
    }

    /// Returns entities by key.
    async fn entities(&self, keys: &[EntityKey]) -> Result<Vec<Option<Entity>>, StoreError>;

    /// Returns relations by key.
    async fn relations(&self, keys: &[RelationKey]) -> Result<Vec<Option<Relation>>, StoreError>;

    /// Returns each entity's relations, by key.
    async fn relations_of(&self, entities: &[EntityKey]) -> Result<Vec<Vec<Relation>>, StoreError>;

    /// Returns each entity's degree (number of live relations); 0 if the entity is unknown. Cheaper than
    /// [`Snapshot::entities`].
    async fn degrees(&self, entities: &[EntityKey]) -> Result<Vec<u32>, StoreError>;

    /// Returns the distinct chunks with evidence for each entity (mentions) or relation (facts), ascending,
    /// at most `limit` each, and only chunks `within` the filter. Records set aside do not count.
    async fn chunks_behind(
        &self,
        keys: &[GraphKey],
        within: Option<&FilteredIds>,
        limit: usize,
    ) -> Result<Vec<Vec<ChunkId>>, StoreError>;

    /// Returns the stored summaries of each item, by key.
    async fn summaries(&self, keys: &[GraphKey]) -> Result<Vec<Vec<Summary>>, StoreError>;

    /// Returns the link graph of the chunks of live documents. Node numbers are valid only in this result.
    async fn links(&self) -> Result<Links, StoreError>;

    /// Returns all layers, by name. Not paged, because there are only as many as there are kinds of derived views.
    async fn layers(&self) -> Result<Vec<Layer>, StoreError>;

    /// Returns nodes of layers by key.
    async fn nodes(&self, keys: &[NodeKey]) -> Result<Vec<Option<LayerNode>>, StoreError>;

    /// Returns the nodes that have each of these as a member, by key.
    async fn nodes_of(&self, members: &[Member]) -> Result<Vec<Vec<NodeKey>>, StoreError>;

    /// Returns the number of a layer's nodes by level. A level without nodes has no entry.
    async fn node_counts(&self, layer: &LayerName) -> Result<BTreeMap<u32, u64>, StoreError>;
}
