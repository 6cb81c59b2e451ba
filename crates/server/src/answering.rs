//! Produces answers in the requested form.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use graphloom_core::{CacheKind, Call, Span};
use graphloom_engine::Engine;
use graphloom_engine::query::{
    self, ANSWER_CUT, AnswerKind, Citation, QueryError, Question, QuestionOutput, Retrieval,
};

use crate::apart::run_question;
use crate::guard::Admission;
use crate::lines::Lines;
use crate::metrics::count_cache_lookup;
use crate::problem::Problem;
use crate::space::Space;

/// An answered question.
pub(crate) struct QuestionOutcome {
    /// The answer, context or prompt.
    pub(crate) text: String,
    /// The kind of answer; `None` for a context or prompt.
    pub(crate) kind: Option<AnswerKind>,
    /// Whether an LLM wrote it.
    pub(crate) by_model: bool,
    /// Whether it consists of verbatim sentences because there is no LLM.
    pub(crate) verbatim: bool,
    /// Places in the text where words of the question occur.
    pub(crate) matches: Vec<Span>,
    /// The verified places behind the citation numbers.
    pub(crate) citations: Vec<Citation>,
    /// Whether an output limit cut it off.
    pub(crate) cut: bool,
    /// The model calls, those of the retrieval first.
    pub(crate) calls: Vec<Call>,
}

impl QuestionOutcome {
    /// The name of the kind of answer.
    pub(crate) fn kind_name(&self) -> Option<String> {
        self.kind.map(|kind| kind.to_string())
    }

    /// What is to be said about the answer.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.cut.then(|| ANSWER_CUT.to_owned()).into_iter().collect()
    }

    /// LightRAG's list of references at the end of an answer. Empty if the answer has no citations, was cut off,
    /// or has one.
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

/// Heading of the list of references [LightRAG].
const REFERENCES: &str = "References";

/// Escapes a name for Markdown, because anyone who adds a document chooses its name.
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

/// Turns Markdown images in document sentences into text. An image would tell the author of a document who reads
/// it.
fn without_images(text: &str) -> Cow<'_, str> {
    match text.contains("![") {
        true => text.replace("![", "!\\[").into(),
        false => text.into(),
    }
}

/// Retrieves and answers. The text is passed to `on_delta` as it is generated.
pub(crate) async fn ask(
    engine: &Engine,
    question: &Question,
    on_delta: &mut (dyn FnMut(&str) + Send),
) -> Result<QuestionOutcome, Problem> {
    let retrieval = query::retrieve(engine, question).await?;
    answer_from(engine, question, &retrieval, on_delta).await
}

/// Answers in the background and streams the answer; `end` writes what follows.
///
/// Continues if the client disconnects: the LLM call is paid for, and its answer is cached.
pub(crate) fn write_answer(
    admitted: Admission,
    space: Arc<Space>,
    question: Question,
    lines: Lines,
    end: impl FnOnce(&Lines, &Question, Result<QuestionOutcome, Problem>) + Send + 'static,
) {
    tokio::spawn(run_question(async move || {
        let _turn = admitted.turn;
        let answered = ask(&space.asking, &question, &mut |text| lines.text(text)).await;
        end(&lines, &question, answered);
        Ok(())
    }));
}

/// Answers from a retrieval, or returns the context or prompt if requested. The text is passed to `on_delta` as it
/// is generated.
pub(crate) async fn answer_from(
    engine: &Engine,
    question: &Question,
    retrieval: &Retrieval,
    on_delta: &mut (dyn FnMut(&str) + Send),
) -> Result<QuestionOutcome, Problem> {
    let mut calls = retrieval.cost.calls.clone();
    let text = match question.wanted() {
        QuestionOutput::Context => retrieval.context.clone(),
        QuestionOutput::Prompt => {
            let messages = query::prompt_of(engine, question, retrieval);
            messages.iter().map(|message| message.content.as_str()).collect::<Vec<_>>().join("\n\n")
        }
        QuestionOutput::Answer => {
            let are_quoted = engine.models.answer.is_none();
            let mut shown = |text: &str| match are_quoted {
                true => on_delta(&without_images(text)),
                false => on_delta(text),
            };
            let mut answer = query::answer(engine, question, retrieval, &mut shown).await?;
            if are_quoted {
                answer.text = without_images(&answer.text).into_owned();
            }
            let by_model = answer.model.is_some();
            let is_remembered = answer.cost.cached.contains(&CacheKind::Answer);
            if engine.caches.is_on() && (is_remembered || !answer.cost.calls.is_empty()) {
                count_cache_lookup(is_remembered);
            }
            calls.extend(answer.cost.calls);
            // Answers of other kinds say themselves that they are passages.
            let verbatim = answer.kind == AnswerKind::Answer && !by_model;
            return Ok(QuestionOutcome {
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
    Ok(QuestionOutcome {
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

/// Checks whether the question can be answered at all, before a stream starts and the status can no longer be set.
pub(crate) fn check_answerable(engine: &Engine, question: &Question) -> Result<(), Problem> {
    let needs_model = question.mode.needs_answer_model() && question.wanted() == QuestionOutput::Answer;
    match needs_model && engine.models.answer.is_none() {
        true => Err(QueryError::NoAnswerModel { mode: question.mode }.into()),
        false => Ok(()),
    }
}
