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
mod claims;
mod context;
mod decompose;
mod embed;
mod facts;
mod fuse;
mod history;
mod keywords;
mod lookup;
mod overview;
mod pagerank;
mod pagerank_options;
mod pick;
mod plan;
mod prompts;
mod question;
mod references;
mod reports;
mod rerank;
mod respond;
mod rests_on;
mod search;
mod seen;
mod stops;
mod suggest;
#[cfg(test)]
mod tests;
mod think;
mod truncate;
mod trust;
mod verbatim;
mod wording;

use std::borrow::Cow;
use std::collections::BTreeSet;

use futures::future::BoxFuture;
use graphloom_core::{
    ChatMessage, Chunk, ChunkId, DocumentId, Entity, EntityKey, FilterError, LayerName, ModelError, NodeKey,
    Place, Relation, RelationKey, Revision, Role, Span, StoreError,
};
use serde::{Deserialize, Serialize};

pub use cache::QueryCaches;
pub use calls::QueryCost;
pub use cite::{CitedSpan, Mark, marks, marks_of, without_references};
pub(crate) use cite::{ContentWords, likeness};
pub use claims::{AsOf, FoundClaim};
pub use decompose::{QuestionForm, Route};
pub use lookup::{EntityHit, PassageHit, RelationHit, SearchHits, search};
pub use pagerank_options::{Decompose, MAX_PAGERANK_SEEDS, PageRankOptions};
pub use plan::Mode;
pub use question::{
    ChunkPick, MAX_BUDGET_TOKENS, MAX_GIVEN_KEYWORDS, MAX_HISTORY_MESSAGES, MAX_KEYWORD_CHARS,
    MAX_MESSAGE_CHARS, MAX_QUESTION_CHARS, MAX_REQUEST_CHARS, MAX_RESPONSE_TYPE_CHARS, MAX_STOP_CHARS,
    MAX_STOPS, MAX_TOP_K, MAX_USER_PROMPT_CHARS, Question, QuestionOutput,
};
pub use references::{ListedDocument, references};
pub use reports::{FoundReport, MAX_DRIFT_STEPS, MAX_REPORT_CALLS, Point, RateReports, ReportOptions};
pub use rests_on::rests_on;
pub use suggest::{MAX_ABOUT_CHARS, MAX_SUGGESTIONS, Suggestion, Suggestions, suggest};
pub use trust::PageRankTrust;
pub use verbatim::AnswerKind;

use crate::Engine;
use crate::filtered::FilteredSnapshot;
use context::LineCounter;
use plan::Plan;
use seen::Workspace;
use stops::CutText;

/// What `question` finds: entities, relations and passages within their budgets, and the context made of them.
///
/// Nothing found, an empty workspace included, is an empty retrieval and no error. Mode bypass finds nothing. A question
/// that follows a conversation is searched for as it would be asked without it. The model calls are stored in the
/// ledger, also if a later step fails.
#[tracing::instrument(skip_all, fields(mode = ?question.mode))]
pub fn retrieve<'a>(
    engine: &'a Engine,
    question: &'a Question,
) -> BoxFuture<'a, Result<Retrieval, QueryError>> {
    Box::pin(async move {
        question.check().inspect_err(QueryError::log)?;
        let mut cost = QueryCost::default();
        let found = find(engine, question, &mut cost).await;
        cost.store(engine).await;
        let retrieval = found.map_err(|error| error.logged(&cost))?;
        Ok(Retrieval { cost, ..retrieval })
    })
}

