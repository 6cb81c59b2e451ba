//! Asks every question of a set with every arm, with limited concurrency, and saves results as they arrive.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Instant;

use futures::{StreamExt, stream};
use graphloom_core::{Call, ContentHash, Snapshot, StoreCounts, StoreError, table};
use graphloom_engine::prompt::{Prompt, Prompts};
use graphloom_engine::query::QueryError;
use graphloom_engine::{Engine, chain};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::arm::Arm;
use crate::journal::JournalError;
use crate::set::{QuestionSet, SetQuestion};

/// Consecutive failures after which the run stops: the cause is then probably not in the questions.
pub const MOST_FAILURES_IN_A_ROW: usize = 5;

/// Maximum concurrent questions.
pub const MAX_CONCURRENCY: usize = 64;

/// Maximum timed repetitions of a question.
pub const MAX_TIMED: usize = 100;

/// Options for asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskOptions {
    /// Concurrent questions; 1 gives undisturbed latencies.
    pub concurrency: usize,
    /// Repetitions of each question with a warm cache to measure latency; 0 uses the latency of the first call.
    pub timed: usize,
    /// The deepest rank to evaluate.
    pub most: usize,
    /// Use only this many of the questions that can be scored; `None` for all.
    pub limit: Option<usize>,
    /// The current release, on which results depend.
    pub release: String,
}

/// Why a run ended early. Results so far are in the journal.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The store failed.
    #[error("reading the workspace")]
    Store(#[from] StoreError),
    /// Every question fails.
    #[error("{MOST_FAILURES_IN_A_ROW} questions in a row failed, the last in arm {arm}")]
    AllFail {
        /// The arm.
        arm: String,
        /// The last error.
        source: QueryError,
    },
    /// All questions failed, but fewer than would end the run early.
    #[error("all questions failed, the last in arm {arm}")]
    NoneAsked {
        /// The arm.
        arm: String,
        /// The last error.
        source: QueryError,
    },
    /// A result could not be saved.
    #[error("saving a result")]
    Keep(#[from] JournalError),
}

/// A question with an arm, and a key that covers everything the result depends on.
#[derive(Debug, Clone)]
pub struct Task<'a> {
    /// The arm.
    pub arm: &'a Arm,
    /// The question.
    pub question: &'a SetQuestion,
    /// The key: kind of result, set, workspace and its content, arm, question, models and their prompts, latency
    /// measurement, release.
    pub key: ContentHash,
}

/// A saved result of one question with one arm.
pub trait Row: Serialize + DeserializeOwned + Send {
    /// The kind of result, as part of the key.
    const WHAT: &str;

    /// The prompts it may depend on.
    const PROMPTS: &[Prompt];

    /// Asks the question.
    fn ask(
        engine: &Engine,
        task: &Task<'_>,
        options: &AskOptions,
    ) -> impl Future<Output = Result<Self, QueryError>> + Send;

    /// The row of a question that failed.
    fn failed(task: &Task<'_>, why: String) -> Self;
}

/// Returns all tasks, arm by arm, for the current state of the workspace.
pub async fn tasks<'a, R: Row>(
    engine: &Engine,
    set: &QuestionSet,
    questions: &[&'a SetQuestion],
    arms: &'a [Arm],
    options: &AskOptions,
) -> Result<Vec<Task<'a>>, StoreError> {
    let state = state(engine.store.snapshot().await?.as_ref()).await?;
    let models = &engine.models;
    let name = |model: Option<&str>| model.unwrap_or("none").to_owned();
    let on = [
        R::WHAT.to_owned(),
        set.hash.to_string(),
        engine.store.workspace().to_string(),
        state,
        models.embedder.name().to_owned(),
        name(models.keywords.as_ref().map(|model| model.name())),
        name(models.reranker.as_ref().map(|model| model.name())),
        name(models.answer.as_ref().map(|model| model.name())),
        name(models.sentence_scorer.as_ref().map(|scorer| scorer.name())),
        wording(&engine.prompts, R::PROMPTS).to_string(),
        // Latency is part of a result, so the key includes repetitions, concurrency and whether the cache is on.
        format!("{} {} {}", options.timed, options.concurrency, engine.caches.is_on()),
        options.release.clone(),
    ];
    let key = |arm: &Arm, question: &SetQuestion| {
        let question_json = arm.ask(&question.text, options.most);
        // Serializing plain data cannot fail.
        let question_json = serde_json::to_string(&question_json).unwrap_or_default();
        let parts = on.iter().map(String::as_str).chain([arm.name.as_str(), &question.id, &question_json]);
        ContentHash::of_parts(&parts.collect::<Vec<_>>())
    };
    let pairs = arms.iter().flat_map(|arm| questions.iter().map(move |question| (arm, *question)));
    Ok(pairs.map(|(arm, question)| Task { arm, question, key: key(arm, question) }).collect())
}

