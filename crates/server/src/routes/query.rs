//! Questions: a whole or a streamed answer.

use std::time::Instant;

use axum::response::Response;
use axum::routing::post;
use graphloom_engine::Engine;
use graphloom_engine::query::{self, ListedDocument, Mode, QueryNote, Question, QuestionOutput, Retrieval};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::query_data::RouteItem;
use crate::answering::{QuestionOutcome, answer_from, check_answerable};
use crate::apart::run_question;
use crate::guard::Admission;
use crate::input::{ExistingWorkspace, Json};
use crate::lines::{Framing, Lines};
use crate::place::CitationItem;
use crate::problem::Problem;
use crate::query_request::QueryRequest;
use crate::route::{Gives, Load, Route, Takes, schema};

pub(super) const ROUTES: &[Route] = &[
    Route::post("/query", "An answer with its documents and citations", || post(answer))
        .reads()
        .load(Load::Question)
        .takes(Takes::Json(schema::<QueryRequest>))
        .gives(Gives::Json(schema::<QueryResponse>)),
    Route::post("/query/stream", "A streamed answer: references first, then pieces of the answer", || {
        post(stream)
    })
    .reads()
    .load(Load::Question)
    .takes(Takes::Json(schema::<QueryRequest>))
    .gives(Gives::Lines(schema::<QueryLine>)),
];

/// An answer.
#[derive(Debug, Serialize, JsonSchema)]
struct QueryResponse {
    /// The answer with a list of the cited documents, unless `include_references` is false; or the context or
    /// prompt if requested.
    response: String,
    /// The documents of the context; `null` if not requested.
    references: Option<Vec<AnswerReference>>,
    /// Duration in seconds.
    response_time: Option<f64>,
    /// Whether an LLM wrote it.
    llm_generated: bool,
    /// `answer`, `closest` if no sentence answers and the closest passages are returned, `overview`, `not_found`,
    /// `empty` if there are no documents, or `greeting`; `null` for a context or prompt.
    answer_kind: Option<String>,
    /// Byte ranges `[start, end]` of the response with words of the question; absent if an LLM wrote it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    matches: Vec<(u64, u64)>,
    /// The places behind the citation numbers, each verified against the document's bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<CitationItem>>")]
    citations: Option<Vec<CitationItem>>,
    /// What could not be done as requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// How mode `auto` searched, and why. Graphloom only.
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<RouteItem>,
}

/// A document of the context of a whole answer, where LightRAG always includes `content`.
#[derive(Debug, Serialize, JsonSchema)]
struct AnswerReference {
    reference_id: String,
    file_path: String,
    /// Its passages; `null` if not requested.
    content: Option<Vec<String>>,
}

impl From<ListedDocument> for AnswerReference {
    fn from(document: ListedDocument) -> Self {
        let ListedDocument { reference_id, file_path, content, .. } = document;
        Self { reference_id, file_path, content }
    }
}

/// A document of the context, in a stream.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ReferenceItem {
    reference_id: String,
    file_path: String,
    /// Its passages, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Vec<String>>,
}

/// A line of a streamed answer; each line has one of these fields, and a whole answer in one line has several.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(dead_code, reason = "describes lines that are written as they arrive")]
struct QueryLine {
    /// The current step, by LightRAG's name.
    progress: Option<String>,
    /// The documents of the context.
    references: Option<Vec<ReferenceItem>>,
    /// A piece of the answer.
    response: Option<String>,
    /// Whether an LLM wrote it; with a whole answer.
    llm_generated: Option<bool>,
    /// The kind of answer, as in `/query`; with a whole answer, or after a streamed one.
    answer_kind: Option<String>,
    /// The verified citations.
    citations: Option<Vec<CitationItem>>,
    /// Duration in seconds.
    response_time: Option<f64>,
    /// The error that ended the stream.
    error: Option<String>,
}

impl From<ListedDocument> for ReferenceItem {
    fn from(document: ListedDocument) -> Self {
        let ListedDocument { reference_id, file_path, content, .. } = document;
        Self { reference_id, file_path, content }
    }
}

async fn answer(
    ExistingWorkspace(space): ExistingWorkspace,
    Json(request): Json<QueryRequest>,
) -> Result<axum::Json<QueryResponse>, Problem> {
    let started = Instant::now();
    request.check_not_kept()?;
    let wants_citations = request.include_citations.unwrap_or(true);
    let mut question = request.question(&space.user_prompt_prefix, false)?;
    question.stream = false;
    run_question(async move || {
        let engine = &space.asking;
        let retrieval = query::retrieve(engine, &question).await?;
        let answered = answer_from(engine, &question, &retrieval, &mut |_| {}).await?;
        Ok(axum::Json(QueryResponse {
            citations: wants_citations.then(|| citations(&answered)),
            response: format!("{}{}", answered.text, answered.reference_list(&question)),
            references: references(&question, &retrieval),
            response_time: Some(seconds(started)),
            llm_generated: answered.by_model,
            answer_kind: answered.kind_name(),
            matches: answered.matches.iter().map(|span| (span.start, span.end)).collect(),
            notes: [notes(&retrieval), answered.notes()].concat(),
            route: retrieval.route.as_ref().map(RouteItem::from),
        }))
    })
    .await
}