async fn find(engine: &Engine, question: &Question, cost: &mut QueryCost) -> Result<Retrieval, QueryError> {
    let plan = Plan::of(question.mode);
    if plan.reads_reports() && question.filter.is_some() {
        return Err(QueryError::ReportsOfAll { mode: question.mode });
    }
    let filter = question.filter.as_ref().filter(|_| plan.searches());
    let Workspace { revision, space, mut seen } =
        Workspace::look(engine, filter, plan.searches_graph()).await?;
    let mut retrieval = Retrieval::empty(revision, question.mode);
    retrieval.history_messages = history::fitting(question, engine.tokenizer);
    let left_out = question.history.len() - retrieval.history_messages;
    if left_out > 0 {
        retrieval.notes.push(QueryNote::HistoryCut { left_out });
    }
    let options = question.pagerank.unused(plan, engine.models.keywords.is_some());
    if !options.is_empty() {
        retrieval.notes.push(QueryNote::PageRankOptionsUnused { options });
    }
    let options = question.reports.unused(plan, engine.models.keywords.is_some());
    if !options.is_empty() {
        retrieval.notes.push(QueryNote::ReportOptionsUnused { options });
    }
    let Some(space) = space.filter(|_| plan.searches()) else {
        if question.as_of.is_some() && !plan.searches() {
            retrieval.notes.push(QueryNote::AsOfUnused);
        }
        return Ok(retrieval);
    };
    embed::check_space(engine, &space)?;

    let understood = keywords::find(engine, question, plan, cost).await?;
    retrieval.keywords = understood.keywords;
    retrieval.standalone_question = understood.standalone;
    let asked = match &retrieval.standalone_question {
        Some(standalone) => Cow::Owned(Question { text: standalone.clone(), ..question.clone() }),
        None => Cow::Borrowed(question),
    };
    retrieval.route = understood.route;
    // Reports tell of all times together.
    let is_auto = question.mode == Mode::Auto && question.as_of.is_none();
    let plan = match is_auto && reports::answers(engine, question, &asked.text, &mut retrieval.notes).await? {
        true => {
            retrieval.mode = Mode::CommunityGlobal;
            retrieval.route = Some(Route::of_documents());
            Plan::of(retrieval.mode)
        }
        false => plan,
    };
    if plan.reads_reports() {
        if question.as_of.is_some() {
            retrieval.notes.push(QueryNote::AsOfUnused);
        }
        return reports::find(engine, &asked, plan, &space, retrieval, cost).await;
    }
    let parts = retrieval.route.as_ref().map_or(&[][..], |route| &route.parts);
    let vectors = embed::embed(engine, &asked, plan, &retrieval.keywords, parts, &space, cost).await?;
    let facts = facts::chosen(engine, &asked, plan, &vectors, &mut seen, cost, &mut retrieval.notes).await?;

    let held = engine.store.snapshot().await?;
    let snapshot = held.as_ref();
    let counter = LineCounter { tokenizer: engine.tokenizer, caches: &engine.caches };
    seen.renew(snapshot).await?;
    let scope = &FilteredSnapshot::new(snapshot, seen.allowed, engine.tokenizer).await?;
    let mut hits = search::search(scope, &asked, plan, &vectors, facts).await?;
    if let Some(route) = &mut retrieval.route {
        route.pagerank = hits.trust.take();
    }
    let as_of = question.as_of.as_ref();
    let mut claims = claims::Claims::default();
    if plan.searches_graph() || as_of.is_some() {
        claims = claims::find(scope, &asked, &mut hits, &counter).await?;
    }
    let claim_tokens =
        claims.tokens + context::claims_frame_tokens(!claims.found.is_empty(), as_of, &counter);
    let mut graph =
        truncate::truncate(scope, question, hits.entities, hits.relations, claim_tokens, &counter).await?;
    // Summaries tell of all times together.
    if as_of.is_none() {
        graph.take_nodes(hits.nodes, &counter);
    }
    if plan.searches_tree() {
        retrieval.notes.extend(search::tree_note(snapshot, scope.is_filtered()).await?);
    }
    let mut candidates = chunks::collect(scope, question, plan, &vectors, hits.chunks, &graph).await?;
    if as_of.is_some() {
        candidates = chunks::with_quotes(claims::quoted_chunks(&claims.found), candidates);
    }
    let reranker = engine.models.reranker.as_deref().filter(|_| question.rerank);
    let to_read = rerank::passages_to_read(reranker, question.chunk_top_k);
    let mut passages = chunks::load(snapshot, candidates, to_read).await?;
    if reranker.is_some() {
        chunks::contextualize(snapshot, &mut passages).await?;
    }
    if let Some(date) = as_of {
        let withheld = claims::withheld(scope, date, passages.iter().map(|passage| &passage.chunk)).await?;
        if !claims.any && withheld.is_empty() {
            retrieval.notes.push(QueryNote::AsOfUnused);
        }
        retrieval.as_of = Some(AsOf { date: date.clone(), withheld });
    }
    retrieval.revision = snapshot.revision();
    drop(held);

    if let Some(reranker) = reranker {
        passages = rerank::rerank(engine, reranker, &asked, passages, cost, &mut retrieval.notes).await;
    }
    let found = passages.len();
    let passages =
        budget::fit(&engine.prompts, question, retrieval.history_messages, &graph, passages, &counter);
    if passages.is_empty() && found > 0 {
        retrieval.notes.push(QueryNote::NoneFits { passages: found });
    }
    let (references, chunks) = references::number(passages);

    retrieval.context = context::build(&graph, &claims.lines, retrieval.as_of.as_ref(), &chunks, &references);
    retrieval.claims = claims.found;
    retrieval.entities = graph.entities;
    retrieval.relations = graph.relations;
    retrieval.nodes = graph.nodes;
    let shown: BTreeSet<&ChunkId> = chunks.iter().map(|found| &found.chunk.id).collect();
    retrieval.paths = hits.paths.into_iter().filter(|path| shown.contains(&path.chunk)).collect();
    retrieval.chunks = chunks;
    retrieval.references = references;
    Ok(retrieval)
}

