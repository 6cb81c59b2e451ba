//! Chat completions.

use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Head, ModelQuestion, StreamOptions, Wish, finish, marks};
use crate::answering::{QuestionOutcome, write_answer};
use crate::app::App;
use crate::chat::{Message, Stop, Tokens, below};
use crate::guard::Admission;
use crate::input::Json;
use crate::lines::{Framing, Lines};
use crate::problem::Problem;
use crate::route::{Gives, Load, Needs, Route, Takes, schema};

pub(super) const ROUTES: &[Route] = &[Route::post(
    "/v1/chat/completions",
    "An answer from the documents of the workspace named by the model",
    || post(chat),
)
.needs(Needs::Credential)
.load(Load::Question)
.takes(Takes::Json(schema::<ChatRequest>))
.gives(Gives::Json(schema::<Completion>))
.or_gives(Gives::Events(schema::<CompletionChunk>))];

/// A conversation. Unknown fields such as `temperature` are ignored: models and their settings are those of the
/// workspace.
#[derive(Deserialize, JsonSchema)]
struct ChatRequest {
    /// `WORKSPACE:MODE`, `WORKSPACE`, or `graphloom` for the workspace of the request.
    model: String,
    #[schemars(length(min = 1))]
    messages: Vec<Message>,
    /// Stream the answer as server-sent events.
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    /// Maximum tokens of the answer.
    #[schemars(range(min = 1))]
    max_completion_tokens: Option<u32>,
    /// Older name of `max_completion_tokens`.
    #[schemars(range(min = 1))]
    max_tokens: Option<u32>,
    /// Texts at which the answer ends.
    stop: Option<Stop>,
    /// Must be 1.
    #[schemars(range(min = 1, max = 1))]
    n: Option<u32>,
    /// Must be `auto` or `none`: tools are not called.
    tool_choice: Option<Value>,
    /// Must be of type `text`.
    response_format: Option<Value>,
    /// Must be false: there are no probabilities.
    logprobs: Option<bool>,
    /// Must be 0: there are no probabilities.
    #[schemars(range(max = 0))]
    top_logprobs: Option<u32>,
}

impl ChatRequest {
    /// Rejects options that ask for more than text, since a client may depend on them.
    fn check_options(&self) -> Result<(), Problem> {
        if self.n.is_some_and(|n| n != 1) {
            return Err(Problem::invalid("n must be 1: a question has one answer"));
        }
        let chosen = self.tool_choice.as_ref().filter(|choice| !choice.is_null());
        if chosen.is_some_and(|choice| *choice != "auto" && *choice != "none") {
            return Err(Problem::invalid("tool_choice: tools are not supported")
                .remedy(Some("leave it out, or use auto or none")));
        }
        let format = self.response_format.as_ref().filter(|format| !format.is_null());
        if format.is_some_and(|format| format["type"] != "text") {
            return Err(Problem::invalid("response_format: an answer is always text with its sources")
                .remedy(Some("leave it out, or use {\"type\": \"text\"}")));
        }
        if self.logprobs.unwrap_or(false) || self.top_logprobs.unwrap_or(0) > 0 {
            return Err(
                Problem::invalid("logprobs: probabilities are not available").remedy(Some("leave it out"))
            );
        }
        Ok(())
    }
}

#[derive(Serialize, JsonSchema)]
struct Completion {
    id: String,
    object: &'static str,
    created: u64,
    model: String,
    choices: Vec<Choice>,
    usage: Tokens,
    /// The kind of answer, as in `/query`; not part of OpenAI's API.
    answer_kind: Option<String>,
}

/// A piece of a streamed answer, or the error that ended it.
#[derive(Serialize, JsonSchema)]
struct CompletionChunk {
    id: String,
    object: &'static str,
    created: u64,
    model: String,
    /// One choice with a `delta`; empty in the final usage chunk.
    choices: Vec<Value>,
    /// The usage, in a final chunk if requested by `stream_options`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<Tokens>,
    /// The kind of answer, as in `/query`, in the chunk with the `finish_reason`; not part of OpenAI's API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer_kind: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Choice {
    index: u32,
    message: AnswerMessage,
    /// `length` if an output limit cut it off.
    finish_reason: &'static str,
}

