//! The part of a snapshot about the graph and its layers.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::StoreError;
use crate::{
    ChunkId, Claim, Entity, EntityKey, Fact, FilteredIds, GraphKey, Layer, LayerName, LayerNode, Links,
    Member, Mention, NodeKey, Relation, RelationKey, Summary,
};

/// Mentions, facts and claims, the entities and relations that they add up to, and the layers derived from those.
#[async_trait]
pub trait Graph: Send + Sync {
    /// Each entity's live mentions by (chunk, ordinal), including those set aside.
    async fn mentions_of(&self, entities: &[EntityKey]) -> Result<Vec<Vec<Mention>>, StoreError>;

    /// Each relation's live facts by (chunk, ordinal), including those set aside.
    async fn facts_of(&self, relations: &[RelationKey]) -> Result<Vec<Vec<Fact>>, StoreError>;

    /// Each entity's live facts, as either entity, by (relation, chunk, ordinal), including those set aside.
    async fn facts_touching(&self, entities: &[EntityKey]) -> Result<Vec<Vec<Fact>>, StoreError>;

    /// Each entity's live claims, as subject or object under the names of the chunks, by (chunk, ordinal).
    async fn claims_of(&self, entities: &[EntityKey]) -> Result<Vec<Vec<Claim>>, StoreError>;

    /// Everything that the mentions and facts of these chunks count for, sorted and unique: entities of mentions,
    /// relations of facts, and both entities of those relations. Records set aside do not count.
    async fn graph_keys_of(&self, chunks: &[ChunkId]) -> Result<Vec<GraphKey>, StoreError>;

    /// The same for each of the chunks: what it is linked with in the [link graph](crate::LinkGraph).
    async fn links_of(&self, chunks: &[ChunkId]) -> Result<Vec<Vec<GraphKey>>, StoreError> {
        let mut links = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            links.push(self.graph_keys_of(std::slice::from_ref(chunk)).await?);
        }
        Ok(links)
    }

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
        within: Option<&FilteredIds>,
        limit: usize,
    ) -> Result<Vec<Vec<ChunkId>>, StoreError>;

    /// The stored summaries of each item, by key.
    async fn summaries(&self, keys: &[GraphKey]) -> Result<Vec<Vec<Summary>>, StoreError>;

    /// The link graph of the chunks of live documents. Node numbers are valid only in this result.
    async fn links(&self) -> Result<Links, StoreError>;

    /// All layers by name. Unpaged, since there are only as many as there are kinds of derived views.
    async fn layers(&self) -> Result<Vec<Layer>, StoreError>;

    /// Nodes of layers by key.
    async fn nodes(&self, keys: &[NodeKey]) -> Result<Vec<Option<LayerNode>>, StoreError>;

    /// The nodes that have each of these as a member, by key.
    async fn nodes_of(&self, members: &[Member]) -> Result<Vec<Vec<NodeKey>>, StoreError>;

    /// Number of a layer's nodes by level; no entry for 0.
    async fn node_counts(&self, layer: &LayerName) -> Result<BTreeMap<u32, u64>, StoreError>;
}
