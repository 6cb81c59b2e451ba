//! Draws points from batches of reports, one LLM call per batch.

use std::collections::BTreeMap;

use futures::{StreamExt, stream};
use graphloom_core::{
    CacheKind, ChatMessage, ChatRequest, Chunk, FinishReason, LanguageModel, ModelError, NodeKey, Role, Span,
};
use serde_json::Value;

use super::select::Candidate;
use crate::derive::Reference;
use crate::prompt::Prompts;
use crate::query::cache::{self, NewEntry};
use crate::query::calls::{QueryCost, Timer};
use crate::query::cite::{ContentWords, likeness};
use crate::query::keywords::object_in;
use crate::query::think::without_thinking;
use crate::query::{QueryError, QueryNote, Question, prompts};
use crate::{Engine, chain};
use graphloom_text::{Tokenizer, one_line, sentences};

/// Output limit of a call that draws points.
const OUTPUT_TOKENS: u32 = 4_096;
/// Maximum number of points of one call; the rest are dropped.
const MAX_POINTS: usize = 40;
/// Maximum number of references that a point takes from a finding.
pub(super) const MAX_REFERENCES_OF_FINDING: usize = 4;
/// Maximum number of follow-up questions that one call may propose.
const MAX_PROPOSED: usize = 5;

/// Data that one call reads, with the sources of its ids.
#[derive(Debug, Clone, Default)]
pub(super) struct Batch {
    pub(super) text: String,
    pub(super) sources: BTreeMap<String, Source>,
    tokens: u32,
}

/// The source of an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// A finding: its text and the sentences of documents behind it.
    Finding { report: NodeKey, statement: String, references: Vec<Reference> },
    /// A passage.
    Passage(Box<Chunk>),
}

/// Reports in batches.
pub(super) struct Batches {
    pub(super) batches: Vec<Batch>,
    /// Number of reports in the batches. The others exceed the budget.
    pub(super) reports: usize,
}

/// Packs reports in their order into at most `most` batches of `call_tokens` tokens.
pub(super) fn batches(tokenizer: Tokenizer, chosen: &[Candidate], call_tokens: u32, most: usize) -> Batches {
    let mut batches: Vec<Batch> = Vec::new();
    let (mut findings, mut reports) = (0, 0);
    for candidate in chosen {
        let (text, sources) = block(candidate, &mut findings);
        let text = tokenizer.truncate(&text, call_tokens).to_owned();
        let tokens = tokenizer.count(&text);
        let fits = batches.last().is_some_and(|batch| batch.tokens + tokens <= call_tokens);
        if !fits {
            if batches.len() == most {
                break;
            }
            batches.push(Batch::default());
        }
        let Some(batch) = batches.last_mut() else { break };
        batch.text.push_str(&text);
        batch.tokens += tokens;
        batch.sources.extend(sources);
        reports += 1;
    }
    Batches { batches, reports }
}

/// Formats a report for the model. The numbers of its findings continue from `findings`.
pub(super) fn block(candidate: &Candidate, findings: &mut usize) -> (String, Vec<(String, Source)>) {
    let report = &candidate.report;
    let title = one_line(&candidate.node.title);
    let mut text = format!("# {title} (rating {})\n{}\n", report.rating, one_line(&report.summary));
    let mut sources = Vec::new();
    for finding in &report.findings {
        *findings += 1;
        let id = format!("F{findings}");
        let statement = one_line(format!("{} {}", finding.summary, finding.explanation).trim());
        text.push_str(&format!("[{id}] {statement}\n"));
        let (report, references) = (candidate.node.key.clone(), finding.references.clone());
        sources.push((id, Source::Finding { report, statement, references }));
    }
    text.push('\n');
    (text, sources)
}

/// Returns the prompt for the points of a batch of reports.
pub(in crate::query) fn map_messages(
    prompts: &Prompts,
    question: &Question,
    reports: &str,
) -> Vec<ChatMessage> {
    prompts::map_points(prompts, question.text.trim(), reports)
}

/// The response for a batch, or why the call failed.
pub(super) type Step = (Result<MapOutput, ModelError>, Batch);

/// The parsed response of one call.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct MapOutput {
    pub(super) points: Vec<MapPoint>,
    /// Questions to search for next.
    pub(super) follow_ups: Vec<String>,
}