/// Answers from what was retrieved: by the answer model, or with verbatim sentences where there is none. The text
/// goes to `on_delta`, as it is made where the question wants that, else in one piece. [`Answer::kind`] says whether the
/// sentences answer the question or are only near to it.
///
/// An empty retrieval is answered with a plain "not found" and no model is asked, except in mode bypass. A model that
/// got a context and says that it does not know still counts as having found something: its words are not judged.
/// Numbers in the text that point to nothing stay in the text, so that it equals what was streamed, and are counted.
///
/// What the model said to the same prompt before is the answer again; its citations are verified again. The model call
/// is stored in the ledger, also if it or a later step fails.
#[tracing::instrument(skip_all, fields(mode = ?retrieval.mode))]
pub fn answer<'a>(
    engine: &'a Engine,
    question: &'a Question,
    retrieval: &'a Retrieval,
    on_delta: &'a mut (dyn FnMut(&str) + Send),
) -> BoxFuture<'a, Result<Answer, QueryError>> {
    Box::pin(async move {
        let mut cost = QueryCost::default();
        let answered = make_answer(engine, question, retrieval, &mut cost, on_delta).await;
        cost.store(engine).await;
        let answer = answered.map_err(|error| error.logged(&cost))?;
        Ok(Answer { cost, ..answer })
    })
}

async fn make_answer(
    engine: &Engine,
    question: &Question,
    retrieval: &Retrieval,
    cost: &mut QueryCost,
    on_delta: &mut (dyn FnMut(&str) + Send),
) -> Result<Answer, QueryError> {
    let asks_documents = Plan::of(retrieval.mode).searches();
    let Some(model) = engine.models.answer.as_deref() else {
        if !asks_documents {
            return Err(QueryError::NoAnswerModel { mode: retrieval.mode });
        }
        return verbatim::answer(engine, question, retrieval, on_delta).await;
    };
    if asks_documents && retrieval.context.is_empty() {
        return verbatim::not_found(engine, question, retrieval, on_delta).await;
    }
    let messages = prompt_of(engine, question, retrieval);
    let CutText { text, cut } = respond::by_model(engine, model, question, messages, cost, on_delta).await?;
    let picks = if asks_documents { cite::resolve(&text, retrieval) } else { Vec::new() };
    let unresolved = picks.iter().filter(|pick| pick.is_none()).count();
    let picks: Vec<cite::Pick> = picks.into_iter().flatten().collect();
    let (citations, gone) = cite::verify(engine, &cite::cited(retrieval), &picks).await?;
    let dropped_citations = gone.saturating_add(u32::try_from(unresolved).unwrap_or(u32::MAX));
    if dropped_citations > 0 {
        tracing::warn!(dropped_citations, "the answer cites what is not there");
    }
    let model = Some(model.name().to_owned());
    let kind = AnswerKind::Answer;
    let (found, matches, cost) = (true, Vec::new(), QueryCost::default());
    Ok(Answer { text, kind, cut, found, model, citations, dropped_citations, matches, cost })
}

