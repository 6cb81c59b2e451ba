//! Responses, OpenAI's successor to chat completions.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response as HttpResponse;
use axum::routing::post;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Head, Mark, ModelQuestion, Wish, marks, new_id};
use crate::answering::{QuestionOutcome, write_answer};
use crate::app::App;
use crate::chat::{Content, Message, Tokens, below};
use crate::guard::Admission;
use crate::input::Json;
use crate::lines::{Framing, Lines};
use crate::problem::Problem;
use crate::route::{Gives, Load, Needs, Route, Takes, schema};

/// Event name of pieces of text.
const DELTA: &str = "response.output_text.delta";
/// Event name of a failure.
const FAILED: &str = "response.failed";

pub(super) const ROUTES: &[Route] = &[Route::post(
    "/v1/responses",
    "An answer from the documents of the workspace named by the model; responses are not stored",
    || post(respond),
)
.needs(Needs::Credential)
.load(Load::Question)
.takes(Takes::Json(schema::<ResponseRequest>))
.gives(Gives::Json(schema::<Value>))
.or_gives(Gives::Events(schema::<Value>))];

/// A conversation. Unknown fields such as `temperature` and `reasoning` are ignored: models and their settings are
/// those of the workspace.
#[derive(Deserialize, JsonSchema)]
struct ResponseRequest {
    /// `WORKSPACE:MODE`, `WORKSPACE`, or `graphloom` for the workspace of the request.
    model: String,
    /// The question, or the conversation that ends with it.
    input: ResponseInput,
    /// Instructions for the answer model.
    instructions: Option<String>,
    /// Stream the answer as server-sent events.
    stream: Option<bool>,
    /// Maximum tokens of the answer.
    #[schemars(range(min = 1))]
    max_output_tokens: Option<u32>,
    /// Returned unchanged.
    metadata: Option<Map<String, Value>>,
    /// Must be empty: tools are not called.
    #[schemars(length(max = 0))]
    tools: Option<Vec<Value>>,
    /// Must be `auto` or `none`.
    tool_choice: Option<Value>,
    /// Must have a `format` of type `text`.
    text: Option<Value>,
    /// Not supported: responses are not stored.
    previous_response_id: Option<String>,
    /// Not supported: responses are not stored.
    conversation: Option<Value>,
    /// Not supported: there are no stored prompts.
    prompt: Option<Value>,
    /// Must be false: responses are not stored.
    store: Option<bool>,
    /// Must be false.
    background: Option<bool>,
    /// Must be 0: there are no probabilities.
    #[schemars(range(max = 0))]
    top_logprobs: Option<u32>,
    /// Additional output. Probabilities (`message.output_text.logprobs`) are rejected, the rest is ignored.
    include: Option<Vec<String>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected text or a list of messages")]
enum ResponseInput {
    Text(String),
    Items(Vec<ResponseItem>),
}

/// An item of a conversation.
#[derive(Deserialize, JsonSchema)]
struct ResponseItem {
    /// Must be `message`.
    #[serde(rename = "type")]
    kind: Option<String>,
    /// `system`, `developer`, `user` or `assistant`.
    role: Option<String>,
    /// Text, or a list of parts of type `input_text` or `output_text`.
    #[serde(default)]
    content: Content,
}

const KEPT: &str = "responses are not stored; send the whole conversation as input";

impl ResponseRequest {
    /// Rejects options that ask for more than text, since a client may depend on them.
    fn check_options(&self) -> Result<(), Problem> {
        let is_given = |value: &Option<Value>| value.as_ref().is_some_and(|value| !value.is_null());
        let chosen = self.tool_choice.as_ref().filter(|choice| !choice.is_null());
        let format = self.text.as_ref().map(|text| &text["format"]["type"]).filter(|kind| !kind.is_null());
        let faults = [
            (
                self.tools.as_ref().is_some_and(|tools| !tools.is_empty()),
                "tools: tools are not supported",
                "leave them out",
            ),
            (
                chosen.is_some_and(|choice| *choice != "auto" && *choice != "none"),
                "tool_choice: tools are not supported",
                "leave it out, or use auto or none",
            ),
            (
                format.is_some_and(|kind| kind != "text"),
                "text.format: an answer is always text with its sources",
                "leave it out, or use {\"type\": \"text\"}",
            ),
            (self.previous_response_id.is_some(), "previous_response_id: there is no earlier response", KEPT),
            (is_given(&self.conversation), "conversation: there are no stored conversations", KEPT),
            (
                self.prompt.as_ref().is_some_and(Value::is_object),
                "prompt: there are no stored prompts",
                "send it as instructions and input",
            ),
            (self.store.unwrap_or(false), "store: responses are not stored", "leave it out, or use false"),
            (
                self.background.unwrap_or(false),
                "background: responses are not stored",
                "leave it out; use stream for long answers",
            ),
            (
                self.top_logprobs.unwrap_or(0) > 0
                    || self.include.iter().flatten().any(|wanted| wanted.ends_with(".logprobs")),
                "logprobs: probabilities are not available",
                "leave it out",
            ),
        ];
        match faults.into_iter().find(|(is_fault, ..)| *is_fault) {
            Some((_, what, remedy)) => Err(Problem::invalid(what).remedy(Some(remedy))),
            None => Ok(()),
        }
    }
}

impl ResponseInput {
    fn messages(self, instructions: Option<String>) -> Result<Vec<Message>, Problem> {
        let instructions = instructions.map(|text| Message::new("system", Content::Text(text)));
        let mut messages: Vec<Message> = instructions.into_iter().collect();
        match self {
            Self::Text(text) => messages.push(Message::new("user", Content::Text(text))),
            Self::Items(items) => {
                for ResponseItem { kind, role, content } in items {
                    match (kind.as_deref().unwrap_or("message"), role) {
                        ("message", Some(role)) => messages.push(Message::new(role, content)),
                        ("message", None) => {
                            return Err(Problem::invalid("input: a message has no role"));
                        }
                        (other, _) => {
                            let what = format!(
                                "input: unsupported item of type {other:?}; only messages are supported"
                            );
                            return Err(Problem::invalid(what).remedy(Some(KEPT)));
                        }
                    }
                }
            }
        }
        Ok(messages)
    }
}

async fn respond(
    State(app): State<App>,
    admitted: Admission,
    Json(request): Json<ResponseRequest>,
) -> Result<HttpResponse, Problem> {
    request.check_options()?;
    let wish = Wish {
        model: request.model,
        messages: request.input.messages(request.instructions.clone())?,
        max_tokens: request.max_output_tokens,
        stop: None,
        stream: request.stream,
    };
    let prepared = ModelQuestion::of(&app, &admitted, wish, "resp_").await?;
    let form = Arc::new(Form {
        head: prepared.head.clone(),
        item: new_id("msg_")?,
        instructions: request.instructions,
        max_output_tokens: request.max_output_tokens,
        metadata: request.metadata.unwrap_or_default(),
    });
    if !prepared.question.stream {
        let whole = move |_, answered: &QuestionOutcome, text: String| {
            form.response(&Stage::Over { answered, text: &text })
        };
        return prepared.whole(whole).await;
    }
    let ModelQuestion { space, question, .. } = prepared;
    let item = form.item.clone();
    let (events, mut response) = Lines::new(
        Framing::Numbered { text: DELTA },
        move |text| json!({ "item_id": item, "output_index": 0, "content_index": 0, "delta": text, "logprobs": [] }),
    );
    form.begin(&events);
    let cut_form = Arc::clone(&form);
    events.end_early_with(&mut response, FAILED, move |why| cut_form.failed(why));
    write_answer(admitted, space, question, events, move |events, question, answered| match answered {
        Ok(answered) => {
            let below = below(question, &answered);
            events.text(&below);
            form.end(events, &answered, &format!("{}{below}", answered.text));
        }
        Err(problem) => events.event(FAILED, form.failed(&problem.words())),
    });
    Ok(response)
}

/// The constant parts of a response.
struct Form {
    head: Head,
    /// Id of the message.
    item: String,
    instructions: Option<String>,
    max_output_tokens: Option<u32>,
    metadata: Map<String, Value>,
}

/// The state of a response.
enum Stage<'a> {
    UnderWay,
    Over {
        answered: &'a QuestionOutcome,
        /// The answer followed by its sources.
        text: &'a str,
    },
    /// Why there is no answer.
    Failed(&'a str),
}

impl Form {
    /// Writes the events before the text.
    fn begin(&self, events: &Lines) {
        let response = self.response(&Stage::UnderWay);
        events.event("response.created", json!({ "response": response }));
        events.event("response.in_progress", json!({ "response": response }));
        let item = self.message("in_progress", Vec::new());
        events.event("response.output_item.added", json!({ "output_index": 0, "item": item }));
        events.event("response.content_part.added", self.at(json!({ "part": part("", Vec::new()) })));
    }

