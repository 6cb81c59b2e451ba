//! Answers, in whichever form they are wanted, with what they cost recorded.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use graphloom_core::{CacheKind, Call, Span};
use graphloom_engine::Engine;
use graphloom_engine::query::{
    self, AnswerKind, Citation, Mode, QueryError, Question, Retrieval, Spent, Wanted,
};

use crate::apart::asked_apart;
use crate::guard::Admitted;
use crate::lines::Lines;
use crate::metrics::answer_looked_up;
use crate::problem::{Problem, chain};
use crate::space::Space;

/// A question that was answered.
pub(crate) struct Answered {
    /// The answer, the context or the prompt.
    pub(crate) text: String,
    /// What kind of answer it is; `None` for a context or a prompt.
    pub(crate) kind: Option<AnswerKind>,
    /// Whether a model wrote it.
    pub(crate) by_model: bool,
    /// Whether it is made of sentences of the documents, for there is no model.
    pub(crate) verbatim: bool,
    /// Where words of the question stand in the text.
    pub(crate) matches: Vec<Span>,
    /// The verified places behind the numbers in it.
    pub(crate) citations: Vec<Citation>,
    /// Whether an output limit cut it.
    pub(crate) cut: bool,
    /// The calls that it took, those of the search first.
    pub(crate) calls: Vec<Call>,
}

impl Answered {
    /// The name of the kind of answer.
    pub(crate) fn kind_name(&self) -> Option<String> {
        self.kind.map(|kind| kind.to_string())
    }

    /// The list of sources that LightRAG's answers end with; empty where the answer cites nothing, was cut, or has one.
    pub(crate) fn reference_list(&self, question: &Question) -> String {
        let is_heading = |line: &str| line.trim_start_matches('#').trim().eq_ignore_ascii_case(REFERENCES);
        if !question.include_references || self.cut || self.text.lines().any(is_heading) {
            return String::new();
        }
        let sources: BTreeMap<u32, &str> =
            self.citations.iter().map(|citation| (citation.number, citation.source.as_str())).collect();
        if sources.is_empty() {
            return String::new();
        }
        let lines: Vec<String> =
            sources.into_iter().map(|(number, source)| format!("* [{number}] {}", plain(source))).collect();
        format!("\n\n### {REFERENCES}\n\n{}", lines.join("\n"))
    }
}

/// The heading of the list of sources [LightRAG].
const REFERENCES: &str = "References";

/// A name for Markdown, in which it is nothing but text: names are given by whoever adds a document.
pub(crate) fn plain(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    for character in name.chars() {
        if matches!(character, '\\' | '[' | ']' | '<' | '>' | '`' | '*') {
            plain.push('\\');
        }
        plain.push(character);
    }
    plain
}

/// The sentences of documents, in which no Markdown loads an image: whoever wrote a document would learn who reads it. What was
/// an image is text.
fn without_images(text: &str) -> Cow<'_, str> {
    match text.contains("![") {
        true => text.replace("![", "!\\[").into(),
        false => text.into(),
    }
}

/// Searches and answers. The text goes to `on_delta` as it is made.
pub(crate) async fn ask(
    engine: &Engine,
    question: &Question,
    on_delta: &mut (dyn FnMut(&str) + Send),
) -> Result<Answered, Problem> {
    let retrieval = query::retrieve(engine, question).await?;
    answer_from(engine, question, &retrieval, on_delta).await
}

/// Answers in the background and writes the answer as it is made; `end` writes what follows.
///
/// It goes on where the reader leaves: what is asked of a model is paid for, and is remembered for the next time.
pub(crate) fn write_answer(
    admitted: Admitted,
    space: Arc<Space>,
    question: Question,
    lines: Lines,
    end: impl FnOnce(&Lines, &Question, Result<Answered, Problem>) + Send + 'static,
) {
    tokio::spawn(asked_apart(async move || {
        let _turn = admitted.turn;
        let answered = ask(&space.asking, &question, &mut |text| lines.text(text)).await;
        end(&lines, &question, answered);
        Ok(())
    }));
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
            let are_quoted = engine.models.answer.is_none();
            let mut shown = |text: &str| match are_quoted {
                true => on_delta(&without_images(text)),
                false => on_delta(text),
            };
            let mut answer = query::answer(engine, question, retrieval, &mut shown).await?;
            if are_quoted {
                answer.text = without_images(&answer.text).into_owned();
            }
            record(engine, [&retrieval.spent, &answer.spent]).await;
            let by_model = answer.model.is_some();
            let is_remembered = answer.spent.cached.contains(&CacheKind::Answer);
            if engine.caches.is_on() && (is_remembered || !answer.spent.calls.is_empty()) {
                answer_looked_up(is_remembered);
            }
            calls.extend(answer.spent.calls);
            // Words around the closest passages say by themselves what those are.
            let verbatim = answer.kind == AnswerKind::Answer && !by_model;
            return Ok(Answered {
                text: answer.text,
                kind: Some(answer.kind),
                matches: answer.matches,
                by_model,
                verbatim,
                citations: answer.citations,
                cut: answer.cut,
                calls,
            });
        }
    };
    on_delta(&text);
    record(engine, [&retrieval.spent]).await;
    Ok(Answered {
        text,
        kind: None,
        by_model: false,
        verbatim: false,
        matches: Vec::new(),
        citations: Vec::new(),
        cut: false,
        calls,
    })
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
