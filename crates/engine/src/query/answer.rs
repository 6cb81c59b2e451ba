//! Answers a question with the answer model or with verbatim sentences, and adds the citations.

use futures::future::BoxFuture;
use graphloom_core::{ChatMessage, DocumentId, Place, Span};
use serde::Serialize;

use super::error::QueryError;
use super::plan::Plan;
use super::question::Question;
use super::retrieval::Retrieval;
use super::stops::CutText;
use super::verbatim::AnswerKind;
use super::{QueryCost, cite, respond, verbatim};
use crate::Engine;

/// Answers a question from its retrieval: with the answer model, or with verbatim sentences if no answer model is configured.
/// The text goes to `on_delta`: piece by piece while the model writes if the question asks for streaming, otherwise as one
/// piece. [`Answer::kind`] says whether the sentences answer the question or are only close to it.
///
/// If the retrieval is empty, the answer is a plain "not found" without a model call, except in mode bypass. If a model got a
/// context and writes that it does not know, [`Answer::found`] is still true: its words are not judged. Numbers in the text
/// that point to nothing are counted and stay in the text, so that the text equals what was streamed.
///
/// If the answer to the same prompt is cached, it is returned again; its citations are verified again. The model call is
/// stored in the ledger even if it or a later step fails.
#[tracing::instrument(skip_all, fields(mode = ?retrieval.mode))]
pub fn answer<'a>(
    engine: &'a Engine,
    question: &'a Question,
    retrieval: &'a Retrieval,
    on_delta: &'a mut (dyn FnMut(&str) + Send),
) -> BoxFuture<'a, Result<Answer, QueryError>> {
    Box::pin(async move {
        let mut cost = QueryCost::default();
        let answered = make_answer(engine, question, retrieval, &mut cost, on_delta).await;
        cost.store(engine).await;
        let answer = answered.map_err(|error| error.logged(&cost))?;
        Ok(Answer { cost, ..answer })
    })
}

async fn make_answer(
    engine: &Engine,
    question: &Question,
    retrieval: &Retrieval,
    cost: &mut QueryCost,
    on_delta: &mut (dyn FnMut(&str) + Send),
) -> Result<Answer, QueryError> {
    let asks_documents = Plan::of(retrieval.mode).searches();
    let Some(model) = engine.models.answer.as_deref() else {
        if !asks_documents {
            return Err(QueryError::NoAnswerModel { mode: retrieval.mode });
        }
        return verbatim::answer(engine, question, retrieval, on_delta).await;
    };
    if asks_documents && retrieval.context.is_empty() {
        return verbatim::not_found(engine, question, retrieval, on_delta).await;
    }
    let messages = prompt_of(engine, question, retrieval);
    let CutText { text, cut } = respond::by_model(engine, model, question, messages, cost, on_delta).await?;
    let picks = if asks_documents { cite::resolve(&text, retrieval) } else { Vec::new() };
    let unresolved = picks.iter().filter(|pick| pick.is_none()).count();
    let picks: Vec<cite::Pick> = picks.into_iter().flatten().collect();
    let (citations, gone) = cite::verify(engine, &cite::cited(retrieval), &picks).await?;
    let dropped_citations = gone.saturating_add(u32::try_from(unresolved).unwrap_or(u32::MAX));
    if dropped_citations > 0 {
        tracing::warn!(dropped_citations, "the answer cites sources that do not exist");
    }
    let model = Some(model.name().to_owned());
    let kind = AnswerKind::Answer;
    let (found, matches, cost) = (true, Vec::new(), QueryCost::default());
    Ok(Answer { text, kind, cut, found, model, citations, dropped_citations, matches, cost })
}

/// Returns the messages that [`answer`] sends to the answer model.
pub fn prompt_of(engine: &Engine, question: &Question, retrieval: &Retrieval) -> Vec<ChatMessage> {
    respond::messages(&engine.prompts, question, retrieval)
}

/// The note on an answer that is [cut](Answer::cut).
pub const ANSWER_CUT: &str = "the answer was cut off by the output limit, so its end is missing";

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// The text of the answer: the streamed deltas joined.
    pub text: String,
    /// What kind of answer it is.
    pub kind: AnswerKind,
    /// True if an output limit cut the text: the limit of the question or that of the model.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// True if the documents contain something to answer from, even if it is only close to the question. Always true in mode
    /// bypass, which does not use the documents.
    pub found: bool,
    /// The model that wrote the answer; `None` for verbatim sentences chosen by rules.
    pub model: Option<String>,
    /// The passages that the numbers in the text point to, verified byte by byte.
    pub citations: Vec<Citation>,
    /// Number of references in the text that point to nothing: the document or sentence does not exist or was deleted
    /// meanwhile. They are not in `citations`.
    pub dropped_citations: u32,
    /// Byte ranges of `text` that contain words of the question, ascending and disjoint; empty if a model wrote the answer.
    pub matches: Vec<Span>,
    /// Model calls and cache hits of the answer.
    #[serde(flatten)]
    pub cost: QueryCost,
}

/// A place in a document that supports an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Citation {
    /// The number in the text.
    pub number: u32,
    /// The cited document.
    pub document: DocumentId,
    /// Source of the document.
    pub source: String,
    /// Byte range in the document's text.
    pub span: Span,
    /// First and last line of the span in the document's text, counted from 1.
    pub lines: (u32, u32),
    /// True if `lines` are also the lines of the source file.
    pub lines_match_source: bool,
    /// The pages, slides or sheets that contain the span, if the document has any.
    pub place: Option<Place>,
    /// The text of the span, verbatim.
    pub quote: String,
}