/// Returns the state of a workspace that results depend on: graph, documents with metadata, and the authors of chunk
/// contexts.
async fn state(snapshot: &dyn Snapshot) -> Result<String, StoreError> {
    // The revision also counts ledger commits. Chunks without records do not change the graph's revision.
    let counts = StoreCounts { calls: 0, ..snapshot.counts().await? };
    let contextualized = snapshot.chunk_context_counts().await?;
    let mut parts = vec![format!("{} {counts:?} {contextualized:?}", snapshot.graph_revision())];
    let mut pages = snapshot.pages(table::Documents);
    while let Some(page) = pages.next().await? {
        let rows: Vec<String> = (page.iter())
            .map(|document| {
                format!(
                    "{} {:?} {:?} {:?}",
                    document.id, document.visibility, document.meta, document.added_at
                )
            })
            .collect();
        parts.push(ContentHash::of_parts(&rows.iter().map(String::as_str).collect::<Vec<_>>()).to_string());
    }
    Ok(parts.join(" "))
}

/// Returns the hash of these prompts and their language.
fn wording(prompts: &Prompts, used: &[Prompt]) -> ContentHash {
    let bodies = used.iter().map(|prompt| prompts.body(*prompt));
    let parts = std::iter::once(prompts.chosen_language().unwrap_or_default()).chain(bodies);
    ContentHash::of_parts(&parts.collect::<Vec<_>>())
}

/// Runs the tasks that are not in `done` and returns the rows of all tasks, in order. If the engine is asked to stop, it begins no
/// further task and returns the rows until then.
///
/// - `on_row`: is called with each new row to save it, but not for failed questions, so that a later run asks them again.
pub async fn ask_all<R: Row>(
    engine: &Engine,
    tasks: &[Task<'_>],
    options: &AskOptions,
    mut done: BTreeMap<ContentHash, R>,
    on_row: &mut (dyn FnMut(&Task<'_>, &R) -> Result<(), JournalError> + Send),
) -> Result<Vec<R>, AskError> {
    let concurrency = options.concurrency.clamp(1, MAX_CONCURRENCY);
    let before: Vec<Option<R>> = tasks.iter().map(|task| done.remove(&task.key)).collect();
    let mut asking = stream::iter(tasks.iter().zip(before))
        .map(|(task, before)| async move {
            match before {
                Some(row) => Some((task, false, Ok(row))),
                None if engine.index.stop.is_made() => None,
                None => Some((task, true, R::ask(engine, task, options).await)),
            }
        })
        .buffered(concurrency);
    let mut rows = Vec::with_capacity(tasks.len());
    let (mut failures, mut all_failed) = (0, None);
    while let Some(Some((task, is_new, outcome))) = asking.next().await {
        match outcome {
            Ok(row) => {
                if is_new {
                    failures = 0;
                    on_row(task, &row)?;
                }
                all_failed = None;
                rows.push(row);
            }
            Err(error) => {
                failures += 1;
                if failures == MOST_FAILURES_IN_A_ROW {
                    return Err(AskError::AllFail { arm: task.arm.name.clone(), source: error });
                }
                let row = R::failed(task, chain(&error));
                // If all questions failed, there are no results to report.
                all_failed = (failures == rows.len() + 1).then(|| (task.arm.name.clone(), error));
                rows.push(row);
            }
        }
    }
    match all_failed {
        Some((arm, source)) => Err(AskError::NoneAsked { arm, source }),
        None => Ok(rows),
    }
}

/// Returns the milliseconds since `began`.
pub(crate) fn elapsed_ms(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e3
}

/// Returns the milliseconds spent in calls, the tokens sent and the tokens received.
pub(crate) fn spent_on(calls: &[Call]) -> (u64, u64, u64) {
    let sum = |value: fn(&Call) -> u64| calls.iter().map(value).sum();
    (sum(|call| call.duration_ms), sum(|call| call.prompt_tokens), sum(|call| call.completion_tokens))
}