    /// Writes the events after the text.
    fn end(&self, events: &Lines, answered: &QuestionOutcome, text: &str) {
        let annotations = annotations(answered);
        for (index, annotation) in annotations.iter().enumerate() {
            let data = self.at(json!({ "annotation_index": index, "annotation": annotation }));
            events.event("response.output_text.annotation.added", data);
        }
        events.event("response.output_text.done", self.at(json!({ "text": text, "logprobs": [] })));
        let part = part(text, annotations);
        events.event("response.content_part.done", self.at(json!({ "part": part })));
        let item = self.message(status(answered), vec![part]);
        events.event("response.output_item.done", json!({ "output_index": 0, "item": item }));
        let response = self.response(&Stage::Over { answered, text });
        let name = if answered.cut { "response.incomplete" } else { "response.completed" };
        events.event(name, json!({ "response": response }));
    }

    /// The last event's value if there is no answer.
    fn failed(&self, why: &str) -> Value {
        json!({ "response": self.response(&Stage::Failed(why)) })
    }

    /// Adds the position of the message's text to an event.
    fn at(&self, mut data: Value) -> Value {
        data["item_id"] = json!(self.item);
        data["output_index"] = json!(0);
        data["content_index"] = json!(0);
        data
    }

    fn message(&self, status: &str, content: Vec<Value>) -> Value {
        json!({ "id": self.item, "type": "message", "status": status, "role": "assistant", "content": content })
    }