#[derive(Serialize, JsonSchema)]
struct AnswerMessage {
    role: &'static str,
    /// The answer followed by its sources; if no LLM wrote it, the last line says so.
    content: String,
    /// The verified places behind the citation numbers.
    annotations: Vec<Value>,
}

async fn chat(
    State(app): State<App>,
    admitted: Admission,
    Json(request): Json<ChatRequest>,
) -> Result<Response, Problem> {
    request.check_options()?;
    let wish = Wish {
        model: request.model,
        messages: request.messages,
        max_tokens: request.max_completion_tokens.or(request.max_tokens),
        stop: request.stop,
        stream: request.stream,
    };
    let prepared = ModelQuestion::of(&app, &admitted, wish, "chatcmpl-").await?;
    if !prepared.question.stream {
        return prepared.whole(Head::completion).await;
    }
    let ModelQuestion { space, question, head } = prepared;
    let with_usage = StreamOptions::with_usage(request.stream_options);
    let piece = head.clone();
    let (lines, response) = Lines::new(Framing::Events, move |text| piece.chunk(json!({ "content": text })));
    lines.line(head.chunk(json!({ "role": "assistant", "content": "" })));
    write_answer(admitted, space, question, lines, move |lines, question, answered| {
        match answered {
            Ok(answered) => {
                lines.text(&below(question, &answered));
                let annotations = annotations(&answered);
                let delta = match annotations.is_empty() {
                    true => json!({}),
                    false => json!({ "annotations": annotations }),
                };
                lines.line(head.last_chunk(delta, &answered));
                if with_usage {
                    lines.line(head.usage(Tokens::of(&answered.calls)));
                }
            }
            Err(problem) => lines.line(problem.openai_error()),
        }
        lines.done();
    });
    Ok(response)
}

impl Head {
    fn completion(self, answered: &QuestionOutcome, content: String) -> Completion {
        let finish_reason = finish(answered);
        let annotations = annotations(answered);
        let usage = Tokens::of(&answered.calls);
        let answer_kind = answered.kind_name();
        let message = AnswerMessage { role: "assistant", content, annotations };
        Completion {
            id: self.id,
            object: "chat.completion",
            created: self.created,
            model: self.model,
            choices: vec![Choice { index: 0, message, finish_reason }],
            usage,
            answer_kind,
        }
    }

    fn chunk(&self, delta: Value) -> Value {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": null });
        json!(CompletionChunk { choices: vec![choice], ..self.empty_chunk() })
    }

    fn last_chunk(&self, delta: Value, answered: &QuestionOutcome) -> Value {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish(answered) });
        let answer_kind = answered.kind_name();
        json!(CompletionChunk { choices: vec![choice], answer_kind, ..self.empty_chunk() })
    }

    fn usage(&self, tokens: Tokens) -> Value {
        json!(CompletionChunk { usage: Some(tokens), ..self.empty_chunk() })
    }

    fn empty_chunk(&self) -> CompletionChunk {
        CompletionChunk {
            id: self.id.clone(),
            object: "chat.completion.chunk",
            created: self.created,
            model: self.model.clone(),
            choices: Vec::new(),
            usage: None,
            answer_kind: None,
        }
    }
}

fn annotations(answered: &QuestionOutcome) -> Vec<Value> {
    let annotation = |mark: super::Mark<'_>| {
        json!({
            "type": "url_citation",
            "url_citation": {
                "start_index": mark.start,
                "end_index": mark.end,
                "title": mark.title,
                "url": mark.url,
                "quote": mark.quote,
            },
        })
    };
    marks(&answered.text, &answered.citations).into_iter().map(annotation).collect()
}