/// A point with the ids it rests on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MapPoint {
    pub(super) point: String,
    pub(super) score: f64,
    pub(super) sources: Vec<String>,
}

/// A point with the sentences it rests on.
#[derive(Debug, Clone)]
pub(super) struct SupportedPoint {
    pub(super) point: String,
    pub(super) score: f64,
    /// The sentences behind the point.
    pub(super) support: Vec<Support>,
}

/// A sentence of a document, and the statement that rests on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Support {
    pub(super) reference: Reference,
    /// Text of the finding or point.
    pub(super) statement: String,
    /// The report of the finding; `None` for a point from a passage.
    pub(super) report: Option<NodeKey>,
}

/// Sends all requests to `model`, a limited number at a time. Returns the results in the order of the requests.
pub(super) async fn ask_all(
    engine: &Engine,
    model: &dyn LanguageModel,
    question: &Question,
    requests: Vec<(Vec<ChatMessage>, &Batch)>,
    cost: &mut QueryCost,
) -> Vec<Step> {
    let mut answers = stream::iter(requests)
        .map(|(messages, batch)| async move {
            let mut cost = QueryCost::default();
            let drawn = ask(engine, model, question, messages, &mut cost).await;
            (drawn, batch.clone(), cost)
        })
        .buffered(engine.index.max_concurrent_calls.max(1))
        // Boxed because the compiler cannot prove that the bare stream is `Send`.
        .boxed();
    let mut steps = Vec::new();
    while let Some((drawn, batch, spent)) = answers.next().await {
        cost.absorb(spent);
        steps.push((drawn, batch));
    }
    steps
}

async fn ask(
    engine: &Engine,
    model: &dyn LanguageModel,
    question: &Question,
    messages: Vec<ChatMessage>,
    cost: &mut QueryCost,
) -> Result<MapOutput, ModelError> {
    let request = ChatRequest {
        messages,
        json_object: true,
        max_output_tokens: Some(OUTPUT_TOKENS),
        ..ChatRequest::default()
    };
    let kind = CacheKind::Answer;
    let key = cache::request_key(kind, model.name(), &request);
    let known = cache::find(engine, kind, std::slice::from_ref(&key), question.cache, cost).await;
    let known = known.ok().and_then(|mut values| values.pop().flatten());
    if let Some(drawn) = known.and_then(|value| read(&String::from_utf8_lossy(&value))) {
        return Ok(drawn);
    }
    let timer = Timer::start(engine, Role::Answer, model.name());
    let (response, completion) = match graphloom_core::complete(model, request).await {
        Ok(answered) => answered,
        Err(error) => {
            cost.calls.push(timer.failed(error.to_string()));
            return Err(error);
        }
    };
    cost.calls.push(timer.completed(completion));
    let Some(drawn) = read(&response) else {
        let what = "the answer is not a list of points".to_owned();
        return Err(ModelError::Malformed { model: model.name().to_owned(), what });
    };
    if completion.finish == FinishReason::Stop {
        let value = without_thinking(&response).into_bytes();
        cache::remember(engine, NewEntry { kind, key, value, paid: true }, question.cache, cost);
    }
    Ok(drawn)
}

/// Reads points and follow-up questions from a model's response; `None` if it has no list of points.
fn read(response: &str) -> Option<MapOutput> {
    let value = object_in(response)?;
    let points = value["points"].as_array()?.iter().filter_map(|point| {
        let text = one_line(point["point"].as_str()?.trim());
        let score = &point["score"];
        let score = score.as_f64().or_else(|| score.as_str()?.trim().parse().ok()).unwrap_or(0.0);
        let score = if score.is_finite() { score.clamp(0.0, 100.0) } else { 0.0 };
        let ids = point["sources"].as_array().map_or(&[][..], Vec::as_slice).iter();
        let ids = ids.filter_map(Value::as_str).map(|id| id.trim().trim_matches(['[', ']']).to_owned());
        Some(MapPoint { point: text, score, sources: ids.collect() })
    });
    // A point without a score does not help [GraphRAG].
    let points = points.filter(|point| !point.point.is_empty() && point.score > 0.0).take(MAX_POINTS);
    let follow_ups = value["follow_ups"].as_array().map_or(&[][..], Vec::as_slice).iter();
    let follow_ups = follow_ups.filter_map(Value::as_str).map(|question| one_line(question.trim()));
    let fits = |question: &String| {
        !question.is_empty() && question.chars().count() <= crate::query::MAX_QUESTION_CHARS
    };
    Some(MapOutput {
        points: points.collect(),
        follow_ups: follow_ups.filter(fits).take(MAX_PROPOSED).collect(),
    })
}

