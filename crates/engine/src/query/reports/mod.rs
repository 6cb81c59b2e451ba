//! Answers questions from the reports of communities, in modes `community_global`, `community_local` and `drift`.
//!
//! ```text
//! community_global   select reports -map in batches-> points            -answer-> text
//! community_local    entities near the question -> their reports, relations, chunks   -answer-> text
//! drift              nearest reports -> points, follow-ups -> local searches -> points ... -answer-> text
//! ```
//!
//! Points rest on findings, and findings on sentences of the documents. These sentences become the passages of the retrieval,
//! so every number of the answer leads to one of them.
//!
//! Source: Edge et al., "From Local to Global: A Graph RAG Approach to Query-Focused Summarization", 2024, sections 3.1.5 and
//! 3.1.6, and Microsoft GraphRAG for local and drift search. docs/explanation/communities.md lists the differences.

mod drift;
mod evidence;
mod local;
mod offline;
mod options;
mod points;
mod select;

use graphloom_core::{EmbeddingSpec, NodeKey, Snapshot, StoreError};
use serde::Serialize;

pub use options::{MAX_DRIFT_STEPS, MAX_REPORT_CALLS, RateReports, ReportOptions};

use super::calls::QueryCost;
use super::plan::{Operator, Plan};
use super::{QueryError, QueryNote, Question, QuestionOutput, Retrieval, embed};
use crate::Engine;
use crate::derive::{Communities, Report};
use select::{Candidate, Relevance};

pub(super) use evidence::within;
pub(super) use offline::answer;
pub(super) use points::map_messages;

/// A report that was read.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundReport {
    /// The community of the report.
    pub id: NodeKey,
    /// The level of the community; 0 is the coarsest.
    pub level: u32,
    /// Title of the report.
    pub title: String,
    /// Importance of the community, from 0 to 10.
    pub rating: f64,
    /// The author: a model's name, or `rules`.
    pub by: String,
    /// Relevance to the question; comparable only within one retrieval.
    pub relevance: f64,
}

/// A statement that an LLM drew from reports or passages.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// The statement.
    pub point: String,
    /// How much it helps to answer the question, from 0 to 100.
    pub score: f64,
    /// Numbers of the documents whose sentences it rests on.
    pub references: Vec<u32>,
}

/// The state of the layer of communities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LayerState {
    /// There are no communities.
    Missing,
    /// The graph has changed since they were derived, or some have no report.
    OutOfDate,
    /// The communities match the graph.
    Current,
}

/// Returns the state of the communities.
pub(super) async fn layer_state(snapshot: &dyn Snapshot) -> Result<LayerState, StoreError> {
    let name = Communities::name();
    let layers = snapshot.layers().await?;
    let Some(layer) = layers.iter().find(|layer| layer.name == name) else { return Ok(LayerState::Missing) };
    if snapshot.node_counts(&name).await?.is_empty() {
        return Ok(LayerState::Missing);
    }
    Ok(match layer.is_current(snapshot.graph_revision()) {
        true => LayerState::Current,
        false => LayerState::OutOfDate,
    })
}

/// Returns the best rated reports of the coarsest communities, at most `count`.
pub(super) async fn coarsest_reports(
    snapshot: &dyn Snapshot,
    count: usize,
) -> Result<Vec<Report>, QueryError> {
    let relevance = Relevance::of_all();
    let mut found = select::ranked(select::of_level(snapshot, &relevance, 0).await?);
    found.truncate(count);
    Ok(found.into_iter().map(|candidate| candidate.report).collect())
}

/// True if mode auto answers `question` from reports: it asks about the documents as a whole, it has no filter, and there are
/// communities. If these are missing, adds a note.
pub(super) async fn answers(
    engine: &Engine,
    question: &Question,
    searched: &str,
    notes: &mut Vec<QueryNote>,
) -> Result<bool, QueryError> {
    if question.filter.is_some() || graphloom_offline::intent(searched) != graphloom_offline::Intent::Overview
    {
        return Ok(false);
    }
    let snapshot = engine.store.snapshot().await?;
    let state = layer_state(snapshot.as_ref()).await?;
    if state == LayerState::Missing {
        notes.push(QueryNote::NoLayer { layer: Communities::name() });
    }
    Ok(state != LayerState::Missing)
}

/// Runs a plan that reads reports. The calls of `community_global` and `drift` that draw points are made only if the question
/// asks for an answer and there is an answer model. Otherwise the context contains the reports themselves.
pub(super) async fn find(
    engine: &Engine,
    question: &Question,
    plan: Plan,
    space: &EmbeddingSpec,
    mut retrieval: Retrieval,
    cost: &mut QueryCost,
) -> Result<Retrieval, QueryError> {
    let snapshot = engine.store.snapshot().await?;
    retrieval.revision = snapshot.revision();
    match layer_state(snapshot.as_ref()).await? {
        LayerState::Missing => return Err(QueryError::NoLayer { layer: Communities::name() }),
        LayerState::OutOfDate => {
            retrieval.notes.push(QueryNote::LayerOutdated { layer: Communities::name() })
        }
        LayerState::Current => {}
    }
    drop(snapshot);
    let draws_points = question.wanted() == QuestionOutput::Answer;
    let model = engine.models.answer.as_deref().filter(|_| draws_points);
    if plan.has(Operator::Drift) && draws_points && model.is_none() {
        return Err(QueryError::NoAnswerModel { mode: retrieval.mode });
    }
    let text = question.text.trim().to_owned();
    let vector = embed::vectors_of(engine, &[text], space, question.cache, cost).await?.pop();
    let relevance = Relevance::new(question.text.trim(), vector.as_deref());
    if plan.has(Operator::Community) {
        return local::find(engine, question, &relevance, retrieval).await;
    }
    if plan.has(Operator::Drift) {
        return match model {
            Some(model) => drift::find(engine, model, question, &relevance, retrieval, cost).await,
            None => {
                let chosen = drift::nearest(engine, &relevance).await?;
                evidence::of_reports(engine, question, chosen, retrieval).await
            }
        };
    }
    let mut calls_left = question.reports.max_calls.saturating_sub(1);
    let chosen =
        select::select(engine, question, &relevance, &mut calls_left, &mut retrieval.notes, cost).await?;
    let batches = points::batches(engine.tokenizer, &chosen, question.reports.call_tokens, calls_left.max(1));
    let left_out = chosen.len() - batches.reports;
    if left_out > 0 {
        retrieval.notes.push(QueryNote::ReportsLeftOut { left_out, reports: chosen.len() });
    }
    let chosen: Vec<Candidate> = chosen.into_iter().take(batches.reports).collect();
    let Some(model) = model else {
        return evidence::of_reports(engine, question, chosen, retrieval).await;
    };
    retrieval.reports = chosen.iter().map(Candidate::found).collect();
    let requests =
        batches.batches.iter().map(|batch| (map_messages(&engine.prompts, question, &batch.text), batch));
    let steps = points::ask_all(engine, model, question, requests.collect(), cost).await;
    let drawn = points::drawn(steps, &mut retrieval.notes)?;
    evidence::of_points(engine, question, drawn, retrieval).await
}
