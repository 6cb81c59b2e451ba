//! Asks every question of a set in every arm and notes what was found, in which order, and what it cost.

use std::collections::BTreeMap;
use std::time::Instant;

use futures::{StreamExt, stream};
use graphloom_core::{ContentHash, StoreError};
use graphloom_engine::Engine;
use graphloom_engine::query::{self, QueryError, Retrieval};
use serde::{Deserialize, Serialize};

use crate::arm::Arm;
use crate::set::{QuestionSet, SetQuestion};
use crate::stats;

/// Questions that fail one after another before the run gives up: what fails them all is no matter of one question.
pub const MOST_FAILURES_IN_A_ROW: usize = 5;

/// Most questions asked at once.
pub const MAX_CONCURRENCY: usize = 64;

/// Most times that a question is asked for its latency.
pub const MAX_TIMED: usize = 100;

/// How the questions are asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskOptions {
    /// Questions asked at once; 1 gives latencies that no neighbour disturbs.
    pub concurrency: usize,
    /// How often each question is asked again for its latency, with what models said remembered; 0 takes the latency
    /// of the one time it is asked.
    pub timed: usize,
    /// The deepest rank that is looked at.
    pub most: usize,
    /// Of the set only the first so many questions with gold passages; all where `None`.
    pub limit: Option<usize>,
    /// The release that asks; part of what a result depends on.
    pub release: String,
}

/// What one question found in one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RetrievalRow {
    /// The arm.
    pub arm: String,
    /// The question's id.
    pub id: String,
    /// Its words.
    pub question: String,
    /// Its kind; empty where the set does not say.
    #[serde(rename = "type")]
    pub kind: String,
    /// The passages it needs.
    pub gold: Vec<String>,
    /// The passages of the context, best first, each once. A document that is no passage of the set stands under its
    /// source.
    pub ranked: Vec<String>,
    /// From question to context, waiting for models included; the median of the timed repetitions where there are any.
    pub latency_ms: f64,
    /// Of the first time, how long models took. What is remembered takes no time.
    pub model_ms: u64,
    /// Tokens of the context.
    pub context_tokens: u32,
    /// Calls of models.
    pub calls: usize,
    /// Tokens sent to them, as they counted.
    pub prompt_tokens: u64,
    /// Tokens received from them.
    pub completion_tokens: u64,
    /// What did not go as asked for, for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Why nothing was found, where asking failed; it counts as having found nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// Why a run ended early. What was asked is in the journal.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The store failed.
    #[error("reading the workspace")]
    Store(#[from] StoreError),
    /// No question gets through.
    #[error("{MOST_FAILURES_IN_A_ROW} questions failed one after another, the last in arm {arm}")]
    AllFail {
        /// The arm.
        arm: String,
        /// What the last said.
        source: QueryError,
    },
    /// A result could not be kept.
    #[error("keeping a result")]
    Keep(#[from] crate::journal::JournalError),
}

/// One question in one arm, under the key of everything that its result depends on.
#[derive(Debug, Clone)]
pub struct Task<'a> {
    /// The arm.
    pub arm: &'a Arm,
    /// The question.
    pub question: &'a SetQuestion,
    /// The key: set, workspace and its graph, arm, question, models, release.
    pub key: ContentHash,
}

/// The questions that are asked: those with gold passages, in order, at most as many as the options say.
pub fn asked<'a>(set: &'a QuestionSet, options: &AskOptions) -> Vec<&'a SetQuestion> {
    let with_gold = set.questions.iter().filter(|question| !question.gold.is_empty());
    with_gold.take(options.limit.unwrap_or(usize::MAX)).collect()
}

/// Everything that is to be asked, arm by arm, on the workspace as it is.
pub async fn tasks<'a>(
    engine: &Engine,
    set: &'a QuestionSet,
    arms: &'a [Arm],
    options: &AskOptions,
) -> Result<Vec<Task<'a>>, StoreError> {
    let graph = engine.store.snapshot().await?.graph_revision().to_string();
    let name = |model: Option<&str>| model.unwrap_or("none").to_owned();
    let on = [
        set.hash.to_string(),
        engine.store.workspace().to_string(),
        graph,
        engine.models.embedder.name().to_owned(),
        name(engine.models.keywords.as_ref().map(|model| model.name())),
        name(engine.models.reranker.as_ref().map(|model| model.name())),
        options.release.clone(),
    ];
    let questions = asked(set, options);
    let key = |arm: &Arm, question: &SetQuestion| {
        let asked = arm.ask(&question.text, options.most);
        // A question is plain data, which always has its JSON.
        let asked = serde_json::to_string(&asked).unwrap_or_default();
        let parts = on.iter().map(String::as_str).chain([arm.name.as_str(), &question.id, &asked]);
        ContentHash::of_parts(&parts.collect::<Vec<_>>())
    };
    let task = |arm: &'a Arm, question: &'a SetQuestion| Task { arm, question, key: key(arm, question) };
    Ok(arms
        .iter()
        .flat_map(|arm| questions.iter().map(move |question| (arm, *question)))
        .map(|(a, q)| task(a, q))
        .collect())
}

