//! The answer to a question, by the answer model or verbatim, with its citations.

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

/// Answers from what was retrieved: by the answer model, or with verbatim sentences where there is none. The text
/// goes to `on_delta`, as it is made where the question wants that, else in one piece. [`Answer::kind`] says whether the
/// sentences answer the question or are only near to it.
///
/// An empty retrieval is answered with a plain "not found" and no model is asked, except in mode bypass. A model that
/// got a context and says that it does not know still counts as having found something: its words are not judged.
/// Numbers in the text that point to nothing stay in the text, so that it equals what was streamed, and are counted.
///
/// What the model said to the same prompt before is the answer again; its citations are verified again. The model call
/// is stored in the ledger, also if it or a later step fails.
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
        tracing::warn!(dropped_citations, "the answer cites what is not there");
    }
    let model = Some(model.name().to_owned());
    let kind = AnswerKind::Answer;
    let (found, matches, cost) = (true, Vec::new(), QueryCost::default());
    Ok(Answer { text, kind, cut, found, model, citations, dropped_citations, matches, cost })
}

/// The messages that [`answer`] sends to the answer model.
pub fn prompt_of(engine: &Engine, question: &Question, retrieval: &Retrieval) -> Vec<ChatMessage> {
    respond::messages(&engine.prompts, question, retrieval)
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// The words; equal to the streamed deltas joined.
    pub text: String,
    /// What kind of answer it is.
    pub kind: AnswerKind,
    /// Whether an output limit cut it: the question's, or the model's own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Whether the documents held anything to answer from, be it only what is near to the question; true in mode bypass, which
    /// does not ask them.
    pub found: bool,
    /// The model that wrote it; `None` for verbatim sentences chosen by rules.
    pub model: Option<String>,
    /// What the numbers in the text point to, verified against the bytes.
    pub citations: Vec<Citation>,
    /// Numbers in the text that point to nothing: no such document, no such sentence, or gone meanwhile. They have no
    /// place in `citations`.
    pub dropped_citations: u32,
    /// Bytes of `text` where words of the question stand, ascending and disjoint; empty where a model answered.
    pub matches: Vec<Span>,
    /// What it cost.
    #[serde(flatten)]
    pub cost: QueryCost,
}

/// A place in a document that supports an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Citation {
    /// The number in the text.
    pub number: u32,
    /// The document.
    pub document: DocumentId,
    /// Its source.
    pub source: String,
    /// Where in its text.
    pub span: Span,
    /// First and last line, from 1, of the document's text.
    pub lines: (u32, u32),
    /// Whether those are lines of the source file too.
    pub lines_match_source: bool,
    /// The pages, slides or sheets it stands on, where the document has any.
    pub place: Option<Place>,
    /// The text of the span, verbatim.
    pub quote: String,
}
