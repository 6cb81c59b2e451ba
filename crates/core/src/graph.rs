//! The graph: mentions and facts (evidence), and the entities and relations computed from them (views).

use serde::{Deserialize, Serialize};

use crate::{ChunkId, ContentHash, EntityKey, RelationKey, Span, SummaryKey};

/// One entity record of one chunk in the live graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mention {
    /// The chunk it was extracted from.
    pub chunk: ChunkId,
    /// Position among the chunk's mentions, from 0.
    pub ordinal: u32,
    /// The entity it counts for.
    pub entity: EntityKey,
    /// The extracted name.
    pub name: String,
    /// The extracted type.
    pub kind: String,
    /// The extracted description.
    pub description: String,
    /// Where the name first occurs in the document; `None` if the chunk does not contain it literally.
    pub span: Option<Span>,
    /// Whether a decision keeps it out of the graph.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub set_aside: bool,
}

/// One relation record of one chunk in the live graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// The chunk it was extracted from.
    pub chunk: ChunkId,
    /// Position among the chunk's facts, from 0.
    pub ordinal: u32,
    /// The relation that it counts for; if its entities were merged, their original pair.
    pub relation: RelationKey,
    /// The extracted source; its key leads to one entity of `relation`.
    pub source: String,
    /// The extracted target; its key leads to the other entity.
    pub target: String,
    /// Whether the source is entity `a` of the relation.
    pub source_is_a: bool,
    /// Keywords.
    pub keywords: Vec<String>,
    /// The extracted description.
    pub description: String,
    /// Weight, 1 by default.
    pub weight: f64,
    /// Whether a decision keeps it out of the graph.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub set_aside: bool,
}

/// An entity: a view of the mentions and facts that share a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entity {
    /// Normalized name.
    pub key: EntityKey,
    /// Most frequent form of the name; of equally frequent ones, the smallest.
    pub name: String,
    /// Most frequent type; of equally frequent ones, the smallest. `UNKNOWN` if only relations name the entity.
    pub kind: String,
    /// Distinct descriptions joined, or their summary.
    pub description: String,
    /// Number of live mentions.
    pub mention_count: u32,
    /// Number of live relations.
    pub degree: u32,
    /// Hash of everything that the view was computed from.
    pub inputs_hash: ContentHash,
}

/// A relation: a view of the facts of one unordered pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Relation {
    /// The pair.
    pub key: RelationKey,
    /// Union of the facts' keywords, sorted.
    pub keywords: Vec<String>,
    /// Distinct descriptions joined, or their summary.
    pub description: String,
    /// Sum of the facts' weights.
    pub weight: f64,
    /// Number of live facts.
    pub fact_count: u32,
    /// Hash of everything that the view was computed from.
    pub inputs_hash: ContentHash,
}

/// An entity or a relation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GraphKey {
    /// An entity.
    Entity(EntityKey),
    /// A relation.
    Relation(RelationKey),
}

/// A stored summary of the descriptions of one entity or relation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Hash of sorted inputs, prompt and model.
    pub key: SummaryKey,
    /// The summary.
    pub text: String,
}
