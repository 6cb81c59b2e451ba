//! Querying: a question in, evidence and a cited answer out.

use graphloom_core::{Call, Chunk, DocumentId, Entity, ModelError, Relation, Revision, Span, StoreError};
use serde::{Deserialize, Serialize};

use crate::Engine;

/// Which searches run and how the answer is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Chunks by vector.
    Naive,
    /// Low-level keywords to entities, their relations and chunks.
    Local,
    /// High-level keywords to relations, their entities and chunks.
    Global,
    /// Local and global, round-robin.
    Hybrid,
    /// Hybrid and naive, round-robin. The default.
    Mix,
    /// No search; the model answers alone.
    Bypass,
}

/// A question with everything that changes its answer. Defaults are LightRAG's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Question {
    /// The words.
    pub text: String,
    /// Which searches run.
    pub mode: Mode,
    /// Entities or relations taken from each vector search.
    pub top_k: usize,
    /// Chunks taken from the vector search, and kept in the context.
    pub chunk_top_k: usize,
    /// Budget of the entity section.
    pub max_entity_tokens: u32,
    /// Budget of the relation section.
    pub max_relation_tokens: u32,
    /// Budget of the whole prompt.
    pub max_total_tokens: u32,
    /// Lowest cosine of any hit.
    pub cosine_threshold: f32,
    /// Chunks behind each entity or relation that are considered, at most.
    pub related_chunk_number: u32,
    /// How chunks behind entities and relations are picked.
    pub chunk_pick: ChunkPick,
    /// The form of answer asked of the model.
    pub response_type: String,
}

/// How chunks behind entities and relations are picked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChunkPick {
    /// By cosine of the chunk with the question.
    Vector,
    /// By polling entities and relations, better ranked ones more often.
    Weight,
}

/// Search keywords of a question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keywords {
    /// Themes, for relations.
    pub high_level: Vec<String>,
    /// Names and specifics, for entities.
    pub low_level: Vec<String>,
    /// The model that found them; `None` for rules.
    pub model: Option<String>,
}

/// What a question found, before any answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Retrieval {
    /// The state that was searched.
    pub revision: Revision,
    /// The mode that ran.
    pub mode: Mode,
    /// The keywords it searched with; empty lists where the mode needs none.
    pub keywords: Keywords,
    /// Entities in the context, best first.
    pub entities: Vec<FoundEntity>,
    /// Relations in the context, best first.
    pub relations: Vec<FoundRelation>,
    /// Chunks in the context, best first.
    pub chunks: Vec<FoundChunk>,
    /// Documents of the chunks, by number.
    pub references: Vec<Reference>,
    /// The context as the model sees it; empty where nothing was found.
    pub context: String,
    /// What it cost.
    pub calls: Vec<Call>,
}

/// An entity with its score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundEntity {
    /// The entity.
    pub entity: Entity,
    /// Cosine; `None` where it came along with a relation.
    pub score: Option<f32>,
}

/// A relation with its score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundRelation {
    /// The relation.
    pub relation: Relation,
    /// Display names of its two ends, in key order.
    pub ends: [String; 2],
    /// Cosine; `None` where it came along with an entity.
    pub score: Option<f32>,
}

/// Which arm of the search brought a chunk first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Arm {
    /// Its own vector.
    Vector,
    /// An entity it mentions.
    Entity,
    /// A relation it states.
    Relation,
}

/// A chunk in the context.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundChunk {
    /// The chunk.
    pub chunk: Chunk,
    /// Number of its document among the references.
    pub reference: u32,
    /// Which arm brought it.
    pub arm: Arm,
    /// Cosine with the question; `None` for other arms.
    pub score: Option<f32>,
}

/// A numbered document of the context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reference {
    /// The number, from 1: most chunks first, ties by first appearance.
    pub number: u32,
    /// The document.
    pub document: DocumentId,
    /// Its source.
    pub source: String,
    /// Its title.
    pub title: String,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// The words; equal to the streamed deltas joined.
    pub text: String,
    /// Whether the documents held anything to answer from.
    pub found: bool,
    /// The model that wrote it; `None` for verbatim sentences chosen by rules.
    pub model: Option<String>,
    /// What the numbers in the text point to, verified against the bytes.
    pub citations: Vec<Citation>,
    /// Numbers in the text that pointed to nothing and were dropped.
    pub dropped_citations: u32,
    /// What it cost.
    pub calls: Vec<Call>,
}

/// A place in a document that supports an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Citation {
    /// The number in the text.
    pub number: u32,
    /// The document.
    pub document: DocumentId,
    /// Its source.
    pub source: String,
    /// Where in its text.
    pub span: Span,
    /// First and last line, from 1, of the document's text.
    pub lines: (u32, u32),
    /// Whether those are lines of the source file too.
    pub lines_match_source: bool,
    /// The text of the span, verbatim.
    pub quote: String,
}

/// Why a question got no answer.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// Nothing was asked.
    #[error("the question is empty")]
    Empty,
    /// A mode needs a model that is not configured.
    #[error("mode bypass needs an answer model and none is configured")]
    NoAnswerModel,
    /// The workspace's vectors are from another embedder.
    #[error("the workspace was embedded with {workspace}, the question with {question}")]
    OtherEmbedder {
        /// The workspace's embedder.
        workspace: String,
        /// The configured one.
        question: String,
    },
    /// The store failed.
    #[error("searching")]
    Store(#[from] StoreError),
    /// The model failed.
    #[error("asking")]
    Model(#[from] ModelError),
}

impl Default for Question {
    fn default() -> Self {
        Self {
            text: String::new(),
            mode: Mode::Mix,
            top_k: 40,
            chunk_top_k: 20,
            max_entity_tokens: 6000,
            max_relation_tokens: 8000,
            max_total_tokens: 30_000,
            cosine_threshold: 0.2,
            related_chunk_number: 5,
            chunk_pick: ChunkPick::Vector,
            response_type: "Multiple Paragraphs".to_owned(),
        }
    }
}
