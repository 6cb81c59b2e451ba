//! Asks every question of a set in every arm, a bounded number at once, and keeps what was found as it comes.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Instant;

use futures::{StreamExt, stream};
use graphloom_core::{Call, ContentHash, DocumentId, Snapshot, StoreCounts, StoreError};
use graphloom_engine::Engine;
use graphloom_engine::prompt::{Prompt, Prompts};
use graphloom_engine::query::{self, QueryError, Spent};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::arm::Arm;
use crate::journal::JournalError;
use crate::set::{QuestionSet, SetQuestion};

/// Questions that fail one after another before the run gives up: what fails them all is no matter of one question.
pub const MOST_FAILURES_IN_A_ROW: usize = 5;

/// Most questions asked at once.
pub const MAX_CONCURRENCY: usize = 64;

/// Most times that a question is asked for its latency.
pub const MAX_TIMED: usize = 100;

/// Documents looked at together.
const PAGE: usize = 500;

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
    /// Of the set only the first so many questions that can be scored; all where `None`.
    pub limit: Option<usize>,
    /// The release that asks; part of what a result depends on.
    pub release: String,
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
    /// All questions failed, fewer than would end the run before.
    #[error("no question could be asked, the last in arm {arm}")]
    NoneAsked {
        /// The arm.
        arm: String,
        /// What the last said.
        source: QueryError,
    },
    /// A result could not be kept.
    #[error("keeping a result")]
    Keep(#[from] JournalError),
}

/// One question in one arm, under the key of everything that its result depends on.
#[derive(Debug, Clone)]
pub struct Task<'a> {
    /// The arm.
    pub arm: &'a Arm,
    /// The question.
    pub question: &'a SetQuestion,
    /// The key: what is asked for, set, workspace and what it holds, arm, question, models and their prompts, how latency is
    /// measured, release.
    pub key: ContentHash,
}

/// What is kept of one question in one arm.
pub trait Row: Serialize + DeserializeOwned + Send {
    /// What is kept, in a word; results of another kind have other keys.
    const WHAT: &str;

    /// The prompts that it may depend on.
    const PROMPTS: &[Prompt];

    /// Asks.
    fn ask(
        engine: &Engine,
        task: &Task<'_>,
        options: &AskOptions,
    ) -> impl Future<Output = Result<Self, QueryError>> + Send;

    /// The row of a question that could not be asked, and why.
    fn failed(task: &Task<'_>, why: String) -> Self;
}

/// Everything that is to be asked, arm by arm, on the workspace as it is.
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
        wording(&engine.prompts, R::PROMPTS).to_string(),
        // Latency is part of a result: it is that of so many repetitions, beside so many others, with or without what
        // models said before.
        format!("{} {} {}", options.timed, options.concurrency, engine.caches.is_on()),
        options.release.clone(),
    ];
    let key = |arm: &Arm, question: &SetQuestion| {
        let asked = arm.ask(&question.text, options.most);
        // A question is plain data, which always has its JSON.
        let asked = serde_json::to_string(&asked).unwrap_or_default();
        let parts = on.iter().map(String::as_str).chain([arm.name.as_str(), &question.id, &asked]);
        ContentHash::of_parts(&parts.collect::<Vec<_>>())
    };
    let pairs = arms.iter().flat_map(|arm| questions.iter().map(move |question| (arm, *question)));
    Ok(pairs.map(|(arm, question)| Task { arm, question, key: key(arm, question) }).collect())
}

/// What of a workspace a result depends on: the graph, the documents with their metadata, and by whom chunks are situated.
async fn state(snapshot: &dyn Snapshot) -> Result<String, StoreError> {
    // The revision counts commits of the ledger too. Chunks that say nothing about the graph do not change its revision.
    let counts = StoreCounts { calls: 0, ..snapshot.counts().await? };
    let situated = snapshot.situation_counts().await?;
    let mut parts = vec![format!("{} {counts:?} {situated:?}", snapshot.graph_revision())];
    let mut after = None::<DocumentId>;
    loop {
        let page = snapshot.scan_documents(after.as_ref(), PAGE).await?;
        let told: Vec<String> = (page.iter())
            .map(|document| {
                format!(
                    "{} {:?} {:?} {:?}",
                    document.id, document.visibility, document.meta, document.added_at
                )
            })
            .collect();
        parts.push(ContentHash::of_parts(&told.iter().map(String::as_str).collect::<Vec<_>>()).to_string());
        if page.len() < PAGE {
            return Ok(parts.join(" "));
        }
        after = page.last().map(|document| document.id.clone());
    }
}

/// The hash of what models are asked with these prompts.
fn wording(prompts: &Prompts, used: &[Prompt]) -> ContentHash {
    let bodies = used.iter().map(|prompt| prompts.body(*prompt));
    let parts = std::iter::once(prompts.chosen_language().unwrap_or_default()).chain(bodies);
    ContentHash::of_parts(&parts.collect::<Vec<_>>())
}

/// Asks what is not in `done` and returns the row of every task, in order.
///
/// - `on_row`: gets each new row as it comes, to be kept; not those that failed, so that they are asked again.
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
                Some(row) => (task, false, Ok(row)),
                None => (task, true, R::ask(engine, task, options).await),
            }
        })
        .buffered(concurrency);
    let mut rows = Vec::with_capacity(tasks.len());
    let (mut failures, mut all_failed) = (0, None);
    while let Some((task, is_new, outcome)) = asking.next().await {
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
                let row = R::failed(task, told(&error));
                // Figures of nothing but failures would say nothing.
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

/// Stores what a question cost and what is to be remembered of it, as `ask` does; its result does not depend on it.
pub(crate) async fn record<'a>(engine: &Engine, spent: impl IntoIterator<Item = &'a Spent>) {
    if let Err(error) = query::record(engine, spent).await {
        tracing::warn!(%error, "what a question cost was not stored");
    }
}

/// Milliseconds since then.
pub(crate) fn elapsed_ms(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e3
}

/// Milliseconds that calls took, tokens sent and tokens received.
pub(crate) fn spent_on(calls: &[Call]) -> (u64, u64, u64) {
    let sum = |value: fn(&Call) -> u64| calls.iter().map(value).sum();
    (sum(|call| call.duration_ms), sum(|call| call.prompt_tokens), sum(|call| call.completion_tokens))
}

/// An error with its causes, in one line.
pub fn told(error: &dyn std::error::Error) -> String {
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        told.push_str(": ");
        told.push_str(&error.to_string());
        cause = error.source();
    }
    told
}
