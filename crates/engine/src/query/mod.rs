//! Querying: a question in, evidence and a cited answer out.
//!
//! ```text
//! Question -plan-> keywords -embed-> vectors -search(snapshot)-> Hits -truncate-> graph -collect, load-> passages
//!          -rerank, fit, number, context-> Retrieval -answer-> text -cite-> Answer
//! ```
//!
//! Modes, defaults and orders are LightRAG's. The snapshot is dropped before any model reranks or answers.

mod budget;
mod cache;
mod calls;
mod chunks;
mod cite;
mod context;
mod embed;
mod fuse;
mod keywords;
mod lookup;
mod pick;
mod plan;
mod prompts;
mod references;
mod rerank;
mod respond;
mod search;
#[cfg(test)]
mod tests;
mod think;
mod truncate;

use graphloom_core::{
    Call, ChatMessage, Chunk, DocumentId, EmbeddingSpec, Entity, ModelError, Place, Relation, Revision, Span,
    StoreError,
};
use serde::{Deserialize, Serialize};

pub use cache::QueryCaches;
pub use lookup::{EntityHit, PassageHit, RelationHit, SearchHits, search};

use crate::Engine;
use context::LineCounter;
use plan::Plan;

/// The answer where the documents hold nothing to answer from.
const NOT_FOUND: &str = "That is not in your documents.";

/// What `question` finds: entities, relations and passages within their budgets, and the context made of them.
///
/// Nothing found, an empty workspace included, is an empty retrieval and no error. Mode bypass finds nothing.
#[tracing::instrument(skip_all, err, fields(mode = ?question.mode))]
pub async fn retrieve(engine: &Engine, question: &Question) -> Result<Retrieval, QueryError> {
    if question.text.trim().is_empty() {
        return Err(QueryError::Empty);
    }
    let plan = Plan::of(question.mode);
    let (revision, space) = workspace(engine).await?;
    let mut retrieval = Retrieval::empty(revision, question.mode);
    let Some(space) = space.filter(|_| plan.searches()) else { return Ok(retrieval) };
    embed::check_space(engine, &space)?;

    retrieval.keywords = keywords::find(engine, question, plan, &mut retrieval.calls).await?;
    let vectors =
        embed::embed(engine, question, plan, &retrieval.keywords, &space, &mut retrieval.calls).await?;

    let held = engine.store.snapshot().await?;
    let snapshot = held.as_ref();
    let counter = LineCounter { tokenizer: engine.tokenizer, caches: &engine.caches };
    let hits = search::search(snapshot, question, plan, &vectors).await?;
    let graph = truncate::truncate(snapshot, question, hits.entities, hits.relations, &counter).await?;
    let candidates = chunks::collect(snapshot, question, &vectors, hits.chunks, &graph).await?;
    let reranker = engine.models.reranker.as_deref().filter(|_| question.rerank);
    let to_read = rerank::passages_to_read(reranker, question.chunk_top_k);
    let mut passages = chunks::load(snapshot, candidates, to_read).await?;
    retrieval.revision = snapshot.revision();
    drop(held);

    if let Some(reranker) = reranker {
        let Retrieval { calls, notes, .. } = &mut retrieval;
        passages = rerank::rerank(engine, reranker, question, passages, calls, notes).await;
    }
    let passages = budget::fit(question, &graph, passages, &counter);
    let (references, chunks) = references::number(passages);

    retrieval.context = context::build(&graph.entity_lines, &graph.relation_lines, &chunks, &references);
    retrieval.entities = graph.entities;
    retrieval.relations = graph.relations;
    retrieval.chunks = chunks;
    retrieval.references = references;
    Ok(retrieval)
}

/// Answers from what was retrieved: by the answer model, or with verbatim sentences where there is none. The text
/// goes to `on_delta` as it is made.
///
/// An empty retrieval is answered with a plain "not found" and no model is asked, except in mode bypass. A model that
/// got a context and says that it does not know still counts as having found something: its words are not judged.
/// Numbers in the text that point to nothing stay in the text, so that it equals what was streamed, and are counted.
#[tracing::instrument(skip_all, err, fields(mode = ?retrieval.mode))]
pub async fn answer(
    engine: &Engine,
    question: &Question,
    retrieval: &Retrieval,
    on_delta: &mut (dyn FnMut(&str) + Send),
) -> Result<Answer, QueryError> {
    let asks_documents = Plan::of(retrieval.mode).searches();
    if asks_documents && retrieval.context.is_empty() {
        return Ok(Answer::not_found(on_delta));
    }
    let Some(model) = engine.models.answer.as_deref() else {
        if !asks_documents {
            return Err(QueryError::NoAnswerModel);
        }
        return verbatim_answer(engine, question, retrieval, on_delta).await;
    };
    let messages = prompt_of(question, retrieval);
    let (text, call) = respond::by_model(engine, model, messages, on_delta).await?;
    let picks = if asks_documents { cite::resolve(&text, retrieval) } else { Vec::new() };
    let unresolved = picks.iter().filter(|pick| pick.is_none()).count();
    let picks: Vec<cite::Pick> = picks.into_iter().flatten().collect();
    let (citations, gone) = cite::verify(engine, retrieval, &picks).await?;
    let dropped_citations = gone.saturating_add(u32::try_from(unresolved).unwrap_or(u32::MAX));
    if dropped_citations > 0 {
        tracing::warn!(dropped_citations, "the answer cites what is not there");
    }
    let model = Some(model.name().to_owned());
    Ok(Answer { text, found: true, model, citations, dropped_citations, calls: vec![call] })
}

