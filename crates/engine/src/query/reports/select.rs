//! Selects the reports for a question: those of one level, or by descending from the coarsest level into relevant ones.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt, stream};
use graphloom_core::{ChatRequest, ItemKey, LanguageModel, LayerNode, Member, NodeKey, Snapshot, table};

use super::{FoundReport, RateReports};
use crate::derive::{Communities, Report};
use crate::query::calls::QueryCost;
use crate::query::cite::ContentWords;
use crate::query::keywords::{object_in, respond};
use crate::query::{QueryError, QueryNote, Question, prompts};
use crate::{Engine, chain};
use graphloom_offline::Intent;
use graphloom_text::one_line;

/// Maximum number of reports considered together; the least relevant ones beyond it are left out.
const MAX_CANDIDATES: usize = 2_000;
/// Maximum number of levels of a descent [GraphRAG].
const MAX_DESCENT: u32 = 2;
/// A report is relevant if its relevance is at least this share of the best one's.
const RELEVANT_SHARE: f64 = 0.5;
/// A report is relevant if an LLM rates it at least this high [GraphRAG].
const RELEVANT_RATING: f64 = 1.0;
/// Number of reports that one call rates.
const RATED_AT_ONCE: usize = 25;
/// Maximum number of characters of a summary that an LLM rates.
const MAX_RATED_CHARS: usize = 600;

/// A report that may be read.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) node: LayerNode,
    pub(super) report: Report,
    pub(super) relevance: f64,
}

impl Candidate {
    /// Returns the report without its text, for the result.
    pub(super) fn found(&self) -> FoundReport {
        FoundReport {
            id: self.node.key.clone(),
            level: self.node.level,
            title: self.node.title.clone(),
            rating: self.report.rating,
            by: self.report.by.clone(),
            relevance: self.relevance,
        }
    }
}

/// Rates reports by vectors and words.
pub(super) struct Relevance<'a> {
    text: &'a str,
    vector: Option<&'a [f32]>,
    words: ContentWords,
    question_words: BTreeSet<String>,
    /// True for a question about the documents as a whole; every report is then relevant.
    pub(super) is_corpus_wide: bool,
}

impl<'a> Relevance<'a> {
    pub(super) fn new(text: &'a str, vector: Option<&'a [f32]>) -> Self {
        let words = ContentWords::new();
        let question_words = words.of(text);
        Self {
            text,
            vector,
            words,
            question_words,
            is_corpus_wide: graphloom_offline::intent(text) == Intent::Overview,
        }
    }

    /// Rates reports without a question: all are equally relevant.
    pub(super) fn of_all() -> Self {
        Self {
            text: "",
            vector: None,
            words: ContentWords::new(),
            question_words: BTreeSet::new(),
            is_corpus_wide: true,
        }
    }

    /// Returns the text of the question.
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// Returns the vector of the question.
    pub(super) fn vector(&self) -> Option<&'a [f32]> {
        self.vector
    }

    /// Returns the nodes that have a report, each with its relevance: the cosine of its vector plus the share of the
    /// question's words in its text. The relevance is 1 for all if the question is about the documents as a whole.
    pub(super) async fn rate(
        &self,
        snapshot: &dyn Snapshot,
        nodes: Vec<LayerNode>,
    ) -> Result<Vec<Candidate>, QueryError> {
        let items: Vec<ItemKey> = nodes.iter().map(|node| ItemKey::Node(node.key.clone())).collect();
        let vectors = match self.vector.filter(|_| !self.is_corpus_wide) {
            Some(_) => snapshot.vectors(&items).await?,
            None => vec![None; items.len()],
        };
        let rated = nodes.into_iter().zip(vectors).filter_map(|(node, vector)| {
            let report = Report::of(&node)?;
            let relevance = match self.is_corpus_wide {
                true => 1.0,
                false => self.cosine(vector.as_deref()) + self.common(&node),
            };
            Some(Candidate { node, report, relevance })
        });
        Ok(rated.collect())
    }

    fn cosine(&self, vector: Option<&[f32]>) -> f64 {
        let (Some(one), Some(other)) = (self.vector, vector) else { return 0.0 };
        one.iter().zip(other).map(|(a, b)| f64::from(a * b)).sum::<f64>().max(0.0)
    }

    fn common(&self, node: &LayerNode) -> f64 {
        let words = self.words.of(&node.indexed_text());
        self.question_words.intersection(&words).count() as f64 / self.question_words.len().max(1) as f64
    }
}