    fn response(&self, state: &Stage<'_>) -> Value {
        let Head { id, created, model } = &self.head;
        let mut response = json!({
            "id": id,
            "object": "response",
            "created_at": created,
            "status": "in_progress",
            "background": false,
            "error": null,
            "incomplete_details": null,
            "instructions": self.instructions,
            "max_output_tokens": self.max_output_tokens,
            "metadata": self.metadata,
            "model": model,
            "output": [],
            "parallel_tool_calls": false,
            "previous_response_id": null,
            "reasoning": { "effort": null, "summary": null },
            "store": false,
            "temperature": null,
            "text": { "format": { "type": "text" } },
            "tool_choice": "auto",
            "tools": [],
            "top_p": null,
            "truncation": "disabled",
            "usage": null,
            "user": null,
            "answer_kind": null,
        });
        match state {
            Stage::UnderWay => {}
            Stage::Over { answered, text } => {
                let status = status(answered);
                response["status"] = json!(status);
                if answered.cut {
                    response["incomplete_details"] = json!({ "reason": "max_output_tokens" });
                }
                response["output"] = json!([self.message(status, vec![part(text, annotations(answered))])]);
                response["usage"] = usage(answered);
                response["answer_kind"] = json!(answered.kind_name());
            }
            Stage::Failed(why) => {
                response["status"] = json!("failed");
                response["error"] = json!({ "code": "server_error", "message": why });
            }
        }
        response
    }
}

fn status(answered: &QuestionOutcome) -> &'static str {
    if answered.cut { "incomplete" } else { "completed" }
}

fn part(text: &str, annotations: Vec<Value>) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": annotations, "logprobs": [] })
}

fn annotations(answered: &QuestionOutcome) -> Vec<Value> {
    let annotation = |mark: Mark<'_>| {
        json!({
            "type": "url_citation",
            "start_index": mark.start,
            "end_index": mark.end,
            "title": mark.title,
            "url": mark.url,
            "quote": mark.quote,
        })
    };
    marks(&answered.text, &answered.citations).into_iter().map(annotation).collect()
}

fn usage(answered: &QuestionOutcome) -> Value {
    let Tokens { prompt_tokens, completion_tokens, total_tokens } = Tokens::of(&answered.calls);
    let cached: u64 = answered.calls.iter().map(|call| call.cached_prompt_tokens).sum();
    json!({
        "input_tokens": prompt_tokens,
        "input_tokens_details": { "cached_tokens": cached },
        "output_tokens": completion_tokens,
        "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": total_tokens,
    })
}
