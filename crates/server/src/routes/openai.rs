//! OpenAI's protocol: models, chat completions, embeddings.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use graphloom_core::{Batch, Call, CallOutcome, Purpose, Role};
use graphloom_engine::query::{self, Citation, Mode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::access::{hex, random};
use crate::answering::{Answered, answer_from, check_answerable};
use crate::apart::asked_apart;
use crate::app::{App, now};
use crate::chat::{Asked, Message, Tokens, asked, below, is_cut, model_names, question_of};
use crate::guard::Admitted;
use crate::input::{Json, Named};
use crate::lines::{Framing, Lines};
use crate::problem::{Problem, chain};
use crate::route::{Gives, Load, Needs, Route, Takes, schema};

/// Texts of one request for vectors.
const MAX_INPUTS: usize = 512;

pub(super) const ROUTES: &[Route] = &[
    Route::get("/v1/models", "A model for each workspace and mode that the caller may ask", || get(models))
        .needs(Needs::Credential)
        .gives(Gives::Json(schema::<Models>)),
    Route::get("/v1/models/{model}", "One model", || get(model))
        .needs(Needs::Credential)
        .gives(Gives::Json(schema::<ModelItem>)),
    Route::post(
        "/v1/chat/completions",
        "An answer from the documents of the workspace that the model names",
        || post(chat),
    )
    .needs(Needs::Credential)
    .load(Load::Question)
    .takes(Takes::Json(schema::<ChatRequest>))
    .gives(Gives::Json(schema::<Completion>))
    .or_gives(Gives::Events(schema::<CompletionChunk>)),
    Route::post("/v1/embeddings", "Vectors of the embedder of the workspace that the model names", || {
        post(embeddings)
    })
    .needs(Needs::Credential)
    .load(Load::Question)
    .takes(Takes::Json(schema::<EmbeddingRequest>))
    .gives(Gives::Json(schema::<Vectors>)),
];

#[derive(Serialize, JsonSchema)]
struct Models {
    object: &'static str,
    data: Vec<ModelItem>,
}

#[derive(Serialize, JsonSchema)]
struct ModelItem {
    /// `WORKSPACE:MODE`.
    id: String,
    object: &'static str,
    created: u64,
    owned_by: &'static str,
}

/// A conversation. Fields that are not known, such as `temperature`, are ignored: models and their settings are those of the
/// workspace.
#[derive(Deserialize, JsonSchema)]
struct ChatRequest {
    /// `WORKSPACE:MODE`, `WORKSPACE`, or `graphloom` for the workspace of the request.
    model: String,
    messages: Vec<Message>,
    /// Whether the answer comes as it is made, as server-sent events.
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    /// Only 1.
    n: Option<u32>,
    /// Only `auto` or `none`: no tools are called.
    tool_choice: Option<Value>,
    /// Only of type `text`.
    response_format: Option<Value>,
}

impl ChatRequest {
    /// Whether it asks for no more than text; what a client would build on must not be left out in silence.
    fn check_options(&self) -> Result<(), Problem> {
        if self.n.is_some_and(|n| n != 1) {
            return Err(Problem::invalid("there is one answer to a question; n must be 1"));
        }
        let chosen = self.tool_choice.as_ref().filter(|choice| !choice.is_null());
        if chosen.is_some_and(|choice| *choice != "auto" && *choice != "none") {
            return Err(Problem::invalid("tool_choice: no tools are called here")
                .remedy(Some("leave it out, or say auto or none")));
        }
        let format = self.response_format.as_ref().filter(|format| !format.is_null());
        if format.is_some_and(|format| format["type"] != "text") {
            return Err(Problem::invalid("response_format: an answer is text, with its sources")
                .remedy(Some("leave it out, or say {\"type\": \"text\"}")));
        }
        Ok(())
    }
}

#[derive(Deserialize, JsonSchema)]
struct StreamOptions {
    /// Whether the last event holds the tokens.
    include_usage: Option<bool>,
}

#[derive(Serialize, JsonSchema)]
struct Completion {
    id: String,
    object: &'static str,
    created: u64,
    model: String,
    choices: Vec<Choice>,
    usage: Tokens,
}

/// A piece of a streamed answer, or the reason why there is no more of it.
#[derive(Serialize, JsonSchema)]
struct CompletionChunk {
    id: String,
    object: &'static str,
    created: u64,
    model: String,
    /// One with a `delta`; none beside the usage at the end.
    choices: Vec<Value>,
    /// What it took, in a last piece of its own where `stream_options` ask for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<Tokens>,
}

#[derive(Serialize, JsonSchema)]
struct Choice {
    index: u32,
    message: AnswerMessage,
    /// `length` where the model's output limit cut it.
    finish_reason: &'static str,
}

#[derive(Serialize, JsonSchema)]
struct AnswerMessage {
    role: &'static str,
    /// The answer, with its sources below; where no model wrote it a last line says so.
    content: String,
    /// The verified places behind the numbers in it.
    annotations: Vec<Value>,
}

/// Texts to make vectors of.
#[derive(Deserialize, JsonSchema)]
struct EmbeddingRequest {
    /// `WORKSPACE`, `WORKSPACE:MODE`, or `graphloom` for the workspace of the request.
    model: String,
    input: Input,
    /// `float` or `base64`.
    encoding_format: Option<String>,
    /// Only as many as the embedder makes.
    dimensions: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "text or a list of texts is expected")]
