//! What a question finds, before any answer.

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
    /// The model that found them; `None` for rules.
    pub model: Option<String>,
}

impl Keywords {
    /// Whether there is no keyword at all.
    pub fn is_empty(&self) -> bool {
        self.high_level.is_empty() && self.low_level.is_empty()
    }
}

/// What a question found, before any answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Retrieval {
    /// The state that was searched.
    pub revision: Revision,
    /// The mode that ran.
    pub mode: Mode,
    /// The question as it was searched for, where that is not how it was asked: it follows a conversation.
    pub standalone_question: Option<String>,
    /// How many of the latest messages of the conversation the answer model gets.
    pub history_messages: usize,
    /// How mode auto went about it; `None` in other modes.
    pub route: Option<Route>,
    /// The keywords it searched with; empty lists where the mode needs none.
    pub keywords: Keywords,
    /// Entities in the context, best first; after PageRank, what it started at and what is on the paths.
    pub entities: Vec<FoundEntity>,
    /// Relations in the context, best first; after PageRank, what it started at and what is on the paths.
    pub relations: Vec<FoundRelation>,
    /// Nodes of layers whose texts are in the context, best first.
    pub nodes: Vec<FoundNode>,
    /// Claims in the context, best first; those that held at the date of a question as of a date.
    pub claims: Vec<FoundClaim>,
    /// The date of a question as of a date, and what is left out for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<AsOf>,
    /// Chunks in the context, best first.
    pub chunks: Vec<FoundChunk>,
    /// How PageRank came to the chunks, in their order; empty in modes without it.
    pub paths: Vec<ChunkPath>,
    /// Documents of the chunks, by number.
    pub references: Vec<Reference>,
    /// Reports of communities that were read, the most relevant first; empty in modes that read none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<FoundReport>,
    /// What an LLM drew from reports and passages, the most important first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<Point>,
    /// The follow-up questions that mode drift looked up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub follow_ups: Vec<String>,
    /// The context as the model sees it; empty where nothing was found.
    pub context: String,
    /// What did not go as asked for and has to be shown with the answer.
    pub notes: Vec<QueryNote>,
    /// What it cost.
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

    /// The words that were searched for.
    pub fn searched<'a>(&'a self, question: &'a Question) -> &'a str {
        self.standalone_question.as_deref().unwrap_or(question.text.trim())
    }
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

/// A node of a layer, such as the summary of passages, with its score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundNode {
    /// Its id.
    pub id: NodeKey,
    /// Its layer.
    pub layer: LayerName,
    /// Its level.
    pub level: u32,
    /// Its title.
    pub title: String,
    /// Its text.
    pub text: String,
    /// Cosine with the question.
    pub score: f32,
}

/// Which arm of the search brought a chunk first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Arm {
    /// Its own vector.
    Vector,
    /// Its own vector and its words.
    Fused,
    /// An entity it mentions.
    Entity,
    /// A relation it states.
    Relation,
    /// PageRank over the graph.
    #[serde(rename = "pagerank")]
    PageRank,
    /// Its own vector, or a summary that it is behind.
    Tree,
    /// A finding of a report rests on it.
    Report,
    /// A claim that held at the date of the question.
    Claim,
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
    /// Cosine with the question, weighted reciprocal ranks of vector and words added up, or PageRank, weighted reciprocal ranks where other rankings count beside it; `None` for other arms.
    pub score: Option<f32>,
    /// What the reranker gave it; `None` where none was asked.
    pub rerank_score: Option<f32>,
    /// The sentences that it is there for, in modes that read reports; citations lead to these alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
}

/// A sentence of a chunk, and what rests on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// Where in the document's text.
    pub span: Span,
    /// What a finding or point says.
    pub said: String,
    /// The community whose report has the finding; `None` for points from passages.
    pub report: Option<NodeKey>,
}

/// Why PageRank came to a chunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChunkPath {
    /// The chunk.
    pub chunk: ChunkId,
    /// From where PageRank started to the chunk: what is near to the question or named in it, and what led on. The chunk
    /// alone where PageRank started at it.
    pub steps: Vec<PathStep>,
}

/// A place on a path of PageRank.
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
    /// Its source.
    pub source: String,
    /// Its title.
    pub title: String,
}
