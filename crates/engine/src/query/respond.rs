//! Makes the answer: by a model that streams, or by verbatim sentences.

use futures::StreamExt;
use graphloom_core::{
    Call, ChatEvent, ChatMessage, ChatRequest, ChatRole, Completion, LanguageModel, ModelError, Role,
};

use super::calls::Timer;
use super::cite::Pick;
use super::plan::Plan;
use super::think::ThinkFilter;
use super::{QueryError, Question, Retrieval, prompts};
use crate::{Engine, offline};

/// Sentences of an answer by rules, at most.
const MAX_SENTENCES: usize = 5;

/// The instructions of a plan with `context` at their end; empty where the model answers alone.
pub(super) fn instructions(question: &Question, plan: Plan, context: &str) -> String {
    if plan.searches_graph() {
        prompts::answer(&question.response_type, context)
    } else if plan.searches() {
        prompts::answer_naive(&question.response_type, context)
    } else {
        String::new()
    }
}

/// The messages that the answer model gets.
pub(super) fn messages(question: &Question, retrieval: &Retrieval) -> Vec<ChatMessage> {
    let instructions = instructions(question, Plan::of(retrieval.mode), &retrieval.context);
    let system = (!instructions.is_empty()).then(|| ChatMessage::new(ChatRole::System, instructions));
    system.into_iter().chain([ChatMessage::new(ChatRole::User, question.text.trim())]).collect()
}

/// Asks `model` and passes its words on as they come, without thoughts. Returns them joined, and the ledger row.
pub(super) async fn by_model(
    engine: &Engine,
    model: &dyn LanguageModel,
    messages: Vec<ChatMessage>,
    on_delta: &mut (dyn FnMut(&str) + Send),
) -> Result<(String, Call), QueryError> {
    let timer = Timer::start(engine, Role::Answer, model.name());
    let mut stream = model.chat(ChatRequest { messages, stream: true, ..ChatRequest::default() }).await?;
    let mut filter = ThinkFilter::default();
    let mut text = String::new();
    let mut show = |shown: String| {
        if !shown.is_empty() {
            on_delta(&shown);
            text.push_str(&shown);
        }
    };
    let mut end: Option<Completion> = None;
    while let Some(event) = stream.next().await {
        match event? {
            ChatEvent::Delta(delta) => show(filter.push(&delta)),
            ChatEvent::Done(completion) => {
                end = Some(completion);
                break;
            }
        }
    }
    show(filter.finish());
    let Some(completion) = end else {
        let what = "the answer has no end".to_owned();
        return Err(ModelError::Malformed { model: model.name().to_owned(), what }.into());
    };
    Ok((text, timer.completed(completion)))
}

/// The sentences of the passages that answer best, each with the number of its document, and where each one stands.
/// Empty where none answers.
pub(super) fn by_rules(question: &Question, retrieval: &Retrieval) -> (String, Vec<Pick>) {
    let passages: Vec<&str> = retrieval.chunks.iter().map(|found| found.chunk.text.as_str()).collect();
    let mut lines = Vec::new();
    let mut picks = Vec::new();
    for sentence in offline::pick_sentences(question.text.trim(), &passages, MAX_SENTENCES) {
        let Some(found) = retrieval.chunks.get(sentence.passage) else { continue };
        let Some(words) = found.chunk.text.get(sentence.range.clone()) else { continue };
        lines.push(format!(
            "{} [{}]",
            words.split_whitespace().collect::<Vec<_>>().join(" "),
            found.reference
        ));
        picks.push(Pick { chunk: sentence.passage, range: sentence.range });
    }
    (lines.join("\n"), picks)
}