/// Returns the reports for the question, the most relevant first, ties by rating, then by id.
pub(super) async fn select(
    engine: &Engine,
    question: &Question,
    relevance: &Relevance<'_>,
    calls_left: &mut usize,
    notes: &mut Vec<QueryNote>,
    cost: &mut QueryCost,
) -> Result<Vec<Candidate>, QueryError> {
    let chosen = match question.reports.level {
        Some(level) => {
            let snapshot = engine.store.snapshot().await?;
            of_level(snapshot.as_ref(), relevance, level).await?
        }
        None => {
            let rates = question.reports.rate == RateReports::Model && !relevance.is_corpus_wide;
            let model = engine.models.keywords.as_deref().filter(|_| rates);
            let mut descent =
                Descent { engine, question, relevance, model, failed: 0, calls: 0, reason: None };
            let chosen = descent.run(calls_left, cost).await?;
            if let Some(reason) = descent.reason {
                let (failed, calls) = (descent.failed, descent.calls);
                notes.push(QueryNote::RatingCallsFailed { failed, calls, reason });
            }
            chosen
        }
    };
    Ok(ranked(chosen))
}

/// Sorts reports: the most relevant first, ties by rating, then by id.
pub(super) fn ranked(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    candidates.sort_by(|one, other| {
        (other.relevance.total_cmp(&one.relevance))
            .then_with(|| other.report.rating.total_cmp(&one.report.rating))
            .then_with(|| one.node.key.cmp(&other.node.key))
    });
    candidates
}

/// Returns the reports of a level, and of those communities above it that contain entities in none of the level's communities.
///
/// Together they cover every entity that is in a community.
pub(super) async fn of_level(
    snapshot: &dyn Snapshot,
    relevance: &Relevance<'_>,
    level: u32,
) -> Result<Vec<Candidate>, QueryError> {
    let deepest =
        snapshot.node_counts(&Communities::name()).await?.last_key_value().map_or(0, |(last, _)| *last);
    let mut kept = Vec::new();
    for at in 0..=level.min(deepest) {
        let is_cut = |node: &LayerNode| {
            at == level || node.members.iter().any(|member| matches!(member, Member::Entity(_)))
        };
        scan_level(snapshot, relevance, at, is_cut, &mut kept).await?;
    }
    Ok(kept)
}

/// Adds the reports of a level for which `takes` is true, and keeps the best [`MAX_CANDIDATES`].
async fn scan_level(
    snapshot: &dyn Snapshot,
    relevance: &Relevance<'_>,
    level: u32,
    takes: impl Fn(&LayerNode) -> bool,
    kept: &mut Vec<Candidate>,
) -> Result<(), QueryError> {
    let mut pages = snapshot.pages(table::Nodes { layer: Communities::name(), level: Some(level) });
    while let Some(mut page) = pages.next().await? {
        page.retain(&takes);
        kept.extend(relevance.rate(snapshot, page).await?);
        if kept.len() > MAX_CANDIDATES {
            *kept = ranked(std::mem::take(kept));
            kept.truncate(MAX_CANDIDATES);
        }
    }
    Ok(())
}

/// Descends from the coarsest level: replaces a relevant community by its relevant parts.
struct Descent<'a> {
    engine: &'a Engine,
    question: &'a Question,
    relevance: &'a Relevance<'a>,
    /// The model that rates; `None` for vectors and words.
    model: Option<&'a dyn LanguageModel>,
    failed: usize,
    calls: usize,
    reason: Option<String>,
}