/// The messages that [`answer`] sends to the answer model.
pub fn prompt_of(engine: &Engine, question: &Question, retrieval: &Retrieval) -> Vec<ChatMessage> {
    respond::messages(&engine.prompts, question, retrieval)
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
    /// A model was to say which facts help to answer, and did not answer as asked; all of them were used.
    FactsNotFiltered {
        /// The model.
        model: String,
    },
    /// Options of PageRank were given that change nothing: the mode does without them, or there is no keyword model.
    #[serde(rename = "pagerank_options_unused")]
    PageRankOptionsUnused {
        /// Their names.
        options: Vec<&'static str>,
    },
    /// The mode searches a layer that was never derived; passages were found by their vectors alone.
    LayerMissing {
        /// The layer.
        layer: LayerName,
    },
    /// The mode searches a layer that is not up to date; what it lacks was found by vectors alone.
    LayerOutdated {
        /// The layer.
        layer: LayerName,
    },
    /// The mode searches a layer, and its texts were written from all documents, not from those of the filter alone;
    /// passages were found by their vectors alone.
    LayerUnfiltered {
        /// The layer.
        layer: LayerName,
    },
    /// Options of reading reports were given that change nothing: the mode does without them.
    ReportOptionsUnused {
        /// Their names.
        options: Vec<&'static str>,
    },
    /// The question asks about the documents as a whole, and the layer that would answer it is not there.
    NoLayer {
        /// The layer.
        layer: LayerName,
    },
    /// Some of the calls that draw points from reports and passages failed; the answer is made without them.
    MapCallsFailed {
        /// How many.
        failed: usize,
        /// Of how many.
        calls: usize,
        /// Why the last of them failed.
        reason: String,
    },
    /// Some of the calls that rate reports failed; these reports are read.
    RatingCallsFailed {
        /// How many.
        failed: usize,
        /// Of how many.
        calls: usize,
        /// Why the first of them failed.
        reason: String,
    },
    /// Reports are beyond the budget of calls.
    ReportsLeftOut {
        /// How many.
        left_out: usize,
        /// Of how many.
        reports: usize,
    },
    /// Follow-up questions were proposed, and not looked up: the budget of calls or of rounds was used up.
    FollowUpsLeftOut {
        /// How many.
        left_out: usize,
    },
    /// Passages were found, and not one fits into the budget of the prompt beside everything else.
    NoneFits {
        /// How many.
        passages: usize,
    },
    /// The question is asked as of a date, and no claim tells what held when, or the mode reads reports or no documents.
    AsOfUnused,
    /// The conversation is longer than half of the prompt's budget; its oldest messages are not in the prompt.
    HistoryCut {
        /// How many.
        left_out: usize,
    },
}

