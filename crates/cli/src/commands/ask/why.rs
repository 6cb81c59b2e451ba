//! Explains in a few lines how an answer was found.

use std::collections::BTreeSet;

use graphloom_core::{Chunk, ChunkId};
use graphloom_engine::query::{Arm, Citation, FoundChunk, PathStep, Retrieval};

use crate::output::render::{count, one_line, place};

/// Maximum number of lines.
const MOST_LINES: usize = 10;

/// Maximum number of steps printed of a path through the graph.
const MOST_STEPS: usize = 4;

/// Lists the search words, the number of results, and how each cited passage was found, in at most [`MOST_LINES`]
/// lines.
///
/// - `numbered`: the citations in the order of their printed numbers.
pub(super) fn explained(retrieval: &Retrieval, numbered: &[Option<&Citation>]) -> Vec<String> {
    let mut lines = vec!["Why this answer:".to_owned()];
    if let Some(searched) = &retrieval.standalone_question {
        lines.push(format!("  searched for: {}", one_line(searched, 200)));
    }
    if let Some(route) = &retrieval.route {
        let parts = one_line(&route.parts.join("; "), 200);
        let looked_for = if parts.is_empty() { parts } else { format!("; looked for: {parts}") };
        lines.push(format!("  {}{looked_for}", one_line(&route.reason, 200)));
        lines.extend(route.pagerank.iter().map(|trust| format!("  {}", one_line(&trust.reason(), 200))));
    }
    if !retrieval.reports.is_empty() {
        let reports = count(retrieval.reports.len() as u64, "community report");
        let points = match retrieval.points.len() {
            0 => String::new(),
            points => format!("; an LLM drew {} from them", count(points as u64, "point")),
        };
        lines.push(format!("  read {reports}{points}"));
    }
    if !retrieval.follow_ups.is_empty() {
        lines.push(format!("  looked up: {}", one_line(&retrieval.follow_ups.join(" "), 200)));
    }
    let documents: BTreeSet<u32> = retrieval.chunks.iter().map(|found| found.reference).collect();
    let passages = count(retrieval.chunks.len() as u64, "passage");
    let from = count(documents.len() as u64, "document");
    let mode = serde_json::to_value(retrieval.mode).unwrap_or_default();
    lines.push(format!("  mode {} read {passages} from {from}", mode.as_str().unwrap_or_default()));
    let cited: Vec<_> =
        numbered.iter().enumerate().filter_map(|(at, citation)| Some((at + 1, (*citation)?))).collect();
    let room = MOST_LINES - lines.len();
    let shown = if cited.len() > room { room - 1 } else { cited.len() };
    for (number, citation) in cited.iter().take(shown) {
        let at =
            place(&citation.source, citation.lines, citation.lines_match_source, citation.place.as_ref());
        lines.push(format!("  [{number}] {at}: {}", way_to(retrieval, citation)));
    }
    if shown < cited.len() {
        lines.push(format!("  and {} more", count((cited.len() - shown) as u64, "citation")));
    }
    lines
}

/// Describes how the passage of a citation was found.
fn way_to(retrieval: &Retrieval, citation: &Citation) -> String {
    let holds = |chunk: &Chunk| {
        let span = citation.span;
        chunk.document == citation.document && chunk.span.start <= span.start && span.end <= chunk.span.end
    };
    let Some((rank, found)) = retrieval.chunks.iter().enumerate().find(|(_, found)| holds(&found.chunk))
    else {
        return "not among the passages of the context".to_owned();
    };
    let way = match found.arm {
        Arm::Vector => "close to the question in meaning".to_owned(),
        Arm::Fused => "shares words or meaning with the question".to_owned(),
        Arm::Entity => "mentions an entity that the question is about".to_owned(),
        Arm::Relation => "states a relation that the question is about".to_owned(),
        Arm::Tree => "close to the question in meaning, or covered by a summary that is".to_owned(),
        Arm::Claim => "states a claim that held at the date of the question".to_owned(),
        Arm::PageRank => by_pagerank(retrieval, found),
        Arm::Report => "cited by a finding of a community report".to_owned(),
    };
    format!("{way}; passage {} of {}", rank + 1, retrieval.chunks.len())
}

/// Describes the path through the graph to a passage.
fn by_pagerank(retrieval: &Retrieval, found: &FoundChunk) -> String {
    let path = retrieval.paths.iter().find(|path| path.chunk == found.chunk.id);
    let before = path.and_then(|path| path.steps.split_last()).map_or(&[][..], |(_, before)| before);
    let steps: Vec<String> = before.iter().take(MOST_STEPS).map(|step| named(retrieval, step)).collect();
    match steps.is_empty() {
        true => "matches the question in words or meaning".to_owned(),
        false => format!("reached through the graph from {}", steps.join(", then ")),
    }
}

fn named(retrieval: &Retrieval, step: &PathStep) -> String {
    match step {
        PathStep::Chunk(id) => match source_of(retrieval, id) {
            Some(source) => format!("a passage of {source}"),
            None => "another passage".to_owned(),
        },
        PathStep::Entity(key) => format!("\"{}\"", one_line(key.as_str(), 60)),
        PathStep::Relation(key) => {
            format!("\"{}\" with \"{}\"", one_line(key.a().as_str(), 60), one_line(key.b().as_str(), 60))
        }
    }
}

fn source_of<'a>(retrieval: &'a Retrieval, chunk: &ChunkId) -> Option<&'a str> {
    let found = retrieval.chunks.iter().find(|found| found.chunk.id == *chunk)?;
    let reference = retrieval.references.iter().find(|reference| reference.number == found.reference)?;
    Some(reference.source.as_str())
}
