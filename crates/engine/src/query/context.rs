//! Builds the context that the answer model gets: sections of JSON lines, then the numbered documents.

use std::borrow::Cow;

use graphloom_core::{Chunk, ClaimStatus, IsoDate};
use serde::Serialize;

use super::claims::AsOf;

use super::cache::QueryCaches;
use super::truncate::FittedGraph;
use super::{FoundChunk, Reference};
use crate::claims::MergedClaim;
use graphloom_text::Tokenizer;

const ENTITIES: &str = "## Entities\n\nWhat the documents speak of, one JSON object a line.\n\n```json\n";
const RELATIONS: &str = "## Relations\n\nHow these hang together, one JSON object a line.\n\n```json\n";
const SUMMARIES: &str = "## Summaries\n\nWhat groups of passages say together, one JSON object a line. They have no number and are not \
                         cited; the passages behind them are.\n\n```json\n";
const CLAIMS: &str = "## Claims\n\nWhat the documents claim of these, and for which time, one JSON object a line.\n\n```json\n";
const PASSAGES: &str = "## Passages\n\nThe documents' own words, one JSON object a line. `reference_id` is the number \
                        of the document in the list below.\n\n```json\n";
const REPORTS: &str = "## Reports\n\nAbout groups of these entities, one JSON object a line.\n\n```json\n";
const POINTS: &str = "## Points\n\nDrawn from reports and passages of the documents, the most important first, one JSON \
                      object a line. `reference_ids` are the numbers of the documents in the list below.\n\n```json\n";
const DOCUMENTS: &str = "## Documents\n\n";
const SECTION_END: &str = "```\n\n";

/// Returns the line of an entity.
pub(super) fn entity_line(name: &str, kind: &str, description: &str) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        entity: &'a str,
        r#type: &'a str,
        description: &'a str,
    }
    line(&Line { entity: name, r#type: kind, description })
}

/// Returns the line of a relation.
pub(super) fn relation_line(ends: &[String; 2], description: &str) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        entity1: &'a str,
        entity2: &'a str,
        description: &'a str,
    }
    line(&Line { entity1: &ends[0], entity2: &ends[1], description })
}

/// Returns the line of a node of a layer.
pub(super) fn summary_line(title: &str, text: &str) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        title: &'a str,
        summary: &'a str,
    }
    line(&Line { title, summary: text })
}

/// Returns the line of a claim.
pub(super) fn claim_line(claim: &MergedClaim) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        claim: &'a str,
        subject: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        object: Option<&'a str>,
        when: &'a str,
        status: &'a str,
    }
    let object = claim.object_name.as_deref();
    let when = claim.period_text();
    let status = if claim.status == ClaimStatus::True { "stated" } else { claim.status.name() };
    line(&Line { claim: &claim.kind, subject: &claim.subject_name, object, when: &when, status })
}

/// Returns the line of a chunk.
pub(super) fn passage_line(reference: u32, text: &str) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        reference_id: String,
        content: &'a str,
    }
    line(&Line { reference_id: reference.to_string(), content: text })
}

/// Returns the line of a report.
pub(super) fn report_line(title: &str, rating: f64, text: &str) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        report: &'a str,
        rating: f64,
        content: &'a str,
    }
    line(&Line { report: title, rating, content: text })
}

/// Returns the line of a point that was drawn from reports or passages.
pub(super) fn point_line(point: &str, importance: f64, references: &[u32]) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        importance: f64,
        point: &'a str,
        reference_ids: Vec<String>,
    }
    let reference_ids = references.iter().map(u32::to_string).collect();
    line(&Line { importance, point, reference_ids })
}