impl std::fmt::Display for QueryNote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotReranked { reason, .. } => {
                write!(f, "passages are in the order of the search, not reranked: {reason}")
            }
            Self::FactsNotFiltered { model } => {
                write!(f, "facts are not filtered: {model} did not say which of them help")
            }
            Self::PageRankOptionsUnused { options } => {
                let options = options.join(", ");
                write!(
                    f,
                    "these options of PageRank change nothing in this mode and with these models: {options}"
                )
            }
            Self::LayerMissing { layer } => {
                write!(f, "the layer {layer} is not derived yet; passages are found by their vectors alone")
            }
            Self::LayerOutdated { layer } => write!(f, "the layer {layer} is out of date"),
            Self::LayerUnfiltered { layer } => write!(
                f,
                "the layer {layer} was written from all documents, so the filter leaves it out; passages are found by their \
                 vectors alone"
            ),
            Self::ReportOptionsUnused { options } => {
                let options = options.join(", ");
                write!(f, "these options change nothing in this mode and with these models: {options}")
            }
            Self::NoLayer { layer } => {
                write!(
                    f,
                    "the question asks about the documents as a whole, and there are no {layer} to answer it from"
                )
            }
            Self::MapCallsFailed { failed, calls, reason } => {
                write!(f, "{failed} of {calls} map calls failed, the answer is made without them: {reason}")
            }
            Self::RatingCallsFailed { failed, calls, reason } => {
                write!(
                    f,
                    "{failed} of {calls} calls that rate reports failed, these reports are read: {reason}"
                )
            }
            Self::ReportsLeftOut { left_out, reports } => {
                write!(f, "{left_out} of {reports} reports are not read: reports.max_calls is used up")
            }
            Self::FollowUpsLeftOut { left_out } => {
                write!(
                    f,
                    "follow-up questions that were not looked up: {left_out}; reports.max_calls or reports.depth is \
                     used up"
                )
            }
            Self::NoneFits { passages } => {
                write!(f, "passages were found ({passages}), and none of them fits into max_total_tokens")
            }
            Self::AsOfUnused => {
                write!(
                    f,
                    "the date changes nothing: no dated claim is about what the question asks for, or the mode reads no claims"
                )
            }
            Self::HistoryCut { left_out } => {
                write!(f, "oldest messages of the conversation left out of the prompt: {left_out}")
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

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// The words; equal to the streamed deltas joined.
    pub text: String,
    /// What kind of answer it is.
    pub kind: AnswerKind,
    /// Whether an output limit cut it: the question's, or the model's own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Whether the documents held anything to answer from, be it only what is near to the question; true in mode bypass, which
    /// does not ask them.
    pub found: bool,
    /// The model that wrote it; `None` for verbatim sentences chosen by rules.
    pub model: Option<String>,
    /// What the numbers in the text point to, verified against the bytes.
    pub citations: Vec<Citation>,
    /// Numbers in the text that point to nothing: no such document, no such sentence, or gone meanwhile. They have no
    /// place in `citations`.
    pub dropped_citations: u32,
    /// Bytes of `text` where words of the question stand, ascending and disjoint; empty where a model answered.
    pub matches: Vec<Span>,
    /// What it cost.
    #[serde(flatten)]
    pub cost: QueryCost,
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
    /// More than is taken.
    #[error("{what}: {size} is more than the {limit} that are taken")]
    TooMuch {
        /// Of what.
        what: &'static str,
        /// How much.
        size: usize,
        /// How much is taken.
        limit: usize,
    },
    /// Instructions inside the conversation.
    #[error("the history holds a message of role system")]
    SystemInHistory,
    /// A number that is none.
    #[error("{what} is no number")]
    NoNumber {
        /// Which.
        what: &'static str,
    },
    /// A number is out of its range.
    #[error("{what}: {value} is not from {least} to {most}")]
    OutOfRange {
        /// Which.
        what: &'static str,
        /// What it is.
        value: f64,
        /// The smallest that is taken.
        least: f64,
        /// The largest that is taken.
        most: f64,
    },
    /// A mode needs a model that is not configured.
    #[error("mode {} needs an answer model and none is configured", mode.name())]
    NoAnswerModel {
        /// The mode.
        mode: Mode,
    },
    /// A mode needs a layer that was not derived.
    #[error("there are no {layer} to answer from")]
    NoLayer {
        /// The layer.
        layer: LayerName,
    },
    /// A text that questions are wanted about names nothing that the graph knows.
    #[error("{about:?} names no entity of the graph")]
    NothingNamed {
        /// The text, cut.
        about: String,
    },
    /// A filter was given with a mode that reads reports.
    #[error("mode {} cannot be filtered: reports are written from all documents", mode.name())]
    ReportsOfAll {
        /// The mode.
        mode: Mode,
    },
    /// The workspace's vectors are from another embedder.
    #[error("the workspace was embedded with {workspace}, the question with {question}")]
    OtherEmbedder {
        /// The workspace's embedder.
        workspace: String,
        /// The configured one.
        question: String,
    },
    /// No live document meets the question's filter.
    #[error("no document matches the filter")]
    NothingAllowed,
    /// The question's filter is refused.
    #[error("reading the filter")]
    Filter(#[from] FilterError),
    /// The store failed.
    #[error("searching")]
    Store(#[from] StoreError),
    /// The model failed.
    #[error("asking")]
    Model {
        /// What it was asked for; `None` where no call of it was made.
        role: Option<Role>,
        /// Why.
        source: ModelError,
    },
}

impl From<ModelError> for QueryError {
    fn from(source: ModelError) -> Self {
        Self::Model { role: None, source }
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

impl QueryNote {
    /// What the user can do about it, where something can be said.
    pub fn remedy(&self) -> Option<&str> {
        match self {
            Self::NotReranked { remedy, .. } => remedy.as_deref(),
            Self::FactsNotFiltered { .. } => Some("another keywords model, or pagerank.filter_facts = false"),
            Self::PageRankOptionsUnused { .. } => {
                Some("leave them out, or see which mode takes them in docs/methods/auto.md")
            }
            Self::LayerMissing { .. } | Self::LayerOutdated { .. } => Some("derive the layer"),
            Self::LayerUnfiltered { .. } => Some("another mode, or no filter"),
            Self::ReportOptionsUnused { .. } => {
                Some("leave them out, or see which mode takes them in docs/explanation/communities.md")
            }
            Self::NoLayer { .. } => Some("derive them"),
            Self::MapCallsFailed { .. } | Self::RatingCallsFailed { .. } => {
                Some("ask again; what succeeded is cached and not paid for again")
            }
            Self::ReportsLeftOut { .. } => Some("a larger reports.max_calls, or a coarser reports.level"),
            Self::FollowUpsLeftOut { .. } => Some("a larger reports.max_calls or reports.depth"),
            Self::AsOfUnused => Some("ask without a date, or see `graphloom claims` for what is dated"),
            Self::NoneFits { .. } => Some("a larger max_total_tokens, or a shorter conversation"),
            Self::HistoryCut { .. } => {
                Some("a larger max_total_tokens leaves more room for the conversation")
            }
        }
    }
}

impl QueryError {
    /// The same with what the model was asked for, which its last call says; logged.
    fn logged(self, cost: &QueryCost) -> Self {
        let error = match self {
            Self::Model { role: None, source } => {
                Self::Model { role: cost.calls.last().map(|call| call.role), source }
            }
            other => other,
        };
        error.log();
        error
    }

    /// Whether it says that the question cannot be asked as it is meant; otherwise something failed or is not set up.
    fn is_refusal(&self) -> bool {
        match self {
            Self::Empty
            | Self::TooMuch { .. }
            | Self::SystemInHistory
            | Self::NoNumber { .. }
            | Self::OutOfRange { .. }
            | Self::NoAnswerModel { .. }
            | Self::NoLayer { .. }
            | Self::NothingNamed { .. }
            | Self::ReportsOfAll { .. }
            | Self::NothingAllowed
            | Self::Filter(_) => true,
            Self::OtherEmbedder { .. } | Self::Store(_) | Self::Model { .. } => false,
        }
    }

    /// A question that is refused is no failure of whoever was asked.
    fn log(&self) {
        match self.is_refusal() {
            true => tracing::info!(error = %self, "a question is refused"),
            false => tracing::error!(error = self as &dyn std::error::Error, "a question failed"),
        }
    }

    /// What the user can do about it, where something can be said.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Empty => Some("write a question".to_owned()),
            Self::TooMuch { .. } | Self::NoNumber { .. } | Self::OutOfRange { .. } => None,
            Self::SystemInHistory => Some(
                "give instructions as user_prompt; the history is what user and assistant said".to_owned(),
            ),
            Self::NoLayer { .. } => Some("derive them".to_owned()),
            Self::NothingNamed { .. } => Some("look for names in the graph".to_owned()),
            Self::ReportsOfAll { .. } => Some("remove the filter, or choose another mode".to_owned()),
            Self::NoAnswerModel { .. } => {
                Some("configure an answer model, or choose another mode".to_owned())
            }
            Self::OtherEmbedder { .. } => {
                Some("use the embedder the workspace was built with, or another workspace".to_owned())
            }
            Self::NothingAllowed => Some("loosen a condition of the filter".to_owned()),
            Self::Filter(error) => Some(error.remedy()),
            Self::Store(error) => error.remedy(),
            Self::Model { source, .. } => source.remedy(),
        }
    }
}