async fn stream(
    ExistingWorkspace(space): ExistingWorkspace,
    admitted: Admission,
    Json(request): Json<QueryRequest>,
) -> Result<Response, Problem> {
    let started = Instant::now();
    request.check_not_kept()?;
    let wants_progress = request.include_progress.unwrap_or(false);
    let wants_citations = request.include_citations.unwrap_or(false);
    let question = request.question(&space.user_prompt_prefix, true)?;
    check_answerable(&space.asking, &question)?;
    let (lines, response) = Lines::new(Framing::Lines, |text| json!({ "response": text }));
    // Continues if the client disconnects: the LLM call is paid for, and its answer is cached.
    tokio::spawn(run_question(async move || {
        let _turn = admitted.turn;
        let engine = &space.asking;
        let stream =
            LineStream { engine, question: &question, lines: &lines, wants_progress, wants_citations };
        if let Err(problem) = stream.write().await {
            lines.line(json!({ "error": problem.words() }));
        } else if wants_progress {
            lines.line(json!({ "response_time": seconds(started) }));
        }
        Ok(())
    }));
    Ok(response)
}

/// A question whose answer is streamed line by line.
struct LineStream<'a> {
    engine: &'a Engine,
    question: &'a Question,
    lines: &'a Lines,
    wants_progress: bool,
    wants_citations: bool,
}

impl LineStream<'_> {
    async fn write(&self) -> Result<(), Problem> {
        let Self { engine, question, lines, .. } = self;
        if let Some(step) = first_step(question.mode) {
            self.progress(step);
        }
        let retrieval = query::retrieve(engine, question).await?;
        let references = references::<ReferenceItem>(question, &retrieval);
        let is_whole = !question.stream || question.wanted() != QuestionOutput::Answer;
        if is_whole {
            let answered = answer_from(engine, question, &retrieval, &mut |_| {}).await?;
            let response = format!("{}{}", answered.text, answered.reference_list(question));
            let mut line = json!({
                "response": response,
                "llm_generated": answered.by_model,
                "answer_kind": answered.kind_name(),
            });
            if let Some(references) = references {
                line["references"] = json!(references);
            }
            if self.wants_citations {
                line["citations"] = json!(citations(&answered));
            }
            lines.line(line);
            return Ok(());
        }
        if let Some(references) = references {
            lines.line(json!({ "references": references }));
        }
        self.progress("generating_response");
        let answered = answer_from(engine, question, &retrieval, &mut |piece| lines.text(piece)).await?;
        lines.text(&answered.reference_list(question));
        let mut last = json!({ "answer_kind": answered.kind_name() });
        if self.wants_citations {
            last["citations"] = json!(citations(&answered));
        }
        lines.line(last);
        Ok(())
    }

    fn progress(&self, what: &str) {
        if self.wants_progress {
            self.lines.line(json!({ "progress": what }));
        }
    }
}

/// The first step of a search, by the name LightRAG's pages know.
fn first_step(mode: Mode) -> Option<&'static str> {
    match (mode.needs_keywords(), mode.searches()) {
        (true, _) => Some("extracting_keywords"),
        (false, true) => Some("retrieving_chunks"),
        (false, false) => None,
    }
}

/// The documents of the context in the format of the response; `None` if not requested.
pub(super) fn references<T: From<ListedDocument>>(
    question: &Question,
    retrieval: &Retrieval,
) -> Option<Vec<T>> {
    Some(query::references(question, retrieval)?.into_iter().map(T::from).collect())
}

pub(crate) fn citations(answered: &QuestionOutcome) -> Vec<CitationItem> {
    answered.citations.iter().map(CitationItem::from).collect()
}

pub(super) fn notes(retrieval: &Retrieval) -> Vec<String> {
    let note = |note: &QueryNote| match note {
        // The provider's message is only logged.
        QueryNote::NotReranked { reranker, .. } => {
            format!("passages are not reranked: {reranker} failed")
        }
        QueryNote::MapCallsFailed { failed, calls, .. } => {
            format!("{failed} of {calls} map calls failed; the answer is made without them")
        }
        QueryNote::RatingCallsFailed { failed, calls, .. } => {
            format!("{failed} of {calls} calls that rate reports failed; these reports are read")
        }
        QueryNote::FactsNotFiltered { .. }
        | QueryNote::ReportOptionsUnused { .. }
        | QueryNote::NoLayer { .. }
        | QueryNote::ReportsLeftOut { .. }
        | QueryNote::FollowUpsLeftOut { .. }
        | QueryNote::PageRankOptionsUnused { .. }
        | QueryNote::LayerMissing { .. }
        | QueryNote::LayerOutdated { .. }
        | QueryNote::LayerUnfiltered { .. }
        | QueryNote::AsOfUnused
        | QueryNote::NoneFits { .. }
        | QueryNote::HistoryCut { .. } => note.to_string(),
    };
    retrieval.notes.iter().map(note).collect()
}

pub(super) fn seconds(since: Instant) -> f64 {
    (since.elapsed().as_secs_f64() * 1000.0).round() / 1000.0
}
