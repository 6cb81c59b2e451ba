//! Extractions: what one model, or the rules, said about one chunk.

use serde::{Deserialize, Serialize};

use crate::ExtractionKey;

/// What was said about a chunk's text, verbatim and parsed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Extraction {
    /// Hash of chunk text, prompt, model and parameters.
    pub key: ExtractionKey,
    /// The model, or the name of the rules.
    pub model: String,
    /// The answers as they came, first answer then gleanings; empty for rules.
    pub responses: Vec<String>,
    /// The parsed records.
    pub records: Records,
    /// What could not be read.
    pub rejects: Vec<Reject>,
}

/// Parsed records in the order they were said.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Records {
    /// Entity records.
    pub entities: Vec<EntityRecord>,
    /// Relation records.
    pub relations: Vec<RelationRecord>,
}

/// `entity<|#|>name<|#|>type<|#|>description`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntityRecord {
    /// The name as said, cleaned.
    pub name: String,
    /// The type as said, such as `Person`.
    pub kind: String,
    /// What the text says about it.
    pub description: String,
}

/// `relation<|#|>source<|#|>target<|#|>keywords<|#|>description`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RelationRecord {
    /// Name of the source entity.
    pub source: String,
    /// Name of the target entity.
    pub target: String,
    /// What the relation is about.
    pub keywords: Vec<String>,
    /// What the text says about it.
    pub description: String,
    /// Strength; 1 where none was given.
    pub weight: f64,
}

/// A piece of a response that was not a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reject {
    /// Which response, from 0.
    pub response: u32,
    /// First byte of the piece in that response.
    pub offset: u64,
    /// Why it was not read, for people.
    pub reason: String,
    /// The piece, cut to a readable length.
    pub text: String,
}