/// The messages that [`answer`] sends to the answer model.
pub fn prompt_of(question: &Question, retrieval: &Retrieval) -> Vec<ChatMessage> {
    respond::messages(question, retrieval)
}

async fn verbatim_answer(
    engine: &Engine,
    question: &Question,
    retrieval: &Retrieval,
    on_delta: &mut (dyn FnMut(&str) + Send),
) -> Result<Answer, QueryError> {
    let (text, picks) = respond::by_rules(question, retrieval);
    if picks.is_empty() {
        return Ok(Answer::not_found(on_delta));
    }
    on_delta(&text);
    let (citations, dropped_citations) = cite::verify(engine, retrieval, &picks).await?;
    Ok(Answer { text, found: true, model: None, citations, dropped_citations, calls: Vec::new() })
}

async fn workspace(engine: &Engine) -> Result<(Revision, Option<EmbeddingSpec>), QueryError> {
    let snapshot = engine.store.snapshot().await?;
    Ok((snapshot.revision(), snapshot.embedding().await?))
}

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
    /// Chunks taken from the vector search, and kept in the context; 0 takes `top_k` and keeps all that fit.
    pub chunk_top_k: usize,
    /// Budget of the entity section.
    pub max_entity_tokens: u32,
    /// Budget of the relation section.
    pub max_relation_tokens: u32,
    /// Budget of the whole prompt.
    pub max_total_tokens: u32,
    /// Lowest cosine of any hit.
    pub cosine_threshold: f32,
    /// How many chunks come from entities and relations: half of this for each one on average where they are picked
    /// by vector; from this down to 1 along the ranks where they are picked by weight.
    pub related_chunk_number: u32,
    /// How chunks behind entities and relations are picked.
    pub chunk_pick: ChunkPick,
    /// The form of answer asked of the model.
    pub response_type: String,
    /// Keywords to search with; where any is given, none are looked for.
    pub keywords: Option<Keywords>,
    /// Whether passages are reranked, where there is a reranker.
    #[serde(alias = "enable_rerank")]
    pub rerank: bool,
    /// Lowest score of a reranked passage, on the reranker's own scale; 0 leaves none out.
    pub min_rerank_score: f32,
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
    /// What did not go as asked for and has to be shown with the answer.
    pub notes: Vec<QueryNote>,
    /// What it cost.
    pub calls: Vec<Call>,
}

/// Something that did not go as asked for, though there is an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "note")]
pub enum QueryNote {
    /// The reranker failed; the passages are in the order of the search.
    NotReranked {
        /// The reranker.
        reranker: String,
        /// Why.
        reason: String,
        /// What the user can do about it, where something can be said.
        remedy: Option<String>,
    },
}

impl std::fmt::Display for QueryNote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotReranked { reason, .. } => {
                write!(f, "passages are in the order of the search, not reranked: {reason}")
            }
        }
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
    /// What the reranker gave it; `None` where none was asked.
    pub rerank_score: Option<f32>,
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
    /// Whether the documents held anything to answer from; true in mode bypass, which does not ask them.
    pub found: bool,
    /// The model that wrote it; `None` for verbatim sentences chosen by rules.
    pub model: Option<String>,
    /// What the numbers in the text point to, verified against the bytes.
    pub citations: Vec<Citation>,
    /// Numbers in the text that point to nothing: no such document, no such sentence, or gone meanwhile. They have no
    /// place in `citations`.
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
    /// The pages, slides or sheets it stands on, where the document has any.
    pub place: Option<Place>,
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
            keywords: None,
            rerank: true,
            min_rerank_score: 0.0,
        }
    }
}

impl Keywords {
    /// Whether there is no keyword at all.
    pub fn is_empty(&self) -> bool {
        self.high_level.is_empty() && self.low_level.is_empty()
    }
}

impl Retrieval {
    fn empty(revision: Revision, mode: Mode) -> Self {
        Self {
            revision,
            mode,
            keywords: Keywords::default(),
            entities: Vec::new(),
            relations: Vec::new(),
            chunks: Vec::new(),
            references: Vec::new(),
            context: String::new(),
            notes: Vec::new(),
            calls: Vec::new(),
        }
    }
}

impl Answer {
    fn not_found(on_delta: &mut (dyn FnMut(&str) + Send)) -> Self {
        on_delta(NOT_FOUND);
        Self {
            text: NOT_FOUND.to_owned(),
            found: false,
            model: None,
            citations: Vec::new(),
            dropped_citations: 0,
            calls: Vec::new(),
        }
    }
}

impl QueryError {
    /// What the user can do about it, where something can be said.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Empty => Some("write a question".to_owned()),
            Self::NoAnswerModel => Some("configure an answer model, or choose another mode".to_owned()),
            Self::OtherEmbedder { .. } => {
                Some("use the embedder the workspace was built with, or a new --workspace".to_owned())
            }
            Self::Store(error) => error.remedy(),
            Self::Model(error) => error.remedy(),
        }
    }
}
