//! The result of searching for a question, before any answer.

use graphloom_core::{
    Chunk, ChunkId, DocumentId, Entity, EntityKey, LayerName, NodeKey, Relation, RelationKey, Revision, Span,
};
use serde::{Deserialize, Serialize};

use super::QueryCost;
use super::claims::{AsOf, FoundClaim};
use super::decompose::Route;
use super::note::QueryNote;
use super::plan::Mode;
use super::question::Question;
use super::reports::{FoundReport, Point};

/// Search keywords of a question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keywords {
    /// Themes, for relations.
    pub high_level: Vec<String>,
    /// Names and specifics, for entities.
    pub low_level: Vec<String>,
    /// The model that found the keywords; `None` for rules.
    pub model: Option<String>,
}

impl Keywords {
    /// True if there is no keyword at all.
    pub fn is_empty(&self) -> bool {
        self.high_level.is_empty() && self.low_level.is_empty()
    }
}

/// The result of searching for a question, before any answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Retrieval {
    /// The revision that was searched.
    pub revision: Revision,
    /// The mode that ran.
    pub mode: Mode,
    /// The standalone question that was searched for, if the question is a follow-up.
    pub standalone_question: Option<String>,
    /// How many of the latest messages of the conversation the answer model gets.
    pub history_messages: usize,
    /// How mode auto searched; `None` in other modes.
    pub route: Option<Route>,
    /// The keywords of the search; empty lists if the mode needs none.
    pub keywords: Keywords,
    /// Entities in the context, best first. After PageRank: the seeds and the entities on the paths.
    pub entities: Vec<FoundEntity>,
    /// Relations in the context, best first. After PageRank: the seeds and the relations on the paths.
    pub relations: Vec<FoundRelation>,
    /// Nodes of layers whose texts are in the context, best first.
    pub nodes: Vec<FoundNode>,
    /// Claims in the context, best first. For a question as of a date: claims that held then.
    pub claims: Vec<FoundClaim>,
    /// The date of a question as of a date, and the sentences left out for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<AsOf>,
    /// Chunks in the context, best first.
    pub chunks: Vec<FoundChunk>,
    /// The path of PageRank to each chunk, in the order of the chunks; empty in modes without it.
    pub paths: Vec<ChunkPath>,
    /// Documents of the chunks, by number.
    pub references: Vec<Reference>,
    /// Reports of communities that were read, the most relevant first; empty in modes that read none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<FoundReport>,
    /// Points that an LLM drew from reports and passages, the most important first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<Point>,
    /// The follow-up questions that mode drift searched for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub follow_ups: Vec<String>,
    /// The context as the model sees it; empty if nothing was found.
    pub context: String,
    /// Notes to show with the answer: what was not done as requested.
    pub notes: Vec<QueryNote>,
    /// Model calls and cache hits of the search.
    #[serde(flatten)]
    pub cost: QueryCost,
}

impl Retrieval {
    pub(super) fn empty(revision: Revision, mode: Mode) -> Self {
        Self {
            revision,
            mode,
            standalone_question: None,
            history_messages: 0,
            route: None,
            keywords: Keywords::default(),
            entities: Vec::new(),
            relations: Vec::new(),
            nodes: Vec::new(),
            claims: Vec::new(),
            as_of: None,
            chunks: Vec::new(),
            paths: Vec::new(),
            references: Vec::new(),
            reports: Vec::new(),
            points: Vec::new(),
            follow_ups: Vec::new(),
            context: String::new(),
            notes: Vec::new(),
            cost: QueryCost::default(),
        }
    }

    /// Returns the text that was searched for.
    pub fn searched<'a>(&'a self, question: &'a Question) -> &'a str {
        self.standalone_question.as_deref().unwrap_or(question.text.trim())
    }
}

/// An entity with its score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundEntity {
    /// The entity.
    pub entity: Entity,
    /// Cosine; `None` if it was found through a relation.
    pub score: Option<f32>,
}

/// A relation with its score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundRelation {
    /// The relation.
    pub relation: Relation,
    /// Display names of its two ends, in key order.
    pub ends: [String; 2],
    /// Cosine; `None` if it was found through an entity.
    pub score: Option<f32>,
}

/// A node of a layer, such as the summary of passages, with its score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundNode {
    /// Id of the node.
    pub id: NodeKey,
    /// Layer of the node.
    pub layer: LayerName,
    /// Level of the node in its layer.
    pub level: u32,
    /// Title of the node.
    pub title: String,
    /// Text of the node.
    pub text: String,
    /// Cosine with the question.
    pub score: f32,
}

/// The search that found a chunk first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Arm {
    /// By its own vector.
    Vector,
    /// By its own vector and full text.
    Fused,
    /// Through an entity that it mentions.
    Entity,
    /// Through a relation that it states.
    Relation,
    /// By PageRank over the graph.
    #[serde(rename = "pagerank")]
    PageRank,
    /// By its own vector, or through a summary above it.
    Tree,
    /// Through a report with a finding that rests on it.
    Report,
    /// Through a claim that held at the date of the question.
    Claim,
}

/// A chunk in the context.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundChunk {
    /// The chunk.
    pub chunk: Chunk,
    /// Number of its document among the references.
    pub reference: u32,
    /// The search that found it first.
    pub arm: Arm,
    /// Score of the search: the cosine with the question, in the tree modes blended with that of the best summary above the
    /// chunk; the sum of weighted reciprocal ranks of vector and full text; or PageRank, in mode auto a weighted sum with the
    /// full-text score unless PageRank is fully trusted. `None` for other searches.
    pub score: Option<f32>,
    /// Score of the reranker; `None` if no reranker was called.
    pub rerank_score: Option<f32>,
    /// The sentences for which the chunk is in the context, in modes that read reports. Citations lead only to these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
}

/// A sentence of a chunk, and a statement that rests on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// Byte range in the document's text.
    pub span: Span,
    /// Text of the finding or point that rests on the sentence.
    pub statement: String,
    /// The community whose report has the finding; `None` for points from passages.
    pub report: Option<NodeKey>,
}

/// How PageRank came to a chunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChunkPath {
    /// The chunk.
    pub chunk: ChunkId,
    /// The way from a seed to the chunk, both included. Only the chunk if it is a seed itself.
    pub steps: Vec<PathStep>,
}

/// One node of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PathStep {
    /// A chunk.
    Chunk(ChunkId),
    /// An entity.
    Entity(EntityKey),
    /// A relation.
    Relation(RelationKey),
}

/// A numbered document of the context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reference {
    /// The number, from 1: most chunks first, ties by first appearance.
    pub number: u32,
    /// The document.
    pub document: DocumentId,
    /// Source of the document.
    pub source: String,
    /// Title of the document.
    pub title: String,
}
