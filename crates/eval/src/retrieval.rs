//! Asks every question of a set with every arm and records the retrieved passages in order, with costs.

use std::collections::BTreeMap;
use std::time::Instant;

use graphloom_engine::Engine;
use graphloom_engine::prompt::{DECOMPOSE, FILTER_FACTS, KEYWORDS, KEYWORDS_FOLLOW_UP, Prompt};
use graphloom_engine::query::{self, QueryError, Retrieval};
use serde::{Deserialize, Serialize};

use crate::asking::{AskOptions, MAX_TIMED, Row, Task, elapsed_ms, spent_on};
use crate::set::{QuestionSet, SetQuestion};
use crate::stats;

/// The retrieval for one question with one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RetrievalRow {
    /// The arm.
    pub arm: String,
    /// The question's id.
    pub id: String,
    /// Its text.
    pub question: String,
    /// Its type; empty if the set has none.
    #[serde(rename = "type")]
    pub kind: String,
    /// The gold passages.
    pub gold: Vec<String>,
    /// The passages of the context, best first, without duplicates. A document that is not a passage of the set
    /// appears with its source.
    pub ranked: Vec<String>,
    /// Time from question to context, including models; the median if the question was repeated.
    pub latency_ms: f64,
    /// Latency without the time of models, computed per repetition.
    #[serde(default)]
    pub own_latency_ms: f64,
    /// Time of models in the first call. Cached results take no time.
    pub model_ms: u64,
    /// Tokens of the context.
    pub context_tokens: u32,
    /// Number of model calls.
    pub calls: usize,
    /// Tokens sent, as counted by the models.
    pub prompt_tokens: u64,
    /// Tokens received, as counted by the models.
    pub completion_tokens: u64,
    /// What could not be done as requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The error if the question failed, which counts as a miss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// Returns the questions to ask: all with gold passages, in order, up to the limit in the options.
pub fn selected_questions<'a>(set: &'a QuestionSet, options: &AskOptions) -> Vec<&'a SetQuestion> {
    let with_gold = set.questions.iter().filter(|question| !question.gold.is_empty());
    with_gold.take(options.limit.unwrap_or(usize::MAX)).collect()
}

impl Row for RetrievalRow {
    const WHAT: &str = "retrieval";

    const PROMPTS: &[Prompt] = &[DECOMPOSE, FILTER_FACTS, KEYWORDS, KEYWORDS_FOLLOW_UP];

    async fn ask(engine: &Engine, task: &Task<'_>, options: &AskOptions) -> Result<Self, QueryError> {
        let mut question = task.arm.ask(&task.question.text, options.most);
        // Only passages are measured, so no points are extracted from reports.
        question.only_need_context = true;
        let began = Instant::now();
        let retrieval = query::retrieve(engine, &question).await?;
        let mut latency_ms = elapsed_ms(began);
        let calls = &retrieval.cost.calls;
        let (model_ms, prompt_tokens, completion_tokens) = spent_on(calls);
        let mut own_latency_ms = without_models(latency_ms, model_ms);
        if options.timed > 0 {
            let (mut times, mut own_times) = (Vec::new(), Vec::new());
            for _ in 0..options.timed.min(MAX_TIMED) {
                let began = Instant::now();
                let again = query::retrieve(engine, &question).await?;
                let took = elapsed_ms(began);
                times.push(took);
                // Without a cache, models are called every time.
                own_times.push(without_models(took, spent_on(&again.cost.calls).0));
            }
            latency_ms = stats::quantile(&times, 0.5);
            own_latency_ms = stats::quantile(&own_times, 0.5);
        }
        Ok(RetrievalRow {
            ranked: ranked(&retrieval),
            latency_ms,
            own_latency_ms,
            model_ms,
            context_tokens: engine.tokenizer.count(&retrieval.context),
            calls: calls.len(),
            prompt_tokens,
            completion_tokens,
            notes: retrieval.notes.iter().map(ToString::to_string).collect(),
            ..RetrievalRow::without(task, None)
        })
    }

    fn failed(task: &Task<'_>, why: String) -> Self {
        Self::without(task, Some(why))
    }
}

impl RetrievalRow {
    /// The row of a question without results.
    fn without(task: &Task<'_>, failed: Option<String>) -> Self {
        let SetQuestion { id, text, kind, gold, answers: _, expected: _ } = task.question;
        Self {
            arm: task.arm.name.clone(),
            id: id.clone(),
            question: text.clone(),
            kind: kind.clone(),
            gold: gold.clone(),
            ranked: Vec::new(),
            latency_ms: 0.0,
            own_latency_ms: 0.0,
            model_ms: 0,
            context_tokens: 0,
            calls: 0,
            prompt_tokens: 0,
            completion_tokens: 0,
            notes: Vec::new(),
            failed,
        }
    }
}

/// Returns a duration without the time of models, which may have run concurrently.
fn without_models(latency_ms: f64, model_ms: u64) -> f64 {
    (latency_ms - model_ms as f64).max(0.0)
}

/// Returns the sources of the passages of a context, best first, without duplicates.
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
