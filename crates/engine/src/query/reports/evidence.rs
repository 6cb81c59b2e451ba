//! Finds the sentences of documents that points and findings rest on, and adds them to the retrieval as passages.

use std::collections::BTreeMap;

use graphloom_core::{ChunkId, Span};

use super::points::{MAX_REFERENCES_OF_FINDING, SupportedPoint};
use super::select::Candidate;
use super::{Point, points};
use crate::Engine;
use crate::derive::Reference;
use crate::query::chunks::{self, Candidate as ChunkCandidate};
use crate::query::context::{self, LineCounter};
use crate::query::plan::Plan;
use crate::query::{
    Arm, Evidence, FoundChunk, QueryError, Question, Retrieval, history, references, respond,
};

/// Maximum number of tokens of points for the answer [GraphRAG].
const MAX_POINT_TOKENS: u32 = 12_000;
/// Maximum number of sentences for points or reports.
const MAX_SENTENCES: usize = 400;
/// Tokens reserved for headings and the list of documents.
const RESERVED_TOKENS: u32 = 600;

/// Adds points to a retrieval: those that fit into the prompt, and the passages with the sentences they rest on.
pub(super) async fn of_points(
    engine: &Engine,
    question: &Question,
    drawn: Vec<SupportedPoint>,
    mut retrieval: Retrieval,
) -> Result<Retrieval, QueryError> {
    let counter = LineCounter { tokenizer: engine.tokenizer, caches: &engine.caches };
    let mut room = room_for_points(engine, question, &retrieval, &counter);
    let fits = |point: &&SupportedPoint| {
        let tokens = counter.tokens(&context::point_line(&point.point, point.score, &[1000, 1000]));
        let fits = tokens <= room;
        room = room.saturating_sub(tokens);
        fits
    };
    let kept: Vec<&SupportedPoint> = drawn.iter().take_while(fits).collect();
    if kept.len() < drawn.len() {
        tracing::debug!(points = drawn.len() - kept.len(), "left out for the token budget");
    }
    let mut sentences = Sentences::default();
    for support in kept.iter().flat_map(|point| &point.support) {
        sentences.add(&support.reference, &support.statement, support.report.as_ref());
    }
    sentences.load(engine, &mut retrieval).await?;
    let numbers: BTreeMap<&ChunkId, u32> =
        retrieval.chunks.iter().map(|found| (&found.chunk.id, found.reference)).collect();
    let point_of = |supported: &&SupportedPoint| {
        let behind = supported.support.iter().filter_map(|support| numbers.get(&support.reference.chunk));
        let mut references: Vec<u32> = behind.copied().collect();
        references.sort_unstable();
        references.dedup();
        Point { point: supported.point.clone(), score: supported.score, references }
    };
    retrieval.points = kept.iter().map(point_of).collect();
    let lines: Vec<String> = (retrieval.points.iter())
        .map(|point| context::point_line(&point.point, point.score, &point.references))
        .collect();
    retrieval.context = context::of_points(&lines, &retrieval.references);
    Ok(retrieval)
}

/// Returns the tokens of the prompt's budget that instructions, conversation and question leave.
fn room_for_points(
    engine: &Engine,
    question: &Question,
    retrieval: &Retrieval,
    counter: &LineCounter<'_>,
) -> u32 {
    let instructions = respond::instructions(&engine.prompts, question, Plan::of(retrieval.mode), "");
    let history_tokens: u32 = (history::latest(question, retrieval.history_messages).iter())
        .map(|message| counter.tokenizer.count(&message.content))
        .sum();
    let spent =
        counter.tokens(&instructions) + history_tokens + counter.tokenizer.count(question.text.trim());
    question.max_total_tokens.saturating_sub(spent + RESERVED_TOKENS).min(MAX_POINT_TOKENS)
}

/// Adds reports to a retrieval, without drawing points from them.
pub(super) async fn of_reports(
    engine: &Engine,
    _: &Question,
    chosen: Vec<Candidate>,
    mut retrieval: Retrieval,
) -> Result<Retrieval, QueryError> {
    let mut sentences = Sentences::default();
    // The first findings of all reports come before the second ones, so that every report is represented.
    let most = chosen.iter().map(|candidate| candidate.report.findings.len()).max().unwrap_or(0);
    for at in 0..most {
        for candidate in &chosen {
            let Some(finding) = candidate.report.findings.get(at) else { continue };
            let statement = format!("{} {}", finding.summary, finding.explanation);
            for reference in finding.references.iter().take(MAX_REFERENCES_OF_FINDING) {
                sentences.add(reference, statement.trim(), Some(&candidate.node.key));
            }
        }
    }
    sentences.load(engine, &mut retrieval).await?;
    retrieval.reports = chosen.iter().map(Candidate::found).collect();
    let mut findings = 0;
    let blocks: Vec<String> =
        chosen.iter().map(|candidate| points::block(candidate, &mut findings).0).collect();
    retrieval.context = blocks.concat().trim_end().to_owned();
    Ok(retrieval)
}

/// Sentences by chunk, in the order in which their chunks were added.
#[derive(Default)]
struct Sentences {
    order: Vec<ChunkId>,
    by_chunk: BTreeMap<ChunkId, Vec<Evidence>>,
    count: usize,
}

impl Sentences {
    fn add(&mut self, reference: &Reference, statement: &str, report: Option<&graphloom_core::NodeKey>) {
        let of_chunk = self.by_chunk.entry(reference.chunk.clone()).or_default();
        let known = of_chunk.iter().any(|known| known.span == reference.span && known.statement == statement);
        if known || self.count == MAX_SENTENCES {
            return;
        }
        if of_chunk.is_empty() {
            self.order.push(reference.chunk.clone());
        }
        of_chunk.push(Evidence {
            span: reference.span,
            statement: statement.to_owned(),
            report: report.cloned(),
        });
        self.count += 1;
    }

    /// Loads the chunks, numbers their documents, and leaves out sentences that no longer exist.
    async fn load(mut self, engine: &Engine, retrieval: &mut Retrieval) -> Result<(), QueryError> {
        let candidates = self.order.into_iter();
        let candidates = candidates.map(|id| ChunkCandidate { id, arm: Arm::Report, score: None }).collect();
        let snapshot = engine.store.snapshot().await?;
        let passages = chunks::load(snapshot.as_ref(), candidates, 0).await?;
        drop(snapshot);
        let (references, mut found) = references::number(passages);
        for FoundChunk { chunk, evidence, .. } in &mut found {
            evidence.extend(self.by_chunk.remove(&chunk.id).unwrap_or_default());
            evidence.retain(|evidence| within(chunk.span, evidence.span, &chunk.text).is_some());
        }
        retrieval.chunks = found;
        retrieval.references = references;
        Ok(())
    }
}

/// Converts a span of the document to a range of the chunk's text; `None` if it is not inside the chunk.
pub(in crate::query) fn within(chunk: Span, sentence: Span, text: &str) -> Option<std::ops::Range<usize>> {
    let start = usize::try_from(sentence.start.checked_sub(chunk.start)?).ok()?;
    let end = usize::try_from(sentence.end.checked_sub(chunk.start)?).ok()?;
    text.get(start..end).map(|_| start..end)
}