/// Returns the line of a document.
pub(super) fn reference_line(number: u32, source: &str) -> String {
    format!("[{number}] {}\n", source.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn line(value: &impl Serialize) -> String {
    let mut line = serde_json::to_string(value).expect("a struct of strings is always JSON");
    line.push('\n');
    line
}

/// Returns the context of points; empty if there are none.
pub(super) fn of_points(points: &[String], references: &[Reference]) -> String {
    let context = section(POINTS, points);
    if context.is_empty() { context } else { with_documents(context, references) }
}

/// Returns the whole context with reports before it. Sections without lines are left out.
pub(super) fn with_reports(
    report_lines: &[String],
    graph: &FittedGraph,
    claim_lines: &[String],
    as_of: Option<&AsOf>,
    chunks: &[FoundChunk],
    references: &[Reference],
) -> String {
    section(REPORTS, report_lines) + &build(graph, claim_lines, as_of, chunks, references)
}

/// Returns the whole context. Sections without lines are left out, so it is empty if nothing was found.
///
/// - `claim_lines`: the lines of the claims.
/// - `as_of`: the sentences to leave out of the passages.
pub(super) fn build(
    graph: &FittedGraph,
    claim_lines: &[String],
    as_of: Option<&AsOf>,
    chunks: &[FoundChunk],
    references: &[Reference],
) -> String {
    let passages: Vec<String> =
        chunks.iter().map(|found| passage_line(found.reference, &shown(&found.chunk, as_of))).collect();
    let context = section(ENTITIES, &graph.entity_lines)
        + &section(RELATIONS, &graph.relation_lines)
        + &section(SUMMARIES, &graph.node_lines)
        + &section(CLAIMS, claim_lines)
        + &section(PASSAGES, &passages);
    let context = with_documents(context, references);
    match as_of {
        Some(as_of) if !context.is_empty() => as_of_heading(&as_of.date) + &context,
        Some(_) | None => context,
    }
}

/// Appends the list of documents to the context.
fn with_documents(mut context: String, references: &[Reference]) -> String {
    let documents: Vec<String> =
        references.iter().map(|reference| reference_line(reference.number, &reference.source)).collect();
    if !documents.is_empty() {
        context.push_str(DOCUMENTS);
        context.extend(documents);
    }
    context.truncate(context.trim_end().len());
    context
}

/// Returns the section that says for which date the question is asked.
fn as_of_heading(date: &IsoDate) -> String {
    format!(
        "## As of {date}\n\nThe question is asked as of {date}: answer for that time. What follows leaves out what did \
         not hold then, as far as the documents say; […] stands for such sentences.\n\n"
    )
}

/// Returns the text of a chunk without the sentences that did not hold.
fn shown<'a>(chunk: &'a Chunk, as_of: Option<&AsOf>) -> Cow<'a, str> {
    match as_of {
        Some(as_of) if as_of.withheld.contains_key(&chunk.id) => Cow::Owned(as_of.shown(chunk)),
        Some(_) | None => Cow::Borrowed(&chunk.text),
    }
}

fn section(heading: &str, lines: &[String]) -> String {
    if lines.is_empty() { String::new() } else { format!("{heading}{}{SECTION_END}", lines.concat()) }
}

/// Returns the tokens of the fixed words around claims, and of the heading with the date.
pub(super) fn claims_frame_tokens(any: bool, as_of: Option<&IsoDate>, count: &LineCounter<'_>) -> u32 {
    let claims = if any { count.tokens(CLAIMS) + count.tokens(SECTION_END) } else { 0 };
    claims + as_of.map_or(0, |date| count.tokens(&as_of_heading(date)))
}

/// Returns the tokens of the fixed words around the lines of entities, relations, passages and documents.
pub(super) fn frame_tokens(count: &LineCounter<'_>) -> u32 {
    [ENTITIES, RELATIONS, PASSAGES]
        .iter()
        .map(|heading| count.tokens(heading) + count.tokens(SECTION_END))
        .sum::<u32>()
        + count.tokens(DOCUMENTS)
}

/// Returns the tokens of the fixed words around the lines of summaries.
pub(super) fn summary_frame_tokens(count: &LineCounter<'_>) -> u32 {
    count.tokens(SUMMARIES) + count.tokens(SECTION_END)
}

/// Counts tokens of lines, each distinct line once per process.
pub(super) struct LineCounter<'a> {
    /// The tokenizer that counts.
    pub(super) tokenizer: Tokenizer,
    /// The cache of the counts.
    pub(super) caches: &'a QueryCaches,
}

impl LineCounter<'_> {
    /// Returns the tokens of `line`.
    pub(super) fn tokens(&self, line: &str) -> u32 {
        self.caches.count(self.tokenizer, line)
    }
}