enum Input {
    One(String),
    Many(Vec<String>),
    /// Token ids, which mean something to one tokenizer alone.
    #[schemars(skip)]
    Tokens(#[allow(dead_code, reason = "read to be refused in words of their own")] Vec<u64>),
    /// Lists of token ids.
    #[schemars(skip)]
    ManyTokens(#[allow(dead_code, reason = "read to be refused in words of their own")] Vec<Vec<u64>>),
}

#[derive(Serialize, JsonSchema)]
struct Vectors {
    object: &'static str,
    data: Vec<VectorItem>,
    /// The embedder.
    model: String,
    usage: Tokens,
}

#[derive(Serialize, JsonSchema)]
struct VectorItem {
    object: &'static str,
    index: usize,
    /// Numbers, or their bytes in base64.
    embedding: Value,
}

impl ModelItem {
    fn of(id: String) -> Self {
        Self { id, object: "model", created: 0, owned_by: "graphloom" }
    }
}

async fn models(State(app): State<App>, admitted: Admitted) -> Result<axum::Json<Models>, Problem> {
    let names = model_names(&app, &admitted).await?;
    Ok(axum::Json(Models { object: "list", data: names.into_iter().map(ModelItem::of).collect() }))
}

async fn model(
    State(app): State<App>,
    admitted: Admitted,
    Named(name): Named,
) -> Result<axum::Json<ModelItem>, Problem> {
    asked(&app, &admitted, &name).await?;
    Ok(axum::Json(ModelItem::of(name)))
}

async fn chat(
    State(app): State<App>,
    admitted: Admitted,
    Json(request): Json<ChatRequest>,
) -> Result<Response, Problem> {
    request.check_options()?;
    let Asked { space, mode } = asked(&app, &admitted, &request.model).await?;
    let mut question = question_of(request.messages)?;
    question.mode = mode.unwrap_or(Mode::Auto);
    question.stream = request.stream.unwrap_or(false);
    question.check()?;
    question.prefix_user_prompt(&space.user_prompt_prefix);
    let unique = random::<12>().map_err(|error| Problem::internal(&error))?;
    let head =
        Head { id: format!("chatcmpl-{}", hex(&unique)), created: now().0 / 1000, model: request.model };
    let with_usage = request.stream_options.and_then(|options| options.include_usage).unwrap_or(false);
    if !question.stream {
        return asked_apart(async move || {
            let retrieval = query::retrieve(&space.asking, &question).await?;
            let answered = answer_from(&space.asking, &question, &retrieval, &mut |_| {}).await?;
            Ok(axum::Json(head.completion(answered)).into_response())
        })
        .await;
    }
    check_answerable(&space.asking, &question)?;
    let piece = head.clone();
    let (lines, response) =
        Lines::new(Framing::Events, move |text| piece.chunk(json!({ "content": text }), None));
    // It goes on where the reader leaves: what is asked of a model is paid for, and is remembered for the next time.
    tokio::spawn(asked_apart(async move || {
        let _turn = admitted.turn;
        lines.line(head.chunk(json!({ "role": "assistant", "content": "" }), None));
        let answering = async {
            let retrieval = query::retrieve(&space.asking, &question).await?;
            answer_from(&space.asking, &question, &retrieval, &mut |text| lines.text(text)).await
        };
        match answering.await {
            Ok(answered) => {
                lines.text(&below(&answered));
                let annotations = annotations(&answered.text, &answered.citations);
                let delta = match annotations.is_empty() {
                    true => json!({}),
                    false => json!({ "annotations": annotations }),
                };
                lines.line(head.chunk(delta, Some(finish(&answered))));
                if with_usage {
                    lines.line(head.usage(Tokens::of(&answered.calls)));
                }
            }
            Err(problem) => {
                let message: Problem = problem;
                lines.line(json!({ "error": { "message": message.words(), "type": "server_error" } }));
            }
        }
        lines.done();
        Ok(())
    }));
    Ok(response)
}

/// What every piece of an answer begins with.
#[derive(Clone)]
struct Head {
    id: String,
    created: u64,
    model: String,
}

impl Head {
    fn completion(self, answered: Answered) -> Completion {
        let finish_reason = finish(&answered);
        let annotations = annotations(&answered.text, &answered.citations);
        let content = format!("{}{}", answered.text, below(&answered));
        let message = AnswerMessage { role: "assistant", content, annotations };
        Completion {
            id: self.id,
            object: "chat.completion",
            created: self.created,
            model: self.model,
            choices: vec![Choice { index: 0, message, finish_reason }],
            usage: Tokens::of(&answered.calls),
        }
    }

    fn chunk(&self, delta: Value, finish_reason: Option<&str>) -> Value {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish_reason });
        self.with_choices(vec![choice], None)
    }

