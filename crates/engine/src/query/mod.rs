//! Answers questions: finds evidence for a question and writes an answer with citations.
//!
//! ```text
//! Question -plan-> keywords -embed-> vectors -search(snapshot)-> Hits -truncate-> graph -collect, load-> passages
//!          -rerank, fit, number, context-> Retrieval -answer-> text -cite-> Answer
//! ```
//!
//! Modes, defaults and orders are LightRAG's. The snapshot is dropped before any model reranks or answers.

mod answer;
mod budget;
mod cache;
mod calls;
mod chunks;
mod cite;
mod claims;
mod context;
mod decompose;
mod embed;
mod error;
mod facts;
mod fuse;
mod history;
mod keywords;
mod links;
mod lookup;
mod note;
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
mod retrieval;
mod search;
mod selection;
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
use graphloom_core::{ChunkId, ItemKind};

pub use answer::{ANSWER_CUT, Answer, Citation, answer, prompt_of};
pub use cache::QueryCaches;
pub use calls::QueryCost;
pub use cite::{CitedSpan, Mark, ends_with_quote, marks, marks_of, without_references};
pub(crate) use cite::{ContentWords, likeness};
pub use claims::{AsOf, FoundClaim};
pub use decompose::{QuestionForm, Route};
pub use error::QueryError;
pub use lookup::{EntityHit, PassageHit, RelationHit, SearchHits, search};
pub use note::QueryNote;
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
pub use retrieval::{
    Arm, ChunkPath, Evidence, FoundChunk, FoundEntity, FoundNode, FoundRelation, Keywords, PathStep,
    Reference, Retrieval,
};
pub use suggest::{MAX_ABOUT_CHARS, MAX_SUGGESTIONS, Suggestion, Suggestions, suggest};
pub use trust::PageRankTrust;
pub use verbatim::AnswerKind;
pub use wording::without_llm;

use crate::Engine;
use crate::filtered::FilteredSnapshot;
use chunks::Candidate;
use context::LineCounter;
use embed::QueryVectors;
use plan::Plan;
use search::Hits;
use selection::Workspace;

/// Returns what a search for `question` finds: entities, relations and passages within their budgets, and the context built
/// from them.
///
/// If nothing is found, the retrieval is empty; this is not an error. The same holds for an empty workspace and for mode
/// bypass. A workspace that has no vectors yet is searched by words. A follow-up is searched for as its standalone question.
/// The model calls are stored in the ledger even if a later step fails.
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
    let Workspace { revision, space, mut selection } =
        Workspace::read(engine, filter, plan.searches_graph()).await?;
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
    if !plan.searches() {
        if question.as_of.is_some() {
            retrieval.notes.push(QueryNote::AsOfUnused);
        }
        return Ok(retrieval);
    }
    match &space {
        Some(space) => embed::check_space(engine, space)?,
        None if engine.store.snapshot().await?.counts().await?.chunks == 0 => return Ok(retrieval),
        None => {}
    }

    let understood = keywords::find(engine, question, plan, cost).await?;
    retrieval.keywords = understood.keywords;
    retrieval.standalone_question = understood.standalone;
    let search_question = match &retrieval.standalone_question {
        Some(standalone) => Cow::Owned(Question { text: standalone.clone(), ..question.clone() }),
        None => Cow::Borrowed(question),
    };
    retrieval.route = understood.route;
    // Reports cover all times, so they cannot answer a question as of a date.
    let is_auto = question.mode == Mode::Auto && question.as_of.is_none();
    let plan = match is_auto
        && reports::answers(engine, question, &search_question.text, &mut retrieval.notes).await?
    {
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
        let Some(space) = &space else { return Ok(retrieval) };
        return reports::find(engine, &search_question, plan, space, retrieval, cost).await;
    }
    let parts = retrieval.route.as_ref().map_or(&[][..], |route| &route.parts);
    let vectors = match &space {
        Some(space) => {
            embed::embed(engine, &search_question, plan, &retrieval.keywords, parts, space, cost).await?
        }
        None => QueryVectors::default(),
    };
    let facts =
        facts::chosen(engine, &search_question, plan, &vectors, &mut selection, cost, &mut retrieval.notes)
            .await?;

    let held = engine.store.snapshot().await?;
    let snapshot = held.as_ref();
    let counter = LineCounter { tokenizer: engine.tokenizer, caches: &engine.caches };
    selection.renew(snapshot).await?;
    let scope = &FilteredSnapshot::new(snapshot, selection.allowed, engine.tokenizer).await?;
    let mut hits = match space {
        Some(_) => search::search(scope, &search_question, plan, &vectors, facts).await?,
        None => by_words(scope, &search_question).await?,
    };
    if let Some(route) = &mut retrieval.route {
        route.pagerank = hits.trust.take();
    }
    let as_of = question.as_of.as_ref();
    let mut claims = claims::Claims::default();
    if plan.searches_graph() || as_of.is_some() {
        claims = claims::find(scope, &search_question, &mut hits, &counter).await?;
    }
    let claim_tokens =
        claims.tokens + context::claims_frame_tokens(!claims.found.is_empty(), as_of, &counter);
    let mut graph =
        truncate::truncate(scope, question, hits.entities, hits.relations, claim_tokens, &counter).await?;
    // Summaries cover all times, so a question as of a date gets none.
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
        passages =
            rerank::rerank(engine, reranker, &search_question, passages, cost, &mut retrieval.notes).await;
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

/// Returns the chunks that share words with the question. While a workspace has no vectors, because its documents still wait to be
/// indexed, every mode finds these.
async fn by_words(scope: &FilteredSnapshot<'_>, question: &Question) -> Result<Hits, QueryError> {
    let request = scope.by_words(ItemKind::Chunk, question.text.trim(), question.wanted_chunks());
    let found = scope.snapshot.search(&[request]).await?;
    let ids = found.into_iter().flatten().filter_map(|hit| hit.item.into_chunk());
    let chunks = ids.map(|id| Candidate { id, arm: Arm::Fused, score: None }).collect();
    Ok(Hits { chunks, ..Hits::default() })
}