/// Returns the points of all calls, the most important first, ties in the order of the calls. Adds a note if calls failed.
///
/// Returns an error if every call failed, because a lack of points then says nothing about the documents.
pub(super) fn drawn(steps: Vec<Step>, notes: &mut Vec<QueryNote>) -> Result<Vec<SupportedPoint>, QueryError> {
    let calls = steps.len();
    let words = ContentWords::new();
    let (mut points, mut failed, mut last) = (Vec::new(), 0, None);
    for (drawn, batch) in steps {
        match drawn {
            Ok(drawn) => {
                points.extend(drawn.points.into_iter().map(|point| supported(point, &batch, &words)))
            }
            Err(error) => {
                failed += 1;
                last = Some(error);
            }
        }
    }
    if let Some(error) = last {
        if failed == calls {
            return Err(QueryError::Model { role: Some(Role::Answer), source: error });
        }
        tracing::warn!(failed, calls, "calls that draw points failed");
        notes.push(QueryNote::MapCallsFailed { failed, calls, reason: chain(&error) });
    }
    points.sort_by(|one: &SupportedPoint, other| other.score.total_cmp(&one.score));
    Ok(points)
}

/// Finds the sentences behind a point: those of its findings, and the most similar sentence of each of its passages.
fn supported(point: MapPoint, batch: &Batch, words: &ContentWords) -> SupportedPoint {
    let mut support = Vec::new();
    for source in point.sources.iter().filter_map(|id| batch.sources.get(id)) {
        match source {
            Source::Finding { report, statement, references } => {
                let of_finding = references.iter().take(MAX_REFERENCES_OF_FINDING);
                support.extend(of_finding.map(|reference| Support {
                    reference: reference.clone(),
                    statement: statement.clone(),
                    report: Some(report.clone()),
                }));
            }
            Source::Passage(chunk) => support.extend(most_like(&point.point, chunk, words)),
        }
    }
    SupportedPoint { point: point.point, score: point.score, support }
}

/// Returns the sentence of a chunk that shares most words with a point; `None` if none shares any.
fn most_like(point: &str, chunk: &Chunk, words: &ContentWords) -> Option<Support> {
    let claimed = words.of(point);
    let scored = sentences(&chunk.text).into_iter().map(|range| {
        let score = likeness(&claimed, &words.of(&chunk.text[range.clone()]));
        (score, range)
    });
    let (score, range) =
        scored.max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.start.cmp(&one.1.start)))?;
    let span = chunk.span.within(Span::new(range.start, range.end));
    let reference = Reference { document: chunk.document.clone(), chunk: chunk.id.clone(), span };
    (score > 0.0).then(|| Support { reference, statement: point.to_owned(), report: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_read_from_any_text_around_them() {
        let answer = r#"<think>hm</think>Here: ```json
{"points": [{"point": " Ada  wrote. ", "score": "85", "sources": ["F1", "[P2]", 3]}, {"point": "", "score": 9},
 {"point": "Nothing.", "score": 0}, {"score": 5}, {"point": "High.", "score": 900}],
 "follow_ups": ["Who?", 1, " "]}```"#;
        let drawn = read(answer).expect("points");
        let points: Vec<(&str, f64)> =
            drawn.points.iter().map(|point| (point.point.as_str(), point.score)).collect();
        assert_eq!(points, [("Ada wrote.", 85.0), ("High.", 100.0)]);
        assert_eq!(drawn.points[0].sources, ["F1", "P2"]);
        assert_eq!(drawn.follow_ups, ["Who?"]);
        assert_eq!(read(r#"{"points": []}"#), Some(MapOutput::default()));
        for nonsense in ["", "no", "{}", r#"{"points": "none"}"#] {
            assert_eq!(read(nonsense), None, "{nonsense}");
        }
    }
}