impl Descent<'_> {
    async fn run(
        &mut self,
        calls_left: &mut usize,
        cost: &mut QueryCost,
    ) -> Result<Vec<Candidate>, QueryError> {
        let mut open = Vec::new();
        let snapshot = self.engine.store.snapshot().await?;
        scan_level(snapshot.as_ref(), self.relevance, 0, |_| true, &mut open).await?;
        drop(snapshot);
        let mut least = self.rate(&mut open, 0.0, calls_left, cost).await?;
        open.retain(|candidate| candidate.relevance >= least);
        let mut chosen = Vec::new();
        for _ in 0..MAX_DESCENT {
            if open.is_empty() || self.relevance.is_corpus_wide {
                break;
            }
            let parts_of = |candidate: &Candidate| -> Vec<NodeKey> {
                let keys = candidate.node.members.iter().filter_map(|member| match member {
                    Member::Node(key) => Some(key.clone()),
                    Member::Chunk(_) | Member::Entity(_) => None,
                });
                keys.collect()
            };
            let keys: Vec<NodeKey> = open.iter().flat_map(parts_of).take(MAX_CANDIDATES).collect();
            let snapshot = self.engine.store.snapshot().await?;
            let nodes = snapshot.nodes(&keys).await?.into_iter().flatten().collect();
            let mut parts = self.relevance.rate(snapshot.as_ref(), nodes).await?;
            drop(snapshot);
            least = self.rate(&mut parts, least, calls_left, cost).await?;
            parts.retain(|part| part.relevance >= least);
            let mut parts: BTreeMap<NodeKey, Candidate> =
                parts.into_iter().map(|part| (part.node.key.clone(), part)).collect();
            let mut next = Vec::new();
            for candidate in open {
                let relevant: Vec<Candidate> =
                    parts_of(&candidate).iter().filter_map(|key| parts.remove(key)).collect();
                match relevant.is_empty() {
                    true => chosen.push(candidate),
                    false => next.extend(relevant),
                }
            }
            open = next;
        }
        chosen.extend(open);
        Ok(chosen)
    }

    /// Rates the candidates. Returns the minimum relevance that counts as relevant.
    ///
    /// - `least`: the same minimum for the level above.
    async fn rate(
        &mut self,
        candidates: &mut [Candidate],
        least: f64,
        calls_left: &mut usize,
        cost: &mut QueryCost,
    ) -> Result<f64, QueryError> {
        // Leaves at least one call for points.
        let affordable = calls_left.saturating_sub(1) * RATED_AT_ONCE;
        let Some(model) = self.model.filter(|_| candidates.len() <= affordable && !candidates.is_empty())
        else {
            self.model = None;
            let best = candidates.iter().map(|candidate| candidate.relevance).fold(0.0, f64::max);
            return Ok(least.max(best * RELEVANT_SHARE));
        };
        *calls_left -= candidates.len().div_ceil(RATED_AT_ONCE);
        let lists: Vec<String> = candidates
            .chunks(RATED_AT_ONCE)
            .map(|some| {
                let line = |(number, candidate): (usize, &Candidate)| {
                    let summary: String =
                        one_line(&candidate.report.summary).chars().take(MAX_RATED_CHARS).collect();
                    format!("{number}. {}: {summary}", candidate.node.title)
                };
                (1..).zip(some).map(line).collect::<Vec<_>>().join("\n")
            })
            .collect();
        let (engine, question, text) = (self.engine, self.question, self.relevance.text);
        let mut answers = stream::iter(lists)
            .map(|list| async move {
                let mut cost = QueryCost::default();
                let messages = prompts::rate_reports(&engine.prompts, text, &list);
                let request = ChatRequest { messages, json_object: true, ..ChatRequest::default() };
                let is_usable = |response: &str| ratings(response).is_some();
                let answer = respond(engine, model, request, is_usable, question.cache, &mut cost).await;
                (answer, cost)
            })
            .buffered(engine.index.max_concurrent_calls.max(1))
            .boxed();
        for some in candidates.chunks_mut(RATED_AT_ONCE) {
            let Some((answer, spent)) = answers.next().await else { break };
            cost.absorb(spent);
            self.calls += 1;
            let rated = match answer {
                Ok(answer) => ratings(&answer).ok_or_else(|| "the answer has no ratings".to_owned()),
                Err(error) => Err(chain(&error)),
            };
            let rated = rated.unwrap_or_else(|reason| {
                // Reports that could not be rated are kept [GraphRAG].
                self.failed += 1;
                self.reason.get_or_insert(reason);
                BTreeMap::new()
            });
            for (number, candidate) in (1..).zip(some) {
                candidate.relevance = rated.get(&number).copied().unwrap_or(RELEVANT_RATING);
            }
        }
        Ok(RELEVANT_RATING)
    }
}

/// Reads the ratings by number from a model's response; `None` if it has none.
fn ratings(response: &str) -> Option<BTreeMap<usize, f64>> {
    let value = object_in(response)?;
    let ratings = value["ratings"].as_object()?.iter().filter_map(|(number, rating)| {
        let rating = rating.as_f64().or_else(|| rating.as_str()?.trim().parse().ok())?;
        Some((number.trim().parse().ok()?, rating.clamp(0.0, 5.0)))
    });
    let ratings: BTreeMap<usize, f64> = ratings.collect();
    (!ratings.is_empty()).then_some(ratings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratings_are_read_as_numbers_or_text_and_stay_in_range() {
        let read = ratings(r#"Here: {"ratings": {"1": 4, "2": "0", "3": 9, "x": 1, "4": null}}"#);
        assert_eq!(read, Some(BTreeMap::from([(1, 4.0), (2, 0.0), (3, 5.0)])));
        for nonsense in ["", "no", "{}", r#"{"ratings": []}"#, r#"{"ratings": {}}"#] {
            assert_eq!(ratings(nonsense), None, "{nonsense}");
        }
    }
}
