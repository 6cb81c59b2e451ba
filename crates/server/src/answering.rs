//! Answers, in whichever form they are wanted, with what they cost recorded.

use graphloom_core::Call;
use graphloom_engine::Engine;
use graphloom_engine::query::{self, Citation, Mode, QueryError, Question, Retrieval, Spent, Wanted};

use crate::problem::{Problem, chain};

/// A question that was answered.
pub(crate) struct Answered {
    /// The answer, the context or the prompt.
    pub(crate) text: String,
    /// Whether a model wrote it.
    pub(crate) by_model: bool,
    /// Whether it is made of sentences of the documents, for there is no model.
    pub(crate) verbatim: bool,
    /// The verified places behind the numbers in it.
    pub(crate) citations: Vec<Citation>,
    /// The calls that it took, those of the search first.
    pub(crate) calls: Vec<Call>,
}

/// Answers from what was found, or gives the context or the prompt where that is wanted. The text goes to `on_delta` as it is
/// made. What it cost is recorded.
pub(crate) async fn answer_from(
    engine: &Engine,
    question: &Question,
    retrieval: &Retrieval,
    on_delta: &mut (dyn FnMut(&str) + Send),
) -> Result<Answered, Problem> {
    let mut calls = retrieval.spent.calls.clone();
    let text = match question.wanted() {
        Wanted::Context => retrieval.context.clone(),
        Wanted::Prompt => {
            let messages = query::prompt_of(engine, question, retrieval);
            messages.iter().map(|message| message.content.as_str()).collect::<Vec<_>>().join("\n\n")
        }
        Wanted::Answer => {
            let answer = query::answer(engine, question, retrieval, on_delta).await?;
            record(engine, [&retrieval.spent, &answer.spent]).await;
            calls.extend(answer.spent.calls);
            let by_model = answer.model.is_some();
            let verbatim = answer.found && !by_model;
            return Ok(Answered {
                text: answer.text,
                by_model,
                verbatim,
                citations: answer.citations,
                calls,
            });
        }
    };
    on_delta(&text);
    record(engine, [&retrieval.spent]).await;
    Ok(Answered { text, by_model: false, verbatim: false, citations: Vec::new(), calls })
}

/// Whether the question can be answered here at all: what is known before must be said before a stream opens, while there is
/// still a status to say it.
pub(crate) fn check_answerable(engine: &Engine, question: &Question) -> Result<(), Problem> {
    let needs_model = question.mode == Mode::Bypass && question.wanted() == Wanted::Answer;
    match needs_model && engine.models.answer.is_none() {
        true => Err(QueryError::NoAnswerModel.into()),
        false => Ok(()),
    }
}

/// Stores what a question cost. The answer stands without it, so a failure is a line in the log.
pub(crate) async fn record<const N: usize>(engine: &Engine, spent: [&Spent; N]) {
    if let Err(error) = query::record(engine, spent).await {
        tracing::warn!(error = chain(&error), "what a question cost was not stored");
    }
}
