//! Drift search: a primer over the nearest reports, local searches for follow-up questions, and one answer from the
//! points of all steps.
//!
//! Source: Microsoft GraphRAG, DRIFT search.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use graphloom_core::{ChatMessage, ItemKey, ItemKind, LanguageModel, NodeKey};

use super::points::{self, Batch, Source, Step};
use super::select::{self, Candidate, Relevance};
use super::{evidence, local};
use crate::Engine;
use crate::derive::Communities;
use crate::filtered::FilteredSnapshot;
use crate::query::calls::QueryCost;
use crate::query::fuse::reciprocal_ranks;
use crate::query::{QueryError, QueryNote, Question, Retrieval, embed, prompts};
use graphloom_text::one_line;

/// Reports that the primer reads [GraphRAG: `drift_k_followups`].
const PRIMER_REPORTS: usize = 20;
/// Reports taken from each ranking.
const RANKED: usize = 100;

/// The step of the primer, for the model.
const PRIMER_STEP: &str = "reports about the documents; find out where to look";

/// Returns the reports nearest to the question by vector and full text. For a question about the documents as a whole,
/// returns the reports of the coarsest communities.
pub(super) async fn nearest(
    engine: &Engine,
    relevance: &Relevance<'_>,
) -> Result<Vec<Candidate>, QueryError> {
    let snapshot = engine.store.snapshot().await?;
    let scope = FilteredSnapshot::new(snapshot.as_ref(), None, engine.tokenizer).await?;
    let mut requests = vec![scope.by_words(ItemKind::Node, relevance.text(), RANKED)];
    let by_vector = |vector: &[f32]| scope.by_vector(ItemKind::Node, vector.to_vec(), RANKED, 0.0);
    requests.extend(relevance.vector().map(by_vector));
    let requests: Vec<_> =
        requests.into_iter().map(|request| request.in_layer(Communities::name())).collect();
    let rankings = snapshot.search(&requests).await?.into_iter();
    let items: Vec<Vec<ItemKey>> =
        rankings.map(|hits| hits.into_iter().map(|hit| hit.item).collect()).collect();
    let ranked = reciprocal_ranks::<ItemKey>(&items);
    let keys: Vec<NodeKey> = ranked.into_iter().filter_map(|(item, _)| item.into_node()).collect();
    let mut nodes: Vec<_> = snapshot.nodes(&keys).await?.into_iter().flatten().collect();
    nodes.truncate(PRIMER_REPORTS);
    if nodes.is_empty() || relevance.is_corpus_wide {
        let mut coarsest = select::of_level(snapshot.as_ref(), relevance, 0).await?;
        coarsest = select::ranked(coarsest);
        coarsest.truncate(PRIMER_REPORTS);
        return Ok(coarsest);
    }
    relevance.rate(snapshot.as_ref(), nodes).await
}

/// Answers a question in mode `drift`.
pub(super) async fn find(
    engine: &Engine,
    model: &dyn LanguageModel,
    question: &Question,
    relevance: &Relevance<'_>,
    mut retrieval: Retrieval,
    cost: &mut QueryCost,
) -> Result<Retrieval, QueryError> {
    let options = &question.reports;
    let mut calls_left = options.max_calls.saturating_sub(1);
    let chosen = nearest(engine, relevance).await?;
    retrieval.reports = chosen.iter().map(Candidate::found).collect();
    let primer = points::batches(engine.tokenizer, &chosen, options.call_tokens, calls_left).batches;
    calls_left -= primer.len();
    let requests =
        primer.iter().map(|batch| (messages(engine, question, PRIMER_STEP, batch), batch)).collect();
    let mut steps = points::ask_all(engine, model, question, requests, cost).await;
    let mut proposed = FollowUps::default();
    proposed.add(&steps);
    for _ in 0..options.depth {
        let now = proposed.next(options.follow_ups.min(calls_left));
        if now.is_empty() {
            break;
        }
        calls_left -= now.len();
        let batches = look_up(engine, question, &now, cost).await?;
        let requests = now.iter().zip(&batches);
        let requests =
            requests.map(|(step, batch)| (messages(engine, question, step, batch), batch)).collect();
        let found = points::ask_all(engine, model, question, requests, cost).await;
        proposed.add(&found);
        steps.extend(found);
        retrieval.follow_ups.extend(now);
    }
    if !proposed.open.is_empty() {
        retrieval.notes.push(QueryNote::FollowUpsLeftOut { left_out: proposed.open.len() });
    }
    let drawn = points::drawn(steps, &mut retrieval.notes)?;
    evidence::of_points(engine, question, drawn, retrieval).await
}

/// Follow-up questions, each once.
#[derive(Default)]
struct FollowUps {
    known: BTreeSet<String>,
    open: VecDeque<String>,
}

impl FollowUps {
    /// Adds the questions of these steps: the first of each step, then the second of each, and so on.
    fn add(&mut self, steps: &[Step]) {
        let lists: Vec<&[String]> =
            steps.iter().filter_map(|(drawn, _)| Some(drawn.as_ref().ok()?.follow_ups.as_slice())).collect();
        let most = lists.iter().map(|list| list.len()).max().unwrap_or(0);
        for at in 0..most {
            for question in lists.iter().filter_map(|list| list.get(at)) {
                if self.known.insert(question.to_lowercase()) {
                    self.open.push_back(question.clone());
                }
            }
        }
    }

    fn next(&mut self, most: usize) -> Vec<String> {
        self.open.drain(..most.min(self.open.len())).collect()
    }
}

fn messages(engine: &Engine, question: &Question, step: &str, batch: &Batch) -> Vec<ChatMessage> {
    prompts::drift_points(&engine.prompts, question.text.trim(), step, &batch.text)
}

/// Runs a local search for each of these questions, and returns one batch of data for each.
async fn look_up(
    engine: &Engine,
    question: &Question,
    questions: &[String],
    cost: &mut QueryCost,
) -> Result<Vec<Batch>, QueryError> {
    let snapshot = engine.store.snapshot().await?;
    let Some(space) = snapshot.embedding().await? else { return Ok(Vec::new()) };
    drop(snapshot);
    let vectors: Vec<Arc<[f32]>> = embed::vectors_of(engine, questions, &space, question.cache, cost).await?;
    let mut batches = Vec::new();
    for (text, vector) in questions.iter().zip(&vectors) {
        let relevance = Relevance::new(text, Some(vector.as_ref()));
        let tokens = question.reports.call_tokens;
        let gathered = local::gather(engine, question, &relevance, tokens, local::DRIFT).await?;
        batches.push(batch_of(gathered));
    }
    Ok(batches)
}

fn batch_of(gathered: local::LocalContext) -> Batch {
    let mut batch = Batch::default();
    let mut findings = 0;
    for candidate in &gathered.reports {
        let (text, sources) = points::block(candidate, &mut findings);
        batch.text.push_str(&text);
        batch.sources.extend(sources);
    }
    for line in gathered.entity_lines.iter().chain(&gathered.relation_lines) {
        batch.text.push_str(line);
    }
    for (number, passage) in (1..).zip(gathered.passages) {
        let id = format!("P{number}");
        let source = one_line(&passage.document.source);
        batch.text.push_str(&format!("[{id}] {source}: {}\n", one_line(&passage.chunk.text)));
        batch.sources.insert(id, Source::Passage(Box::new(passage.chunk)));
    }
    batch
}