/// Asks what is not in `done` and returns the row of every task, in order.
///
/// - `on_row`: gets each new row as it comes, under its key, to be kept; not those that failed, so that they are asked
///   again.
pub async fn ask_all(
    engine: &Engine,
    tasks: &[Task<'_>],
    options: &AskOptions,
    mut done: BTreeMap<ContentHash, RetrievalRow>,
    on_row: &mut (dyn FnMut(&ContentHash, &RetrievalRow) -> Result<(), crate::journal::JournalError> + Send),
) -> Result<Vec<RetrievalRow>, AskError> {
    let concurrency = options.concurrency.clamp(1, MAX_CONCURRENCY);
    let mut rows = Vec::with_capacity(tasks.len());
    let mut failures = 0;
    let done_before: Vec<Option<RetrievalRow>> = tasks.iter().map(|task| done.remove(&task.key)).collect();
    let mut asking = stream::iter(tasks.iter().zip(done_before))
        .map(|(task, before)| async move {
            match before {
                Some(row) => (task, false, Ok(row)),
                None => (task, true, ask(engine, task, options).await),
            }
        })
        .buffered(concurrency);
    while let Some((task, is_new, outcome)) = asking.next().await {
        let row = match outcome {
            Ok(row) => {
                if is_new {
                    failures = 0;
                    on_row(&task.key, &row)?;
                }
                row
            }
            Err(error) => {
                failures += 1;
                if failures == MOST_FAILURES_IN_A_ROW {
                    return Err(AskError::AllFail { arm: task.arm.name.clone(), source: error });
                }
                RetrievalRow { failed: Some(told(&error)), ..empty_row(task) }
            }
        };
        rows.push(row);
    }
    Ok(rows)
}

async fn ask(engine: &Engine, task: &Task<'_>, options: &AskOptions) -> Result<RetrievalRow, QueryError> {
    let question = task.arm.ask(&task.question.text, options.most);
    let began = Instant::now();
    let retrieval = query::retrieve(engine, &question).await?;
    let mut latency_ms = elapsed_ms(began);
    if let Err(error) = query::record(engine, [&retrieval.spent]).await {
        tracing::warn!(%error, "what a question cost was not stored");
    }
    if options.timed > 0 {
        let mut times = Vec::new();
        for _ in 0..options.timed.min(MAX_TIMED) {
            let began = Instant::now();
            query::retrieve(engine, &question).await?;
            times.push(elapsed_ms(began));
        }
        latency_ms = stats::quantile(&times, 0.5);
    }
    let spent = &retrieval.spent;
    Ok(RetrievalRow {
        ranked: ranked(&retrieval),
        latency_ms,
        model_ms: spent.calls.iter().map(|call| call.duration_ms).sum(),
        context_tokens: engine.tokenizer.count(&retrieval.context),
        calls: spent.calls.len(),
        prompt_tokens: spent.calls.iter().map(|call| call.prompt_tokens).sum(),
        completion_tokens: spent.calls.iter().map(|call| call.completion_tokens).sum(),
        notes: retrieval.notes.iter().map(ToString::to_string).collect(),
        ..empty_row(task)
    })
}

fn elapsed_ms(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e3
}

fn empty_row(task: &Task<'_>) -> RetrievalRow {
    let SetQuestion { id, text, kind, gold, answers: _ } = task.question;
    RetrievalRow {
        arm: task.arm.name.clone(),
        id: id.clone(),
        question: text.clone(),
        kind: kind.clone(),
        gold: gold.clone(),
        ranked: Vec::new(),
        latency_ms: 0.0,
        model_ms: 0,
        context_tokens: 0,
        calls: 0,
        prompt_tokens: 0,
        completion_tokens: 0,
        notes: Vec::new(),
        failed: None,
    }
}

/// The sources of the passages of a context, best first, each once.
pub fn ranked(retrieval: &Retrieval) -> Vec<String> {
    let sources: BTreeMap<u32, &str> =
        retrieval.references.iter().map(|reference| (reference.number, reference.source.as_str())).collect();
    let mut ranked: Vec<String> = Vec::new();
    for found in &retrieval.chunks {
        let Some(source) = sources.get(&found.reference) else { continue };
        if !ranked.iter().any(|known| known == source) {
            ranked.push((*source).to_owned());
        }
    }
    ranked
}

/// An error with its causes, in one line.
pub(crate) fn told(error: &dyn std::error::Error) -> String {
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        told.push_str(": ");
        told.push_str(&error.to_string());
        cause = error.source();
    }
    told
}