    fn usage(&self, tokens: Tokens) -> Value {
        self.with_choices(Vec::new(), Some(tokens))
    }

    fn with_choices(&self, choices: Vec<Value>, usage: Option<Tokens>) -> Value {
        json!(CompletionChunk {
            id: self.id.clone(),
            object: "chat.completion.chunk",
            created: self.created,
            model: self.model.clone(),
            choices,
            usage,
        })
    }
}

fn finish(answered: &Answered) -> &'static str {
    if is_cut(&answered.calls) { "length" } else { "stop" }
}

/// Where each number stands in the answer, in characters, and the document that it points to. An address is the document's own
/// where its source is one.
fn annotations(text: &str, citations: &[Citation]) -> Vec<Value> {
    let annotation = |citation: &Citation| {
        let mark = format!("[{}]", citation.number);
        let start = text.find(&mark).map(|at| text[..at].chars().count())?;
        let is_address = citation.source.starts_with("https://") || citation.source.starts_with("http://");
        let url = match is_address {
            true => citation.source.clone(),
            false => {
                format!("graphloom:{}#bytes={}-{}", citation.document, citation.span.start, citation.span.end)
            }
        };
        Some(json!({
            "type": "url_citation",
            "url_citation": {
                "start_index": start,
                "end_index": start + mark.len(),
                "title": citation.source,
                "url": url,
                "quote": citation.quote,
            },
        }))
    };
    citations.iter().filter_map(annotation).collect()
}

async fn embeddings(
    State(app): State<App>,
    admitted: Admitted,
    Json(request): Json<EmbeddingRequest>,
) -> Result<axum::Json<Vectors>, Problem> {
    let Asked { space, .. } = asked(&app, &admitted, &request.model).await?;
    let texts = match request.input {
        Input::One(text) => vec![text],
        Input::Many(texts) => texts,
        Input::Tokens(_) | Input::ManyTokens(_) => {
            return Err(Problem::invalid("input: token ids cannot be read").remedy(Some(
                "send the texts themselves; some clients do where they are told not to check the length of inputs",
            )));
        }
    };
    if texts.is_empty() || texts.len() > MAX_INPUTS || texts.iter().any(|text| text.trim().is_empty()) {
        return Err(Problem::invalid(format!("input must be 1 to {MAX_INPUTS} texts, none of them empty")));
    }
    let as_bytes = match request.encoding_format.as_deref() {
        None | Some("float") => false,
        Some("base64") => true,
        Some(other) => {
            return Err(Problem::invalid(format!("encoding_format {other:?} must be float or base64")));
        }
    };
    asked_apart(async move || {
        let engine = &space.asking;
        let embedder = engine.models.embedder.as_ref();
        if let Some(wanted) = request.dimensions {
            let made = embedder.dimensions().await?;
            if wanted != made {
                let what =
                    format!("dimensions: {} makes vectors of {made} numbers, not {wanted}", embedder.name());
                return Err(Problem::invalid(what).remedy(Some("leave it out")));
            }
        }
        let started_at = now();
        let embedded = embedder.embed(Purpose::Document, &texts).await;
        let (usage, attempts, outcome) = match &embedded {
            Ok(embedded) => (embedded.usage, embedded.attempts, CallOutcome::Ok),
            Err(error) => (Default::default(), 1, CallOutcome::Failed { reason: error.to_string() }),
        };
        let call = Call {
            role: Role::Embed,
            model: embedder.name().to_owned(),
            prompt_tokens: usage.prompt_tokens,
            cached_prompt_tokens: usage.cached_prompt_tokens,
            completion_tokens: usage.completion_tokens,
            attempts,
            started_at,
            duration_ms: now().0.saturating_sub(started_at.0),
            outcome,
            document: None,
            rejects: 0,
        };
        let usage = Tokens::of(std::slice::from_ref(&call));
        // Models in process make no requests; they are no calls in the ledger.
        if attempts > 0
            && let Err(error) =
                engine.store.commit(Batch { append_calls: vec![call], ..Batch::default() }).await
        {
            tracing::warn!(error = chain(&error), "what vectors cost was not stored");
        }
        let vectors = embedded?.vectors.into_iter().enumerate().map(|(index, vector)| {
            let embedding = match as_bytes {
                false => json!(vector),
                true => {
                    let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
                    json!(BASE64_STANDARD.encode(bytes))
                }
            };
            VectorItem { object: "embedding", index, embedding }
        });
        Ok(axum::Json(Vectors {
            object: "list",
            data: vectors.collect(),
            model: embedder.name().to_owned(),
            usage,
        }))
    })
    .await
}
