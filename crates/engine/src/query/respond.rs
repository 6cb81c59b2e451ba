//! Writes the answer with a model, streamed or in one piece.

use futures::StreamExt;
use graphloom_core::{
    CacheKind, ChatEvent, ChatMessage, ChatRequest, ChatRole, Completion, FinishReason, LanguageModel,
    ModelError, Role,
};

use super::cache::{self, NewEntry};
use super::calls::{QueryCost, Timer};
use super::plan::{AnswerStrategy, Plan};
use super::stops::{CutText, StopFilter};
use super::think::{ThinkFilter, without_thinking};
use super::{QueryError, Question, QuestionOutput, Retrieval, history, prompts, reports};
use crate::Engine;
use crate::prompt::Prompts;

/// Returns the instructions of a plan, ending with `context`; only those of the user if the model answers on its own.
pub(super) fn instructions(prompts: &Prompts, question: &Question, plan: Plan, context: &str) -> String {
    let user_prompt = question.user_prompt.as_deref().unwrap_or_default().trim();
    if plan.answer == AnswerStrategy::MapReduce {
        prompts::answer_points(prompts, &question.response_type, user_prompt, context)
    } else if plan.searches_graph() {
        prompts::answer(prompts, &question.response_type, user_prompt, context)
    } else if plan.searches() {
        prompts::answer_naive(prompts, &question.response_type, user_prompt, context)
    } else {
        user_prompt.to_owned()
    }
}

/// Returns the messages for the answer model: instructions with the context, the conversation so far, the question.
pub(super) fn messages(prompts: &Prompts, question: &Question, retrieval: &Retrieval) -> Vec<ChatMessage> {
    let plan = Plan::of(retrieval.mode);
    // Without an answer no points are drawn, so the prompt is that of the calls that would draw them.
    if plan.answer == AnswerStrategy::MapReduce && question.wanted() != QuestionOutput::Answer {
        return reports::map_messages(prompts, question, &retrieval.context);
    }
    let instructions = instructions(prompts, question, plan, &retrieval.context);
    let system = (!instructions.is_empty()).then(|| ChatMessage::new(ChatRole::System, instructions));
    let history = history::latest(question, retrieval.history_messages).iter().cloned();
    let user_message = ChatMessage::new(ChatRole::User, question.text.trim());
    system.into_iter().chain(history).chain([user_message]).collect()
}

/// Returns the response of `model` or the cached one, without thoughts. Passes the text on as it arrives.
///
/// An incomplete answer is not cached.
pub(super) async fn by_model(
    engine: &Engine,
    model: &dyn LanguageModel,
    question: &Question,
    messages: Vec<ChatMessage>,
    cost: &mut QueryCost,
    on_delta: &mut (dyn FnMut(&str) + Send),
) -> Result<CutText, QueryError> {
    let request = ChatRequest {
        messages,
        stream: question.stream,
        max_output_tokens: question.max_output_tokens,
        stop: question.stop.iter().filter(|stop| !stop.is_empty()).cloned().collect(),
        ..ChatRequest::default()
    };
    let kind = CacheKind::Answer;
    let key = cache::request_key(kind, model.name(), &request);
    let known = cache::find(engine, kind, std::slice::from_ref(&key), question.cache, cost).await?;
    if let Some(value) = known.into_iter().next().flatten() {
        let text = String::from_utf8_lossy(&value).into_owned();
        on_delta(&text);
        return Ok(CutText { text, cut: false });
    }
    let timer = Timer::start(engine, Role::Answer, model.name());
    let stops = StopFilter::new(&question.stop);
    let answered = match question.stream {
        true => streamed(model, request, stops, on_delta).await,
        false => whole(model, request, stops, on_delta).await,
    };
    let (text, completion) = match answered {
        Ok(answered) => answered,
        Err(error) => {
            cost.calls.push(timer.failed(error.to_string()));
            return Err(error.into());
        }
    };
    cost.calls.push(timer.completed(completion));
    let cut = completion.finish == FinishReason::Length;
    let may_be_empty = !question.stop.is_empty() || (cut && question.max_output_tokens.is_some());
    if text.trim().is_empty() && !may_be_empty {
        let what = "the answer is empty, or contains only thoughts".to_owned();
        return Err(ModelError::Malformed { model: model.name().to_owned(), what }.into());
    }
    if completion.finish == FinishReason::Stop {
        let value = text.clone().into_bytes();
        cache::remember(engine, NewEntry { kind, key, value, paid: true }, question.cache, cost);
    }
    Ok(CutText { text, cut })
}

/// Passes the answer on as it arrives, and returns it.
async fn streamed(
    model: &dyn LanguageModel,
    request: ChatRequest,
    mut stops: StopFilter<'_>,
    on_delta: &mut (dyn FnMut(&str) + Send),
) -> Result<(String, Completion), ModelError> {
    let mut stream = model.chat(request).await?;
    let mut filter = ThinkFilter::default();
    let mut text = String::new();
    let mut show = |shown: String| {
        let shown = stops.push(&shown);
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
    let rest = stops.finish();
    if !rest.is_empty() {
        on_delta(&rest);
        text.push_str(&rest);
    }
    match end {
        Some(completion) => Ok((text, completion)),
        None => {
            let what = "the answer has no end".to_owned();
            Err(ModelError::Malformed { model: model.name().to_owned(), what })
        }
    }
}

/// Passes the answer on in one piece, and returns it.
async fn whole(
    model: &dyn LanguageModel,
    request: ChatRequest,
    stops: StopFilter<'_>,
    on_delta: &mut (dyn FnMut(&str) + Send),
) -> Result<(String, Completion), ModelError> {
    let (answer, completion) = graphloom_core::complete(model, request).await?;
    let text = stops.cut(&without_thinking(&answer)).to_owned();
    if !text.is_empty() {
        on_delta(&text);
    }
    Ok((text, completion))
}
