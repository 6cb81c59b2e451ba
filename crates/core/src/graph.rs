//! The graph: mentions and facts (evidence), entities and relations (views over them).

use serde::{Deserialize, Serialize};

use crate::{ChunkId, ContentHash, EntityKey, RelationKey, Span, SummaryKey};

/// One entity record of one chunk, in the live graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mention {
    /// The chunk it was said about.
    pub chunk: ChunkId,
    /// Position among the chunk's mentions, from 0.
    pub ordinal: u32,
    /// The entity it counts for.
    pub entity: EntityKey,
    /// The name as said.
    pub name: String,
    /// The type as said.
    pub kind: String,
    /// What was said.
    pub description: String,
    /// Where the name first stands in the document; `None` where the chunk does not contain it literally.
    pub span: Option<Span>,
    /// Whether a decision keeps it out of the graph.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub set_aside: bool,
}

/// One relation record of one chunk, in the live graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// The chunk it was said about.
    pub chunk: ChunkId,
    /// Position among the chunk's facts, from 0.
    pub ordinal: u32,
    /// The relation it counts for; where its ends have become one entity, the pair it was said about.
    pub relation: RelationKey,
    /// The source as said; its key leads to one end of `relation`.
    pub source: String,
    /// The target as said; its key leads to the other end.
    pub target: String,
    /// Whether the source is the relation's `a` end.
    pub source_is_a: bool,
    /// What the fact is about.
    pub keywords: Vec<String>,
    /// What was said.
    pub description: String,
    /// Strength, 1 by default.
    pub weight: f64,
    /// Whether a decision keeps it out of the graph.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub set_aside: bool,
}

/// A view over the mentions and facts that share a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entity {
    /// Normalised name.
    pub key: EntityKey,
    /// Commonest surface form; ties to the smallest.
    pub name: String,
    /// Majority type; ties to the smallest; `UNKNOWN` where only relations name the entity.
    pub kind: String,
    /// Distinct descriptions joined, or their summary.
    pub description: String,
    /// Live mentions.
    pub mention_count: u32,
    /// Live relations.
    pub degree: u32,
    /// Hash of everything the view was computed from.
    pub inputs_hash: ContentHash,
}

/// A view over the facts of one unordered pair.
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
    /// Live facts.
    pub fact_count: u32,
    /// Hash of everything the view was computed from.
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

/// A memoised model summary of some descriptions of one entity or relation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Hash of sorted inputs, prompt and model.
    pub key: SummaryKey,
    /// The model's words.
    pub text: String,
}
