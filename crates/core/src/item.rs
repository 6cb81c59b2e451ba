//! Items: everything that has a text and a vector and can be searched for.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{ChunkId, EntityKey, GraphKey, NodeKey, RelationKey};

/// The kinds of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// Chunks.
    Chunk,
    /// Entities.
    Entity,
    /// Relations.
    Relation,
    /// Nodes of layers.
    Node,
}

impl ItemKind {
    /// All kinds, in order.
    pub const ALL: [Self; 4] = [Self::Chunk, Self::Entity, Self::Relation, Self::Node];
}

/// The key of an item.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKey {
    /// A chunk.
    Chunk(ChunkId),
    /// An entity.
    Entity(EntityKey),
    /// A relation.
    Relation(RelationKey),
    /// A node of a layer.
    Node(NodeKey),
}

impl ItemKey {
    /// Returns the kind.
    pub fn kind(&self) -> ItemKind {
        match self {
            Self::Chunk(_) => ItemKind::Chunk,
            Self::Entity(_) => ItemKind::Entity,
            Self::Relation(_) => ItemKind::Relation,
            Self::Node(_) => ItemKind::Node,
        }
    }

    /// Returns the key without its kind, as it is stored and printed; never empty.
    pub fn id(&self) -> Cow<'_, str> {
        match self {
            Self::Chunk(id) => id.as_str().into(),
            Self::Entity(key) => key.as_str().into(),
            Self::Relation(key) => key.to_string().into(),
            Self::Node(key) => key.as_str().into(),
        }
    }

    /// Restores a key from its kind and [id](Self::id); `None` if the id is not a key of that kind.
    pub fn from_id(kind: ItemKind, id: &str) -> Option<Self> {
        Some(match kind {
            ItemKind::Chunk => Self::Chunk(ChunkId::from_stored(id)),
            ItemKind::Entity => Self::Entity(EntityKey::from_stored(id)),
            ItemKind::Relation => Self::Relation(RelationKey::parse(id)?),
            ItemKind::Node => Self::Node(NodeKey::from_stored(id)),
        })
    }

    /// Returns the chunk; `None` for other items.
    pub fn into_chunk(self) -> Option<ChunkId> {
        match self {
            Self::Chunk(id) => Some(id),
            Self::Entity(_) | Self::Relation(_) | Self::Node(_) => None,
        }
    }

    /// Returns the entity; `None` for other items.
    pub fn into_entity(self) -> Option<EntityKey> {
        match self {
            Self::Entity(key) => Some(key),
            Self::Chunk(_) | Self::Relation(_) | Self::Node(_) => None,
        }
    }

    /// Returns the relation; `None` for other items.
    pub fn into_relation(self) -> Option<RelationKey> {
        match self {
            Self::Relation(key) => Some(key),
            Self::Chunk(_) | Self::Entity(_) | Self::Node(_) => None,
        }
    }

    /// Returns the node; `None` for other items.
    pub fn into_node(self) -> Option<NodeKey> {
        match self {
            Self::Node(key) => Some(key),
            Self::Chunk(_) | Self::Entity(_) | Self::Relation(_) => None,
        }
    }
}

impl From<GraphKey> for ItemKey {
    fn from(key: GraphKey) -> Self {
        match key {
            GraphKey::Entity(key) => Self::Entity(key),
            GraphKey::Relation(key) => Self::Relation(key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_can_be_restored_from_its_kind_and_id() {
        let [a, b] = ["A", "B"].map(EntityKey::from_stored);
        let relation = RelationKey::new(b, a.clone()).expect("two ends");
        for key in [
            ItemKey::Chunk(ChunkId::from_stored("chunk-1")),
            ItemKey::Entity(a),
            ItemKey::Relation(relation),
            ItemKey::Node(NodeKey::from_stored("themes-1")),
        ] {
            assert_eq!(ItemKey::from_id(key.kind(), &key.id()), Some(key));
        }
        assert_eq!(ItemKey::from_id(ItemKind::Relation, "A"), None);
    }
}
